"""Transposed convolution: each number of the input paints a window, and where windows overlap they are added.

    out[n, o, y*s + ky*d - p, x*s + kx*d - p]  +=  input[n, c, y, x] * weight[c, o, ky, kx]     for all c, ky, kx, y, x

It is the gradient of a convolution by its input, and so it is written: a product, and one ReindexReduce that paints.
What falls into the padding is dropped. `ir/conv_pattern.py` recognises it as that gradient.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from jt_edu.base.dtypes import contracted, promote
from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.ir import scalar_ops as f
from jt_edu.ir.index_expr import counter, size
from jt_edu.ir.meta_ops import Reindex, ReindexReduce, reindex, reindex_reduce
from jt_edu.ir.node import Node, Shape
from jt_edu.ops.arguments import same_words
from jt_edu.ops.conv import add_bias, by_floats, check_groups, check_ranks
from jt_edu.ops.sliding_window import Numbers, check_room, each_way, window
from jt_edu.variable.autocast import castable
from jt_edu.variable.var import Var, as_var

__all__ = ["conv_transpose", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]


@same_words
def conv_transpose1d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1,
    dilation: Any = 1,
) -> Var:  # fmt: skip
    """Transposed convolution of x (n, c, w) with weight (c, o / groups, kw); the rest as in `conv_transpose2d`.

    Example:
        >>> conv_transpose1d(array([[[1.0, 2.0]]]), array([[[1.0, 10.0]]])).numpy()
        array([[[ 1., 12., 20.]]], dtype=float32)
    """
    return transposed(1, x, weight, bias, stride, padding, output_padding, groups, dilation)


@same_words
def conv_transpose2d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1,
    dilation: Any = 1,
) -> Var:  # fmt: skip
    """Transposed convolution: enlarges images where a convolution with the same settings makes them smaller.

    Args:
        x: (n, c, h, w), or (c, h, w) for a single image.
        weight: (c, o / groups, kh, kw).
        bias: (o,), added to each output channel.
        stride: steps between the windows that are painted.
        padding: rows that are cut off on all sides.
        output_padding: rows that are added at the end, less than stride or dilation: a convolution of some stride
            gives images of several sizes one size, and this says which of them is meant.
        groups, dilation: as in `conv2d`.

    Returns:
        (n, o, (h - 1) * s - 2p + d(kh - 1) + output_padding + 1, and so for w).

    Example:
        >>> conv_transpose2d(ones((1, 1, 2, 2)), ones((1, 1, 2, 2)), stride=2).shape
        (1, 1, 4, 4)

    Source: Dumoulin and Visin 2016, "A guide to convolution arithmetic for deep learning" (arXiv:1603.07285).
    """
    return transposed(2, x, weight, bias, stride, padding, output_padding, groups, dilation)


@same_words
def conv_transpose3d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1,
    dilation: Any = 1,
) -> Var:  # fmt: skip
    """Transposed convolution of x (n, c, d, h, w) with weight (c, o / groups, kd, kh, kw); as `conv_transpose2d`.

    Example:
        >>> conv_transpose3d(ones((1, 1, 1, 1, 1)), ones((1, 2, 3, 3, 3))).shape
        (1, 2, 3, 3, 3)
    """
    return transposed(3, x, weight, bias, stride, padding, output_padding, groups, dilation)


conv_transpose = conv_transpose2d


@castable(name="conv_transpose{ways}d")
def transposed(
    ways: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any, groups: Any,
    dilation: Any,
) -> Var:  # fmt: skip
    """The transposed convolution of any number of directions, `ways`."""
    name, image, w = f"conv_transpose{ways}d", as_var(x), as_var(weight)
    if image.ndim == ways + 1 == w.ndim - 1:  # a single image
        rest = (weight, bias, stride, padding, output_padding, groups, dilation)
        return transposed(ways, image.unsqueeze(0), *rest).squeeze(0)
    check_ranks(name, image, w, ways, axis=0)
    steps, spread = each_way(name, "stride", stride, ways, 1), each_way(name, "dilation", dilation, ways, 1)
    around = each_way(name, "padding", padding, ways, 0)
    more = each_way(name, "output_padding", output_padding, ways, 0)
    parts = check_groups(groups, image.shape[1])
    if w.shape[0] != image.shape[1]:
        raise ShapeError(
            f"{name} needs weights (c, o / groups, ...) for all {image.shape[1]} channels", f"weights of {w.shape}"
        )
    if any(p >= max(s, d) for p, s, d in zip(more, steps, spread, strict=True)):
        raise ArgumentError(
            "output_padding is less than stride or dilation",
            f"output_padding {more}, stride {steps}, dilation {spread}",
        )
    sizes = tuple(
        (n - 1) * s - 2 * p + d * (k - 1) + q + 1
        for n, s, p, d, k, q in zip(image.shape[2:], steps, around, spread, w.shape[2:], more, strict=True)
    )
    if min(sizes) < 1 or 0 in w.shape[2:]:
        raise ShapeError(f"{name} leaves an image of at least 1", f"{sizes} for weights of {w.shape}", "less padding")
    check_room(name, sizes)
    dtype = contracted(promote(image.dtype, w.dtype))
    if dtype.is_half or dtype.kind == "c":
        how = (steps, around, more, parts, spread)
        return by_floats(name, dtype, image, w, bias, lambda x, w, b: transposed(ways, x, w, b, *how), True)
    look, taps, paint = _loops(name, image.shape, w.shape, sizes, steps, around, spread, parts)
    seen = Node(look, (image.cast(dtype).node,), look.shape, dtype)
    weights = Node(taps, (w.cast(dtype).node,), taps.shape, dtype)
    product = Node(f.MULTIPLY, (seen, weights), look.shape, dtype)
    return add_bias(name, Var._of(Node(paint, (product,), paint.shape, dtype)), bias)


@lru_cache(maxsize=1 << 12)
def _loops(
    name: str, image: Shape, weight: Shape, out: Shape, stride: Numbers, padding: Numbers, dilation: Numbers,
    groups: int,
) -> tuple[Reindex, Reindex, ReindexReduce]:  # fmt: skip
    """Loops (n, c, o, taps..., places...); with groups (n, g, c, o, ...), where c and o count inside one."""
    (batch, ins, *at), (_, outs, *kernel) = image, weight
    parts, ways = () if groups == 1 else (groups,), len(kernel)
    n, *g, c, o = (counter(k) for k in range(3 + len(parts)))
    rest = [counter(3 + len(parts) + k) for k in range(2 * ways)]
    tap, place = rest[:ways], rest[ways:]
    loops = (batch, *parts, ins // groups, outs, *kernel, *at)
    which, channel = (g[0] * size(ins // groups) + c, g[0] * size(outs) + o) if g else (c, o)
    look = reindex("look", image, loops, (n, which, *place))
    taps = reindex("taps", weight, loops, (which, o, *tap))
    where = (n, channel, *map(window, place, stride, tap, dilation, padding))
    return look, taps, reindex_reduce(name, "add", loops, (batch, outs * groups, *out), where, True)
