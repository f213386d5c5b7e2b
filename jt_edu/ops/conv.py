"""Convolution: a window that slides over the input, as one Reindex, one broadcast product and one sum.

    out[n, o, y, x] = sum over c, ky, kx of   input[n, c, y*s + ky*d - p, x*s + kx*d - p] * weight[o, c, ky, kx]

Padding is a Reindex before it, which reads 0 outside of the input. Strides and dilations are part of the kernel's
text, lengths are not. Both gradients follow from the three meta-operators.
"""

from __future__ import annotations

import operator
from functools import lru_cache
from typing import Any

from jt_edu import functions as f
from jt_edu.dtypes import promote
from jt_edu.errors import ArgumentError, ShapeError
from jt_edu.graph import Node, Shape
from jt_edu.index import Index, counter, size
from jt_edu.meta import Reindex, ReindexReduce, reindex, reindex_reduce
from jt_edu.ops.view import pad
from jt_edu.var import Var, as_var

Pair = tuple[int, int]


def pair(name: str, value: Any, least: int) -> Pair:
    """One number for both directions, or one for each."""
    parts = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    try:
        y, x = (operator.index(p) for p in parts)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} is a whole number or a pair of them", repr(value)) from None
    if min(y, x) < least:
        raise ArgumentError(f"{name} is at least {least}", repr(value))
    return y, x


def window(position: Index, step: int, tap: Index, dilation: int, padding: int) -> Index:
    """Where a window looks: position * stride + tap * dilation - padding."""
    place = position * step + tap * dilation
    return place - size(padding) if padding else place


def out_length(length: int, kernel: int, stride: int, padding: int, dilation: int) -> int:
    """How many places the window has."""
    return (length + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


@lru_cache(maxsize=1 << 12)
def _ops(
    image: Shape, weight: Shape, stride: Pair, dilation: Pair, groups: int
) -> tuple[Reindex, Reindex, ReindexReduce]:
    """Loops (n, g, o, c, ky, kx, y, x): g counts groups, o and c the channels inside one."""
    (batch, _, height, width), (outs, ins, kh, kw) = image, weight
    high = out_length(height, kh, stride[0], 0, dilation[0])
    wide = out_length(width, kw, stride[1], 0, dilation[1])
    loops = (batch, groups, outs // groups, ins, kh, kw, high, wide)
    n, g, o, c, ky, kx, y, x = (counter(k) for k in range(8))
    here = (
        n, (g * size(ins) + c) if groups > 1 else c,
        window(y, stride[0], ky, dilation[0], 0), window(x, stride[1], kx, dilation[1], 0),
    )  # fmt: skip
    channel = (g * size(outs // groups) + o) if groups > 1 else o
    look = reindex("window", image, loops, here)
    taps = reindex("taps", weight, loops, (channel, c, ky, kx))
    total = reindex_reduce("conv2d", "add", loops, (batch, groups, outs // groups, high, wide), (n, g, o, y, x))
    return look, taps, total


def conv2d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Var:
    """Two-dimensional convolution (cross-correlation, as everywhere in this field).

    Args:
        x: (n, c, h, w).
        weight: (o, c / groups, kh, kw).
        bias: (o,), added to each output channel.
        stride, padding, dilation: one number, or one for each direction.
        groups: c and o are split into so many groups that do not see each other.

    Returns:
        (n, o, (h + 2p - d(kh - 1) - 1) // s + 1, and so for w).

    Example:
        >>> conv2d(ones((1, 1, 3, 3)), ones((1, 1, 2, 2))).numpy()[0, 0]
        array([[4., 4.],
               [4., 4.]], dtype=float32)
    """
    image, w = as_var(x), as_var(weight)
    steps, around, spread = pair("stride", stride, 1), pair("padding", padding, 0), pair("dilation", dilation, 1)
    _check(image, w, around, spread, groups)
    dtype = promote(image.dtype, w.dtype)
    if any(around):  # stored once, so that the window's loops need no conditions
        image = pad(image, (around[1], around[1], around[0], around[0]))
    look, taps, total = _ops(image.shape, w.shape, steps, spread, groups)
    seen = Node(look, (image.cast(dtype).node,), look.shape, dtype)
    weights = Node(taps, (w.cast(dtype).node,), taps.shape, dtype)
    product = Node(f.MULTIPLY, (seen, weights), look.shape, dtype)
    n, _, _, high, wide = total.shape
    out = Var._of(Node(total, (product,), total.shape, dtype)).reshape(n, w.shape[0], high, wide)
    return out if bias is None else out + as_var(bias).reshape(1, -1, 1, 1)


def _check(image: Var, weight: Var, padding: Pair, dilation: Pair, groups: int) -> None:
    if image.ndim != 4 or weight.ndim != 4:
        raise ShapeError(
            "conv2d takes images (n, c, h, w) and weights (o, c, kh, kw)", f"shapes {image.shape} and {weight.shape}"
        )
    if groups < 1 or image.shape[1] % groups or weight.shape[0] % groups:
        raise ArgumentError(
            "groups divide the channels of input and output",
            f"groups {groups} for {image.shape[1]} and {weight.shape[0]}",
        )
    if image.shape[1] // groups != weight.shape[1]:
        raise ShapeError(
            "each weight sees all input channels of its group",
            f"{image.shape[1]} channels in {groups} group(s), weights for {weight.shape[1]}",
            f"weights of shape ({weight.shape[0]}, {image.shape[1] // groups}, {weight.shape[2]}, {weight.shape[3]})",
        )
    for length, kernel, p, d in zip(image.shape[2:], weight.shape[2:], padding, dilation, strict=True):
        if length + 2 * p < d * (kernel - 1) + 1:
            raise ShapeError(
                "the window fits into the padded image",
                f"a window of {d * (kernel - 1) + 1} in {length + 2 * p}",
                "padding",
            )
