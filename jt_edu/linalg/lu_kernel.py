"""LU kernel: rows of a matrix are eliminated one after the other, and whatever stands beside the matrix comes along.

    P A = L U                 A = [1 2]    P A = [3 4]    L = [1   0]    U = [3 4  ]
                                  [3 4]          [1 2]        [1/3 1]        [0 2/3]

The first column of what is left is searched for its largest number (the pivot), whose row is exchanged with the top
one. A multiple of the top row is then subtracted from each row below, so that the column becomes 0; the multiples are
L, and are kept where the zeros would be. Below the matrix stands one more row: which row was exchanged at each step.

    [ A | B ]  ->  [ L U | B after the same steps ]      that is L^-1 P B, half of what solves A X = B

32 columns at a time are done so (a panel); the rows beside the panel follow, and the rest is one product by BLAS:

    panel | rows beside           rest -= left part of the panel @ rows beside
    panel | rest

Source: Golub and Van Loan, "Matrix Computations", 4th edition, algorithms 3.4.1, 3.2.1 (in blocks) and 3.1.2.
"""

from jt_edu.linalg.matrices import RAISES

_ELIMINATED = """
from jt_edu.backends.mathlib import divide
from jt_edu.backends.mathlib.minus_product import minus_ab
def kernel(lo, hi, x, out):
    m, wide, n = x.shape[1], x.shape[2], out.shape[2]
    steps = min(m, wide)
    for matrix in range(lo, hi):
        given, a = x[matrix], out[matrix]
        for i in range(m):
            row, source = a[i], given[i]
            for j in range(wide):
                row[j] = source[j]
            for j in range(wide, n):  # room that was asked for beside A is given to the identity
                row[j] = 1 if j == wide + i else 0
        for k in range(0, steps, 32):
            end = min(k + 32, steps)
            for j in range(k, end):  # the panel, column by column
                pivot, most = j, abs(a[j, j].real) + abs(a[j, j].imag)
                for i in range(j + 1, m):
                    size = abs(a[i, j].real) + abs(a[i, j].imag)
                    if size > most:
                        pivot, most = i, size
                a[m, j] = pivot
                top, other, beside = a[j], a[pivot], a[j, j + 1 : end]
                if pivot != j:
                    for i in range(n):
                        top[i], other[i] = other[i], top[i]
                if most != 0:
                    for i in range(j + 1, m):
                        factor, row = a[i, j] / top[j], a[i, j + 1 : end]
                        a[i, j] = factor
                        for c in range(len(row)):
                            row[c] -= factor * beside[c]
            for j in range(k, end):  # the rows beside it
                beside = a[j, end:n]
                for i in range(j + 1, end):
                    factor, row = a[i, j], a[i, end:n]
                    for c in range(len(row)):
                        row[c] -= factor * beside[c]
            minus_ab(a[end:m, k:end], a[k:end, end:n], a[end:m, end:n])
"""
_SOLVED = """
        for end in range(m, 0, -32):  # U X = Y, from the last row on
            k = max(end - 32, 0)
            minus_ab(a[k:end, end:m], a[end:m, m:n], a[k:end, m:n])
            for i in range(end - 1, k - 1, -1):
                row = a[i, m:n]
                for j in range(i + 1, end):
                    factor, below = a[i, j], a[j, m:n]
                    for c in range(len(row)):
                        row[c] -= factor * below[c]
                if a[i, i] == 0:
                    {singular}
                for c in range(len(row)):
                    row[c] = divide(row[c], a[i, i])  # of complex numbers / would raise
"""
_SCALED = """
        det = {dtype}(1)
        for i in range(m):
            det *= a[i, i] if a[m, i] == i else -a[i, i]
        for i in range(m):
            row = a[i, m:n]
            for c in range(m):
                row[c] *= det
"""
SINGULAR = (
    'raise LinAlgError("solve and inv need matrices that have an inverse", "a singular one", '
    "\"lstsq with driver='gelsd', or pinv\")"
)
_TINY = """largest = {real}(0)
                    for j in range(m):
                        for c in range(m):
                            largest = max(largest, abs(given[j, c]))
                    a[i, i] = {eps} * (largest if largest > 0 else 1)"""

FACTORS = _ELIMINATED
SOLVED = RAISES + _ELIMINATED + _SOLVED.replace("{singular}", SINGULAR)
TRIED = _ELIMINATED + _SOLVED.replace("{singular}", "pass")
ADJUGATE = _ELIMINATED + _SOLVED.replace("{singular}", _TINY) + _SCALED
