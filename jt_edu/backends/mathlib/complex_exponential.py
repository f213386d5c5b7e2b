"""Complex exponential: e ** z and what is made of it, by its real and imaginary part.

    exp z  = e^x (cos y + i sin y)                sin z = -i sinh iz,   cos z = cosh iz,   tan z = -i tanh iz
    sinh z = sinh x cos y + i cosh x sin y        sinh^2 x + cos^2 y = |cosh z|^2

e^x overflows long before e^x sin y does. So where x is large, 1799 ln 2 is subtracted, and the result is multiplied by
2^1799. Why 1799: the float nearest to 1799 ln 2 is off by less than 2^-53. Errors: exp, exp2, sinh, cosh, sin and cos:
4 ulp in each part; tanh and tan: 4, and near a pole 5; expm1 and sigmoid: 4 ulp of the size of the result. Infinities,
nan, and zeros with their signs are as annex G of C99 has them.

Source: Kahan 1987, "Branch cuts for complex elementary functions, or much ado about nothing's sign bit".
"""

from __future__ import annotations

from math import factorial, inf

from jt_edu.backends.mathlib import exponential
from jt_edu.backends.mathlib.complex_parts import Pair, determinant, of_complex, product, sign_of, where
from jt_edu.backends.mathlib.exponential import LN2
from jt_edu.backends.mathlib.rounding import absolute, copysign
from jt_edu.backends.mathlib.simd_math import Number, series
from jt_edu.backends.mathlib.trig import cos, sin, tan

FAR, STEPS = 709.0, 1799 * LN2
LN2_REST = 2.3190468138462996e-17
SINH_SERIES = [1 / factorial(2 * n + 1) for n in range(1, 10)]


def _short(x: Number, steps: float, most: float) -> Number:
    """x without so many steps; whatever is still too large is as good as the most, and finite as x is."""
    return where(x > steps + most, most, x - steps)


def _turned(size: Number, up: Number, y: Number, c: Number, s: Number) -> Pair:
    """size 2^(1799 up) (c + i s), where c and s are the cosine and sine of y."""
    first, second = where(up, 2.0**900, 1.0), where(up, 2.0**899, 1.0)
    endless, nowhere = absolute(size) == inf, absolute(y) * 0 != 0
    re = where(endless & nowhere, size, size * (c * first) * second)
    im = where(y == 0, y, size * (s * first) * second)
    nothing = (size == 0) & nowhere
    return where(nothing, 0.0, re), where(nothing, 0.0, im)


def _exp(x: Number, y: Number, c: Number, s: Number) -> Pair:
    far = (x > FAR) & (x < inf)
    return _turned(exponential.exp(where(far, _short(x, STEPS, FAR), x)), far, y, c, s)


@of_complex(exponential.exp)
def complex_exp(x: Number, y: Number) -> Pair:
    """e ** z."""
    return _exp(x, y, cos(y), sin(y))


@of_complex(exponential.exp2)
def complex_exp2(x: Number, y: Number) -> Pair:
    """2 ** z; the angle y ln 2 is known to twice the digits."""
    turn, rest = product(y, LN2)
    rest = where(rest * 0 == 0, rest + y * LN2_REST, 0.0)
    c, s = cos(turn), sin(turn)
    far = (x > 1023) & (x < inf)
    return _turned(
        exponential.exp2(where(far, _short(x, 1799.0, 1000.0), x)),
        far,
        where(y == 0, y, turn),
        c - s * rest,
        s + c * rest,
    )


@of_complex(exponential.expm1)
def complex_expm1(x: Number, y: Number) -> Pair:
    """e ** z - 1: near 0 as (e^x - 1) cos y - (1 - cos y)."""
    c, s = cos(y), sin(y)
    re, im = _exp(x, y, c, s)
    lost = where(c > 0, s * s / (1 + c), 1 - c)
    return where(absolute(x) < 1, where(y == 0, exponential.expm1(x), exponential.expm1(x) * c - lost), re - 1), im


def _hyperbolic(x: Number) -> tuple[Number, Number, Number]:
    """2 sinh x, 2 cosh x, and whether both lack a factor of 2^1799."""
    size = absolute(x)
    far = (size > FAR) & (size < inf)
    e = exponential.exp(where(far, _short(size, STEPS, FAR), size))
    back, w = where(far, 0.0, 1 / e), where(size < 1, size * size, 0.0)
    return copysign(where(size < 1, 2 * (size + size * w * series(w, SINH_SERIES)), e - back), x), e + back, far


