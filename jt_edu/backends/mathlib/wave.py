"""Wave: sine and cosine, and the angles that belong to them.

    sin, cos, tan    x = k pi/2 + r with |r| <= pi/4; then Taylor's series of sin r and cos r, and k says which one
    atan             |x| is folded to at most tan(pi/8), then Taylor's series; all other angles come from it

pi/2 is subtracted in three parts, in 64 bits, so that x may be large: the bounds hold to 1e6. From there the error
grows slowly, and beyond 1e15, where no digit would be right, the answer is nan.
"""

from __future__ import annotations

from math import factorial, inf, pi

import numpy as np

from jt_edu.backends.mathlib.exponential import abs_of, nearest_integer, signed_as, tanh
from jt_edu.backends.mathlib.lane import Number, alike, instruction, kernel_function, series, types, where

HALF_PI = (1.5707963267341256, 6.077100506303966e-11, 2.0222662487959506e-21)  # 33, 33 and 53 bits of pi/2
SIN_SERIES = [[(-1) ** n / factorial(2 * n + 1) for n in range(end)] for end in (5, 9)]
COS_SERIES = [[(-1) ** n / factorial(2 * n) for n in range(end)] for end in (6, 9)]
ATAN_SERIES = [[(-1) ** n / (2 * n + 1) for n in range(1, end)] for end in (10, 21)]
TAN_EIGHTH = 0.41421356237309503  # tan(pi/8)


def quarter_turns(x: Number) -> tuple[Number, Number, Number]:
    """The integer k, sin r and cos r, where x = k pi/2 + r."""
    wide = x.to(types.float64)
    k, whole = nearest_integer(wide * (2 / pi))
    for part in HALF_PI:
        wide = wide - whole * part
    wide = where(abs_of(whole) < 1e15, wide, np.nan)
    r = wide.to(x.type)
    z = r * r
    return k.to(x.bits().type), r * series(z, x.either(*SIN_SERIES)), series(z, x.either(*COS_SERIES))


def turned(value: Number, k: Number) -> Number:
    """The value, with the other sign in the third and fourth quarter."""
    return (value.bits() ^ ((k & 2) << (value.width - 2))).number()


@kernel_function(np.sin, alike("fc"))
def sin(x: Number) -> Number:
    """The sine. Error: 3 ulp."""
    k, sine, cosine = quarter_turns(x)
    return turned(where((k & 1) == 0, sine, cosine), k)


@kernel_function(np.cos, alike("fc"))
def cos(x: Number) -> Number:
    """The cosine. Error: 3 ulp."""
    k, sine, cosine = quarter_turns(x)
    return turned(where((k & 1) == 0, cosine, sine), k + 1)


def _complex_tan(z: Number) -> Number:
    t = tanh(complex(-z.imag, z.real))
    return complex(t.imag, -t.real)


@kernel_function(np.tan, alike("fc"), {"c": _complex_tan})
def tan(x: Number) -> Number:
    """The tangent. Error: 4 ulp."""
    k, sine, cosine = quarter_turns(x)
    even = (k & 1) == 0
    return where(even, sine, -cosine) / where(even, cosine, sine)


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
