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

from jt_edu.backends.convolve.tile import Array, inlined, lanes, tile
from jt_edu.backends.convolve.transform import turn
from jt_edu.backends.convolve.vector import load, store, zeros

__all__ = [
    "UNITS", "Plan", "cut", "cut_all", "join", "join_taps", "multiply", "panel_count", "part_of", "plan_by_weights",
    "plan_of", "turn_taps", "turn_taps_back",
]  # fmt: skip

Line = Callable[[Array, int, int, int, int], None]  # of (space, start, step) makes (space, goal, goal_step)
Taps = Callable[[Array, int, int, int, Array], tuple[int, int, int]]

CHUNK = 64  # channels c of which U is in the cache at a time
TURNED = 16  # channels of which the taps are turned at a time
BLOCK = 3_500  # points of all its tiles: 97 tiles of 4 x 4
UNITS = 8  # of work, to make V beforehand


class Plan(NamedTuple):
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
    end: int


@inlined
def plan_of(size: int, n: int, c: int, o: int, w: int, oh: int, ow: int, count: int) -> Plan:
    """The plan for an image of n pictures, c channels and w columns, and for o channels of oh x ow places."""
    points, high, wide = size + 2, -(-oh // size), -(-ow // size)
    rows = max(1, min(n * high, BLOCK // (points * points * wide)))
    rows = -(-n * high // -(-n * high // rows))  # blocks of about the same length
    room = max(
        (size * rows + 2) * w + points * (size * wide + 2),  # a turned strip of the image, lines down
        (TURNED + 1) * max(9, count) + 3 * points,  # turned taps, lines down
        size * (ow + points + 1),  # lines down, a strip of places
    ) * count  # fmt: skip
    row = points * points * c + count  # not quite a power of two, or all rows would compete for one place of the cache
    weights = room + rows * wide * row
    width = min(o, 4 * count)
    sums = weights + points * points * (CHUNK * width + count)
    end = sums + rows * wide * (points * points * width + count)
    return Plan(size, points, high, wide, rows, row, room, weights, sums, end)


@inlined
def plan_by_weights(size: int, n: int, c: int, o: int, w: int, oh: int, ow: int, count: int) -> Plan:
    """The same for the gradient by the weights: P, for a panel, stands where U would, and M is that of all panels."""
    plan = plan_of(size, n, c, o, max(w, ow), oh, ow, count)
    points, rows = plan.points * plan.points, plan.rows
    sums = plan.weights + rows * plan.wide * (points * min(o, 4 * count) + count)
    end = sums + points * o * c
    return Plan(size, plan.points, plan.high, plan.wide, rows, plan.row, plan.image, plan.weights, sums, end)


@inlined
def panel_count(o: int, count: int) -> int:
    """Panels of output channels: two vectors each, and the last takes the rest."""
    return max(1, o // (2 * count))


@inlined
def part_of(unit: int, plan: Plan, o: int, count: int, total: int) -> tuple[int, int, int, int]:
    """Of a unit of work: the rows of tiles of its block, of `total`; the first channel of its panel, and how many."""
    panels = panel_count(o, count)
    block, panel = unit // panels, unit % panels
    first = 2 * count * panel
    width = 2 * count if panel < panels - 1 else o - first
    return block * plan.rows, min((block + 1) * plan.rows, total), first, width


@inlined
def cut(
    image: Array, first: int, width: int, begin: int, end: int, ph: int, pw: int, overlap: int,
    space: Array, goal: int, plan: Plan, line: Line,
) -> None:  # fmt: skip
    """Fill V[tile, point, channel] for a block of tiles of some channels, for an image with zeros around it."""
    count = lanes(image)
    for g in range(0, width, count):
        channel = min(g, width - count)  # the last vector of channels begins earlier
        cut_vector(image, first + channel, width, begin, end, ph, pw, overlap, space, 0, goal + channel, plan, line)


@inlined
def cut_vector(
    image: Array, channel: int, width: int, begin: int, end: int, ph: int, pw: int, overlap: int,
    space: Array, room: int, goal: int, plan: Plan, line: Line,
) -> None:  # fmt: skip
    """The same for the channels of one vector; there is room to work from `room` in space."""
    w, count = image.shape[4], lanes(image)
    row, step = begin, plan.points * plan.points * width + count
    while row < end:  # the rows that one picture has in this block
        picture, y = row // plan.high, plan.size * (row % plan.high)
        rows = min(plan.high - row % plan.high, end - row)
        turn_rows(image, picture, channel, y - ph, plan.size * rows + overlap, space, room)
        for r in range(rows):
            strip = room + plan.size * r * w * count
            lift_row(space, room, strip, w, pw, overlap, goal + r * plan.wide * step, width, plan, line)
        goal += rows * plan.wide * step
        row += rows


@inlined
def cut_all(image: Array, unit: int, ph: int, pw: int, prepared: Array, plan: Plan, line: Line) -> None:
    """Fill V for all tiles of all channels: every UNITS-th vector of channels of some rows of tiles, from `unit` on.

    Behind V each unit has room to work.
    """
    n, c = image.shape[:2]
    count, total = lanes(image), n * plan.high
    vectors, room = -(-c // count), total * plan.wide * plan.row + unit * plan.image
    rows = min(plan.rows, -(-total // max(1, UNITS // vectors)))  # the more, the fewer are turned twice
    for item in range(unit, -(-total // rows) * vectors, UNITS):
        row, channel = item // vectors * rows, min(item % vectors * count, c - count)
        goal, end = row * plan.wide * plan.row + channel, min(total, row + rows)
        cut_vector(image, channel, c, row, end, ph, pw, 2, prepared, room, goal, plan, line)


@inlined
def turn_rows(image: Array, picture: int, channel: int, top: int, rows: int, space: Array, room: int) -> None:
    """space[room + (y, x, lane)] = image[picture, channel + lane, top + y, x], 0 above and below."""
    _, c, _, h, w = image.shape
    count = lanes(image)
    first = min(max(0, -top), rows)
    after = max(first, min(h - top, rows))
    start = ((picture * c + channel) * h + top + first) * w
    clear(space, room, first * w)
    turn_in(image, start, h * w, space, room + first * w * count, (after - first) * w)
    clear(space, room + after * w * count, (rows - after) * w)


@inlined
def clear(space: Array, start: int, vectors: int) -> None:
    """Zeros."""
    for i in range(vectors):
        store(space, start + i * lanes(space), zeros(space))


@inlined
def turn_in(a: Array, a_start: int, a_row: int, b: Array, b_start: int, columns: int) -> None:
    """b[j, lane] = a[lane, j] for any number of columns."""
    count = lanes(a)
    for k in range(0, columns, count):
        j = max(0, min(k, columns - count))
        turn(a, a_start + j, a_row, b, b_start + j * count, count, count, min(count, columns))


@inlined
def lift_row(
    space: Array, room: int, strip: int, w: int, pw: int, overlap: int, goal: int, width: int, plan: Plan, line: Line
) -> None:  # fmt: skip
    """V for one row of tiles, for the channels of one vector."""
    count, size, points = lanes(space), plan.size, plan.points
    columns, step = size * plan.wide + overlap, points * points * width + count
    middle = room + plan.image - points * columns * count
    for x in range(columns):
        if 0 <= x - pw < w:
            line(space, strip + (x - pw) * count, w * count, middle + x * count, columns * count)
        else:
            for i in range(points):
                store(space, middle + (i * columns + x) * count, zeros(space))
    for t in range(plan.wide):
        for i in range(points):
            begin = middle + (i * columns + size * t) * count
            line(space, begin, count, goal + t * step + i * points * width, width)


@inlined
def turn_taps(weights: Array, o: int, c: int, depth: int, space: Array) -> tuple[int, int, int]:
    """space[k, tap, lane] = weights[o + lane, c + k, tap]; where they begin, and the steps of k and tap."""
    count, channels = lanes(weights), weights.shape[1]
    turn_in(weights, (o * channels + c) * 9, channels * 9, space, 0, depth * 9)
    return 0, 9 * count, count


@inlined
def turn_taps_back(weights: Array, c: int, o: int, depth: int, space: Array) -> tuple[int, int, int]:
    """space[k, tap, lane] = weights[o + k, c + lane, tap], seen from the last tap; begin and steps as above."""
    count, channels = lanes(weights), weights.shape[1]
    rows = max(9, count)  # a full block, of which 9 rows are of use
    for k in range(depth):
        start = ((o + k) * channels + c) * 9
        early = max(0, start + 9 * (count - 1) + rows - weights.size)  # the last block must end with the array
        turn_in(weights, start - early, 9, space, ((k + 1) * rows - early) * count, rows)
    return (rows + 8) * count, rows * count, -count


@inlined
def lift_weights(
    weights: Array, first: int, width: int, channel: int, depth: int, space: Array, plan: Plan, taps: Taps, line: Line
) -> None:  # fmt: skip
    """U[point, k, o] for some channels that are summed over, and a panel of channels o."""
    count = lanes(space)
    for g in range(0, width, count):
        lane = min(g, width - count)
        for k in range(0, depth, TURNED):
            some = min(TURNED, depth - k)
            start, row, step = taps(weights, first + lane, channel + k, some, space)
            goal = plan.weights + k * width + lane
            lift_taps(space, start, row, step, some, goal, width, depth * width + count, plan.points, line)


@inlined
def lift_taps(
    space: Array, start: int, row: int, step: int, depth: int,
    goal: int, width: int, plane: int, points: int, line: Line,
) -> None:  # fmt: skip
    """The same for some turned taps."""
    count = lanes(space)
    middle = (TURNED + 1) * max(9, count) * count
    for k in range(depth):
        for x in range(3):
            line(space, start + k * row + x * step, 3 * step, middle + x * count, 3 * count)
        for i in range(points):
            line(space, middle + 3 * i * count, count, goal + k * width + i * points * plane, plane)


@inlined
def multiply(
    patches: Array, begin: int, tiles: int, c: int, weights: Array, first: int, width: int, space: Array, plan: Plan,
    taps: Taps, line: Line,
) -> None:  # fmt: skip
    """M for a panel of channels: V of some tiles, which begins there in `patches`, times U, for each point."""
    count, points = lanes(space), plan.points * plan.points
    for channel in range(0, c, CHUNK):
        depth = min(CHUNK, c - channel)
        lift_weights(weights, first, width, channel, depth, space, plan, taps, line)
        for point in range(points):
            tile(
                patches, begin + point * c + channel, plan.row, 1,
                space, plan.weights + point * (depth * width + count), width,
                space, plan.sums + point * width, points * width + count,
                tiles, width, depth, channel == 0,
            )  # fmt: skip


@inlined
def join(out: Array, begin: int, end: int, first: int, width: int, space: Array, plan: Plan, line: Line) -> None:
    """Write the places of a block of tiles, for a panel of channels."""
    _, channels, _, oh, ow = out.shape
    count, size, points = lanes(out), plan.size, plan.points
    strip, step = size * points * count, points * points * width + count
    for row in range(begin, end):
        picture, y = row // plan.high, size * (row % plan.high)
        start = plan.sums + (row - begin) * plan.wide * step
        for g in range(0, width, count):
            lane = min(g, width - count)
            for t in range(plan.wide - 1, -1, -1):  # the last may reach into the next row: tiles to its left mend that
                lower_tile(space, start + t * step + lane, width, strip + size * t * count, ow, size, points, line)
            goal = ((picture * channels + first + lane) * oh + y) * ow
            turn_out(space, strip, out, goal, oh * ow, min(size, oh - y) * ow)


@inlined
def lower_tile(space: Array, start: int, width: int, goal: int, ow: int, size: int, points: int, line: Line) -> None:
    """The sums of one tile, for the channels of one vector."""
    count = lanes(space)
    for j in range(points):
        line(space, start + j * width, points * width, j * count, points * count)
    for i in range(size):
        line(space, i * points * count, count, goal + i * ow * count, count)


@inlined
def turn_out(a: Array, a_start: int, b: Array, b_start: int, b_row: int, positions: int) -> None:
    """b[lane, i] = a[i, lane] for any number of positions."""
    count = lanes(a)
    for k in range(0, positions, count):
        i = max(0, min(k, positions - count))
        turn(a, a_start + i * count, count, b, b_start + i, b_row, min(count, positions), count)


@inlined
def join_taps(out: Array, first: int, width: int, space: Array, sums: int, points: int, line: Line) -> None:
    """Write the taps of a panel of channels o, from M[point, o, c]."""
    c, count = out.shape[1], lanes(out)
    strip = 3 * points * count
    flat = strip + max(9, count) * count
    for o in range(width):
        for g in range(0, c, count):
            channel = min(g, c - count)
            for j in range(points):
                start = sums + (j * width + o) * c + channel
                line(space, start, points * width * c, j * count, points * count)
            for i in range(3):
                line(space, i * points * count, count, strip + 3 * i * count, count)
            turn_out(space, strip, space, flat, 9, max(9, count))  # what is too much, the next row writes over
            for k in range(9):
                store(out, ((first + o) * c + channel) * 9 + k * count, load(space, flat + k * count))
