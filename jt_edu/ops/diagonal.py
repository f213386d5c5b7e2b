"""Diagonals: where two counters are equal, or differ by an offset. Reading one is a Reindex, and so is placing one.

diagonal, diag, trace     read out[k] = x[k, k + offset]
diag, diag_embed          place out[k, k + offset] = x[k], and 0 elsewhere
triu, tril, tri           keep what lies above or below
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from jt_edu.base.dtypes import float32
from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.ir.builders import check_shape
from jt_edu.ir.index_expr import Index, as_index, binary, counter, size
from jt_edu.ir.meta_ops import Reindex, reindex
from jt_edu.ir.node import Shape
from jt_edu.ops.arguments import axis_of, one_of, whole
from jt_edu.ops.create import index, which_diagonal
from jt_edu.ops.nonzero import nonzero
from jt_edu.ops.reduce import sum
from jt_edu.ops.transpose import permute
from jt_edu.ops.var_function import var_function
from jt_edu.ops.view import reshape, view
from jt_edu.variable.autocast import castable
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.torch_keywords import makes
from jt_edu.variable.var import Var, as_var, method

__all__ = ["diag", "diag_embed", "diagflat", "diagonal", "tri", "tril", "tril_indices", "triu", "triu_indices"]


@var_function()
def diagonal(x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Var:
    """The diagonal of two axes, as the last axis of the result.

        out[..., k] = x[k, k + offset, ...]

    Example:
        >>> diagonal(arange(6).reshape(2, 3), 1).numpy()
        array([1, 5])
    """
    v, shift = as_var(x), whole("diagonal", "offset", offset)
    p, q = _plane("diagonal", v.ndim, dim1, dim2)
    return view(v, _diagonal_op(v.shape, shift, p, q))


def _plane(name: str, ndim: int, dim1: Any, dim2: Any, verb: str = "on") -> tuple[int, int]:
    if ndim < 2:
        raise ShapeError(f"{name} needs two axes or more", f"a Var with {ndim}", "jt.diag")
    p, q = (axis_of(name, dim, ndim, verb=verb) for dim in (dim1, dim2))
    if p == q:
        raise ArgumentError(f"{name} needs two different axes", f"axis {dim1} and axis {dim2}")
    return p, q


@lru_cache(maxsize=1 << 12)
def _diagonal_op(found: Shape, offset: int, p: int, q: int) -> Reindex:
    down, right = max(-offset, 0), max(offset, 0)
    rest = [k for k in range(len(found)) if k not in (p, q)]
    length = max(min(found[p] - down, found[q] - right), 0)
    where: list[Index] = [as_index(0)] * len(found)
    for n, k in enumerate(rest):
        where[k] = counter(n)
    last = counter(len(rest))
    where[p], where[q] = last + size(down) if down else last, last + size(right) if right else last
    return reindex("diagonal", found, (*(found[k] for k in rest), length), tuple(where))


@var_function()
def diag_embed(x: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Var:
    """The last axis on a diagonal of two new axes, and 0 elsewhere.

        out[..., k, k + offset] = x[..., k]

    Example:
        >>> diag_embed(array([5, 6])).tolist()
        [[5, 0], [0, 6]]
    """
    v, shift = as_var(x), whole("diag_embed", "offset", offset)
    if v.ndim == 0:
        raise ShapeError("diag_embed puts the last axis on a diagonal", f"shape {v.shape}", "x.reshape(1)")
    p, q = _plane("diag_embed", v.ndim + 1, dim1, dim2, verb="makes")
    n, others = v.shape[-1] + abs(shift), iter(range(v.ndim - 1))
    shape = tuple(n if k in (p, q) else v.shape[next(others)] for k in range(v.ndim + 1))
    rest = [counter(k) for k in range(v.ndim + 1) if k not in (p, q)]
    down, right = max(-shift, 0), max(shift, 0)
    row, column = (counter(k) - size(s) if s else counter(k) for k, s in ((p, down), (q, right)))
    return view(v, reindex("diag_embed", v.shape, shape, (*rest, row), 0, binary("==", row, column)))


@method
def diag(x: Any, offset: int = 0) -> Var:
    """The diagonal of a matrix; or the matrix that has the given diagonal.

    Example:
        >>> diag(array([[1, 2], [3, 4]])).tolist(), diag(array([5, 6])).tolist()
        ([1, 4], [[5, 0], [0, 6]])
    """
    v = as_var(x)
    if v.ndim not in (1, 2):
        raise ShapeError("diag takes one axis or two", f"shape {v.shape}", "jt.diagonal or jt.diag_embed")
    return diag_embed(v, offset) if v.ndim == 1 else diagonal(v, offset)


@method
def diagflat(x: Any, offset: int = 0) -> Var:
    """A matrix with all elements of x on its diagonal.

    Example:
        >>> diagflat(array([[1], [2]])).tolist()
        [[1, 0], [0, 2]]
    """
    return diag_embed(reshape(x, -1), offset)


@var_function(castable)
def trace(x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Var:
    """Sum of the diagonal of two axes.

    Example:
        >>> array([[1, 2], [3, 4]]).trace().item()
        5
    """
    return sum(diagonal(x, offset, dim1, dim2), -1)


@method
@template
def triu(x: Any, diagonal: int | None = None, *, k: int | None = None) -> Var:
    """The upper triangle of the last two axes, from a diagonal on (the main one by default); 0 below.

    Args:
        x: (..., n, m).
        diagonal: so many places to the right of the main one; NumPy calls it `k`.
        k: the same.

    Example:
        >>> triu(array([[1, 2], [3, 4]])).tolist(), triu(array([[1, 2], [3, 4]]), 1).tolist()
        ([[1, 2], [0, 4]], [[0, 2], [0, 0]])
    """
    v = as_var(x)
    row, column, shift = _places_of("triu", v, diagonal, k)
    return v.keep_where(column >= (row if shift == 0 else row + shift))


@method
@template
def tril(x: Any, diagonal: int | None = None, *, k: int | None = None) -> Var:
    """The lower triangle of the last two axes, up to a diagonal (the main one by default); 0 above.

    Args:
        x: (..., n, m).
        diagonal: so many places to the right of the main one; NumPy calls it `k`.
        k: the same.

    Example:
        >>> tril(array([[1, 2], [3, 4]])).tolist(), tril(array([[1, 2], [3, 4]]), -1).tolist()
        ([[1, 0], [3, 4]], [[0, 0], [3, 0]])
    """
    v = as_var(x)
    row, column, shift = _places_of("tril", v, diagonal, k)
    return v.keep_where(column <= (row if shift == 0 else row + shift))


def _places_of(name: str, x: Var, diagonal: Any, k: Any) -> tuple[Var, Var, int]:
    """The row and the column of each element, and which diagonal is meant."""
    if x.ndim < 2:
        raise ShapeError(f"{name} takes matrices", f"shape {x.shape}", "two axes or more")
    return index(x.shape, x.ndim - 2), index(x.shape, x.ndim - 1), _shift(name, diagonal, k)


def _shift(name: str, diagonal: Any, k: Any) -> int:
    return which_diagonal(name, "diagonal", one_of(name, 0, diagonal=diagonal, k=k))


@makes
def tri(n: int, m: int | None = None, k: int = 0, dtype: Any = float32) -> Var:
    """1 on the diagonal k and below, 0 above.

    Example:
        >>> tri(2, 3).tolist()
        [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]]
    """
    return _triangle(check_shape((n, n if m is None else m)), whole("tri", "k", k), -1).cast(dtype)


def triu_indices(row: int, col: int | None = None, offset: int = 0) -> Var:
    """Rows and columns of the upper triangle of a (row, col) matrix: shape (2, how many), computed at once.

    Example:
        >>> triu_indices(2).tolist()
        [[0, 0, 1], [0, 1, 1]]
    """
    return _places("triu_indices", row, col, offset, 1)


def tril_indices(row: int, col: int | None = None, offset: int = 0) -> Var:
    """Rows and columns of the lower triangle of a (row, col) matrix: shape (2, how many), computed at once.

    Example:
        >>> tril_indices(2).tolist()
        [[0, 1, 1], [0, 0, 1]]
    """
    return _places("tril_indices", row, col, offset, -1)


def _places(name: str, row: int, col: int | None, offset: int, side: int) -> Var:
    shape = check_shape((row, row if col is None else col))
    return permute(nonzero(_triangle(shape, whole(name, "offset", offset), side)))


def _triangle(shape: Shape, offset: int, side: int) -> Var:
    """Whether an element lies on the diagonal `offset`, or on this side of it: 1 above, -1 below."""
    return (index(shape, 1) - index(shape, 0) - offset) * side >= 0
