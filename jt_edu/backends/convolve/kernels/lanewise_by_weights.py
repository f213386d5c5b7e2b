"""Lanewise, gradient by the weights, of channels that keep to themselves: a lane for each channel.

    weight (ky, kx) = sum over samples and (y, x)   places[y, x] * cells[y * stride + ky * dh, x * stride + kx * dw]

Every factor is a vector of numbers of LANES channels (channel_lanes.py has the picture). A square of SIDE x SIDE taps
is summed up together: each place is loaded once for all nine. In larger windows the last squares begin earlier, and
leave out what others have added. Each sample has sums of its own, which are added up behind. A unit of work is the
channels of a vector, of all samples.
"""

from jt_edu.backends.convolve.channel_lanes import SIDE, cells_of, copy_inside, turn_back, turn_channels
from jt_edu.backends.convolve.gemm_microkernel import inlined, lanes
from jt_edu.backends.convolve.simd import fma, load, store, write_zeros, zeros


def kernel(lo, hi, image, places, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups):
    n, c, h, w = image.shape[0], image.shape[1], image.shape[3], image.shape[4]
    kh, kw = out.shape[3:]
    oh, ow = places.shape[3:]
    lane = lanes(space)
    window = max(kh, SIDE), max(kw, SIDE)
    pitch, sums, turned, _ = cells_of((h, w), window, (oh, ow), (sh, sw), (ph, pw), (dh, dw), lane)
    write_zeros(space, 0, sums)
    for unit in range(lo, hi):
        first = unit * lane
        channels = min(lane, c - first)
        write_zeros(space, sums, sums + kh * kw * lane)
        for sample in range(n):
            plane = sample * c + first
            turn_channels(image, plane * h * w, h * w, space, turned, lane, channels, h * w, lane)
            copy_inside(space, turned, h, w, ph * pitch + pw * lane, pitch, lane)
            turn_channels(places, plane * oh * ow, oh * ow, space, turned, lane, channels, oh * ow, lane)
            for ky in range(0, kh, SIDE):
                for kx in range(0, kw, SIDE):
                    y, x = max(0, min(ky, kh - SIDE)), max(0, min(kx, kw - SIDE))
                    square = (y * dh * pitch + x * dw * lane, dh * pitch, dw * lane)
                    taps = (sums + (y * kw + x) * lane, kw, ky - y, kx - x, kh - y, kw - x)
                    agree(space, square, (turned, oh, ow), (sh * pitch, sw * lane), taps)
        turn_back(space, sums, out, first * kh * kw, kh * kw, channels, lane)


@inlined
def agree(space, square, places, steps, taps):
    """Add to the sums of a square of taps what one sample says."""
    lane = lanes(space)
    begin, down, right = square
    turned, oh, ow = places
    a = b = c = d = e = f = g = h = i = zeros(space)
    for y in range(oh):
        for x in range(ow):
            one = load(space, turned + (y * ow + x) * lane)
            cell = begin + y * steps[0] + x * steps[1]
            a = fma(one, load(space, cell), a)
            b = fma(one, load(space, cell + right), b)
            c = fma(one, load(space, cell + 2 * right), c)
            d = fma(one, load(space, cell + down), d)
            e = fma(one, load(space, cell + down + right), e)
            f = fma(one, load(space, cell + down + 2 * right), f)
            g = fma(one, load(space, cell + 2 * down), g)
            h = fma(one, load(space, cell + 2 * down + right), h)
            i = fma(one, load(space, cell + 2 * down + 2 * right), i)
    add(space, taps, 0, a, b, c)
    add(space, taps, 1, d, e, f)
    add(space, taps, 2, g, h, i)


@inlined
def add(space, taps, row, first, second, third):
    """Add to a row of taps, those that are in the window and not in a square before."""
    sums, kw, top, left, rows, columns = taps
    lane = lanes(space)
    if top <= row < rows:
        here = sums + row * kw * lane
        if left <= 0:
            store(space, here, load(space, here) + first)
        if left <= 1 and columns > 1:
            store(space, here + lane, load(space, here + lane) + second)
        if columns > 2:
            store(space, here + 2 * lane, load(space, here + 2 * lane) + third)
