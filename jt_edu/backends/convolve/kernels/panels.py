"""Panels: the places are weights times windows.

    out[o, window] = sum over (c, tap) of weights[o, (c, tap)] * panel[(c, tap), window]

The windows are written out in panels of COLUMNS windows and about DEPTH pairs (c, tap). A panel fits into the cache,
and is multiplied with all rows of the weights before the next one is made:

                              | panel of windows |       the weights are read where they are; the panel
                              |  (c, tap) rows   |       is read from the cache, once for 6 rows of weights
        weights, 6 rows   ->  |  6 rows of out   |

The image may be a view: its rows and channels are fetched from where they lie. A unit of work is PART rows of out in
one panel.
"""

from jt_edu.backends.convolve.copy_rows import scatter
from jt_edu.backends.convolve.gemm_microkernel import inlined, lanes, tile
from jt_edu.backends.convolve.im2col import COLUMNS, PART, ROWS, gather, panel_of, steps


def kernel(lo, hi, image, weights, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups, *rest):
    n = image.shape[0]
    o, shared, kd, kh, kw = weights.shape
    sn, sc, sz, sy, sx = steps(image)
    places = out.shape[2] * out.shape[3] * out.shape[4]
    taps, outs = kd * kh * kw, o // groups
    layout = panel_of(shared, taps, lanes(space))
    block, pitch, sums = layout.block, layout.pitch, layout.beside
    panels, parts = -(-n * places // COLUMNS), -(-outs // PART)
    unit = lo
    while unit < hi:
        panel, part = unit // parts, unit % parts
        last = min(parts, part + hi - unit)
        group, q = panel // panels, panel % panels * COLUMNS
        count = min(COLUMNS, n * places - q)
        direct = q // places == (q + count - 1) // places and count >= lanes(space)
        for c in range(0, shared, block):
            deep = min(block, shared - c)
            gather(
                image, (group * shared + c) * sc, sn, deep, (sc, sz, sy, sx), image.shape[2:], out.shape[2:],
                (kd, kh, kw), (sd, sh, sw), (dd, dh, dw), (-pd, -ph, -pw), 0, taps, q, count,
                space, (taps * pitch, pitch),
            )  # fmt: skip
            for row in range(group * outs + part * PART, group * outs + min(outs, last * PART), ROWS):
                rows = min(ROWS, group * outs + min(outs, last * PART) - row)
                begin = row * shared * taps + c * taps
                if direct:
                    tile(
                        weights, begin, shared * taps, 1, space, 0, pitch,
                        out, (q // places * o + row) * places + q % places, places, rows, count, deep * taps, c == 0,
                    )  # fmt: skip
                else:
                    tile(
                        weights, begin, shared * taps, 1, space, 0, pitch,
                        space, sums, COLUMNS, rows, -(-count // lanes(space)) * lanes(space), deep * taps, True,
                    )  # fmt: skip
                hand_out(space, sums, direct, out, row, rows, q, count, c == 0, c + block >= shared, *rest)
        unit += last - part


@inlined
def hand_out(space, sums, direct, out, row, rows, q, count, fresh, final, *rest):
    """Bring the sums of `count` windows to their images, if they are not there; finish them if they are final."""
    places = out.shape[2] * out.shape[3] * out.shape[4]
    begin = q
    while begin < q + count:  # windows in one image
        end = min(q + count, (begin // places + 1) * places)
        sample, place = begin // places, begin % places
        for r in range(rows):
            if not direct:
                goal = (sample * out.shape[1] + row + r) * places + place
                scatter(space, sums + r * COLUMNS + begin - q, out, goal, 1, end - begin, fresh)
            if final:
                finish(sample, row + r, place, place + end - begin, out, *rest)
        begin = end


@inlined
def finish(n, o, begin, end, out):
    """What the graph does to each sum as it is written; here nothing."""
