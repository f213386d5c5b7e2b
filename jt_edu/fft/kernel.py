"""The kernel of all Fourier transforms: how do n numbers become waves in n log n steps?

    y[k] = scale * sum over j of  x[j] * exp(-2 pi i j k / n)         along the middle axis of (outer, n, inner)

**Stages** (Stockham). n = r * m: the sum over j = m k + p is m sums of r numbers, then a product of each with a root of
unity (a *twiddle*, w ** (p * k) with w = exp(-2 pi i / (r m))), then r sums of m numbers. A stage does the first two
for all, and writes what it finds where the next one wants it, so that nobody sorts:

    for p in range(m):                      s: numbers done, m: numbers left
        for q in range(s):
            x[q + s * (p + m * k)]   k = 0 ... r - 1       s * m apart
            y[q + s * (r * p + k)]   times w ** (p * k)      s apart

Every number of this picture is as many numbers as a register holds, a *lane* for each of as many transforms:

    inner > 1       lanes are neighbours beside the axis, and nothing moves
    n1 == 1         lanes are rows, up to 16 at once; blocks are turned on their side, before and after
    n = n1 * n2     a row that is too long for the cache is a matrix (Bailey's four steps): its columns, in lanes; then
                    twiddles w ** (row * column); then its rows, turned on their side, so that what is written lies
                    side by side again

The way back is the way there with real and imaginary parts exchanged: `swap`.

Source: Cooley, Tukey 1965; Stockham 1966; Bailey 1990, "FFTs in External or Hierarchical Memory". Van Loan 1992,
"Computational Frameworks for the Fast Fourier Transform".
"""

import numpy as np

from jt_edu.backends.convolve.complex_lanes import butterfly, first_line, read, weigh, write
from jt_edu.backends.convolve.llvm import inlined, lanes
from jt_edu.backends.convolve.simd_blocks import transpose
from jt_edu.backends.mathlib import scratch


@inlined
def stages(z, source, target, radices, m, table, w):
    """Transform m numbers in each lane, to and fro between two places; where they are in the end."""
    step, s = 2 * lanes(z), 1
    for r in radices:
        if r == 1:  # the list is filled up with these
            break
        m //= r
        far, near = s * m * step, s * step
        for p in range(m):
            for q in range(p * near, (p + 1) * near, step):
                butterfly(z, source + q, far, target + q + p * (r - 1) * near, near, table, w, r)
            w += 2 * (r - 1)
        s *= r
        source, target = target, source
    return source


@inlined
def turn_both(z, source, target):
    """Turn a block of lanes x lanes complex numbers on its side."""
    lane, step = lanes(z), 2 * lanes(z)
    transpose(z, source, step, z, target, step, lane, lane)
    transpose(z, source + lane, step, z, target + lane, step, lane, lane)


@inlined
def read_turned(x, begin, wide, z, a, b, tile, matrix, layout, table, swap):
    """Write rows of x to columns of the matrix; rows of one transform are transformed across before, and weighed."""
    lane, step = lanes(z), 2 * lanes(z)
    n1, n2, columns, twiddles, corners = layout[2, 0], layout[2, 1], layout[2, 2], layout[2, 4], layout[2, 5]
    deep = (n2 + lane - 1) // lane * lane * step
    for j in range(0, n2, lane):
        for i in range(wide):
            read(x, begin + i * n2 + j, n2 - j, z, a + i * step, swap)
        source = stages(z, a, b, layout[0], n1, table, columns)
        for k in range(0, wide, lane):
            block = source + k * step
            if n1 > 1:
                block = tile
                for i in range(k, min(k + lane, n1)):  # w[row * column] = w[row * (column % 16)] * w[row * the rest]
                    each, corner = twiddles + 32 * i + j % 16, corners + 2 * (j // 16 * n1 + i)
                    weigh(z, source + i * step, tile + (i - k) * step, table, each, corner)
            turn_both(z, block, matrix + k // lane * deep + j * step)


@inlined
def transforms(x, begin, wide, inner, z, a, b, tile, matrix, layout, table, swap, out):
    """One transform of two lengths, or `wide` of one."""
    lane, step, n1, n2, rows = lanes(z), 2 * lanes(z), layout[2, 0], layout[2, 1], layout[2, 3]
    deep = (n2 + lane - 1) // lane * lane * step
    far = max(n1, inner)  # from one number that is written to the next
    if inner == 1:
        read_turned(x, begin, wide, z, a, b, tile, matrix, layout, table, swap)
    for k in range(0, wide, lane):
        source = matrix + k // lane * deep
        if inner > 1:
            for i in range(n2):
                read(x, begin + i * inner + k, wide - k, z, source + i * step, swap)
        source = stages(z, source, b, layout[1], n2, table, rows)
        if far > 1:
            for i in range(n2):
                write(z, source + i * step, out, begin + i * far + k, wide - k, swap, table[0])
        else:
            for j in range(0, n2, lane):
                turn_both(z, source + j * step, tile)
                for i in range(min(lane, wide - k)):
                    write(z, tile + i * step, out, begin + (k + i) * n2 + j, n2 - j, swap, table[0])


def kernel(lo, hi, x, layout, table, out):
    """A piece of work is a row, 16 rows, or 16 columns."""
    outer, n, inner = x.shape
    n1, n2, lane, step = layout[2, 0], layout[2, 1], lanes(table), 2 * lanes(table)
    swap = lane if layout[2, 6] < 0 else 0
    room = (max(n1, n2, 16) + lane - 1) // lane * lane * step
    deep = (n2 + lane - 1) // lane * lane * step
    z = scratch(2 * room + lane * step + (max(n1, 16) + lane - 1) // lane * deep + 16, np.float32)
    a = first_line(z)
    b, tile, matrix = a + room, a + 2 * room, a + 2 * room + lane * step
    for i in range(matrix):
        z[i] = 0  # lanes without a row: what was there before might be slow to compute with
    across = (inner + 15) // 16
    for piece in range(lo, hi):
        begin, wide = piece * n, n1
        if inner > 1:
            begin, wide = piece // across * n * inner + piece % across * 16, min(16, inner - piece % across * 16)
        elif n1 == 1:
            begin, wide = 16 * piece * n, min(16, outer - 16 * piece)
        transforms(x, begin, wide, inner, z, a, b, tile, matrix, layout, table, swap, out)
