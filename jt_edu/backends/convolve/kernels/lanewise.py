"""Lanewise: a convolution of channels that keep to themselves, on small images: a lane for each channel.

    sums[y, x] = sum over taps  weights[ky, kx] * cells[y * stride + ky * dilation, x * stride + kx * dilation]

Every factor is a vector of numbers of LANES channels (channel_lanes.py has the picture). BLOCK places of a row are
computed
together: each weight is loaded once for all of them. A unit of work is the channels of a vector, of one sample.
"""

from jt_edu.backends.convolve.channel_lanes import (
    cells_of,
    copy_inside,
    slide_along,
    turn_back,
    turn_channels,
    turn_taps_in,
)
from jt_edu.backends.convolve.gemm_microkernel import inlined, lanes
from jt_edu.backends.convolve.simd import write_zeros


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
        copy_inside(space, sums, h, w, ph * pitch + pw * lane, pitch, lane)
        turn_taps_in(weights, first, kh * kw, space, taps, channels, lane)
        for y in range(oh):
            top = y * sh - ph
            above = min(max(0, -(top // dh)), kh)  # taps that see nothing but zeros
            below = min(max(above, -((top - h) // dh)), kh)
            rows = (y * sh * pitch, above, below, 1, dh * pitch)
            slide_along(space, rows, (taps, kw, lane, dw * lane), sums + y * ow * lane, ow, sw * lane)
        turn_back(space, sums, out, plane * places, places, channels, lane)
        for channel in range(first, first + channels):
            finish(sample, channel, 0, places, out, *rest)


@inlined
def finish(n, o, begin, end, out):
    """What the graph does to each sum as it is written; here nothing."""
