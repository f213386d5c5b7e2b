"""Depthwise SIMD: when is it worth giving each channel a lane?

Where channels keep to themselves, and images are so small that `depthwise` leaves lanes empty, or has windows so large
that loading them is all it does. Turning channels on their side and back costs as much for any window, and all cells of
an image must stay near: large images are left to `depthwise`, and so are few channels.

    forward      a cell of places = sum over taps of  cell of weights * cell of the image      kernels/lanewise.py
    by_image     a cell of pixels = sum over taps of  cell of weights * cell of the places       .._by_image.py
    by_weights   a cell of taps = sum over places of  cell of the places * cell of the image     .._by_weights.py

Errors: as for `depthwise`; each sum runs over all products, by the weights over those of a sample, then over samples.
How channels come to lie in lanes stands in `channel_lanes.py`. Nothing here knows numbers.
"""

from __future__ import annotations

import math

from jt_edu.backends.convolve import Algorithm, Sizes
from jt_edu.backends.convolve.channel_lanes import BLOCK, SIDE, Cells, cells_of
from jt_edu.backends.convolve.llvm import LANES, by_width, lanes_for

LEAST, MOST = 1 << 16, 1 << 18  # bytes of scratch: so much begins at a cache line, as cells should; and stays near
NEAR = 1 << 16  # bytes of cells, from which on turning them takes twice as long
Pair = tuple[int, int]


def _cells(s: Sizes) -> Cells:
    """Forward the window slides over the image."""
    pairs = (s.image[1:], s.kernel[1:], s.places[1:], s.stride[1:], s.padding[1:], s.dilation[1:])
    return cells_of(*pairs, lanes_for(s.dtype))


def _cells_by_weights(s: Sizes) -> Cells:
    """As forward, with cells for a whole square of taps."""
    window = tuple(max(k, SIDE) for k in s.kernel[1:])
    pairs = (s.image[1:], window, s.places[1:], s.stride[1:], s.padding[1:], s.dilation[1:])
    return cells_of(*pairs, lanes_for(s.dtype))


def _cells_by_image(s: Sizes) -> Cells:
    """The window slides over places that lie a stride apart."""
    pairs = (_apart(s), s.kernel[1:], s.image[1:], (1, 1), _around(s), s.dilation[1:])
    return cells_of(*pairs, lanes_for(s.dtype))


def _apart(s: Sizes) -> Pair:
    (_, oh, ow), (_, sh, sw) = s.places, s.stride
    return (oh - 1) * sh + 1, (ow - 1) * sw + 1


def _around(s: Sizes) -> Pair:
    """Zeros before the first place."""
    (_, kh, kw), (_, ph, pw), (_, dh, dw) = s.kernel, s.padding, s.dilation
    return (kh - 1) * dh - ph, (kw - 1) * dw - pw


def _is_lanewise(s: Sizes, cells: Cells) -> bool:
    alone = s.c == s.o == s.groups and s.c >= lanes_for(s.dtype)
    flat = s.image[0] == s.kernel[0] == s.places[0] == 1 and s.padding[0] == 0
    return alone and flat and min(s.padding) >= 0 and cells.end * _bytes(s) <= MOST


def _suits(s: Sizes) -> bool:
    return _is_lanewise(s, _cells(s))


def _suits_by_image(s: Sizes) -> bool:
    return min(_around(s)) >= 0 and _is_lanewise(s, _cells_by_image(s))


def _suits_by_weights(s: Sizes) -> bool:
    return _is_lanewise(s, _cells_by_weights(s))


def _bytes(s: Sizes) -> int:
    return 4 if s.dtype == "float32" else 8


def _space(s: Sizes) -> int:
    return max(LEAST // _bytes(s), _cells(s).end)


def _space_by_image(s: Sizes) -> int:
    return max(LEAST // _bytes(s), _cells_by_image(s).end)


def _space_by_weights(s: Sizes) -> int:
    return max(LEAST // _bytes(s), _cells_by_weights(s).end)


def _vectors(s: Sizes) -> int:
    return -(-s.c // lanes_for(s.dtype))


def _span(s: Sizes) -> int:
    return s.n * _vectors(s)


def _estimate(s: Sizes, cells: Cells, copied: int, products: int, taps: int) -> float:
    """Turning slows down as the cells leave the nearest cache; a last vector that is not full is turned one by one.

    For each sample: cells that are `copied`, `products` of vectors, and `taps` that are turned.
    """
    lane, seen, found = lanes_for(s.dtype), math.prod(s.image), math.prod(s.places)
    turns = -(-seen // lane) + -(-found // lane) + -(-taps // lane)
    turned = (turns * by_width(25e-9, 15e-9) + copied * 0.7e-9) * (1 + cells.end * _bytes(s) / NEAR)
    singly = s.n * (s.c % lane) * (seen + found + taps) * 1.2e-9
    return _span(s) * (120e-9 + turned + products * by_width(0.42e-9, 0.25e-9)) * (LANES // lane) + singly


def _seconds(s: Sizes) -> float:
    (_, oh, ow), taps = s.places, math.prod(s.kernel)
    return _estimate(s, _cells(s), math.prod(s.image), oh * -(-ow // BLOCK) * BLOCK * taps, taps)


def _seconds_by_image(s: Sizes) -> float:
    (_, h, w), taps = s.image, math.prod(s.kernel)
    rows = s.stride[1] if s.dilation[1] == 1 else 1  # only every so many have a part in a row of pixels
    return _estimate(s, _cells_by_image(s), math.prod(s.places), h * -(-w // BLOCK) * BLOCK * -(-taps // rows), taps)


def _seconds_by_weights(s: Sizes) -> float:
    squares = math.prod(-(-k // SIDE) for k in s.kernel[1:])
    products = math.prod(s.places) * squares * SIDE * SIDE
    return _estimate(s, _cells_by_weights(s), math.prod(s.image), products, 0)


ALGORITHMS = (
    Algorithm("lanewise", "forward", "lanewise", _suits, _span, _seconds, _space),
    Algorithm(
        "lanewise", "by_image", "lanewise_by_image", _suits_by_image, _span, _seconds_by_image, _space_by_image
    ),
    Algorithm(
        "lanewise", "by_weights", "lanewise_by_weights", _suits_by_weights, _vectors, _seconds_by_weights,
        _space_by_weights,
    ),
)  # fmt: skip
