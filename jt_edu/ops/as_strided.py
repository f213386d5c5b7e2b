"""As strided: overlapping parts of an array as new axes. Nothing is copied; the gradient adds up where parts overlap.

unfold                out[i, k] = x[i * step + k]              one axis
sliding_window_view   the same with step 1, along several axes
as_strided            out[i, j] = x.flat[offset + i * s0 + j * s1]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jt_edu.base.errors import ArgumentError, RangeError, ShapeError
from jt_edu.ir.builders import check_shape
from jt_edu.ir.index_expr import Index, as_index, counter
from jt_edu.ir.index_expr import size as length_of
from jt_edu.ir.meta_ops import reindex
from jt_edu.ops.arguments import axis_of, same_words, whole
from jt_edu.ops.view import reshape, view
from jt_edu.variable.var import Var, as_var, method


@method
def unfold(x: Any, dimension: int, size: int, step: int) -> Var:
    """Windows of a length along an axis, one every `step` elements; inside a window one walks along a new last axis.

    Example:
        >>> unfold(arange(5), 0, 3, 2).tolist()
        [[0, 1, 2], [2, 3, 4]]
    """
    v = reshape(x, 1) if as_var(x).ndim == 0 else as_var(x)
    at, n, pace = axis_of("unfold", dimension, v.ndim), whole("unfold", "size", size), whole("unfold", "step", step)
    if pace < 1 or not 0 <= n <= v.shape[at]:
        raise ShapeError(
            f"unfold needs windows of at most {v.shape[at]}, the length of axis {at}, and a step of 1 or more",
            f"size {n}, step {pace}",
        )
    shape = (*v.shape[:at], (v.shape[at] - n) // pace + 1, *v.shape[at + 1 :], n)
    inside = counter(at) * length_of(pace) + counter(v.ndim)
    return view(v, reindex("unfold", v.shape, shape, tuple(inside if k == at else counter(k) for k in range(v.ndim))))


@same_words
def sliding_window_view(x: Any, window_shape: Any, dim: Any = None) -> Var:
    """Every window of a shape; inside a window one walks along new last axes.

    Args:
        window_shape: a length for each axis in `dim`, or for all axes.

    Example:
        >>> sliding_window_view(arange(4), 2).tolist()
        [[0, 1], [1, 2], [2, 3]]
    """
    v, lengths = as_var(x), check_shape(window_shape)
    named = tuple(range(v.ndim)) if dim is None else dim
    axes = named if isinstance(named, (tuple, list)) else (named,)
    if len(axes) != len(lengths):
        raise ShapeError("sliding_window_view takes a length for each axis", f"{window_shape} for axes {axes}")
    for a, n in zip([axis_of("sliding_window_view", a, v.ndim) for a in axes], lengths, strict=True):
        v = unfold(v, a, n, 1)
    return v


@method
def as_strided(x: Any, size: Sequence[int], stride: Sequence[int], storage_offset: int = 0) -> Var:
    """Any walk through the elements of x in row-major order, whose axes are `stride` elements apart.

    Every place is checked to be inside x. What is written to the result is not written to x.

    Example:
        >>> as_strided(arange(6), (2, 2), (3, 1), 1).tolist()
        [[1, 2], [4, 5]]
    """
    v = reshape(x, -1)
    shape, start = check_shape(size), whole("as_strided", "storage_offset", storage_offset)
    steps = [whole("as_strided", "stride", s) for s in (stride if isinstance(stride, (tuple, list)) else (stride,))]
    if len(steps) != len(shape):
        raise ArgumentError("as_strided takes a stride for each length", f"size {size}, stride {stride}")
    ends = [s * (n - 1) for s, n in zip(steps, shape, strict=True)]
    low, high = start + sum(e for e in ends if e < 0), start + sum(e for e in ends if e > 0)
    if 0 not in shape and not 0 <= low <= high < v.size:
        raise RangeError(f"as_strided stays inside {v.size} elements", f"places from {low} to {high}")
    return view(v, reindex("as_strided", v.shape, shape, (_walk(steps, start),)))


def _walk(steps: Sequence[int], start: int) -> Index:
    place: Index = length_of(start) if start else as_index(0)
    for k, s in enumerate(steps):
        place = place + counter(k) * length_of(s)
    return place
