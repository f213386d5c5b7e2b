"""Mathlib: the numbers and functions that generated kernels are written with, in Python and in numba alike."""

# isort: skip_file

from math import inf, nan, pi

from numpy import bool_, complex64, complex128, float32, float64

from jt_edu.backends.mathlib.bell import erf, erfinv
from jt_edu.backends.mathlib.chance import normal32, normal64, philox, uniform32, uniform64
from jt_edu.backends.mathlib.exponential import (
    acosh, asinh, atanh, cosh, exp, exp2, expm1, log, log1p, log2, sigmoid, sinh, tanh,
)  # fmt: skip
from jt_edu.backends.mathlib.halves import (
    bfloat_to_float, float_to_bfloat, float_to_half, half_to_float, int16, int32, int64, int8, uint16, uint32,
    uint64, uint8,
)  # fmt: skip
from jt_edu.backends.mathlib.numbers import (
    absolute, angle, cbrt, ceil, conj, copysign, floor, hypot, imag, isfinite, isinf, isnan, power, real,
    round_even, rsqrt, sign, signbit, sqrt, trunc,
)  # fmt: skip
from jt_edu.backends.mathlib.wave import acos, asin, atan, atan2, cos, sin, tan
from jt_edu.backends.mathlib.whole import (
    at, divide, floor_divide, maximum, minimum, remainder, select, shift_left, shift_right, wrap,
)  # fmt: skip

__all__ = [
    "absolute", "acos", "acosh", "angle", "asin", "asinh", "at", "atan", "atan2", "atanh", "bfloat_to_float",
    "bool_", "cbrt", "ceil", "complex128", "complex64", "conj", "copysign", "cos", "cosh", "divide", "erf",
    "erfinv", "exp", "exp2", "expm1", "float32", "float64", "float_to_bfloat", "float_to_half", "floor",
    "floor_divide", "half_to_float", "hypot", "imag", "inf", "int16", "int32", "int64", "int8", "isfinite",
    "isinf", "isnan", "log", "log1p", "log2", "maximum", "minimum", "nan", "normal32", "normal64", "philox", "pi",
    "power", "real", "remainder", "round_even", "rsqrt", "select", "shift_left", "shift_right", "sigmoid", "sign",
    "signbit", "sin", "sinh", "sqrt", "tan", "tanh", "trunc", "uint16", "uint32", "uint64", "uint8", "uniform32",
    "uniform64", "wrap",
]  # fmt: skip
