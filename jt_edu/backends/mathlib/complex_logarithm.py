"""Complex logarithm: log |z| + i angle(z), and powers, by their real and imaginary parts.

    log |z| = log1p(2t + t^2 + b^2) / 2     where |z| is near 1: one part is 1 + t, the other b
    log |z| = log a + log1p((b/a)^2) / 2    elsewhere; a is the larger part

The sum 2t + t^2 + b^2 may cancel down to its last digits, so squares and sums are kept together with their errors.
Errors: 4 ulp in each part. A power is off by up to 4 + 2 |w log z| ulp of its size, because an error in the last digit
of log z is multiplied by w.

Source: Kahan 1987, "Branch cuts for complex elementary functions".
"""

from __future__ import annotations

from math import inf, nan

from jt_edu.backends.mathlib import exponential, rounding
from jt_edu.backends.mathlib.complex_exponential import complex_exp
from jt_edu.backends.mathlib.complex_parts import (
    Pair,
    determinant,
    infinite,
    larger,
    of_complex,
    product,
    sign_of,
    total,
    where,
)
from jt_edu.backends.mathlib.exponential import LOG2_E, LOG10_E
from jt_edu.backends.mathlib.rounding import absolute
from jt_edu.backends.mathlib.simd_math import Number
from jt_edu.backends.mathlib.trig import atan2


def log_of_size(x: Number, y: Number, t: Number, other: Number) -> Number:
    """log |x + iy|; near 1 by |x + iy|^2 - 1 = 2t + t^2 + other^2."""
    a, b = larger(x, y)
    near = (a > 0.5) & (a < 2)
    t, other = where(near, t, 0.0), where(near, other, 0.0)
    (square, e), (first, f) = product(t, t), product(other, other)
    first, g = total(2 * t, first)
    first, h = total(first, square)
    ratio = b / where((a == 0) | (a == inf), 1.0, a)
    size = where(near, 0.0, exponential.log(a))
    size = size + 0.5 * exponential.log1p(where(near, first + ((e + f) + (g + h)), ratio * ratio))
    size = where((x == x) & (y == y), size, nan)  # noqa: PLR0124
    return where(infinite(x, y), inf, size)


def _log(x: Number, y: Number) -> Pair:
    a, b = larger(x, y)
    return log_of_size(x, y, a - 1, b), atan2(y, x)


@of_complex(exponential.log)
def complex_log(x: Number, y: Number) -> Pair:
    """The natural logarithm; it is cut along the negative numbers, whose side the sign of a zero tells."""
    return _log(x, y)


@of_complex(exponential.log2)
def complex_log2(x: Number, y: Number) -> Pair:
    """The logarithm to base 2."""
    re, im = _log(x, y)
    return re * LOG2_E, im * LOG2_E


@of_complex(exponential.log10)
def complex_log10(x: Number, y: Number) -> Pair:
    """The logarithm to base 10."""
    re, im = _log(x, y)
    return re * LOG10_E, im * LOG10_E


@of_complex(exponential.log1p)
def complex_log1p(x: Number, y: Number) -> Pair:
    """The logarithm of 1 + z, without loss near 0."""
    return log_of_size(1 + x, y, x, y), atan2(y, 1 + x)


@of_complex(rounding.power)
def complex_power(x: Number, y: Number, u: Number, v: Number) -> Pair:
    """e ** (w log z), and 0 of 0 to a power whose real part is positive."""
    re, im = _log(x, y)
    re, im = complex_exp(determinant(u, re, -v, im), determinant(u, im, v, re))
    none, positive = (x == 0) & (y == 0), u > 0
    re, im = where(none, where(positive, 0.0, nan), re), where(none, where(positive, 0.0, nan), im)
    for n, (left, right) in enumerate(_small_powers(x, y)):
        exact = (u == n) & (v == 0)
        re, im = where(exact, left, re), where(exact, right, im)
    return re, im


def _small_powers(x: Number, y: Number) -> list[Pair]:
    """z ** 0, ..., z ** 4 as products, so that powers of whole numbers are whole."""
    square = determinant(x, x, -y, y), determinant(x, y, x, y)
    cube = determinant(square[0], x, -square[1], y), determinant(square[0], y, square[1], x)
    fourth = determinant(square[0], square[0], -square[1], square[1]), 2 * square[0] * square[1]
    return [(absolute(sign_of(x)), 0 * absolute(sign_of(x))), (x, y), square, cube, fourth]
