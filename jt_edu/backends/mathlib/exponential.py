"""Exponential: e ** x, its inverse, and everything made of the two.

    exp     x = k ln 2 + r with |r| <= ln(2) / 2;  e^x = 2^k (1 + r + r^2/2! + r^3/3! + ...)
    log     x = 2^k (1 + f);  log(1 + f) = 2 (s + s^3/3 + s^5/5 + ...) with s = f / (2 + f)

The series are Taylor's, with so many terms that the rest is below a quarter of the last bit; that of exp in float32 is
a least-squares fit, reweighted until the largest error is smallest (2^-28), which saves a term. 2^k is written into the
exponent bits of a float. Errors are stated in ulp, units in the last place, against 64-bit or 60-digit arithmetic.
"""

from __future__ import annotations

from math import factorial, inf, nan

import numpy as np

from jt_edu.backends.mathlib.simd_math import Number, alike, instruction, kernel_function, series, types, where

LN2, LOG2_E, LOG10_E = 0.6931471805599453, 1.4426950408889634, 0.4342944819032518
LN2_HIGH = 355 / 512, float.fromhex("0x1.62e42feep-1")  # few bits, so that k * LN2_HIGH is exact
LN2_LOW = LN2 - 355 / 512, 1.9082149292705877e-10
LOG10_2_HIGH = 77 / 256, float.fromhex("0x1.34413508p-2")
LOG10_2_LOW = 0.0002487456639811952, 1.1451100898021838e-10
MANTISSA, BIAS = (23, 52), (127, 1023)
EXP_SERIES = (
    [0.499999934, 0.166665206, 0.041668388, 0.00836871688, 0.00138145985],
    [1 / factorial(n) for n in range(2, 14)],
)
LOG_SERIES = [[2 / (2 * n + 1) for n in range(1, end)] for end in (5, 11)]


@kernel_function(np.exp, alike("fc"))
def exp(x: Number) -> Number:
    """The exponential, e ** x. Error: 1.1 ulp. Overflows to inf, and underflows gradually to 0."""
    return scaled_exp(x, 0)


def scaled_exp(x: Number, extra: int) -> Number:
    """The number e ** x * 2 ** extra, which may be finite where e ** x is not."""
    k, r = steps_of_ln2(x, x.either(-104.0, -746.0), x.either(89.5, 710.6))
    half = (k + extra) >> 1
    first = power_of_two(half)
    return (first + first * r) * power_of_two(k + extra - half)


def steps_of_ln2(x: Number, lowest: float, highest: float) -> tuple[Number, Number]:
    """An integer k and e ** r - 1, where x = k ln 2 + r. Below `lowest` and above `highest`, x stops."""
    x = where(x < lowest, lowest, x)
    x = where(x > highest, highest, x)
    k, whole = nearest_integer(x * LOG2_E)
    r = x - whole * x.either(*LN2_HIGH) - whole * x.either(*LN2_LOW)
    return k, r + r * r * series(r, x.either(*EXP_SERIES))


def nearest_integer(x: Number) -> tuple[Number, Number]:
    """The nearest whole number, as integer and as float: after adding 1.5 * 2^23 no bit is left for a fraction."""
    magic = x.const(1.5 * 2.0 ** x.either(*MANTISSA))
    moved = x + magic
    return moved.bits() - magic.bits(), moved - magic


def power_of_two(k: Number) -> Number:
    """2.0 ** k, where that is a normal number."""
    return ((k + k.either(*BIAS)) << k.either(*MANTISSA)).number()


@kernel_function(np.expm1, alike("fc"))
def expm1(x: Number) -> Number:
    """The difference e ** x - 1, without loss near 0. Error: 2 ulp."""
    return where(abs_of(x) < x.either(2.0**-25, 2.0**-54), x, 2 * half_expm1(x))


def half_expm1(x: Number) -> Number:
    """(e ** x - 1) / 2, which is finite wherever sinh(x) is."""
    k, r = steps_of_ln2(x, x.either(-20.0, -40.0), x.either(89.5, 710.6))
    quarter = power_of_two(k - 2)
    return 2 * (quarter * r + (quarter - 0.25))


@kernel_function(np.exp2, alike("fc"))
def exp2(x: Number) -> Number:
    """The power 2 ** x. Error: 1.1 ulp; exact for whole x."""
    x = where(x < x.either(-151.0, -1076.0), x.either(-151.0, -1076.0), x)
    x = where(x > x.either(129.0, 1025.0), x.either(129.0, 1025.0), x)
    k, whole = nearest_integer(x)
    r, half = (x - whole) * LN2, k >> 1
    first = power_of_two(half)
    return (first + first * (r + r * r * series(r, x.either(*EXP_SERIES)))) * power_of_two(k - half)


@kernel_function(np.log, alike("fc"))
def log(x: Number) -> Number:
    """The natural logarithm. Error: 1 ulp. It is -inf at 0, and nan below."""
    k, f, rest = octave(x)
    return edges_of_log(x, k * x.either(*LN2_HIGH) - ((rest - k * x.either(*LN2_LOW)) - f))


def octave(x: Number) -> tuple[Number, Number, Number]:
    """Three numbers k, f and rest with x = 2^k (1 + f), sqrt(1/2) <= 1 + f < sqrt(2), and log(1 + f) = f - rest."""
    places, root = x.either(*MANTISSA), x.const(0.7071067811865476).bits()
    small = x < x.either(2.0**-126, 2.0**-1022)  # subnormal: shift it up, and k down
    bits = where(small, x * 2.0**places, x).bits() - root
    f = ((bits & (2**places - 1)) + root).number() - 1
    k = (bits >> places).to(types.int32).to(x.type) - where(small, x.const(places), 0.0)
    s = f / (2 + f)
    w, square = s * s, 0.5 * f * f
    return k, f, square - s * (square + w * series(w, x.either(*LOG_SERIES)))


