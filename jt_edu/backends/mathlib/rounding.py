"""Rounding; and signs, roots, powers, the parts of a complex number, and what is no number at all."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import numpy as np

from jt_edu.backends.mathlib.exponential import (
    EXP_SERIES,
    LN2,
    LOG2_E,
    exp2,
    log2,
    nearest_integer,
    power_of_two,
)
from jt_edu.backends.mathlib.simd_math import Number, alike, instruction, kernel_function, kind_of, series, types, where

ANY = "biufc"
LOG2_SERIES = [2 * LOG2_E / (2 * n + 1) for n in range(7)]  # Taylor's: the rest is 2^-39 of the logarithm


def real_of(kind: Number) -> Number:
    """float32 for complex64, float64 for complex128, all others as they are."""
    return kind.underlying_float if isinstance(kind, types.Complex) else kind


def _rounding(python: Number, name: str, what: str) -> Number:
    def formula(x: Number) -> Number:
        return instruction(name, x) if kind_of(x.type) == "f" else x

    formula.__doc__ = what
    return kernel_function(python, alike("iuf"))(formula)


floor = _rounding(np.floor, "llvm.floor", "The largest whole number that is not above x.")
ceil = _rounding(np.ceil, "llvm.ceil", "The smallest whole number that is not below x.")
trunc = _rounding(np.trunc, "llvm.trunc", "The number without its fraction.")
round_even = _rounding(np.round, "llvm.rint", "The nearest whole number; of two, the even one.")


@kernel_function(np.absolute, alike(ANY, real_of))
def absolute(x: Number) -> Number:
    """|x|, a real number."""
    if kind_of(x.type) == "f":
        return instruction("llvm.fabs", x)
    return where(x < 0, -x, x) if x.signed else x


@kernel_function(np.sign, alike("iufc"))
def sign(x: Number) -> Number:
    """-1, 0 or 1, and z / |z| of a complex number; nan stays nan."""
    return where(x > 0, 1, where(x < 0, -1, where(x == 0, 0, x)))


@kernel_function(np.isnan, alike(ANY, types.boolean))
def isnan(x: Number) -> Number:
    """Whether x is not a number."""
    return x.is_nan()


def _an_infinite_part(z: Any) -> Any:
    return abs(z.real) == np.inf or abs(z.imag) == np.inf


def _finite_parts(z: Any) -> Any:
    return abs(z.real) < np.inf and abs(z.imag) < np.inf


@kernel_function(np.isinf, alike(ANY, types.boolean), {"c": _an_infinite_part})
def isinf(x: Number) -> Number:
    """Whether x is infinite."""
    return (instruction("llvm.fabs", x) == inf) if kind_of(x.type) == "f" else x.is_nan()


@kernel_function(np.isfinite, alike(ANY, types.boolean), {"c": _finite_parts})
def isfinite(x: Number) -> Number:
    """Whether x is neither infinite nor nan."""
    return (instruction("llvm.fabs", x) < inf) if kind_of(x.type) == "f" else (x.is_nan() == 0)


@kernel_function(np.signbit, alike("f", types.boolean))
def signbit(x: Number) -> Number:
    """Whether the sign of x is a minus, also of -0.0 and nan."""
    return x.bits() < 0


@kernel_function(np.copysign, alike("f"))
def copysign(x: Number, y: Number) -> Number:
    """|x| with the sign of y."""
    return instruction("llvm.copysign", x, y)


@kernel_function(np.sqrt, alike("fc"))
def sqrt(x: Number) -> Number:
    """The square root, correctly rounded; nan of a negative number."""
    return instruction("llvm.sqrt", x)


@kernel_function(lambda x: np.true_divide(1, np.sqrt(x)), alike("fc"))
def rsqrt(x: Number) -> Number:
    """1 / sqrt(x). Error: 2 ulp."""
    return 1 / instruction("llvm.sqrt", x)


@kernel_function(np.cbrt, alike("f"))
def cbrt(x: Number) -> Number:
    """The cube root. Error: 1 ulp."""
    size = instruction("llvm.fabs", x)
    root = exp2(log2(size) * (1 / 3))
    root = root - (root - size / (root * root)) * (1 / 3)  # one step of Newton's method
    return where((size > 0) & (size < inf), instruction("llvm.copysign", root, x), x)


@kernel_function(np.hypot, alike("f"))
def hypot(x: Number, y: Number) -> Number:
    """sqrt(x x + y y), without overflow. Error: 2 ulp."""
    x, y = instruction("llvm.fabs", x), instruction("llvm.fabs", y)
    large, small = where(x > y, x, y), where(x > y, y, x)
    ratio = where(large == 0, x, small / large)
    size = large * instruction("llvm.sqrt", 1 + ratio * ratio)
    return where((x == inf) | (y == inf), inf, size)


def _whole_power(base: Any, exponent: Any) -> Any:
    result = np.int64(1)
    square, left = np.int64(base), np.int64(exponent)
    if exponent < 0 and square not in (1, -1):  # a fraction: cut off to 0, as in PyTorch
        square = np.int64(0)
    while left != 0:
        result = result * square if left & 1 else result
        square, left = square * square, (left >> 1) & 0x7FFFFFFFFFFFFFFF  # no sign comes after a uint64
    return result


def _power_of_arrays(x: Number, y: Number) -> Number:
    """As an array of one: for single numbers NumPy takes x**0.5 as a square root, which differs at -inf."""
    return np.power(np.array([x]), np.array([y]))[0]


_POWERS = {"i": _whole_power, "u": _whole_power}


def _power(x: Number, y: Number) -> Number:
    """NumPy's, but of whole numbers, of which it knows no negative powers."""
    return _whole_power(x, y) if isinstance(x, np.integer) else _power_of_arrays(x, y)


