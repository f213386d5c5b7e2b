"""Lanewise: when is it worth giving each channel a lane?

Where channels keep to themselves, and images are so small that `depthwise` leaves lanes empty, or has windows so large
that loading them is all it does. Turning channels on their side and back costs as much for any window, and all cells of
an image must stay near: large images are left to `depthwise`, and so are few channels.

    forward      a cell of sums = sum over taps of  cell of weights * cell of the image      kernels/lanewise.py

Errors: as for `depthwise`; each sum runs over all products. There is no gradient: both are left to others. How channels
come to lie in lanes stands in `beside.py`. Nothing here knows numbers.
"""

from __future__ import annotations

import math

from jt_edu.backends.convolve import Algorithm, Sizes
from jt_edu.backends.convolve.beside import BLOCK, Cells, cells_of
from jt_edu.backends.convolve.llvm import LANES, by_width, lanes_for

LEAST, MOST = 1 << 16, 1 << 18  # bytes of scratch: so much begins at a cache line, as cells should; and stays near
NEAR = 1 << 16  # bytes of cells, from which on turning them takes twice as long


def _cells(s: Sizes) -> Cells:
    pairs = (s.image[1:], s.kernel[1:], s.places[1:], s.stride[1:], s.padding[1:], s.dilation[1:])
    return cells_of(*pairs, lanes_for(s.dtype))


def _suits(s: Sizes) -> bool:
    alone = s.c == s.o == s.groups and s.c >= lanes_for(s.dtype)
    flat = s.image[0] == s.kernel[0] == s.places[0] == 1 and s.padding[0] == 0
    return alone and flat and min(s.padding) >= 0 and _cells(s).end * _bytes(s) <= MOST


def _bytes(s: Sizes) -> int:
    return 4 if s.dtype == "float32" else 8


def _space(s: Sizes) -> int:
    return max(LEAST // _bytes(s), _cells(s).end)


def _span(s: Sizes) -> int:
    return s.n * -(-s.c // lanes_for(s.dtype))


def _seconds(s: Sizes) -> float:
    """Turning slows down as the cells leave the nearest cache; a last vector that is not full is turned one by one."""
    lane, (_, h, w), (_, oh, ow), taps = lanes_for(s.dtype), s.image, s.places, math.prod(s.kernel)
    turns = -(-h * w // lane) + -(-oh * ow // lane) + -(-taps // lane)
    turned = (turns * by_width(25e-9, 15e-9) + h * w * 0.7e-9) * (1 + _cells(s).end * _bytes(s) / NEAR)
    products = oh * -(-ow // BLOCK) * BLOCK * taps * by_width(0.42e-9, 0.25e-9)
    singly = s.n * (s.c % lane) * (h * w + oh * ow + taps) * 1.2e-9
    return _span(s) * (120e-9 + turned + products) * (LANES // lane) + singly


ALGORITHMS = (Algorithm("lanewise", "forward", "lanewise", _suits, _span, _seconds, _space),)
