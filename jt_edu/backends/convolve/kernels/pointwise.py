"""Pointwise: windows of one number need no panel, the image is the matrix.

    out[n, o, place] = sum over c of weights[o, c] * image[n, c, place]

One product of matrices for each image of the batch. It is computed COLUMNS places at a time: the numbers of all
channels at these places stay in the cache while every row of the weights meets them. A unit of work is PART rows.
"""

from jt_edu.backends.convolve.tile import inlined, tile

COLUMNS = 64  # places that are worked on together
DEPTH = 1024  # channels that are
PART = 12  # rows of weights in a unit of work
ROWS = 48  # rows of out that are finished at a time: they are still in the cache


def kernel(lo, hi, image, weights, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups, *rest):
    channels = image.shape[1]
    o, shared = weights.shape[:2]
    places = out.shape[2] * out.shape[3] * out.shape[4]
    outs = o // groups
    panels, parts = -(-places // COLUMNS), -(-outs // PART)
    unit = lo
    while unit < hi:
        panel, part = unit // parts, unit % parts
        last = min(parts, part + hi - unit)
        image_group, place = panel // panels, panel % panels * COLUMNS
        sample, group = image_group // groups, image_group % groups
        count = min(COLUMNS, places - place)
        first, end = group * outs + part * PART, group * outs + min(outs, last * PART)
        for row in range(first, end, ROWS):
            rows = min(ROWS, end - row)
            goal = (sample * o + row) * places + place
            for c in range(0, shared, DEPTH):
                deep = min(DEPTH, shared - c)
                begin = (sample * channels + group * shared + c) * places + place
                tile(
                    weights, row * shared + c, shared, 1, image, begin, places, out, goal, places,
                    rows, count, deep, c == 0,
                )  # fmt: skip
            for r in range(row, row + rows):
                finish(sample, r, place, place + count, out, *rest)
        unit += last - part


@inlined
def finish(n, o, begin, end, out):
    """What the graph does to each sum as it is written; here nothing."""
