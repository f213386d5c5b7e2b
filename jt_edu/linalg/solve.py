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
from jt_edu.ir.node import Shape
from jt_edu.linalg import small_systems
from jt_edu.linalg.lu_kernel import SOLVED, TRIED
from jt_edu.linalg.matrices import adjoint_of, batch_of, beside, by_dtype, halves, kept, matrices, of_batch
from jt_edu.ops.arguments import listed_axes, same_words, whole, yes_or_no
from jt_edu.ops.concat import concat
from jt_edu.ops.create import index, zeros
from jt_edu.ops.diagonal import diagonal
from jt_edu.ops.dtype_rules import as_floats
from jt_edu.ops.matmul import matmul
from jt_edu.ops.reduce import min, sum
from jt_edu.ops.transpose import matrix_transpose, moveaxis
from jt_edu.variable.autocast import castable
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var

__all__ = ["inv", "inv_ex", "solve", "solve_ex", "tensorinv", "tensorsolve"]


class SolveEx(NamedTuple):
    """X (not finite where there is none), and for each matrix 0, or the number, from 1, of its first zero pivot."""

    result: Var
    info: Var


class InvEx(NamedTuple):
    """The inverse (not finite where there is none), and for each matrix 0, or the number (from 1) of its zero pivot."""

    inverse: Var
    info: Var


def _of_solve(out: Var, dout: Var, x: Var) -> Var:
    """[-dB X^H | dB]."""
    db = solve(adjoint_of(x[:, :, : x.shape[1]]), dout)
    return concat([-matmul(db, adjoint_of(out)), db], -1)


def _of_inv(out: Var, dout: Var, _: Var) -> Var:
    """-X^H dX X^H."""
    return -matmul(adjoint_of(out), matmul(dout, adjoint_of(out)))


def _op(name: str, text: str, rule: Callable[..., Var]) -> Callable[..., Var]:
    """The kernel that answers [L U | X], with a rule for X."""

    def gradient(out: Var, dout: Var, x: Var) -> Var:
        n = x.shape[1]
        return rule(out[:, :n, n:], dout[:, :n, n:], x)

    return by_dtype(name, text, (gradient,))


OPS = {
    "solve": _op("solve", SOLVED, _of_solve), "solve_ex": _op("solve_ex", TRIED, _of_solve),
    "inv": _op("inv", SOLVED, _of_inv), "inv_ex": _op("inv_ex", TRIED, _of_inv),
}  # fmt: skip
SMALL = {"solve": small_systems.solver("solve", _of_solve), "inv": small_systems.solver("inv", _of_inv)}


@castable
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
    return _solved("solve", A, B, yes_or_no("solve", "left", left))


@halves
def solve_ex(A: Any, B: Any, *, left: bool = True, check_errors: bool = False) -> SolveEx:
    """The same as `solve`, without an error: `info` is 0, or the number (from 1) of the first pivot that is 0.

    Args:
        A: (..., n, n).
        B: as in `solve`.
        left: False solves X A = B.
        check_errors: True raises the error of `solve` after all, when the numbers of the first part are asked for.

    Example:
        >>> solve_ex(ones((2, 2)), ones(2)).info.item()
        2
    """
    first = yes_or_no("solve_ex", "left", left)
    if yes_or_no("solve_ex", "check_errors", check_errors):
        return SolveEx(solve(A, B, left=first), zeros(as_var(A).shape[:-2], "int32"))
    x, r, lead, finish = _system("solve_ex", A, B, first)
    answer, info = _noted("solve_ex", x, r)
    return SolveEx(finish(answer), info.reshape(lead))


@template
def _solved(name: str, A: Any, B: Any, first: bool) -> Var:
    x, r, _, finish = _system(name, A, B, first)
    return finish(_answer(name, x, r))


def _system(name: str, A: Any, B: Any, first: bool) -> tuple[Var, int, Shape, Callable[[Var], Var]]:
    """[A | B], the columns of B, the lengths of the batch, and what makes the answer of a batch of X."""
    a, b = matrices(name, A), as_floats(as_var(B))
    vector = b.ndim == 1 or (a.ndim - 1 == b.ndim and a.shape[:-1] == b.shape)
    columns = b[..., None] if vector else b if first or b.ndim < 2 else matrix_transpose(b)
    if b.ndim == 0 or a.shape[-1] != columns.shape[-2] or (vector and not first):
        asked = f"{name} takes A (..., n, n) and B (..., n, r) or (..., n); with left=False (..., r, n)"
        raise ShapeError(asked, f"shapes {a.shape} and {b.shape}")
    x, lead = beside(name, a if first else matrix_transpose(a), columns)
    n, r = columns.shape[-2:]

    def finish(answer: Var) -> Var:
        found = answer.reshape(*lead, n, r)
        return found[..., 0] if vector else found if first else matrix_transpose(found)

    return x, r, lead, finish


def _answer(name: str, x: Var, r: int) -> Var:
    """X, of the system [A | B] or of A alone."""
    n = x.shape[1]
    return SMALL[name](x, r) if small_systems.suits(x) else of_batch(OPS[name], x, n + 1, n + r)[:, :n, n:]


def _noted(name: str, x: Var, r: int) -> tuple[Var, Var]:
    """X, and the number, from 1, of the first pivot that is 0; 0 where none is."""
    n = x.shape[1]
    both = kept(of_batch(OPS[name], x, n + 1, n + r))
    pivots = diagonal(both[:, :n, :n].detach(), 0, 1, 2)
    numbers = (index(pivots.shape, 1) + 1).where_not(pivots != 0, n + 1)
    info = min(numbers, -1) % (n + 1) if n else sum(numbers, -1)
    return both[:, :n, n:], info.cast("int32")


@castable
@halves
def inv(A: Any) -> Var:
    """The inverse: the matrix whose product with A is the identity. To solve equations, `solve` is more exact.

    Args:
        A: (..., n, n).

    Raises:
        LinAlgError: one of the matrices has no inverse.

    Example:
        >>> inv(array([[1.0, 2.0], [0.0, 4.0]])).tolist()
        [[1.0, -0.5], [0.0, 0.25]]
    """
    return _inverted(A)


@template
def _inverted(A: Any) -> Var:
    a = matrices("inv", A)
    return _answer("inv", batch_of(a)[0], a.shape[-1]).reshape(a.shape)


@castable
@halves
def inv_ex(A: Any, *, check_errors: bool = False) -> InvEx:
    """The same as `inv`, without an error: `info` is 0, or the number (from 1) of the first pivot that is 0.

    Args:
        A: (..., n, n).
        check_errors: True raises the error of `inv` after all, when the numbers of the first part are asked for.

    Example:
        >>> inv_ex(array([[1.0, 2.0], [2.0, 4.0]])).info.item()
        2
    """
    a = matrices("inv_ex", A)
    if yes_or_no("inv_ex", "check_errors", check_errors):
        return InvEx(inv(a), zeros(a.shape[:-2], "int32"))
    answer, info = _noted("inv_ex", batch_of(a)[0], a.shape[-1])
    return InvEx(answer.reshape(a.shape), info.reshape(a.shape[:-2]))


@castable
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


@castable
@same_words
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
