"""Im2col: how does a piece of an image become a matrix that `tile` can multiply?

A convolution is one product of matrices if the image is written out window by window (im2col): column j of the matrix
is what window j sees, one number for each channel and tap. All of it would be taps times as large as the image, so only
a panel of it exists at a time, for some neighbouring windows, and is used while it is in the cache:

        image, one channel                  panel: windows 1 2 3 4 ...
        . . . . . . . .                     tap (0, 0)   . . . . |
        . [1 . .] . . . .                   tap (0, 1)   . . . . |  a row is a piece of a row of the image: neighbouring
        . [. . .] . . . .        --->       tap (0, 2)   . . . . |  windows see neighbouring numbers through one tap
        . [. . .] . . . .                      ...               |
                                            next channel ...     |

So a panel is written row by row, in whole vectors, the same piece of all channels in turn. What hangs over the end of a
row is overwritten, or lies where nobody reads: each row has room for one vector more. Windows may look beyond the
image (padding): there are zeros. A panel goes on from one row of windows to the next, and from one image of the batch
to the next, so that small images fill it as well.

What lies where in the scratch of these kernels is said once, by `Panel`: the kernels ask it where, the plan how much.
Nothing here knows which of image, weights and places is asked for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from jt_edu.backends.convolve.copy_rows import place_rows
from jt_edu.backends.convolve.llvm import Array, inlined

COLUMNS, DEPTH = 64, 1024  # windows in a panel; its rows, about: pairs (channel, tap)
TURNED_COLUMNS, TURNED_DEPTH = 256, 192  # by the weights: pairs (channel, tap) in a panel, about; its places
FOLD_COLUMNS = 128  # places that send together
PART = 12  # rows of the result in a unit of work
ROWS = 48  # rows that are finished at a time: they are still in the cache


class Panel(NamedTuple):
    """What lies where in the scratch of a kernel that writes windows out; lengths and places in numbers."""

    block: int  # channels that are written out at a time
    several: int  # taps of each of them
    pitch: int  # from a row of the panel to the next: its windows, and a vector to overshoot
    turned: int  # where the same panel lies transposed (by the weights)
    beside: int  # where rows lie that cannot be read, or written, in their place: an image ends inside the panel
    end: int  # of all


@inlined
def panel_of(shared: int, taps: int, lane: int) -> Panel:
    """Forward: windows of all taps of `block` channels; then ROWS rows of sums.

    Example: 64 channels, 3 x 3 taps and vectors of 16 numbers. There are 576 rows, fewer than DEPTH, so that one panel
    holds all of them:

        >>> panel_of(64, 9, 16)
        Panel(block=64, several=9, pitch=80, turned=0, beside=46160, end=49232)
    """
    block, pitch = -(-shared // max(1, shared * taps // DEPTH)), COLUMNS + lane
    beside = block * taps * pitch + pitch
    return Panel(block, taps, pitch, 0, beside, beside + ROWS * COLUMNS)


@inlined
def panel_by_image(outs: int, taps: int, lane: int) -> Panel:
    """By the image: windows of `several` taps of `block` channels of the places; then ROWS rows of sums."""
    block, pitch = -(-outs // max(1, outs // DEPTH)), COLUMNS + lane
    several = max(1, min(taps, DEPTH // block))
    beside = block * several * pitch + lane
    return Panel(block, several, pitch, 0, beside, beside + ROWS * COLUMNS)


@inlined
def panel_by_weights(shared: int, taps: int, lane: int) -> Panel:
    """By the weights: windows of all taps of `block` channels, the same transposed, and ROWS rows of places.

    A row of the transposed panel is as long as `wide_of` says.
    """
    block, pitch = min(shared, max(1, TURNED_COLUMNS // taps)), TURNED_DEPTH + lane
    turned = wide_of(block, taps, lane) * pitch
    beside = turned + wide_of(block, taps, lane) * TURNED_DEPTH
    return Panel(block, taps, pitch, turned, beside, beside + ROWS * pitch)


@inlined
def wide_of(block: int, taps: int, lane: int) -> int:
    """Pairs (channel, tap) of a panel, rounded up to whole vectors."""
    return -(-block * taps // lane) * lane


@inlined
def folded(shared: int, taps: int, plane: int, lane: int) -> tuple[int, int, int]:
    """Fold: channels of a unit of work; behind a `plane` of sums for each, where what is sent begins; where it ends."""
    block = min(max(1, ROWS // taps), -(-shared // 2))
    sent = block * plane
    return block, sent, sent + block * taps * FOLD_COLUMNS + lane


@inlined
def fold_length(size: int, places: int, taps: int, stride: int, padding: int, dilation: int) -> int:
    """Fold, in one direction: how many sums a phase has, inside the image and beyond its edges."""
    return max(places + (taps - 1) * dilation // stride, (size - 1 + padding) // stride + 1)


@inlined
def steps(array: Array) -> tuple[int, int, int, int, int]:
    """How many numbers lie between neighbours on each of the five axes."""
    s, size = array.strides, array.itemsize
    return s[0] // size, s[1] // size, s[2] // size, s[3] // size, s[4] // size


@inlined
def goes_on(size: Any, lies: Any) -> bool:
    """Whether the rows of a plane, and the planes of a channel, go on as one row."""
    rows, planes = lies[2] == size[2] * lies[3], lies[1] == size[1] * size[2] * lies[3]
    whole: bool = (size[1] == 1 or rows) and (size[0] == 1 or planes)
    return whole


@inlined
def gather(
    source: Array, begin: int, sample: int, channels: int, lies: Any, size: Any, grid: Any, taps: Any, stride: Any,
    step: Any, first: Any, begin_tap: int, end_tap: int, q: int, count: int, target: Array, rows: Any,
) -> None:  # fmt: skip
    """Fill a panel with what window q + j sees of channel c through a tap, of those from begin_tap to end_tap:
    target[c * rows[0] + (tap - begin_tap) * rows[1] + j].

    Windows stand on a grid, counted from image to image. In each direction a window looks at
    window * stride + tap * step + first. `lies` are the steps from a number of the source to its neighbours: the next
    channel, plane, row and column.
    """
    if goes_on(size, lies) and stride == (1, 1, 1) and taps == (1, 1, 1) and first == (0, 0, 0) and grid == size:
        grid = size = (1, 1, size[0] * size[1] * size[2])  # one long row
    d, h, w = size
    gd, gh, gw = grid
    td, th, tw = taps
    done = 0
    while done < count:  # windows in one row of the grid
        row = (q + done) // gw
        x, y, z = (q + done) % gw, row % gh, row // gh % gd
        image = begin + row // (gh * gd) * sample
        wide = min(gw - x, count - done)
        for kx in range(tw):
            ix = x * stride[2] + kx * step[2] + first[2]
            before = min(max(0, (-ix + stride[2] - 1) // stride[2]), wide)  # windows that look to the left of the image
            inside = min(max(before, (w - ix + stride[2] - 1) // stride[2]), wide)
            for row in range(td * th):
                tap = row * tw + kx
                iz = z * stride[0] + row // th * step[0] + first[0]
                iy = y * stride[1] + row % th * step[1] + first[1]
                if tap < begin_tap or tap >= end_tap:
                    continue
                goal = (tap - begin_tap) * rows[1] + done
                inner = inside if 0 <= iz < d and 0 <= iy < h else before
                place = image + iz * lies[1] + iy * lies[2] + (ix + before * stride[2]) * lies[3]
                place_rows(
                    source, place, lies[0], stride[2] * lies[3], target, goal, rows[0], channels,
                    before, inner - before, wide - inner,
                )  # fmt: skip
        done += wide


class Phase(NamedTuple):
    """In one direction: every `stride`-th number of the image, from `where` on. All of them meet the same taps."""

    windows: int  # how many numbers there are
    taps: int  # how many taps they meet
    tap: int  # the first of these
    tap_step: int  # from one of these to the next
    place: int  # at which place number 0 meets the first
    place_step: int  # how much further on it meets the next


@inlined
def phase(where: int, stride: int, padding: int, dilation: int, taps: int, size: int) -> Phase:
    """The phase of the numbers where, where + stride, where + 2 stride, ... of `size` numbers.

    Number i is read at the place (i + padding - tap * dilation) / stride, if that is whole and there.

    Example: stride 2, 3 taps and padding 1, for 7 numbers. Number 0 meets tap 1, at place 0. Number 1 meets tap 0 at
    place 1, and tap 2 at place 0:

        >>> phase(0, 2, 1, 1, 3, 7)
        Phase(windows=4, taps=1, tap=1, tap_step=0, place=0, place_step=0)
        >>> phase(1, 2, 1, 1, 3, 7)
        Phase(windows=3, taps=2, tap=0, tap_step=2, place=1, place_step=-1)
    """
    count, first, step, place, along = 0, 0, 0, 0, 0
    for tap in range(taps):
        seen = where + padding - tap * dilation
        if seen % stride == 0:
            if count == 0:
                first, place = tap, seen // stride
            elif count == 1:
                step, along = tap - first, seen // stride - place
            count += 1
    return Phase(max(0, -(-(size - where) // stride)), count, first, step, place, along)


@inlined
def tap_of(m: int, z: Phase, y: Phase, x: Phase, kh: int, kw: int) -> int:
    """Which of the kd * kh * kw taps is number m of those that a phase meets in its three directions."""
    row, column = m // max(1, x.taps), m % max(1, x.taps)
    plane, line = row // max(1, y.taps), row % max(1, y.taps)
    tap_row = (z.tap + plane * z.tap_step) * kh + y.tap + line * y.tap_step
    return tap_row * kw + x.tap + column * x.tap_step
