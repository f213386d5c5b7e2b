"""Rounding: whole numbers near a number, what is left over, and how a float is made of sign, digits and exponent.

floor ceil trunc round rint fix      whole numbers
floor_divide remainder fmod divmod   division with a rest
frac modf frexp ldexp                a number in two parts
sign signbit copysign heaviside      signs
nextafter spacing nan_to_num         floats as steps on a ruler
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np

from jt_edu.base.dtypes import DType, bfloat16, float64
from jt_edu.base.errors import DtypeError
from jt_edu.ir import scalar_ops as f
from jt_edu.ir.meta_ops import Elementwise, Rules
from jt_edu.ops.arguments import beside, function, number, whole
from jt_edu.ops.dtype_rules import real_floats
from jt_edu.ops.trigonometry import HYPOT
from jt_edu.ops.view import apart
from jt_edu.variable.var import Var, as_var, method

__all__ = ["ceil", "copysign", "divmod", "fix", "floor", "floor_divide", "fmod", "frac", "frexp", "heaviside", "ldexp",
           "mod", "modf", "nan_to_num", "nextafter", "remainder", "rint", "round", "sgn", "sign", "spacing",
           "trunc"]  # fmt: skip
MOST_DIGITS, LEAST_DIGITS = 308, 38  # 10 to more than this is infinite as float64, as float32
_function = partial(function, __name__)

floor = _function(f.FLOOR, "Largest whole number not above x.", "floor(array(1.7)).item()", "1.0")
ceil = _function(f.CEIL, "Smallest whole number not below x.", "ceil(array(1.2)).item()", "2.0")
trunc = _function(f.TRUNC, "x without its fraction.", "trunc(array(-1.7)).item()", "-1.0", "fix")
fix = trunc
sign = _function(f.SIGN, "-1, 0 or 1; z / |z| of a complex number.", "sign(array(-3.0)).item()", "-1.0", "sgn")
sgn = sign
copysign = _function(f.COPYSIGN, "|x| with the sign of y.", "copysign(array(3.0), -0.0).item()", "-3.0")
floor_divide = _function(
    f.FLOOR_DIVIDE,
    "x // y, rounded down; whole numbers by 0 give 0, as in NumPy.",
    "floor_divide(array(-7), 2).item()",
    "-4",
)
remainder = _function(f.REMAINDER, "x % y, with the sign of y.", "remainder(array(-7), 2).item()", "1", "mod")
mod = remainder
fmod = _function(
    f.FMOD, "What x / y, rounded towards 0, leaves: it has the sign of x.", "fmod(array(-7), 2).item()", "-1"
)
frac = _function(f.FRACTION, "x - trunc(x), with the sign of x.", "frac(array(-1.75)).item()", "-0.75", name="frac")


@method
def round(x: Any, decimals: int = 0) -> Var:
    """Round to a number of decimals, in both parts of a complex number; halves go to the even digit.

    Args:
        x: any shape.
        decimals: digits after the point; negative ones count before it, so that -2 rounds to hundreds.

    Raises:
        ArgumentError: decimals is not a whole number.

    Example:
        >>> round(array(2.5)).item(), round(array(1234.5), decimals=-2).item()
        (2.0, 1200.0)
    """
    v = as_var(x)
    digits = whole("round", "decimals", decimals)
    if v.dtype.kind == "c":
        re, im = (round(v.apply(part), decimals) for part in (f.REAL, f.IMAG))
        return re.apply(f.COMPLEX, im)
    if digits == 0 or (digits > 0 and v.dtype.kind in "iu"):
        return v.apply(f.ROUND)
    if v.dtype.kind in "iu":
        return _to_tens(v.cast("int64" if v.dtype.kind == "i" else "uint64"), digits).cast(v.dtype)
    if abs(digits) > MOST_DIGITS:
        return apart(x, v) if digits > 0 else v * 0
    wide = v if abs(digits) <= LEAST_DIGITS else v.cast(float64)
    scale = 10.0 ** abs(digits)
    if digits < 0:
        return ((wide / scale).apply(f.ROUND) * scale).cast(v.dtype)
    moved = wide * scale
    near = (moved.apply(f.ROUND) / scale).cast(v.dtype)
    return near.where_not(moved.apply(f.ISINF), v)  # so large a number has no digits behind the point


def _to_tens(v: Var, digits: int) -> Var:
    """Whole numbers to the nearest multiple of a power of ten, without floats."""
    if digits < -18:
        return v * 0
    ten: int = 10**-digits
    low = v // ten
    rest = v - low * ten
    up = (rest > ten // 2) | ((rest == ten // 2) & (low % 2 != 0))
    return (low + up) * ten


@method
def rint(x: Any) -> Var:
    """The nearest whole number as a float, also of whole numbers; halves go to the even one.

    Example:
        >>> rint(array([0.5, 1.5])).numpy()
        array([0., 2.], dtype=float32)
    """
    return real_floats("rint", x).apply(f.ROUND)


@method
def divmod(x: Any, y: Any) -> tuple[Var, Var]:
    """x // y and x % y.

    Example:
        >>> [part.item() for part in divmod(array(-7), 2)]
        [-4, 1]
    """
    v = beside(x, y)
    return floor_divide(v, y), remainder(v, y)


@method
def modf(x: Any) -> tuple[Var, Var]:
    """The fraction of x and x without it, both with the sign of x.

    Example:
        >>> [part.item() for part in modf(array(-1.75))]
        [-0.75, -1.0]
    """
    v = real_floats("modf", x)
    return v.apply(f.FRACTION), v.apply(f.TRUNC)


@method
def frexp(x: Any) -> tuple[Var, Var]:
    """x = m * 2**e: the m with 0.5 <= |m| < 1, and the e as int32. 0, inf and nan are themselves, with e = 0.

    Example:
        >>> [part.item() for part in frexp(array(6.0))]
        [0.75, 3]
    """
    v = real_floats("frexp", x)
    return v.apply(f.MANTISSA), v.apply(f.EXPONENT)


@method
def ldexp(x: Any, other: Any) -> Var:
    """x * 2**other, exactly where the result is a normal number; the dtype is that of x.

    Args:
        x: the number.
        other: whole numbers.

    Raises:
        DtypeError: the exponent is a float.

    Example:
        >>> ldexp(array(0.75), 3).item()
        6.0
    """
    v, n = real_floats("ldexp", x), as_var(other)
    if n.dtype.is_float:
        raise DtypeError("ldexp takes whole exponents", f"dtype {n.dtype}", "x * exp2(n)")
    return v.apply(f.LDEXP, n.cast(v.dtype))


@method
def heaviside(x: Any, values: Any) -> Var:
    """The step: 0 where x is negative, 1 where it is positive, `values` where it is 0.

    Example:
        >>> heaviside(array([-1.0, 0.0, 1.0]), 0.5).numpy()
        array([0. , 0.5, 1. ], dtype=float32)
    """
    first = beside(x, values)
    v, y = real_floats("heaviside", first), real_floats("heaviside", first.beside(values))
    return (v > 0).cast(v.dtype).where_not(v.apply(f.ISNAN), v).where_not(v == 0, y)


@method
def nextafter(x: Any, other: Any) -> Var:
    """The next number of the dtype on the way from x to `other`.

    Example:
        >>> (nextafter(array(1.0), 2.0) - 1).item() == 2.0**-23
        True
    """
    v = beside(x, other)
    common, _ = f.meet(HYPOT, v.dtype, v.beside(other).dtype)
    return v.apply(_next_after(common), other)


@method
def spacing(x: Any) -> Var:
    """The distance to the next number of the dtype, away from 0, with the sign of x.

    Example:
        >>> spacing(array([1.0, 1024.0])).numpy()
        array([1.1920929e-07, 1.2207031e-04], dtype=float32)
    """
    v = real_floats("spacing", x)
    outwards = v.ones_like().apply(f.COPYSIGN, v.detach()) * float("inf")
    return v.apply(_next_after(v.dtype), outwards) - v


@method
def nan_to_num(x: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Var:
    """x with other numbers instead of nan and infinities, in both parts of a complex number.

    Args:
        x: any shape.
        nan: instead of nan.
        posinf: instead of inf; by default the largest number of the dtype.
        neginf: instead of -inf; by default the lowest one.

    Example:
        >>> nan_to_num(array([float("nan"), float("inf"), 1.0]), nan=-1.0, posinf=9.0).numpy()
        array([-1.,  9.,  1.], dtype=float32)
    """
    v = as_var(x)
    if v.dtype.kind == "c":
        parts = [nan_to_num(v.apply(part), nan, posinf, neginf) for part in (f.REAL, f.IMAG)]
        return parts[0].apply(f.COMPLEX, parts[1])
    other = number("nan_to_num", "nan", nan)
    if v.dtype.kind != "f":
        return apart(x, v)
    high = _largest(v.dtype) if posinf is None else number("nan_to_num", "posinf", posinf)
    low = -_largest(v.dtype) if neginf is None else number("nan_to_num", "neginf", neginf)
    infinite = v.apply(f.ISINF)
    return v.where_not(v.apply(f.ISNAN), other).where_not(infinite & (v > 0), high).where_not(infinite & (v < 0), low)


def _largest(dtype: DType) -> float:
    """The largest finite number."""
    return (2 - 2.0**-7) * 2.0**127 if dtype is bfloat16 else float(np.finfo(dtype.storage).max)


@cache
def _next_after(d: DType) -> Elementwise:
    """The next number of this dtype: halves are computed as float32, but their steps are wider."""
    slopes: Rules = (lambda o, d, x, y: d, lambda o, d, x, y: d.zeros_like())
    if not d.is_half:
        return Elementwise("nextafter", "nextafter({0}, {1})", "float_real", slopes, 4)
    short = "half" if d == "float16" else "bfloat"
    step = f"{short}_to_float(next_half(float_to_{short}({{0}}), float_to_{short}({{1}})))"
    body = f"select(({{0}} == {{0}}) & ({{1}} == {{1}}), {step}, {{0}} + {{1}})"
    return Elementwise("nextafter", body, "float_real", slopes, 6)
