"""Lanewise: a convolution of channels that keep to themselves, on small images: a lane for each channel.

    sums[y, x] = sum over taps  weights[ky, kx] * cells[y * stride + ky * dilation, x * stride + kx * dilation]

Every factor is a vector of numbers of LANES channels (beside.py has the picture). BLOCK places of a row are computed
together: each weight is loaded once for all of them. A unit of work is the channels of a vector, of one sample.
"""

from jt_edu.backends.convolve.beside import BLOCK, cells_of, copy_inside, turn_back, turn_channels, turn_taps_in
from jt_edu.backends.convolve.tile import inlined, lanes
from jt_edu.backends.convolve.vector import fma, load, store, write_zeros, zeros


def kernel(lo, hi, image, weights, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups, *rest):
    c, h, w = image.shape[1], image.shape[3], image.shape[4]
    kh, kw = weights.shape[3:]
    oh, ow = out.shape[3:]
    lane, places = lanes(space), oh * ow
    pitch, taps, sums, _ = cells_of((h, w), (kh, kw), (oh, ow), (sh, sw), (ph, pw), (dh, dw), lane)
    vectors = -(-c // lane)
    write_zeros(space, 0, taps)
    for unit in range(lo, hi):
        sample, first = unit // vectors, unit % vectors * lane
        channels = min(lane, c - first)
        plane = sample * c + first
        turn_channels(image, plane * h * w, h * w, space, sums, lane, channels, h * w, lane)
        copy_inside(space, sums, h, w, ph * pitch + pw * lane, pitch)
        turn_taps_in(weights, first, kh * kw, space, taps, channels, lane)
        for y in range(oh):
            top = y * sh - ph
            above = min(max(0, -(top // dh)), kh)  # taps that see nothing but zeros
            below = min(max(above, -((top - h) // dh)), kh)
            rows = (y * sh * pitch, above, below, dh * pitch)
            slide_along(space, rows, (taps, kw, dw * lane), sums + y * ow * lane, ow, sw * lane)
        turn_back(space, sums, out, plane * places, places, channels, lane)
        for channel in range(first, first + channels):
            finish(sample, channel, 0, places, out, *rest)


@inlined
def slide_along(space, rows, window, goal, ow, stride):
    """The sums of a row of places, BLOCK at a time; where it has fewer, some more are written behind it."""
    lane = lanes(space)
    begin, above, below, down = rows
    taps, kw, right = window
    for x in range(0, ow, BLOCK):
        first = max(0, min(x, ow - BLOCK))
        a = b = c = d = e = f = g = zeros(space)
        for ky in range(above, below):
            for kx in range(kw):
                weight = load(space, taps + (ky * kw + kx) * lane)
                cell = begin + ky * down + first * stride + kx * right
                a = fma(weight, load(space, cell), a)
                b = fma(weight, load(space, cell + stride), b)
                c = fma(weight, load(space, cell + 2 * stride), c)
                d = fma(weight, load(space, cell + 3 * stride), d)
                e = fma(weight, load(space, cell + 4 * stride), e)
                f = fma(weight, load(space, cell + 5 * stride), f)
                g = fma(weight, load(space, cell + 6 * stride), g)
        to = goal + first * lane
        store(space, to, a)
        store(space, to + lane, b)
        store(space, to + 2 * lane, c)
        store(space, to + 3 * lane, d)
        store(space, to + 4 * lane, e)
        store(space, to + 5 * lane, f)
        store(space, to + 6 * lane, g)


@inlined
def finish(n, o, begin, end, out):
    """What the graph does to each sum as it is written; here nothing."""
