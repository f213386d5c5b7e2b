"""Erfc: what lies beyond x under the bell curve, also where erf(x) is 1 to the last bit.

    erfc(x)  = 1 - erf(x) = e ** (-x^2) erfcx(x)
    erfcx(x) = P((x - 3) / (x + 3)) / (1 + 2 x)      for x >= 0, all the way to infinity
    erfcx(x) = 2 e ** (x^2) - erfcx(-x)              for x < 0
    erfc(x)  = 1 - Taylor's series of erf(x)         for |x| < 1/2

(1 + 2 x) erfcx(x) goes from 1 to 2 / sqrt(pi) without any detour, so one polynomial over all x is enough. P is the
Chebyshev interpolation of degree 11 (float32) and 26 (float64), made in 50-digit arithmetic.

In float32 erfc is one formula for all x >= 0, with a single division:

    erfc(x)  = e ** (-x^2) U(x) / L(x)      erfc(-x) = 2 - erfc(x)

U, of degree 4, and L, of degree 5, are least-squares fits, reweighted until the largest error is smallest: 2^-27 of the
result. What the rounding of x^2 would take away never arises: x^2 is only ever part of a multiplication and addition
in one step.

ndtr, the area to the left of x, is what gelu waits for. In float32 it has a formula of its own:

    ndtr(-t) = e ** (-t^2 / 2) U(t) / L(t)      ndtr(t) = 1 - ndtr(-t)      for t >= 0

Here U and L are of degree 3 and 4 and begin with 1, so that one multiplication less is needed in each; what they lack
is a factor of the exponential. Errors of 2^-24.6 (1 + t^2) are allowed, because the rounding of t^2 costs as much.

Source: Shepherd and Laframboise 1981, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x in 0 <= x < infinity".
"""

from __future__ import annotations

import math
from math import factorial, inf

import numpy as np

from jt_edu.backends.mathlib.exponential import (
    EXP_SERIES,
    LN2,
    LN2_HIGH,
    LN2_LOW,
    LOG2_E,
    MANTISSA,
    abs_of,
    exp,
    nearest_integer,
    power_of_two,
)
from jt_edu.backends.mathlib.simd_math import Number, alike, instruction, kernel_function, series, where

SCALED = (
    (
        1.25300801, -0.135621101, -0.0475621559, 0.129644722, -0.119275279, 0.0683131963, -0.0237635598, 0.00250677858,
        0.00187506026, -0.000734082074, -9.2537688e-05, 8.00745474e-05,
    ),
    (
        1.2530080582697296, -0.13562110612458123, -0.047562294353451176, 0.1296451587027649, -0.11927366341527554,
        0.06830802734383974, -0.023770514919609846, 0.0025293918181241806, 0.001888690372865711,
        -0.0007798322890919704, -0.00010515990906392902, 0.00012509943856881694, 4.9500234180295395e-06,
        -2.0100852729251828e-05, -7.332447173064987e-07, 3.4730449918834743e-06, 3.6059375955111935e-07,
        -6.175922646727533e-07, -1.4710961394997167e-07, 1.0280982449402661e-07, 4.72080673199222e-08,
        -1.3924844635302213e-08, -1.1887923223951075e-08, 1.2087504427200233e-09, 2.115962671989073e-09,
        -3.5596455016217064e-11, -1.963916858054108e-10,
    ),
)  # fmt: skip


ERF_SERIES = [
    [(-1) ** n * 2 / (math.sqrt(math.pi) * factorial(n) * (2 * n + 1)) for n in range(end)] for end in (7, 14)
]

UPPER = 1.00000001, 1.2385907, 0.731792817, 0.229308682, 0.0328153647
LOWER = 1.0, 2.36697045, 2.40262358, 1.32572078, 0.406465375, 0.0581630237
BELL_UPPER = 35.4593809, 24.0932298, 7.58150253, 1.0
BELL_LOWER = 28.2824068, 41.7827848, 25.2444403, 7.56706368, 1.0
BELL_SCALE = 0.398800049


def _near(x: Number) -> Number:
    """erfc(x) for |x| < 1/2."""
    return 1 - x * series(x * x, x.either(*ERF_SERIES))


