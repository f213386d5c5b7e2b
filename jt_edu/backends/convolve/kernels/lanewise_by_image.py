"""Lanewise, gradient by the image, of channels that keep to themselves: a lane for each channel.

Pixel (y, x) was read by tap (ky, kx) at the place whose window begins at y - ky * dh, x - kx * dw. So places are laid
out as far apart as their windows, zeros in between, and a window of stride 1 slides over them with its taps in reverse:

    pixels[y, x] = sum over taps  weights[kh - 1 - ky, kw - 1 - kx] * cells[y + ky * dh, x + kx * dw]

    stride 2     p0  0  p1  0  p2         every second row of cells is left out; in a row the zeros are multiplied
                  0  0   0  0   0
                 p3  0  p4  0  p5

Every factor is a vector of numbers of LANES channels (channel_lanes.py has the picture). A unit of work is the channels
of a vector, of one sample.
"""

from jt_edu.backends.convolve.channel_lanes import (
    cells_of,
    copy_inside,
    slide_along,
    turn_back,
    turn_channels,
    turn_taps_in,
)
from jt_edu.backends.convolve.gemm_microkernel import lanes
from jt_edu.backends.convolve.simd import write_zeros


def kernel(lo, hi, places, weights, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups):
    c, h, w = out.shape[1], out.shape[3], out.shape[4]
    kh, kw = weights.shape[3:]
    oh, ow = places.shape[3:]
    lane = lanes(space)
    above, before = (kh - 1) * dh - ph, (kw - 1) * dw - pw  # zeros around the places
    apart = (oh - 1) * sh + 1, (ow - 1) * sw + 1
    pitch, taps, sums, _ = cells_of(apart, (kh, kw), (h, w), (1, 1), (above, before), (dh, dw), lane)
    vectors = -(-c // lane)
    write_zeros(space, 0, taps)
    for unit in range(lo, hi):
        sample, first = unit // vectors, unit % vectors * lane
        channels = min(lane, c - first)
        plane = sample * c + first
        turn_channels(places, plane * oh * ow, oh * ow, space, sums, lane, channels, oh * ow, lane)
        copy_inside(space, sums, oh, ow, above * pitch + before * lane, sh * pitch, sw * lane)
        turn_taps_in(weights, first, kh * kw, space, taps, channels, lane)
        for y in range(h):
            begin, step = (above - y) % sh if dh == 1 else 0, sh if dh == 1 else 1  # rows of taps that see places
            last = taps + (kh * kw - 1) * lane
            rows = (y * pitch, begin, kh, step, dh * pitch)
            slide_along(space, rows, (last, kw, -lane, dw * lane), sums + y * w * lane, w, lane)
        turn_back(space, sums, out, plane * h * w, h * w, channels, lane)
