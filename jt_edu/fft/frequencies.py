"""Frequencies: which wave stands where, and how are the slow ones brought to the middle?

fftfreq(5)      0   0.2   0.4  -0.4  -0.2         as `fft` leaves them, in cycles per sample
fftshift       -0.4  -0.2   0   0.2   0.4
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jt_edu.base.dtypes import as_dtype
from jt_edu.base.errors import ArgumentError
from jt_edu.ops.arguments import axes_of, number, same_words, whole
from jt_edu.ops.transpose import roll
from jt_edu.variable.torch_keywords import makes
from jt_edu.variable.var import Var, array, as_var

__all__ = ["fftfreq", "fftshift", "ifftshift", "rfftfreq"]


@makes
def fftfreq(n: Any, d: Any = 1.0, dtype: Any = "float32") -> Var:
    """The frequency of each wave of `fft`: 0, 1, 2, ..., -2, -1, divided by n * d.

    Args:
        n: how many numbers are transformed.
        d: the time between two of them; 1 gives cycles per sample.
        dtype: a float one.

    Raises:
        ArgumentError: n is no whole number from 1 on, or d is 0.

    Example:
        >>> fftfreq(5, d=0.2).numpy().round(3)
        array([ 0.,  1.,  2., -2., -1.], dtype=float32)
    """
    k = np.arange(whole("fftfreq", "n", n, 1))
    return _frequencies("fftfreq", np.where(2 * k < n, k, k - n), n, d, dtype)


@makes
def rfftfreq(n: Any, d: Any = 1.0, dtype: Any = "float32") -> Var:
    """The frequency of each wave of `rfft`: 0 ... n // 2, divided by n * d. Arguments as in `fftfreq`.

    Example:
        >>> rfftfreq(4).tolist()
        [0.0, 0.25, 0.5]
    """
    return _frequencies("rfftfreq", np.arange(whole("rfftfreq", "n", n, 1) // 2 + 1), n, d, dtype)


def _frequencies(name: str, k: Any, n: int, d: Any, dtype: Any) -> Var:
    if number(name, "d", d, finite=True) == 0:
        raise ArgumentError(f"{name} takes a time between samples", "d=0", "d=1.0")
    return array(k / (n * float(d)), as_dtype(dtype))


@same_words
def fftshift(input: Any, dim: Any = None) -> Var:
    """Wave 0 in the middle: each axis of `dim`, by default all, is rolled by half of its length.

    Example:
        >>> fftshift(fftfreq(4)).tolist()
        [-0.5, -0.25, 0.0, 0.25]
    """
    return _shifted("fftshift", as_var(input), dim, 0)


@same_words
def ifftshift(input: Any, dim: Any = None) -> Var:
    """The way back from `fftshift`; of odd lengths it is another one.

    Example:
        >>> ifftshift(fftshift(arange(5))).tolist()
        [0, 1, 2, 3, 4]
    """
    return _shifted("ifftshift", as_var(input), dim, 1)


def _shifted(name: str, x: Var, dim: Any, up: int) -> Var:
    axes = axes_of(name, dim, x.ndim)
    return roll(x, tuple((x.shape[a] + up) // 2 for a in axes), axes) if axes else x
