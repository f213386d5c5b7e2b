"""Cells: may the sums of a tile be computed together, or is one of its numbers too large for that?

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
from jt_edu.backends.convolve.vector import larger, largest_of, load, smaller, store, zeros
from jt_edu.backends.mathlib import at

__all__ = ["FAR", "ends_of_cells", "look", "look_at_plane", "uneven"]

FAR = 64  # times the least cell


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
        for j in range(across):
            most = zeros(space) if fresh else load(space, cells)
            if after > first:
                x = inside(2 * j - left, w) * lane
                y = inside(2 * j + 1 - left, w) * lane
                most = larger(most, larger(load(space, above + x), load(space, above + y)))
                most = larger(most, larger(load(space, below + x), load(space, below + y)))
            store(space, cells, most)
            cells += lane


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
def look_at_plane(
    space: Array, plane: int, size: int, y: int, x: int, h: int, w: int, tall: int, wide: int, kh: int, kw: int,
    cells: int, fresh: bool,
) -> None:  # fmt: skip
    """The cells of tall x wide pixels from (y, x) on, of which two vectors of channels lie in a plane of size x size.

    For windows of kh x kw, each of which covers a whole cell of half that size; two vectors for each cell.
    """
    high, long, lane = (kh + 1) // 2, (kw + 1) // 2, lanes(space)
    for i in range(0, tall, high):
        top, bottom = inside(y + i, h) - y, inside(y + min(i + high, tall) - 1, h) - y
        for j in range(0, wide, long):
            left, right = inside(x + j, w) - x, inside(x + min(j + long, wide) - 1, w) - x
            one, two = load(space, cells), load(space, cells + lane)
            if fresh:
                one = two = zeros(space)
            for row in range(top, bottom + 1):
                for pixel in range(row * (size + 1) + left, row * (size + 1) + right + 1):
                    at_pixel = plane + pixel * 2 * lane
                    one, two = larger(one, load(space, at_pixel)), larger(two, load(space, at_pixel + lane))
            store(space, cells, one)
            store(space, cells + lane, two)
            cells += 2 * lane


@inlined
def ends_of_cells(
    space: Array, cells: int, tall: int, wide: int, kh: int, kw: int, channels: int, together: bool
) -> tuple[float, float]:  # fmt: skip
    """The least whole cell and the largest of all, infinity if there is none: of all channels together, or of each."""
    high, long, lane, most, least, finite = (kh + 1) // 2, (kw + 1) // 2, lanes(space), 0.0, inf, True
    for i in range(0, tall, high):
        for j in range(0, wide, long):
            if together:
                space[at(cells)] = largest_of(larger(load(space, cells), load(space, cells + lane)))
            for k in range(1 if together else channels):
                cell = space[at(cells + k)]
                most, finite = max(most, cell), finite and cell < inf
                if i + high <= tall and j + long <= wide:
                    least = min(least, cell)
            cells += 2 * lane
    return least, most if finite else inf


@inlined
def inside(k: int, length: int) -> int:
    """The nearest row or column of a picture."""
    return min(max(k, 0), length - 1)
