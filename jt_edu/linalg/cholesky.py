"""Cholesky: a matrix that is its own adjoint, and positive definite, is a triangle times its adjoint: A = L L^H.

    [4 2]   [2 0] [2 1]
    [2 5] = [1 2] [0 2]

It is LU without exchanges, where U is the adjoint of L: half the work. The columns of 32 at a time are brought up to
date by one product with all columns before them, then factored. The row that belongs to a column is kept above the
diagonal meanwhile, so that the loops run along rows.

Source: Golub and Van Loan, "Matrix Computations", 4th edition, section 4.2. The gradient: Murray 2016, "Differentiation
of the Cholesky decomposition" (arXiv:1602.07527).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from jt_edu.linalg.matrices import RAISES, adjoint_of, batch_of, by_dtype, halves, kept, matrices, of_batch
from jt_edu.linalg.triangular import solve_triangular, substituted
from jt_edu.ops.arguments import yes_or_no
from jt_edu.ops.complex import real
from jt_edu.ops.create import zeros
from jt_edu.ops.diagonal import tril
from jt_edu.ops.matmul import matmul
from jt_edu.ops.reduce import sum
from jt_edu.variable.autocast import castable
from jt_edu.variable.var import Var

__all__ = ["cholesky", "cholesky_ex", "cholesky_solve"]

TEXT = """
from jt_edu.backends.mathlib.minus_product import minus_abh
def kernel(lo, hi, x, out):
    n = x.shape[1]
    for matrix in range(lo, hi):
        given, a = x[matrix], out[matrix]
        for i in range(n):
            row, source = a[i], given[i]
            for j in range(n):
                row[j] = source[j] if j <= i else 0
        {begin}
        for k in range(0, n, 32):
            end = min(k + 32, n)
            minus_abh(a[k:n, :k], a[k:end, :k], a[k:n, k:end])
            for j in range(k, end):
                pivot = a[j, j].real
                if not pivot > 0:
                    {wrong}
                pivot, beside = math.sqrt(pivot), a[j, j + 1 : end]
                for i in range(j + 1, n):
                    a[i, j] /= pivot
                for c in range(len(beside)):  # the row of L^H, as long as it is needed
                    beside[c] = a[j + 1 + c, j].conjugate()
                for i in range(j + 1, n):
                    factor, row = a[i, j], a[i, j + 1 : end]
                    for c in range(len(row)):
                        row[c] -= factor * beside[c]
                for c in range(len(beside)):
                    beside[c] = 0
                a[j, j] = pivot
"""
_REFUSED = (
    'raise LinAlgError("cholesky needs a matrix that is positive definite", "a pivot that is not above 0", '
    '"jt.linalg.cholesky_ex, which says where")'
)
_NOTED = """if a[n, 0] == 0:
                        a[n, 0] = j + 1
                    pivot = {real}(np.nan)"""


class CholeskyEx(NamedTuple):
    """A factor, and for each matrix 0, or the number of the first row (from 1) that made it fail."""

    L: Var
    info: Var


def _gradient(out: Var, dout: Var, x: Var) -> Var:
    """L^-H P L^-1 / 2, where the half of L^H dL below the diagonal is mirrored above it."""
    turned = adjoint_of(out[:, : x.shape[1]])
    p = matmul(turned, tril(dout[:, : x.shape[1]]))
    half = substituted(turned, (tril(p) + adjoint_of(tril(p, -1))) / 2, upper=True)
    return adjoint_of(substituted(turned, adjoint_of(half), upper=True))


FACTOR = by_dtype("cholesky", RAISES + TEXT.replace("{begin}", "").replace("{wrong}", _REFUSED), (_gradient,))
TRIED = by_dtype(
    "cholesky_ex", TEXT.replace("{begin}", "for j in range(n):\n            a[n, j] = 0").replace("{wrong}", _NOTED),
    (_gradient,),
)  # fmt: skip


@castable
@halves
def cholesky(A: Any, *, upper: bool = False) -> Var:
    """The triangle L with A = L L^H, for each matrix of a batch. Only the lower half of A is read.

    Args:
        A: (..., n, n), each its own adjoint and positive definite.
        upper: True returns L^H instead, and reads the upper half of A.

    Raises:
        LinAlgError: one of the matrices is not positive definite.

    Example:
        >>> cholesky(array([[4.0, 2.0], [2.0, 5.0]])).tolist()
        [[2.0, 0.0], [1.0, 2.0]]
    """
    a = matrices("cholesky", A)
    if yes_or_no("cholesky", "upper", upper):
        return adjoint_of(cholesky(adjoint_of(a)))
    x, _ = batch_of(a)
    return of_batch(FACTOR, x, *x.shape[1:]).reshape(a.shape)


@castable
@halves
def cholesky_ex(A: Any, *, upper: bool = False, check_errors: bool = False) -> CholeskyEx:
    """The same as `cholesky`, without an error: `info` is 0, or the row (from 1) where it failed; L is nan from there.

    Args:
        A: (..., n, n).
        upper: True returns L^H instead, and reads the upper half of A.
        check_errors: True raises the error of `cholesky` after all, when the numbers of the factor are asked for.

    Example:
        >>> cholesky_ex(array([[4.0, 2.0], [2.0, -5.0]])).info.item()
        2
    """
    a, above = matrices("cholesky_ex", A), yes_or_no("cholesky_ex", "upper", upper)
    x, lead = batch_of(adjoint_of(a) if above else a)
    n = x.shape[1]
    if yes_or_no("cholesky_ex", "check_errors", check_errors):
        return CholeskyEx(cholesky(a, upper=above), zeros(lead, "int32"))
    both = kept(of_batch(TRIED, x, n + 1, n))
    factor = both[:, :n].reshape(a.shape)
    info = sum(real(both[:, n, :1].detach()), -1)  # of a matrix without rows there is none
    return CholeskyEx(adjoint_of(factor) if above else factor, info.cast("int32").reshape(lead))


@castable
@halves
def cholesky_solve(B: Any, L: Any, upper: bool = False) -> Var:
    """X with A X = B, from the triangle of A.

    Args:
        B: (..., n, r).
        L: (..., n, n), what `cholesky` returned.
        upper: whether that was an upper triangle.

    Example:
        >>> cholesky_solve(array([[4.0], [4.0]]), array([[2.0, 0.0], [0.0, 1.0]])).tolist()
        [[1.0], [4.0]]
    """
    above = yes_or_no("cholesky_solve", "upper", upper)
    factor = matrices("cholesky_solve", L)
    lower = adjoint_of(factor) if above else factor
    return solve_triangular(adjoint_of(lower), solve_triangular(lower, B, upper=False), upper=True)
