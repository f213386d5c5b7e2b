"""Datatypes: MPI's names for the types of numbers, each of which is one of NumPy's; and layouts made of them.

    MPI.DOUBLE    float64       MPI.INT      int32        MPI.BYTE       uint8
    MPI.FLOAT     float32       MPI.LONG     int64        MPI.C_BOOL     bool

    MPI.DOUBLE.Create_vector(3, 1, 4)    places 0, 32, 64     one column of a (3, 4) array

A buffer may be told by one: comm.Send([x, MPI.DOUBLE], dest=1). NumPy's own names do as well. A layout says at which
bytes the elements lie, and how far it is to the next of its kind; it travels as the row of its elements. A struct of
different types is a row of bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError, DtypeError
from jt_edu.mpi.base.constants import DATATYPE_NULL, ORDER_C, ORDER_F, dtype_of
from jt_edu.ops.arguments import whole

Places = np.ndarray[Any, np.dtype[np.int64]]
Block = tuple[int, int, "Datatype"]  # how many, from which byte on, of what


@dataclass(frozen=True, eq=False)
class Datatype:
    """The type of the elements of a buffer, or a layout of several.

    Args:
        name: as MPI has it.
        code: NumPy's letter for one element.
        places: the byte at which each element begins.
        lower, upper: where it begins, and the next one of its kind.

    Example:
        >>> TYPES["DOUBLE"].Get_size(), TYPES["DOUBLE"].tocode()
        (8, 'd')
        >>> column = TYPES["DOUBLE"].Create_vector(3, 1, 4)
        >>> column.places.tolist(), column.Get_size(), column.extent
        ([0, 32, 64], 24, 72)
    """

    name: str
    code: str
    places: Places
    lower: int
    upper: int

    @staticmethod
    def fromcode(code: str) -> Datatype:
        """MPI's type for NumPy's letter.

        Raises:
            DtypeError: it has none.
        """
        dtype = dtype_of(code)
        found = next((t for t in TYPES.values() if t.dtype == dtype), None)
        if found is None:
            raise DtypeError("MPI has a type for each type of number", repr(code), "'d', 'i', 'B'")
        return found

    def tocode(self) -> str:
        """NumPy's letter for an element."""
        return self.code

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's type of an element."""
        return np.dtype(self.code)

    @property
    def is_dense(self) -> bool:
        """Whether its elements, and those of its next ones, lie one behind the other."""
        behind = np.arange(len(self.places)) * self.dtype.itemsize
        return self.is_predefined or (self.extent == self.size and bool((self.places == behind).all()))

    @property
    def is_predefined(self) -> bool:
        """Whether it is one of MPI's own."""
        return TYPES.get(self.name) is self

    is_named = is_predefined

    @property
    def size(self) -> int:
        """Bytes of its elements."""
        return len(self.places) * int(self.dtype.itemsize)

    @property
    def extent(self) -> int:
        """Bytes from one of its kind to the next."""
        return self.upper - self.lower

    def Get_size(self) -> int:
        """Bytes of its elements."""
        return self.size

    def Get_extent(self) -> tuple[int, int]:
        """Where it begins, and how many bytes there are to the next one of its kind."""
        return self.lower, self.extent

    def Get_true_extent(self) -> tuple[int, int]:
        """Where its first element begins, and how many bytes there are to the end of its last one."""
        if not len(self.places):
            return 0, 0
        first = int(self.places.min())
        return first, int(self.places.max()) + int(self.dtype.itemsize) - first

    def Get_name(self) -> str:
        """Its name in MPI."""
        return f"MPI_{self.name}" if self.is_predefined else ""

    def Commit(self) -> Datatype:
        """Nothing has to be done; the name is there so that programs written for mpi4py run."""
        return self

    def Free(self) -> None:
        """A layout is not used any more, and equals DATATYPE_NULL."""
        if not self.is_predefined:
            object.__setattr__(self, "freed_to", DATATYPE_NULL)

    def Dup(self) -> Datatype:
        """Another one like it."""
        return replace(self, name=self.name.lower())

    # layouts

    def Create_contiguous(self, count: int) -> Datatype:
        """So many, one behind the other."""
        return _laid_out("contiguous", [(count, 0, self)])

    def Create_vector(self, count: int, blocklength: int, stride: int) -> Datatype:
        """So many blocks; `stride` elements from the beginning of one to the next."""
        return self.Create_hvector(count, blocklength, whole("Create_vector", "stride", stride) * self.extent)

    def Create_hvector(self, count: int, blocklength: int, stride: int) -> Datatype:
        """So many blocks; `stride` bytes from the beginning of one to the next."""
        blocks = range(whole("Create_hvector", "count", count, 0))
        step = whole("Create_hvector", "stride", stride)
        return _laid_out("vector", [(blocklength, k * step, self) for k in blocks])

    def Create_indexed(self, blocklengths: Sequence[int], displacements: Sequence[int]) -> Datatype:
        """Blocks of those lengths, beginning at those elements."""
        places = _numbers("Create_indexed", displacements)
        return self.Create_hindexed(blocklengths, [place * self.extent for place in places])

    def Create_hindexed(self, blocklengths: Sequence[int], displacements: Sequence[int]) -> Datatype:
        """Blocks of those lengths, beginning at those bytes."""
        places = _numbers("Create_hindexed", displacements)
        return _laid_out("indexed", _blocks(blocklengths, places, [self] * len(places)))

    def Create_indexed_block(self, blocklength: int, displacements: Sequence[int]) -> Datatype:
        """Blocks of the same length, beginning at those elements."""
        places = _numbers("Create_indexed_block", displacements)
        return self.Create_indexed([blocklength] * len(places), places)

    def Create_hindexed_block(self, blocklength: int, displacements: Sequence[int]) -> Datatype:
        """Blocks of the same length, beginning at those bytes."""
        places = _numbers("Create_hindexed_block", displacements)
        return self.Create_hindexed([blocklength] * len(places), places)

    @classmethod
    def Create_struct(
        cls, blocklengths: Sequence[int], displacements: Sequence[int], datatypes: Sequence[Datatype]
    ) -> Datatype:
        """Blocks of those lengths, beginning at those bytes, of those types; it ends where the next one may begin."""
        kinds = [kind if isinstance(kind, Datatype) else cls.fromcode(kind) for kind in datatypes]
        made = _laid_out("struct", _blocks(blocklengths, displacements, kinds))
        step = max((kind.dtype.alignment for kind in kinds), default=1)
        return replace(made, upper=made.lower - (made.lower - made.upper) // step * step)

    def Create_subarray(
        self, sizes: Sequence[int], subsizes: Sequence[int], starts: Sequence[int], order: int = ORDER_C
    ) -> Datatype:
        """A part of an array of `sizes`: `subsizes` elements from `starts` on, along each axis."""
        sizes, subsizes, starts = (_numbers("Create_subarray", given) for given in (sizes, subsizes, starts))
        axes = list(zip(sizes, subsizes, starts, strict=False))
        within = len(sizes) == len(subsizes) == len(starts) and all(at >= 0 <= n <= size - at for size, n, at in axes)
        if not within or order not in (ORDER_C, ORDER_F):
            found = f"{list(subsizes)} elements from {list(starts)}"
            raise ArgumentError(f"Create_subarray takes a part of an array of {list(sizes)}, in an order", found)
        letter = "C" if order == ORDER_C else "F"
        numbers = np.arange(int(np.prod(sizes))).reshape(sizes, order=letter)  # type: ignore[call-overload]
        part = numbers[tuple(slice(at, at + n) for _, n, at in axes)]
        made = self.Create_indexed_block(1, part.ravel(order=letter).tolist())
        return replace(made, name="subarray", lower=0, upper=numbers.size * self.extent)

    def Create_resized(self, lb: int, extent: int) -> Datatype:
        """The same elements; it begins at byte `lb`, and the next one of its kind `extent` bytes later."""
        lower, width = whole("Create_resized", "lb", lb), whole("Create_resized", "extent", extent)
        return replace(self, name="resized", lower=lower, upper=lower + width)

    def __reduce__(self) -> Any:
        if self.is_predefined:
            return named, (self.name,)
        return Datatype, (self.name, self.code, self.places, self.lower, self.upper)

    def __repr__(self) -> str:
        return f"MPI.{self.name}" if self.is_predefined else f"Datatype({self.name} of {self.dtype})"


def named(name: str) -> Datatype:
    """One of MPI's own."""
    return TYPES[name]


def bytes_of(kind: Datatype) -> Places:
    """The place of each byte of its elements."""
    return np.ravel(kind.places[:, None] + np.arange(kind.dtype.itemsize))


def spread(kind: Datatype, count: int) -> Places:
    """The places of the elements of so many of a kind, one behind the other."""
    return np.ravel((np.arange(count) * kind.extent)[:, None] + kind.places)


def _numbers(call: str, given: Sequence[int]) -> list[int]:
    """Whole numbers, one for each block or axis."""
    try:
        return [whole(call, "item", number) for number in given]
    except TypeError:
        raise ArgumentError(f"{call} takes a list of whole numbers", repr(given)) from None


def _blocks(lengths: Sequence[int], displacements: Sequence[int], kinds: Sequence[Datatype]) -> list[Block]:
    lengths, displacements = _numbers("a layout", lengths), _numbers("a layout", displacements)
    if not len(lengths) == len(displacements) == len(kinds):
        found = f"{len(lengths)} lengths, {len(displacements)} displacements, {len(kinds)} types"
        raise ArgumentError("a layout has a length, a displacement and a type for each block", found)
    return list(zip(lengths, displacements, kinds, strict=True))


def _laid_out(name: str, blocks: Iterable[Block]) -> Datatype:
    """The layout that some blocks make up."""
    places, ends = [], []
    blocks = [(whole("a layout", "length", n, 0), start, kind) for n, start, kind in blocks]
    codes = {kind.code for _, _, kind in blocks}
    for length, start, kind in blocks:
        each = kind if len(codes) == 1 else replace(kind, code="B", places=bytes_of(kind))
        places.append(start + spread(each, length))
        if length:
            steps = (0, (length - 1) * kind.extent)
            ends += [start + step + end for step in steps for end in (kind.lower, kind.upper)]
    found = np.concatenate([np.zeros(0, np.int64), *places]).astype(np.int64)
    code = codes.pop() if len(codes) == 1 else "B"
    return Datatype(name, code, found, min(ends, default=0), max(ends, default=0))


CODES = {
    "BYTE": "B", "CHAR": "b", "SIGNED_CHAR": "b", "UNSIGNED_CHAR": "B", "C_BOOL": "?", "BOOL": "?", "CXX_BOOL": "?",
    "SHORT": "h", "UNSIGNED_SHORT": "H", "INT": "i", "UNSIGNED": "I", "UNSIGNED_INT": "I", "LONG": "l",
    "UNSIGNED_LONG": "L", "LONG_LONG": "q", "UNSIGNED_LONG_LONG": "Q", "FLOAT": "f", "DOUBLE": "d", "LONG_DOUBLE": "g",
    "COMPLEX": "F", "C_COMPLEX": "F", "C_FLOAT_COMPLEX": "F", "DOUBLE_COMPLEX": "D", "C_DOUBLE_COMPLEX": "D",
    "C_LONG_DOUBLE_COMPLEX": "G", "INT8_T": "i1", "INT16_T": "i2", "INT32_T": "i4", "INT64_T": "i8", "UINT8_T": "u1",
    "UINT16_T": "u2", "UINT32_T": "u4", "UINT64_T": "u8", "SINT8_T": "i1", "SINT16_T": "i2", "SINT32_T": "i4",
    "SINT64_T": "i8", "SIGNED_SHORT": "h", "SIGNED_INT": "i", "SIGNED_LONG": "l", "SIGNED_LONG_LONG": "q",
    "INTEGER": "i4", "LOGICAL": "i4", "REAL": "f4", "DOUBLE_PRECISION": "f8", "CHARACTER": "b", "PACKED": "B",
    "INTEGER1": "i1", "INTEGER2": "i2", "INTEGER4": "i4", "INTEGER8": "i8", "REAL4": "f4", "REAL8": "f8",
    "COMPLEX8": "F", "COMPLEX16": "D", "FLOAT16_T": "f2", "FLOAT32_T": "f4", "FLOAT64_T": "f8", "AINT": "p",
    "COUNT": "p", "OFFSET": "p", "F_INT": "i4", "F_BOOL": "i4", "F_FLOAT": "f4", "F_DOUBLE": "f8", "F_COMPLEX": "F",
    "F_FLOAT_COMPLEX": "F", "F_DOUBLE_COMPLEX": "D", "CXX_FLOAT_COMPLEX": "F", "CXX_DOUBLE_COMPLEX": "D",
    "CXX_LONG_DOUBLE_COMPLEX": "G",
}  # fmt: skip
ONE = np.zeros(1, np.int64)
TYPES = {name: Datatype(name, code, ONE, 0, np.dtype(code).itemsize) for name, code in CODES.items()}
