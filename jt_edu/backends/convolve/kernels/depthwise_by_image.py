"""Depthwise, gradient by the image: which places does a pixel take part in?

Pixel (y, x) was read by tap (ky, kx) at place ((y + padding - ky) / stride, (x + padding - kx) / stride), where that is
whole. So a pixel gathers from the places what it was given to, and nothing is added twice to one address:

    stride 1     a convolution of the places with the window reversed
    stride 2     even and odd pixels meet different taps:   x + padding even   kx = 0, 2, ...
                                                            x + padding odd    kx = 1, 3, ...
                 each kind is a convolution of stride 1; the two are woven into one row

Rows of places are copied first with zeros around them, for as many pixels as the nearest cache has room for: see
`places_strips` in row_strips.py.
"""

from jt_edu.backends.convolve.gemm_microkernel import inlined, lanes
from jt_edu.backends.convolve.row_strips import copy_row, places_strips, write_two
from jt_edu.backends.convolve.simd import fma, load, spread, store_some, woven_high, woven_low, write_zeros, zeros
from jt_edu.backends.convolve.stencil import slide

SIDE = 0  # of a window whose taps are written out, at stride 1; 0: a window of any size, tap by tap


def kernel(lo, hi, places, weights, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups):
    d, h, w = out.shape[2:]
    o, shared, kd, kh, kw = weights.shape
    oh, ow = places.shape[3:]
    sh = sw if oh == 1 else sh  # a single row has no next one
    half, planes = sh - 1, o // groups * kd
    layout = places_strips((w, pw), h, ow, (kh, kw), sh, (dh, dw), planes, lanes(space))
    left, pitch, more, block = layout.left, layout.pitch, layout.more, layout.block
    high, size, batch = layout.high, layout.size, layout.batch
    window = (kh, kw, dh, dw)
    shape = (pitch, block, d > 1 or high < h)  # else zeros stay where they are
    write_zeros(space, 0, batch * size + lanes(space))
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
                    if SIDE > 0:
                        pairs((space, source + pw, pitch, block), taps, goal)
                    elif half == 1:
                        start = source + left + more * pitch
                        woven((space, start, pitch, block), taps, goal, window, top + ph, pw)
                    else:
                        pairs_by_taps((space, source + pw, pitch, block), taps, goal, window)


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
                write_zeros(space, goal, goal + ow)
            goal += pitch


@inlined
def pairs(pixels, taps, goal):
    """Two rows of pixels at a time, of one plane: the window slides over them, with all of its taps written out."""
    source, start, pitch, _ = pixels
    weights, last = taps[0], taps[1] + SIDE * SIDE - 1
    out, to, h, w = goal
    for two in range(0, h, 2):
        y = max(0, min(two, h - 2))  # the last two may share a row with those before them: both compute it alike
        for chunk in range(0, w, lanes(out)):
            x = max(0, min(chunk, w - lanes(out)))
            corner = start + y * pitch + x
            upper, lower = zeros(out), zeros(out)
            upper, lower = slide(upper, lower, source, corner, pitch, 0, weights, last, -1, SIDE, 1)
            write_two(out, to + y * w + x, upper, lower, w, to + h * w, h)


@inlined
def pairs_by_taps(pixels, taps, goal, window):
    """The same for windows and planes of any number."""
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
