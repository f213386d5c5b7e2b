"""Bessel: the modified functions I0 and I1, which grow like e ** x / sqrt(x).

    |x| <= 20    I_n(x) = (x/2)^n (1 / n! + (x/2)^2 / (1! (n+1)!) + (x/2)^4 / (2! (n+2)!) + ...)
    |x| > 20     I_n(x) = e^x / sqrt(2 pi x) (1 - (4n^2 - 1) / (8x) + (4n^2 - 1)(4n^2 - 9) / (2! (8x)^2) - ...)

The first series is Taylor's and has no minus sign, so that nothing cancels; the second stops where its terms are
smaller than the last bit. `bessel0e` and `bessel1e` leave e ** |x| out and never overflow. float32 is computed in
float64. (Their mathematical names, i0 and i1, are taken: so are loop counters called.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from math import factorial, inf, pi

import numpy as np

from jt_edu.backends.mathlib.exponential import abs_of, exp, signed_as
from jt_edu.backends.mathlib.simd_math import Number, alike, instruction, kernel_function, series, types, where

EDGE = 20.0
NEAR = [[1 / (factorial(k) * factorial(k + n)) for k in range(40)] for n in (0, 1)]
FAR = [
    [math.prod(((2 * j - 1) ** 2 - 4 * n * n) / (8 * j) for j in range(1, k + 1)) for k in range(30)] for n in (0, 1)
]


def _lane(n: int, x: Number, *, scaled: bool) -> Number:
    """I_n of a Lane of 64 bits, x >= 0; without e ** x where `scaled`."""
    small, large = where(x > EDGE, EDGE, x), where(x > EDGE, x, EDGE)
    near = series(small * small * 0.25, NEAR[n]) * (small * 0.5 if n else 1.0)
    far = series(1 / large, FAR[n]) / instruction("llvm.sqrt", large * (2 * pi))
    if scaled:
        return where(x > EDGE, far, near * exp(-small))
    half = exp(large * 0.5)  # e ** x itself may overflow where I_n(x) does not
    return where(x > EDGE, far * half * half, near)


def _plain(n: int, x: float, *, scaled: bool) -> float:
    """The same of a Python number."""
    if x == inf:
        return 0.0 if scaled else inf
    if x > EDGE:
        far = float(series(1 / x, FAR[n])) / math.sqrt(x * (2 * pi))
        half = float(np.exp(np.float64(x / 2)))
        return far if scaled else far * half * half
    near = float(series(x * x * 0.25, NEAR[n])) * (x * 0.5 if n else 1.0)
    return near * math.exp(-x) if scaled else near


def _bessel(n: int, what: str, *, scaled: bool) -> Callable[..., Number]:
    def python(x: Number) -> Number:
        size = _plain(n, abs(float(x)), scaled=scaled)
        return np.result_type(x).type(math.copysign(size, x) if n else size)

    def formula(x: Number) -> Number:
        wide = abs_of(x.to(types.float64))
        size = _lane(n, where(wide == inf, 1e5, wide), scaled=scaled)
        size = where(wide == inf, 0.0 if scaled else inf, size).to(x.type)
        return signed_as(size, x) if n else size

    formula.__name__ = formula.__qualname__ = f"bessel{n}{'e' if scaled else ''}"
    formula.__doc__ = what
    made: Callable[..., Number] = kernel_function(python, alike("f"))(formula)
    return made


bessel0 = _bessel(0, "The modified Bessel function I0. Error: 12 ulp.", scaled=False)
bessel1 = _bessel(1, "The modified Bessel function I1. Error: 12 ulp.", scaled=False)
bessel0e = _bessel(0, "The number e ** -|x| I0(x), which does not overflow. Error: 12 ulp.", scaled=True)
bessel1e = _bessel(1, "The number e ** -|x| I1(x), which does not overflow. Error: 12 ulp.", scaled=True)
