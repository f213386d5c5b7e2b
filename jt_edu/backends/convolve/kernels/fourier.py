"""Fourier, forward: what does a convolution cost whose window is large?

    sum over taps k of  weights[k] * pixels[y + k]     =     waves back of  conj(weights^) * pixels^

For a window of 31 x 31, each place is a sum of 961 products. Seen as waves, a convolution is one product for each wave.

The picture is cut into tiles of size x size, which overlap: of a tile, the last taps - 1 rows and columns would need
pixels of the next one, so size - taps + 1 of them are places. A tile costs log2(size) steps for each pixel, whatever
the number of taps; then one complex product for each wave and each pair of channels, which is `tile` on matrices
(tiles x channels) @ (channels x channels), wave by wave.

Source: Mathieu, Henaff, LeCun 2014, "Fast Training of Convolutional Networks through FFTs" (arXiv:1312.5851).
"""

from jt_edu.backends.convolve.spectrum import (
    backward_plane,
    forward_plane,
    join,
    size_for,
    tell_apart,
    write_waves,
)  # fmt: skip
from jt_edu.backends.convolve.tile import inlined, lanes, tile
from jt_edu.backends.convolve.vector import clear, load, store
from jt_edu.backends.mathlib import at

TILES = 6  # of one unit: they share what is read of the weights


def kernel(lo, hi, image, weights, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups, *rest):
    n, c = image.shape[:2]
    o, oh, ow = out.shape[1], out.shape[3], out.shape[4]
    kh, kw = weights.shape[3], weights.shape[4]
    top, left = ph, pw
    size, pair = size_for(max(kh, kw)), 2 * lanes(space)
    high, wide = size - kh + 1, size - kw + 1
    down, across = (oh + high - 1) // high, (ow + wide - 1) // wide
    c_row, o_row = (c + pair - 1) // pair * pair, (o + pair - 1) // pair * pair
    c_part, o_part = TILES * c_row, TILES * o_row
    plane = write_waves(space, 0, size)
    pixels = plane + size * (size + 1) * pair
    sums = pixels + size * (size // 2 + 1) * 3 * c_part
    clear(space, sums, sums + size * (size // 2 + 1) * 2 * o_part)  # lanes without a channel stay 0
    for unit in range(lo, hi):
        tiles = min(TILES, n * down * across - unit * TILES)
        for t in range(tiles):
            number = unit * TILES + t
            sample, y, x = number // (down * across), number // across % down * high, number % across * wide
            look(image, sample, y - top, x - left, space, plane, size, pixels + t * c_row, c_part)
        read, written = (pixels, c_part, c_row), (sums, o_part, o_row)
        multiply(space, prepared, read, written, tiles, size, c // groups, o // groups, groups)
        for t in range(tiles):
            number = unit * TILES + t
            sample, y, x = number // (down * across), number // across % down * high, number % across * wide
            rows, columns = min(high, oh - y), min(wide, ow - x)
            for first in range(0, o, pair):
                join(space, plane, size, sums + t * o_row + first, 2 * o_part, o_part)
                backward_plane(space, plane, size, rows, 0)
                for channel in range(first, min(first + pair, o)):
                    for row in range(rows):
                        source = plane + row * (size + 1) * pair + channel - first
                        for column in range(columns):
                            out[sample, channel, 0, y + row, at(x + column)] = space[at(source + column * pair)]
                        begin = (y + row) * ow + x
                        finish(sample, channel, begin, begin + columns, out, *rest)


@inlined
def look(image, sample, y, x, space, plane, size, to, part):
    """Write the spectra of all channels of one tile."""
    c, h, w, pair = image.shape[1], image.shape[3], image.shape[4], 2 * lanes(space)
    for first in range(0, c, pair):
        clear(space, plane, plane + size * (size + 1) * pair)
        for channel in range(first, min(first + pair, c)):
            cut(image, (sample * c + channel) * h, h, w, y, x, space, plane + channel - first, size)
        forward_plane(space, plane, size, size, 0)
        tell_apart(space, plane, size, to + first, 3 * part, part, 1.0)


@inlined
def cut(image, begin, h, w, y, x, space, to, size):
    """Copy the channel's part of a tile that lies inside the image, each pixel to the lane of the channel."""
    pair, flat = 2 * lanes(space), image.reshape(-1)
    for row in range(max(0, -y), min(size, h - y)):
        for column in range(max(0, -x), min(size, w - x)):
            goal = to + (row * (size + 1) + column) * pair
            space[at(goal)] = flat[at((begin + y + row) * w + x + column)]


@inlined
def multiply(space, weights, read, written, tiles, size, inner, outer, groups):
    """For each wave, (r + is)(u + iv) = (ru - sv) + i(rv + su): four products of matrices, with -s kept beside s."""
    pixels, c_part, c_row = read
    sums, o_part, o_row = written
    lane, waves = lanes(space), size * (size // 2 + 1)
    for wave in range(waves):
        r = pixels + wave * 3 * c_part
        s, minus_s = r + c_part, r + 2 * c_part
        u = wave * 2 * inner * o_row
        v = u + inner * o_row
        real = sums + wave * 2 * o_part
        imaginary = real + o_part
        if inner == 1 and outer == 1:  # each channel has weights of its own
            for _ in range(tiles):
                for i in range(0, o_row, lane):
                    a, b, e, f = load(space, r + i), load(space, s + i), load(weights, u + i), load(weights, v + i)
                    store(space, real + i, a * e - b * f)
                    store(space, imaginary + i, a * f + b * e)
                r, s, real, imaginary = r + c_row, s + c_row, real + o_row, imaginary + o_row
        else:
            for t in range(tiles):
                for i in range(0, c_row, lane):
                    store(space, minus_s + t * c_row + i, load(space, s + t * c_row + i) * -1.0)
            for g in range(groups):
                i, j = g * inner, g * outer
                for first, second, to, fresh in (
                    (r, u, real, True), (minus_s, v, real, False), (r, v, imaginary, True), (s, u, imaginary, False)
                ):  # fmt: skip
                    tile(
                        space, first + i, c_row, 1, weights, second + j, o_row, space, to + j, o_row,
                        tiles, outer, inner, fresh,
                    )  # fmt: skip


@inlined
def finish(n, o, begin, end, out):
    """What the graph does to each sum as it is written; here nothing."""
