"""Channel lanes: how do channels come to lie beside each other, one in each lane of a vector?

A small image does not fill vectors with its rows: 7 numbers leave more than half of 16 lanes empty, whatever window
slides over them. Channels do, if they keep to themselves: number y, x of LANES channels is one vector, a *cell*. So
blocks of channels are turned on their side, the window slides over cells, and the sums are turned back:

    image, a row for each channel      cells, with zeros around them         sums
    a0 a1 a2 a3 ..                       0     0     0     0     0
    b0 b1 b2 b3 ..        turn           0   a0b0  a1b1  a2b2    0    ..     one cell for each place    --turn back-->
    ..                                   0   a3b3  a4b4  a5b5    0

No tap has to be shifted, no lane is empty, and rows of zeros are left out. Gradients are found over cells as well: by
the image, a window slides over places; by the weights, a square of taps adds up while it slides over the image. In the
scratch of the kernel lie, in cells,

    space   | image with zeros, rows `pitch` apart | weights, one for each tap | sums, one for each place |
                                                 taps                        sums                     end

The image itself is turned to where the sums will lie, and copied from there. All of it is read and written in whole
cells, so it should begin at a line of the cache.

Example: 3 x 3 taps, stride 1 and padding 1 over an image of 5 x 5, on vectors of 4 numbers. Seven places of a row are
computed together, though there are five, and look at 9 cells; 7 rows of them are 63 cells, or 252 numbers:

    >>> cells_of((5, 5), (3, 3), (5, 5), (1, 1), (1, 1), (1, 1), 4)
    Cells(pitch=36, taps=252, sums=304, end=432)

Nothing here knows how the window slides.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from jt_edu.backends.convolve.llvm import Array, inlined, lanes
from jt_edu.backends.convolve.simd import fma, load, store, zeros
from jt_edu.backends.convolve.simd_blocks import turn

BLOCK = 7  # places of a row that are computed together: rows of the images of many networks are multiples of it
SIDE = 3  # of a square of taps whose gradients are summed up together


class Cells(NamedTuple):
    """What lies where in the scratch of the kernel, in numbers."""

    pitch: int  # from a row of cells to the next
    taps: int  # where the weights begin
    sums: int  # where the sums begin, and first the image
    end: int  # of all


@inlined
def cells_of(image: Any, taps: Any, places: Any, stride: Any, padding: Any, dilation: Any, lane: int) -> Cells:
    """The layout; all six are pairs, for rows and columns."""
    seen_h = (places[0] - 1) * stride[0] + (taps[0] - 1) * dilation[0] + 1
    seen_w = (max(places[1], BLOCK) - 1) * stride[1] + (taps[1] - 1) * dilation[1] + 1
    high, pitch = max(seen_h, image[0] + padding[0]), max(seen_w, image[1] + padding[1]) * lane
    sums = high * pitch + (taps[0] * taps[1] + lane) * lane
    cells = max(image[0] * image[1], places[0] * places[1] + BLOCK)
    return Cells(pitch, high * pitch, sums, sums + cells * lane)


@inlined
def turn_channels(
    a: Array, a_start: int, a_row: int, b: Array, b_start: int, b_row: int, rows: int, columns: int, lane: int
) -> None:  # fmt: skip
    """Transpose: b[j, i] = a[i, j], of up to `lane` rows; the last block of columns begins earlier."""
    for j in range(0, columns, lane):
        first = max(0, min(j, columns - lane))
        turn(a, a_start + first, a_row, b, b_start + first * b_row, b_row, rows, min(lane, columns))


@inlined
def turn_back(space: Array, begin: int, out: Array, goal: int, places: int, channels: int, lane: int) -> None:
    """Bring cells to the rows of their channels."""
    for j in range(0, places, lane):
        first = max(0, min(j, places - lane))
        turn(space, begin + first * lane, lane, out, goal + first, places, min(lane, places), channels)


@inlined
def turn_taps_in(weights: Array, first: int, taps: int, space: Array, to: int, channels: int, lane: int) -> None:
    """Bring the taps of some channels beside each other; with whole blocks, where the array goes on far enough."""
    if channels == lane and first * taps + (lane - 1) * taps + -(-taps // lane) * lane <= weights.size:
        for j in range(0, taps, lane):
            turn(weights, first * taps + j, taps, space, to + j * lane, lane, lane, lane)
    else:
        turn_channels(weights, first * taps, taps, space, to, lane, channels, taps, lane)


@inlined
def copy_inside(space: Array, begin: int, h: int, w: int, goal: int, down: int, right: int) -> None:
    """Copy cells of an image to rows that lie `down` apart, and in a row to cells that lie `right` apart."""
    lane = lanes(space)
    for y in range(h):
        for x in range(w):
            store(space, goal + y * down + x * right, load(space, begin + (y * w + x) * lane))


@inlined
def slide_along(space: Array, rows: Any, window: Any, goal: int, ow: int, stride: int) -> None:
    """The sums of a row of places, BLOCK at a time; where it has fewer, some more are written behind it.

    Args:
        space: scratch, in which all of it lies.
        rows: where the first row of cells begins, the rows of taps that are taken (from, below, every so many), and how
            far apart the rows are that two rows of taps see.
        window: the first tap, how many are in a row, how far the next one is, and the cell that it sees.
        goal: where the sums go.
        ow: how many.
        stride: from the cells of a place to those of the next.
    """
    lane = lanes(space)
    begin, above, below, step, down = rows
    taps, kw, next_tap, right = window
    for x in range(0, ow, BLOCK):
        first = max(0, min(x, ow - BLOCK))
        a = b = c = d = e = f = g = zeros(space)
        for ky in range(above, below, step):
            for kx in range(kw):
                weight = load(space, taps + (ky * kw + kx) * next_tap)
                cell = begin + ky * down + first * stride + kx * right
                a = fma(weight, load(space, cell), a)
                b = fma(weight, load(space, cell + stride), b)
                c = fma(weight, load(space, cell + 2 * stride), c)
                d = fma(weight, load(space, cell + 3 * stride), d)
                e = fma(weight, load(space, cell + 4 * stride), e)
                f = fma(weight, load(space, cell + 5 * stride), f)
                g = fma(weight, load(space, cell + 6 * stride), g)
        to = goal + first * lane
        store(space, to, a)
        store(space, to + lane, b)
        store(space, to + 2 * lane, c)
        store(space, to + 3 * lane, d)
        store(space, to + 4 * lane, e)
        store(space, to + 5 * lane, f)
        store(space, to + 6 * lane, g)
