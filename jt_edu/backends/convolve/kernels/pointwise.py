"""Pointwise: windows of one number need no panel, the image is the matrix.

    out[n, o, place] = sum over c of weights[o, c] * image[n, c, place]

One product of matrices for each image of the batch. It is computed COLUMNS places at a time: the numbers of all
channels at these places stay in the cache while every row of the weights meets them. A unit of work is PART rows.

A small image may end with a few places that do not fill a vector. These are computed one by one (remainder.py).
"""

from jt_edu.backends.convolve.copy_rows import place_rows
from jt_edu.backends.convolve.gemm_microkernel import inlined, lanes, tile
from jt_edu.backends.convolve.im2col import steps
from jt_edu.backends.convolve.remainder import ROWS, left_over, sums_behind
from jt_edu.backends.convolve.skinny_gemm import dots

COLUMNS = 512  # places that are worked on together
DEPTH = 1024  # channels that are
PART = 12  # rows of weights in a unit of work


def kernel(lo, hi, image, weights, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups, *rest):
    sample_step, channel_step = steps(image)[:2]  # a view of whole planes may have its own
    o, shared = weights.shape[:2]
    places = out.shape[2] * out.shape[3] * out.shape[4]
    outs = o // groups
    panels, parts = -(-places // COLUMNS), -(-outs // PART)
    left = left_over(places, lanes(out))
    sums, _ = sums_behind(left, shared)
    unit = lo
    while unit < hi:
        panel, part = unit // parts, unit % parts
        end = min(parts, part + hi - unit)
        image_group, place = panel // panels, panel % panels * COLUMNS
        sample, group = image_group // groups, image_group % groups
        count = min(COLUMNS, places - place)
        source = sample * sample_step + group * shared * channel_step
        for k in range(left):
            place_rows(image, source + places - left + k, 0, channel_step, space, k * shared, 0, 1, 0, shared, 0)
        first, last_row = group * outs + part * PART, group * outs + min(outs, end * PART)
        for row in range(first, last_row, ROWS):
            rows = min(ROWS, last_row - row)
            goal = (sample * o + row) * places + place
            for c in range(0, shared, DEPTH):
                deep = min(DEPTH, shared - c)
                tile(
                    weights, row * shared + c, shared, 1, image, source + c * channel_step + place, channel_step,
                    out, goal, places, rows, count - left, deep, c == 0,
                )  # fmt: skip
            if left > 0:
                one_by_one(weights, row * shared, rows, shared, space, sums, left, out, goal + count - left, places)
            for r in range(row, row + rows):
                finish(sample, r, place, place + count, out, *rest)
        unit += end - part


@inlined
def one_by_one(weights, begin, rows, shared, space, sums, left, out, goal, places):
    """The sums at the places left over: they are found one behind the other, and then sent to their rows."""
    dots(space, 0, shared, weights, begin, shared, space, sums, rows, left, rows, shared, True)
    for r in range(rows):
        for k in range(left):
            out.reshape(-1)[goal + r * places + k] = space[sums + k * rows + r]


@inlined
def finish(n, o, begin, end, out):
    """What the graph does to each sum as it is written; here nothing."""
