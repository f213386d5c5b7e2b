"""Dots: a few rows meet all rows of a large matrix, as in a linear layer on a small batch.

    out0[i, j] = sum over k of a0[i, k] * a1[j, k]

Each number of a1 is read once, where it lies, and multiplied by the numbers of all rows of a0, which stay in the cache.
A unit of work is PART rows of a1, which are PART columns of out0.
"""

from jt_edu.backends.convolve.skinny_gemm import dots

PART = 32
NEAR = 1 << 16  # numbers of a0 that stay in the cache


def kernel(lo, hi, a0, a1, out0):
    rows, depth = a0.shape
    columns, deep = out0.shape[1], max(64, NEAR // rows // 64 * 64)
    for unit in range(lo, hi):
        j = unit * PART
        for k in range(0, depth, deep):
            dots(
                a0, k, depth, a1, j * depth + k, depth, out0, j, columns,
                rows, min(PART, columns - j), min(deep, depth - k), k == 0,
            )  # fmt: skip
