"""Depthwise: what do convolutions need whose channels keep to themselves?

With groups == channels each place is a sum of a few products, kh * kw of them: there is no matrix to multiply. The
kernels slide a window over rows that they have copied, with zeros around them, into scratch that fits the nearest
cache. They take up to SHARED channels in a group, strides 1 and 2, alike in height and width, windows of any size.

Sums are plain, in the dtype of the arrays; by the weights, each lane adds up its part of the places of all samples.

    |error| <= eps * products * sum of |products|           always
    |error| <  4e-6 * sqrt(sum of products^2)               float32, measured against float64 on random shapes
                8e-15                                        float64

What runs stands in `kernels/depthwise*.py` and `row_strips.py`. Nothing here knows numbers.
"""

from __future__ import annotations

import math

from jt_edu.backends.convolve import Algorithm, Constants, Sizes, strips_apart
from jt_edu.backends.convolve.llvm import by_width, lanes_for
from jt_edu.backends.convolve.row_strips import Strips, image_strips, places_strips, sums_behind

WRITTEN_OUT = ((1, 3, 3), (1, 5, 5), (1, 7, 7))  # windows that `slide` passes over rows (stencil.py)
SHARED = 3  # channels in a group; of more, matrix products are faster


def _suits(s: Sizes) -> bool:
    return s.c // s.groups <= SHARED and _stride(s) == s.stride[2] <= 2 and min(s.padding) >= 0


def _suits_by_image(s: Sizes) -> bool:
    return _suits(s) and s.o // s.groups <= 2 * SHARED


def _stride(s: Sizes) -> int:
    """The stride of rows; of a single row any would do."""
    return s.stride[2] if s.places[1] == 1 else s.stride[1]


def _strips(s: Sizes) -> Strips:
    """Of the image: forward and by the weights."""
    planes = s.c // s.groups * s.kernel[0]
    stride = (_stride(s), s.stride[2])
    edge = (s.image[2], s.padding[2])
    return image_strips(edge, s.places[1:], s.kernel[1:], stride, s.dilation[1:], planes, lanes_for(s.dtype))


def _space(s: Sizes) -> int:
    return _strips(s).end


def _space_by_image(s: Sizes) -> int:
    planes, edge = s.o // s.groups * s.kernel[0], (s.image[2], s.padding[2])
    return places_strips(
        edge, s.image[1], s.places[2], s.kernel[1:], _stride(s), s.dilation[1:], planes, lanes_for(s.dtype)
    ).end


def _space_by_weights(s: Sizes) -> int:
    taps = s.o // s.groups * (s.c // s.groups) * math.prod(s.kernel)
    return sums_behind(_strips(s), taps, lanes_for(s.dtype))[1]


def _more(s: Sizes) -> int:
    return (s.kernel[1] - 1) * s.dilation[1] // _stride(s)


def _vectors(s: Sizes, rows: int, columns: int) -> int:
    """How many vectors fill the rows of one plane."""
    return rows * -(-columns // lanes_for(s.dtype))


def _per_tap(s: Sizes) -> float:
    """Nanoseconds for a vector and a tap: some windows of one plane are written out, others are a loop."""
    if not _is_written_out(s):
        return 1.0
    return 0.3 if s.kernel[1] < 7 else 0.4  # more weights than registers


def _seconds(s: Sizes) -> float:
    """Vectors that are copied, vectors of sums with their taps, and what a channel costs anyway."""
    copied = s.kernel[0] * _vectors(s, (s.places[1] + _more(s)) * _stride(s), s.image[2])
    taps = s.c // s.groups * math.prod(s.kernel)
    sums = _vectors(s, s.places[1], s.places[2])
    each = s.groups * (30 + 3.0 * copied * s.places[0] * s.c // s.groups)
    return by_width(1e-9, 0.75e-9) * s.n * (each + s.o * s.places[0] * sums * (2 + _per_tap(s) * taps))


def _seconds_by_image(s: Sizes) -> float:
    step, many = s.stride[2], s.o // s.groups
    copied = many * s.kernel[0] * _vectors(s, s.places[1] + _more(s), s.places[2])
    taps = many * math.prod(s.kernel)
    sums = _vectors(s, s.image[1], -(-s.image[2] // step))
    each = 2 + _per_tap(s) * taps if step == 1 else 9 + taps / 2
    return 1e-9 * s.n * s.image[0] * (s.groups * (30 + 3.0 * copied) + s.c * sums * each)


def _seconds_by_weights(s: Sizes) -> float:
    copied = s.kernel[0] * _vectors(s, (s.places[1] + _more(s)) * _stride(s), s.image[2])
    steps = s.kernel[0] * s.kernel[1] * -(-s.kernel[2] // 3) * _vectors(s, s.places[1], s.places[2])
    sums = s.o * (s.c // s.groups) * s.places[0] * steps * by_width(6.0, 3.0)
    return 1e-9 * (s.n * (30 * s.groups + 3.0 * copied * s.places[0] * s.c + sums) + 8 * s.o * math.prod(s.kernel))


def _apart(s: Sizes) -> int:
    return strips_apart(s, _strips(s).high)


def _constants(s: Sizes) -> Constants:
    """The side of a window that is written out, and its stride: `slide` wants to know them when it is compiled."""
    return (("SIDE", s.kernel[2]), ("STRIDE", s.stride[2])) if _is_written_out(s) else ()


def _constants_by_image(s: Sizes) -> Constants:
    """At stride 2 rows are woven, tap by tap."""
    return (("SIDE", s.kernel[2]),) if _is_written_out(s) and s.o == s.groups and _stride(s) == 1 else ()


def _is_written_out(s: Sizes) -> bool:
    return s.kernel in WRITTEN_OUT and s.dilation[1:] == (1, 1) and s.c == s.groups


def _samples_and_groups(s: Sizes) -> int:
    return s.n * s.groups


ALGORITHMS = (
    Algorithm(
        "depthwise", "forward", "depthwise", _suits, _samples_and_groups, _seconds, _space, apart=_apart,
        constants=_constants,
    ),
    Algorithm(
        "depthwise", "by_image", "depthwise_by_image", _suits_by_image, _samples_and_groups, _seconds_by_image,
        _space_by_image, constants=_constants_by_image,
    ),
    Algorithm(
        "depthwise", "by_weights", "depthwise_by_weights", _suits, lambda s: s.groups, _seconds_by_weights,
        _space_by_weights,
    ),
)  # fmt: skip
