"""FFT layout: how is a convolution computed as products of spectra, and what lies where meanwhile?

Tiles of size x size pixels, TILES of them in a unit of work, pass through the scratch of a kernel from left to right:

    space   | waves of size | a plane | spectra of pixels        | spectra of sums    | cells, marks of tiles |
              write_waves     look:     r, s and -s of a wave,     real and imaginary   uneven_tiles.py
                              there     of all tiles and channels  parts of a wave
                              and back                                                                         end

`prepared` holds the spectra of the windows, wave by wave, and behind them, for each of UNITS units of work that make
them, waves and a plane to work in.

A unit reads `c` channels and writes `o` of them. As a complex plane holds two vectors of channels, the channels of both
are rounded up to two vectors: c_row and o_row numbers, of which those without a channel stay 0.

Nothing here knows whether pixels are those of an image or of places.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import NamedTuple

from jt_edu.backends.convolve.fft_transform import backward_plane, forward_plane, merge, size_for, split, write_waves
from jt_edu.backends.convolve.gemm_microkernel import tile
from jt_edu.backends.convolve.llvm import Array, inlined, lanes
from jt_edu.backends.convolve.simd import load, store, sum_of, write_zeros, zeros
from jt_edu.backends.convolve.uneven_tiles import ends_of_cells, look_at_plane, seen
from jt_edu.backends.mathlib import at

TILES = 6  # of one unit: they share what is read of the weights
UNITS = 8  # of work, to prepare the weights
FAR = 1024  # times the least cell (uneven_tiles.py): transforms lose less than Winograd's

Window = Callable[[Array, int, int, int], tuple[int, int]]  # of (weights, inner, inner channel, outer channel)


class Waves(NamedTuple):
    """What lies where in the scratch of a Fourier kernel, which begins with the waves; in numbers."""

    plane: int  # where a plane of complex numbers begins
    pixels: int  # where the spectra of what is read begin
    sums: int  # where those of what is written do
    cells: int  # where there is room for the cells of a tile
    marks: int  # where a number for each tile tells whether its sums are to be written out
    end: int  # of all
    c_row: int  # channels that are read, in whole pairs of vectors
    o_row: int  # channels that are written


@inlined
def waves_layout(c: int, o: int, size: int, lane: int) -> Waves:
    """The scratch of a unit that reads c channels and writes o of them."""
    pair = 2 * lane
    c_row, o_row = (c + pair - 1) // pair * pair, (o + pair - 1) // pair * pair
    plane = size * lane
    pixels = plane + size * (size + 1) * pair
    sums = pixels + waves_of(size) * 3 * TILES * c_row
    cells = sums + waves_of(size) * 2 * TILES * o_row
    marks = cells + size * size * pair
    return Waves(plane, pixels, sums, cells, marks, marks + TILES, c_row, o_row)


@inlined
def prepared_layout(inner: int, outer: int, size: int, lane: int) -> tuple[int, int, int]:
    """Of `prepared`: numbers of a row of outer channels; where room to work in begins, and how much each unit has."""
    pair = 2 * lane
    row = (outer + pair - 1) // pair * pair
    return row, waves_of(size) * 2 * inner * row, size * (size + 1) * pair + size * lane


@inlined
def waves_of(size: int) -> int:
    """How many waves say all about a real picture: half of the columns, and one."""
    return size * (size // 2 + 1)


@inlined
def tile_at(number: int, down: int, across: int, high: int, wide: int) -> tuple[int, int, int]:
    """The sample of a tile, and the place at its corner; each sample has down * across tiles of high x wide places."""
    return number // (down * across), number // across % down * high, number % across * wide


@inlined
def look(
    image: Array, sample: int, y: int, x: int, tall: int, wide: int, kh: int, kw: int, groups: int,
    space: Array, size: int, layout: Waves, t: int,
) -> None:  # fmt: skip
    """Write the spectra of all channels of tile t, whose windows see tall x wide pixels from (y, x) on; and its mark.

    Channels of several groups are not added up, but meet in a plane: then each of them is to be even with all others.
    """
    least, most, cells, together = inf, 0.0, layout.cells, groups == 1
    c, h, w, pair = image.shape[1], image.shape[3], image.shape[4], 2 * lanes(space)
    plane, to, part = layout.plane, layout.pixels + t * layout.c_row, TILES * layout.c_row
    down, across = seen(y, h, tall, kh), seen(x, w, wide, kw)
    for first in range(0, c, pair):
        write_zeros(space, plane, plane + size * (size + 1) * pair)
        for channel in range(first, min(first + pair, c)):
            cut(image, (sample * c + channel) * h, h, w, y, x, tall, wide, space, plane + channel - first, size)
        fresh = first == 0 or not together
        look_at_plane(space, plane, size, down, across, cells, fresh)
        if not together or first + pair >= c:
            low, high = ends_of_cells(space, cells, down, across, min(pair, c - first), together)
            least, most = min(least, low), max(most, high)
        forward_plane(space, plane, size, size, 0)
        split(space, plane, size, to + first, 3 * part, part, 1.0)
    space[at(layout.marks + t)] = not (most < inf and most <= FAR * least)


@inlined
def cut(
    image: Array, begin: int, h: int, w: int, y: int, x: int, tall: int, wide: int, space: Array, to: int, size: int
) -> None:
    """Copy the channel's part of a tile that lies inside the image, each pixel to the lane of the channel."""
    pair, flat = 2 * lanes(space), image.reshape(-1)
    for row in range(max(0, -y), min(tall, h - y)):
        for column in range(max(0, -x), min(wide, w - x)):
            goal = to + (row * (size + 1) + column) * pair
            space[at(goal)] = flat[at((begin + y + row) * w + x + column)]


