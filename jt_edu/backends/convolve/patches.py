"""Patches: how does Winograd's algorithm cut a picture into tiles, and put it together again?

m x m sums beside each other, a *tile*, look at a patch of (m + 2) x (m + 2) numbers of the image. `points.py` has
transforms of the patch and of the 3 x 3 taps after which one multiplication for each of (m + 2) x (m + 2) points is
enough to find all the sums: 36 for m = 4, not 144. This is paid for with additions, once per channel and not per pair:

    image   --(turned: channels side by side)--> lines down --> lines across -->  V[tile, point, c]
    weights --(turned)-------------------------> lines down --> lines across -->  U[point, c, o]
    for each point                                                  M[:, point] = V[:, point] @ U[point]
    M[tile, point, o] --> lines down --> lines across --(turned back)----------->  places

A *line* is a transform in one direction. It comes from the kernel, as does m: everything here is the same for m = 2 and
m = 4. Patches overlap by two rows and two columns. A *block* is some whole rows of tiles, so few that V, and M for a
*panel* of two or more vectors of output channels, stay in the cache. `space` holds room to work, V, U and M, in turn.

For the gradient by the weights V is multiplied by the places, after a transform of theirs to the same points: by P. The
sum over all tiles, M[point, o, c], comes back as taps:

    for each block, for each point          M[point] += transpose(P[:, point]) @ V[:, point]

Nothing here knows the numbers of the transforms, or threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from jt_edu.backends.convolve.llvm import Array, inlined, lanes
from jt_edu.backends.convolve.tile import tile
from jt_edu.backends.convolve.transform import turn
from jt_edu.backends.convolve.vector import load, store, write_zeros, zeros

__all__ = [
    "UNITS", "Layout", "compute", "cut", "cut_all", "layout_by_weights", "layout_of", "panel_count", "turn_taps",
    "turn_taps_back", "write_taps",
]  # fmt: skip

Line = Callable[[Array, int, int, int, int], None]  # of (space, start, step) makes (space, goal, goal_step)
Taps = Callable[[Array, int, int, int, Array], tuple[int, int, int]]

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
    end = sums + rows * wide * (points * points * width + lane)
    return Layout(size, points, high, wide, rows, row, room, weights, sums, end)


@inlined
def layout_by_weights(size: int, n: int, c: int, o: int, w: int, oh: int, ow: int, lane: int) -> Layout:
    """The same for the gradient by the weights: P, for a panel, stands where U would, and M is that of all panels."""
    layout = layout_of(size, n, c, o, max(w, ow), oh, ow, lane)
    points, rows = layout.points * layout.points, layout.rows
    sums = layout.weights + rows * layout.wide * (points * min(o, 4 * lane) + lane)
    end = sums + points * o * c
    return Layout(
        size, layout.points, layout.high, layout.wide, rows, layout.row, layout.image, layout.weights, sums, end
    )


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
def compute(
    unit: int, begins: bool, image: Array, ph: int, pw: int, weights: Array, taps: Taps, out: Array,
    prepared: Array, space: Array, layout: Layout, image_line: Line, taps_line: Line, sums_line: Line,
) -> tuple[int, int, int, int]:  # fmt: skip
    """A unit of work: all places of a block of tiles, for a panel of channels; the answer of `part_of` says which.

    V of the block is in `prepared`, if that is not empty; else it is made where a thread `begins`, or a block does.
    """
    n, c, lane = image.shape[0], image.shape[1], lanes(image)
    begin, end, first, width = part_of(unit, layout, out.shape[1], lane, n * layout.high)
    ready = prepared.size > 0
    if not ready and (begins or first == 0):
        cut(image, 0, c, begin, end, ph, pw, 2, space, layout.image, layout, image_line)
    patches, start = (prepared, begin * layout.wide * layout.row) if ready else (space, layout.image)
    tiles = (end - begin) * layout.wide
    multiply(patches, start, tiles, c, weights, first, width, space, layout, taps, taps_line)
    write_places(out, begin, end, first, width, space, layout, sums_line)
    return begin, end, first, width


@inlined
def cut(
    image: Array, first: int, width: int, begin: int, end: int, ph: int, pw: int, overlap: int,
    space: Array, goal: int, layout: Layout, line: Line,
) -> None:  # fmt: skip
    """Fill V[tile, point, channel] for a block of tiles of some channels, for an image with zeros around it."""
    lane = lanes(image)
    for g in range(0, width, lane):
        channel = min(g, width - lane)  # the last vector of channels begins earlier
        cut_vector(image, first + channel, width, begin, end, ph, pw, overlap, space, 0, goal + channel, layout, line)


@inlined
def cut_vector(
    image: Array, channel: int, width: int, begin: int, end: int, ph: int, pw: int, overlap: int,
    space: Array, room: int, goal: int, layout: Layout, line: Line,
) -> None:  # fmt: skip
    """The same for the channels of one vector; there is room to work from `room` in space."""
    w, lane = image.shape[4], lanes(image)
    row, step = begin, layout.points * layout.points * width + lane
    while row < end:  # the rows that one picture has in this block
        picture, y = row // layout.high, layout.size * (row % layout.high)
        rows = min(layout.high - row % layout.high, end - row)
        turn_rows(image, picture, channel, y - ph, layout.size * rows + overlap, space, room)
        for r in range(rows):
            strip = room + layout.size * r * w * lane
            lift_row(space, room, strip, w, pw, overlap, goal + r * layout.wide * step, width, layout, line)
        goal += rows * layout.wide * step
        row += rows


@inlined
def cut_all(image: Array, unit: int, ph: int, pw: int, prepared: Array, layout: Layout, line: Line) -> None:
    """Fill V for all tiles of all channels: every UNITS-th vector of channels of some rows of tiles, from `unit` on.

    Behind V each unit has room to work.
    """
    n, c = image.shape[:2]
    lane, total = lanes(image), n * layout.high
    vectors, room = -(-c // lane), total * layout.wide * layout.row + unit * layout.image
    rows = min(layout.rows, -(-total // max(1, UNITS // vectors)))  # the more, the fewer are turned twice
    for item in range(unit, -(-total // rows) * vectors, UNITS):
        row, channel = item // vectors * rows, min(item % vectors * lane, c - lane)
        goal, end = row * layout.wide * layout.row + channel, min(total, row + rows)
        cut_vector(image, channel, c, row, end, ph, pw, 2, prepared, room, goal, layout, line)


@inlined
def turn_rows(image: Array, picture: int, channel: int, top: int, rows: int, space: Array, room: int) -> None:
    """space[room + (y, x, i)] = image[picture, channel + i, top + y, x], 0 above and below."""
    _, c, _, h, w = image.shape
    lane = lanes(image)
    first = min(max(0, -top), rows)
    after = max(first, min(h - top, rows))
    start = ((picture * c + channel) * h + top + first) * w
    write_zeros(space, room, room + first * w * lane)
    turn_in(image, start, h * w, space, room + first * w * lane, (after - first) * w)
    write_zeros(space, room + after * w * lane, room + rows * w * lane)


@inlined
def turn_in(a: Array, a_start: int, a_row: int, b: Array, b_start: int, columns: int) -> None:
    """b[j, i] = a[i, j] for every lane i and any number of columns; `turn_channels` (beside.py) takes fewer lanes."""
    lane = lanes(a)
    for k in range(0, columns, lane):
        j = max(0, min(k, columns - lane))
        turn(a, a_start + j, a_row, b, b_start + j * lane, lane, lane, min(lane, columns))


@inlined
def lift_row(
    space: Array, room: int, strip: int, w: int, pw: int, overlap: int, goal: int, width: int, layout: Layout,
    line: Line,
) -> None:  # fmt: skip
    """V for one row of tiles, for the channels of one vector."""
    lane, size, points = lanes(space), layout.size, layout.points
    columns, step = size * layout.wide + overlap, points * points * width + lane
    middle = room + layout.image - points * columns * lane
    for x in range(columns):
        if 0 <= x - pw < w:
            line(space, strip + (x - pw) * lane, w * lane, middle + x * lane, columns * lane)
        else:
            for i in range(points):
                store(space, middle + (i * columns + x) * lane, zeros(space))
    for t in range(layout.wide):
        for i in range(points):
            begin = middle + (i * columns + size * t) * lane
            line(space, begin, lane, goal + t * step + i * points * width, width)


@inlined
def turn_taps(weights: Array, o: int, c: int, depth: int, space: Array) -> tuple[int, int, int]:
    """space[k, tap, i] = weights[o + i, c + k, tap]; where they begin, and the steps of k and tap."""
    lane, channels = lanes(weights), weights.shape[1]
    turn_in(weights, (o * channels + c) * 9, channels * 9, space, 0, depth * 9)
    return 0, 9 * lane, lane


@inlined
def turn_taps_back(weights: Array, c: int, o: int, depth: int, space: Array) -> tuple[int, int, int]:
    """space[k, tap, i] = weights[o + k, c + i, tap], seen from the last tap; begin and steps as above."""
    lane, channels = lanes(weights), weights.shape[1]
    rows = max(9, lane)  # a full block, of which 9 rows are of use
    for k in range(depth):
        start = ((o + k) * channels + c) * 9
        early = max(0, start + 9 * (lane - 1) + rows - weights.size)  # the last block must end with the array
        turn_in(weights, start - early, 9, space, ((k + 1) * rows - early) * lane, rows)
    return (rows + 8) * lane, rows * lane, -lane


@inlined
def lift_weights(
    weights: Array, first: int, width: int, channel: int, depth: int, space: Array, layout: Layout,
    taps: Taps, line: Line,
) -> None:  # fmt: skip
    """U[point, k, o] for some channels that are summed over, and a panel of channels o."""
    lane = lanes(space)
    for g in range(0, width, lane):
        o = min(g, width - lane)
        for k in range(0, depth, TURNED):
            some = min(TURNED, depth - k)
            start, row, step = taps(weights, first + o, channel + k, some, space)
            goal = layout.weights + k * width + o
            lift_taps(space, start, row, step, some, goal, width, depth * width + lane, layout.points, line)


@inlined
def lift_taps(
    space: Array, start: int, row: int, step: int, depth: int,
    goal: int, width: int, plane: int, points: int, line: Line,
) -> None:  # fmt: skip
    """The same for some turned taps."""
    lane = lanes(space)
    middle = (TURNED + 1) * max(9, lane) * lane
    for k in range(depth):
        for x in range(3):
            line(space, start + k * row + x * step, 3 * step, middle + x * lane, 3 * lane)
        for i in range(points):
            line(space, middle + 3 * i * lane, lane, goal + k * width + i * points * plane, plane)


@inlined
def multiply(
    patches: Array, begin: int, tiles: int, c: int, weights: Array, first: int, width: int, space: Array,
    layout: Layout, taps: Taps, line: Line,
) -> None:  # fmt: skip
    """M for a panel of channels: V of some tiles, which begins there in `patches`, times U, for each point."""
    lane, points = lanes(space), layout.points * layout.points
    for channel in range(0, c, CHUNK):
        depth = min(CHUNK, c - channel)
        lift_weights(weights, first, width, channel, depth, space, layout, taps, line)
        for point in range(points):
            tile(
                patches, begin + point * c + channel, layout.row, 1,
                space, layout.weights + point * (depth * width + lane), width,
                space, layout.sums + point * width, points * width + lane,
                tiles, width, depth, channel == 0,
            )  # fmt: skip


@inlined
def write_places(
    out: Array, begin: int, end: int, first: int, width: int, space: Array, layout: Layout, line: Line
) -> None:
    """Write the places of a block of tiles, for a panel of channels."""
    _, channels, _, oh, ow = out.shape
    lane, size, points = lanes(out), layout.size, layout.points
    strip, step = size * points * lane, points * points * width + lane
    for row in range(begin, end):
        picture, y = row // layout.high, size * (row % layout.high)
        start = layout.sums + (row - begin) * layout.wide * step
        for g in range(0, width, lane):
            o = min(g, width - lane)
            for t in range(
                layout.wide - 1, -1, -1
            ):  # the last may reach into the next row: those on its left mend that
                lower_tile(space, start + t * step + o, width, strip + size * t * lane, ow, size, points, line)
            goal = ((picture * channels + first + o) * oh + y) * ow
            turn_out(space, strip, out, goal, oh * ow, min(size, oh - y) * ow)


@inlined
def lower_tile(space: Array, start: int, width: int, goal: int, ow: int, size: int, points: int, line: Line) -> None:
    """The sums of one tile, for the channels of one vector."""
    lane = lanes(space)
    for j in range(points):
        line(space, start + j * width, points * width, j * lane, points * lane)
    for i in range(size):
        line(space, i * points * lane, lane, goal + i * ow * lane, lane)


@inlined
def turn_out(a: Array, a_start: int, b: Array, b_start: int, b_row: int, positions: int) -> None:
    """b[i, j] = a[j, i] for every lane i and any number of positions."""
    lane = lanes(a)
    for k in range(0, positions, lane):
        j = max(0, min(k, positions - lane))
        turn(a, a_start + j * lane, lane, b, b_start + j, b_row, min(lane, positions), lane)


@inlined
def write_taps(out: Array, first: int, width: int, space: Array, sums: int, points: int, line: Line) -> None:
    """Write the taps of a panel of channels o, from M[point, o, c]."""
    c, lane = out.shape[1], lanes(out)
    strip = 3 * points * lane
    flat = strip + max(9, lane) * lane
    for o in range(width):
        for g in range(0, c, lane):
            channel = min(g, c - lane)
            for j in range(points):
                start = sums + (j * width + o) * c + channel
                line(space, start, points * width * c, j * lane, points * lane)
            for i in range(3):
                line(space, i * points * lane, lane, strip + 3 * i * lane, lane)
            turn_out(space, strip, space, flat, 9, max(9, lane))  # what is too much, the next row writes over
            for k in range(9):
                store(out, ((first + o) * c + channel) * 9 + k * lane, load(space, flat + k * lane))
