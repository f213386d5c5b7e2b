"""Several axes: the transform of pictures and volumes is that of rows, then of columns, and so on.

    fft2   ifft2   fftn   ifftn          complex numbers
    rfft2  irfft2  rfftn  irfftn         real numbers, and half of the waves along the last of the axes
    hfft2  ihfft2  hfftn  ihfftn         real waves

Each is one transform of `one_axis` for each axis. Those with a 2 are the others with another default.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.fft.one_axis import complex_along, numbers_along, waves_along
from jt_edu.fft.real import complex_like
from jt_edu.ir.builders import short
from jt_edu.ops.arguments import listed_axes, same_words, whole
from jt_edu.variable.autocast import castable
from jt_edu.variable.var import Var, as_var

__all__ = ["fft2", "fftn", "hfft2", "hfftn", "ifft2", "ifftn", "ihfft2", "ihfftn", "irfft2", "irfftn", "rfft2", "rfftn"]
Along = Callable[[str, Any, Any, Any, Any, int], Var]


@castable
@same_words
def fftn(input: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Var:
    """Fourier transform along several axes: `fft` along each of them.

    Args:
        input: any numbers.
        s: how many numbers along each axis, cut or filled up with zeros; -1: as many as there are.
        dim: the axes; by default as many of the last ones as `s` has numbers, or all.
        norm: as in `fft`, for each axis.

    Raises:
        ArgumentError: an axis is named twice, or there is not one number of `s` for each.

    Example:
        >>> fftn(ones((2, 2, 2))).real.tolist()
        [[[8.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]]
    """
    return _each("fftn", input, s, dim, norm, complex_along, 1)


@castable
@same_words
def ifftn(input: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Var:
    """The way back from `fftn`: `ifft` along each axis. Arguments as in `fftn`.

    Example:
        >>> ifftn(fftn(array([[1.0, 2.0], [3.0, 4.0]]))).real.tolist()
        [[1.0, 2.0], [3.0, 4.0]]
    """
    return _each("ifftn", input, s, dim, norm, complex_along, -1)


@castable
@same_words
def rfftn(input: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Var:
    """`rfft` along the last of several axes, then `fft` along the others. Arguments as in `fftn`.

    Example:
        >>> rfftn(ones((2, 4))).real.tolist()
        [[8.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    return _each("rfftn", input, s, dim, norm, waves_along, 1)


@castable
@same_words
def irfftn(input: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Var:
    """The way back from `rfftn`: `ifft` along all axes but the last, along which `irfft` makes real numbers.

    Args:
        input: waves.
        s: how many numbers along each axis; by default 2 * (waves - 1) along the last one.
        dim: the axes, as in `fftn`.
        norm: as in `fft`, for each axis.

    Example:
        >>> irfftn(rfftn(array([[1.0, 2.0], [3.0, 4.0]]))).tolist()
        [[1.0, 2.0], [3.0, 4.0]]
    """
    return _each("irfftn", input, s, dim, norm, numbers_along, -1)


@same_words
def hfftn(input: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Var:
    """`fft` along all axes but the last, along which `hfft` makes real waves. Arguments as in `irfftn`.

    Example:
        >>> hfftn(array([[1.0, 2.0], [3.0, 4.0]])).tolist()
        [[10.0, -2.0], [-4.0, 0.0]]
    """
    return _each("hfftn", input, s, dim, norm, numbers_along, 1)


@same_words
def ihfftn(input: Any, s: Any = None, dim: Any = None, norm: Any = None) -> Var:
    """The way back from `hfftn`: `ihfft` along the last of several axes, then `ifft` along the others.

    Example:
        >>> ihfftn(array([[10.0, -2.0], [-4.0, 0.0]])).real.tolist()
        [[1.0, 2.0], [3.0, 4.0]]
    """
    return _each("ihfftn", input, s, dim, norm, waves_along, -1)


@castable
@same_words
def fft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: Any = None) -> Var:
    """`fftn` along two axes, the last ones by default.

    Example:
        >>> fft2(array([[1.0, 2.0], [3.0, 4.0]])).real.tolist()
        [[10.0, -2.0], [-4.0, 0.0]]
    """
    return _each("fft2", input, s, dim, norm, complex_along, 1)


@castable
@same_words
def ifft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: Any = None) -> Var:
    """`ifftn` along two axes, the last ones by default.

    Example:
        >>> ifft2(array([[4.0, 0.0], [0.0, 0.0]])).real.tolist()
        [[1.0, 1.0], [1.0, 1.0]]
    """
    return _each("ifft2", input, s, dim, norm, complex_along, -1)


@castable
@same_words
def rfft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: Any = None) -> Var:
    """`rfftn` along two axes, the last ones by default.

    Example:
        >>> rfft2(ones((5, 4, 4))).shape
        (5, 4, 3)
    """
    return _each("rfft2", input, s, dim, norm, waves_along, 1)


@castable
@same_words
def irfft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: Any = None) -> Var:
    """`irfftn` along two axes, the last ones by default.

    Example:
        >>> irfft2(ones((5, 4, 3))).shape
        (5, 4, 4)
    """
    return _each("irfft2", input, s, dim, norm, numbers_along, -1)


@same_words
def hfft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: Any = None) -> Var:
    """`hfftn` along two axes, the last ones by default.

    Example:
        >>> hfft2(ones((5, 4, 3))).shape
        (5, 4, 4)
    """
    return _each("hfft2", input, s, dim, norm, numbers_along, 1)


@same_words
def ihfft2(input: Any, s: Any = None, dim: Any = (-2, -1), norm: Any = None) -> Var:
    """`ihfftn` along two axes, the last ones by default.

    Example:
        >>> ihfft2(ones((5, 4, 4))).shape
        (5, 4, 3)
    """
    return _each("ihfft2", input, s, dim, norm, waves_along, -1)


def _each(name: str, x: Any, s: Any, dim: Any, norm: Any, last: Along, sign: int) -> Var:
    """One transform after the other; where `last` makes numbers real it comes at the end, and else at the beginning."""
    v = as_var(x)
    axes, sizes = _asked(name, v, s, dim)
    if not axes and last is not complex_along:
        raise ShapeError(f"{name} transforms one axis or more", f"dim={short(dim)} for shape {v.shape}")
    steps = list(zip(axes, sizes, [*[complex_along] * (len(axes) - 1), last], strict=False))
    for axis, n, along in steps if last is numbers_along else steps[::-1]:
        v = along(name, v, n, axis, norm, sign)
    return v if axes else v.cast(complex_like(v.dtype))


def _asked(name: str, x: Var, s: Any, dim: Any) -> tuple[tuple[int, ...], list[int | None]]:
    """The axes, and for each a length, or None for its own."""
    listed = s if isinstance(s, (tuple, list)) or s is None else (s,)
    if dim is None:
        dim = range(x.ndim) if listed is None else range(-len(listed), 0)
    axes = listed_axes(name, tuple(dim) if isinstance(dim, range) else dim, x.ndim)
    sizes = [-1] * len(axes) if listed is None else [whole(name, "s", n, -1) for n in listed]
    if len(sizes) != len(axes) or 0 in sizes:
        wanted = f"{name} takes a length from 1 on for each axis, or -1"
        raise ArgumentError(wanted, f"s={short(s)} for {len(axes)} axes")
    return axes, [None if n < 0 else n for n in sizes]
