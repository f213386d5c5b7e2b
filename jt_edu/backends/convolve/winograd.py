"""Winograd: when does it pay to compute a 3 x 3 convolution with fewer multiplications?

    F(m x m, 3 x 3)     multiplications for m x m sums     against the sum as it is written
    m = 2                       16                         36 / 16 = 2.25 times fewer
    m = 4                       36                        144 / 36 = 4 times fewer

`by_image` is the same convolution with places instead of the image, taps in reverse order and 2 - padding.
`by_weights` slides tiles of 4 x 4 places over the image, which gives 3 x 3 taps, from 36 multiplications as well.

The values at the points are larger than the numbers they are made of, and cancel on the way back: errors grow. For
numbers from a normal distribution the largest error, divided by the largest sum, is in float32

    channels            16        64       256       512
    sum as written    5e-7      4e-7      3e-7      3e-7
    m = 2             3e-7      4e-7      4e-7      3e-7
    m = 4             1e-6    1.4e-6    1.5e-6    1.3e-6

It does not grow with the channels, of which `tile` adds up CHUNK at a time. In float64 it is below 6e-15 for m = 4.

"Divided by the largest sum" is to be taken at its word: a tile is computed as a whole, so a number reaches all sums of
its tile. One pixel of 1e6 among pixels of size 1 would leave an error of 2 in its neighbourhood, and NaN and infinity
would spread there. So a block of tiles in which a number is far larger than those that some window sees, or of which a
sum is not finite, is written out: the same matrices hold pixels, taps and places, and there are four times as many
products. `uneven_tiles.py` says how that is found out; it takes 1 to 4 % of the time. What is left is an error of
2e-6 * FAR times the largest product of each sum, at most. `jt.backends.conv.local = True` does without.

Nothing here knows arrays: the work is done by `kernels/winograd*.py` and `winograd_tiles.py`.

Source: Lavin and Gray 2015, "Fast Algorithms for Convolutional Neural Networks" (arXiv:1509.09308).
"""

from __future__ import annotations

from functools import partial
from typing import Any

from jt_edu.backends.convolve import Algorithm, Sizes, no_sum_is_empty
from jt_edu.backends.convolve.llvm import by_width, lanes_for
from jt_edu.backends.convolve.winograd_tiles import UNITS, Layout, layout_by_weights, layout_of, panel_count
from jt_edu.backends.thread_pool import threads

FEW = 4  # blocks of tiles, of which threads share the patches
SHARED = 1_500_000  # numbers of them, that stay in the cache of the machine


def _suits(sizes: Sizes, size: int) -> bool:
    plain = sizes.kernel == (1, 3, 3) and sizes.stride[1:] == sizes.dilation[1:] == (1, 1) and sizes.groups == 1
    flat = sizes.image[0] == sizes.places[0] == 1 and sizes.padding[0] == 0
    return (
        plain
        and flat
        and no_sum_is_empty(sizes)
        and min(sizes.c, sizes.o) >= lanes_for(sizes.dtype)
        and _layout(sizes, size).wide <= 512
    )


def _ways(sizes: Sizes) -> tuple[int, int]:
    """Channels of what is cut with overlap, and channels of the panels."""
    return (sizes.o, sizes.c) if sizes.kind == "by_image" else (sizes.c, sizes.o)


def _layout(sizes: Sizes, size: int) -> Layout:
    given, tiled = (sizes.places, sizes.image) if sizes.kind == "by_image" else (sizes.image, sizes.places)
    laid_out = layout_by_weights if sizes.kind == "by_weights" else layout_of
    return laid_out(size, sizes.n, *_ways(sizes), given[2], tiled[1], tiled[2], lanes_for(sizes.dtype))


def _blocks(sizes: Sizes, size: int) -> int:
    layout = _layout(sizes, size)
    return -(-sizes.n * layout.high // layout.rows)


def _span(sizes: Sizes, size: int) -> int:
    panels = panel_count(_ways(sizes)[1], lanes_for(sizes.dtype))
    return panels if sizes.kind == "by_weights" else _blocks(sizes, size) * panels


def _space(sizes: Sizes, size: int) -> int:
    return _layout(sizes, size).end


def _prepared(sizes: Sizes) -> int:
    """Numbers of V, and room to make it, if threads are to share it: that is, if several would need the same block.

    On one thread it would not be in the cache any more when it is needed.
    """
    if threads() == 1:
        return 0
    layout = _layout(sizes, 4)
    size = sizes.n * layout.high * layout.wide * layout.row
    return size + UNITS * layout.image if _blocks(sizes, 4) <= FEW and size <= SHARED else 0


def _prepare_span(sizes: Sizes) -> int:
    del sizes
    return UNITS


def _seconds(sizes: Sizes, size: int) -> float:
    """In cycles for each point: for a product of vectors, and for a vector of each transform; measured."""
    c, o = _ways(sizes)
    layout, blocks = _layout(sizes, size), _blocks(sizes, size)
    tiles = sizes.n * layout.high * layout.wide
    product, once = {  # for tiles * c * o; for c * o
        "forward": (1.2, 4.5 * blocks),
        "by_image": (1.2, 6.5 * blocks),
        "by_weights": (by_width(1.2, 0.65), by_width(20, 12) * (1 + blocks)),
    }[sizes.kind]
    cycles = product * tiles * c * o + 4 * tiles * c + 2 * tiles * o + once * c * o
    return cycles * layout.points**2 / lanes_for(sizes.dtype) / by_width(3.1e9, 3.5e9) + 4e-6


def _algorithm(size: int, kind: str, **more: Any) -> Algorithm:
    return Algorithm(
        name=f"winograd{size}",
        kind=kind,
        kernel=f"winograd{size}" if kind == "forward" else f"winograd{size}_{kind}",
        suits=partial(_suits, size=size),
        span=partial(_span, size=size),
        space=partial(_space, size=size),
        seconds=partial(_seconds, size=size),
        apart=lambda s: size * s.places[2],
        spreads=True,
        error=5e-7 if size == 2 else 2e-6,
        **more,
    )


_MADE: dict[str, Any] = {"prepared": _prepared, "prepare_span": _prepare_span}
ALGORITHMS = (
    _algorithm(2, "forward"),
    _algorithm(4, "forward", prepare="winograd4_prepare", reads=(0, 2), **_MADE),
    _algorithm(2, "by_image"),
    _algorithm(4, "by_image", prepare="winograd4_by_image_prepare", reads=(0, 2), **_MADE),
    _algorithm(4, "by_weights", prepare="winograd4_prepare", reads=(0, 1), **_MADE),
)
