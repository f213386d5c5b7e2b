"""Pointwise: which convolutions need no windows at all?

Those with one tap, stride 1 and no padding: a window is one number, and a matrix product of weights and image is all
there is. The image is read where it is:

    forward      out[n] = weights @ image[n]                 kernels/pointwise.py
    by_image     out[n] = weights transposed @ places[n]     kernels/pointwise_by_image.py

A product for each image alone does not fill the vectors where an image has few numbers, so `forward` works on a few
last places one by one. For many small images `panels`, which go on from one image to the next, may be faster. So they
are by weights, where a sum over all images is asked for, and where channels keep each other out of the cache
(`_from_afar`).

Errors and times: as for `panels`. What runs stands in `kernels/pointwise*.py`. Nothing here knows numbers.
"""

from __future__ import annotations

import math

from jt_edu.backends.convolve import Algorithm, Sizes
from jt_edu.backends.convolve.im2col_gemm import MULTIPLY, moved, multiplied, prepare_seconds, prepare_span, prepared
from jt_edu.backends.convolve.llvm import lanes_for
from jt_edu.backends.convolve.remainder import left_over, sums_behind

COLUMNS, DEPTH, PART = 512, 1024, 12  # as in the kernels
CACHE, SAME, WAYS = 1 << 20, 1 << 16, 16  # the second-level cache: bytes, also of one way, and ways
CROWDED = 1.5  # at least so many times as long: 3.4 was seen


def suits(s: Sizes) -> bool:
    """One tap, stride 1, no padding."""
    return s.kernel == s.stride == (1, 1, 1) and s.padding == (0, 0, 0) and s.image == s.places


def _span(s: Sizes) -> int:
    return _units(s, s.o // s.groups)


def _span_by_image(s: Sizes) -> int:
    return _units(s, s.c // s.groups)


def _units(s: Sizes, rows: int) -> int:
    return s.n * s.groups * -(-math.prod(s.places) // COLUMNS) * -(-rows // PART)


def _left(s: Sizes) -> int:
    """The last places of a small image, if they are so few that they are worked on one by one."""
    return left_over(math.prod(s.places), lanes_for(s.dtype))


def _space(s: Sizes) -> int:
    return sums_behind(_left(s), s.c // s.groups)[1]


def _seconds(s: Sizes) -> float:
    rows, depth, left = s.o // s.groups, s.c // s.groups, _left(s)
    each = multiplied(s, rows, math.prod(s.places) - left, depth) + 2 * left * rows * depth * MULTIPLY
    return s.n * s.groups * each * _from_afar(s, depth) + moved(s)


def _seconds_by_image(s: Sizes) -> float:
    each = multiplied(s, s.c // s.groups, math.prod(s.places), s.o // s.groups)
    return s.n * s.groups * each * _from_afar(s, s.o // s.groups) + moved(s) + prepare_seconds(s)


def _from_afar(s: Sizes, channels: int) -> float:
    """How many times as long a product takes whose channels do not stay in the second-level cache.

    Numbers that lie a multiple of SAME bytes apart share a set of it, which has room for WAYS of them: at 32 x 32
    numbers of float32 a channel, or 64 x 64, only few channels stay. Panels lie closely, wherever they came from.
    """
    each = lanes_for("float32") // lanes_for(s.dtype) * 4  # bytes of a number
    step, deep = math.prod(s.places) * each, min(channels, DEPTH)
    if deep > WAYS * SAME // math.gcd(step, SAME):
        return CROWDED
    return 1.1 if deep * min(COLUMNS * each, step) > CACHE else 1.0


ALGORITHMS = (
    Algorithm(
        "pointwise", "forward", "pointwise", suits, _span, _seconds, _space,
        apart=lambda s: COLUMNS, reads_views=lambda lies: lies.whole_planes,
    ),
    Algorithm(
        "pointwise", "by_image", "pointwise_by_image", suits, _span_by_image, _seconds_by_image,
        prepare="panels_prepare", prepared=prepared, prepare_span=prepare_span,
    ),
)  # fmt: skip
