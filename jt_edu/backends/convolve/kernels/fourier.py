"""Fourier, forward: what does a convolution cost whose window is large?

    sum over taps k of  weights[k] * pixels[y + k]     =     waves back of  conj(weights^) * pixels^

For a window of 31 x 31, each place is a sum of 961 products. Seen as waves, a convolution is one product for each wave.

The picture is cut into tiles of size x size, which overlap: of a tile, the last taps - 1 rows and columns would need
pixels of the next one, so size - taps + 1 of them are places. A tile costs log2(size) steps for each pixel, whatever
the number of taps; then one complex product for each wave and each pair of channels, which is `tile` on matrices
(tiles x channels) @ (channels x channels), wave by wave.

Source: Mathieu, Henaff, LeCun 2014, "Fast Training of Convolutional Networks through FFTs" (arXiv:1312.5851).
"""

from jt_edu.backends.convolve.fft_layout import (
    TILES,
    back,
    look,
    multiply,
    tile_at,
    waves_layout,
    window,
    write_row,
    write_sums,
)
from jt_edu.backends.convolve.fft_transform import size_for, write_waves
from jt_edu.backends.convolve.gemm_microkernel import inlined, lanes
from jt_edu.backends.convolve.simd import write_zeros


def kernel(lo, hi, image, weights, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups, *rest):
    n, c = image.shape[:2]
    o, oh, ow = out.shape[1], out.shape[3], out.shape[4]
    kh, kw = weights.shape[3:]
    size, pair = size_for(max(kh, kw)), 2 * lanes(space)
    high, wide = size - kh + 1, size - kw + 1
    down, across = (oh + high - 1) // high, (ow + wide - 1) // wide
    dy, dx = -ph, -pw  # from a place to the first pixel of its window
    layout = waves_layout(c, o, size, lanes(space))
    write_waves(space, 0, size)
    write_zeros(space, layout.sums, layout.cells)  # lanes without a channel stay 0
    for unit in range(lo, hi):
        tiles = min(TILES, n * down * across - unit * TILES)
        for t in range(tiles):
            sample, y, x = tile_at(unit * TILES + t, down, across, high, wide)
            tall, long = min(high, oh - y) + kh - 1, min(wide, ow - x) + kw - 1
            look(image, sample, y + dy, x + dx, tall, long, kh, kw, groups, space, size, layout, t)
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
                                image, weights, window, c // groups, o // groups, dy, dx,
                                out, sample, channel, y + row, x, columns,
                            )  # fmt: skip
                        begin = (y + row) * ow + x
                        finish(sample, channel, begin, begin + columns, out, *rest)


@inlined
def finish(n, o, begin, end, out):
    """What the graph does to each sum as it is written; here nothing."""
