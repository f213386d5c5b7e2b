"""Indirect layout: how can all taps of a window read the same few rows, without a copy for each of them?

A panel (im2col.py) has a row for each tap, though neighbouring taps see nearly the same numbers: one row of the image
is written as often as a window has taps. Here it is written once. Rows of the image are copied with zeros around them,
and with a stride sorted by remainders (*phases*), so that a step from window to window is a step to the next number:

    row of the image, stride 2     0 a b c d e f g          tap 0 of windows 0 1 2 ..   0 b d f
                                                            tap 1                       a c e g
    phase 0                        0 b d f                  tap 2                       b d f    as tap 0, one further
    phase 1                        a c e g

What a tap sees of all windows is then a piece of a phase. It begins at a place that depends on the tap alone: its
*shift*. A table has the shifts, and `tile_at` multiplies. As all rows of a phase are as long (`pitch`), a piece goes on
from one row of windows to the next. A few windows between them are none, and are left behind where sums are handed out:

    rows of a phase   | a b c d e f g h | i j k l m n o p | ...          pitch 8, windows of 3 taps: 6 in a row
    windows           | 0 1 2 3 4 5 . . | 6 7 8 ...

As many rows of windows as leave the cache some room are a *strip*. In the scratch of the kernel lie

    space   | channel 0, plane 0: phase 0 | phase 1 | .. | channel 0, plane 1 .. | table | sums of PART rows |
              size                          block                                table   sums                end

Example: 3 x 3 taps, stride 2 and padding 1 over an image of 7 x 7, with 4 x 4 places, on vectors of 4 numbers. A row of
a phase has 4 + 1 numbers, and there is one row more than rows of places; four phases are 100 numbers:

    >>> shifts_of(1, (1, 3, 3), (1, 2, 2), (1, 1, 1), (4, 4), 4)
    Shifts(pitch=5, more=1, high=4, block=25, size=100, table=104, sums=113, wide=20, end=353)

Nothing here knows weights.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from jt_edu.backends.convolve.copy_rows import place_rows
from jt_edu.backends.convolve.llvm import Array, inlined, lanes
from jt_edu.backends.convolve.simd import load, store, store_some, write_zeros

PART = 12  # rows of the result in a unit of work
ROOM = 65_536  # numbers of a strip, if it has more than one row
WINDOWS = 1024  # in a strip
COPIED = 8  # a row of sums that is moved costs as much as so many products


class Shifts(NamedTuple):
    """What lies where in the scratch of the kernel: lengths and places, in numbers."""

    pitch: int  # from a row of a phase to the next
    more: int  # rows of a phase besides one for each row of windows
    high: int  # rows of windows in a strip
    block: int  # of a phase
    size: int  # of all phases of a plane of a channel
    table: int  # where the shifts begin
    sums: int  # where the sums begin, if they are moved
    wide: int  # from a row of sums to the next
    end: int  # of all


@inlined
def shifts_of(shared: int, taps: Any, stride: Any, dilation: Any, places: Any, lane: int) -> Shifts:
    """The layout for so many channels; taps, stride and dilation in three directions, rows and columns of places."""
    (kd, kh, kw), (oh, ow) = taps, places
    pitch, more = ow + (kw - 1) // stride[2] * dilation[2], (kh - 1) // stride[1] * dilation[1]
    row = shared * kd * min(kh, stride[1]) * min(kw, stride[2]) * pitch  # one row of all phases
    high = max(1, min(oh, ROOM // row - more, WINDOWS // pitch))
    high = -(-oh // -(-oh // high))  # strips of about the same height
    block = (high + more) * pitch
    size = min(kh, stride[1]) * min(kw, stride[2]) * block
    table = shared * kd * size + lane
    sums = table + shared * kd * kh * kw
    wide = -(-high * pitch // lane) * lane
    return Shifts(pitch, more, high, block, size, table, sums, wide, sums + PART * wide)


@inlined
def fits_rows(ow: int, pitch: int, depth: int, lane: int) -> bool:
    """Whether each row of windows is multiplied by itself, into its place: where its last vector is nearly full."""
    fits: bool = ow >= lane and -(-ow // lane) * lane * depth <= pitch * (depth + COPIED)
    return fits


@inlined
def write_table(space: Array, shared: int, taps: Any, stride: Any, dilation: Any, layout: Shifts) -> None:
    """Write the shift of each channel and tap."""
    kd, kh, kw = taps
    place, across = layout.table, min(kw, stride[2])
    for plane in range(shared * kd):
        for ky in range(kh):
            phase, down = ky % stride[1] * across, ky // stride[1] * dilation[1]
            row = plane * layout.size + phase * layout.block + down * layout.pitch
            for kx in range(kw):
                space[place] = row + kx % stride[2] * layout.block + kx // stride[2] * dilation[2]
                place += 1


@inlined
def copy_shifted(
    image: Array, begin: int, lies: Any, size: Any, corner: Any, rows: int, shared: int, taps: Any, stride: Any,
    dilation: Any, space: Array, layout: Shifts,
) -> None:  # fmt: skip
    """Copy what `rows` rows of windows see, phase by phase.

    `lies` are the steps from a number of the image to its neighbours: the next channel, plane, row and column; `corner`
    is the number that the first window sees through its first tap, any of whose coordinates may lie outside.
    """
    (d, h, w), (kd, kh, kw), total, pitch = size, taps, rows + layout.more, layout.pitch
    across, to = min(kw, stride[2]), 0
    for plane in range(shared * kd):
        z = corner[0] + plane % kd * dilation[0]
        for phase in range(min(kh, stride[1]) * across):
            top, left = corner[1] + phase // across * dilation[1], corner[2] + phase % across * dilation[2]
            above = min(max(0, -(top // stride[1])), total)
            inside = min(max(above, -((top - h) // stride[1])), total) if 0 <= z < d else above
            before = min(max(0, -(left // stride[2])), pitch)
            last = min(max(before, -((left - w) // stride[2])), pitch)
            write_zeros(space, to, to + above * pitch)
            place = begin + plane // kd * lies[0] + z * lies[1] + (top + above * stride[1]) * lies[2]
            place_rows(
                image, place + (left + before * stride[2]) * lies[3], stride[1] * lies[2], stride[2] * lies[3],
                space, to + above * pitch, pitch, inside - above, before, last - before, pitch - last,
            )  # fmt: skip
            write_zeros(space, to + inside * pitch, to + total * pitch)
            to += layout.block


@inlined
def hand_back(space: Array, sums: int, pitch: int, out: Array, goal: int, rows: int, ow: int) -> None:
    """Bring rows of sums, `pitch` apart, to their places, where the rows touch each other."""
    lane, rest = lanes(out), ow % lanes(out)
    for y in range(rows):
        for x in range(0, ow - lane + 1, lane):
            store(out, goal + y * ow + x, load(space, sums + y * pitch + x))
        if rest > 0:
            store_some(out, goal + (y + 1) * ow - rest, load(space, sums + y * pitch + ow - rest), rest)
