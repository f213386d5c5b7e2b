"""Gamma: what does k! mean between whole numbers, how fast does it grow, and how fast does that change?

    gamma(x)           (x - 1)!, for all x
    lgamma(x)          log |gamma(x)|
    digamma(x)         its slope
    polygamma(n, x)    the n-th derivative of that: (-1)^(n+1) n! zeta(n + 1, x)
    zeta(s, q)         1 / q^s + 1 / (q + 1)^s + 1 / (q + 2)^s + ...

For large x there is Stirling's series, and the like of it for slopes and sums (Euler and Maclaurin); its terms have the
Bernoulli numbers. A smaller x is moved there by f(x + 1) = f(x) + ..., a negative one is mirrored. All is computed in
64 bits, one number after the other: the same text runs in Python and is compiled by numba.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jt_edu.backends.mathlib.rounding import copysign, floor, round_even
from jt_edu.backends.mathlib.simd_math import Number, alike, extending, kernel_function

EULER, HALF_LOG_2PI, LOG_PI = 0.5772156649015329, 0.9189385332046727, 1.1447298858494002
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330)
ZETA_TERMS = np.array([b / math.factorial(2 * k + 2) for k, b in enumerate(BERNOULLI)])
STIRLING_TERMS = np.array([b / ((2 * k + 2) * (2 * k + 1)) for k, b in enumerate(BERNOULLI)])
DIGAMMA_TERMS = np.array([b / (2 * k + 2) for k, b in enumerate(BERNOULLI)])

shared: Any = extending.register_jitable  # called by functions that numba compiles, and by Python


def _in_64_bits(function: Callable[..., Any]) -> Callable[..., Number]:
    """The function for NumPy's numbers: computed in 64 bits, rounded once."""
    return lambda *xs: np.result_type(*xs).type(function(*map(np.float64, xs)))


@shared
def _polynomial(x: Any, coefficients: Any) -> Any:
    total = 0.0
    for k in range(len(coefficients) - 1, -1, -1):
        total = total * x + coefficients[k]
    return total


@shared
def _positive_zeta(s: Any, q: Any) -> Any:
    """The sum for s > 1 and q > 0: ten terms one by one, all others by the formula of Euler and Maclaurin."""
    total = 0.0
    for k in range(10):
        total += (q + k) ** -s
    a = q + 10.0
    term = s * a ** (-s - 1.0)
    total += a ** (1.0 - s) / (s - 1.0) + 0.5 * a**-s
    for k in range(len(ZETA_TERMS) if term > 0.0 else 0):  # where s is huge the factors are, but nothing is left of a
        total += ZETA_TERMS[k] * term
        term *= (s + 2 * k + 1) * (s + 2 * k + 2) / (a * a)
    return total


@shared
def _any_zeta(s: Any, q: Any) -> Any:
    if np.isnan(s) or np.isnan(q) or s < 1.0:
        return np.nan
    if s == 1.0 or (q <= 0.0 and q == floor(q)):
        return np.inf
    if q > 0.0:
        return _positive_zeta(s, q)
    if s != floor(s):
        return np.nan
    r = q - floor(q)
    mirrored = _positive_zeta(s, 1.0 - r) - _positive_zeta(s, 1.0 - q)  # the terms below zero
    return _positive_zeta(s, r) + (mirrored if s % 2.0 == 0.0 else -mirrored)


@shared
def _digamma(x: Any) -> Any:
    t, total = x, 0.0
    if x <= 0.0:
        if x == floor(x):
            return copysign(np.inf, -x) if x == 0.0 else np.nan
        t, total = 1.0 - x, -np.pi / np.tan(np.pi * (x - round_even(x)))
    while t < 10.0:
        total -= 1.0 / t
        t += 1.0
    w = 1.0 / (t * t)
    return total + np.log(t) - 0.5 / t - w * _polynomial(w, DIGAMMA_TERMS)


