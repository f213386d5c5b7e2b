"""Real transforms: of n real numbers half of the waves are enough, and half of the work.

    y[n - k] = conj(y[k]),  so  y[0], ..., y[n // 2]  say all

Two neighbours make a complex number, z[j] = x[2 j] + i x[2 j + 1], so an even n is a transform of n / 2 numbers. With Z
its waves, and w = exp(-2 pi i / n), symmetry tells the waves of the even numbers from those of the odd ones:

    even[k] = (Z[k] + conj Z[-k]) / 2        odd[k] = (Z[k] - conj Z[-k]) / 2i        y[k] = even[k] + w^k odd[k]

The way back is the same read from right to left. An odd n takes the complex transform.

    x  --pack-->  z  --dft-->  Z  --tell_apart-->  y            and with the arrows turned round
       unpack                     put_together

Each step is, but for a factor, the gradient of the one that undoes it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache

import numpy as np

from jt_edu.base.dtypes import DType, complex64, complex128, float32, real_of
from jt_edu.fft.dft import dft
from jt_edu.fft.roots import Numbers, roots
from jt_edu.ir import scalar_ops as f
from jt_edu.ops.create import from_numpy
from jt_edu.ops.custom_kernel import kernel
from jt_edu.ops.pad import pad
from jt_edu.variable.var import Var

COPIED = """
    def kernel(lo, hi, x, out):
        a, b = {}
        for row in range(lo, hi):
            for j in range(a.shape[1]):
                b[row, j] = a[row, j]
"""
TELL_APART = kernel(
    "tell_apart",
    """
    def kernel(lo, hi, z, a, y):
        h = z.shape[1]
        for row in range(lo, hi):
            y[row, 0] = z[row, 0].real + z[row, 0].imag
            y[row, h] = z[row, 0].real - z[row, 0].imag
            for k in range(1, h):
                other = z[row, h - k].conjugate()
                y[row, k] = other + a[k] * (z[row, k] - other)
    """,
    (lambda out, dout, z, a: put_together(dout * _ends(dout, 2.0), a), None),
)
PUT_TOGETHER = kernel(
    "put_together",
    """
    def kernel(lo, hi, y, a, z):
        h = z.shape[1]
        for row in range(lo, hi):
            first, last = y[row, 0].real, y[row, h].real
            z[row, 0] = complex((first + last) / 2, (first - last) / 2)
            for k in range(1, h):
                other = y[row, h - k].conjugate()
                z[row, k] = other + a[k].conjugate() * (y[row, k] - other)
    """,
    (lambda out, dout, y, a: tell_apart(dout, a) * _ends(y, 0.5), None),
)


def half_waves(x: Var, scale: float) -> Var:
    """The waves 0 ... n / 2 of rows of n real numbers."""
    n, made = x.shape[1], complex_like(x.dtype)
    if n % 2:
        return dft(x.cast(made), 1, 1, scale)[:, : n // 2 + 1]
    return tell_apart(dft(pack(x), 1, 1, scale), from_numpy(_shares(n, made)))


def from_half_waves(y: Var, n: int, scale: float) -> Var:
    """n real numbers from waves 0 ... n / 2; what wave 0, and the last of an even n, have of i is not looked at."""
    if n % 2:
        twice = np.full(y.shape[1], 2, real_of(y.dtype).storage)  # the other half of the waves
        twice[0] = 1
        return f.REAL(dft(pad(y * from_numpy(twice), ((0, 0), (0, n - len(twice)))), 1, -1, scale))
    return unpack(dft(put_together(y, from_numpy(_shares(n, y.dtype))), 1, -1, 2 * scale))


def tell_apart(z: Var, a: Var) -> Var:
    """Waves of n / 2 pairs as waves 0 ... n / 2 of n numbers; a[k] = (1 - i w^k) / 2 is the share of Z[k] in y[k]."""
    return TELL_APART(z, a, shape=(len(z), z.shape[1] + 1), dtype=z.dtype, span=len(z))


def put_together(y: Var, a: Var) -> Var:
    """The way back; half of it, so that gradients of waves inside need no factor."""
    return PUT_TOGETHER(y, a, shape=(len(y), y.shape[1] - 1), dtype=y.dtype, span=len(y))


def pack(x: Var) -> Var:
    """(rows, n) real numbers as (rows, n / 2) complex ones."""
    made = complex_like(x.dtype)
    return _copy(made, True)(x, shape=(len(x), x.shape[1] // 2), dtype=made, span=len(x))


def unpack(z: Var) -> Var:
    """(rows, n / 2) complex numbers as (rows, n) real ones."""
    return _copy(z.dtype, False)(z, shape=(len(z), 2 * z.shape[1]), dtype=real_of(z.dtype), span=len(z))


@cache
def _copy(dtype: DType, packs: bool) -> Callable[..., Var]:
    views = f"x.view(np.{dtype}), out" if packs else f"x, out.view(np.{dtype})"
    name, back = ("pack", unpack) if packs else ("unpack", pack)
    return kernel(name, COPIED.format(views), (lambda out, dout, x: back(dout),), weight=1)


def _ends(y: Var, at_ends: float) -> Var:
    """1 for each wave but the first and the last."""
    factors = np.ones(y.shape[1], real_of(y.dtype).storage)
    factors[[0, -1]] = at_ends
    return from_numpy(factors)


@lru_cache(maxsize=64)
def _shares(n: int, dtype: DType) -> Numbers:
    return ((1 - 1j * roots(n, np.arange(n // 2 + 1))) / 2).astype(dtype.storage)


def complex_like(dtype: DType) -> DType:
    """The complex numbers that others become: complex64 from halves and float32, else complex128, as in NumPy.

    Example:
        >>> complex_like(float32)
        jt.complex64
    """
    return complex64 if dtype.is_half or dtype in (float32, complex64) else complex128
