"""Panels: the places are weights times windows.

    out[o, window] = sum over (c, tap) of weights[o, (c, tap)] * panel[(c, tap), window]

The windows are written out in panels of COLUMNS windows and at most DEPTH pairs (c, tap), which fit into the cache, and each
panel is multiplied with all rows of the weights before the next one is made:

                              | panel of windows |       the weights are read where they are; the panel
                              |  (c, tap) rows   |       is read from the cache, once for 6 rows of weights
        weights, 6 rows   ->  |  6 rows of out   |

A unit of work is PART rows of out in one panel.
"""

from jt_edu.backends.convolve.tile import inlined, lanes, tile
from jt_edu.backends.convolve.windows import gather, scatter

COLUMNS = 64  # windows in a panel
DEPTH = 1024  # rows of a panel, about
PART = 12  # rows of weights in a unit of work
ROWS = 48  # rows of out that are finished at a time: they are still in the cache


def kernel(lo, hi, image, weights, out, prepared, space, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups, *rest):
    n, channels, d, h, w = image.shape
    o, shared, kd, kh, kw = weights.shape
    places = out.shape[2] * out.shape[3] * out.shape[4]
    taps, outs, pitch = kd * kh * kw, o // groups, COLUMNS + lanes(space)
    panels, parts = -(-n * places // COLUMNS), -(-outs // PART)
    blocks = max(1, shared * taps // DEPTH)
    block = -(-shared // blocks)
    sums = block * taps * pitch + pitch  # where in space: rows of sums that do not lie in one image
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
                image, (group * shared + c) * d * h * w, channels * d * h * w, deep, (d, h, w), out.shape[2:],
                (kd, kh, kw), (sd, sh, sw), (dd, dh, dw), (-pd, -ph, -pw), q, count, space, (taps * pitch, pitch),
            )
            for row in range(group * outs + part * PART, group * outs + min(outs, last * PART), ROWS):
                rows = min(ROWS, group * outs + min(outs, last * PART) - row)
                if direct:
                    begin = (q // places * o + row) * places + q % places
                    tile(
                        weights, row * shared * taps + c * taps, shared * taps, 1, space, 0, pitch,
                        out, begin, places, rows, count, deep * taps, c == 0,
                    )
                else:
                    full = -(-count // lanes(space)) * lanes(space)
                    tile(
                        weights, row * shared * taps + c * taps, shared * taps, 1, space, 0, pitch,
                        space, sums, COLUMNS, rows, full, deep * taps, True,
                    )
                begin = q
                while begin < q + count:
                    end = min(q + count, (begin // places + 1) * places)
                    sample, place = begin // places, begin % places
                    for r in range(rows):
                        if not direct:
                            goal = (sample * o + row + r) * places + place
                            scatter(space, sums + r * COLUMNS + begin - q, out, goal, 1, end - begin, c == 0)
                        if c + block >= shared:
                            finish(sample, row + r, place, place + end - begin, out, *rest)
                    begin = end
        unit += last - part


@inlined
def finish(n, o, begin, end, out):
    """What the graph does to each sum as it is written; here nothing."""
