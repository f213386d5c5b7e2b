"""Depthwise, gradient by the weights: how well does each shifted image agree with the places?

    weight (ky, kx) = sum over samples and places (y, x)   places[y, x] * image[y * stride + ky][x * stride + kx]

That is a dot product for each tap. Rows of the image are copied first, with zeros around them and at stride 2 with even
and odd columns apart, so that both factors are neighbours. A vector of places is loaded once for three taps. Each lane
has a sum of its own, kept in `space`; the lanes meet at the very end.
"""

from jt_edu.backends.convolve.tile import inlined, lanes
from jt_edu.backends.convolve.vector import (
    copy_row, fma, load, load_some, split_row, store, sum_of, zeros,
)  # fmt: skip
from jt_edu.backends.mathlib import at

ROOM = 6000  # numbers of float32 that leave the nearest cache some room for what else there is


def kernel(lo, hi, image, places, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups):
    n, c, d, h, w = image.shape
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
    for i in range(0, sums, lane):
        store(space, i, zeros(space))
    for group in range(lo, hi):
        for i in range(many * taps):
            store(space, sums + i * lane, zeros(space))
        for sample in range(n):
            for z in range(od):
                for top in range(0, oh, high):
                    rows = min(high, oh - top)
                    for plane in range(planes):
                        i = plane // kd
                        deep = z * sd + (plane - i * kd) * dd - pd
                        begin = ((sample * c + group * shared + i) * d + deep) * h * w
                        there = h if 0 <= deep < d else 0
                        goal = plane * sh * sw * block
                        pad(image, begin, there, w, space, goal, rows + more, pitch, block, sh, top * sh - ph, pw)
                    for m in range(many):
                        begin = (((sample * o + group * many + m) * od + z) * oh + top) * ow
                        for k in range(planes * kh):
                            plane = k // kh
                            row = (k - plane * kh) * dh
                            source = (plane * sh + row % sh) * sw * block + row // sh * pitch
                            agree(space, source, pitch, block, sw, places, begin, rows, ow, kw, dw, sums + (m * taps + k * kw) * lane)
        for i in range(many * taps):
            k = i // kw
            row = group * many * planes * kh + k
            channel = row // (planes * kh)
            row -= channel * planes * kh
            out[at(channel), at(row // (kd * kh)), at(row // kh % kd), at(row % kh), at(i - k * kw)] = sum_of(
                load(space, sums + i * lane)
            )


@inlined
def agree(space, source, pitch, block, stride, places, begin, rows, ow, kw, dw, sums):
    """Add to the sums of one row of taps, three at a time."""
    lane, half = lanes(space), stride - 1
    for kx in range(0, kw, 3):
        second, third = min(kx + 1, kw - 1), min(kx + 2, kw - 1)  # where there are fewer, one is computed again
        a = source + (kx * dw & half) * block + (kx * dw >> half)
        b = source + (second * dw & half) * block + (second * dw >> half)
        c = source + (third * dw & half) * block + (third * dw >> half)
        left, middle, right = load(space, sums + kx * lane), load(space, sums + second * lane), load(space, sums + third * lane)
        for y in range(rows):
            for x in range(0, ow - lane + 1, lane):
                here = load(places, begin + y * ow + x)
                left = fma(here, load(space, a + y * pitch + x), left)
                middle = fma(here, load(space, b + y * pitch + x), middle)
                right = fma(here, load(space, c + y * pitch + x), right)
            rest = ow % lane
            if rest > 0:
                x = ow - rest
                here = load_some(places, begin + y * ow + x, rest)
                left = fma(here, load_some(space, a + y * pitch + x, rest), left)
                middle = fma(here, load_some(space, b + y * pitch + x, rest), middle)
                right = fma(here, load_some(space, c + y * pitch + x, rest), right)
        store(space, sums + kx * lane, left)
        store(space, sums + second * lane, middle)
        store(space, sums + third * lane, right)


@inlined
def pad(image, begin, h, w, space, to, rows, pitch, block, stride, top, pw):
    """Copy rows from `top` on, sorted by the remainders of row and column."""
    for phase in range(stride):
        goal = to + phase * stride * block
        y = top + phase
        for _ in range(rows):
            if y < 0 or y >= h:
                for x in range(0, pitch, lanes(space)):
                    store(space, goal + x, zeros(space))
                    if stride == 2:
                        store(space, goal + block + x, zeros(space))
            elif stride == 1:
                copy_row(image, begin + y * w, w, space, goal + pw)
            else:
                first = goal + (pw & 1) * block + (pw >> 1)
                second = goal + (1 - (pw & 1)) * block + ((pw + 1) >> 1)
                split_row(image, begin + y * w, w, space, first, second)
            goal += pitch
            y += stride
