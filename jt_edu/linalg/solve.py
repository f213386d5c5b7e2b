"""Solve: X with A X = B, and the inverse, which is X where B is the identity. By LU with exchanged rows: `lu_kernel`.

    solve, tensorsolve      A X = B          dB = A^-H dX      dA = -dB X^H
    inv, tensorinv          A X = I          dA = -X^H dX X^H
    solve_ex, inv_ex        the same, and whether there is an answer, instead of an error
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from jt_edu.base.errors import ShapeError
from jt_edu.linalg.lu_kernel import solving
from jt_edu.linalg.matrices import batch_of, beside, by_dtype, halves, matrices, of_batch
from jt_edu.ops.arguments import listed_axes, whole, yes_or_no
from jt_edu.ops.concat import concat
from jt_edu.ops.create import index
from jt_edu.ops.diagonal import diagonal
from jt_edu.ops.dtype_rules import as_floats
from jt_edu.ops.matmul import matmul
from jt_edu.ops.reduce import min
from jt_edu.ops.transpose import moveaxis
from jt_edu.variable.var import Var, as_var


class SolveEx(NamedTuple):
    """X, and for each matrix 0, or the number (from 1) of the first pivot that is 0."""

    result: Var
    info: Var


class InvEx(NamedTuple):
    """The inverse, and for each matrix 0, or the number (from 1) of the first pivot that is 0."""

    inverse: Var
    info: Var


def _of_solve(out: Var, dout: Var, x: Var) -> Var:
    """[-dB X^H | dB]."""
    n = x.shape[1]
    db = solve(x[:, :, :n].mH, dout[:, :n, n:])
    return concat([-matmul(db, out[:, :n, n:].mH), db], -1)


def _of_inv(out: Var, dout: Var, x: Var) -> Var:
    """-X^H dX X^H."""
    n = x.shape[1]
    turned = out[:, :n, n:].mH
    return -matmul(turned, matmul(dout[:, :n, n:], turned))


SOLVE, INV = by_dtype("solve", solving("solve"), (_of_solve,)), by_dtype("inv", solving("inv"), (_of_inv,))
SOLVE_EX, INV_EX = by_dtype("solve_ex", solving(""), (_of_solve,)), by_dtype("inv_ex", solving(""), (_of_inv,))


@halves
def solve(A: Any, B: Any, *, left: bool = True) -> Var:
    """X with A X = B, for each matrix of a batch.

    Args:
        A: (..., n, n).
        B: (..., n, r), or vectors: (n,), or the shape of A without its last axis. Batches broadcast.
        left: False solves X A = B, with B (..., r, n).

    Raises:
        LinAlgError: one of the matrices has no inverse.

    Example:
        >>> solve(array([[2.0, 0.0], [1.0, 4.0]]), array([2.0, 9.0])).tolist()
        [1.0, 2.0]
    """
    return _solved("solve", SOLVE, A, B, left)[0]


@halves
def solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False) -> SolveEx:
    """The same as `solve`, without an error: `info` is 0, or the number (from 1) of the first pivot that is 0.

    Args:
        A: (..., n, n).
        B: as in `solve`.
        left: False solves X A = B.
        check_errors: True raises the error after all.

    Example:
        >>> solve_ex(ones((2, 2)), ones(2)).info.item()
        2
    """
    return SolveEx(*_solved("solve_ex", _raising(SOLVE, SOLVE_EX, check_errors), A, B, left))


def _raising(op: Callable[..., Var], other: Callable[..., Var], check_errors: Any) -> Callable[..., Var]:
    return op if yes_or_no("solve_ex", "check_errors", check_errors) else other


def _solved(name: str, op: Callable[..., Var], A: Any, B: Any, left: Any) -> tuple[Var, Var]:
    """X, and the first pivot of each matrix that is 0."""
    a, b, first = matrices(name, A), as_floats(as_var(B)), yes_or_no(name, "left", left)
    vector = b.ndim == 1 or (a.ndim - 1 == b.ndim and a.shape[:-1] == b.shape)
    columns = b[..., None] if vector else b if first or b.ndim < 2 else b.mT
    if b.ndim == 0 or a.shape[-1] != columns.shape[-2] or (vector and not first):
        asked = f"{name} takes A (..., n, n) and B (..., n, r) or (..., n); with left=False (..., r, n)"
        raise ShapeError(asked, f"shapes {a.shape} and {b.shape}")
    x, lead = beside(name, a if first else a.mT, columns)
    n, r = columns.shape[-2:]
    both = of_batch(op, x, n + 1, n + r)
    answer = both[:, :n, n:].reshape(*lead, n, r)
    answer = answer[..., 0] if vector else answer if first else answer.mT
    return answer, _first_zero(both[:, :n, :n]).reshape(lead)


def _first_zero(lu: Var) -> Var:
    """The number, from 1, of the first pivot that is 0; 0 where none is."""
    n = lu.shape[-1]
    pivots = diagonal(lu.detach(), 0, -2, -1)
    if n == 0:
        return pivots.real.sum(-1).cast("int32")
    first = min((index(pivots.shape, 1) + 1).where_not(pivots != 0, n + 1), -1)
    return (first % (n + 1)).cast("int32")


@halves
def inv(A: Any) -> Var:
    """The inverse: the matrix whose product with A is the identity. To solve equations, `solve` is faster and closer.

    Args:
        A: (..., n, n).

    Raises:
        LinAlgError: one of the matrices has no inverse.

    Example:
        >>> inv(array([[1.0, 2.0], [0.0, 4.0]])).tolist()
        [[1.0, -0.5], [0.0, 0.25]]
    """
    return _inverse("inv", INV, A)[0]


@halves
def inv_ex(A: Any, *, check_errors: bool = False) -> InvEx:
    """The same as `inv`, without an error: `info` is 0, or the number (from 1) of the first pivot that is 0.

    Args:
        A: (..., n, n).
        check_errors: True raises the error after all.

    Example:
        >>> inv_ex(array([[1.0, 2.0], [2.0, 4.0]])).info.item()
        2
    """
    return InvEx(*_inverse("inv_ex", _raising(INV, INV_EX, check_errors), A))


def _inverse(name: str, op: Callable[..., Var], A: Any) -> tuple[Var, Var]:
    a = matrices(name, A)
    x, lead = batch_of(a)
    n = x.shape[1]
    both = of_batch(op, x, n + 1, 2 * n)
    return both[:, :n, n:].reshape(a.shape), _first_zero(both[:, :n, :n]).reshape(lead)


def tensorinv(A: Any, ind: int = 2) -> Var:
    """The inverse of a tensor that stands for a matrix: its first `ind` axes for the rows, the others for the columns.

    Args:
        A: as many elements in the first axes as in the others.
        ind: how many axes come first.

    Example:
        >>> tensorinv(jt.eye(6).reshape(2, 3, 6), 2).shape
        (6, 2, 3)
    """
    a, first = as_var(A), whole("tensorinv", "ind", ind, 1)
    rows, columns = a.shape[:first], a.shape[first:]
    if math.prod(rows) != math.prod(columns):
        raise ShapeError(f"tensorinv takes as many elements in the first {first} axes as in the others", f"{a.shape}")
    return inv(a.reshape(math.prod(rows), math.prod(columns))).reshape(*columns, *rows)


def tensorsolve(A: Any, B: Any, dims: Any = None) -> Var:
    """X with tensordot(A, X, X.ndim) = B: the first axes of A, which B has, are rows; the others, which X has, columns.

    Args:
        A: the shape of B, then that of X.
        B: as many elements as X.
        dims: axes of A that are moved to its end before.

    Example:
        >>> tensorsolve(jt.eye(6).reshape(2, 3, 6), ones((2, 3))).shape
        (6,)
    """
    a, b = as_var(A), as_var(B)
    if dims is not None:
        moved = listed_axes("tensorsolve", dims, a.ndim)
        a = moveaxis(a, moved, tuple(range(a.ndim - len(moved), a.ndim)))
    shape = a.shape[b.ndim :]
    n = math.prod(shape)
    if a.size != n * n or b.size != n:
        raise ShapeError("tensorsolve takes A with the axes of B, then as many elements again", f"{a.shape}, {b.shape}")
    return solve(a.reshape(n, n), b.reshape(n)).reshape(shape)
