"""Rows: a few rows are sums of the rows of a large matrix, as in the gradient of a linear layer by its input.

    out0[i, j] = sum over k of a0[i, k] * a1[k, j]

Some rows of a1 are read together, long pieces of them, and added to the sums of all rows of out0, which stay in the
cache. So each number of a1 is read once. The more rows a0 has, the more sums are fetched and put back each time, and
the more rows of a1 it takes to make up for that; of an a1 that is in the cache anyway, it takes all of them. A unit of
work is PART columns.
"""

from jt_edu.backends.convolve.gemm_microkernel import tile

PART = 64
NEAR = 1 << 16  # numbers of out0, or of a1, that stay in the cache
DEPTH = 8  # rows of a1 that are read together, at least


def kernel(lo, hi, a0, a1, out0):
    rows, depth = a0.shape
    columns, wide = out0.shape[1], max(64, NEAR // rows // 64 * 64)
    deep = depth if depth * columns <= NEAR else max(DEPTH, rows * rows // 16)
    end = min(hi * PART, columns)
    for j in range(lo * PART, end, wide):
        for k in range(0, depth, deep):
            tile(
                a0, k, depth, 1, a1, k * columns + j, columns, out0, j, columns,
                rows, min(wide, end - j), min(deep, depth - k), k == 0,
            )  # fmt: skip
