"""Row strips: how do rows of pixels come near, with zeros around them, and where do they lie?

A convolution of a channel with weights of its own does little with each pixel. So the pixels must be in the nearest
cache, and no loop may ask where the edge is. A *strip* is as many rows as fit there, copied with zeros around them:

    row of the image     a b c d e f g
    in `space`         0 a b c d e f g 0      stride 1: each tap reads LANES neighbours, one column further on
                       0 b d f                stride 2: even and odd columns in rows of their own, so that a tap
                       a c e g 0              reads neighbours again; even and odd rows likewise

Where all of that lies in the scratch of a kernel is said once, by `Strips`:

    space   | unit 0                                      | unit 1 ...       | room to overshoot |
              plane 0                | plane 1 ...                             end
              phase 0 | phase 1 | ..

    unit     the channels that belong together, of one sample; `batch` of them, `size` numbers apart
    plane    a channel, at one tap of the depth
    phase    rows and columns with the same remainders by the stride: one at stride 1, four at stride 2; `block` apart
    row      `pitch` apart: rows of places, and `more` besides, which the last places look at

Example: 3 x 3 taps, stride 2, padding 1 and an image of 7 x 7, which has 4 x 4 places, on vectors of 4 numbers. Then
a row of a phase has 4 + 2 // 2 = 5 columns (pitch), and one row (more) besides the 4 of the places (high):

    >>> image_strips((7, 1), (4, 4), (3, 3), (2, 2), (1, 1), planes=1, lane=4)
    Strips(left=1, pitch=5, more=1, high=4, block=29, size=116, batch=51, end=5942)

because 5 rows of 5 and a vector are 29, four phases 116, and 51 such units are as much as ROOM allows.

Nothing here knows which of image, weights and places is asked for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from jt_edu.backends.convolve.llvm import Array, inlined, lanes
from jt_edu.backends.convolve.simd import even, load, load_some, odd, store, store_some, write_zeros

ROOM = 6000  # numbers of float32 that leave the nearest cache some room for what else there is
LEAST = 8  # rows of a strip, however long they are


class Strips(NamedTuple):
    """What lies where in the scratch of a depthwise kernel: lengths and steps, in numbers."""

    left: int  # zeros of a row before the first number that is copied
    pitch: int  # from a row to the next
    more: int  # rows of pixels besides one for each row of places
    high: int  # rows of places (by the image: of pixels) that are computed from one strip
    block: int  # of a phase: its rows, and a vector to overshoot
    size: int  # of a unit: all phases of all planes
    batch: int  # units that are near at a time
    end: int  # of all


@inlined
def image_strips(edge: Any, places: Any, taps: Any, stride: Any, dilation: Any, planes: int, lane: int) -> Strips:
    """Strips of an image, for rows of places; `edge` is the width of the image, and the zeros before it.

    The other pairs are for rows and columns: (oh, ow), (kh, kw), (sh, sw) and (dh, dw).
    """
    (w, pw), (oh, ow), (kh, kw), (sh, sw), (dh, dw) = edge, places, taps, stride, dilation
    pitch = max(ow + (kw - 1) * dw // sw, (w + pw + sw - 1) // sw)
    more = (kh - 1) * dh // sh
    high = min(oh, max(LEAST, ROOM // (planes * sh * sw * pitch) - more))
    block = (high + more) * pitch + lane
    size = planes * sh * sw * block
    batch = max(1, ROOM // size) if high == oh else 1
    end = batch * size + 2 * pitch + 4 * lane  # a single row of places is computed with a second one below it
    return Strips(pw, pitch, more, high, block, size, batch, end)


@inlined
def sums_behind(strips: Strips, taps: int, lane: int) -> tuple[int, int]:
    """Where behind the strips of one unit the sums by the weights begin, a vector for each tap, and where they end."""
    begin = strips.size + lane
    return begin, begin + taps * lane


@inlined
def places_strips(edge: Any, h: int, ow: int, taps: Any, stride: int, dilation: Any, planes: int, lane: int) -> Strips:
    """Strips of places, for rows of pixels: those of a phase meet neighbours, so places lie in one block at any stride.

    Before each row there is room for the places that its first pixel would meet.
    """
    (w, pw), (kh, kw), (dh, dw), half = edge, taps, dilation, stride - 1  # n >> half is n // stride
    left, more = (kw - 1) * dw >> half, (kh - 1) * dh >> half
    pitch = left + max(ow, (w - 1 + pw >> half) + 1)
    high = min(h, max(LEAST, (ROOM // (planes * pitch) - more) * stride))
    block = ((high >> half) + 1 + more) * pitch + lane
    size = planes * block
    batch = max(1, ROOM // size) if high == h else 1
    return Strips(left, pitch, more, high, block, size, batch, batch * size + 3 * pitch + 4 * lane)


@inlined
def fill(
    image: Array, channel: int, space: Array, to: int, shape: Any, stride: int, planes: int, kd: int, dd: int,
    corner: Any,
) -> None:  # fmt: skip
    """Copy the rows of all planes that a window meets: of each channel of a group, kd of them.

    `shape` is (rows, pitch, block, whether what was there is to be cleared), `corner` the first plane and row of the
    image that the windows look at, either of which may be negative, and the zeros before each row.
    """
    d, h, w = image.shape[2:]
    front, top, pw = corner
    for plane in range(planes):
        i = plane // kd
        z = front + (plane - i * kd) * dd
        inside = h if 0 <= z < d else 0
        pad(image, ((channel + i) * d + z) * h * w, inside, w, space, to, shape, stride, top, pw)
        to += stride * stride * shape[2]


@inlined
def pad(
    image: Array, begin: int, h: int, w: int, space: Array, to: int, shape: Any, stride: int, top: int, pw: int
) -> None:  # fmt: skip
    """Copy rows of one plane from `top` on, sorted by the remainders of row and column; zeros beyond the edge."""
    rows, pitch, block, dirty = shape
    for phase in range(stride):
        goal = to + phase * stride * block
        y = top + phase
        for _ in range(rows):
            if y < 0 or y >= h:
                for column in range(stride if dirty else 0):
                    write_zeros(space, goal + column * block, goal + column * block + pitch)
            elif stride == 1:
                copy_row(image, begin + y * w, w, space, goal + pw)
            else:
                first = goal + (pw & 1) * block + (pw >> 1)
                second = goal + (1 - (pw & 1)) * block + ((pw + 1) >> 1)
                split_row(image, begin + y * w, w, space, first, second)
            goal += pitch
            y += stride


@inlined
def copy_row(array: Array, begin: int, count: int, space: Array, to: int) -> None:
    """Copy a row; zeros follow it, up to a whole vector."""
    lane = lanes(array)
    for x in range(0, count - lane + 1, lane):
        store(space, to + x, load(array, begin + x))
    rest = count % lane
    if rest > 0:
        store(space, to + count - rest, load_some(array, begin + count - rest, rest))


@inlined
def split_row(array: Array, begin: int, count: int, space: Array, first: int, second: int) -> None:
    """Copy the even columns of a row and the odd ones, each followed by zeros."""
    lane = lanes(array)
    for x in range(0, count - 2 * lane + 1, 2 * lane):
        left, right = load(array, begin + x), load(array, begin + x + lane)
        store(space, first + x // 2, even(left, right))
        store(space, second + x // 2, odd(left, right))
    rest = count % (2 * lane)
    if rest > 0:
        x = count - rest
        left = load_some(array, begin + x, rest)
        right = load_some(array, begin + min(x + lane, count), max(0, rest - lane))
        store(space, first + x // 2, even(left, right))
        store(space, second + x // 2, odd(left, right))


@inlined
def write_two(out: Array, to: int, upper: Array, lower: Array, w: int, end: int, h: int) -> None:
    """Write two rows; beyond the end of a short row only what is written later is touched."""
    lane = lanes(out)
    if to + w + lane <= end:
        store(out, to, upper)
        store(out, to + w, lower)
    else:
        store_some(out, to, upper, end - to)
        if h > 1:
            store_some(out, to + w, lower, end - to - w)
