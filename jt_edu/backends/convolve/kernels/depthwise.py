"""Depthwise, forward: how does a channel meet weights that belong to it alone?

Nothing is shared between channels, so there is no matrix to multiply: each place is a sum of a few products of
neighbours. What costs time is to bring neighbours and edges together. So rows are copied first, with zeros around them:

    row of the image     a b c d e f g
    in `space`         0 a b c d e f g 0      stride 1: each tap reads LANES neighbours, one column further on
                       0 b d f                stride 2: even and odd columns apart, so that a tap reads without
                       a c e g 0              gaps again; rows alike

    place (y, x) = sum over taps  weights[ky, kx] * rows[y * stride + ky][x * stride + kx]

Only as many rows are copied as the nearest cache has room for; of small images, several channels. Rows of places are
computed two at a time: they share most of their pixels (`slide` in slide.py, for windows of 3 x 3 and 5 x 5).
"""

from jt_edu.backends.convolve.slide import slide
from jt_edu.backends.convolve.tile import inlined, lanes
from jt_edu.backends.convolve.vector import (
    clear,
    copy_row,
    fma,
    load,
    split_row,
    spread,
    store,
    store_some,
    zeros,
)  # fmt: skip

ROOM = 6000  # numbers of float32 that leave the nearest cache some room for what else there is


