"""Datatypes: MPI's names for the types of numbers, each of which is one of NumPy's.

    MPI.DOUBLE    float64       MPI.INT      int32        MPI.BYTE       uint8
    MPI.FLOAT     float32       MPI.LONG     int64        MPI.C_BOOL     bool

A buffer may be told by one: comm.Send([x, MPI.DOUBLE], dest=1). NumPy's own names do as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Datatype:
    """The type of the elements of a buffer.

    Example:
        >>> TYPES["DOUBLE"].Get_size(), TYPES["DOUBLE"].tocode()
        (8, 'd')
    """

    name: str
    code: str  # NumPy's letter

    def tocode(self) -> str:
        """NumPy's letter for it."""
        return self.code

    @property
    def size(self) -> int:
        """Bytes of one element."""
        return int(np.dtype(self.code).itemsize)

    @property
    def extent(self) -> int:
        """Bytes from one element to the next."""
        return self.size

    def Get_size(self) -> int:
        """Bytes of one element."""
        return self.size

    def Get_extent(self) -> tuple[int, int]:
        """Where an element begins, and how many bytes there are to the next."""
        return 0, self.size

    def Get_name(self) -> str:
        """Its name in MPI."""
        return f"MPI_{self.name}"

    def Commit(self) -> Datatype:
        """Nothing has to be done; the name is there so that programs written for mpi4py run."""
        return self

    Free = Commit

    def __repr__(self) -> str:
        return f"MPI.{self.name}"


CODES = {
    "BYTE": "B", "CHAR": "b", "SIGNED_CHAR": "b", "UNSIGNED_CHAR": "B", "C_BOOL": "?", "BOOL": "?", "SHORT": "h",
    "UNSIGNED_SHORT": "H", "INT": "i", "UNSIGNED": "I", "LONG": "l", "UNSIGNED_LONG": "L", "LONG_LONG": "q",
    "UNSIGNED_LONG_LONG": "Q", "FLOAT": "f", "DOUBLE": "d", "COMPLEX": "F", "C_FLOAT_COMPLEX": "F",
    "DOUBLE_COMPLEX": "D", "C_DOUBLE_COMPLEX": "D", "INT8_T": "i1", "INT16_T": "i2", "INT32_T": "i4", "INT64_T": "i8",
    "UINT8_T": "u1", "UINT16_T": "u2", "UINT32_T": "u4", "UINT64_T": "u8", "INTEGER": "i4", "REAL": "f4",
    "DOUBLE_PRECISION": "f8",
}  # fmt: skip
TYPES: dict[str, Datatype] = {name: Datatype(name, code) for name, code in CODES.items()}
