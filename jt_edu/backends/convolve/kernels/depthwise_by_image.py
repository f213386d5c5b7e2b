"""Depthwise, gradient by the image: which places does a pixel take part in?

Pixel (y, x) was read by tap (ky, kx) at place ((y + padding - ky) / stride, (x + padding - kx) / stride), where that is
whole. So a pixel gathers from the places what it was given to, and nothing is added twice to one address:

    stride 1     a convolution of the places with the window turned by half a turn
    stride 2     even and odd pixels meet different taps:   x + padding even   kx = 0, 2, ...
                                                            x + padding odd    kx = 1, 3, ...
                 each kind is a convolution of stride 1; the two are woven into one row

Rows of places are copied first with zeros around them, for as many pixels as the nearest cache has room for.
"""

from jt_edu.backends.convolve.slide import slide
from jt_edu.backends.convolve.tile import inlined, lanes
from jt_edu.backends.convolve.vector import (
    clear,
    copy_row,
    fma,
    load,
    spread,
    store,
    store_some,
    woven_high,
    woven_low,
    zeros,
)  # fmt: skip

ROOM = 6000  # numbers of float32 that leave the nearest cache some room for what else there is


def kernel(lo, hi, places, weights, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups):
    d, h, w = out.shape[2:]
    o, shared, kd, kh, kw = weights.shape
    oh, ow = places.shape[3:]
    sh = sw if oh == 1 else sh  # a single row has no next one
    half, planes = sh - 1, o // groups * kd
    left, more = (kw - 1) * dw >> half, (kh - 1) * dh >> half
    pitch = left + max(ow, (w - 1 + pw >> half) + 1)
    high = min(h, max(8, (ROOM // (planes * pitch) - more) * sh))
    block = ((high >> half) + 1 + more) * pitch + lanes(space)
    size = planes * block
    batch = max(1, ROOM // size) if high == h else 1
    near, window = planes == dh == dw == 1, (kh, kw, dh, dw)
    shape = (pitch, block, d > 1 or high < h)  # else zeros stay where they are
    clear(space, 0, batch * size + lanes(space))
    for first in range(lo, hi, batch):
        last = min(first + batch, hi)
        for z in range(d):
            for top in range(0, h, high):
                rows = min(high, h - top)
                lines = ((top + ph >> half) - more, (top + rows - 1 + ph >> half) + 1)
                for unit in range(first, last):
                    to = (unit - first) * size + left
                    fill(places, unit * (o // groups), space, to, shape, planes, kd, (z + pd, sd, dd), lines)
                for channel in range(first * shared, last * shared):  # of all samples
                    unit = channel // shared
                    tap = (unit % groups * (o // groups) * shared + channel - unit * shared) * kd * kh * kw
                    taps = (weights, tap, shared * kd * kh * kw, planes, kd)
                    source = (unit - first) * size
                    goal = (out, ((channel * d + z) * h + top) * w, rows, w)
                    if half == 1:
                        start = source + left + more * pitch
                        woven((space, start, pitch, block), taps, goal, window, top + ph, pw)
                    elif near and kh == kw == 3:
                        pairs3((space, source + pw, pitch, block), taps, goal)
                    elif near and kh == kw == 5:
                        pairs5((space, source + pw, pitch, block), taps, goal)
                    else:
                        pairs((space, source + pw, pitch, block), taps, goal, window)


@inlined
def fill(places, channel, space, to, shape, planes, kd, steps, lines):
    """Copy the rows of all planes of places that pixels of plane `front` took part in."""
    od, oh, ow = places.shape[2:]
    pitch, block, dirty = shape
    front, sd, dd = steps
    for plane in range(planes):
        m = plane // kd
        back = front - (plane - m * kd) * dd
        z = back // sd
        inside = oh if back >= 0 and z * sd == back and z < od else 0
        goal = to + plane * block
        for y in range(lines[0], lines[1]):
            if 0 <= y < inside:
                copy_row(places, (((channel + m) * od + z) * oh + y) * ow, ow, space, goal)
            elif dirty:
                clear(space, goal, goal + ow)
            goal += pitch


@inlined
def pairs3(pixels, taps, goal):
    """Two rows of pixels at a time, of one plane, for windows of 3 x 3."""
    source, start, pitch, _ = pixels
    weights, last = taps[0], taps[1] + 8
    out, to, h, w = goal
    for two in range(0, h, 2):
        y = max(0, min(two, h - 2))  # the last two may share a row with those before them: both compute it alike
        for chunk in range(0, w, lanes(out)):
            x = max(0, min(chunk, w - lanes(out)))
            corner = start + y * pitch + x
            upper, lower = zeros(out), zeros(out)
            upper, lower = slide(upper, lower, source, corner, pitch, 0, weights, last, -1, 3, 3, 3, 1, 2)
            write_two(out, to + y * w + x, upper, lower, w, to + h * w, h)


@inlined
def pairs5(pixels, taps, goal):
    """The same for windows of 5 x 5."""
    source, start, pitch, _ = pixels
    weights, last = taps[0], taps[1] + 24
    out, to, h, w = goal
    for two in range(0, h, 2):
        y = max(0, min(two, h - 2))
        for chunk in range(0, w, lanes(out)):
            x = max(0, min(chunk, w - lanes(out)))
            corner = start + y * pitch + x
            upper, lower = zeros(out), zeros(out)
            upper, lower = slide(upper, lower, source, corner, pitch, 0, weights, last, -1, 5, 5, 5, 1, 2)
            write_two(out, to + y * w + x, upper, lower, w, to + h * w, h)


@inlined
def pairs(pixels, taps, goal, window):
    """The same for windows and planes of any number, tap by tap."""
    source, start, pitch, block = pixels
    weights, tap, line, planes, kd = taps
    out, to, h, w = goal
    kh, kw, dh, dw = window
    for two in range(0, h, 2):
        y = max(0, min(two, h - 2))
        for chunk in range(0, w, lanes(out)):
            x = max(0, min(chunk, w - lanes(out)))
            upper, lower = zeros(out), zeros(out)
            for plane in range(planes):
                m = plane // kd
                some = tap + m * line + (plane - m * kd) * kh * kw
                for ky in range(kh):
                    corner = start + plane * block + (y + (kh - 1 - ky) * dh) * pitch + x
                    for kx in range(kw):
                        pixel = corner + (kw - 1 - kx) * dw
                        weight = spread(weights, some + ky * kw + kx)
                        upper = fma(weight, load(source, pixel), upper)
                        lower = fma(weight, load(source, pixel + pitch), lower)
            write_two(out, to + y * w + x, upper, lower, w, to + h * w, h)


@inlined
def woven(pixels, taps, goal, window, top, pw):
    """Rows of pixels at stride 2: the columns 0, 2, ... and the columns 1, 3, ... of a row, and then both."""
    source, start, pitch, block = pixels
    weights, tap, line, planes, kd = taps
    out, to, h, w = goal
    kh, kw, dh, dw = window
    lane = lanes(out)
    for y in range(h):
        row = start + ((top + y >> 1) - (top >> 1)) * pitch
        for x in range(0, w, 2 * lane):
            here, beside = zeros(out), zeros(out)
            for plane in range(planes):
                m = plane // kd
                some = tap + m * line + (plane - m * kd) * kh * kw
                for ky in range(kh):
                    corner = row + plane * block - (ky * dh >> 1) * pitch + (x >> 1)
                    meets = (ky * dh + top + y) & 1 == 0
                    for kx in range(kw if meets else 0):
                        weight = spread(weights, some + ky * kw + kx)
                        if (kx * dw + pw) & 1 == 0:
                            here = fma(weight, load(source, corner + (pw >> 1) - (kx * dw >> 1)), here)
                        else:
                            beside = fma(weight, load(source, corner + (pw + 1 >> 1) - (kx * dw >> 1)), beside)
            store_some(out, to + y * w + x, woven_low(here, beside), w - x)
            store_some(out, to + y * w + x + lane, woven_high(here, beside), max(0, w - x - lane))


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
