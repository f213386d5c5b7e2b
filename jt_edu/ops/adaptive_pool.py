"""Adaptive pooling: the size of the answer is given, and the windows follow from it.

    window i of o along an axis of length n:   from floor(i * n / o)   up to, not including, ceil((i + 1) * n / o)

Windows may overlap and differ in length: 7 -> 3 sees 0-2, 2-4, 4-6, and 3 -> 5 sees 0, 0-1, 1, 1-2, 2. So the longest
window decides how many taps are read, and a condition on the counters leaves out those beyond the end of a window.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.ir.builders import short
from jt_edu.ir.index_expr import Index, both, counter, counters, size
from jt_edu.ir.meta_ops import Reindex, reindex
from jt_edu.ir.node import Shape
from jt_edu.ops.arguments import same_words
from jt_edu.ops.create import index
from jt_edu.ops.dtype_rules import as_floats, widened
from jt_edu.ops.pool import extremum, images, reduce_taps, start_of
from jt_edu.ops.sliding_window import each_way
from jt_edu.ops.view import view
from jt_edu.variable.autocast import castable
from jt_edu.variable.var import Var

__all__ = ["adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
           "adaptive_max_pool2d", "adaptive_max_pool3d"]  # fmt: skip


@same_words
def adaptive_avg_pool1d(x: Any, output_size: Any) -> Var:
    """Mean of `output_size` windows that cover a signal; see `adaptive_avg_pool2d`.

    Example:
        >>> adaptive_avg_pool1d(array([[0.0, 1.0, 2.0, 3.0, 4.0]]), 2).numpy()
        array([[1., 3.]], dtype=float32)
    """
    return _mean(x, 1, output_size)


@same_words
def adaptive_avg_pool2d(x: Any, output_size: Any) -> Var:
    """Means of windows that cover an image; you choose how many, whatever the size of the image.

        window i of o along an axis of length n: from floor(i * n / o) to ceil((i + 1) * n / o)

    Args:
        x: (n, c, h, w) or (c, h, w).
        output_size: one number, or one per direction; None keeps the length of the image.

    Raises:
        ShapeError: x is no image, or an empty one. ArgumentError: a size below 1.

    Example:
        >>> adaptive_avg_pool2d(arange(9).reshape(1, 3, 3), 2).tolist()
        [[[2.0, 3.0], [5.0, 6.0]]]
    """
    return _mean(x, 2, output_size)


@castable
@same_words
def adaptive_avg_pool3d(x: Any, output_size: Any) -> Var:
    """Means of windows that cover a volume; see `adaptive_avg_pool2d`.

    Example:
        >>> adaptive_avg_pool3d(ones((1, 2, 3, 4)), (1, None, 2)).shape
        (1, 1, 3, 2)
    """
    return _mean(x, 3, output_size)


@same_words
def adaptive_max_pool1d(x: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Largest numbers of `output_size` windows that cover a signal; see `adaptive_max_pool2d`.

    Example:
        >>> adaptive_max_pool1d(array([[0, 7, 2, 3, 4]]), 2).numpy()
        array([[7, 4]])
    """
    return _maximum(x, 1, output_size, return_indices)


@same_words
def adaptive_max_pool2d(x: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Largest numbers of windows that cover an image; windows as in `adaptive_avg_pool2d`.

    Args:
        x: (n, c, h, w) or (c, h, w).
        output_size: one number, or one per direction; None keeps the length of the image.
        return_indices: answer also where each number stands in its plane, counted row by row.

    Example:
        >>> adaptive_max_pool2d(arange(9).reshape(1, 3, 3), 2).tolist()
        [[[4, 5], [7, 8]]]
    """
    return _maximum(x, 2, output_size, return_indices)


@castable
@same_words
def adaptive_max_pool3d(x: Any, output_size: Any, return_indices: bool = False) -> Any:
    """Largest numbers of windows that cover a volume; see `adaptive_max_pool2d`.

    Example:
        >>> adaptive_max_pool3d(ones((1, 2, 3, 4)), (1, None, 2)).shape
        (1, 1, 3, 2)
    """
    return _maximum(x, 3, output_size, return_indices)


def _mean(x: Any, dims: int, output_size: Any) -> Var:
    image, out = _asked(f"adaptive_avg_pool{dims}d", x, dims, output_size)
    floats = as_floats(image)
    total = reduce_taps(view(widened(floats), _look(image.shape, out, 0)), "add", dims)
    for axis, (n, o) in enumerate(zip(image.shape[-dims:], out, strict=True)):
        total = total / _length(n, o, dims - 1 - axis, total)
    return total.cast(floats.dtype)


def _maximum(x: Any, dims: int, output_size: Any, return_indices: bool) -> Any:
    name = f"adaptive_max_pool{dims}d"
    image, out = _asked(name, x, dims, output_size)
    look = _look(image.shape, out, start_of(name, "maximum", image))
    return extremum(image, look, "maximum", dims, return_indices)


def _asked(name: str, x: Any, dims: int, output_size: Any) -> tuple[Var, Shape]:
    image = images(name, x, dims)
    plane = image.shape[-dims:]
    if 0 in plane:
        raise ShapeError(f"{name} needs at least one element in each window", f"shape {image.shape}")
    parts = output_size if isinstance(output_size, (tuple, list)) else (output_size,) * dims
    if len(parts) != dims:
        raise ArgumentError(f"{name} takes one output size, or {dims} of them", short(output_size))
    lengths = [n if o is None else o for n, o in zip(plane, parts, strict=True)]
    return image, each_way(name, "output_size", lengths, dims, 1)


@lru_cache(maxsize=1 << 12)
def _look(image: Shape, out: Shape, fill: float) -> Reindex:
    """Read through the windows: axes (..., *out, *taps), as many taps as the longest window has."""
    rest, rank = len(image) - len(out), len(image)
    plane, where, valid = image[rest:], list(counters(rest)), None
    taps = tuple(_longest(n, o) for n, o in zip(plane, out, strict=True))
    for k, (n, o) in enumerate(zip(plane, out, strict=True)):
        i, place = counter(rest + k), _start(counter(rest + k), n, o) + counter(rank + k)
        where.append(place)
        if n % o:
            inside = place < _end(i, n, o)
            valid = inside if valid is None else both(valid, inside)
    return reindex("window", image, (*image[:rest], *out, *taps), tuple(where), fill, valid)


def _end(i: Index, n: int, o: int) -> Index:
    """ceil((i + 1) * n / o)."""
    return ((i + 1) * size(n) + size(o - 1)) // size(o)


def _start(i: Index, n: int, o: int) -> Index:
    """floor(i * n / o)."""
    return i * size(n // o) if n % o == 0 else (i * size(n)) // size(o)


def _longest(n: int, o: int) -> int:
    """n = q o + r: a window holds q places, and those that a step of r / o touches: two, unless r divides o."""
    q, r = divmod(n, o)
    return q if r == 0 else q + (1 if o % r == 0 else 2)


def _length(n: int, o: int, after: int, like: Var) -> Any:
    """How long each window along an axis is, with `after` axes behind it."""
    if n % o == 0:
        return float(n // o)
    i = index((o,), 0)
    length = -((i + 1) * -n // o) - i * n // o
    return length.cast(like.dtype).reshape(o, *(1,) * after)
