"""Winograd: when is a 3 x 3 convolution cheaper with a third of the multiplications, and how many seconds does it take?

    F(m x m, 3 x 3)     multiplications for m x m sums     against the sum as it is written
    m = 2                       16                             36 / 16 = 2.25 times fewer
    m = 4                       36                            144 / 36 = 4 times fewer

`by_image` is the same convolution with places in place of the image, taps in reverse order and 2 - padding.

The values at the points are larger than the numbers they are made of, and cancel on the way back: errors grow, by about 2 for
m = 2 and by 15 for m = 4. For numbers from a normal distribution the largest error, divided by the largest sum, is in float32

    channels            16        64       256       512
    sum as written    3e-7      3e-7      3e-7      4e-7      (PyTorch)
    m = 2             5e-7      5e-7      5e-7      5e-7
    m = 4             5e-6      6e-6      6e-6      8e-6

so m = 6, with 64 multiplications for 36 sums and points up to 1/2 and 4, is left out.

Nothing here knows arrays: the work is done by `kernels/winograd*.py` and `patches.py`.

Source: Lavin and Gray 2015, "Fast Algorithms for Convolutional Neural Networks" (arXiv:1509.09308).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from jt_edu.backends.convolve import Algorithm, Sizes
from jt_edu.backends.convolve.patches import Plan, panel_count, plan_of
from jt_edu.backends.convolve.tile import LANES

__all__ = ["ALGORITHMS"]


def _lanes(sizes: Sizes) -> int:
    return LANES if sizes.dtype == "float32" else LANES // 2


def _suits(sizes: Sizes, size: int) -> bool:
    plain = sizes.kernel == (1, 3, 3) and sizes.stride[1:] == sizes.dilation[1:] == (1, 1) and sizes.groups == 1
    flat = sizes.image[0] == sizes.places[0] == 1 and sizes.padding[0] == 0
    known = sizes.dtype == "float32" or (sizes.dtype == "float64" and size == 2)
    return plain and flat and known and min(sizes.c, sizes.o) >= _lanes(sizes) and _plan(sizes, size).wide <= 512


def _ways(sizes: Sizes) -> tuple[int, int]:
    """Channels that are summed over, and channels of the answer."""
    return (sizes.c, sizes.o) if sizes.kind == "forward" else (sizes.o, sizes.c)


def _plan(sizes: Sizes, size: int) -> Plan:
    c, o = _ways(sizes)
    given, asked = (sizes.image, sizes.places) if sizes.kind == "forward" else (sizes.places, sizes.image)
    return plan_of(size, sizes.n, c, o, given[2], asked[1], asked[2], _lanes(sizes))


def _blocks(sizes: Sizes, size: int) -> int:
    plan = _plan(sizes, size)
    return -(-sizes.n * plan.high // plan.rows)


def _span(sizes: Sizes, size: int) -> int:
    return _blocks(sizes, size) * panel_count(_ways(sizes)[1], _lanes(sizes))


def _space(sizes: Sizes, size: int) -> int:
    return _plan(sizes, size).end


def _seconds(sizes: Sizes, size: int) -> float:
    """Products of vectors, one a cycle; and for each vector of channels what a tile, and each tap, costs beside."""
    c, o = _ways(sizes)
    lanes, plan = _lanes(sizes), _plan(sizes, size)
    tiles, points = sizes.n * plan.high * plan.wide, plan.points * plan.points
    products = 1.15 * points * tiles * c * o
    transforms = points * (14 * tiles * c + 9 * tiles * o + 7 * _blocks(sizes, size) * c * o)
    return (products + transforms) / lanes / 3.1e9


def _algorithm(size: int, kind: str) -> Algorithm:
    def of(function: Callable[[Sizes, int], int]) -> Callable[[Sizes], int]:
        return partial(function, size=size)

    return Algorithm(
        name=f"winograd{size}",
        kind=kind,
        kernel=f"winograd{size}" if kind == "forward" else f"winograd{size}_{kind}",
        suits=partial(_suits, size=size),
        span=of(_span),
        space=of(_space),
        seconds=partial(_seconds, size=size),
    )


ALGORITHMS = tuple(_algorithm(size, kind) for kind in ("forward", "by_image") for size in (2, 4))
