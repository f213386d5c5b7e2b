"""Pointwise, by image: one product of matrices for each image, with the weights transposed.

    out[n, c, place] = sum over o of prepared[c, o] * places[n, o, place]

As `forward`, read backwards: COLUMNS places of all channels o stay in the cache while every row of prepared meets
them. A unit of work is PART channels c at these places.
"""

from jt_edu.backends.convolve.gemm_microkernel import lanes, tile

COLUMNS = 512  # places that are worked on together
DEPTH = 1024  # channels that are
PART = 12  # channels of the image in a unit of work
ROWS = 48  # channels of the image that are multiplied at a time


def kernel(lo, hi, places, weights, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups):
    o, shared = weights.shape[:2]
    size = out.shape[2] * out.shape[3] * out.shape[4]
    outs = o // groups
    long = -(-outs // lanes(prepared)) * lanes(prepared)  # of a row of prepared
    panels, parts = -(-size // COLUMNS), -(-shared // PART)
    unit = lo
    while unit < hi:
        panel, part = unit // parts, unit % parts
        last = min(parts, part + hi - unit)
        both, place = panel // panels, panel % panels * COLUMNS  # the sample and the group
        count = min(COLUMNS, size - place)
        for c in range(part * PART, min(shared, last * PART), ROWS):
            rows, channel = min(ROWS, min(shared, last * PART) - c), both % groups * shared + c
            for first in range(0, outs, DEPTH):
                tile(
                    prepared, channel * long + first, long, 1, places, (both * outs + first) * size + place, size,
                    out, (both * shared + c) * size + place, size, rows, count, min(DEPTH, outs - first), first == 0,
                )  # fmt: skip
        unit += last - part
