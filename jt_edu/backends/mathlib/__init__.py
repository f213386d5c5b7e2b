"""Mathlib: the numbers and functions that generated kernels are written with, in Python and in numba alike."""

# isort: skip_file

from math import inf, nan, pi

from numpy import bool_, complex64, complex128, float32, float64

from jt_edu.backends.mathlib.erf import erf, erfinv
from jt_edu.backends.mathlib.bessel import bessel0, bessel0e, bessel1, bessel1e
from jt_edu.backends.mathlib.philox import normal32, normal64, philox, uniform32, uniform64
from jt_edu.backends.mathlib.exponential import (
    acosh, asinh, atanh, cosh, exp, exp2, expm1, log, log10, log1p, log2, logaddexp, logaddexp2, sigmoid, sinh, tanh,
)  # fmt: skip
from jt_edu.backends.mathlib.gamma import digamma, gamma, lgamma, polygamma, zeta
from jt_edu.backends.mathlib.float16 import (
    bfloat_to_float, float_to_bfloat, float_to_half, half_to_float, int16, int32, int64, int8, uint16, uint32,
    uint64, uint8,
)  # fmt: skip
from jt_edu.backends.mathlib.rounding import (
    absolute, angle, cbrt, ceil, complex_of, conj, copysign, floor, hypot, imag, isfinite, isinf, isnan, power, real,
    round_even, rsqrt, sign, signbit, sqrt, trunc,
)  # fmt: skip
from jt_edu.backends.mathlib.float_bits import exponent, fraction, ldexp, mantissa, next_half, nextafter
from jt_edu.backends.mathlib.matrix import matrix
from jt_edu.backends.mathlib.minus_product import plus_ahb
from jt_edu.backends.mathlib.scratch import scratch
from jt_edu.backends.mathlib.nontemporal import ahead, block, stream
from jt_edu.backends.mathlib.erfc import erfc, erfcx, ndtr
from jt_edu.backends.mathlib import complex_inverse as _inverse, complex_logarithm as _logarithm  # noqa: F401
from jt_edu.backends.mathlib.trig import acos, asin, atan, atan2, cos, sin, tan
from jt_edu.backends.mathlib.integer import (
    at, bit_count, divide, floor_divide, fmax, fmin, fmod, gcd, maximum, minimum, narrow, remainder, select,
    shift_left, shift_right, until, within, wrap,
)  # fmt: skip

# complex_inverse, complex_logarithm and what they import tell the functions above what to do with complex numbers
__all__ = [
    "absolute", "acos", "acosh", "ahead", "angle", "asin", "asinh", "at", "atan", "atan2", "atanh", "bessel0",
    "bessel0e", "bessel1", "bessel1e", "bfloat_to_float", "bit_count", "block", "bool_", "cbrt", "ceil",
    "complex128", "complex64", "complex_of", "conj", "copysign", "cos", "cosh", "digamma", "divide", "erf", "erfc",
    "erfcx", "erfinv", "exp", "exp2", "expm1", "exponent", "float32", "float64", "float_to_bfloat", "float_to_half",
    "floor", "floor_divide", "fmax", "fmin", "fmod", "fraction", "gamma", "gcd", "half_to_float", "hypot", "imag",
    "inf", "int16", "int32", "int64", "int8", "isfinite", "isinf", "isnan", "ldexp", "lgamma", "log", "log10",
    "log1p", "log2", "logaddexp", "logaddexp2", "mantissa", "matrix", "maximum", "minimum", "nan", "narrow", "ndtr",
    "next_half", "nextafter", "normal32", "normal64", "philox", "pi", "plus_ahb", "polygamma", "power", "real",
    "remainder", "round_even", "rsqrt", "scratch", "select", "shift_left", "shift_right", "sigmoid", "sign",
    "signbit", "sin", "sinh", "sqrt", "stream", "tan", "tanh", "trunc", "uint16", "uint32", "uint64", "uint8",
    "uniform32", "uniform64", "until", "within", "wrap", "zeta",
]  # fmt: skip
