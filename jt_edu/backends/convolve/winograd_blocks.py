"""Winograd blocks: how do Winograd's tiles lie in an image, and what lies where in the scratch of a kernel?

    picture, 9 x 9 places, m = 4       a block: some whole rows of tiles, of one picture or of several

    | 0 . . . | 1 . . . | 2 |           space   | room to work | V | U | M | cells | marks |
    | . . . . | . . . . | . |
    | . . . . | . . . . | . |           V has a row for each tile: points of all channels, and a vector that is not used
    | . . . . | . . . . | . |
    | 3 . . . | 4 . . . | 5 |

Where sums are written out, since a tile is too uneven for a transform (`uneven_tiles.py`), pixels, taps and sums lie
where points did. Then it is not one product of matrices for each point, but one for each place of a tile with each tap.

Nothing here knows how V, U and M are filled: that is in `winograd_tiles.py`.
"""

from __future__ import annotations

from typing import NamedTuple

from jt_edu.backends.convolve.llvm import Array, inlined, lanes
from jt_edu.backends.convolve.uneven_tiles import uneven

CHUNK = 64  # channels c of which U is in the cache at a time
TURNED = 16  # channels of which the taps are turned at a time
BLOCK = 3_500  # points of all its tiles: 97 tiles of 4 x 4
UNITS = 8  # of work, to make V beforehand


class Layout(NamedTuple):
    """How tiles lie in the image, and their numbers in `space`."""

    size: int  # of a tile: m
    points: int  # in each direction: m + 2
    high: int  # tiles in a column of one picture
    wide: int  # tiles in a row
    rows: int  # rows of tiles in a block
    row: int  # numbers of V for one tile
    image: int  # where V begins; before it is room to work
    weights: int  # where U begins
    sums: int  # where M begins
    cells: int  # where the cells of a block begin
    state: int  # where two numbers tell of V of the block whether it has to be, and whether it is, written out
    end: int  # of all


@inlined
def layout_of(size: int, n: int, c: int, o: int, w: int, oh: int, ow: int, lane: int) -> Layout:
    """The layout for an image of n pictures, c channels and w columns, and for o channels of oh x ow places."""
    points, high, wide = size + 2, -(-oh // size), -(-ow // size)
    rows = max(1, min(n * high, BLOCK // (points * points * wide)))
    rows = -(-n * high // -(-n * high // rows))  # blocks of about the same length
    room = max(
        (size * rows + 2) * w + points * (size * wide + 2),  # a turned strip of the image, lines down
        (TURNED + 1) * max(9, lane) + 3 * points,  # turned taps, lines down
        size * (ow + points + 1),  # lines down, a strip of places
    ) * lane  # fmt: skip
    row = points * points * c + lane  # not quite a power of two, or all rows would compete for one place of the cache
    weights = room + rows * wide * row
    width = min(o, 4 * lane)
    sums = weights + points * points * (CHUNK * width + lane)
    cells = sums + rows * wide * (points * points * width + lane)
    state = cells + rows * (size // 2 + 1) * (size * wide // 2 + 1) * lane
    return Layout(size, points, high, wide, rows, row, room, weights, sums, cells, state, state + 2)


@inlined
def layout_by_weights(size: int, n: int, c: int, o: int, w: int, oh: int, ow: int, lane: int) -> Layout:
    """The same for the gradient by the weights: P, for a panel, stands where U would, and M is that of all panels."""
    layout = layout_of(size, n, c, o, max(w, ow), oh, ow, lane)
    points, rows = layout.points * layout.points, layout.rows
    sums = layout.weights + rows * layout.wide * (points * min(o, 4 * lane) + lane)
    cells = sums + points * o * c
    state = cells + layout.state - layout.cells
    return Layout(
        size, layout.points, layout.high, layout.wide, rows, layout.row, layout.image, layout.weights, sums, cells,
        state, state + panel_count(o, lane),
    )  # fmt: skip


@inlined
def panel_count(o: int, lane: int) -> int:
    """Panels of output channels: two vectors each, and the last takes the rest."""
    return max(1, o // (2 * lane))


@inlined
def part_of(unit: int, layout: Layout, o: int, lane: int, total: int) -> tuple[int, int, int, int]:
    """Of a unit of work: the rows of tiles of its block, of `total`; the first channel of its panel, and how many."""
    panels = panel_count(o, lane)
    block, panel = unit // panels, unit % panels
    first = 2 * lane * panel
    width = 2 * lane if panel < panels - 1 else o - first
    return block * layout.rows, min((block + 1) * layout.rows, total), first, width


@inlined
def products(layout: Layout, plain: bool) -> int:
    """How many products of matrices there are: one for each point; written out, one for each place with each tap."""
    return 9 * layout.size * layout.size if plain else layout.points * layout.points


@inlined
def factors_of(k: int, layout: Layout, plain: bool) -> tuple[int, int, int]:
    """Which of the points of V, U and M belong to product k. Written out they are pixels, taps and places."""
    if not plain:
        return k, k, k
    y, x, ky, kx = k // 9 // layout.size, k // 9 % layout.size, k % 9 // 3, k % 3
    points = layout.points
    return (y + ky) * points + x + kx, ky * points + kx, y * points + x


@inlined
def uneven_block(space: Array, begin: int, end: int, overlap: int, layout: Layout) -> bool:
    """Whether the cells of a block of tiles are uneven."""
    across, cells = (layout.size * layout.wide + overlap) // 2, layout.cells
    for row in range(begin, end):
        if uneven(space, cells, across, layout.size // 2, layout.wide, (layout.size + overlap) // 2):
            return True
        lines = (layout.size + (overlap if (row + 1) % layout.high == 0 else 0)) // 2  # pictures share none
        cells += lines * across * lanes(space)
    return False
