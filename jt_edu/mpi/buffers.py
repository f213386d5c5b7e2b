"""Buffers: what an argument of Send, Recv, Allreduce and their like means.

    array                               all of it
    [array, count]                      its first elements
    [array, counts]                     one part for each rank, one behind the other
    [array, counts, displacements]      one part for each rank, beginning there
    [..., datatype]                     and the type of its elements, which has to be that of the array

Buffers are NumPy arrays (Vars can be sent, but not received into), in row-major order.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jt_edu.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.mpi.names import IN_PLACE

Array = np.ndarray[Any, Any]


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
    array, count, _, _ = _taken_apart(given, call, write)
    flat = array.reshape(-1)
    if count is None:
        return Buffer(flat)
    if not isinstance(count, (int, np.integer)) or not 0 <= count <= flat.size:
        raise ArgumentError(f"{call} takes a part of a buffer of {flat.size} elements", f"count {count!r}")
    return Buffer(flat[: int(count)])


def as_parts(given: Any, call: str, size: int, write: bool = False, equal: bool = False) -> Buffer:
    """A buffer with one part for each of `size` ranks; `equal`: the parts are equally long.

    Raises:
        ShapeError: the parts do not fit into the buffer.
    """
    array, counts, starts, _ = _taken_apart(given, call, write)
    flat = array.reshape(-1)
    if equal or counts is None:
        whole = flat.size if counts is None or not isinstance(counts, (int, np.integer)) else int(counts) * size
        if whole % size or whole > flat.size:
            raise ShapeError(f"{call} has a part for each of {size} ranks, all equally long", f"{flat.size} elements")
        counts = [whole // size] * size
    lengths = tuple(int(c) for c in np.ravel(counts))
    begins = (
        tuple(int(s) for s in np.ravel(starts))
        if starts is not None
        else tuple(int(s) for s in np.cumsum([0, *lengths[:-1]]))
    )
    if len(lengths) != size or len(begins) != size or min((*lengths, *begins), default=0) < 0:
        raise ShapeError(f"{call} has one part for each of {size} ranks", f"counts {lengths}, starts {begins}")
    if max((b + n for b, n in zip(begins, lengths, strict=True)), default=0) > flat.size:
        raise ShapeError(f"{call} has parts inside of its buffer of {flat.size} elements", f"{lengths} from {begins}")
    return Buffer(flat, lengths, begins)


def _taken_apart(given: Any, call: str, write: bool) -> tuple[Array, Any, Any, Any]:
    """(array, count or counts, starts, datatype) of a buffer argument."""
    parts = list(given) if isinstance(given, (list, tuple)) else [given]
    array = _as_array(parts[0] if parts else None, call, write)
    rest = parts[1:]
    datatype = rest.pop() if rest and _is_type(rest[-1]) else None
    if datatype is not None and _dtype_of(datatype) != array.dtype:
        raise DtypeError(f"{call} is told the type of its elements, {array.dtype}", f"{datatype}")
    if len(rest) == 1 and isinstance(rest[0], tuple) and len(rest[0]) == 2 and not np.isscalar(rest[0][0]):
        rest = list(rest[0])  # (counts, displacements) in one
    if len(rest) > 2:
        raise ArgumentError(f"{call} takes array, counts, displacements, datatype", f"{len(parts)} parts")
    return array, rest[0] if rest else None, rest[1] if len(rest) > 1 else None, datatype


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
    return isinstance(what, (np.dtype, type, str)) or hasattr(what, "Get_extent")


def _dtype_of(datatype: Any) -> np.dtype[Any]:
    code = datatype.tocode() if hasattr(datatype, "tocode") else datatype
    found: np.dtype[Any] = np.dtype(code)
    return found


@dataclass(frozen=True)
class Packet:
    """What one message carries: a copy, so that nobody shares memory with anybody."""

    payload: bytes | Array
    count: int  # elements; 0 for an object
    bytes: int

    @property
    def is_object(self) -> bool:
        """Whether it came from send, not from Send."""
        return isinstance(self.payload, bytes)

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


def fill(target: Array, packet: Packet, call: str) -> None:
    """Put an array that came into the room made for it.

    Raises:
        DtypeError: the elements are of another type, or it is an object.
    """
    if packet.is_object or packet.payload.dtype != target.dtype:  # type: ignore[union-attr]
        raise DtypeError(f"{call} has room for {target.dtype}", str(packet), "the same form and dtype on both ranks")
    target[: packet.count] = packet.payload


def same(values: Sequence[Any]) -> bool:
    """Whether all are equal."""
    return all(v == values[0] for v in values[1:])
