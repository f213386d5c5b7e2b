"""Depthwise, forward: how does a channel meet weights that belong to it alone?

Nothing is shared between channels, so there is no matrix to multiply: each place is a sum of a few products of
neighbours. What costs time is to bring neighbours and edges together. So rows are copied first, with zeros around them,
into strips (the picture, and what lies where, stand in row_strips.py):

    place (y, x) = sum over taps  weights[ky, kx] * rows[y * stride + ky][x * stride + kx]

Only as many rows are copied as the nearest cache has room for; of small images, several channels. Rows of places are
computed two at a time: they share most of their pixels (`slide` in stencil.py).

    unit                 a group of a sample; a unit of work
    first, last          units whose rows are near together
    z, top, rows         the places that are computed from one strip: plane z, and so many rows from row `top` on
    shape, corner        how many rows are copied, and to where; from where, in the image (row_strips.py: fill)
    channel, place       a channel of all samples; the first place of the strip, counted in its channel
    pixels, taps, goal   from where, with what, to where: pairs() computes from these

Example: 32 channels of 112 x 112, one to a group, 3 x 3 taps, padding 1. A row of pixels takes 112 + 2 numbers, and 50
rows of places need 52 of them, for which ROOM = 6000 is enough. So of each channel rows 0 to 49, 50 to 99 and 100 to
111 are computed, one strip after the other: the second begins with top = 50, and copies rows 49 to 100.
"""

from jt_edu.backends.convolve.gemm_microkernel import inlined, lanes
from jt_edu.backends.convolve.row_strips import fill, image_strips, write_two
from jt_edu.backends.convolve.simd import fma, load, spread, write_zeros, zeros
from jt_edu.backends.convolve.stencil import slide

SIDE = 0  # of a window whose taps are written out; 0: a window of any size, tap by tap
STRIDE = 1  # of such a window


def kernel(lo, hi, image, weights, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups, *rest):
    w = image.shape[4]
    o, shared, kd, kh, kw = weights.shape
    od, oh, ow = out.shape[2:]
    sh = sw if oh == 1 else sh  # a single row has no next one
    planes, many = shared * kd, o // groups
    layout = image_strips((w, pw), (oh, ow), (kh, kw), (sh, sw), (dh, dw), planes, lanes(space))
    dirty = od > 1 or layout.high < oh  # else zeros stay where they are
    write_zeros(space, 0, layout.batch * layout.size + lanes(space))
    for first in range(lo, hi, layout.batch):
        last = min(first + layout.batch, hi)
        for z in range(od):
            for top in range(0, oh, layout.high):
                rows = min(layout.high, oh - top)
                shape = (rows + layout.more, layout.pitch, layout.block, dirty)
                corner = (z * sd - pd, top * sh - ph, layout.left)
                for unit in range(first, last):
                    fill(image, unit * shared, space, (unit - first) * layout.size, shape, sh, planes, kd, dd, corner)
                for unit in range(first, last):
                    pixels = (space, (unit - first) * layout.size, layout.pitch, layout.block)
                    for channel in range(unit * many, (unit + 1) * many):
                        place = (z * oh + top) * ow
                        taps = (weights, channel % o * planes * kh * kw, planes)
                        goal = (out, channel * od * oh * ow + place, rows, ow)
                        if SIDE > 0:
                            pairs(pixels, taps, goal)
                        else:
                            pairs_by_taps(pixels, sh, taps, goal, (kh, kw, dh, dw))
                        finish(channel // o, channel % o, place, place + rows * ow, out, *rest)


@inlined
def pairs(pixels, taps, goal):
    """Two rows of places at a time, of one plane: the window slides over them, with all of its taps written out."""
    source, start, pitch, block = pixels
    weights, tap, _ = taps
    out, to, h, w = goal
    for two in range(0, h, 2):
        y = max(0, min(two, h - 2))  # the last two may share a row with those before them: both compute it alike
        for chunk in range(0, w, lanes(out)):
            x = max(0, min(chunk, w - lanes(out)))
            corner = start + y * pitch + x
            upper, lower = zeros(out), zeros(out)
            upper, lower = slide(upper, lower, source, corner, pitch, block, weights, tap, 1, SIDE, STRIDE)
            write_two(out, to + y * w + x, upper, lower, w, to + h * w, h)


@inlined
def pairs_by_taps(pixels, stride, taps, goal, window):
    """The same for windows and planes of any number."""
    source, start, pitch, block = pixels
    weights, tap, planes = taps
    out, to, h, w = goal
    kh, kw, dh, dw = window
    half = stride - 1  # 0 or 1: a number n has remainder n & half, and quotient n >> half
    for two in range(0, h, 2):
        y = max(0, min(two, h - 2))
        for chunk in range(0, w, lanes(out)):
            x = max(0, min(chunk, w - lanes(out)))
            upper, lower = zeros(out), zeros(out)
            for k in range(planes * kh):
                plane = k // kh
                row = (k - plane * kh) * dh
                corner = start + (plane * stride + (row & half)) * stride * block + (y + (row >> half)) * pitch + x
                for kx in range(kw):
                    pixel = corner + (kx * dw & half) * block + (kx * dw >> half)
                    weight = spread(weights, tap + k * kw + kx)
                    upper = fma(weight, load(source, pixel), upper)
                    lower = fma(weight, load(source, pixel + pitch), lower)
            write_two(out, to + y * w + x, upper, lower, w, to + h * w, h)


@inlined
def finish(n, o, begin, end, out):
    """What the graph does to each sum as it is written; here nothing."""
