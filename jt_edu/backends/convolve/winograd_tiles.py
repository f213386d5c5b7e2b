"""Winograd tiles: how does Winograd's algorithm cut a picture into tiles, and put it together again?

m x m sums beside each other, a *tile*, look at a patch of (m + 2) x (m + 2) numbers of the image.
`winograd_transforms.py` has transforms of the patch and of the 3 x 3 taps after which one multiplication for each of (m
+ 2) x (m + 2) points is enough to find all the sums: 36 for m = 4, not 144. This is paid for with additions, once per
channel and not per pair:

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

from jt_edu.backends.convolve.gemm_microkernel import tile
from jt_edu.backends.convolve.llvm import Array, inlined, lanes
from jt_edu.backends.convolve.simd import load, store, sum_of, write_zeros, zeros
from jt_edu.backends.convolve.simd_blocks import turn
from jt_edu.backends.convolve.uneven_tiles import look
from jt_edu.backends.convolve.winograd_blocks import (
    CHUNK,
    TURNED,
    UNITS,
    Layout,
    factors_of,
    layout_by_weights,
    layout_of,
    panel_count,
    part_of,
    products,
    uneven_block,
)
from jt_edu.backends.mathlib import at

__all__ = [
    "UNITS", "Cut", "Layout", "compute", "cut", "cut_all", "factors_of", "layout_by_weights", "layout_of",
    "panel_count", "products", "turn_taps", "turn_taps_back", "uneven_block", "write_taps",
]  # fmt: skip

Line = Callable[[Array, int, int, int, int], None]  # of (space, start, step) makes (space, goal, goal_step)
Taps = Callable[[Array, int, int, int, Array], tuple[int, int, int]]


class Cut(NamedTuple):
    """What becomes of a patch."""

    plain: bool  # V is the patch as it is, since sums are to be written out; else its transform
    lifts: bool  # V is filled
    looks: bool  # cells are filled


@inlined
def compute(
    unit: int, begins: bool, image: Array, ph: int, pw: int, weights: Array, taps: Taps, out: Array,
    prepared: Array, space: Array, layout: Layout, image_line: Line, taps_line: Line, sums_line: Line,
) -> tuple[int, int, int, int]:  # fmt: skip
    """A unit of work: all places of a block of tiles, for a panel of channels; the answer of `part_of` says which.

    V of the block is in `prepared`, if that is not empty; else it is made where a thread `begins`, or a block does. If
    its cells are uneven, or a sum is infinite or nan, all is done again, and written out.
    """
    n, c, lane = image.shape[0], image.shape[1], lanes(image)
    begin, end, first, width = part_of(unit, layout, out.shape[1], lane, n * layout.high)
    ready, looks, must, is_out = prepared.size > 0, begins or first == 0, at(layout.state), at(layout.state + 1)
    if looks:
        space[must] = 0
    plain, done, tiles = space[must] > 0, False, (end - begin) * layout.wide
    while not done:
        if looks or ((plain or not ready) and plain != (space[is_out] > 0)):
            how = Cut(plain, plain or not ready, looks)
            cut(image, 0, c, begin, end, ph, pw, 2, space, layout.image, layout, image_line, how)
            space[is_out] = plain
        if looks and uneven_block(space, begin, end, 2, layout):
            space[must], plain, looks = 1, True, False
            continue
        looks, room = False, (space, layout.image)
        patches, start = room if plain or not ready else (prepared, begin * layout.wide * layout.row)
        multiply(patches, start, tiles, c, weights, first, width, space, layout, taps, taps_line, plain)
        sound = write_places(out, begin, end, first, width, space, layout, sums_line, plain)
        done, plain = sound or plain, True
    return begin, end, first, width


@inlined
def cut(
    image: Array, first: int, width: int, begin: int, end: int, ph: int, pw: int, overlap: int,
    space: Array, goal: int, layout: Layout, line: Line, how: Cut,
) -> None:  # fmt: skip
    """Fill V[tile, point, channel], or cells, for a block of tiles of some channels; around the image are zeros."""
    lane = lanes(image)
    for g in range(0, width, lane):
        channel = min(g, width - lane)  # the last vector of channels begins earlier
        cut_vector(
            image, first + channel, width, begin, end, ph, pw, overlap, space, 0, goal + channel, layout, line, how,
            g == 0,
        )  # fmt: skip


@inlined
def cut_vector(
    image: Array, channel: int, width: int, begin: int, end: int, ph: int, pw: int, overlap: int,
    space: Array, room: int, goal: int, layout: Layout, line: Line, how: Cut, fresh: bool,
) -> None:  # fmt: skip
    """The same for the channels of one vector; there is room to work from `room` in space."""
    w, lane = image.shape[4], lanes(image)
    row, step, cells = begin, layout.points * layout.points * width + lane, layout.cells
    across = (layout.size * layout.wide + overlap) // 2
    while row < end:  # the rows that one picture has in this block
        picture, y = row // layout.high, layout.size * (row % layout.high)
        rows = min(layout.high - row % layout.high, end - row)
        before, after = turn_rows(image, picture, channel, y - ph, layout.size * rows + overlap, space, room)
        if how.looks:
            lines = (layout.size * rows + overlap) // 2
            look(space, room, before, after, w, pw, cells, lines, across, fresh)
            cells += lines * across * lane
        for r in range(rows if how.lifts else 0):
            strip, to = room + layout.size * r * w * lane, goal + r * layout.wide * step
            if how.plain:
                place_row(space, strip, w, pw, overlap, to, width, layout)
            else:
                lift_row(space, room, strip, w, pw, overlap, to, width, layout, line)
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
        how = Cut(False, True, False)
        cut_vector(image, channel, c, row, end, ph, pw, 2, prepared, room, goal, layout, line, how, False)


@inlined
def turn_rows(
    image: Array, picture: int, channel: int, top: int, rows: int, space: Array, room: int
) -> tuple[int, int]:
    """space[room + (y, x, i)] = image[picture, channel + i, top + y, x], or 0; which rows of that exist: from, to."""
    _, c, _, h, w = image.shape
    lane = lanes(image)
    first = min(max(0, -top), rows)
    after = max(first, min(h - top, rows))
    start = ((picture * c + channel) * h + top + first) * w
    write_zeros(space, room, room + first * w * lane)
    turn_in(image, start, h * w, space, room + first * w * lane, (after - first) * w)
    write_zeros(space, room + after * w * lane, room + rows * w * lane)
    return first, after


@inlined
def turn_in(a: Array, a_start: int, a_row: int, b: Array, b_start: int, columns: int) -> None:
    """b[j, i] = a[i, j] for every lane i and any number of columns; `turn_channels` takes fewer lanes."""
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
def place_row(
    space: Array, strip: int, w: int, pw: int, overlap: int, goal: int, width: int, layout: Layout
) -> None:  # fmt: skip
    """The same where sums are written out: the patches, pixel by pixel."""
    lane, size, points = lanes(space), layout.size, layout.points
    for t in range(layout.wide):
        for i in range(size + overlap):
            for j in range(size + overlap):
                x = size * t + j - pw
                pixel = load(space, strip + (i * w + x) * lane) if 0 <= x < w else zeros(space)
                store(space, goal + (i * points + j) * width, pixel)
        goal += points * points * width + lane


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
    taps: Taps, line: Line, plain: bool,
) -> None:  # fmt: skip
    """U[point, k, o] for some channels that are summed over, and a panel of channels o."""
    lane = lanes(space)
    for g in range(0, width, lane):
        o = min(g, width - lane)
        for k in range(0, depth, TURNED):
            some = min(TURNED, depth - k)
            start, row, step = taps(weights, first + o, channel + k, some, space)
            goal, plane = layout.weights + k * width + o, depth * width + lane
            if plain:
                place_taps(space, start, row, step, some, goal, width, plane, layout.points)
            else:
                lift_taps(space, start, row, step, some, goal, width, plane, layout.points, line)


@inlined
def place_taps(
    space: Array, start: int, row: int, step: int, depth: int, goal: int, width: int, plane: int, points: int
) -> None:  # fmt: skip
    """U where sums are written out: the turned taps as they are."""
    for k in range(depth):
        for tap in range(9):
            to = goal + k * width + (tap // 3 * points + tap % 3) * plane
            store(space, to, load(space, start + k * row + tap * step))


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
    layout: Layout, taps: Taps, line: Line, plain: bool,
) -> None:  # fmt: skip
    """M for a panel of channels: V of some tiles, which begins there in `patches`, times U, for each point."""
    lane, points = lanes(space), layout.points * layout.points
    for channel in range(0, c, CHUNK):
        depth = min(CHUNK, c - channel)
        lift_weights(weights, first, width, channel, depth, space, layout, taps, line, plain)
        for k in range(products(layout, plain)):
            point, tap, place = factors_of(k, layout, plain)
            tile(
                patches, begin + point * c + channel, layout.row, 1,
                space, layout.weights + tap * (depth * width + lane), width,
                space, layout.sums + place * width, points * width + lane,
                tiles, width, depth, channel == 0 and (tap == 0 or not plain),
            )  # fmt: skip


@inlined
def write_places(
    out: Array, begin: int, end: int, first: int, width: int, space: Array, layout: Layout, line: Line, plain: bool
) -> bool:
    """Write the places of a block of tiles, for a panel of channels; whether all of them are finite."""
    _, channels, _, oh, ow = out.shape
    lane, size, points = lanes(out), layout.size, layout.points
    strip, step, nothing = size * points * lane, points * points * width + lane, zeros(out)
    for row in range(begin, end):
        picture, y = row // layout.high, size * (row % layout.high)
        start = layout.sums + (row - begin) * layout.wide * step
        for g in range(0, width, lane):
            o = min(g, width - lane)
            for t in range(
                layout.wide - 1, -1, -1
            ):  # the last may reach into the next row: those on its left mend that
                tile_at, to = start + t * step + o, strip + size * t * lane
                if plain:
                    place_sums(space, tile_at, points * width, width, to, ow * lane, size)
                else:
                    lower_tile(space, tile_at, width, to, ow, size, points, line)
            goal = ((picture * channels + first + o) * oh + y) * ow
            turn_out(space, strip, out, goal, oh * ow, min(size, oh - y) * ow)
            nothing = nothing + no_more_of(space, strip, min(size, oh - y) * ow)
    return bool(sum_of(nothing) == 0)


@inlined
def no_more_of(space: Array, strip: int, count: int) -> Array:
    """0 times some vectors: 0, or nan where one of them has infinity or nan."""
    nothing = zeros(space)
    for k in range(count):
        nothing = load(space, strip + k * lanes(space)) * 0.0 + nothing
    return nothing


@inlined
def place_sums(
    space: Array, start: int, row: int, step: int, goal: int, goal_row: int, size: int
) -> None:  # fmt: skip
    """size x size sums that were written out, for the channels of one vector."""
    for i in range(size):
        for j in range(size):
            store(space, goal + i * goal_row + j * lanes(space), load(space, start + i * row + j * step))


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
def write_taps(
    out: Array, first: int, width: int, space: Array, sums: int, points: int, line: Line, plain: bool
) -> bool:
    """Write the taps of a panel of channels o, from M[point, o, c]; whether all of them are finite."""
    c, lane = out.shape[1], lanes(out)
    strip = 3 * points * lane
    flat, nothing = strip + max(9, lane) * lane, zeros(out)
    for o in range(width):
        for g in range(0, c, lane):
            channel = min(g, c - lane)
            start = sums + o * c + channel
            if plain:
                place_sums(space, start, points * width * c, width * c, strip, 3 * lane, 3)
            else:
                lower_taps(space, start, width * c, strip, points, line)
            nothing = nothing + no_more_of(space, strip, 9)
            turn_out(space, strip, space, flat, 9, max(9, lane))  # what is too much, the next row writes over
            for k in range(9):
                store(out, ((first + o) * c + channel) * 9 + k * lane, load(space, flat + k * lane))
    return bool(sum_of(nothing) == 0)


@inlined
def lower_taps(space: Array, start: int, step: int, goal: int, points: int, line: Line) -> None:
    """The taps of one channel o, for the channels c of one vector."""
    lane = lanes(space)
    for j in range(points):
        line(space, start + j * step, points * step, j * lane, points * lane)
    for i in range(3):
        line(space, i * points * lane, lane, goal + 3 * i * lane, lane)
