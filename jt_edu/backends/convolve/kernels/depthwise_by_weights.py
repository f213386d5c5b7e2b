"""Depthwise, gradient by the weights: how well does each shifted image agree with the places?

    weight (ky, kx) = sum over samples and places (y, x)   places[y, x] * image[y * stride + ky][x * stride + kx]

That is a dot product for each tap. Rows of the image are copied first, with zeros around them and at stride 2 with even
and odd columns apart, so that both factors are neighbours. A vector of places is loaded once for three taps. Each lane
has a sum of its own, kept in `space`; the lanes meet at the very end.
"""

from jt_edu.backends.convolve.tile import inlined, lanes
from jt_edu.backends.convolve.vector import (
    clear,
    copy_row,
    fma,
    load,
    load_some,
    split_row,
    store,
    sum_of,
)  # fmt: skip
from jt_edu.backends.mathlib import at

ROOM = 6000  # numbers of float32 that leave the nearest cache some room for what else there is


def kernel(lo, hi, image, places, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups):
    n, c, w = image.shape[0], image.shape[1], image.shape[4]
    o, shared, kd, kh, kw = out.shape
    od, oh, ow = places.shape[2:]
    sh = sw if oh == 1 else sh  # a single row has no next one
    planes, many, lane = shared * kd, o // groups, lanes(space)
    pitch = max(ow + (kw - 1) * dw // sw, (w + pw + sw - 1) // sw)
    more = (kh - 1) * dh // sh
    high = min(oh, max(8, ROOM // (planes * sh * sw * pitch) - more))
    block = (high + more) * pitch + lane
    sums = planes * sh * sw * block + lane
    taps = planes * kh * kw
    strips = (oh + high - 1) // high
    dirty = od > 1 or high < oh  # else zeros stay where they are
    clear(space, 0, sums)
    for group in range(lo, hi):
        clear(space, sums, sums + many * taps * lane)
        for strip in range(n * od * strips):
            whole = strip // strips  # a plane of places of a sample
            sample, z, top = whole // od, whole % od, (strip - whole * strips) * high
            rows = min(high, oh - top)
            shape, corner = (rows + more, pitch, block, dirty), (z * sd - pd, top * sh - ph, pw)
            fill(image, sample * c + group * shared, space, 0, shape, sh, planes, kd, dd, corner)
            for m in range(many):
                here = (places, (((sample * o + group * many + m) * od + z) * oh + top) * ow, rows, ow)
                for k in range(planes * kh):
                    plane = k // kh
                    row = (k - plane * kh) * dh
                    start = (plane * sh + (row & (sh - 1))) * sw * block + row // sh * pitch
                    agree((space, start, pitch, block), sw, here, kw, dw, sums + (m * taps + k * kw) * lane)
        for m in range(many):
            for k in range(taps):
                i, kz, ky, kx = k // (kd * kh * kw), k // (kh * kw) % kd, k // kw % kh, k % kw
                total = sum_of(load(space, sums + (m * taps + k) * lane))
                out[at(group * many + m), at(i), at(kz), at(ky), at(kx)] = total


@inlined
def agree(pixels, stride, here, kw, dw, sums):
    """Add to the sums of one row of taps, three at a time."""
    space, start, pitch, block = pixels
    places, begin, rows, ow = here
    lane, half = lanes(space), stride - 1
    for kx in range(0, kw, 3):
        middle, right = min(kx + 1, kw - 1), min(kx + 2, kw - 1)  # where there are fewer, one is computed again
        a = start + (kx * dw & half) * block + (kx * dw >> half)
        b = start + (middle * dw & half) * block + (middle * dw >> half)
        c = start + (right * dw & half) * block + (right * dw >> half)
        first, second = load(space, sums + kx * lane), load(space, sums + middle * lane)
        third = load(space, sums + right * lane)
        for y in range(rows):
            for x in range(0, ow - lane + 1, lane):
                one = load(places, begin + y * ow + x)
                first = fma(one, load(space, a + y * pitch + x), first)
                second = fma(one, load(space, b + y * pitch + x), second)
                third = fma(one, load(space, c + y * pitch + x), third)
            rest = ow % lane
            if rest > 0:
                x = ow - rest
                one = load_some(places, begin + y * ow + x, rest)
                first = fma(one, load_some(space, a + y * pitch + x, rest), first)
                second = fma(one, load_some(space, b + y * pitch + x, rest), second)
                third = fma(one, load_some(space, c + y * pitch + x, rest), third)
        store(space, sums + kx * lane, first)
        store(space, sums + middle * lane, second)
        store(space, sums + right * lane, third)


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
