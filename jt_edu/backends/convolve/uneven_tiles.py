"""Uneven tiles: may the sums of a tile be computed together, or is one of its numbers too large for that?

Winograd and Fourier compute many sums from common parts, so each sum has an error that goes with the largest number of
its tile, even where its own window does not see that number. As long as every window sees numbers of about that size,
this is an error like any other. So before a tile is transformed, the patch that it looks at is seen as cells

    | 3 . | . 1 | . . |        a cell: the largest of 2 x 2 pixels, in all channels, without its sign
    | . . | 2 . | . 1 |
    | . . | . . | 2 . |        where a window has 3 x 3 taps, each one covers a whole cell, wherever it stands
    | . 1 | . . | . 1 |

and if no cell holds FAR times what another one holds, no window does. Else the sums are to be written out. Infinity
and nan, which spread over all that they are added to, are too large in any company. Beyond the border a picture goes on
as its last row or column, which each window there sees: none lies beyond it altogether (`no_sum_is_empty`).

Nothing here knows in which way tiles are transformed.
"""

from __future__ import annotations

from math import inf

from jt_edu.backends.convolve.llvm import Array, inlined, lanes
from jt_edu.backends.convolve.simd import larger, largest_of, load, smaller, store, write_zeros, zeros
from jt_edu.backends.mathlib import at

FAR = 64  # times the least cell
Seen = tuple[int, int, int]  # of a direction: the first pixel, the one after the last, and how long a cell is


@inlined
def look(
    space: Array, strip: int, first: int, after: int, w: int, left: int, cells: int, lines: int, across: int,
    fresh: bool,
) -> None:  # fmt: skip
    """Fill `lines` x `across` cells, or add the channels of one more vector to them.

    A strip of rows of `w` vectors, of which those from `first` up to `after` are rows of the picture, begins `left`
    columns behind the first cell.
    """
    lane = lanes(space)
    for i in range(lines):
        above = strip + min(max(2 * i, first), after - 1) * w * lane
        below = strip + min(max(2 * i + 1, first), after - 1) * w * lane
        for j in range(across if after > first else 0):
            x, y = inside(2 * j - left, w) * lane, inside(2 * j + 1 - left, w) * lane
            upper = larger(load(space, above + x), load(space, above + y))
            most = larger(upper, larger(load(space, below + x), load(space, below + y)))
            store(space, cells, most if fresh else larger(most, load(space, cells)))
            cells += lane
        if after == first and fresh:
            write_zeros(space, cells, cells + across * lane)
            cells += across * lane


@inlined
def uneven(space: Array, cells: int, across: int, step: int, wide: int, side: int) -> bool:
    """Whether a row of `wide` tiles has a patch of side x side cells of which one is too large for the others.

    A row of cells has `across` of them, and each patch begins `step` cells behind the last one. First a lane alone is
    asked: where its numbers are of one size, the cells are, whatever the other lanes have.
    """
    lane = lanes(space)
    for t in range(wide):
        begin = cells + t * step * lane
        most = least = load(space, begin)
        for i in range(side):
            for j in range(side):
                cell = load(space, begin + (i * across + j) * lane)
                most, least = larger(most, cell), smaller(least, cell)
        limit = largest_of(most) / FAR
        if not limit < inf:
            return True
        if limit > largest_of(least) and not _even(space, begin, across, side, limit):
            return True
    return False


@inlined
def _even(space: Array, begin: int, across: int, side: int, limit: float) -> bool:
    """Whether each cell of a patch reaches the limit."""
    for i in range(side):
        for j in range(side):
            if largest_of(load(space, begin + (i * across + j) * lanes(space))) < limit:
                return False
    return True


@inlined
def seen(y: int, h: int, tall: int, taps: int) -> tuple[int, int, int]:
    """In one direction: of `tall` pixels from y on, those that exist, and the length of a cell.

    Each window covers a whole cell of half of what is seen of it, and at a border that is less than all its taps.
    """
    first, after = max(0, -y), min(tall, h - y)
    least = min(taps, after - first, taps - first, after - tall + taps)
    return first, after, (least + 1) // 2


@inlined
def look_at_plane(space: Array, plane: int, size: int, down: Seen, across: Seen, cells: int, fresh: bool) -> None:
    """Fill cells from a plane of size x size pixels, each of which is two vectors of channels; or add these to them."""
    (top, bottom, high), (left, right, long), lane = down, across, lanes(space)
    for i in range(top, bottom, high):
        for j in range(left, right, long):
            one, two = load(space, cells), load(space, cells + lane)
            if fresh:
                one = two = zeros(space)
            for row in range(i, min(i + high, bottom)):
                for pixel in range(row * (size + 1) + j, row * (size + 1) + min(j + long, right)):
                    begin = plane + pixel * 2 * lane
                    one, two = larger(one, load(space, begin)), larger(two, load(space, begin + lane))
            store(space, cells, one)
            store(space, cells + lane, two)
            cells += 2 * lane


@inlined
def ends_of_cells(
    space: Array, cells: int, down: Seen, across: Seen, channels: int, together: bool
) -> tuple[float, float]:  # fmt: skip
    """The least whole cell, and the largest of all, which may be infinity: of all channels together, or of each."""
    (top, bottom, high), (left, right, long), most, least, finite = down, across, 0.0, inf, True
    for i in range(top, bottom, high):
        for j in range(left, right, long):
            if together:
                space[at(cells)] = largest_of(larger(load(space, cells), load(space, cells + lanes(space))))
            for k in range(1 if together else channels):
                cell = space[at(cells + k)]
                most, finite = max(most, cell), finite and cell < inf
                if i + high <= bottom and j + long <= right:
                    least = min(least, cell)
            cells += 2 * lanes(space)
    return least, most if finite else inf


@inlined
def inside(k: int, length: int) -> int:
    """The nearest row or column of a picture."""
    return min(max(k, 0), length - 1)
