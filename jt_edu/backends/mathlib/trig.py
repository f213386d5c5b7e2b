"""Trig: sine and cosine, and the angles that belong to them.

    sin, cos, tan    x = k pi/2 + r with |r| <= pi/4; then Taylor's series of sin r and cos r, and k says which one
    atan             |x| is folded to at most tan(pi/8), then Taylor's series; all other angles come from it

pi/2 is subtracted in three parts, in 64 bits. Beyond 1e6 that would lose digits, and beyond 1e15 all of them: there x
is multiplied by 2/pi instead, of whose 1200 bits those count that make neither whole turns nor digits that nobody sees.
Such angles are rare, and the others are not to wait for them: see `rare_branch`.

Source: Payne and Hanek 1983, "Radian reduction for trigonometric functions".
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from math import factorial, inf, nan, pi

import numpy as np

from jt_edu.backends.mathlib.exponential import abs_of, nearest_integer, signed_as
from jt_edu.backends.mathlib.rare_branch import rarely
from jt_edu.backends.mathlib.simd_math import Number, alike, entry, instruction, kernel_function, series, types, where

HALF_PI = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)  # 33, 33 and 53 bits of pi/2
HALF_PI_IN_TWO = (1.5707963267948966, 6.123233995736766e-17)
FAR = 1e6
SIN_SERIES = [[(-1) ** n / factorial(2 * n + 1) for n in range(end)] for end in (5, 9)]
COS_SERIES = [[(-1) ** n / factorial(2 * n) for n in range(end)] for end in (6, 9)]
ATAN_SERIES = [[(-1) ** n / (2 * n + 1) for n in range(1, end)] for end in (10, 21)]
TAN_EIGHTH = 0.41421356237309503  # tan(pi/8)
BITS = 19 * 64  # of 2/pi: the largest float is below 2 ** 1024, and three words follow the first that counts
WORD = 2**64 - 1
WIDE = types.Integer("uint128", 128, False)
Quarters = tuple[Number, Number, Number]  # the integer k, sin r and cos r, where x = k pi/2 + r


def two_over_pi(bits: int) -> int:
    """2/pi times 2 ** bits, by Machin's formula: pi/4 = 4 atan(1/5) - atan(1/239).

    Example:
        >>> two_over_pi(60) / 2**60
        0.6366197723675814
    """
    one = 1 << 2 * bits + 64
    return (one << bits) // (2 * (4 * _atan_of_one_by(5, one) - _atan_of_one_by(239, one)))


def _atan_of_one_by(n: int, one: int) -> int:
    power = total = one // n
    for k in range(3, one.bit_length(), 2):
        power //= -n * n
        total += power // k
    return total


TWO_OVER_PI = [0] + [two_over_pi(BITS) >> BITS - 64 * k & WORD for k in range(1, BITS // 64 + 1)]


def near_quarters(x: Number) -> Quarters:
    """Quarter turns of an angle that is not far from 0."""
    wide = x.to(types.float64)
    k, whole = nearest_integer(wide * (2 / pi))
    for part in HALF_PI:
        wide = wide - whole * part
    return _quarters(x, k, wide)


def far_quarters(x: Number) -> Quarters:
    """Quarter turns of any other: x = m 2^e, and from 192 bits of 2/pi on x 2/pi is known except for whole turns."""
    wide = x.to(types.float64)
    bits = abs_of(wide).bits()
    m, skipped = (bits & (2**52 - 1) | 2**52).to(WIDE), (bits >> 52) - 1013
    first, shift = skipped >> 6, (skipped & 63).seen_as(types.uint64)
    words = [entry("rare_two_over_pi", TWO_OVER_PI, first + k) for k in range(4)]
    high, middle, low = ((a << shift | (b >> 1) >> (63 - shift)).to(WIDE) for a, b in pairwise(words))
    turns = ((m * low) >> 64) + m * middle + ((m * high) << 64)  # four quarters are 2^128, and fall out
    k = (turns + 2**125) >> 126
    rest = turns - (k << 126)
    r = (rest >> 64).to(types.int64).to(types.float64) * 2.0**64 + rest.to(types.uint64).to(types.float64)
    r = where(abs_of(wide) < inf, r * 2.0**-126, nan)
    r = r * HALF_PI_IN_TWO[0] + r * HALF_PI_IN_TWO[1]
    k = k.to(types.int64)
    return _quarters(x, where(wide < 0, -k, k), where(wide < 0, -r, r))


def _quarters(x: Number, k: Number, r: Number) -> Quarters:
    r = r.to(x.type)
    z = r * r
    return k.to(x.bits().type), r * series(z, x.either(*SIN_SERIES)), series(z, x.either(*COS_SERIES))


def of_any_angle(formula: Callable[[Number, Number, Number], Number], x: Number) -> Number:
    """A formula for quarter turns, of an angle that may be far from 0."""
    slow = partial(_of_a_far_angle, formula)
    return rarely(f"far{formula.__name__}", slow, abs_of(x) > FAR, x, formula(*near_quarters(x)))


def _of_a_far_angle(formula: Callable[[Number, Number, Number], Number], x: Number) -> Number:
    return formula(*far_quarters(x))


def turned(value: Number, k: Number) -> Number:
    """The value, with the other sign in the third and fourth quarter."""
    return (value.bits() ^ ((k & 2) << (value.width - 2))).number()


def _sine(k: Number, sine: Number, cosine: Number) -> Number:
    return turned(where((k & 1) == 0, sine, cosine), k)


def _cosine(k: Number, sine: Number, cosine: Number) -> Number:
    return turned(where((k & 1) == 0, cosine, sine), k + 1)


def _tangent(k: Number, sine: Number, cosine: Number) -> Number:
    even = (k & 1) == 0
    return where(even, sine, -cosine) / where(even, cosine, sine)


def near_cos(x: Number) -> Number:
    """The cosine of an angle up to 1e6."""
    return _cosine(*near_quarters(x))


@kernel_function(np.sin, alike("fc"))
def sin(x: Number) -> Number:
    """The sine, also of the largest numbers. Error: 3 ulp."""
    return of_any_angle(_sine, x)


@kernel_function(np.cos, alike("fc"))
def cos(x: Number) -> Number:
    """The cosine, also of the largest numbers. Error: 3 ulp."""
    return of_any_angle(_cosine, x)


@kernel_function(np.tan, alike("fc"))
def tan(x: Number) -> Number:
    """The tangent, also of the largest numbers. Error: 4 ulp."""
    return of_any_angle(_tangent, x)


@kernel_function(np.arctan, alike("fc"))
def atan(x: Number) -> Number:
    """The inverse of tan, from -pi/2 to pi/2. Error: 3 ulp."""
    return signed_as(angle_of(abs_of(x), x.const(1.0)), x)


def angle_of(y: Number, x: Number) -> Number:
    """The angle of the point (x, y) of the first quarter."""
    steep, middle = y > x * (1 / TAN_EIGHTH), y > x * TAN_EIGHTH
    above, below = where(middle, y - x, y), where(middle, x + y, x)
    z = where(steep, -x, above) / where(steep, y, below)
    base = where(steep, z.const(pi / 2), where(middle, z.const(pi / 4), 0.0))
    w = z * z
    return base + (z + z * w * series(w, z.either(*ATAN_SERIES)))


@kernel_function(np.arctan2, alike("f"))
def atan2(y: Number, x: Number) -> Number:
    """The angle of the point (x, y), from -pi to pi. Error: 3 ulp."""
    up, right = abs_of(y), abs_of(x)
    large = x.either(2.0**124, 2.0**1020)  # the sum of two that are larger may be infinite
    shrunk = where((up > large) | (right > large), x.const(0.125), 1.0)
    far, wide = (up == inf) & (right <= inf), (right == inf) & (up <= inf)  # and the other one is no nan
    up = where(far, x.const(1.0), where(wide, 0.0, up * shrunk))  # what is infinite is all that counts
    right = where(wide, x.const(1.0), where(far, 0.0, right * shrunk))
    turn = angle_of(up, where((up == 0) & (right == 0), 1.0, right))
    turn = where(x.bits() < 0, x.const(pi) - turn, turn)
    return signed_as(turn, y)


@kernel_function(np.arcsin, alike("fc"))
def asin(x: Number) -> Number:
    """The inverse of sin, nan beyond 1. Error: 4 ulp."""
    return signed_as(angle_of(abs_of(x), instruction("llvm.sqrt", (1 - x) * (1 + x))), x)


@kernel_function(np.arccos, alike("fc"))
def acos(x: Number) -> Number:
    """The inverse of cos, nan beyond 1. Error: 4 ulp."""
    return 2 * angle_of(instruction("llvm.sqrt", 1 - x), instruction("llvm.sqrt", 1 + x))
