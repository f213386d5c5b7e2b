"""Depthwise: what do convolutions need whose channels keep to themselves?

With groups == channels each place is a sum of a few products, kh * kw of them: there is no matrix to multiply. The
kernels slide a window over rows that they have copied, with zeros around them, into scratch that fits the nearest
cache. They take up to SHARED channels in a group, strides 1 and 2, alike in height and width, windows of any size.

Sums are plain, in the dtype of the arrays; by the weights, each lane adds up its part of the places of all samples.

    |error| <= eps * products * sum of |products|           always
    |error| <  4e-6 * sqrt(sum of products^2)               float32, measured against float64 on random shapes
                8e-15                                        float64

What runs stands in `kernels/depthwise*.py`. Nothing here knows numbers.
"""

from __future__ import annotations

import math

from jt_edu.backends.convolve import Algorithm, Sizes
from jt_edu.backends.convolve.tile import LANES

ROOM = 6000  # the same as in the kernels
SHARED = 3  # channels in a group; of more, matrix products are faster


def _suits(s: Sizes) -> bool:
    return s.c // s.groups <= SHARED and _stride(s) == s.stride[2] <= 2


def _suits_by_image(s: Sizes) -> bool:
    return _suits(s) and s.o // s.groups <= 2 * SHARED


def _stride(s: Sizes) -> int:
    """The stride of rows; of a single row any would do."""
    return s.stride[2] if s.places[1] == 1 else s.stride[1]


def _lane(s: Sizes) -> int:
    return LANES if s.dtype == "float32" else LANES // 2


def _space(s: Sizes) -> int:
    """Rows of the image of one group, or of several groups if they are small; by remainders of row and column."""
    step, pitch, more = _stride(s), _pitch(s), _more(s)
    planes = s.c // s.groups * s.kernel[0] * step * step
    high = min(s.places[1], max(8, ROOM // (planes * pitch) - more))
    size = planes * ((high + more) * pitch + _lane(s))
    return max(size, ROOM if high == s.places[1] else 0) + 2 * pitch + 4 * _lane(s)


def _space_by_image(s: Sizes) -> int:
    """Rows of the places of one group, or of several groups if they are small."""
    step, more = _stride(s), _more(s)
    left = (s.kernel[2] - 1) * s.dilation[2] // step
    pitch = left + max(s.places[2], (s.image[2] - 1 + s.padding[2]) // step + 1)
    planes = s.o // s.groups * s.kernel[0]
    high = min(s.image[1], max(8, (ROOM // (planes * pitch) - more) * step))
    size = planes * ((high // step + 1 + more) * pitch + _lane(s))
    return max(size, ROOM if high == s.image[1] else 0) + 3 * pitch + 4 * _lane(s)


def _space_by_weights(s: Sizes) -> int:
    """The same rows as forward, of one group, and a vector of sums for each weight of it."""
    return _space(s) + s.o // s.groups * (s.c // s.groups) * math.prod(s.kernel) * _lane(s)


def _pitch(s: Sizes) -> int:
    step = s.stride[2]
    reach = s.places[2] + (s.kernel[2] - 1) * s.dilation[2] // step
    return max(reach, -(-(s.image[2] + s.padding[2]) // step))


def _more(s: Sizes) -> int:
    return (s.kernel[1] - 1) * s.dilation[1] // _stride(s)


def _vectors(s: Sizes, rows: int, columns: int) -> int:
    """How many vectors fill the rows of one plane."""
    return rows * -(-columns // _lane(s))


def _per_tap(s: Sizes) -> float:
    """Nanoseconds for a vector and a tap: windows of 3 x 3 and 5 x 5 of one plane are written out, others a loop."""
    written_out = s.kernel in ((1, 3, 3), (1, 5, 5)) and s.dilation[1:] == (1, 1) and s.c == s.groups
    return 0.3 if written_out else 1.0


def _seconds(s: Sizes) -> float:
    """Vectors that are copied, vectors of sums with their taps, and what a channel costs anyway."""
    copied = s.kernel[0] * _vectors(s, (s.places[1] + _more(s)) * _stride(s), s.image[2])
    taps = s.c // s.groups * math.prod(s.kernel)
    sums = _vectors(s, s.places[1], s.places[2])
    each = s.groups * (30 + 3.0 * copied * s.places[0] * s.c // s.groups)
    return 1e-9 * s.n * (each + s.o * s.places[0] * sums * (2 + _per_tap(s) * taps))


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
    sums = s.o * (s.c // s.groups) * s.places[0] * steps * 6.0
    return 1e-9 * (s.n * (30 * s.groups + 3.0 * copied * s.places[0] * s.c + sums) + 8 * s.o * math.prod(s.kernel))


def _samples_and_groups(s: Sizes) -> int:
    return s.n * s.groups


ALGORITHMS = (
    Algorithm("depthwise", "forward", "depthwise", _suits, _samples_and_groups, _seconds, _space),
    Algorithm(
        "depthwise", "by_image", "depthwise_by_image", _suits_by_image, _samples_and_groups, _seconds_by_image,
        _space_by_image,
    ),
    Algorithm(
        "depthwise", "by_weights", "depthwise_by_weights", _suits, lambda s: s.groups, _seconds_by_weights,
        _space_by_weights,
    ),
)  # fmt: skip
