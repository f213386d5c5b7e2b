"""FFT: when is it cheaper to convolve waves than pixels?

A window of k x k costs k * k products for each place and pair of channels. As waves it costs, for tiles of F x F,

    transforms      log2(F) butterflies for each pixel of a tile and each channel, there and back
    products        2 F * F / (F - k + 1)^2 complex ones for each place and pair of channels, whatever k is

so large windows win, and the more channels share a transform, the sooner. Stride 1, no dilation, one or two directions.

Transforms lose little: each of the 2 log2(F) steps rounds once. But what is lost spreads over the tile: it does not
shrink where the true value is small, and one infinite pixel would spoil its tile, and that of the channel beside it. So
the sums of a tile in which a number is far larger than those that some window sees (`uneven_tiles.py`) are written out.

    |error| < 4e-6 * the largest sqrt(sum of products^2)    float32, measured against float64, windows up to 33 x 33
              6e-14                                         float64

What runs stands in `kernels/fourier*.py`, `fft_layout.py` and `fft_transform.py`. The gradient
by the weights is left to others. Nothing here knows numbers.

Source: Mathieu, Henaff, LeCun 2014, "Fast Training of Convolutional Networks through FFTs" (arXiv:1312.5851).
"""

from __future__ import annotations

import math

from jt_edu.backends.convolve import Algorithm, Sizes, no_sum_is_empty
from jt_edu.backends.convolve.fft_layout import TILES, UNITS, prepared_layout, waves_layout, waves_of
from jt_edu.backends.convolve.fft_transform import size_for
from jt_edu.backends.convolve.llvm import lanes_for

LARGEST = 40  # taps in one direction


def _suits(s: Sizes) -> bool:
    flat = s.image[0] == s.places[0] == s.kernel[0] == 1 and s.padding[0] == 0
    plain = s.stride[1:] == s.dilation[1:] == (1, 1) and s.stride[0] == s.dilation[0] == 1
    return flat and plain and no_sum_is_empty(s) and 4 <= max(s.kernel) <= LARGEST


def _size(s: Sizes) -> int:
    return size_for(max(s.kernel))


def _sides(s: Sizes) -> tuple[int, int, tuple[int, int, int]]:
    """Channels that are read, channels that are written, and the lengths of what is written."""
    return (s.c, s.o, s.places) if s.kind == "forward" else (s.o, s.c, s.image)


def _tiles(s: Sizes) -> int:
    """How many tiles there are, of all samples."""
    lengths = _sides(s)[2]
    return s.n * math.prod(
        -(-length // (_size(s) - k + 1)) for length, k in zip(lengths[1:], s.kernel[1:], strict=True)
    )


def _span(s: Sizes) -> int:
    return -(-_tiles(s) // TILES)


def _apart(s: Sizes) -> int:
    """Of a row of places, a tile has so many; the last one, what is left."""
    wide = _size(s) - s.kernel[2] + 1
    return min(wide, (s.places[2] - 1) % wide + 1)


def _space(s: Sizes) -> int:
    read, written, _ = _sides(s)
    return waves_layout(read, written, _size(s), lanes_for(s.dtype)).end


def _prepared(s: Sizes) -> int:
    read, written, _ = _sides(s)
    _, rooms, room = prepared_layout(read // s.groups, written, _size(s), lanes_for(s.dtype))
    return rooms + UNITS * room


def _prepare_span(s: Sizes) -> int:
    return min(UNITS, _sides(s)[0] // s.groups)


def _seconds(s: Sizes) -> float:
    """Butterflies, pixels that move to and from their lanes, and products; weights come from memory."""
    read, written, _ = _sides(s)
    size, pair, inner = _size(s), 2 * lanes_for(s.dtype), read // s.groups
    planes = _tiles(s) * (-(-read // pair) + -(-written // pair)) + inner * -(-written // pair)
    steps = planes * size * size * (math.log2(size) * 2.5e-9 + 12e-9)
    moved = _tiles(s) * size * size * (read + written) * 0.6e-9
    waves = waves_of(size)
    products = waves * (_tiles(s) * 8 * inner * written / 4e10 + inner * written * 8 / 1e10)
    return steps + moved + products


ALGORITHMS = (
    Algorithm(
        "fourier", "forward", "fourier", _suits, _span, _seconds, _space, "fourier_prepare", _prepared, _prepare_span,
        spreads=True, error=4e-6, apart=_apart,
    ),
    Algorithm(
        "fourier", "by_image", "fourier_by_image", _suits, _span, _seconds, _space, "fourier_prepare_by_image",
        _prepared, _prepare_span, spreads=True, error=4e-6,
    ),
)  # fmt: skip
