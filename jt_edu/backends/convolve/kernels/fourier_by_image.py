"""Fourier, gradient by the image: the convolution of the places with the window reversed.

    sum over taps k of  weights[k] * pixels[y + k]     =     waves back of  conj(weights^) * pixels^

The window was reversed, and its channels exchanged, while the weights were prepared. The rest is `fourier` over places
instead of the image: a pixel is first seen through the last tap, so taps - 1 - padding zeros stand before the places.
"""

from jt_edu.backends.convolve.fft_layout import (
    TILES,
    back,
    look,
    multiply,
    tile_at,
    waves_layout,
    window_back,
    write_row,
    write_sums,
)
from jt_edu.backends.convolve.fft_transform import size_for, write_waves
from jt_edu.backends.convolve.gemm_microkernel import lanes
from jt_edu.backends.convolve.simd import write_zeros


def kernel(lo, hi, places, weights, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups):
    n, c = places.shape[:2]
    o, oh, ow = out.shape[1], out.shape[3], out.shape[4]
    kh, kw = weights.shape[3:]
    size, pair = size_for(max(kh, kw)), 2 * lanes(space)
    high, wide = size - kh + 1, size - kw + 1
    down, across = (oh + high - 1) // high, (ow + wide - 1) // wide
    dy, dx = ph + 1 - kh, pw + 1 - kw  # from a place to the first pixel of its window
    layout = waves_layout(c, o, size, lanes(space))
    write_waves(space, 0, size)
    write_zeros(space, layout.sums, layout.cells)  # lanes without a channel stay 0
    for unit in range(lo, hi):
        tiles = min(TILES, n * down * across - unit * TILES)
        for t in range(tiles):
            sample, y, x = tile_at(unit * TILES + t, down, across, high, wide)
            tall, long = min(high, oh - y) + kh - 1, min(wide, ow - x) + kw - 1
            look(places, sample, y + dy, x + dx, tall, long, kh, kw, groups, space, size, layout, t)
        multiply(space, prepared, layout, tiles, size, c // groups, o // groups, groups)
        for t in range(tiles):
            sample, y, x = tile_at(unit * TILES + t, down, across, high, wide)
            rows, columns = min(high, oh - y), min(wide, ow - x)
            for first in range(0, o, pair):
                sound = back(space, size, layout, t, first, rows, columns)
                for channel in range(first, min(first + pair, o)):
                    for row in range(rows):
                        if sound:
                            source = layout.plane + row * (size + 1) * pair + channel - first
                            write_row(space, source, out, sample, channel, y + row, x, columns)
                        else:
                            write_sums(
                                places, weights, window_back, c // groups, o // groups, dy, dx,
                                out, sample, channel, y + row, x, columns,
                            )  # fmt: skip
