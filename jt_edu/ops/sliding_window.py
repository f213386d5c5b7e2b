"""Sliding window: small boxes that slide over images, and the numbers that say how.

    position * stride + tap * dilation - padding          where a window at `position` looks with its tap

Everything is written for any number of directions; convolutions of one, two and three are the same lines.
"""

from __future__ import annotations

import math
import operator
from functools import lru_cache
from typing import Any

from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.ir.builders import short
from jt_edu.ir.index_expr import Index, counter, size
from jt_edu.ir.meta_ops import Reindex, ReindexReduce, reindex, reindex_reduce
from jt_edu.ir.node import Shape

MOST = 1 << 59  # numbers of 16 bytes: NumPy counts the bytes of an array in 63 bits
Numbers = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]


def each_way(who: str, name: str, value: Any, count: int, least: int) -> Numbers:
    """One number for all directions, or one for each; `who` asks for it.

    Example:
        >>> each_way("conv3d", "stride", 2, 3, 1)
        (2, 2, 2)
    """
    parts = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    try:
        numbers = tuple(operator.index(p) for p in (parts * count if len(parts) == 1 else parts))
    except TypeError:
        numbers = ()
    if len(numbers) != count or any(isinstance(p, bool) for p in parts):
        many = f", or {count} of them" if count > 1 else ""
        raise ArgumentError(f"{who}'s {name} is a whole number{many}", short(value))
    if min(numbers) < least:
        raise ArgumentError(f"{who}'s {name} is at least {least}", short(value))
    return numbers


def borders(who: str, padding: Any, kernel: Numbers, stride: Numbers, dilation: Numbers) -> Pairs:
    """Rows before and after the image, for each direction; "same" makes the result as large as the image.

    Example:
        >>> borders("conv2d", "same", (3, 4), (1, 1), (1, 1)), borders("conv1d", 1, (3,), (1,), (1,))
        (((1, 1), (1, 2)), ((1, 1),))
    """
    if not isinstance(padding, str):
        return tuple((p, p) for p in each_way(who, "padding", padding, len(kernel), 0))
    if padding not in ("same", "valid"):
        raise ArgumentError(f"{who}'s padding is whole numbers, 'same' or 'valid'", short(padding))
    if padding == "valid":
        return ((0, 0),) * len(kernel)
    if max(stride) > 1:
        raise ArgumentError(
            "padding 'same' keeps the size only with stride 1", f"stride {stride}", "numbers as padding"
        )
    total = tuple(d * (k - 1) for d, k in zip(dilation, kernel, strict=True))
    return tuple((n // 2, n - n // 2) for n in total)


def check_room(name: str, shape: Shape) -> None:
    """Refuse what no memory can hold, where it is written and not where it runs.

    Example:
        >>> check_room("pad", (3, 4))
    """
    if math.prod(n for n in shape if n) > MOST:
        raise ShapeError(f"{name} makes an array that fits into memory", f"shape {shape}", "less padding")


def places(image: Shape, kernel: Shape, stride: Numbers, dilation: Numbers) -> Shape:
    """How many places the window has in each direction of an image that is padded already.

    Example:
        >>> places((5, 6), (3, 3), (1, 2), (1, 1))
        (3, 2)
    """
    check_room("padding", image)
    spans = tuple(d * (k - 1) + 1 for d, k in zip(dilation, kernel, strict=True))
    if any(span > n for span, n in zip(spans, image, strict=True)):
        raise ShapeError("the window must fit into the padded image", f"a window of {spans} in {image}", "padding")
    return tuple((n - span) // s + 1 for n, span, s in zip(image, spans, stride, strict=True))


def window(position: Index, step: int, tap: Index, dilation: int, padding: int = 0) -> Index:
    """Where a window looks: position * stride + tap * dilation - padding.

    Example:
        >>> window(counter(0), 2, counter(1), 1, 0)
        i0 * 2 + i1
    """
    place = position * step + tap * dilation
    return place - size(padding) if padding else place


@lru_cache(maxsize=1 << 12)
def window_op(image: Shape, kernel: Numbers, stride: Numbers, dilation: Numbers) -> Reindex:
    """All windows of an image (n, c, lengths...), as (c, taps..., n, places...): what a product of matrices reads."""
    d = len(kernel)
    out = places(image[2:], kernel, stride, dilation)
    taps, at = (tuple(counter(first + k) for k in range(d)) for first in (1, d + 2))
    where = (counter(d + 1), counter(0), *map(window, at, stride, taps, dilation))
    return reindex("window", image, (image[1], *kernel, image[0], *out), where)


@lru_cache(maxsize=1 << 12)
def paint_op(windows: Shape, lengths: Shape, stride: Numbers, dilation: Numbers, padding: Pairs) -> ReindexReduce:
    """The way back: windows (c, taps..., n, places...) are added into an image; what falls outside is dropped."""
    d = len(lengths)
    taps, at = (tuple(counter(first + k) for k in range(d)) for first in (1, d + 2))
    before = tuple(p for p, _ in padding)
    where = (counter(d + 1), counter(0), *map(window, at, stride, taps, dilation, before))
    return reindex_reduce("paint", "add", windows, (windows[d + 1], windows[0], *lengths), where, True)
