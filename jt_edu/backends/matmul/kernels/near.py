"""Near: many rows meet a matrix that stays in the cache, as the gradient of a small linear layer by its input.

    out0[i, j] = sum over k of a0[i, k] * a1[k, j]

A few rows of a0 are multiplied with all of a1, then the next few: they are fetched once, and a1 never again. A unit of
work is PART rows.
"""

from jt_edu.backends.convolve.gemm_microkernel import tile

PART = 24
DEPTH = 128  # rows of a1 that are read together


def kernel(lo, hi, a0, a1, out0):
    rows, depth = a0.shape
    columns = out0.shape[1]
    for i in range(lo * PART, min(hi * PART, rows), PART):
        for k in range(0, depth, DEPTH):
            tile(
                a0, i * depth + k, depth, 1, a1, k * columns, columns, out0, i * columns, columns,
                min(PART, rows - i), columns, min(DEPTH, depth - k), k == 0,
            )  # fmt: skip
