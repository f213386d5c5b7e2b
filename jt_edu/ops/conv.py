"""Convolution: a window that slides over the input, and at each place is multiplied by the weights and summed.

    out[n, o, y, x] = sum over c, ky, kx of   input[n, c, y*s + ky*d - p, x*s + kx*d - p] * weight[o, c, ky, kx]

It is written as that: two Reindexes, a product, a sum; outside the image the first one reads 0. No window is copied
here. `ir/conv_pattern.py` recognises the sum, and both of its gradients, and one of several algorithms computes it.

The algorithms take float32 and float64, so other numbers come as these:

    float16, bfloat16    widened to float32, and rounded once, when the bias is added
    complex              two real channels for each complex one: re, im, re, im, ...
    whole numbers        no algorithm: generated loops add them up, in a dtype that has room for the sum (`contracted`)

One implementation serves any number of directions. No gradient is written here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from jt_edu.base.dtypes import DType, contracted, promote
from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.ir import scalar_ops as f
from jt_edu.ir.index_expr import counter, size
from jt_edu.ir.meta_ops import Reindex, ReindexReduce, reindex, reindex_reduce
from jt_edu.ir.node import Node, Shape
from jt_edu.ops.arguments import same_words, whole
from jt_edu.ops.complex import complex
from jt_edu.ops.concat import stack
from jt_edu.ops.dtype_rules import widened
from jt_edu.ops.per_channel import per_channel
from jt_edu.ops.sliding_window import Numbers, Pairs, borders, each_way, places, window
from jt_edu.variable.autocast import castable
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var


@same_words
def conv1d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Var:
    """One-dimensional convolution: x (n, c, w), weight (o, c / groups, kw); everything else as in `conv2d`.

    Example:
        >>> conv1d(array([[[1.0, 2.0, 3.0]]]), array([[[1.0, -1.0]]])).numpy()
        array([[[-1., -1.]]], dtype=float32)
    """
    return convolution(1, x, weight, bias, stride, padding, dilation, groups)


@same_words
def conv2d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Var:
    """Two-dimensional convolution (cross-correlation, as everywhere in this field).

    Args:
        x: (n, c, h, w), or (c, h, w) for a single image.
        weight: (o, c / groups, kh, kw).
        bias: (o,), added to each output channel.
        stride, dilation: one number, or one for each direction.
        padding: the same, or "valid" for none, or "same" for as much as keeps h and w (with stride 1).
        groups: c and o are split into so many groups that do not see each other.

    Returns:
        (n, o, (h + 2p - d(kh - 1) - 1) // s + 1, and so for w); without n for a single image.

    Example:
        >>> conv2d(ones((1, 1, 3, 3)), ones((1, 1, 2, 2))).numpy()[0, 0]
        array([[4., 4.],
               [4., 4.]], dtype=float32)
    """
    return convolution(2, x, weight, bias, stride, padding, dilation, groups)


@same_words
def conv3d(
    x: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Var:
    """Three-dimensional convolution: x (n, c, d, h, w), weight (o, c / groups, kd, kh, kw); the rest as in `conv2d`.

    Example:
        >>> conv3d(ones((1, 1, 2, 2, 2)), ones((1, 1, 2, 2, 2))).item()
        8.0
    """
    return convolution(3, x, weight, bias, stride, padding, dilation, groups)


@castable(name="conv{ways}d")
@template
def convolution(
    ways: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: Any
) -> Var:
    """The convolution of any number of directions, `ways`."""
    name, image, w = f"conv{ways}d", as_var(x), as_var(weight)
    if image.ndim == ways + 1 == w.ndim - 1:  # a single image
        rest = (weight, bias, stride, padding, dilation, groups)
        return convolution(ways, image.unsqueeze(0), *rest).squeeze(0)
    check_ranks(name, image, w, ways)
    steps, spread = each_way(name, "stride", stride, ways, 1), each_way(name, "dilation", dilation, ways, 1)
    around = borders(name, padding, w.shape[2:], steps, spread)
    parts = check_groups(groups, image.shape[1], w.shape[0])
    _check_weight(name, image.shape, w.shape, parts)
    if 0 in w.shape[2:]:
        raise ShapeError(f"{name} needs a window of at least 1", f"weight of shape {w.shape}")
    dtype = contracted(promote(image.dtype, w.dtype))
    if dtype.is_half or dtype.kind == "c":
        how = (steps, padding, spread, parts)
        return by_floats(name, dtype, image, w, bias, lambda x, w, b: convolution(ways, x, w, b, *how))
    return add_bias(name, added_windows(name, image.cast(dtype), w.cast(dtype), steps, spread, around, parts), bias)


def added_windows(
    name: str, image: Var, weight: Var, stride: Numbers, dilation: Numbers, padding: Pairs, groups: int
) -> Var:
    """The convolution without a bias, of numbers of one dtype; everything is there once for each direction."""
    look, taps, total = _loops(name, image.shape, weight.shape, stride, dilation, padding, groups)
    seen = Node(look, (image.node,), look.shape, image.dtype)
    weights = Node(taps, (weight.node,), taps.shape, image.dtype)
    product = Node(f.MULTIPLY, (seen, weights), look.shape, image.dtype)
    out = Var._of(Node(total, (product,), total.shape, image.dtype))
    return out if groups == 1 else out.reshape(out.shape[0], weight.shape[0], *out.shape[3:])


@lru_cache(maxsize=1 << 12)
def _loops(
    name: str, image: Shape, weight: Shape, stride: Numbers, dilation: Numbers, padding: Pairs, groups: int
) -> tuple[Reindex, Reindex, ReindexReduce]:
    """Loops (n, o, c, taps..., places...); with groups (n, g, o, c, ...), where o and c count inside one."""
    (batch, _, *lengths), (outs, ins, *kernel) = image, weight
    padded = tuple(n + sum(around) for n, around in zip(lengths, padding, strict=True))
    out, ways = places(padded, tuple(kernel), stride, dilation), len(kernel)
    parts = () if groups == 1 else (groups,)
    n, *g, o, c = (counter(k) for k in range(3 + len(parts)))
    rest = [counter(3 + len(parts) + k) for k in range(2 * ways)]
    tap, at, before = rest[:ways], rest[ways:], [p for p, _ in padding]
    loops = (batch, *parts, outs // groups, ins, *kernel, *out)
    channel, which = (g[0] * size(ins) + c, g[0] * size(outs // groups) + o) if g else (c, o)
    where = (n, channel, *map(window, at, stride, tap, dilation, before))
    look = reindex("window", image, loops, where, 0 if any(map(any, padding)) else None)
    taps = reindex("taps", weight, loops, (which, c, *tap))
    shape = (batch, *parts, outs // groups, *out)
    return look, taps, reindex_reduce(name, "add", loops, shape, (n, *g, o, *at))


# other numbers than the algorithms take


def by_floats(
    name: str, dtype: DType, image: Var, weight: Var, bias: Any, convolve: Callable[..., Var], swapped: bool = False
) -> Var:
    """The convolution of halves or of complex numbers, by one of float32 or float64: convolve(image, weight, bias).

    Weights are (o, c, taps...), or if `swapped` (c, o, taps...), as a transposed convolution has them.

    Example:
        >>> i = ones((1, 1, 2)) * 1j
        >>> by_floats("conv1d", i.dtype, i, i, None, conv1d).item()
        (-2+0j)
    """
    if dtype.is_half:
        more = None if bias is None else as_var(bias)
        wide = convolve(widened(image), widened(weight), more if more is None else widened(more))
        return wide.cast(dtype if more is None else promote(dtype, more.dtype))
    image, weight = image.cast(dtype), weight.cast(dtype)
    x, y = image.apply(f.REAL), image.apply(f.IMAG)
    a, b = weight.apply(f.REAL), weight.apply(f.IMAG)
    rows = ((a, b), (-b, a)) if swapped else ((a, -b), (b, a))  # (a + ib)(x + iy) = ax - by + i(bx + ay)
    (n, c, *lengths), (first, second, *taps) = image.shape, weight.shape
    pairs = stack([x, y], 2).reshape(n, 2 * c, *lengths)  # (n, 2c, ...)
    turns = stack([stack(row, 2) for row in rows], 1).reshape(2 * first, 2 * second, *taps)  # (2o, 2c, ...)
    out = convolve(pairs, turns, None)
    parts = out.reshape(n, out.shape[1] // 2, 2, *out.shape[2:])
    return add_bias(name, complex(parts[:, :, 0], parts[:, :, 1]), bias)


# what a convolution is asked for


def check_ranks(name: str, image: Var, weight: Var, ways: int, axis: int = 1) -> None:
    """Images and weights have two axes more than there are directions; `axis` of the weights is the channels."""
    if image.ndim != ways + 2 or weight.ndim != ways + 2:
        there, way = ", ".join("dhw"[3 - ways :]), ""
        channels = weight.shape[axis] if weight.ndim == ways + 2 else 0
        if image.ndim == ways and channels == 1:
            way = f"x.reshape{(1, 1, *image.shape)}: one image of one channel"
        elif image.ndim == 2 and image.shape[1] == channels:
            way = f"x.reshape{(*image.shape, *[1] * ways)}: images of one place"
        raise ShapeError(
            f"{name} takes images (n, c, {there}), or (c, {there}), and weights of {ways + 2} axes",
            f"shapes {image.shape} and {weight.shape}", way,
        )  # fmt: skip


def check_groups(groups: Any, *channels: int) -> int:
    """How many groups; they divide the channels."""
    parts = whole("conv", "groups", groups)
    if parts < 1 or any(c % parts for c in channels):
        raise ArgumentError(
            "groups must divide the input and output channels",
            f"groups {groups} for {' and '.join(map(str, channels))}",
        )
    return parts


def add_bias(name: str, out: Var, bias: Any) -> Var:
    """One number for each channel."""
    if bias is None:
        return out
    numbers = as_var(bias)
    if numbers.shape != out.shape[1:2]:
        raise ShapeError(
            f"{name} adds one number to each of {out.shape[1]} output channels", f"bias of shape {numbers.shape}"
        )
    return out + per_channel(numbers, out.shape)


def _check_weight(name: str, image: Shape, weight: Shape, groups: int) -> None:
    if image[1] // groups != weight[1]:
        raise ShapeError(
            f"{name} needs one weight for each input channel of a group",
            f"{image[1]} channels in {groups} group(s), weights for {weight[1]}",
            f"weights of shape {(weight[0], image[1] // groups, *weight[2:])}",
        )
