"""Panels, by image: the weights, transposed.

    prepared[(c, tap), o] = weights[o, (c, tap)]

Squares of a vector's width are turned in registers; what is left of a row is moved number by number. Rows of prepared
are whole vectors long. A unit of work is ROWS rows of prepared.
"""

from jt_edu.backends.convolve.copy_rows import place_rows
from jt_edu.backends.convolve.gemm_microkernel import lanes
from jt_edu.backends.convolve.simd_blocks import transpose

ROWS = 64  # rows of prepared in a unit of work


def kernel(lo, hi, weights, prepared, sd, sh, sw, pd, ph, pw, dd, dh, dw, groups):
    outs, lane = weights.shape[0] // groups, lanes(prepared)
    wide = weights.shape[1] * weights.shape[2] * weights.shape[3] * weights.shape[4]  # pairs (c, tap)
    long, blocks = -(-outs // lane) * lane, -(-wide // ROWS)
    for unit in range(lo, hi):
        group, row = unit // blocks, unit % blocks * ROWS
        rows = min(ROWS, wide - row)
        begin, goal = group * outs * wide + row, (group * wide + row) * long
        squares, turned = rows // lane * lane, outs // lane * lane
        transpose(weights, begin, wide, prepared, goal, long, turned, squares)
        place_rows(weights, begin + turned * wide, 1, wide, prepared, goal + turned, long, squares, 0, outs - turned, 0)
        place_rows(weights, begin + squares, 1, wide, prepared, goal + squares * long, long, rows - squares, 0, outs, 0)
