"""Complex inverse: roots and quotients, and the inverse sine, cosine and tangent, by their real and imaginary parts.

    sqrt      t = sqrt((|x| + |z|) / 2) is one part, and y / (2t) the other
    asin      with p = sqrt(1 - z) and q = sqrt(1 + z):    atan2(x, Re pq) + i asinh(Im conj(p) q)
    acos                                                   2 atan2(Re p, Re q) + i asinh(Im conj(q) p)
    atanh     log1p(4x / |1 - z|^2) / 4 + i atan2(2y, (1 - x)(1 + x) - y^2) / 2
    the others    asinh z = -i asin iz,  atan z = -i atanh iz,  acosh z = +-i acos z

No two terms of these have different signs, so nothing cancels. (In the angle of
atanh a difference may cancel, but its error is small beside 2y.) Where a number is so large that 1 is lost beside it, 1
is left out, and the number is divided by 16, so that nothing overflows. Errors: 4 ulp in each part.

Source: Kahan 1987, "Branch cuts for complex elementary functions, or much ado about nothing's sign bit".
"""

from __future__ import annotations

from math import inf, nan, pi

from jt_edu.backends.mathlib import exponential, integer, rounding, trig
from jt_edu.backends.mathlib.complex_parts import (
    Pair,
    determinant,
    infinite,
    of_complex,
    product,
    scale_of,
    scaled,
    sign_of,
    total,
    where,
)
from jt_edu.backends.mathlib.exponential import LN2
from jt_edu.backends.mathlib.rounding import absolute, copysign, hypot
from jt_edu.backends.mathlib.simd_math import Number
from jt_edu.backends.mathlib.trig import atan2

HUGE = 2.0**500


def length(x: Number, y: Number) -> Number:
    """|x + iy| to half an ulp, where no square over- or underflows: a root r, and what x x + y y - r r says of it."""
    (p, e), (q, f) = product(x, x), product(y, y)
    s, g = total(p, q)
    r = rounding.sqrt(s)
    square, h = product(r, r)
    return where(r > 0, r + ((s - square) - h + (e + f + g)) / (2 * where(r > 0, r, 1.0)), r)


@of_complex(rounding.sqrt)
def complex_sqrt(x: Number, y: Number) -> Pair:
    """The square root whose real part is not negative."""
    half, size = rounding.floor(0.5 * scale_of(x, y)), absolute(y)
    shrunk = scaled(x, -2 * half)
    t = scaled(rounding.sqrt(0.5 * (absolute(shrunk) + length(shrunk, scaled(y, -2 * half)))), half)
    other = where((size == 0) & (x == x), 0.0, size / (2 * t))  # noqa: PLR0124
    high, steep = absolute(x) == inf, size == inf
    t, other = where(high | steep, inf, t), where(steep, inf, where(high & (y == y), 0.0, other))  # noqa: PLR0124
    return where(x < 0, other, t), copysign(where(x < 0, t, other), y)


@of_complex(rounding.rsqrt)
def complex_rsqrt(x: Number, y: Number) -> Pair:
    """1 / sqrt(z)."""
    n, (re, im) = scale_of(x, y), complex_sqrt(x, y)
    size, endless = length(scaled(x, -n), scaled(y, -n)), infinite(x, y)
    re, im = (
        where(endless, 0 * sign_of(re), scaled(re / size, -n)),
        where(endless, 0 * sign_of(im), scaled(im / size, -n)),
    )
    return where(size == 0, inf, re), -im


@of_complex(integer.divide)
def complex_divide(a: Number, b: Number, c: Number, d: Number) -> Pair:
    """(a + ib) / (c + id), scaled so that nothing overflows; where c = d = 0, both parts are divided by 0."""
    n, m = scale_of(a, b), scale_of(c, d)
    none, endless = (c == 0) & (d == 0), infinite(c, d)
    left, right = scaled(a, -n), scaled(b, -n)
    c, d = _corner(scaled(c, -m), endless), _corner(scaled(d, -m), endless)
    below = where(none, 1.0, determinant(c, c, d, d))
    finite = (left * 0 == 0) & (right * 0 == 0)
    size = where(endless & finite, -5000.0, n - m)
    re = scaled(determinant(left, c, right, d) / below, size)
    im = scaled(determinant(right, c, -left, d) / below, size)
    return where(none, a / absolute(c), re), where(none, b / absolute(c), im)


def _corner(x: Number, endless: Number) -> Number:
    """Beside an infinity all that counts is which part is infinite."""
    return where(endless, where(absolute(x) == inf, sign_of(x), 0 * x), x)