def edges_of_log(x: Number, value: Number) -> Number:
    """The value where 0 < x < inf, and what IEEE 754 says where x is not."""
    edge = where(x == 0, -inf, where(x < 0, nan, x))
    return where((x > 0) & (x < inf), value, edge)


@kernel_function(np.log2, alike("fc"))
def log2(x: Number) -> Number:
    """The logarithm to base 2. Error: 2 ulp; exact for powers of two."""
    k, f, rest = octave(x)
    low = LOG2_E - 1.4375  # log2(e) in two parts, the first with few bits
    return edges_of_log(x, k + ((f - rest) * low + (f - rest) * 1.4375))


@kernel_function(np.log10, alike("fc"))
def log10(x: Number) -> Number:
    """The logarithm to base 10. Error: 2 ulp."""
    k, f, rest = octave(x)
    high, low = x.either(*LOG10_2_HIGH), x.either(*LOG10_2_LOW)
    near = (f - rest) * (LOG10_E - 0.4375) + (f - rest) * 0.4375  # log10(e) in two parts, the first with few bits
    return edges_of_log(x, k * high + (k * low + near))


@kernel_function(np.log1p, alike("fc"))
def log1p(x: Number) -> Number:
    """The logarithm of 1 + x, without loss near 0. Error: 1 ulp."""
    u = 1 + x
    lost = x - (u - 1)  # what the rounding of 1 + x took away
    k, f, rest = octave(u)
    value = k * x.either(*LN2_HIGH) - ((rest - (k * x.either(*LN2_LOW) + lost / u)) - f)
    return where(abs_of(x) < x.either(2.0**-25, 2.0**-54), x, edges_of_log(u, value))


@kernel_function(np.logaddexp, alike("f"))
def logaddexp(x: Number, y: Number) -> Number:
    """log(e ** x + e ** y), without overflow. Error: 3 ulp of the larger of |x|, |y| and |the result|."""
    apart = abs_of(x - y)
    return instruction("llvm.maximum", x, y) + log1p(exp(-where(x == y, 0.0, apart)))


@kernel_function(np.logaddexp2, alike("f"))
def logaddexp2(x: Number, y: Number) -> Number:
    """log2(2 ** x + 2 ** y), without overflow. Error: 3 ulp of the larger of |x|, |y| and |the result|."""
    apart = abs_of(x - y)
    return instruction("llvm.maximum", x, y) + log1p(exp2(-where(x == y, 0.0, apart))) * LOG2_E


def abs_of(x: Number) -> Number:
    """|x|."""
    return instruction("llvm.fabs", x)


def signed_as(size: Number, x: Number) -> Number:
    """`size` with the sign of x."""
    return instruction("llvm.copysign", size, x)


def _plain_sigmoid(x: Number) -> Number:
    if x < 0:
        e = np.exp(x)
        return np.true_divide(e, 1 + e)
    return np.true_divide(1, 1 + np.exp(-x))


@kernel_function(_plain_sigmoid, alike("fc"))
def sigmoid(x: Number) -> Number:
    """1 / (1 + e ** -x). Error: 3 ulp, also where x is very negative."""
    k, r = steps_of_ln2(x, x.either(-104.5, -746.0), x.either(20.0, 40.0))
    up = x.either(30, 60)  # both sides of e ** x / (1 + e ** x) times 2 ** up: e ** x alone may be too low
    part = power_of_two(k + up)
    part = part + part * r
    return part / (part + 2.0**up)


@kernel_function(np.tanh, alike("fc"))
def tanh(x: Number) -> Number:
    """The hyperbolic tangent. Error: 3 ulp."""
    h = half_expm1(-2 * abs_of(x))
    return signed_as(h / (h + 1), x)


@kernel_function(np.sinh, alike("fc"))
def sinh(x: Number) -> Number:
    """The hyperbolic sine. Error: 3 ulp."""
    h = half_expm1(abs_of(x))
    safe = where(h > 2.0**60, 1.0, h)  # the second term is lost beside so large an h
    return signed_as(h + safe / (2 * safe + 1), x)


@kernel_function(np.cosh, alike("fc"))
def cosh(x: Number) -> Number:
    """The hyperbolic cosine. Error: 2 ulp."""
    half = scaled_exp(abs_of(x), -1)
    return half + 0.25 / half


@kernel_function(np.arcsinh, alike("fc"))
def asinh(x: Number) -> Number:
    """The inverse of sinh. Error: 2 ulp."""
    t = abs_of(x)
    big = t > x.either(2.0**12, 2.0**28)
    safe = where(big, 1.0, t)
    near = t + safe * safe / (1 + instruction("llvm.sqrt", 1 + safe * safe))
    return signed_as(log1p(where(big, t - 1, near)) + where(big, x.const(LN2), 0.0), x)


@kernel_function(np.arccosh, alike("fc"))
def acosh(x: Number) -> Number:
    """The inverse of cosh, nan below 1. Error: 3 ulp."""
    big = x > x.either(2.0**12, 2.0**28)
    t = where(big, 1.0, x - 1)
    near = t + instruction("llvm.sqrt", 2 * t + t * t)
    return where(x < 1, nan, log1p(where(big, x - 1, near)) + where(big, x.const(LN2), 0.0))


@kernel_function(np.arctanh, alike("fc"))
def atanh(x: Number) -> Number:
    """The inverse of tanh, nan beyond 1. Error: 2 ulp."""
    t = abs_of(x)
    return signed_as(0.5 * log1p(2 * t / (1 - t)), x)
