"""Transposed convolution: each number of the input paints a window, and where windows overlap they are added.

    out[n, o, y*s + ky*d - p, x*s + kx*d - p]  +=  input[n, c, y, x] * weight[c, o, ky, kx]     for all c, ky, kx, y, x

It is the gradient of a convolution by its input, and so it is written: a product of matrices makes the windows, and
one ReindexReduce paints them. What falls into the padding is dropped.
"""

from __future__ import annotations

from typing import Any

from jt_edu.errors import ArgumentError, ShapeError
from jt_edu.graph import Node
from jt_edu.ops.arguments import same_words
from jt_edu.ops.contract import contract
from jt_edu.ops.conv import add_bias, check_groups, check_ranks, letters
from jt_edu.ops.windows import each_way, paint_op
from jt_edu.var import Var, as_var


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
    """Transposed convolution: makes images larger where a convolution of the same numbers makes them smaller.

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


def transposed(
    ways: int, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, output_padding: Any, groups: Any,
    dilation: Any,
) -> Var:  # fmt: skip
    """The transposed convolution of any number of directions, `ways`."""
    name, image, w = f"conv_transpose{ways}d", as_var(x), as_var(weight)
    if image.ndim == ways + 1 == w.ndim - 1:  # a single image
        rest = (weight, bias, stride, padding, output_padding, groups, dilation)
        return transposed(ways, image.unsqueeze(0), *rest).squeeze(0)
    check_ranks(name, image, w, ways)
    steps, spread = each_way("stride", stride, ways, 1), each_way("dilation", dilation, ways, 1)
    around, more = each_way("padding", padding, ways, 0), each_way("output_padding", output_padding, ways, 0)
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
    windows = _windows(name, image, w, parts)
    op = paint_op(windows.shape, sizes, steps, spread, tuple((p, p) for p in around))
    return add_bias(name, Var._of(Node(op, (windows.node,), op.shape, windows.dtype)), bias)


def _windows(name: str, image: Var, w: Var, groups: int) -> Var:
    """What is painted, (o, taps..., n, places...): weight (c, o taps) times image (c, n places), group by group."""
    taps, at = letters(w.ndim - 2)
    n, c, *lengths = image.shape
    if groups == 1:
        return contract(name, w, ("c", "o", *taps), image, ("n", "c", *at), ("o", *taps, "n", *at))
    x = image.reshape(n, groups, c // groups, *lengths)
    weights = w.reshape(groups, c // groups, *w.shape[1:])
    found = contract(name, weights, ("g", "c", "o", *taps), x, ("n", "g", "c", *at), ("g", "o", *taps, "n", *at))
    return found.reshape(groups * w.shape[1], *found.shape[2:])
