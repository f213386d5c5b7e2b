"""Buffers: what an argument of Send, Recv, Allreduce and their like means.

    array                               all of it
    [array, count]                      its first elements
    [array, count, displacement]        as many from there on
    [array, counts]                     one part for each rank, one behind the other
    [array, counts, displacements]      one part for each rank, beginning there
    [..., datatype]                     and the type of its elements, which has to be that of the array

Buffers are NumPy arrays (Vars can be sent, but not received into), in row-major order.
"""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np

from jt_edu.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.mpi.terms.names import IN_PLACE, dtype_of

Array = np.ndarray[Any, Any]
PICKLED = pickle.dumps(None, protocol=5)[:2]  # how every object begins


@dataclass
class Buffer:
    """The elements of an array that a call reads or writes: `flat` is a view of them."""

    flat: Array  # (n,)
    counts: tuple[int, ...] = ()  # of the parts, where there is one for each rank
    starts: tuple[int, ...] = ()

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
        return Buffer(_as_array(given, call, write).reshape(-1))
    array, count, start = _taken_apart(given, call, write)
    if isinstance(count, tuple) and len(count) == 2 and start is None:
        count, start = count
    flat = array.reshape(-1)
    start = 0 if start is None else start
    count = flat.size - start if count is None else count
    whole = all(isinstance(n, (int, np.integer)) and n >= 0 for n in (count, start))
    if not whole or start + count > flat.size:
        at = f" from {start!r}" if start else ""
        raise ArgumentError(f"{call} takes a part of a buffer of {flat.size} elements", f"count {count!r}{at}")
    return Buffer(flat[start : start + count])


