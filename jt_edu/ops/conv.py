"""Convolution: a window that slides over the input, and at each place is multiplied by the weights and summed.

    out[n, o, y, x] = sum over c, ky, kx of   input[n, c, y*s + ky*d - p, x*s + kx*d - p] * weight[o, c, ky, kx]

The windows are a Reindex of the padded input, and the sum over c, ky and kx is a product of matrices

    weight (o, c ky kx)  @  windows (c ky kx, n y x)

so BLAS multiplies, and so it does for both gradients. The windows are copied for that: kh * kw times the input. Where
groups have few channels, down to one (depthwise), the matrices are small, and loops that read the input are faster.

One implementation serves any number of directions. No gradient is written here.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from jt_edu import functions as f
from jt_edu.dtypes import promote
from jt_edu.errors import ArgumentError, ShapeError
from jt_edu.graph import Node, Shape
from jt_edu.index import counter, size
from jt_edu.meta import Reindex, ReindexReduce, reindex, reindex_reduce
from jt_edu.ops.arguments import same_words, whole
from jt_edu.ops.contract import contract
from jt_edu.ops.pad import pad
from jt_edu.ops.view import view
from jt_edu.ops.windows import Numbers, borders, each_way, places, window, window_op
from jt_edu.template import template
from jt_edu.var import Var, as_var

NARROW = 4  # channels in a group; for fewer, loops were faster on images (8, 64, 28, 28) than copies and BLAS


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
    steps, spread = each_way("stride", stride, ways, 1), each_way("dilation", dilation, ways, 1)
    around = borders(padding, w.shape[2:], steps, spread)
    parts = check_groups(groups, image.shape[1], w.shape[0])
    _check_weight(image.shape, w.shape, parts)
    if any(map(any, around)):  # stored once, so that the window's loops need no conditions
        image = pad(image, tuple(n for before_after in reversed(around) for n in before_after))
    if 0 in w.shape[2:]:
        raise ShapeError(f"{name} needs a window of at least 1", f"weight of shape {w.shape}")
    places(image.shape[2:], w.shape[2:], steps, spread)
    narrow = parts > 1 and min(w.shape[0], image.shape[1]) // parts < NARROW
    by = _by_loops if narrow else _by_product
    return add_bias(name, by(name, image, w, steps, spread, parts), bias)


def _by_product(name: str, image: Var, w: Var, stride: Numbers, dilation: Numbers, groups: int) -> Var:
    """weight (o, c, taps...) times windows (c, taps..., n, places...), group by group."""
    taps, at = letters(len(stride))
    if groups == 1 and math.prod(w.shape[2:]) == max(stride) == 1:  # a window of one element is the image itself
        return contract(name, w.reshape(w.shape[:2]), "oc", image, ("n", "c", *at), ("n", "o", *at))
    windows = view(image, window_op(image.shape, w.shape[2:], stride, dilation))
    if groups == 1:
        return contract(name, w, ("o", "c", *taps), windows, ("c", *taps, "n", *at), ("n", "o", *at))
    (c, *rest), (outs, *own) = windows.shape, w.shape
    parts, weights = windows.reshape(groups, c // groups, *rest), w.reshape(groups, outs // groups, *own)
    left, right = ("g", "o", "c", *taps), ("g", "c", *taps, "n", *at)
    out = contract(name, weights, left, parts, right, ("n", "g", "o", *at))
    return out.reshape(out.shape[0], outs, *out.shape[3:])


def _by_loops(name: str, image: Var, w: Var, stride: Numbers, dilation: Numbers, groups: int) -> Var:
    """Nothing is copied: the image is read in the loops of the sum."""
    dtype = promote(image.dtype, w.dtype)
    look, taps, total = _loops(name, image.shape, w.shape, stride, dilation, groups)
    seen = Node(look, (image.cast(dtype).node,), look.shape, dtype)
    weights = Node(taps, (w.cast(dtype).node,), taps.shape, dtype)
    product = Node(f.MULTIPLY, (seen, weights), look.shape, dtype)
    n, g, o, *at = total.shape
    return Var._of(Node(total, (product,), total.shape, dtype)).reshape(n, g * o, *at)


@lru_cache(maxsize=1 << 12)
def _loops(
    name: str, image: Shape, weight: Shape, stride: Numbers, dilation: Numbers, groups: int
) -> tuple[Reindex, Reindex, ReindexReduce]:
    """Loops (n, g, o, c, taps..., places...): g counts groups, o and c the channels inside one."""
    (batch, _, *lengths), (outs, ins, *kernel) = image, weight
    ways, out = len(kernel), places(tuple(lengths), tuple(kernel), stride, dilation)
    loops = (batch, groups, outs // groups, ins, *kernel, *out)
    n, g, o, c, *rest = (counter(k) for k in range(4 + 2 * ways))
    tap, at = rest[:ways], rest[ways:]
    look = reindex("window", image, loops, (n, g * size(ins) + c, *map(window, at, stride, tap, dilation)))
    taps = reindex("taps", weight, loops, (g * size(outs // groups) + o, c, *tap))
    total = reindex_reduce(name, "add", loops, (batch, groups, outs // groups, *out), (n, g, o, *at))
    return look, taps, total


def letters(ways: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the axes of a window, and of the places where it stands.

    Example:
        >>> letters(2)
        (('tap0', 'tap1'), ('at0', 'at1'))
    """
    return tuple(f"tap{k}" for k in range(ways)), tuple(f"at{k}" for k in range(ways))


# what a convolution is asked for


def check_ranks(name: str, image: Var, weight: Var, ways: int) -> None:
    """Images and weights have two axes more than there are directions."""
    if image.ndim != ways + 2 or weight.ndim != ways + 2:
        there = ", ".join("dhw"[3 - ways :])
        raise ShapeError(
            f"{name} takes images (n, c, {there}), or (c, {there}), and weights of {ways + 2} axes",
            f"shapes {image.shape} and {weight.shape}", "x.unsqueeze(1) for images without channels",
        )  # fmt: skip


def check_groups(groups: Any, *channels: int) -> int:
    """How many groups; they divide the channels."""
    parts = whole("conv", "groups", groups)
    if parts < 1 or any(c % parts for c in channels):
        raise ArgumentError(
            "groups divide the channels of input and output", f"groups {groups} for {' and '.join(map(str, channels))}"
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
    return out + numbers.reshape(1, -1, *(1 for _ in out.shape[2:]))


def _check_weight(image: Shape, weight: Shape, groups: int) -> None:
    if image[1] // groups != weight[1]:
        raise ShapeError(
            "each weight sees all input channels of its group",
            f"{image[1]} channels in {groups} group(s), weights for {weight[1]}",
            f"weights of shape {(weight[0], image[1] // groups, *weight[2:])}",
        )
