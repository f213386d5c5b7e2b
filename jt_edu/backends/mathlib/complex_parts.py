"""Complex parts: how does a formula for complex numbers read when it knows real numbers only?

    @of_complex(exp)
    def complex_exp(x, y): ...; return re, im          z = x + iy comes as two float64, and so does the answer

The formula is run by Python with NumPy's numbers (backend `python`), and with Lanes while a kernel is compiled: it is
written once. complex64 is computed as complex128 and rounded at the end. As `where` computes both sides, there are no
branches, and LLVM works on several numbers at once.

Products whose digits cancel are kept with the error that rounding made: `product` and `total`.

Source: Dekker 1971, "A floating-point technique for extending the available precision".
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
from llvmlite import ir

from jt_edu.backends.mathlib import simd_math
from jt_edu.backends.mathlib.float_bits import exponent, ldexp
from jt_edu.backends.mathlib.rounding import absolute, copysign
from jt_edu.backends.mathlib.simd_math import Lane, Number, instruction, types

Pair = tuple[Number, Number]


def of_complex(function: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Have a function of mathlib answer by this formula where its arguments are complex."""

    def bind(formula: Callable[..., Any]) -> Callable[..., Any]:
        def answer(*args: Any, builder: Any = None, kinds: Any = ()) -> Any:
            parts = _parts_in_python(args) if builder is None else _parts_in_kernel(builder, args, kinds)
            found = formula(*parts)
            return _joined_in_python(found, args) if builder is None else _joined_in_kernel(builder, found, kinds[-1])

        function.of_complex = answer
        return formula

    return bind


def _parts_in_python(args: Any) -> list[Number]:
    return [np.float64(part) for z in args for part in (z.real, z.imag)]


def _joined_in_python(found: Any, args: Any) -> Number:
    kind = np.result_type(*args)
    if not isinstance(found, tuple):
        return kind.type(0).real.dtype.type(found)
    joined = np.empty(1, np.complex128)
    joined.real, joined.imag = found
    return joined.astype(kind)[0]


def _parts_in_kernel(builder: Any, args: Any, kinds: Any) -> list[Number]:
    return [
        Lane(builder, kind.underlying_float, builder.extract_value(z, k)).to(types.float64)
        for z, kind in zip(args, kinds, strict=False)
        for k in (0, 1)
    ]


def _joined_in_kernel(builder: Any, found: Any, kind: Any) -> Any:
    if not isinstance(found, tuple):
        return found.to(kind).value
    parts = [part.to(kind.underlying_float).value for part in found]
    whole = ir.Constant(ir.LiteralStructType([parts[0].type] * 2), ir.Undefined)
    return builder.insert_value(builder.insert_value(whole, parts[0], 0), parts[1], 1)


def where(condition: Number, yes: Number, no: Number) -> Number:
    """`yes` where the condition holds, else `no`, also of plain numbers."""
    if not isinstance(condition, Lane):
        return np.float64(yes if condition else no)
    if not isinstance(yes, Lane) and not isinstance(no, Lane):
        yes = Lane(condition.builder, types.float64, ir.Constant(ir.DoubleType(), yes))
    return simd_math.where(condition, yes, no)


def product(x: Number, y: Number) -> Pair:
    """x y as a float, and what that float lacks. Both are finite."""
    if isinstance(x, Lane):
        y = x.like(y)
        rounded = simd_math.alone(x, y)
        return rounded, instruction("llvm.fma", x, y, -rounded)
    rounded = x * y
    finite = np.isfinite(rounded) and np.isfinite(x) and np.isfinite(y)
    return rounded, np.float64(float(Fraction(float(x)) * Fraction(float(y)) - Fraction(float(rounded)))) if (
        finite
    ) else np.float64(0)


def total(x: Number, y: Number) -> Pair:
    """x + y as a float, and what that float lacks."""
    rounded = x + y
    part = rounded - x
    return rounded, (x - (rounded - part)) + (y - part)


def determinant(a: Number, b: Number, c: Number, d: Number) -> Number:
    """a b + c d to the last digits, also where they cancel."""
    (p, e), (q, f) = product(a, b), product(c, d)
    s, g = total(p, q)
    return where(absolute(s) < inf, s + (e + f + g), s)


def larger(x: Number, y: Number) -> Pair:
    """The larger of |x| and |y|, and the other one."""
    x, y = absolute(x), absolute(y)
    return where(x > y, x, y), where(x > y, y, x)


def infinite(*numbers: Number) -> Number:
    """Whether one of them is infinite."""
    first, *others = (absolute(x) == inf for x in numbers)
    for other in others:
        first = first | other
    return first


def scale_of(x: Number, y: Number) -> Number:
    """The exponent of the larger part, 0 of infinities: times 2 to the minus that, no square over- or underflows."""
    e = exponent(where(absolute(x) > absolute(y), x, y))
    return e.to(types.float64) if isinstance(e, Lane) else np.float64(e)


def scaled(x: Number, n: Number) -> Number:
    """x times 2 ** n."""
    return ldexp(x, n)


def sign_of(x: Number) -> Number:
    """1 or -1, also of a zero."""
    return copysign(where(x == x, 1.0, 1.0), x)  # noqa: PLR0124 - a constant of the kind of x