def _log2_of_single(x: Number) -> Number:
    """log2(x) in float64, of a float32 that is not negative: it is no subnormal number any more."""
    root = x.const(0.7071067811865476).bits()
    bits = x.bits() - root  # x = 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2)
    k = (bits >> 52).to(types.int32).to(x.type)
    f = ((bits & (2**52 - 1)) + root).number() - 1
    s = f / (2 + f)
    return where(x == 0, -inf, where(x < inf, k + s * series(s * s, LOG2_SERIES), x))


def _exp2_for_single(x: Number) -> Number:
    """2 ** x in float64, to 2^-28, and no farther than float32 goes."""
    x = where(x < -151.0, -151.0, x)
    x = where(x > 129.0, 129.0, x)
    k, whole = nearest_integer(x)
    r = (x - whole) * LN2
    scale = power_of_two(k)
    return scale + scale * (r + r * r * series(r, EXP_SERIES[0]))


@kernel_function(_power, alike("iufc"), _POWERS)
def power(x: Number, y: Number) -> Number:
    """The power x ** y, with all the edges of C's `pow`; integers wrap. Error: 1 ulp.

    float32 is computed as 2 ** (y log2 x) in float64; float64 would need 128 bits for that and asks the C library.
    """
    if x.width == 64:
        return instruction("llvm.pow", x, y)
    size, times = instruction("llvm.fabs", x).to(types.float64), y.to(types.float64)
    half, whole = y * 0.5, instruction("llvm.floor", y) == y
    odd = (instruction("llvm.floor", half) != half) & whole
    result = _exp2_for_single(times * _log2_of_single(size)).to(types.float32)
    result = where((y == 0) | (x == 1) | ((x == -1) & (instruction("llvm.fabs", y) == inf)), 1.0, result)
    result = where(odd, instruction("llvm.copysign", result, x), result)
    return where((x < 0) & (x > -inf) & (whole == 0), nan, result)


@kernel_function(np.conj, alike(ANY))
def conj(z: Number) -> Number:
    """The conjugate; a real number is its own."""
    return z


@kernel_function(np.real, alike(ANY, real_of))
def real(z: Number) -> Number:
    """The real part."""
    return z


@kernel_function(np.imag, alike(ANY, real_of))
def imag(z: Number) -> Number:
    """The imaginary part, 0 of a real number."""
    return z.const(0)


@kernel_function(np.angle, alike("fc", real_of))
def angle(z: Number) -> Number:
    """The angle in radians, from -pi to pi: 0 or pi of a real number."""
    return where(z.is_nan(), z, where(z.bits() < 0, z.const(np.pi), 0.0))


def _complex_kind(part: Number) -> Number:
    return types.complex64 if part == types.float32 else types.complex128


def _plain_complex(re: Number, im: Number) -> Number:
    return (np.complex64 if np.result_type(re) == np.float32 else np.complex128)(complex(re, im))


def _joined(re: Number, im: Number) -> Number:
    return complex(re, im)


@kernel_function(_plain_complex, alike("f", _complex_kind), {"f": _joined})
def complex_of(re: Number, im: Number) -> Number:
    """The complex number with these two parts."""
    return complex(re, im)