@shared
def _polygamma(n: Any, x: Any) -> Any:
    if n == 0.0:
        return _digamma(x)
    total = _any_zeta(n + 1.0, x)
    for k in range(1, int(n) + 1):
        total *= -k
    return -total


ABOVE_ONE = [_positive_zeta(float(k), 2.0) for k in range(2, 40)]  # zeta(k) - 1
NEAR_TWO = np.array([1 - EULER, *((-1) ** k * z / k for k, z in enumerate(ABOVE_ONE, 2))])


@shared
def _positive_lgamma(x: Any) -> Any:
    """For x > 0; log gamma(2 + t) = (1 - EULER) t + (zeta(2) - 1) t^2 / 2 - (zeta(3) - 1) t^3 / 3 + ..."""
    if x < 0.5:
        return _positive_lgamma_near_one(x) - np.log(x)
    if x < 1.5:
        return _positive_lgamma_near_one(x - 1.0)
    if x < 10.0:
        product = 1.0
        while x >= 2.5:
            x -= 1.0
            product *= x
        return (x - 2.0) * _polynomial(x - 2.0, NEAR_TWO) + np.log(product)
    return (x - 0.5) * np.log(x) - x + HALF_LOG_2PI + _polynomial(1.0 / (x * x), STIRLING_TERMS) / x


@shared
def _positive_lgamma_near_one(t: Any) -> Any:
    return t * _polynomial(t, NEAR_TWO) - math.log1p(t)


@shared
def _lgamma(x: Any) -> Any:
    if np.isnan(x) or abs(x) == np.inf:
        return abs(x)
    if x > 0.0:
        return _positive_lgamma(x)
    if x == floor(x):
        return np.inf
    wave = abs(np.sin(np.pi * (x - round_even(x))))
    return LOG_PI - np.log(-x) - np.log(wave) - _positive_lgamma(-x)


def _gamma(x: Any) -> Any:
    """The C library's, without Python's exceptions."""
    if x == 0:
        return np.copysign(np.inf, x)
    if x == -np.inf or (x < 0 and x == np.floor(x)):
        return np.nan
    return math.gamma(x) if x < 171.7 else x * np.inf


def _library_gamma(x: Any) -> Any:
    return math.gamma(x)


@kernel_function(_in_64_bits(_gamma), alike("f"), {"f": _library_gamma})
def gamma(x: Number) -> Number:
    """The product 1 2 3 ... (x - 1), for all x; nan at negative whole numbers. Error: 20 ulp. Calls the C library."""
    return math.gamma(x)


@kernel_function(_in_64_bits(_lgamma), alike("f"), {"f": lambda x: _lgamma(np.float64(x))})
def lgamma(x: Number) -> Number:
    """The logarithm of |gamma(x)|. Error: 8 ulp for x > 0; below, 8 ulp of the larger of 1 and |lgamma(x)|."""
    return _lgamma(x)


@kernel_function(_in_64_bits(_digamma), alike("f"), {"f": lambda x: _digamma(np.float64(x))})
def digamma(x: Number) -> Number:
    """The slope of lgamma(x). Error: 8 ulp of the larger of 1 and |digamma(x)|."""
    return _digamma(x)


@kernel_function(_in_64_bits(_polygamma), alike("f"), {"f": lambda n, x: _polygamma(np.float64(n), np.float64(x))})
def polygamma(n: Number, x: Number) -> Number:
    """The n-th derivative of digamma(x), n a whole number in a float. Error: 16 ulp for x > 0."""
    return _polygamma(n, x)


@kernel_function(_in_64_bits(_any_zeta), alike("f"), {"f": lambda s, q: _any_zeta(np.float64(s), np.float64(q))})
def zeta(s: Number, q: Number) -> Number:
    """Hurwitz' zeta function, 1 / q^s + 1 / (q + 1)^s + ...; nan for s < 1. Error: 16 ulp for q > 0."""
    return _any_zeta(s, q)
