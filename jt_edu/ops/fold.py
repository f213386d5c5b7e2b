"""Unfold and fold: the windows of an image as columns of a matrix, and the way back.

    unfold    (n, c, h, w)            -> (n, c * kh * kw, places)      often called im2col
    fold      (n, c * kh * kw, places) -> (n, c, h, w)                  col2im: where windows overlap they are added

Each is the gradient of the other: a Reindex, and the ReindexReduce through the same index.
"""

from __future__ import annotations

import math
from typing import Any

from jt_edu.base.dtypes import contracted
from jt_edu.base.errors import ShapeError
from jt_edu.ir.node import Node
from jt_edu.ops.arguments import same_words
from jt_edu.ops.pad import pad
from jt_edu.ops.sliding_window import each_way, paint_op, places, window_op
from jt_edu.ops.transpose import permute
from jt_edu.ops.view import view
from jt_edu.variable.var import Var, as_var


@same_words
def unfold(x: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Var:
    """All windows of an image, each as a column.

    Args:
        x: (n, c, h, w), or one image (c, h, w).
        kernel_size, dilation, padding, stride: one number, or one for each direction.

    Returns:
        (n, c * kh * kw, places); without n for one image.

    Example:
        >>> unfold(arange(9).reshape(1, 1, 3, 3), 2).numpy()[0, :, 0]
        array([0, 1, 3, 4])
    """
    image = as_var(x)
    if image.ndim == 3:
        return unfold(image.unsqueeze(0), kernel_size, dilation, padding, stride).squeeze(0)
    if image.ndim != 4:
        way_out = "x.unsqueeze(0) for an image without channels" if image.ndim == 2 else ""
        raise ShapeError("unfold takes images (n, c, h, w), or one (c, h, w)", f"shape {image.shape}", way_out)
    kernel = each_way("unfold", "kernel_size", kernel_size, 2, 1)
    spread = each_way("unfold", "dilation", dilation, 2, 1)
    around, steps = each_way("unfold", "padding", padding, 2, 0), each_way("unfold", "stride", stride, 2, 1)
    if any(around):
        image = pad(image, (around[1], around[1], around[0], around[0]))
    op = window_op(image.shape, kernel, steps, spread)
    c, kh, kw, n, high, wide = op.shape
    return permute(view(image, op), 3, 0, 1, 2, 4, 5).reshape(n, c * kh * kw, high * wide)


@same_words
def fold(x: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Var:
    """An image from columns, each of which is one window; overlapping windows are added.

    Args:
        x: (n, c * kh * kw, places), or without n for one image.
        output_size: (h, w) of the image.
        kernel_size, dilation, padding, stride: as `unfold` had them.

    Example:
        >>> fold(ones((1, 4, 4)), 3, 2).numpy()[0, 0]
        array([[1., 2., 1.],
               [2., 4., 2.],
               [1., 2., 1.]], dtype=float32)
    """
    columns = as_var(x)
    summed = columns.cast(contracted(columns.dtype))
    batch = summed.unsqueeze(0) if summed.ndim == 2 else summed
    sizes = each_way("fold", "output_size", output_size, 2, 1)
    kernel, spread = each_way("fold", "kernel_size", kernel_size, 2, 1), each_way("fold", "dilation", dilation, 2, 1)
    around, steps = each_way("fold", "padding", padding, 2, 0), each_way("fold", "stride", stride, 2, 1)
    padded = tuple(n + 2 * p for n, p in zip(sizes, around, strict=True))
    at = places(padded, kernel, steps, spread)
    if batch.ndim != 3 or batch.shape[1] % math.prod(kernel) or batch.shape[2] != math.prod(at):
        raise ShapeError(
            f"fold takes (n, c * {math.prod(kernel)}, {math.prod(at)}) for windows of {kernel} at {at} places",
            f"shape {columns.shape}",
        )
    n, c = batch.shape[0], batch.shape[1] // math.prod(kernel)
    windows = permute(batch.reshape(n, c, *kernel, *at), 1, 2, 3, 0, 4, 5)
    op = paint_op(windows.shape, sizes, steps, spread, tuple((p, p) for p in around))
    image = Var._of(Node(op, (windows.node,), op.shape, windows.dtype))
    return image.squeeze(0) if columns.ndim == 2 else image
