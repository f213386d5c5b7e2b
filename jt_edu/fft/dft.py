"""DFT: the one linear operator behind all of `jt.fft`, and its gradient.

    y[k] = scale * sum over j of  x[j] * exp(-2 pi i j k sign / n)        sign = 1: there, sign = -1: back

Its matrix is symmetric, so the gradient (of complex numbers the conjugate one) is the same operator with the other
sign, and there are derivatives of every order. `kernel.py` does the work, in the steps of `plans.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np

from jt_edu.base.dtypes import DType, complex64
from jt_edu.fft.plans import Plan, plan, steps
from jt_edu.fft.roots import Numbers, floats, roots
from jt_edu.ops.create import from_numpy
from jt_edu.ops.custom_kernel import RowsByTables, kernel
from jt_edu.ops.pad import pad
from jt_edu.ops.row_view import as_rows, from_rows
from jt_edu.variable.var import Var

TEXT = (Path(__file__).parent / "kernel.py").read_text("utf-8")
BESIDE, DEEP = 8, 4096  # from so many numbers beside the axis on, and up to this length, nothing is moved


def dft(x: Var, axis: int, sign: int, scale: float) -> Var:
    """The transform of complex numbers along an axis."""
    if 0 in x.shape:
        return x * scale
    n, inner = x.shape[axis], math.prod(x.shape[axis + 1 :])
    found = plan(n, math.prod(x.shape) // n)
    if axis < x.ndim - 1 and (1 < inner < BESIDE or n > DEEP or found.padded):
        rows = as_rows(x, (axis,))
        return from_rows(dft(rows, 1, sign, scale), x.shape, axis)
    if found.padded:
        return _bluestein(x, sign, scale)
    found = steps(n, split=False) if inner > 1 else found
    return _run(x.reshape(-1, n, inner), found, sign, scale).reshape(x.shape)


def _bluestein(x: Var, sign: int, scale: float) -> Var:
    """A transform of any length, as a convolution with a chirp.

        j k = (j^2 + k^2 - (k - j)^2) / 2                                 c[j] = exp(-pi i j^2 / n)
        y[k] = c[k] * sum over j of  (x[j] * c[j]) * conj(c[k - j])

    Source: Bluestein 1970, "A Linear Filtering Approach to the Computation of Discrete Fourier Transform".
    """
    n = x.shape[-1]
    chirp, around = (from_numpy(a) for a in _chirps(n, x.dtype, sign))
    m = around.shape[0]
    waves = dft(pad(x * chirp, (0, m - n)), x.ndim - 1, 1, 1.0) * around
    return dft(waves, x.ndim - 1, -1, scale / m)[..., :n] * chirp


@lru_cache(maxsize=8)  # of a million numbers they are 50 MB
def _chirps(n: int, dtype: DType, sign: int) -> tuple[Numbers, Numbers]:
    """The chirp, and the spectrum of its conjugate, which is as long as the padded rows."""
    found, j = plan(n).padded, np.arange(n)
    assert found is not None, "only then there is a chirp"
    chirp, around = roots(2 * n, j * j % (2 * n)), np.zeros(found.n, np.complex128)
    around[:n] = chirp.conj()
    around[found.n - n + 1 :] = chirp[:0:-1].conj()
    both = (chirp, found.apply(around))
    ours, spectrum = both if sign > 0 else (c.conj() for c in both)  # the chirp is even, and so is its spectrum
    return ours.astype(dtype.storage), spectrum.astype(dtype.storage)


def _run(x: Var, found: Plan, sign: int, scale: float) -> Var:
    outer, _, inner = x.shape
    span = outer * -(-inner // 16) if inner > 1 else outer if found.columns else -(-outer // 16)
    layout, table = (from_numpy(a) for a in _tables(found, x.dtype, sign, scale))
    return _operator(x.dtype, found, sign, scale)(x, layout, table, shape=x.shape, dtype=x.dtype, span=span)


@lru_cache(maxsize=1 << 10)
def _operator(dtype: DType, found: Plan, sign: int, scale: float) -> Callable[..., Var]:
    text = TEXT if dtype is complex64 else TEXT.replace("np.float32", "np.float64")
    rules = (lambda out, dout, *inputs: _run(dout, found, -sign, scale), None, None)
    return kernel("fft" if sign > 0 else "inverse fft", text, rules, weight=40, kind=RowsByTables)


@lru_cache(maxsize=64)
def _tables(found: Plan, dtype: DType, sign: int, scale: float) -> tuple[Numbers, Numbers]:
    """Two tables for the kernel: radices and places; and the scale, then the twiddles as pairs of floats.

    columns    twiddles of the stages, one after the other
    rows       the same
    twiddles   for each row i of the matrix  w[i * lane] for 16 lanes: real parts, then imaginary ones
    corners    w[i * j] for every 16th column j, and each row i
    """
    n1, n2 = math.prod(found.columns), math.prod(found.rows)
    parts = [np.array([scale]), _stage_twiddles(found.columns), _stage_twiddles(found.rows)]
    if n1 > 1:
        i = np.arange(n1)
        lanes, corners = (roots(found.n, np.outer(*jk)) for jk in ((i, np.arange(16)), (np.arange(0, n2, 16), i)))
        parts += [np.stack([lanes.real, lanes.imag], 1).ravel(), floats(corners)]
    begins = [sum(map(len, parts[:k])) for k in range(1, 5)]
    layout = np.ones((3, max(7, len(found.columns), len(found.rows))), np.int64)
    for row, numbers in enumerate((found.columns, found.rows, (n1, n2, *begins, sign))):
        layout[row, : len(numbers)] = numbers
    return layout, np.concatenate(parts).astype("float32" if dtype is complex64 else "float64")


def _stage_twiddles(radices: tuple[int, ...]) -> Numbers:
    """For each stage and each p, what r - 1 numbers are multiplied by."""
    m, parts = math.prod(radices), [np.zeros(0)]
    for r in radices:
        m //= r
        parts.append(floats(roots(r * m, np.outer(np.arange(m), np.arange(1, r)))))
    return np.concatenate(parts)
