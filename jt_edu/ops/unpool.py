"""Unpooling: the numbers that a maximum kept go back to where they stood; everywhere else is 0.

    out[n, c, indices[n, c, y, x]] = input[n, c, y, x]

The positions are those that `max_pool2d(..., return_indices=True)` answers: counted row by row in the plane.
"""

from __future__ import annotations

import math
from typing import Any

from jt_edu.base.dtypes import int64
from jt_edu.base.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.ir.node import Shape
from jt_edu.ops.arguments import same_words
from jt_edu.ops.create import zeros
from jt_edu.ops.dtype_rules import checked
from jt_edu.ops.index import scatter
from jt_edu.ops.pool import images
from jt_edu.ops.sliding_window import each_way
from jt_edu.variable.autocast import castable
from jt_edu.variable.var import Var, as_var


@same_words
def max_unpool1d(
    x: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Var:
    """Undo `max_pool1d` as far as possible; see `max_unpool2d`.

    Example:
        >>> y, i = max_pool1d(array([[3, 1, 4, 1]]), 2, return_indices=True)
        >>> max_unpool1d(y, i, 2).numpy()
        array([[3, 0, 4, 0]])
    """
    return _unpool(x, indices, 1, kernel_size, stride, padding, output_size)


@castable
@same_words
def max_unpool2d(
    x: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Var:
    """Undo `max_pool2d` as far as possible: each number goes back to where it stood, the rest is 0.

        H = (h - 1) * stride - 2 * padding + kernel

    Args:
        x: (n, c, h, w) or (c, h, w), the maxima.
        indices: of the same shape, whole numbers: positions in the plane that was pooled, row by row.
        kernel_size, stride, padding: those of the pooling; stride is the kernel size by default.
        output_size: (H, W), or a shape that ends so, where several sizes are pooled to the same one.

    Raises:
        ShapeError: shapes of x and indices differ, or output_size is more than a stride away from the formula.
        DtypeError: indices are no whole numbers. RangeError: one lies outside the plane.

    Example:
        >>> y, i = max_pool2d(array([[[1, 2], [3, 4]]]), 2, return_indices=True)
        >>> max_unpool2d(y, i, 2).tolist()
        [[[0, 0], [0, 4]]]
    """
    return _unpool(x, indices, 2, kernel_size, stride, padding, output_size)


@castable
@same_words
def max_unpool3d(
    x: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Var:
    """Undo `max_pool3d` as far as possible; see `max_unpool2d`.

    Example:
        >>> max_unpool3d(ones((1, 1, 1, 1)), zeros((1, 1, 1, 1)).int64(), (1, 1, 2)).tolist()
        [[[[1.0, 0.0]]]]
    """
    return _unpool(x, indices, 3, kernel_size, stride, padding, output_size)


def _unpool(x: Any, indices: Any, dims: int, kernel: Any, stride: Any, padding: Any, wanted: Any) -> Var:
    name = f"max_unpool{dims}d"
    pooled, places = images(name, x, dims), as_var(indices)
    if places.dtype.kind not in "iu":
        raise DtypeError(f"{name} takes positions as whole numbers", f"dtype {places.dtype}", "indices.int64()")
    if places.shape != pooled.shape:
        raise ShapeError(f"{name} needs one position for each number", f"{places.shape} for {pooled.shape}")
    rest = pooled.shape[:-dims]
    plane = _plane(name, pooled.shape, dims, kernel, stride, padding, wanted)
    rows, cells = math.prod(rest), math.prod(pooled.shape[-dims:])
    inside = checked(name, places.cast(int64), 0, math.prod(plane)).reshape(rows, cells)
    empty = zeros((rows, math.prod(plane)), pooled.dtype).detach()
    return scatter(empty, 1, inside, pooled.reshape(rows, cells)).reshape(*rest, *plane)


def _plane(name: str, shape: Shape, dims: int, kernel_size: Any, stride: Any, padding: Any, wanted: Any) -> Shape:
    kernel = each_way(name, "kernel_size", kernel_size, dims, 1)
    step = kernel if stride is None else each_way(name, "stride", stride, dims, 1)
    around = each_way(name, "padding", padding, dims, 0)
    usual = tuple((n - 1) * s - 2 * p + k for n, s, p, k in zip(shape[-dims:], step, around, kernel, strict=True))
    if wanted is None:
        if min(usual) < 1:
            raise ArgumentError(f"{name} makes planes of at least 1", f"{usual} with padding {around}", "less padding")
        return usual
    ends = wanted[-dims:] if isinstance(wanted, (tuple, list)) and len(wanted) == len(shape) else wanted
    given = each_way(name, "output_size", ends, dims, 1)
    if any(abs(g - u) >= s for g, u, s in zip(given, usual, step, strict=True)):
        raise ShapeError(f"{name} pools {given} to what it was given", f"{shape[-dims:]}", f"a size near {usual}")
    return given
