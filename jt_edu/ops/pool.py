"""Pooling: a window slides over the input, and what it sees is reduced to one number.

A Reindex with the window's taps as further axes, then a reduction over those axes; outside of the image maximum reads
-inf and the average reads 0.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from jt_edu.dtypes import float64
from jt_edu.errors import ArgumentError, ShapeError
from jt_edu.graph import Shape
from jt_edu.index import counter
from jt_edu.meta import Reindex, reindex
from jt_edu.ops.conv import Pair, pair, window
from jt_edu.ops.create import ones
from jt_edu.ops.reduce import reduced
from jt_edu.ops.view import view
from jt_edu.var import Var, as_var


@lru_cache(maxsize=1 << 12)
def _windows(image: Shape, kernel: Pair, stride: Pair, padding: Pair, out: Pair, fill: float | None) -> Reindex:
    n, c, y, x, ky, kx = (counter(k) for k in range(6))
    where = (n, c, window(y, stride[0], ky, 1, padding[0]), window(x, stride[1], kx, 1, padding[1]))
    return reindex("window", image, (*image[:2], *out, *kernel), where, fill)


def pool2d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, op: str = "maximum", ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Var:  # fmt: skip
    """Windows of an image, each reduced to one number.

    Args:
        x: (n, c, h, w).
        kernel_size, stride, padding: one number, or one per direction; stride is the kernel size by default.
        op: "maximum", "minimum", "mean" or "add".
        ceil_mode: let the last window stand partly outside, if it begins inside.
        count_include_pad: for "mean", whether padding counts as elements.

    Example:
        >>> pool2d(arange(16).float().reshape(1, 1, 4, 4), 2).numpy()[0, 0]
        array([[ 5.,  7.],
               [13., 15.]], dtype=float32)
    """
    image = as_var(x)
    if image.ndim != 4:
        raise ShapeError("pooling takes images (n, c, h, w)", f"shape {image.shape}")
    kernel = pair("kernel_size", kernel_size, 1)
    step = kernel if stride is None else pair("stride", stride, 1)
    around = pair("padding", padding, 0)
    if any(2 * p > k for p, k in zip(around, kernel, strict=True)):
        raise ArgumentError("padding is at most half of the kernel", f"padding {around} for kernel {kernel}")
    rounding = math.ceil if ceil_mode else math.floor
    out = [rounding((n + 2 * p - k) / s) + 1 for n, p, k, s in zip(image.shape[2:], around, kernel, step, strict=True)]
    out = [
        o - (ceil_mode and (o - 1) * s >= n + p) for o, s, n, p in zip(out, step, image.shape[2:], around, strict=True)
    ]
    if min(out) < 1:
        raise ShapeError("the window fits into the padded image", f"kernel {kernel} for {image.shape[2:]}", "padding")
    spill = any(
        (o - 1) * s + k > n + p for o, s, k, n, p in zip(out, step, kernel, image.shape[2:], around, strict=True)
    )
    return _reduce_windows(image, kernel, step, around, (out[0], out[1]), op, spill or any(around), count_include_pad)


def _reduce_windows(
    image: Var, kernel: Pair, step: Pair, around: Pair, out: Pair, op: str, guarded: bool, include: bool
) -> Var:
    if op in ("maximum", "minimum"):
        if not image.dtype.is_float:
            image = image.cast(float64)
        fill = (-math.inf if op == "maximum" else math.inf) if guarded else None
        return reduced(view(image, _windows(image.shape, kernel, step, around, out, fill)), "pool", op, (4, 5), False)
    if op not in ("mean", "add"):
        raise ArgumentError("pooling reduces by 'maximum', 'minimum', 'mean' or 'add'", repr(op))
    floats = image if image.dtype.is_float else image.cast(float64)
    seen = view(floats, _windows(image.shape, kernel, step, around, out, 0 if guarded else None))
    total = reduced(seen, "pool", "add", (4, 5), False)
    if op == "add":
        return total
    if not guarded:
        return total / float(kernel[0] * kernel[1])
    return total / _counts(image.shape, kernel, step, around, out, include).cast(floats.dtype)


def _counts(image: Shape, kernel: Pair, step: Pair, around: Pair, out: Pair, include: bool) -> Var:
    """How many elements each window sees; padding counts if `include`, what lies beyond it never does."""
    border = around if include else (0, 0)
    box = (1, 1, image[2] + 2 * border[0], image[3] + 2 * border[1])
    rest = (around[0] - border[0], around[1] - border[1])
    inside = view(ones(box), _windows(box, kernel, step, rest, out, 0))
    return reduced(inside, "count", "add", (4, 5), False).detach()


def max_pool2d(x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False) -> Var:
    """Largest number of each window.

    Example:
        >>> max_pool2d(ones((1, 1, 4, 4)), 2).shape
        (1, 1, 2, 2)
    """
    return pool2d(x, kernel_size, stride, padding, "maximum", ceil_mode)


def avg_pool2d(
    x: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Var:
    """Mean of each window.

    Example:
        >>> avg_pool2d(ones((1, 1, 4, 4)), 2).numpy()[0, 0, 0]
        array([1., 1.], dtype=float32)
    """
    return pool2d(x, kernel_size, stride, padding, "mean", ceil_mode, count_include_pad)
