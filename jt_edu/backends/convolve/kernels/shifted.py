"""Shifted: the places are weights times windows that nobody wrote out.

    out[o, window] = sum over k = (c, tap) of weights[o, k] * rows[shift[k] + window]

As panels, but what a tap sees of all windows is read where it lies, in rows of the image that were copied once for all
taps (indirect_layout.py has the picture). A strip of them stays in the cache while every row of the weights meets it. A
unit of work is PART rows of out in one strip.

If the last vector of a row of places is nearly full, sums are written where they belong, row by row; else rows of
windows are multiplied as one long row, with some sums that are none between them, and handed out.
"""

from jt_edu.backends.convolve.gemm_microkernel import inlined, lanes, tile_at
from jt_edu.backends.convolve.im2col import steps
from jt_edu.backends.convolve.indirect_layout import PART, copy_shifted, fits_rows, hand_back, shifts_of, write_table


def kernel(lo, hi, image, weights, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups, *rest):
    o, shared, kd, kh, kw = weights.shape
    od, oh, ow = out.shape[2:]
    sn, sc, sz, sy, sx = steps(image)
    taps, stride, dilation, lane = (kd, kh, kw), (sd, sh, sw), (dd, dh, dw), lanes(space)
    layout = shifts_of(shared, taps, stride, dilation, (oh, ow), lane)
    high, depth, outs = layout.high, shared * kd * kh * kw, o // groups
    direct = fits_rows(ow, layout.pitch, depth, lane)
    write_table(space, shared, taps, stride, dilation, layout)
    strips, parts = -(-oh // high), -(-outs // PART)
    unit = lo
    while unit < hi:
        strip, part = unit // parts, unit % parts
        end = min(parts, part + hi - unit)
        plane, top = strip // strips, strip % strips * high  # of all samples and groups
        both, z = plane // od, plane % od
        sample, group = both // groups, both % groups
        rows = min(high, oh - top)
        copy_shifted(
            image, sample * sn + group * shared * sc, (sc, sz, sy, sx), image.shape[2:],
            (z * sd - pd, top * sh - ph, -pw), rows, shared, taps, stride, dilation, space, layout,
        )  # fmt: skip
        place = (z * oh + top) * ow
        for first in range(part, end):
            row, many = group * outs + first * PART, min(PART, outs - first * PART)
            goal = (sample * o + row) * od * oh * ow + place
            if direct:
                row_by_row(weights, row * depth, depth, space, layout, out, goal, od * oh * ow, many, rows, ow)
            else:
                as_one_row(weights, row * depth, depth, space, layout, out, goal, od * oh * ow, many, rows, ow)
            for r in range(row, row + many):
                finish(sample, r, place, place + rows * ow, out, *rest)
        unit += end - part


@inlined
def row_by_row(weights, begin, depth, space, layout, out, goal, plane, many, rows, ow):
    """Each row of windows by itself; `plane` numbers lie between a row of out and the next."""
    for y in range(rows):
        tile_at(
            weights, begin, depth, space, y * layout.pitch, space, layout.table,
            out, goal + y * ow, plane, many, ow, depth,
        )  # fmt: skip


@inlined
def as_one_row(weights, begin, depth, space, layout, out, goal, plane, many, rows, ow):
    """All rows of windows as one, beside their place; what is between them stays there."""
    columns = max(lanes(space), (rows - 1) * layout.pitch + ow)
    tile_at(
        weights, begin, depth, space, 0, space, layout.table,
        space, layout.sums, layout.wide, many, columns, depth,
    )  # fmt: skip
    for r in range(many):
        hand_back(space, layout.sums + r * layout.wide, layout.pitch, out, goal + r * plane, rows, ow)


@inlined
def finish(n, o, begin, end, out):
    """What the graph does to each sum as it is written; here nothing."""