@inlined
def multiply(
    space: Array, weights: Array, layout: Waves, tiles: int, size: int, inner: int, outer: int, groups: int
) -> None:  # fmt: skip
    """For each wave, (r + is)(u + iv) = (ru - sv) + i(rv + su): four products of matrices, with -s kept beside s.

    `inner` channels of a group are summed over, for each of `outer` ones.
    """
    c_row, o_row, c_part, o_part = layout.c_row, layout.o_row, TILES * layout.c_row, TILES * layout.o_row
    lane = lanes(space)
    for wave in range(waves_of(size)):
        r = layout.pixels + wave * 3 * c_part
        s, minus_s = r + c_part, r + 2 * c_part
        u = wave * 2 * inner * o_row
        v = u + inner * o_row
        real = layout.sums + wave * 2 * o_part
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
def back(space: Array, size: int, layout: Waves, t: int, first: int, rows: int, columns: int) -> bool:
    """Make of the spectra of tile t the sums of two vectors of channels, from `first` on; so many rows of them.

    Answers whether they are finite, and not to be written out for another reason either.
    """
    if space[at(layout.marks + t)] > 0:
        return False
    part = TILES * layout.o_row
    merge(space, layout.plane, size, layout.sums + t * layout.o_row + first, 2 * part, part)
    backward_plane(space, layout.plane, size, rows, 0)
    nothing = zeros(space)  # times 0, only infinity and nan are more
    for row in range(rows):
        begin = layout.plane + row * (size + 1) * 2 * lanes(space)
        for k in range(0, columns * 2 * lanes(space), lanes(space)):
            nothing = load(space, begin + k) * 0.0 + nothing
    return bool(sum_of(nothing) == 0)


@inlined
def write_row(
    space: Array, source: int, out: Array, sample: int, channel: int, y: int, x: int, columns: int
) -> None:  # fmt: skip
    """Write a row of sums of one channel, which lie a pair of vectors apart."""
    pair = 2 * lanes(space)
    for column in range(columns):
        out[sample, channel, 0, y, at(x + column)] = space[at(source + column * pair)]


@inlined
def write_sums(
    image: Array, weights: Array, window: Window, inner: int, outer: int, dy: int, dx: int, out: Array, sample: int,
    channel: int, y: int, x: int, columns: int,
) -> None:  # fmt: skip
    """Write the same row of sums as they are written: place (y, x) begins at pixel (y + dy, x + dx)."""
    (h, w), (kh, kw), taps = image.shape[3:], weights.shape[3:], weights.reshape(-1)
    for k in range(x, x + columns):
        out[sample, channel, 0, y, at(k)] = 0
    for i in range(inner):
        begin, step = window(weights, inner, i, channel)
        for ky in range(max(0, -y - dy), min(kh, h - y - dy)):
            for kx in range(kw):
                tap = taps[at(begin + (ky * kw + kx) * step)]
                for k in range(max(x, -dx - kx), min(x + columns, w - dx - kx)):
                    pixel = image[sample, channel // outer * inner + i, 0, y + dy + ky, at(k + dx + kx)]
                    out[sample, channel, 0, y, at(k)] += tap * pixel


@inlined
def write_spectra(weights: Array, prepared: Array, unit: int, inner: int, outer: int, window: Window) -> None:
    """The spectra of every UNITS-th inner channel, for all outer ones: conjugated, and divided by size^2.

    `window` tells where among the weights the window of a pair of channels begins, and how far on its next tap is.
    """
    (kh, kw), flat = weights.shape[3:], weights.reshape(-1)
    size, pair = size_for(max(kh, kw)), 2 * lanes(prepared)
    row, rooms, room = prepared_layout(inner, outer, size, lanes(prepared))
    waves = rooms + unit * room
    plane = write_waves(prepared, waves, size)
    for i in range(unit, inner, UNITS):
        for first in range(0, row, pair):
            write_zeros(prepared, plane, plane + size * (size + 1) * pair)
            for j in range(first, min(first + pair, outer)):
                begin, step = window(weights, inner, i, j)
                for ky in range(kh):
                    for kx in range(kw):
                        goal = plane + (ky * (size + 1) + kx) * pair + j - first
                        prepared[at(goal)] = flat[at(begin + (ky * kw + kx) * step)] / (size * size)
            forward_plane(prepared, plane, size, kh, waves)
            split(prepared, plane, size, i * row + first, 2 * inner * row, inner * row, -1.0)


@inlined
def window(weights: Array, inner: int, i: int, j: int) -> tuple[int, int]:
    """From channel i of a group to channel j of the places, from its first tap on."""
    taps = weights.shape[3] * weights.shape[4]
    return (j * inner + i) * taps, 1


@inlined
def window_back(weights: Array, inner: int, i: int, j: int) -> tuple[int, int]:
    """From channel i of a group of `inner` places to channel j of the image, from its last tap backwards."""
    shared, taps = weights.shape[1], weights.shape[3] * weights.shape[4]
    channel = j // shared * inner + i  # of the places
    return (channel * shared + j % shared + 1) * taps - 1, -1
