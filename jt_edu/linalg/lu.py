"""LU: A = P L U, rows exchanged, a lower triangle with ones on its diagonal, an upper one; of matrices of any shape.

    lu         P, L and U, each a matrix
    lu_factor  L and U in one matrix, and which rows were exchanged: what `lu_solve` takes

`lu_kernel` tells how. The gradient goes back the same way; with L^H dL below the diagonal and dU U^H above it as M,

    dA = P L^-H M U^-H

Source: de Hoog, Anderssen and Lukas 2011, "Differentiation of matrix functionals using triangular factorization"; where
A is not square, what stands beside its square part is L^-1 P A there, or A U^-1, and the rule follows from that.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.ir.builders import broadcast_shape
from jt_edu.linalg.lu_kernel import FACTORS
from jt_edu.linalg.matrices import RAISES, adjoint_of, batch_of, by_dtype, halves, kept, matrices, of_batch
from jt_edu.linalg.triangular import solve_triangular, substituted
from jt_edu.ops.arguments import yes_or_no
from jt_edu.ops.complex import real
from jt_edu.ops.concat import concat
from jt_edu.ops.create import eye
from jt_edu.ops.custom_kernel import Rows, kernel
from jt_edu.ops.diagonal import tril, triu
from jt_edu.ops.index import gather
from jt_edu.ops.matmul import matmul
from jt_edu.variable.autocast import castable
from jt_edu.variable.var import Var, as_var

__all__ = ["lu", "lu_factor", "lu_solve"]

ORDER = """
def kernel(lo, hi, x, out):
    steps, m = x.shape[1], out.shape[2]
    for matrix in range(lo, hi):
        pivots, order, places = x[matrix], out[matrix, 0], out[matrix, 1]
        for i in range(m):
            order[i] = i
        for j in range(steps):
            other = pivots[j] - 1
            if other < 0 or other >= m:
                raise LinAlgError("lu_solve takes the pivots of lu_factor", "a row that is not there")
            order[j], order[other] = order[other], order[j]
        for i in range(m):
            places[order[i]] = i
