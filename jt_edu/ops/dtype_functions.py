"""Dtype functions: questions about dtypes, which need no array to be answered.

result_type(int8, uint8)   int16          what a + b would be
can_cast(int32, float32)   False          would every number survive?
isdtype(x.dtype, "numeric")               which family is it of?
finfo("bfloat16").eps      0.0078125      how fine, how large
promotion_table()                         all pairs, as a table that prints itself
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce
from typing import Any

from jt_edu.base.dtypes import DTYPES, PYTHON, DType, as_dtype, bfloat16, bool_, plain, promote, promote_number, real_of
from jt_edu.base.errors import ArgumentError, DtypeError
from jt_edu.ops.arguments import choice
from jt_edu.variable.var import Var

__all__ = ["can_cast", "finfo", "iinfo", "isdtype", "promote_types", "promotion_table", "result_type"]

KINDS = {"bool": "b", "signed integer": "i", "unsigned integer": "u", "integral": "iu", "real floating": "f",
         "complex floating": "c", "numeric": "iufc"}  # fmt: skip
FRACTION = {"float16": 10, "bfloat16": 7, "float32": 23, "float64": 52}  # bits after the point, of 1.xxx * 2**exponent


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind: another dtype, a family, or one of several of these.

    Args:
        dtype: the dtype.
        kind: a dtype; "bool", "signed integer", "unsigned integer", "integral" (both), "real floating", "complex
            floating", "numeric" (all but bool); or a tuple of kinds.

    Raises:
        ArgumentError: no such family.

    Example:
        >>> isdtype(jt.int8, "integral"), isdtype(jt.int8, (jt.float32, "complex floating"))
        (True, False)

    Source: Python array API standard 2024.12, "isdtype".
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str) and not isinstance(kind, DType):
        return as_dtype(dtype).kind in KINDS[choice("isdtype", "kind", kind, (*KINDS,))]
    return as_dtype(dtype) is as_dtype(kind)


def promote_types(type1: Any, type2: Any) -> DType:
    """The dtype of `a + b`, of the dtypes of a and b; `promotion_table()` shows all.

    Example:
        >>> promote_types("int32", "float32"), promote_types(jt.int8, jt.uint8)
        (jt.float64, jt.int16)
    """
    return promote(as_dtype(type1), as_dtype(type2))


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype of a sum of all of these. Python's numbers give way to Vars and dtypes: int8 and 1 give int8.

    Raises:
        ArgumentError: nothing was given.

    Example:
        >>> result_type(ones(2), "float16"), result_type(jt.int8, 1), result_type(jt.int8, 1.5)
        (jt.float32, jt.int8, jt.float64)
    """
    given = [plain(a) for a in arrays_and_dtypes]
    numbers: list[Any] = [type(a) for a in given if type(a) in PYTHON]
    dtypes = [_dtype_of(a) for a in given if type(a) not in PYTHON]
    dtypes = dtypes or [PYTHON[n] for n in reversed(PYTHON) if n in numbers][:1]
    if not dtypes:
        raise ArgumentError("result_type takes Vars, dtypes or numbers", "nothing", "jt.result_type(x, y)")
    found = reduce(promote, dtypes)
    for kind in numbers:
        found = promote_number(found, kind)
    return found


def can_cast(from_: Any, to: Any) -> bool:
    """Whether every number of one dtype (or of the dtype of a Var) is a number of the other dtype as well.

    Example:
        >>> can_cast(jt.int32, jt.float64), can_cast(ones(2), "int64")
        (True, False)
    """
    wanted = as_dtype(to)
    return promote(_dtype_of(from_), wanted) is wanted


def _dtype_of(given: Any) -> DType:
    """The dtype of a Var or of an array, or the one that is named."""
    return as_dtype(given.dtype if isinstance(given, Var) or hasattr(given, "shape") else given)