def _sinh(x: Number, y: Number) -> Pair:
    c, s = cos(y), sin(y)
    double, other, far = _hyperbolic(x)
    re, im = _turned(0.5 * double, far, y, c, s)[0], _turned(0.5 * other, far, y, c, s)[1]
    return where(x == 0, x, re), im


@of_complex(exponential.sinh)
def complex_sinh(x: Number, y: Number) -> Pair:
    """(e ** z - e ** -z) / 2."""
    return _sinh(x, y)


@of_complex(sin)
def complex_sin(x: Number, y: Number) -> Pair:
    """The sine."""
    im, re = _sinh(y, x)
    return re, im


def _cosh(x: Number, y: Number) -> Pair:
    c, s = cos(y), sin(y)
    double, other, far = _hyperbolic(x)
    re, im = _turned(0.5 * other, far, y, c, s)[0], _turned(0.5 * double, far, y, c, s)[1]
    flat = (x == 0) | (y == 0)
    return re, where(flat, copysign(0 * sign_of(x), sign_of(x) * sign_of(y)), im)


@of_complex(exponential.cosh)
def complex_cosh(x: Number, y: Number) -> Pair:
    """(e ** z + e ** -z) / 2."""
    return _cosh(x, y)


@of_complex(cos)
def complex_cos(x: Number, y: Number) -> Pair:
    """The cosine."""
    re, im = _cosh(y, x)
    return re, -im


def _tanh(x: Number, y: Number) -> Pair:
    c, first, twice = cos(y), sin(y), cos(2 * y)  # twice is nan where y is too large to be doubled
    s = where(absolute(y) > 2.0**1000, 2 * first * c, sin(2 * y))
    turned = where(twice == twice, twice, 2 * c * c - 1)  # noqa: PLR0124
    size = absolute(x)
    far, endless = size > 1, size == inf
    t = exponential.exp(-2 * size)
    above = 1 + t * (t + 2 * turned)
    double, other, _ = _hyperbolic(where(far, 1.0, size))
    half = 0.5 * double
    wide = twice > -0.5  # else near a pole, where c is small: it stands above and below, and its error counts once
    below = where(wide, half * half + (0.5 + 0.5 * twice), determinant(half, half, c, c))
    re = where(far, where(endless, 1.0, (1 - t) * (1 + t) / above), half * other * 0.5 / below)
    side = where(s == s, 0 * s, copysign(0 * sign_of(x), y))  # noqa: PLR0124
    im = where(far, where(endless, side, 2 * t * s / above), where(wide, 0.5 * s, first * c) / below)
    return where(x == 0, x, copysign(re, x)), where(y == 0, y, im)


@of_complex(exponential.tanh)
def complex_tanh(x: Number, y: Number) -> Pair:
    """sinh z / cosh z.

    Near 0 that is (sinh x cosh x + i sin y cos y) / |cosh z|^2. Elsewhere, with t = e^(-2|x|), it is
    (+-(1 - t^2) + 2i t sin 2y) / (1 + 2t cos 2y + t^2), in which an error of t counts once, and that of sinh^2 twice.
    """
    return _tanh(x, y)


@of_complex(tan)
def complex_tan(x: Number, y: Number) -> Pair:
    """The tangent."""
    im, re = _tanh(y, x)
    return re, im


@of_complex(exponential.sigmoid)
def complex_sigmoid(x: Number, y: Number) -> Pair:
    """1 / (1 + e ** -z), from e^-|x|, which cannot overflow, and 1 + cos y = 2 cos^2(y/2), in which nothing cancels."""
    h, g = cos(0.5 * y), sin(0.5 * y)
    e, less, more = exponential.exp(-absolute(x)), -exponential.expm1(-absolute(x)), 2 * h * h
    below = less * less + 2 * e * more
    re = where(x < 0, e * (more - less), less + e * more)
    gone = (e == 0) & (y * 0 != 0)
    im = where(y == 0, y, 2 * e * g * h / below)
    return where(gone, where(x < 0, 0.0, 1.0), re / below), where(gone, 0.0, im)
