"""Dtypes: which kinds of number there are, how each is stored, and what two of them make together.

A `DType` is its own name (`x.dtype == "float32"` holds), and says how it is stored in an array and computed with in a
kernel. Half floats are stored as 16 bits and computed as float32, as every processor does.

    name       stored as   computed as
    float16    uint16      float32
    bfloat16   uint16      float32
    others     itself      itself

Promotion is NumPy's; the rows that NumPy does not have (bfloat16) are stated in `promote`.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache
from typing import Any, Self

import numpy as np

from jt_edu.base.errors import DtypeError

__all__ = ["bfloat16", "complex128", "complex64", "float16", "float32", "float64", "int16", "int32", "int64", "int8",
           "uint16", "uint32", "uint64", "uint8"]  # fmt: skip


class DType(str):
    """One kind of number: its name, how it is stored, and how kernels compute with it."""

    storage: np.dtype[Any]  # of the array that holds it
    kernel: str  # of the array as a kernel sees it
    compute: str  # of a number in a kernel
    kind: str  # b(ool), i(nteger), u(nsigned), f(loat), c(omplex)
    size: int  # bytes
    is_float: bool  # real or complex: the numbers that have derivatives
    is_half: bool  # stored in 16 bits, computed in 32
    whole: range  # the whole numbers that it holds, if it holds no others

    def __new__(cls, name: str, storage: str, kernel: str, compute: str) -> Self:
        """A dtype from four names: its own, its array's in memory, its array's in a kernel, a number's in a kernel."""
        self = str.__new__(cls, name)
        self.storage, self.kernel, self.compute = np.dtype(storage), kernel, compute
        self.kind = "f" if name == "bfloat16" else self.storage.kind
        self.size = self.storage.itemsize
        self.is_float, self.is_half = self.kind in "fc", self.kind == "f" and self.size == 2
        limits = np.iinfo(self.storage) if self.kind in "iu" else None
        self.whole = range(int(limits.min), int(limits.max) + 1) if limits else range(0)
        return self

    def __repr__(self) -> str:
        return f"jt.{self}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (as_dtype, (str(self),))


bool_ = DType("bool", "bool", "bool_", "bool_")
int8, int16, int32, int64 = (DType(n, n, n, n) for n in ("int8", "int16", "int32", "int64"))
uint8, uint16, uint32, uint64 = (DType(n, n, n, n) for n in ("uint8", "uint16", "uint32", "uint64"))
float16 = DType("float16", "float16", "uint16", "float32")
bfloat16 = DType("bfloat16", "uint16", "uint16", "float32")
float32, float64, complex64, complex128 = (DType(n, n, n, n) for n in ("float32", "float64", "complex64", "complex128"))

_WHOLE = (bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64)
DTYPES = {str(d): d for d in (*_WHOLE, float16, bfloat16, float32, float64, complex64, complex128)}
ALIASES = {"half": float16, "float": float32, "double": float64, "int": int64, "long": int64, "bool_": bool_,
           "short": int16, "complex": complex64, "cfloat": complex64, "cdouble": complex128}  # fmt: skip
PYTHON = {bool: bool_, int: int64, float: float32, complex: complex64}  # what a bare Python number becomes


def as_dtype(wanted: Any) -> DType:
    """The DType that a name, a NumPy dtype or a Python type stands for.

    Example:
        >>> as_dtype("half"), as_dtype(np.int8), as_dtype(float)
        (jt.float16, jt.int8, jt.float32)
    """
    return wanted if isinstance(wanted, DType) else _named(wanted if isinstance(wanted, Hashable) else repr(wanted))


@cache
def _named(wanted: Any) -> DType:
    name = wanted if isinstance(wanted, str) else getattr(wanted, "__name__", "")
    if known := PYTHON.get(wanted) or ALIASES.get(name) or DTYPES.get(name):
        return known
    try:
        return DTYPES["" if wanted is None else np.dtype(wanted).name]  # NumPy reads None as float64
    except (TypeError, KeyError, ValueError, SyntaxError):
        raise DtypeError(
            "a dtype is one of " + ", ".join(DTYPES), repr(wanted), "jt.float32, 'int64' or a NumPy dtype"
        ) from None


def plain(value: Any) -> Any:
    """A number of NumPy's as one of Python's, so that it gives way to a Var as that does; all else as it is.

    Example:
        >>> plain(np.float64(2)), plain(np.int8(3)), plain("two")
        (2.0, 3, 'two')
    """
    return value.item() if isinstance(value, np.generic) else value


@cache
def promote(a: DType, b: DType) -> DType:
    """The dtype of `a + b`: NumPy's rule; bfloat16 meets integers as float16 does, and float16 in float32.

    Example:
        >>> promote(int32, float32), promote(float16, bfloat16), promote(uint8, bfloat16)
        (jt.float64, jt.float32, jt.bfloat16)
    """
    if a is b:
        return a
    if bfloat16 not in (a, b):
        return DTYPES[np.promote_types(a.storage, b.storage).name]
    other = b if a is bfloat16 else a
    met = float32 if other is float16 else promote(float16, other)
    return bfloat16 if met is float16 else met


@cache
def promote_number(a: DType, number: type) -> DType:
    """The dtype of `a` with a bare Python number: the number gives way unless its kind is higher (NumPy's NEP 50).

    Example:
        >>> promote_number(float16, float), promote_number(uint8, int), promote_number(int32, float)
        (jt.float16, jt.uint8, jt.float64)
    """
    if a is bfloat16:
        return complex64 if number is complex else a
    return DTYPES[np.result_type(a.storage, number(0)).name]


@cache
def float_of(a: DType) -> DType:
    """The dtype of `exp(a)`: floats keep theirs, integers become the float that NumPy takes.

    Example:
        >>> float_of(int64), float_of(int8), float_of(bfloat16)
        (jt.float64, jt.float16, jt.bfloat16)
    """
    return a if a.is_float else DTYPES[np.exp(np.zeros(1, a.storage)).dtype.name]


@cache
def sum_of(a: DType) -> DType:
    """The dtype of `a.sum()`: small integers and bools are summed as 64 bits, as in NumPy."""
    return {"b": int64, "i": int64, "u": uint64}.get(a.kind, a)


def contracted(a: DType) -> DType:
    """The dtype of a sum of products of `a`: int32 for int8, uint8 and int16, and 64 bits for larger whole numbers.

    A sum of small whole numbers is rarely small. Bools stay bools: there a product is "and", and a sum is "or".

    Example:
        >>> contracted(uint8), contracted(int32), contracted(bfloat16), contracted(bool_)
        (jt.int32, jt.int64, jt.bfloat16, jt.bool)
    """
    return a if a is bool_ else int32 if a in (int8, uint8, int16) else sum_of(a)


@cache
def real_of(a: DType) -> DType:
    """The dtype of `abs(a)`: complex numbers have real magnitudes."""
    return {complex64: float32, complex128: float64}.get(a, a)


def from_bfloat16(bits: np.ndarray) -> np.ndarray:
    """The float32 numbers of which a bfloat16 array stores the upper halves."""
    return (bits.astype(np.uint32) << 16).view(np.float32)
