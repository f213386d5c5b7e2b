"""Outer: a matrix is a sum of outer products, as in the gradient of a linear layer by its weights.

    out0[i, j] = sum over k of a0[k, i] * a1[k, j]

DEPTH of them are added up at a time: what they read stays in the nearest cache, so a0 need not be copied into another
order although a column of it lies far apart. With no more than DEPTH each number of out0 is written once. A unit of
work is PART rows of out0; it is written in pieces, for which the numbers of a1 stay in the cache.
"""

from jt_edu.backends.convolve.gemm_microkernel import tile

PART = 6
NEAR = 1 << 16  # numbers of a1 that stay in the cache
DEPTH = 32
HIGH = 24  # rows of out0 at a time, where it is added to


def kernel(lo, hi, a0, a1, out0):
    depth, rows = a0.shape
    columns, wide = out0.shape[1], max(64, NEAR // min(depth, DEPTH) // 64 * 64)
    end, high = min(hi * PART, rows), PART if depth <= DEPTH else HIGH
    for k in range(0, depth, DEPTH):
        for i in range(lo * PART, end, high):
            for j in range(0, columns, wide):
                tile(
                    a0, k * rows + i, 1, rows, a1, k * columns + j, columns, out0, i * columns + j, columns,
                    min(high, end - i), min(wide, columns - j), min(DEPTH, depth - k), k == 0,
                )  # fmt: skip