def as_parts(given: Any, call: str, size: int, write: bool = False, equal: bool = False) -> Buffer:
    """A buffer with one part for each of `size` ranks; `equal`: the parts are equally long.

    Raises:
        ShapeError: the parts do not fit into the buffer.
    """
    array, counts, starts = _taken_apart(given, call, write)
    flat = array.reshape(-1)
    lengths: list[Any]
    if equal:
        lengths = _equal_parts(flat, counts, call, size)
    elif counts is None:  # as mpi4py cuts: the first ones get what is left over
        lengths = [flat.size // size + (k < flat.size % size) for k in range(size)]
    else:
        lengths = [counts] * size if isinstance(counts, (int, np.integer)) else list(np.ravel(counts))
    begins = np.cumsum([0, *lengths[:-1]]) if starts is None else np.ravel(starts)
    parts = Buffer(flat, _whole(lengths, call, "counts"), _whole(begins, call, "displacements"))
    if len(parts.counts) != size or len(parts.starts) != size:
        found = f"{len(parts.counts)} counts and {len(parts.starts)} displacements"
        raise ShapeError(f"{call} has one part for each of {size} ranks", found)
    ends = [b + n for b, n in zip(parts.starts, parts.counts, strict=True) if n]
    if max(ends, default=0) > flat.size:
        found = f"counts {parts.counts} from {parts.starts}"
        raise ShapeError(f"{call} has parts inside of its buffer of {flat.size} elements", found)
    return parts


def _equal_parts(flat: Array, count: Any, call: str, size: int) -> list[int]:
    whole = int(count) * size if isinstance(count, (int, np.integer)) else flat.size
    if whole % size or not 0 <= whole <= flat.size or not (count is None or np.isscalar(count)):
        found = f"{flat.size} elements" + (f", count {count!r}" if count is not None else "")
        raise ShapeError(f"{call} has a part for each of {size} ranks, all equally long", found)
    return [whole // size] * size


def _whole(numbers: Any, call: str, what: str) -> tuple[int, ...]:
    if any(isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 0 for n in numbers):
        raise ArgumentError(f"{call} takes whole numbers from 0 as {what}", repr(tuple(numbers)))
    return tuple(int(n) for n in numbers)


def check_types(call: str, mine: Buffer, room: Buffer | None) -> None:
    """Refuse to put numbers of one type where there is room for those of another.

    Raises:
        DtypeError: they are of different types.
    """
    if room is not None and mine.dtype != room.dtype:
        found = f"{mine.dtype} and {room.dtype}"
        raise DtypeError(f"{call} takes from one buffer and fills another of the same type", found, "a cast of one")


def check_sizes(call: str, size: int, room: int, whose: str = "") -> None:
    """Refuse room for another number of elements than there will be.

    Raises:
        ShapeError: it is another number.
    """
    if size != room:
        raise ShapeError(f"{call} gives {size} numbers{whose}", f"room for {room}", f"a buffer of {size}")


def _taken_apart(given: Any, call: str, write: bool) -> tuple[Array, Any, Any]:
    """(array, count or counts, displacement or displacements) of a buffer argument."""
    parts = list(given) if isinstance(given, (list, tuple)) else [given]
    array = _as_array(parts[0] if parts else None, call, write)
    rest = parts[1:]
    datatype = rest.pop() if rest and _is_type(rest[-1]) else None
    if datatype is not None and dtype_of(datatype) != array.dtype:
        raise DtypeError(f"{call} is told the type of its elements, {array.dtype}", f"{datatype}")
    if len(rest) == 1 and isinstance(rest[0], tuple) and len(rest[0]) == 2 and not np.isscalar(rest[0][0]):
        rest = list(rest[0])  # (counts, displacements) in one
    if len(rest) > 2:
        raise ArgumentError(f"{call} takes array, counts, displacements, datatype", f"{len(parts)} parts")
    return array, rest[0] if rest else None, rest[1] if len(rest) > 1 else None


def _as_array(given: Any, call: str, write: bool) -> Array:
    if given is IN_PLACE:
        raise ArgumentError(f"{call} takes no IN_PLACE here", "IN_PLACE", "a buffer")
    if not isinstance(given, np.ndarray) and hasattr(given, "numpy") and not write:
        given = given.numpy()
    if not isinstance(given, np.ndarray):
        low = call[:1].lower() + call[1:]
        raise ArgumentError(f"{call} takes an array", type(given).__name__, f"an array, or {low} for objects")
    if given.dtype.hasobject:
        raise DtypeError(f"{call} takes numbers", f"dtype {given.dtype}", f"{call[:1].lower() + call[1:]} for objects")
    if not given.flags.c_contiguous:
        if write:
            raise ArgumentError(f"{call} fills an array in row-major order", "another order", "np.ascontiguousarray")
        given = np.ascontiguousarray(given)
    if write and not given.flags.writeable:
        raise ArgumentError(f"{call} fills an array that can be written", "a read-only one", "array.copy()")
    array: Array = given
    return array


def _is_type(what: Any) -> bool:
    return isinstance(what, (np.dtype, type, str)) or hasattr(what, "tocode")


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
        raise _no_object(call, str(self), source)

    def open(self) -> Any:
        """A fresh copy of the object, or the array."""
        return pickle.loads(self.payload) if isinstance(self.payload, bytes) else self.payload  # noqa: S301 - our own

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
        data = pickle.dumps(thing, protocol=5)
    except Exception as error:  # noqa: BLE001 - objects may raise what they like
        raise ArgumentError(f"{call} sends objects that can be pickled", f"{type(thing).__name__}: {error}") from None
    return Packet(data, 0, len(data))


def pack_array(flat: Array) -> Packet:
    """A copy of the elements of a buffer."""
    return Packet(flat.copy(), flat.size, flat.nbytes)


def open_object(data: bytes | memoryview, call: str, source: int) -> Any:
    """The object that travelled as these bytes.

    Raises:
        DtypeError: no object begins like this. Real MPI does not tell what it carries.
    """
    if bytes(data[:2]) != PICKLED:
        raise _no_object(call, f"{len(data)} bytes of numbers", source)
    return pickle.loads(data)  # noqa: S301 - it comes from our ranks


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
    if packet.is_object or packet.payload.dtype != target.dtype:  # type: ignore[union-attr]
        found = f"{packet} from rank {source}"
        raise DtypeError(f"{call} has room for {target.dtype}", found, "the same form and dtype on both ranks")
    target[: packet.count] = packet.payload
