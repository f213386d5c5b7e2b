"""Winograd's algorithm F(4x4, 3x3), by image: `winograd4` over places in place of the image.

A place with tap k looks at image position  place + k - padding.  So tap k sees a position from  position + padding - k,
and tap 2 - j from  position + j - (2 - padding):  a convolution of the places, with the taps in reverse order,
a padding of 2 - padding, and sums over o for each channel c.

Source: Lavin and Gray 2015, "Fast Algorithms for Convolutional Neural Networks" (arXiv:1509.09308).
"""

from jt_edu.backends.convolve.patches import CHUNK, cut, join, lift_weights, panel_count, plan_of, turn_taps_back
from jt_edu.backends.convolve.points import image_at_six, sums_from_six, taps_at_six
from jt_edu.backends.convolve.tile import lanes, tile


def kernel(lo, hi, places, weights, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups):
    n, o, _, _, ow = places.shape
    _, c, _, h, w = out.shape
    count = lanes(places)
    plan, panels = plan_of(4, n, o, c, ow, h, w, count), panel_count(c, count)
    for unit in range(lo, hi):
        block, panel = unit // panels, unit % panels
        begin, end = block * plan.rows, min((block + 1) * plan.rows, n * plan.high)  # rows of tiles
        first = 2 * count * panel
        width = 2 * count if panel < panels - 1 else c - first  # channels of the panel
        if unit == lo or panel == 0:
            cut(places, 0, o, begin, end, 2 - ph, 2 - pw, 2, space, plan.image, plan, image_at_six)
        for channel in range(0, o, CHUNK):
            depth = min(CHUNK, o - channel)
            lift_weights(weights, first, width, channel, depth, space, plan, turn_taps_back, taps_at_six)
            for point in range(36):
                tile(
                    space, plan.image + point * o + channel, plan.row, 1,
                    space, plan.weights + point * (depth * width + count), width,
                    space, plan.sums + point * width, 36 * width + count,
                    (end - begin) * plan.wide, width, depth, channel == 0,
                )  # fmt: skip
        join(out, begin, end, first, width, space, plan, sums_from_six)
