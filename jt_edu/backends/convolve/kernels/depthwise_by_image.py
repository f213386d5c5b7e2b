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
    copy_row, fma, load, spread, store, store_some, woven_high, woven_low, zeros,
)  # fmt: skip

ROOM = 6000  # numbers of float32 that leave the nearest cache some room for what else there is


def kernel(lo, hi, places, weights, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups):
    n, c, d, h, w = out.shape
    o, shared, kd, kh, kw = weights.shape
    od, oh, ow = places.shape[2:]
    sh = sw if oh == 1 else sh  # a single row has no next one
    many, half, lane = o // groups, sh - 1, lanes(space)
    planes = many * kd
    left, more = (kw - 1) * dw >> half, (kh - 1) * dh >> half
    pitch = left + max(ow, (w - 1 + pw >> half) + 1)
    high = min(h, max(8, (ROOM // (planes * pitch) - more) * sh))
    size = planes * (((high >> half) + 1 + more) * pitch + lane)
    batch = max(1, ROOM // size) if high == h else 1
    for i in range(0, batch * size + lane, lane):
        store(space, i, zeros(space))
    block = size // planes
    for first in range(lo, hi, batch):
        for z in range(d):
            for top in range(0, h, high):
                rows = min(high, h - top)
                j = top + ph >> half
                for unit in range(first, min(first + batch, hi)):
                    for plane in range(planes):
                        m = plane // kd
                        deep = z + pd - (plane - m * kd) * dd
                        there = oh if deep >= 0 and deep % sd == 0 and deep // sd < od else 0
                        begin = ((unit * many + m) * od + deep // sd) * oh * ow
                        goal = (unit - first) * size + plane * block
                        last = (top + rows - 1 + ph >> half) + 1
                        for y in range(j - more, last):
                            if y < 0 or y >= there:
                                for x in range(0, pitch, lane):
                                    store(space, goal + x, zeros(space))
                            else:
                                copy_row(places, begin + y * ow, ow, space, goal + left)
                            goal += pitch
                for unit in range(first, min(first + batch, hi)):
                    source = (unit - first) * size
                    for channel in range(unit * shared, (unit + 1) * shared):
                        group = unit % groups
                        tap = (group * many * shared + channel - unit * shared) * kd * kh * kw
                        to = ((channel * d + z) * h + top) * w
                        line = shared * kd * kh * kw
                        if half == 1:
                            woven(space, source, pitch, block, weights, tap, line, many, kd, kh, kw, dh, dw, out, to, rows, w, top + ph, pw, more, left)
                        elif kh == 3 and kw == 3 and dh == 1 and dw == 1:
                            pairs3(space, source + pw, pitch, block, weights, tap, line, many, kd, out, to, rows, w)
                        elif kh == 5 and kw == 5 and dh == 1 and dw == 1:
                            pairs5(space, source + pw, pitch, block, weights, tap, line, many, kd, out, to, rows, w)
                        else:
                            pairs(space, source + pw, pitch, block, weights, tap, line, many, kd, kh, kw, dh, dw, out, to, rows, w)


@inlined
def pairs3(source, start, pitch, block, weights, tap, line, many, kd, out, to, h, w):
    """Two rows of pixels at a time, for windows of 3 x 3."""
    for two in range(0, h, 2):
        y = max(0, min(two, h - 2))  # the last two may share a row with those before them: both compute it alike
        for chunk in range(0, w, lanes(out)):
            x = max(0, min(chunk, w - lanes(out)))
            corner = start + y * pitch + x
            upper, lower = zeros(out), zeros(out)
            for m in range(many):
                for kz in range(kd):
                    last = tap + m * line + kz * 9 + 8
                    upper, lower = slide(upper, lower, source, corner + (m * kd + kz) * block, pitch, 0, weights, last, -1, 3, 3, 3, 1, 2)
            write_two(out, to + y * w + x, upper, lower, w, to + h * w, h)


@inlined
def pairs5(source, start, pitch, block, weights, tap, line, many, kd, out, to, h, w):
    """The same for windows of 5 x 5."""
    for two in range(0, h, 2):
        y = max(0, min(two, h - 2))
        for chunk in range(0, w, lanes(out)):
            x = max(0, min(chunk, w - lanes(out)))
            corner = start + y * pitch + x
            upper, lower = zeros(out), zeros(out)
            for m in range(many):
                for kz in range(kd):
                    last = tap + m * line + kz * 25 + 24
                    upper, lower = slide(upper, lower, source, corner + (m * kd + kz) * block, pitch, 0, weights, last, -1, 5, 5, 5, 1, 2)
            write_two(out, to + y * w + x, upper, lower, w, to + h * w, h)


@inlined
def pairs(source, start, pitch, block, weights, tap, line, many, kd, kh, kw, dh, dw, out, to, h, w):
    """The same for windows of any size, tap by tap."""
    for two in range(0, h, 2):
        y = max(0, min(two, h - 2))
        for chunk in range(0, w, lanes(out)):
            x = max(0, min(chunk, w - lanes(out)))
            upper, lower = zeros(out), zeros(out)
            for plane in range(many * kd):
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
def woven(source, start, pitch, block, weights, tap, line, many, kd, kh, kw, dh, dw, out, to, h, w, top, pw, more, left):
    """Rows of pixels at stride 2: the columns 0, 2, ... and the columns 1, 3, ... of a row, and then both."""
    lane = lanes(out)
    for y in range(h):
        line_of_places = start + ((top + y >> 1) - (top >> 1) + more) * pitch + left
        for x in range(0, w, 2 * lane):
            here, beside = zeros(out), zeros(out)
            for plane in range(many * kd):
                m = plane // kd
                some = tap + m * line + (plane - m * kd) * kh * kw
                for ky in range(kh):
                    if (ky * dh + top + y) & 1 == 0:
                        corner = line_of_places + plane * block - (ky * dh >> 1) * pitch + (x >> 1)
                        for kx in range(kw):
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
