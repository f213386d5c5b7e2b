"""Real transforms: of n real numbers half of the waves are enough, and half of the work.

    y[n - k] = conj(y[k]),  so  y[0], ..., y[n // 2]  say all

Two neighbours make a complex number, z[j] = x[2 j] + i x[2 j + 1], so an even n is a transform of n / 2 (`packed`).
With Z its waves, and w = exp(-2 pi i / n), both halves are told apart by their symmetry:

    even[k] = (Z[k] + conj Z[-k]) / 2        odd[k] = (Z[k] - conj Z[-k]) / 2i        y[k] = even[k] + w^k odd[k]

The way back is the same read from right to left. An odd n takes the complex transform.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

import numpy as np

from jt_edu.base.dtypes import DType, complex64, complex128, float32, real_of
from jt_edu.fft.dft import dft
from jt_edu.fft.roots import Numbers, roots
from jt_edu.ir import scalar_ops as f
from jt_edu.ops.complex import complex as complex_of
from jt_edu.ops.concat import concat
from jt_edu.ops.create import from_numpy
from jt_edu.ops.custom_kernel import kernel
from jt_edu.ops.pad import pad
from jt_edu.ops.transpose import flip
from jt_edu.variable.var import Var

COPIED = """
    def kernel(lo, hi, x, out):
        a, b = {}
        for row in range(lo, hi):
            for j in range(a.shape[1]):
                b[row, j] = a[row, j]
"""


def complex_like(dtype: DType) -> DType:
    """The complex numbers that floats become: complex64 from halves and float32.

    Example:
        >>> complex_like(float32)
        jt.complex64
    """
    return complex64 if dtype.is_half or dtype in (float32, complex64) else complex128


def packed(x: Var) -> Var:
    """(rows, n) real numbers as (rows, n / 2) complex ones, two neighbours each."""
    return _packing(complex_like(x.dtype), True)(x, shape=(len(x), x.shape[1] // 2), dtype=complex_like(x.dtype))


def unpacked(z: Var) -> Var:
    """(rows, n / 2) complex numbers as (rows, n) real ones: the way back, and the gradient."""
    return _packing(z.dtype, False)(z, shape=(len(z), 2 * z.shape[1]), dtype=real_of(z.dtype))


@cache
def _packing(dtype: DType, there: bool) -> Callable[..., Var]:
    views = f"x.view(np.{dtype}), out" if there else f"x, out.view(np.{dtype})"
    rule: Callable[..., Any] = lambda out, dout, x: (unpacked if there else packed)(dout)  # noqa: E731 - a rule
    op = kernel("pack" if there else "unpack", COPIED.format(views), (rule,), weight=1)
    return lambda x, **wanted: op(x, span=len(x), **wanted)


def half_waves(x: Var, sign: int, scale: float) -> Var:
    """The waves 0 ... n / 2 of rows of n real numbers."""
    n = x.shape[1]
    if n % 2:
        return dft(x.cast(complex_like(x.dtype)), 1, sign, scale)[:, : n // 2 + 1]
    waves = dft(packed(x), 1, sign, scale)
    around = concat([waves, waves[:, :1]], 1)
    a, b = (from_numpy(t) for t in _halves(n, waves.dtype, sign))
    return around * a + flip(around, 1).conj() * b


def from_half_waves(y: Var, n: int, scale: float) -> Var:
    """n real numbers from waves 0 ... n / 2; what wave 0 and the last of an even n have of i is not looked at."""
    half, real = n // 2, real_of(y.dtype)
    if n % 2:
        twice = np.full(half + 1, 2, real.storage)
        twice[0] = 1
        return f.REAL(dft(pad(y * from_numpy(twice), (0, n - half - 1)), 1, -1, scale))
    inside = np.ones(half + 1, real.storage)
    inside[[0, -1]] = 0
    y = complex_of(f.REAL(y), f.IMAG(y) * from_numpy(inside))
    a, b = (from_numpy(2 * t.conj()) for t in _halves(n, y.dtype, 1))
    return unpacked(dft((y * a + flip(y, 1).conj() * b)[:, :half], 1, -1, scale))


@lru_cache(maxsize=64)
def _halves(n: int, dtype: DType, sign: int) -> tuple[Numbers, Numbers]:
    """(1 - i w^k) / 2 and (1 + i w^k) / 2 for k = 0 ... n / 2: what Z[k] and conj Z[-k] give to y[k]."""
    turn = 1j * roots(n, sign * np.arange(n // 2 + 1))
    return ((1 - turn) / 2).astype(dtype.storage), ((1 + turn) / 2).astype(dtype.storage)