"""
_ORDER = kernel("row_order", RAISES + ORDER, weight=4, kind=Rows)


class LU(NamedTuple):
    """A = P L U."""

    P: Var
    L: Var
    U: Var


class LUFactor(NamedTuple):
    """L (without its ones) and U in one matrix; pivots[j] is the row, from 1, that was exchanged with row j."""

    LU: Var
    pivots: Var


def _gradient(out: Var, dout: Var, x: Var) -> Var:
    """dA = P L^-H M U^-H, and what stands beside the square part."""
    m, n = x.shape[1:]
    k = min(m, n)
    lower, upper = _apart(out[:, :m])
    dl, du = tril(dout[:, :m, :k], -1), triu(dout[:, :k, :n])
    below = matmul(adjoint_of(lower[:, :k]), dl[:, :k]) - matmul(du[:, :, k:], adjoint_of(upper[:, :, k:]))
    above = matmul(du[:, :, :k], adjoint_of(upper[:, :, :k])) - matmul(adjoint_of(lower[:, k:]), dl[:, k:])
    middle = tril(below, -1) + triu(above)
    if m > n:
        rows = concat([substituted(adjoint_of(lower[:, :k]), middle, upper=True), dl[:, k:]], 1)
        da = adjoint_of(substituted(upper, adjoint_of(rows), upper=True))
    else:
        beside = concat([adjoint_of(substituted(upper[:, :, :k], adjoint_of(middle), upper=True)), du[:, :, k:]], 2)
        da = substituted(adjoint_of(lower), beside, upper=True)
    return _rows(da, pivots_of(out, k), 1)


FACTOR = by_dtype("lu_factor", FACTORS, (_gradient,))


def factored(x: Var) -> Var:
    """(batch, m, n) -> (batch, m + 1, n): L and U in one matrix, and below it the row that each was exchanged with."""
    _, m, n = x.shape
    return of_batch(FACTOR, x, m + 1, n)


def pivots_of(packed: Var, steps: int) -> Var:
    """The exchanges in what `factored` returned, as PyTorch counts them: whole numbers from 1."""
    return (real(packed[:, -1, :steps].detach()) + 1).cast("int32")


def _rows(x: Var, pivots: Var, back: int) -> Var:
    """P^T X, rows exchanged as the pivots say; with `back` P X, the exchanges undone. (batch, m, r)."""
    batch, m, r = x.shape
    order = _ORDER(pivots, shape=(batch, 2, m), dtype="int64", span=batch)
    return gather(x, 1, order[:, back, :, None].stretched((batch, m, r)))


def _flat(pivots: Var) -> Var:
    """(..., n) -> (batch, n)."""
    return batch_of(pivots[..., None, :])[0][:, 0]


def _apart(both: Var) -> tuple[Var, Var]:
    """L, with its ones, and U, from one matrix that holds both."""
    k = min(both.shape[-2:])
    lower = both[..., :, :k]
    return tril(lower, -1) + eye(lower.shape[-2], k, dtype=both.dtype), triu(both[..., :k, :])


@castable
@halves
def lu_factor(A: Any, *, pivot: bool = True) -> LUFactor:
    """L and U in one matrix, and the rows that were exchanged: a matrix ready for `lu_solve`.

    Args:
        A: (..., m, n).
        pivot: rows are exchanged always; False is refused, as in PyTorch on a CPU.

    Example:
        >>> lu_factor(array([[1.0, 2.0], [4.0, 4.0]]))
        LUFactor(LU=jt.Var([[4.  , 4.  ],
                [0.25, 1.  ]], dtype=float32), pivots=jt.Var([2, 2], dtype=int32))
    """
    if not yes_or_no("lu_factor", "pivot", pivot):
        raise ArgumentError("LU exchanges rows, or small pivots would make large errors", "pivot=False", "pivot=True")
    a = matrices("lu_factor", A, square=False)
    x, lead = batch_of(a)
    _, m, n = x.shape
    packed, k = kept(factored(x)), min(m, n)
    return LUFactor(packed[:, :m].reshape(a.shape), pivots_of(packed, k).reshape(*lead, k))


@halves
def lu(A: Any, *, pivot: bool = True) -> LU:
    """A = P L U.

    Args:
        A: (..., m, n); P is (..., m, m), L is (..., m, k) and U is (..., k, n), where k is the smaller of m and n.
        pivot: rows are exchanged always; False is refused, as in PyTorch on a CPU.

    Example:
        >>> P, L, U = lu(array([[1.0, 2.0], [4.0, 4.0]]))
        >>> L.tolist(), (P @ L @ U).tolist()
        ([[1.0, 0.0], [0.25, 1.0]], [[1.0, 2.0], [4.0, 4.0]])
    """
    both, pivots = lu_factor(A, pivot=pivot)
    *lead, m, _ = both.shape
    x = eye(m, dtype=both.dtype).stretched((*lead, m, m))
    exchanged = _rows(batch_of(x)[0], _flat(pivots), 1).reshape(x.shape)
    return LU(exchanged, *_apart(both))


@castable
@halves
def lu_solve(LU: Any, pivots: Any, B: Any, *, left: bool = True, adjoint: bool = False) -> Var:
    """X with A X = B, from what `lu_factor` made of A.

    Args:
        LU: (..., n, n).
        pivots: (..., n).
        B: (..., n, r), with `left` False (..., r, n).
        left: False solves X A = B.
        adjoint: True solves A^H X = B, or X A^H = B.

    Raises:
        ShapeError: the pivots are not n whole numbers for each matrix.
        LinAlgError: one of them names no row.

    Example:
        >>> lu_solve(*lu_factor(array([[1.0, 2.0], [4.0, 4.0]])), array([[3.0], [8.0]])).tolist()
        [[1.0], [1.0]]
    """
    both, b, rows = matrices("lu_solve", LU), matrices("lu_solve", B, square=False), as_var(pivots)
    first, turned = yes_or_no("lu_solve", "left", left), yes_or_no("lu_solve", "adjoint", adjoint)
    if rows.shape[-1:] != both.shape[-1:] or rows.dtype.kind not in "iu":
        found = f"pivots {rows.shape} of {rows.dtype} for LU {both.shape}"
        raise ShapeError("lu_solve takes a whole number for each row: pivots (..., n)", found)
    if not first:
        return adjoint_of(lu_solve(both, rows, adjoint_of(b), adjoint=not turned))
    lead = broadcast_shape("lu_solve", both.shape[:-2], b.shape[:-2])
    b, rows = b.stretched((*lead, *b.shape[-2:])), _flat(rows.stretched((*lead, rows.shape[-1])))
    if turned:
        y = solve_triangular(adjoint_of(both), b, upper=False)
        y = solve_triangular(adjoint_of(both), y, upper=True, unitriangular=True)
        return _rows(batch_of(y)[0], rows, 1).reshape(b.shape)
    y = _rows(batch_of(b)[0], rows, 0).reshape(b.shape)
    return solve_triangular(both, solve_triangular(both, y, upper=False, unitriangular=True), upper=True)
