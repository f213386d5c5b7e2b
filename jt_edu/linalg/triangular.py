"""Triangular systems: the first row has one unknown, and each row after it one more, once those before it are known.

    [2 0] [x]   [4]      x = 4 / 2
    [1 3] [y] = [5]      y = (5 - 1 x) / 3

An upper triangle is a lower one that is read backwards: `flip` on both sides. So there is one kernel. It takes the
system as [T | B], and what lies above the diagonal of T is not read.

Source: Golub and Van Loan, "Matrix Computations", 4th edition, algorithm 3.1.1 and section 3.1.4.
"""

from __future__ import annotations

from typing import Any

from jt_edu.base.errors import ShapeError
from jt_edu.linalg.matrices import adjoint_of, beside, by_dtype, halves, matrices, of_batch
from jt_edu.ops.arguments import yes_or_no
from jt_edu.ops.concat import concat
from jt_edu.ops.create import eye
from jt_edu.ops.diagonal import tril
from jt_edu.ops.matmul import matmul
from jt_edu.ops.transpose import flip, matrix_transpose
from jt_edu.variable.autocast import castable
from jt_edu.variable.var import Var, as_var

__all__ = ["solve_triangular"]

TEXT = """
from jt_edu.backends.mathlib import divide
from jt_edu.backends.mathlib.minus_product import minus_ab
def kernel(lo, hi, x, out):
    n, r = out.shape[1], out.shape[2]
    for matrix in range(lo, hi):
        a, y = x[matrix], out[matrix]
        for k in range(0, n, 32):
            end = min(k + 32, n)
            for i in range(k, end):
                row, given = y[i], a[i, n : n + r]
                for c in range(len(row)):
                    row[c] = given[c]
            minus_ab(a[k:end, :k], y[:k], y[k:end])
            for i in range(k, end):
                row, pivot = y[i], a[i, i]
                for j in range(k, i):
                    factor, above = a[i, j], y[j]
                    for c in range(len(row)):
                        row[c] -= factor * above[c]
                for c in range(len(row)):
                    row[c] = divide(row[c], pivot)  # of complex numbers / would raise
"""


def _gradient(out: Var, dout: Var, x: Var) -> Var:
    """dB = T^-H dX, and dT = -dB X^H on and below the diagonal."""
    db = substituted(adjoint_of(x[:, :, : x.shape[1]]), dout, upper=True)
    return concat([-tril(matmul(db, adjoint_of(out))), db], -1)


LOWER = by_dtype("solve_triangular", TEXT, (_gradient,))


@castable
@halves
def solve_triangular(A: Any, B: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Var:
    """X with A X = B, where A is a triangle: nothing on the other side of its diagonal is read.

    Args:
        A: (..., n, n).
        B: (..., n, r), with `left` False (..., r, n).
        upper: whether numbers stand on and above the diagonal; otherwise on and below it.
        left: False solves X A = B.
        unitriangular: the diagonal is taken for 1, and not read.

    Example:
        >>> solve_triangular(array([[2.0, 0.0], [1.0, 3.0]]), array([[4.0], [5.0]]), upper=False).tolist()
        [[2.0], [1.0]]
    """
    name = "solve_triangular"
    above, first, unit = (
        yes_or_no(name, word, value)
        for word, value in (("upper", upper), ("left", left), ("unitriangular", unitriangular))
    )
    a, b = matrices(name, A), matrices(name, B, square=False)
    if not first:
        a, b, above = matrix_transpose(a), matrix_transpose(b), not above
    if a.shape[-1] != b.shape[-2]:
        raise ShapeError(
            f"{name} takes A (..., n, n) and B (..., n, r), or (..., r, n) with left=False",
            f"shapes {as_var(A).shape} and {as_var(B).shape}",
        )
    if unit:
        a = a.where_not(eye(a.shape[-1], dtype="bool"), 1)
    x = substituted(a, b, above)
    return x if first else matrix_transpose(x)


def substituted(t: Var, b: Var, upper: bool) -> Var:
    """X with T X = B, from the first row on, or for an upper triangle from the last."""
    if upper:
        return flip(substituted(flip(t, (-2, -1)), flip(b, -2), upper=False), -2)
    x, lead = beside("solve_triangular", t, b)
    n, r = b.shape[-2:]
    return of_batch(LOWER, x, n, r).reshape(*lead, n, r)
