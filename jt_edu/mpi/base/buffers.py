"""Buffers: what an argument of Send, Recv, Allreduce and their like means.

    array                               all of it
    [array, count]                      its first elements
    [array, (count, displacement)]      as many from there on; also as two items, [array, count, displacement]
    [array, counts]                     a list: one part for each rank, one behind the other
    [array, (counts, displacements)]    one part for each rank, beginning there; a number instead of a list is the
                                        count of each rank, or the step from one rank's displacement to the next one's
    [..., datatype]                     and the type of its elements: that of the array, a byte, or a layout
    [None, 0, datatype]                 nothing

What an array is stands in buffer_memory.py. Elements that lie scattered, as a layout says, are brought together in a
row; a row that was filled is put back by `settle`.
"""

from __future__ import annotations

import operator
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.mpi.base.buffer_memory import LETTER, Array, as_array, memory_at
from jt_edu.mpi.base.constants import BOTTOM, Null, Op, dtype_of
from jt_edu.mpi.base.datatypes import Datatype, spread
from jt_edu.mpi.base.pickling import NOTHING, pickler

Piece = tuple[Datatype, int, int]  # so many of a kind, from which byte on


@dataclass
class Buffer:
    """The elements that a call reads or writes: `flat` is a view of them, or a row that `settle` puts back."""

    flat: Array  # (n,)
    counts: tuple[int, ...] = ()  # of the parts, where there is one for each rank
    starts: tuple[int, ...] = ()
    settle: Callable[[], None] | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of its elements."""
        found: np.dtype[Any] = self.flat.dtype
        return found

    def part(self, rank: int) -> Array:
        """The elements for one rank."""
        return self.flat[self.starts[rank] : self.starts[rank] + self.counts[rank]]


def as_buffer(given: Any, call: str, write: bool = False) -> Buffer:
    """What one rank sends or receives as a whole.

    Raises:
        ArgumentError: it is no array, or not contiguous. DtypeError: the datatype is another one.
    """
    if isinstance(given, np.ndarray):
        return Buffer(as_array(given, call, write).reshape(-1))
    told = _taken_apart(given, call, write, (tuple, list))
    start = 0 if told.start is None else _index(told.start)
    count = _index(told.total(call) - (start or 0) if told.count is None else told.count)
    if count is None or start is None or (told.layout is None and start + count > told.total(call)):
        at = f" from {told.start!r}" if told.start else ""
        found = f"count {told.count!r}{at}"
        raise ArgumentError(f"{call} takes a part of a buffer of {told.total(call)} elements", found)
    if told.layout is not None:
        piece = (told.layout, count, start * told.step)
        return _row(told.memory, [piece], told.layout.dtype, call, write)
    return Buffer(told.memory[start * told.step : (start + count) * told.step])


def as_parts(given: Any, call: str, size: int, write: bool = False, equal: bool = False) -> Buffer:
    """A buffer with one part for each of `size` ranks; `equal`: the parts are equally long.

    Raises:
        ShapeError: the parts do not fit into the buffer.
    """
    if isinstance(given, Buffer):
        return given
    told = _taken_apart(given, call, write, (tuple, list) if equal else (tuple,))
    counts = _equal_parts(told, call, size) if equal else _one_each(told.count, size)
    if counts is None:  # as mpi4py cuts: the first ones get what is left over
        counts = [told.total(call) // size + (k < told.total(call) % size) for k in range(size)]
    lengths = _whole(counts, call, "counts")
    step = _index(told.start)
    if told.start is None or (equal and step is not None):
        begins = np.cumsum([step or 0, *lengths[:-1]]).tolist()
    else:
        begins = np.ravel(told.start).tolist() if step is None else [step * k for k in range(size)]
    starts = _whole(begins, call, "displacements")
    if len(lengths) != size or len(starts) != size:
        found = f"{len(lengths)} counts and {len(starts)} displacements"
        raise ShapeError(f"{call} has one part for each of {size} ranks", found)
    if told.layout is not None:
        pieces = [(told.layout, n, at * told.step) for n, at in zip(lengths, starts, strict=True)]
        return _row(told.memory, pieces, told.layout.dtype, call, write)
    ends = [at + n for at, n in zip(starts, lengths, strict=True) if n]
    if max(ends, default=0) > told.total(call):
        found = f"counts {lengths} from {starts}"
        raise ShapeError(f"{call} has parts inside its buffer of {told.total(call)} elements", found)
    unit = told.step
    return Buffer(told.memory, tuple(n * unit for n in lengths), tuple(at * unit for at in starts))


def as_kinds(given: Any, call: str, size: int, write: bool = False) -> Buffer:
    """A buffer with a part for each rank, each of a datatype of its own, beginning at some byte: a row of bytes.

    Raises:
        ArgumentError: it is not [array, counts, displacements, datatypes], or [array, datatypes] for one of each.
    """
    items = list(given) if isinstance(given, (list, tuple)) else [given]
    if len(items) == 3 and isinstance(items[1], (tuple, list)):
        items = [items[0], *items[1], items[2]]
    if len(items) == 2 or items[1:-1] == [None, None]:
        items = [items[0], [1] * size, [0] * size, items[-1]]
    lists = all(isinstance(item, (list, tuple, np.ndarray)) and len(item) == size for item in items[1:])
    if len(items) != 4 or not lists:
        asked = f"{call} takes array, counts, displacements in bytes, datatypes: one of each for each of {size} ranks"
        raise ArgumentError(asked, repr(items[1:]))
    kinds = [kind if isinstance(kind, Datatype) else Datatype.fromcode(kind) for kind in items[3]]
    memory = None if items[0] is BOTTOM else as_array(items[0], call, write).reshape(-1).view("u1")
    lengths, starts = _whole(items[1], call, "counts"), _whole(items[2], call, "displacements")
    return _row(memory, list(zip(kinds, lengths, starts, strict=True)), np.dtype("u1"), call, write)


@dataclass
class _Told:
    """The items of a buffer argument."""

    memory: Any  # (n,), elements, or bytes if these lie scattered; None: all memory there is
    count: Any
    start: Any
    step: int  # what of it a count of 1 amounts to
    layout: Datatype | None = None  # of scattered elements

    def total(self, call: str) -> int:
        """The count that all of it amounts to."""
        size = 0 if self.memory is None else self.memory.size
        if size and (self.step < 1 or size % self.step):
            found = f"{size} bytes of {self.layout!r}" if self.layout else f"{size} elements"
            raise ArgumentError(f"{call} takes a whole number of its datatype", found, "a count")
        return size // max(1, self.step)


def _taken_apart(given: Any, call: str, write: bool, pairs: tuple[type, ...]) -> _Told:
    """The items of a buffer argument; `pairs`: what stands for count and displacement together."""
    items: list[Any] = list(given) if isinstance(given, (list, tuple)) and len(given) else [given]
    array, *rest = items
    datatype = rest.pop() if rest and (_is_type(rest[-1]) or (len(rest) > 1 and rest[-1] is None)) else None
    if len(rest) == 1 and isinstance(rest[0], pairs):
        rest = [*rest[0]]  # type: ignore[misc]
        if len(rest) != 2:
            attempt = "a list of counts, or a tuple of two"
            raise ArgumentError(f"{call} takes (counts, displacements) as a tuple", repr(tuple(rest)), attempt)
    if len(rest) > 2:
        raise ArgumentError(f"{call} takes array, counts, displacements, datatype", f"{len(rest)} numbers")
    count, start, *_ = [*rest, None, None]
    kind = datatype if isinstance(datatype, Datatype) else None
    dtype = None if datatype is None else dtype_of(datatype)
    if dtype == LETTER:
        dtype = np.dtype("u1")
    if array is BOTTOM and dtype is not None:
        kind = kind or Datatype.fromcode(dtype.str)
        return _Told(None, count, start, kind.extent, kind)
    flat = np.zeros(0, dtype) if array is None and dtype is not None else as_array(array, call, write).reshape(-1)
    if dtype is not None and flat.dtype != dtype:
        flat = _as_told(flat, dtype, call)
    if kind is None or kind.is_dense:
        return _Told(flat, count, start, 1 if kind is None else len(kind.places))
    return _Told(flat.view("u1"), count, start, kind.extent, kind)


def _is_type(what: Any) -> bool:
    return isinstance(what, (np.dtype, type, str, Null)) or hasattr(what, "tocode")


def _as_told(flat: Array, dtype: np.dtype[Any], call: str) -> Array:
    """The same memory as elements of another type, if one of the two is a byte: a whole number of them."""
    if flat.dtype.itemsize > 1 < dtype.itemsize:
        raise DtypeError(f"{call} must name the type of its elements, {flat.dtype}", f"{dtype}")
    raw = flat.view("u1")
    return raw[: raw.size // dtype.itemsize * dtype.itemsize].view(dtype)


def _index(number: Any) -> int | None:
    """A whole number from 0; None if it is none."""
    try:
        found = None if isinstance(number, bool) else int(operator.index(number))
    except TypeError:
        return None
    return found if found is not None and found >= 0 else None


def _one_each(counts: Any, size: int) -> list[Any] | None:
    if counts is None or _index(counts) is None:
        return None if counts is None else list(np.ravel(counts))
    return [counts] * size


def _equal_parts(told: _Told, call: str, size: int) -> list[int]:
    start, count = _index(told.start) or 0, _index(told.count)
    whole = told.total(call) - start if told.count is None else (count or 0) * size
    if whole % size or not 0 <= whole <= max(told.total(call) - start, 0) or (told.count is not None and count is None):
        found = f"{told.total(call)} elements" + (f", count {told.count!r}" if told.count is not None else "")
        raise ShapeError(f"{call} has a part for each of {size} ranks, all of equal length", found)
    return [whole // size] * size


def _whole(numbers: Sequence[Any], call: str, what: str) -> tuple[int, ...]:
    found = [_index(n) for n in numbers]
    if None in found:
        raise ArgumentError(f"{call} takes whole numbers from 0 as {what}", repr(tuple(numbers)))
    return tuple(n for n in found if n is not None)


def _row(memory: Any, pieces: list[Piece], dtype: np.dtype[Any], call: str, write: bool) -> Buffer:
    """Elements that lie scattered in so many bytes, or anywhere, as a row of them: one piece behind the other."""
    places, lengths, begin = [np.zeros(0, np.int64)], [], 0
    for kind, count, start in pieces:
        size, ends = int(kind.dtype.itemsize), (start, start + (count - 1) * kind.extent)
        if count and len(kind.places):
            low, high = min(ends) + int(kind.places.min()), max(ends) + int(kind.places.max()) + size
            limit = 1 << 62 if memory is None else memory.size
            if not 0 <= low < high <= limit or count > limit:
                found = f"bytes {low} to {high - 1}"
                raise ArgumentError(f"{call} has elements inside its buffer of {limit} bytes", found)
            if memory is None:
                memory_at(np.array([low, high - 1]), call, False)  # before a row is made that may be very long
        places.append(np.ravel((start + spread(kind, count))[:, None] + np.arange(size)))
        lengths.append(places[-1].size // dtype.itemsize)
    where = np.concatenate(places)
    if memory is None:
        memory, begin = memory_at(where, call, write)
    where -= begin
    row = memory[where].view(dtype)

    def settle() -> None:
        memory[where] = row.view("u1")

    starts = np.cumsum([0, *lengths[:-1]]).tolist()
    return Buffer(row, tuple(lengths), tuple(starts), settle if write else None)


def check_types(call: str, mine: Buffer, room: Buffer | None) -> None:
    """Refuse to put numbers of one type where there is room for those of another.

    Raises:
        DtypeError: they are of different types.
    """
    if room is not None and not _alike(mine.dtype, room.dtype):
        found = f"{mine.dtype} and {room.dtype}"
        raise DtypeError(f"{call} reads one buffer and fills another of the same type", found, "a cast of one")


def _alike(a: np.dtype[Any], b: np.dtype[Any]) -> bool:
    """Whether numbers of one type can be put where those of the other lie: the same, or bytes."""
    return a == b or (a.itemsize == b.itemsize == 1 and "b" not in a.kind + b.kind)


def check_sizes(call: str, size: int, room: int, whose: str = "") -> None:
    """Refuse room for another number of elements than there will be.

    Raises:
        ShapeError: it is another number.
    """
    if size != room:
        raise ShapeError(f"{call} gives {size} numbers{whose}", f"room for {room}", f"a buffer of {size}")


def reduce_local(op: Op, inbuf: Any, inoutbuf: Any) -> None:
    """What `Op.Reduce_local` does: puts two buffers of this rank together, into the second one.

    Raises:
        ShapeError: one is longer. DtypeError: the reduction has no meaning on such numbers.
    """
    mine, room = as_buffer(inbuf, "Reduce_local"), as_buffer(inoutbuf, "Reduce_local", write=True)
    check_sizes("Reduce_local", mine.flat.size, room.flat.size)
    check_types("Reduce_local", mine, room)
    op.check(room.dtype)
    room.flat[:] = op(mine.flat, room.flat)
    if room.settle is not None:
        room.settle()


Op.Reduce_local = reduce_local  # type: ignore[attr-defined]


@dataclass(frozen=True, slots=True)
class Packet:
    """What one message carries: a copy, so that nobody shares memory with anybody."""

    payload: bytes | Array
    count: int  # elements; 0 for an object
    bytes: int

    @property
    def is_object(self) -> bool:
        """Whether it came from send, not from Send."""
        return isinstance(self.payload, bytes)

    def as_object(self, call: str, source: int) -> Any:
        """A fresh copy of the object that came.

        Raises:
            DtypeError: it is numbers, which were sent by a call with a capital.
        """
        if isinstance(self.payload, bytes):
            return open_object(self.payload, call, source)
        if self.payload.dtype.itemsize == 1:
            return open_object(self.payload.tobytes(), call, source)
        raise _no_object(call, str(self), source)

    def open(self) -> Any:
        """A fresh copy of the object, or the array."""
        return pickler().loads(self.payload) if isinstance(self.payload, bytes) else self.payload

    def __str__(self) -> str:
        if isinstance(self.payload, bytes):
            return f"an object of {self.bytes} bytes"
        return f"{self.count} numbers of {self.payload.dtype}"


def pack_object(thing: Any, call: str) -> Packet:
    """Any object that can be pickled, as real MPI sends it.

    Raises:
        ArgumentError: it cannot be pickled.
    """
    try:
        data = NOTHING if thing is None else pickler().dumps(thing)
    except Exception as error:  # noqa: BLE001 - objects may raise what they like
        raise ArgumentError(f"{call} sends objects that can be pickled", f"{type(thing).__name__}: {error}") from None
    return Packet(data, 0, len(data))


def pack_array(flat: Array) -> Packet:
    """A copy of the elements of a buffer."""
    return Packet(flat.copy(), flat.size, flat.nbytes)


def open_object(data: bytes | memoryview, call: str, source: int) -> Any:
    """The object that travelled as these bytes; None if there are none.

    Raises:
        DtypeError: no object begins like this. Real MPI does not tell what it carries.
    """
    if not len(data):
        return None
    if not pickler().may_have_made(data):
        raise _no_object(call, f"{len(data)} bytes of numbers", source)
    try:
        return pickler().loads(data)
    except (pickle.UnpicklingError, EOFError):
        raise _no_object(call, f"{len(data)} bytes that are no object", source) from None


def _no_object(call: str, found: str, source: int) -> DtypeError:
    return DtypeError(
        f"{call} receives an object", f"{found} from rank {source}",
        f"{call.capitalize()} for what comes from Send, {call} for what comes from send",
    )  # fmt: skip


def fill(target: Array, packet: Packet, call: str, source: int) -> None:
    """Put an array that came into the room made for it.

    Raises:
        DtypeError: the elements are of another type, or it is an object.
    """
    if isinstance(packet.payload, bytes) or not _alike(packet.payload.dtype, target.dtype):
        found = f"{packet} from rank {source}"
        raise DtypeError(f"{call} has room for {target.dtype}", found, "the same form and dtype on both ranks")
    target[: packet.count] = packet.payload.view(target.dtype)
