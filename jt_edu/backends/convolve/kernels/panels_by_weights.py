"""Panels, by weights: the gradient by the weights is places times windows.

    out[o, (c, tap)] = sum over n and place of places[n, o, place] * window[n, place, (c, tap)]

The sum runs over all places of all images, DEPTH = 192 of them at a time: their windows are written out in rows, as for
`forward`, and then transposed, so that (c, tap) runs along the columns, as it does in out:

                                  | columns (c, tap) |
                                  |   one row for    |
                                  |    each place    |
        places, 6 channels o  ->  |  6 rows of out   |   += for each DEPTH places, always in the same order

A unit of work is PART rows of out in one panel, of about 256 columns.
"""

from jt_edu.backends.convolve.copy_rows import place_rows
from jt_edu.backends.convolve.gemm_microkernel import inlined, lanes, tile
from jt_edu.backends.convolve.im2col import PART, ROWS, TURNED_DEPTH, gather, panel_by_weights, steps, wide_of
from jt_edu.backends.convolve.simd_blocks import transpose


def kernel(lo, hi, image, places, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups):
    n = image.shape[0]
    o, shared, kd, kh, kw = out.shape
    sn, sc, sz, sy, sx = steps(image)
    grid = places.shape[2] * places.shape[3] * places.shape[4]
    lane, taps, outs = lanes(space), kd * kh * kw, o // groups
    layout = panel_by_weights(shared, taps, lane)
    block, pitch, turned, beside = layout.block, layout.pitch, layout.turned, layout.beside
    wide = wide_of(block, taps, lane)
    panels, parts = -(-shared // block), -(-outs // PART)
    unit = lo
    while unit < hi:
        panel, part = unit // parts, unit % parts
        last = min(parts, part + hi - unit)
        group, c = panel // panels, panel % panels * block
        deep = min(block, shared - c)
        for q in range(0, n * grid, TURNED_DEPTH):
            count = min(TURNED_DEPTH, n * grid - q)
            gather(
                image, (group * shared + c) * sc, sn, deep, (sc, sz, sy, sx), image.shape[2:], places.shape[2:],
                (kd, kh, kw), (sd, sh, sw), (dd, dh, dw), (-pd, -ph, -pw), 0, taps, q, count,
                space, (taps * pitch, pitch),
            )  # fmt: skip
            transpose(space, 0, pitch, space, turned, wide, deep * taps, count)
            for row in range(group * outs + part * PART, group * outs + min(outs, last * PART), ROWS):
                rows = min(ROWS, group * outs + min(outs, last * PART) - row)
                goal = (row * shared + c) * taps
                if q // grid == (q + count - 1) // grid:
                    tile(
                        places, (q // grid * o + row) * grid + q % grid, grid, 1, space, turned, wide,
                        out, goal, shared * taps, rows, deep * taps, count, q == 0,
                    )  # fmt: skip
                else:
                    write_beside(places, row, rows, q, count, space, beside, pitch)
                    tile(
                        space, beside, pitch, 1, space, turned, wide,
                        out, goal, shared * taps, rows, deep * taps, count, q == 0,
                    )  # fmt: skip
        unit += last - part


@inlined
def write_beside(places, row, rows, q, count, space, beside, pitch):
    """Write places q to q + count, counted from image to image, of some channels into rows."""
    o, grid = places.shape[1], places.shape[2] * places.shape[3] * places.shape[4]
    begin = q
    while begin < q + count:  # places of one image
        end = min(q + count, (begin // grid + 1) * grid)
        place = (begin // grid * o + row) * grid + begin % grid
        place_rows(places, place, grid, 1, space, beside + begin - q, pitch, rows, 0, end - begin, 0)
        begin = end
