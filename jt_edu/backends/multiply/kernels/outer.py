"""Outer: a large matrix is a sum of a few outer products, as in the gradient of a linear layer by its weights.

    out0[i, j] = sum over k of a0[k, i] * a1[k, j]

Each number of out0 is written once. A unit of work is PART rows of it; it is written in
pieces, for which the numbers of a1 stay in the cache.
"""

from jt_edu.backends.convolve.tile import tile

PART = 6
NEAR = 1 << 16  # numbers of a1 that stay in the cache


def kernel(lo, hi, a0, a1, out0):
    depth, rows = a0.shape
    columns, wide = out0.shape[1], max(64, NEAR // depth // 64 * 64)
    for unit in range(lo, hi):
        i = unit * PART
        for j in range(0, columns, wide):
            tile(
                a0, i, 1, rows, a1, j, columns, out0, i * columns + j, columns,
                min(PART, rows - i), min(wide, columns - j), depth, True,
            )  # fmt: skip
