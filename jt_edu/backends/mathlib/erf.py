"""Erf: the error function, which is the area under the bell curve, and its inverse.

    |x| < 1     erf(x) = x + x P(x^2)
    |x| >= 1    erf(x) = 1 - e ** -Q(|x| - 2), with the sign of x

P and Q are least-squares fits in 50-digit arithmetic on Chebyshev nodes, reweighted until the largest error is
smallest: 2^-29 and 2^-29 of the result in float32, 2^-62 and 2^-59 in float64.
"""

from __future__ import annotations

import math

import numpy as np

from jt_edu.backends.mathlib.exponential import abs_of, exp, signed_as
from jt_edu.backends.mathlib.simd_math import Number, alike, kernel_function, series, where

NEAR = (
    (0.128379166, -0.37612627, 0.112835988, -0.0268543859, 0.0051894232, -0.000801985182, 7.88584128e-05),
    (
        0.1283791670955126, -0.3761263890318375, 0.11283791670954883, -0.026866170645077597, 0.005223977624825757,
        -0.0008548326981274468, 0.00012055331127540332, -1.4925595644317515e-05, 1.6461006462909505e-06,
        -1.6350375242341436e-07, 1.4660190129229833e-08, -1.1374429629333687e-09, 5.959811332938915e-11,
    ),
)  # fmt: skip
FAR = (
    (5.36494109, 4.41815935, 0.923752238, 0.0164856764, -0.00354352363, 0.000714793984, -0.000184460892),
    (
        5.364941264616638, 4.418160805994418, 0.9237508418238086, 0.016465118136861207, -0.003570756346215992,
        0.0007323993856484436, -0.00013530933453077506, 2.07064331651293e-05, -1.952193905525431e-06,
        -2.0364386557393725e-07, 1.732045579341961e-07, -5.7795681379654306e-08, 1.3951115861013614e-08,
        -2.5401199497757378e-09, 2.7410340053650564e-10, 4.346878680940132e-11, -3.735867297674829e-11,
        1.004356815899782e-11, -1.0257332984234592e-12,
    ),
)  # fmt: skip


@kernel_function(lambda x: np.result_type(x).type(math.erf(x)), alike("f"))
def erf(x: Number) -> Number:
    """2 / sqrt(pi) times the area under e ** -t^2 from 0 to x. Error: 2 ulp."""
    t, end = abs_of(x), x.either(4.0, 6.0)  # from `end` on, erf(x) is 1 to the last bit
    far = 1 - exp(-series(where(t > end, end, t) - 2, x.either(*FAR)))
    return signed_as(where(t < 1, t + t * series(t * t, x.either(*NEAR)), far), x)


def _solve_erf(y: float) -> float:
    """The x with erf(x) = y: a guess that is right to 2 in a thousand (Winitzki), then Halley's method."""
    t = abs(y)
    if t == 0 or not t < 1:
        return y if t == 0 else math.copysign(math.inf, y) if t == 1 else math.nan
    logarithm = math.log((1 - t) * (1 + t))
    middle = 4.3307 + logarithm / 2
    x = math.sqrt(math.sqrt(middle * middle - logarithm / 0.147) - middle)
    for _ in range(3):
        miss = math.erf(x) - t if t < 0.5 else (1 - t) - math.erfc(x)
        step = miss * math.exp(x * x) * 0.886226925452758  # sqrt(pi) / 2
        x -= step / (1 + x * step)
    return math.copysign(x, y)


@kernel_function(lambda y: np.result_type(y).type(_solve_erf(float(y))), alike("f"), {"f": _solve_erf})
def erfinv(y: Number) -> Number:
    """The inverse of erf, nan beyond 1. Error: 2 ulp. Calls the C library."""
    return _solve_erf(y)
