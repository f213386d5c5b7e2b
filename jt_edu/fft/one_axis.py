"""One axis: the transforms of a signal, from time to frequency and back.

    fft   ifft      complex numbers to complex numbers
    rfft  irfft     n real numbers to n // 2 + 1 waves
    hfft  ihfft     n // 2 + 1 numbers, of which conj says the others, to n real waves

The way there adds `x[j] * exp(-2 pi i j k / n)`, the way back has + in place of -. `norm` says which of the two is
divided by n: "backward" (also None) the way back, "forward" the way there, "ortho" both by the square root of n.
"""

from __future__ import annotations

from typing import Any

from jt_edu.base.dtypes import real_of
from jt_edu.base.errors import DtypeError, ShapeError
from jt_edu.fft.dft import dft
from jt_edu.fft.real import complex_like, from_half_waves, half_waves
from jt_edu.ops.arguments import axis_of, choice, same_words, whole
from jt_edu.ops.pad import pad
from jt_edu.ops.row_view import as_rows, from_rows
from jt_edu.variable.autocast import castable
from jt_edu.variable.var import Var, as_var

__all__ = ["fft", "hfft", "ifft", "ihfft", "irfft", "rfft"]

LONGEST = 1 << 31  # 16 GB of complex64


@castable
@same_words
def fft(input: Any, n: Any = None, dim: Any = -1, norm: Any = None) -> Var:
    """Fourier transform along an axis: y[k] = sum over j of x[j] * exp(-2 pi i j k / n).

    Args:
        input: any numbers; float32 and halves become complex64, float64 and whole numbers complex128.
        n: the length that x is cut to, or filled up to with zeros; by default that of the axis.
        dim: the axis.
        norm: which direction is divided by n: "backward", "forward" or "ortho" (both, by the square root).

    Raises:
        ShapeError: there is nothing to transform.
        ArgumentError: n is no whole number from 1 on, or norm is none of the three.

    Example:
        >>> fft(array([1.0, 0.0, 0.0, 0.0])).tolist()
        [(1+0j), (1+0j), (1+0j), (1+0j)]

    Source: Cooley, Tukey 1965, "An Algorithm for the Machine Calculation of Complex Fourier Series".
    """
    return complex_along("fft", input, n, dim, norm, 1)


@castable
@same_words
def ifft(input: Any, n: Any = None, dim: Any = -1, norm: Any = None) -> Var:
    """The way back: x[j] = 1 / n * sum over k of y[k] * exp(2 pi i j k / n). Arguments as in `fft`.

    Example:
        >>> ifft(fft(array([1.0, 2.0, 3.0]))).real.numpy().round(5)
        array([1., 2., 3.], dtype=float32)
    """
    return complex_along("ifft", input, n, dim, norm, -1)


@castable
@same_words
def rfft(input: Any, n: Any = None, dim: Any = -1, norm: Any = None) -> Var:
    """The first n // 2 + 1 waves of real numbers, which say all, for half of the work. Arguments as in `fft`.

    Raises:
        DtypeError: the numbers are complex.

    Example:
        >>> rfft(array([1.0, 2.0, 3.0, 4.0])).tolist()
        [(10+0j), (-2+2j), (-2+0j)]
    """
    return waves_along("rfft", input, n, dim, norm, 1)


@castable
@same_words
def irfft(input: Any, n: Any = None, dim: Any = -1, norm: Any = None) -> Var:
    """n real numbers from their waves 0 ... n // 2: the way back from `rfft`.

    Args:
        input: waves; imaginary parts of wave 0, and of wave n / 2 of an even n, are not looked at.
        n: how many numbers; by default 2 * (waves - 1), an even one.
        dim: the axis.
        norm: as in `fft`.

    Example:
        >>> irfft(rfft(array([1.0, 2.0, 3.0])), n=3).numpy().round(5)
        array([1., 2., 3.], dtype=float32)
    """
    return numbers_along("irfft", input, n, dim, norm, -1)


@castable
@same_words
def hfft(input: Any, n: Any = None, dim: Any = -1, norm: Any = None) -> Var:
    """The n real waves of a signal that is its own mirror image, x[-j] = conj(x[j]), from numbers 0 ... n // 2.

    Example:
        >>> hfft(array([1.0, 2.0, 3.0])).tolist()
        [8.0, -2.0, 0.0, -2.0]
    """
    return numbers_along("hfft", input, n, dim, norm, 1)


@castable
@same_words
def ihfft(input: Any, n: Any = None, dim: Any = -1, norm: Any = None) -> Var:
    """The way back from `hfft`: numbers 0 ... n // 2 of a signal that is its own mirror image, from its n real waves.

    Example:
        >>> ihfft(array([8.0, -2.0, 0.0, -2.0])).real.tolist()
        [1.0, 2.0, 3.0]
    """
    return waves_along("ihfft", input, n, dim, norm, -1)


def complex_along(name: str, x: Any, n: Any, dim: Any, norm: Any, sign: int) -> Var:
    """fft, or ifft with sign = -1."""
    v, axis, n = _asked(name, x, n, dim)
    v = v.cast(complex_like(v.dtype))
    return dft(to_length(v, axis, n), axis, sign, scale(name, norm, n, sign))


def waves_along(name: str, x: Any, n: Any, dim: Any, norm: Any, sign: int) -> Var:
    """rfft, or ihfft with sign = -1."""
    v, axis, n = _asked(name, x, n, dim)
    if v.dtype.kind == "c":
        raise DtypeError(f"{name} takes real numbers", f"dtype {v.dtype}", "jt.fft.fft, or x.real")
    v = to_length(v.cast(real_of(complex_like(v.dtype))), axis, n)
    waves = half_waves(as_rows(v, (axis,)), scale(name, norm, n, sign))
    return from_rows(waves if sign > 0 else waves.conj(), v.shape, axis)


def numbers_along(name: str, x: Any, n: Any, dim: Any, norm: Any, sign: int) -> Var:
    """irfft, or hfft with sign = 1."""
    v, axis, n = _asked(name, x, n, dim, waves=True)
    v = v.cast(complex_like(v.dtype))
    v = to_length(v, axis, n // 2 + 1)
    rows = as_rows(v if sign < 0 else v.conj(), (axis,))
    return from_rows(from_half_waves(rows, n, scale(name, norm, n, sign)), v.shape, axis)


def scale(name: str, norm: Any, n: int, sign: int) -> float:
    """What a transform of n numbers is multiplied by."""
    norm = choice(name, "norm", norm, (None, "backward", "ortho", "forward"))
    if norm == "ortho":
        return float(n**-0.5)
    return 1 / n if (norm == "forward") == (sign > 0) else 1.0


def to_length(x: Var, axis: int, n: int) -> Var:
    """The first n numbers along an axis, with zeros behind them where there are not as many."""
    return pad(x, [(0, n - x.shape[axis] if k == axis else 0) for k in range(x.ndim)]) if n != x.shape[axis] else x


def _asked(name: str, x: Any, n: Any, dim: Any, waves: bool = False) -> tuple[Var, int, int]:
    """The Var, the axis, and how many numbers are transformed; `waves`: x holds half of their waves."""
    v = as_var(x)
    if not v.ndim:
        raise ShapeError(f"{name} goes along an axis", "a single number", "x.reshape(1)")
    axis = axis_of(name, dim, v.ndim)
    own = 2 * (v.shape[axis] - 1) if waves else v.shape[axis]
    if n is None and own < 1:
        raise ShapeError(f"{name} transforms one number or more", f"shape {v.shape}, none along axis {axis}", "n=...")
    return v, axis, own if n is None else whole(name, "n", n, 1, LONGEST)