@of_complex(rounding.absolute)
def complex_absolute(x: Number, y: Number) -> Number:
    """sqrt(x x + y y), without overflow."""
    return hypot(x, y)


@of_complex(rounding.angle)
def complex_angle(x: Number, y: Number) -> Number:
    """The angle, from -pi to pi."""
    return atan2(y, x)


@of_complex(rounding.sign)
def complex_sign(x: Number, y: Number) -> Pair:
    """z / |z|, and 0 of 0."""
    n = scale_of(x, y)
    x, y = scaled(x, -n), scaled(y, -n)
    size = where(infinite(x, y), inf, length(x, y))
    size = where(size == 0, 1.0, size)
    return x / size, y / size


def _roots(x: Number, y: Number) -> tuple[Pair, Pair, Number, Number, Number]:
    """sqrt(1 - z) and sqrt(1 + z), what of z is left, what the logarithm gets back, and whether z is infinite."""
    huge = (absolute(x) > HUGE) | (absolute(y) > HUGE)
    one, shrink = where(huge, 0.0, 1.0), where(huge, 0.0625, 1.0)
    x, y = x * shrink, y * shrink
    return complex_sqrt(one - x, -y), complex_sqrt(one + x, y), x, where(huge, 4 * LN2, 0.0), infinite(x, y)


def _asin(x: Number, y: Number) -> Pair:
    p, q, across, more, endless = _roots(x, y)
    re = atan2(across, where(endless, absolute(y), p[0] * q[0] - p[1] * q[1]))
    im = exponential.asinh(absolute(p[0] * q[1] - p[1] * q[0])) + more
    return where(x == 0, x, re), copysign(where(endless, inf, im), y)


@of_complex(trig.asin)
def complex_asin(x: Number, y: Number) -> Pair:
    """The inverse sine, cut along the real numbers beyond -1 and 1."""
    return _asin(x, y)


@of_complex(exponential.asinh)
def complex_asinh(x: Number, y: Number) -> Pair:
    """The inverse hyperbolic sine, cut along the imaginary numbers beyond -i and i."""
    im, re = _asin(y, x)
    return re, im


def _acos(x: Number, y: Number) -> Pair:
    p, q, _, more, endless = _roots(x, y)
    re = where(endless, atan2(absolute(y), x), 2 * atan2(p[0], q[0]))
    im = exponential.asinh(absolute(q[0] * p[1] - q[1] * p[0])) + more
    return where((x == 0) & (y != y), 0.5 * pi, re), copysign(where(endless, inf, im), -y)  # noqa: PLR0124


@of_complex(trig.acos)
def complex_acos(x: Number, y: Number) -> Pair:
    """The inverse cosine, cut along the real numbers beyond -1 and 1."""
    return _acos(x, y)


@of_complex(exponential.acosh)
def complex_acosh(x: Number, y: Number) -> Pair:
    """The inverse hyperbolic cosine, cut along the real numbers below 1."""
    im, re = _acos(x, y)
    return absolute(re), copysign(im, y)


def _atanh(x: Number, y: Number) -> Pair:
    size, up = absolute(x), absolute(y)
    huge = (size > HUGE) | (up > HUGE)
    n = where(huge, scale_of(x, y), 0.0)
    part, rest = scaled(size, -n), scaled(up, -n)
    across = where(huge, part, 1 - size)
    ratio = scaled(4 * part / determinant(across, across, rest, rest), -n)
    near = (size == 1) & (up < 1e-20)
    re = where(near, 0.5 * (LN2 - exponential.log(up)), 0.25 * exponential.log1p(ratio))
    im = 0.5 * atan2(where(huge, 0 * sign_of(y), 2 * y), where(huge, -1.0, (1 - size) * (1 + size) - y * y))
    endless = infinite(x, y)
    re = where(x == 0, x, copysign(where(endless, 0.0, re), x))
    im = where(y == y, copysign(im, y), nan)  # noqa: PLR0124
    return re, where(endless & (y == y), copysign(0.5 * pi * absolute(sign_of(y)), y), im)  # noqa: PLR0124


@of_complex(exponential.atanh)
def complex_atanh(x: Number, y: Number) -> Pair:
    """The inverse hyperbolic tangent, cut along the real numbers beyond -1 and 1."""
    return _atanh(x, y)


@of_complex(trig.atan)
def complex_atan(x: Number, y: Number) -> Pair:
    """The inverse tangent, cut along the imaginary numbers beyond -i and i."""
    im, re = _atanh(y, x)
    return re, im
