"""Float bits: what is a float made of, and which float is the next one?

    x = mantissa(x) * 2 ** exponent(x), with 0.5 <= |mantissa| < 1; ldexp puts the two together again
    x = trunc(x) + fraction(x)

All are exact: they cut and join the bits of a float, and nothing rounds, except ldexp where it underflows.
"""

from __future__ import annotations

from math import inf

import numpy as np

from jt_edu.backends.mathlib.exponential import BIAS, MANTISSA, abs_of, power_of_two, signed_as
from jt_edu.backends.mathlib.simd_math import Number, alike, instruction, kernel_function, types, where


def _exponent(x: Number) -> tuple[Number, Number]:
    """The exponent, and x times a power of two that makes it a normal number."""
    tiny = abs_of(x) < x.either(2.0**-126, 2.0**-1022)
    places = x.either(*MANTISSA)
    normal = where(tiny, x * 2.0**places, x)
    field = (normal.bits() >> places) & x.either(0xFF, 0x7FF)
    return field - (x.either(*BIAS) - 1) - where(tiny, field.const(places), 0), normal


def _has_parts(x: Number) -> Number:
    return (abs_of(x) > 0) & (abs_of(x) < inf)


@kernel_function(lambda x: np.frexp(x)[1], alike("f", types.int32))
def exponent(x: Number) -> Number:
    """The e of x = m * 2 ** e with 0.5 <= |m| < 1; 0 where x is 0, infinite or nan. Exact."""
    power, _ = _exponent(x)
    return where(_has_parts(x), power, 0).to(types.int32)


@kernel_function(lambda x: np.frexp(x)[0], alike("f"))
def mantissa(x: Number) -> Number:
    """The m of x = m * 2 ** e with 0.5 <= |m| < 1; x itself where it is 0, infinite or nan. Exact."""
    _, normal = _exponent(x)
    places = x.either(*MANTISSA)
    keep, half = ~(x.either(0xFF, 0x7FF) << places), (x.either(*BIAS) - 1) << places
    return where(_has_parts(x), ((normal.bits() & keep) | half).number(), x)


def _plain_ldexp(x: Number, n: Number) -> Number:
    return np.ldexp(x, int(min(max(n, -5000), 5000)))


@kernel_function(_plain_ldexp, alike("f"))
def ldexp(x: Number, n: Number) -> Number:
    """The number x * 2 ** n; n is a whole number in a float. Exact, except for one rounding where it underflows."""
    end, half = x.either(300.0, 2200.0), x.either(100, 900)  # 2 ** half and 2 ** -half are normal numbers
    left, steps = where(n > end, n.const(end), where(n < -end, n.const(-end), n)).to(x.bits().type), []
    for _ in range(3):
        steps.append(where(left > half, left.const(half), where(left < -half, left.const(-half), left)))
        left = left - steps[-1]
    for step in reversed(steps):  # a full step comes last: no number on the way is too small
        x = x * power_of_two(step)
    return x


@kernel_function(lambda x: np.modf(x)[0], alike("f"))
def fraction(x: Number) -> Number:
    """What trunc(x) leaves, with the sign of x; 0 of an infinity. Exact."""
    rest = where(abs_of(x) == inf, x.const(0.0), x - instruction("llvm.trunc", x))
    return signed_as(rest, x)


@kernel_function(np.nextafter, alike("f"))
def nextafter(x: Number, y: Number) -> Number:
    """The float next to x on the way to y."""
    bits = x.bits()
    away = (y > x) ^ (x < 0)
    moved = where(away, bits + 1, bits - 1).number()
    first = signed_as((bits & 0 | 1).number(), y)
    step = where(x == 0, first, where(x == y, y, moved))
    step = where((x == 0) & (y == 0), y, step)
    return where(x.is_nan() | y.is_nan(), x + y, step)


def _plain_next_half(x: Number, y: Number) -> Number:
    a, b = int(x), int(y)
    left, right = (v if v < 0x8000 else 0x8000 - v for v in (a, b))  # codes in order, both zeros at 0
    if left == right:
        return np.uint16(b)
    if left == 0:
        return np.uint16(0x8001 if right < 0 else 1)
    return np.uint16(a + (1 if (right > left) == (left > 0) else -1))


@kernel_function(_plain_next_half, alike("u"))
def next_half(x: Number, y: Number) -> Number:
    """The 16 bits of the half float next to x on the way to y, both given as 16 bits; of float16 and bfloat16 alike."""
    left, right = _in_order(x), _in_order(y)
    towards = where(right < 0, x.const(0x8001), 1)
    moved = where((right > left) ^ (left < 0), x + 1, x - 1)
    return where(left == right, y, where(left == 0, towards, moved))


def _in_order(x: Number) -> Number:
    """16 bits of a float as an integer that grows as the float does."""
    wide = x.to(types.uint32).seen_as(types.int32)
    return where(wide < 0x8000, wide, 0x8000 - wide)