def kernel(lo, hi, image, weights, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups, *rest):
    w = image.shape[4]
    o, shared, kd, kh, kw = weights.shape
    od, oh, ow = out.shape[2:]
    sh = sw if oh == 1 else sh  # a single row has no next one
    planes, many = shared * kd, o // groups
    pitch = max(ow + (kw - 1) * dw // sw, (w + pw + sw - 1) // sw)
    more = (kh - 1) * dh // sh  # rows of pixels besides one for each row of places
    high = min(oh, max(8, ROOM // (planes * sh * sw * pitch) - more))
    block = (high + more) * pitch + lanes(space)
    size = planes * sh * sw * block
    batch = max(1, ROOM // size) if high == oh else 1
    near = planes == dh == dw == 1
    dirty = od > 1 or high < oh  # else zeros stay where they are
    clear(space, 0, batch * size + lanes(space))
    for first in range(lo, hi, batch):
        last = min(first + batch, hi)
        for z in range(od):
            for top in range(0, oh, high):
                rows = min(high, oh - top)
                shape, corner = (rows + more, pitch, block, dirty), (z * sd - pd, top * sh - ph, pw)
                for unit in range(first, last):
                    fill(image, unit * shared, space, (unit - first) * size, shape, sh, planes, kd, dd, corner)
                for unit in range(first, last):
                    pixels = (space, (unit - first) * size, pitch, block)
                    for channel in range(unit * many, (unit + 1) * many):  # of all samples
                        place = (z * oh + top) * ow
                        taps = (weights, channel % o * planes * kh * kw, planes)
                        goal = (out, channel * od * oh * ow + place, rows, ow)
                        if near and kh == kw == 3:
                            pairs3(pixels, sh, taps, goal)
                        elif near and kh == kw == 5:
                            pairs5(pixels, sh, taps, goal)
                        else:
                            pairs(pixels, sh, taps, goal, (kh, kw, dh, dw))
                        finish(channel // o, channel % o, place, place + rows * ow, out, *rest)


@inlined
def fill(image, channel, space, to, shape, stride, planes, kd, dd, corner):
    """Copy the rows of all planes that a window meets: of each channel of a group, kd of them."""
    d, h, w = image.shape[2:]
    front, top, pw = corner
    for plane in range(planes):
        i = plane // kd
        z = front + (plane - i * kd) * dd
        inside = h if 0 <= z < d else 0
        pad(image, ((channel + i) * d + z) * h * w, inside, w, space, to, shape, stride, top, pw)
        to += stride * stride * shape[2]


@inlined
def pad(image, begin, h, w, space, to, shape, stride, top, pw):
    """Copy rows of one plane from `top` on, sorted by the remainders of row and column; zeros beyond the edge."""
    rows, pitch, block, dirty = shape
    for phase in range(stride):
        goal = to + phase * stride * block
        y = top + phase
        for _ in range(rows):
            if y < 0 or y >= h:
                for column in range(stride if dirty else 0):
                    clear(space, goal + column * block, goal + column * block + pitch)
            elif stride == 1:
                copy_row(image, begin + y * w, w, space, goal + pw)
            else:
                first = goal + (pw & 1) * block + (pw >> 1)
                second = goal + (1 - (pw & 1)) * block + ((pw + 1) >> 1)
                split_row(image, begin + y * w, w, space, first, second)
            goal += pitch
            y += stride


@inlined
def pairs3(pixels, stride, taps, goal):
    """Two rows of places at a time, of one plane, for windows of 3 x 3."""
    source, start, pitch, block = pixels
    weights, tap, _ = taps
    out, to, h, w = goal
    for two in range(0, h, 2):
        y = max(0, min(two, h - 2))  # the last two may share a row with those before them: both compute it alike
        for chunk in range(0, w, lanes(out)):
            x = max(0, min(chunk, w - lanes(out)))
            corner = start + y * pitch + x
            upper, lower = zeros(out), zeros(out)
            if stride == 1:
                upper, lower = slide(upper, lower, source, corner, pitch, block, weights, tap, 1, 3, 3, 3, 1, 2)
            else:
                upper, lower = slide(upper, lower, source, corner, pitch, block, weights, tap, 1, 3, 3, 3, 2, 2)
            write_two(out, to + y * w + x, upper, lower, w, to + h * w, h)


@inlined
def pairs5(pixels, stride, taps, goal):
    """The same for windows of 5 x 5."""
    source, start, pitch, block = pixels
    weights, tap, _ = taps
    out, to, h, w = goal
    for two in range(0, h, 2):
        y = max(0, min(two, h - 2))
        for chunk in range(0, w, lanes(out)):
            x = max(0, min(chunk, w - lanes(out)))
            corner = start + y * pitch + x
            upper, lower = zeros(out), zeros(out)
            if stride == 1:
                upper, lower = slide(upper, lower, source, corner, pitch, block, weights, tap, 1, 5, 5, 5, 1, 2)
            else:
                upper, lower = slide(upper, lower, source, corner, pitch, block, weights, tap, 1, 5, 5, 5, 2, 2)
            write_two(out, to + y * w + x, upper, lower, w, to + h * w, h)


@inlined
def pairs(pixels, stride, taps, goal, window):
    """The same for windows and planes of any number, tap by tap."""
    source, start, pitch, block = pixels
    weights, tap, planes = taps
    out, to, h, w = goal
    kh, kw, dh, dw = window
    half = stride - 1  # 0 or 1: a number n has remainder n & half, and quotient n >> half
    for two in range(0, h, 2):
        y = max(0, min(two, h - 2))
        for chunk in range(0, w, lanes(out)):
            x = max(0, min(chunk, w - lanes(out)))
            upper, lower = zeros(out), zeros(out)
            for k in range(planes * kh):
                plane = k // kh
                row = (k - plane * kh) * dh
                corner = start + (plane * stride + (row & half)) * stride * block + (y + (row >> half)) * pitch + x
                for kx in range(kw):
                    pixel = corner + (kx * dw & half) * block + (kx * dw >> half)
                    weight = spread(weights, tap + k * kw + kx)
                    upper = fma(weight, load(source, pixel), upper)
                    lower = fma(weight, load(source, pixel + pitch), lower)
            write_two(out, to + y * w + x, upper, lower, w, to + h * w, h)


@inlined
def write_two(out, to, upper, lower, w, end, h):
    """Write two rows; beyond the end of a short row only what is written later is touched."""
    lane = lanes(out)
    if to + w + lane <= end:
        store(out, to, upper)
        store(out, to + w, lower)
    else:
        store_some(out, to, upper, end - to)
        if h > 1:
            store_some(out, to + w, lower, end - to - w)


@inlined
def finish(n, o, begin, end, out):
    """What the graph does to each sum as it is written; here nothing."""