def _right_half(t: Number, coefficients: tuple[float, ...]) -> Number:
    """erfcx(t) for 0 <= t < inf, of a Lane or of a Python number."""
    return series((t - 3) / (t + 3), coefficients) / (1 + 2 * t)


def gauss(x: Number, sign: int) -> Number:
    """e ** (sign x^2): what the rounding of x * x takes away is made good afterwards."""
    square = x * x
    lost = instruction("llvm.fma", x, x, -square)
    value = exp(square if sign > 0 else -square)
    whole = (value < inf) & (value > 0)
    return value + where(whole, value * lost, 0.0) * sign


@kernel_function(lambda x: np.result_type(x).type(math.erfc(x)), alike("f"))
def erfc(x: Number) -> Number:
    """1 - erf(x), to the last digits also where that is nearly 0. Error: 5 ulp."""
    t, end = abs_of(x), x.either(10.1, 27.3)  # from `end` on, erfc(x) is 0
    t = where(t > end, end, t)
    if x.either(True, False):
        tail = _single_tail(t)
        return where(x < 0, 2 - tail, tail)
    tail = gauss(t, -1) * _right_half(t, x.either(*SCALED))
    value = where(t < 0.5, _near(x), where(x < 0, 2 - tail, tail))
    return where(x.is_nan(), x, value)


def _single_tail(t: Number) -> Number:
    """erfc(t) for 0 <= t < 10.1, in float32."""
    k, whole = nearest_integer(t * -LOG2_E * t)
    r = -instruction("llvm.fma", t, t, whole * LN2_HIGH[0]) - whole * LN2_LOW[0]  # -t^2 = k ln 2 + r
    r = r + r * r * series(r, EXP_SERIES[0])
    fraction = series(t, UPPER) / series(t, [c * 2.0**64 for c in LOWER])  # 2 ** k alone may be too low
    return (fraction + fraction * r) * power_of_two(k + 64)


@kernel_function(lambda x: np.result_type(x).type(math.erfc(x * -math.sqrt(0.5)) / 2), alike("f"))
def ndtr(x: Number) -> Number:
    """The share of the bell curve to the left of x. Error: 5 ulp, and 2 x^2 more of them where x < 0."""
    if x.either(False, True):
        return 0.5 * erfc(x * -math.sqrt(0.5))
    t = abs_of(x)
    t = where(t > 14.5, 14.5, t)  # from there on, the tail is 0
    square = t * t
    k, whole = nearest_integer(square * (-LOG2_E / 2))
    r = -square - whole * (2 * LN2)  # -t^2 = 2 k ln 2 + r
    near = series(r, [BELL_SCALE * c / 2**n for n, c in enumerate((1, 1, *EXP_SERIES[0]))])  # e ** (r / 2), scaled
    grown = near.bits() + (k + 64 << MANTISSA[0])  # times 2 ** (k + 64): 2 ** k alone may be too low
    tail = series(t, BELL_UPPER) * grown.number() / series(t, [c * 2.0**64 for c in BELL_LOWER])
    return where(x < 0, tail, 1 - tail)


def _plain_erfcx(x: Number) -> Number:
    t, kind = np.float64(x), np.result_type(x)
    if not -27 < t < inf:  # below, there is no such large number; nan is no number either
        return kind.type(t if np.isnan(t) else 0 if t > 0 else inf)
    right = _right_half(abs(t), SCALED[1])
    high = np.float64(np.float32(t))  # so few digits that its square is exact
    return kind.type(right if t >= 0 else 2 * (np.exp(high * high) * np.exp((t - high) * (t + high))) - right)


@kernel_function(_plain_erfcx, alike("f"))
def erfcx(x: Number) -> Number:
    """e ** (x^2) erfc(x), which overflows far later. Error: 5 ulp."""
    t = abs_of(x)
    right = where(t == inf, 0.0, _right_half(where(t == inf, 1.0, t), x.either(*SCALED)))
    grown = gauss(x, 1)
    return where(t < 0.5, grown * _near(x), where(x < 0, 2 * grown - right, right))
