"""Pack: write what a view shows into memory of its own, in row-major order.

    packed[n, c, z, y, x] = source[start + n * sn + c * sc + z * sd + y * sh + x * sw]

Numbers that lie beside each other are moved as vectors. If those are of a row (sw = 1), it is copied; if they are of
neighbouring channels (sc = 1: the view of an array (n, h, w, c)), blocks of channels and places are turned:

    source, a place after the other   a0 b0 c0 d0  a1 b1 c1 d1  ..   --->   packed   a0 a1 a2 a3 ..
                                                                                     b0 b1 b2 b3 ..

Everything else is moved number by number. Planes whose rows go on as one are one long row. A unit of work is a
vector's width of channels of one sample.
"""

from jt_edu.backends.convolve.copy_rows import scatter
from jt_edu.backends.convolve.gemm_microkernel import inlined, lanes
from jt_edu.backends.convolve.simd_blocks import turn


def kernel(lo, hi, source, packed, start, sn, sc, sd, sh, sw):
    c, d, h, w = packed.shape[1:]
    lane, plane = lanes(packed), d * h * w
    if (h == 1 or sh == w * sw) and (d == 1 or sd == h * w * sw):
        d, h, w = 1, 1, plane
    blocks = -(-c // lane)
    for unit in range(lo, hi):
        sample, first = unit // blocks, max(0, min(unit % blocks * lane, c - lane))  # the last block begins earlier
        channels = min(lane, c)
        for row in range(d * h):
            begin = start + sample * sn + first * sc + row // h * sd + row % h * sh
            goal = (sample * c + first) * plane + row * w
            if sc == 1 and sw != 1:
                turn_row(source, begin, sw, packed, goal, plane, w, channels)
            else:
                for k in range(channels):
                    move_row(source, begin + k * sc, sw, packed, goal + k * plane, w)


@inlined
def turn_row(source, begin, step, packed, goal, plane, w, channels):
    """The places of a row, of channels that lie beside each other."""
    lane = lanes(packed)
    for x in range(0, w, lane):
        q = max(0, min(x, w - lane))
        turn(source, begin + q * step, step, packed, goal + q, plane, min(lane, w), channels)


@inlined
def move_row(source, begin, step, packed, goal, w):
    """The places of a row of one channel."""
    if step == 1:
        scatter(source, begin, packed, goal, 1, w, True)
    else:
        turn(source, begin, step, packed, goal, w, w, 1)