class finfo:  # noqa: N801 - NumPy's and PyTorch's name
    """The limits of a float with m bits after the point and e bits for the exponent; of a complex one, of its parts.

        eps = 2**-m        smallest_normal = 2**(2 - 2**(e - 1))        max = (2 - eps) * 2**(2**(e - 1) - 1)

    Args:
        type: a dtype, or a Var.

    Raises:
        DtypeError: not a dtype of floats.

    Example:
        >>> finfo("float32").eps, finfo(jt.bfloat16).max
        (1.1920928955078125e-07, 3.3895313892515355e+38)

    Source: IEEE 754-2019, section 3.
    """

    def __init__(self, type: Any) -> None:
        self.dtype = real_of(_dtype_of(type))
        if self.dtype.kind != "f":
            raise DtypeError("finfo tells the limits of floats", f"dtype {self.dtype}", "jt.iinfo")
        self.bits, after = self.dtype.size * 8, FRACTION[self.dtype]
        largest = 2 ** (self.bits - after - 2) - 1  # exponent
        self.eps = 2.0**-after
        self.max = (2 - self.eps) * 2.0**largest
        self.min = -self.max
        self.smallest_normal = self.tiny = 2.0 ** (1 - largest)
        self.smallest_subnormal = self.tiny * self.eps
        self.nmant, self.nexp = after, self.bits - after - 1  # of the fraction, and of the exponent
        self.iexp = self.nexp  # NumPy's other name
        self.precision = int(after * math.log10(2))  # decimal digits that survive
        self.resolution = 10.0**-self.precision

    def __repr__(self) -> str:
        return f"finfo({self.dtype}: eps={self.eps:.4g}, tiny={self.tiny:.4g}, max={self.max:.4g})"


class iinfo:  # noqa: N801 - NumPy's and PyTorch's name
    """The limits of whole numbers: from -2**(bits - 1) to 2**(bits - 1) - 1, or from 0 to 2**bits - 1.

    Args:
        type: a dtype, or a Var.

    Raises:
        DtypeError: not a dtype of whole numbers.

    Example:
        >>> iinfo(jt.int8).min, iinfo("uint16").max
        (-128, 65535)
    """

    def __init__(self, type: Any) -> None:
        self.dtype = _dtype_of(type)
        if not self.dtype.whole:
            raise DtypeError("iinfo tells the limits of whole numbers", f"dtype {self.dtype}", "jt.finfo")
        self.bits, self.min, self.max = self.dtype.size * 8, self.dtype.whole[0], self.dtype.whole[-1]

    def __repr__(self) -> str:
        return f"iinfo({self.dtype}: min={self.min}, max={self.max})"


@dataclass(frozen=True)
class PromotionTable:
    """What `a + b` is, for dtypes of a (rows) and b (columns). Printing it gives text; a notebook shows a table."""

    dtypes: tuple[DType, ...]

    def rows(self, name: Any = str) -> list[list[str]]:
        """The cells, the heads among them; `name` makes a text of a dtype."""
        return [["+", *map(name, self.dtypes)], *([name(a), *(name(promote(a, b)) for b in self.dtypes)]
                                                  for a in self.dtypes)]  # fmt: skip

    def __repr__(self) -> str:
        rows = self.rows(_brief)
        wide = max(len(cell) for row in rows for cell in row) + 1
        return "\n".join("".join(cell.ljust(wide) for cell in row).rstrip() for row in rows)

    def _repr_html_(self) -> str:
        rows = ["".join(f"<{'td' if i and k else 'th'}>{cell}" for k, cell in enumerate(row))
                for i, row in enumerate(self.rows())]  # fmt: skip
        return f"<table><tr>{'<tr>'.join(rows)}</table>"


def _brief(dtype: DType) -> str:
    """float32 as f32, bfloat16 as bf16, bool as it is."""
    return str(dtype) if dtype is bool_ else ("b" if dtype is bfloat16 else "") + f"{dtype.kind}{dtype.size * 8}"


def promotion_table(*dtypes: Any) -> PromotionTable:
    """The dtype of `a + b`, for all pairs of dtypes, or for pairs of those named.

    Args:
        dtypes: rows and columns; without them all.

    Example:
        >>> promotion_table("uint8", "int8", "int32", "float16", "bfloat16", "float32")
        +    u8   i8   i32  f16  bf16 f32
        u8   u8   i16  i32  f16  bf16 f32
        i8   i16  i8   i32  f16  bf16 f32
        i32  i32  i32  i32  f64  f64  f64
        f16  f16  f16  f64  f16  f32  f32
        bf16 bf16 bf16 f64  f32  bf16 f32
        f32  f32  f32  f64  f32  f32  f32
    """
    return PromotionTable(tuple(map(as_dtype, dtypes)) or tuple(DTYPES.values()))
