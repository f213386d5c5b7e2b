"""Scatter: one position along an axis for each element, to read from or to write to.

take_along_dim               out[i, j] = x[index[i, j], j]       a gather whose other axes broadcast
put_along_axis               x[index[i, j], j] = values[i, j]    the last one written stays
scatter_add, scatter_reduce  x[index[i, j], j] is put together with src[i, j]
"""

from __future__ import annotations

from typing import Any

from jt_edu.base.dtypes import bool_, int64
from jt_edu.base.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.ir.builders import broadcast_shape, short
from jt_edu.ops.arguments import axis_of, same_words, yes_or_no
from jt_edu.ops.concat import concat
from jt_edu.ops.create import index as counting
from jt_edu.ops.index import along, gather, scatter, scatter_into, scatter_parts
from jt_edu.ops.var_function import var_function
from jt_edu.ops.view import lone, reshape
from jt_edu.variable.autocast import castable
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var

__all__ = ["put_along_axis", "scatter_add", "scatter_reduce", "take_along_axis", "take_along_dim"]


@var_function(template)
def take_along_dim(x: Any, indices: Any, dim: Any = None) -> Var:
    """One position along an axis for each element of the result; the other axes of x and indices broadcast.

    Without an axis x is taken as if it had one, as in PyTorch.

    Example:
        >>> take_along_dim(array([[1, 2, 3], [4, 5, 6]]), array([[2], [0]]), 1).tolist()
        [[3], [4]]
    """
    v, named, index = as_var(x), dim, as_var(indices)
    if named is None:
        return gather(reshape(v, -1), 0, reshape(index, -1))
    at = axis_of("take_along_dim", named, v.ndim)
    rest = _rest("take_along_dim", v, index, at)
    v, index = (a.stretched(_with(rest, at, a.shape[at])) for a in (v, index))
    return gather(v, at, index)


@var_function()
def take_along_axis(x: Any, indices: Any, dim: Any = -1) -> Var:
    """NumPy's name for `take_along_dim`, along the last axis by default; None flattens x first.

    Example:
        >>> take_along_axis(array([[1, 2, 3], [4, 5, 6]]), array([[2], [0]])).tolist()
        [[3], [4]]
    """
    return take_along_dim(x, indices, dim)


def _rest(name: str, x: Var, index: Var, at: int) -> tuple[int, ...]:
    """The shape that x and the index have together, with length 1 along the axis."""
    if index.ndim != x.ndim:
        raise ShapeError(f"{name} takes an index with as many axes as x", f"{index.shape} for {x.shape}")
    return broadcast_shape(name, _with(x.shape, at, 1), _with(index.shape, at, 1))


def _with(shape: tuple[int, ...], at: int, n: int) -> tuple[int, ...]:
    return (*shape[:at], n, *shape[at + 1 :])


@template
@same_words
def put_along_axis(x: Any, indices: Any, values: Any, dim: Any = -1) -> Var:
    """x with `values` at one position along an axis for each element; x itself stays (NumPy's changes it).

    For the axis None x is taken as if it had one. Values broadcast to the indices, and indices to x.

    Example:
        >>> put_along_axis(zeros((2, 3)), array([[2], [0]]), 7, 1).tolist()
        [[0.0, 0.0, 7.0], [7.0, 0.0, 0.0]]
    """
    v, named, index = as_var(x), dim, as_var(indices)
    if named is None:
        flat, places = reshape(v, -1), reshape(index, -1)
        return reshape(scatter(flat, 0, places, as_var(values, v.dtype).stretched(places.shape)), v.shape)
    at = axis_of("put_along_axis", named, v.ndim)
    rest = _rest("put_along_axis", v, index, at)
    if _with(rest, at, v.shape[at]) != v.shape:
        raise ShapeError("put_along_axis takes indices that fit x", f"{index.shape} for {v.shape}")
    wide = _with(rest, at, index.shape[at])
    return scatter(v, at, index.stretched(wide), as_var(values, v.dtype).stretched(wide))


@var_function(castable, template, lone)
def scatter_add(x: Any, dim: int, index: Any, src: Any) -> Var:
    """x, with src added at x[index[i, j], j] for dim 0, as often as a position is named.

    Example:
        >>> scatter_add(zeros((1, 3)), 1, array([[2, 2]]), array([[5.0, 6.0]])).tolist()
        [[0.0, 0.0, 11.0]]
    """
    return scatter(x, dim, index, src, "add")


REDUCTIONS = {"sum": "add", "add": "add", "prod": "multiply", "multiply": "multiply", "mean": "add",
              "amax": "maximum", "amin": "minimum"}  # fmt: skip


@var_function(template, lone)
def scatter_reduce(x: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool = True) -> Var:
    """x, where all src that meet at x[index[i, j], j] (for dim 0) are put together; elsewhere x stays.

    Args:
        index: positions along `dim`; elsewhere no longer than x.
        src: a number, or an array no shorter than the index.
        reduce: "sum", "prod", "mean" (rounded down for whole numbers), "amax" or "amin".
        include_self: whether the number that x has there is one of those put together.

    Example:
        >>> x, i, s = ones((1, 3)), array([[2, 2]]), array([[5.0, 7.0]])
        >>> scatter_reduce(x, 1, i, s, "amax").tolist(), scatter_reduce(x, 1, i, s, "mean", False).tolist()
        ([[1.0, 1.0, 7.0]], [[1.0, 1.0, 6.0]])
    """
    v, how = as_var(x), REDUCTIONS.get(reduce if isinstance(reduce, str) else "")
    if how is None:
        raise ArgumentError(f"scatter_reduce knows {', '.join(REDUCTIONS)}", short(reduce))
    if v.dtype.kind == "c" and reduce in ("amax", "amin"):
        raise DtypeError(f"{reduce} needs numbers that have an order", f"dtype {v.dtype}", "x.abs()")
    axis = axis_of("scatter_reduce", dim, v.ndim)
    positions, new = scatter_parts("scatter_reduce", v, axis, index, src)
    where = along(v.ndim, axis)
    touched = scatter_into(v, new.ones_like().cast(bool_), positions, where, "last")
    if yes_or_no("scatter_reduce", "include_self", include_self):
        positions, new = _with_self(v, axis, positions, new)
    there = scatter_into(v, new, positions, where, how)
    if reduce == "mean":
        count = scatter_into(v, new.ones_like().cast(int64), positions, where, "add")
        safe = count.where_not(count == 0, 1).cast(v.dtype)
        there = there / safe if v.dtype.is_float else (there // safe).cast(v.dtype)
    return v.where_not(touched, there)


def _with_self(x: Var, axis: int, positions: Var, new: Var) -> tuple[Var, Var]:
    """The numbers of x are what is put together as well, each at its own position."""
    mine = x[tuple(slice(None) if k == axis else slice(n) for k, n in enumerate(new.shape))]
    return concat([counting(mine.shape, axis), positions], axis), concat([mine, new], axis)
