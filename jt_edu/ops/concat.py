"""Concat: several arrays as one. Each place of the result chooses which array it reads.

concat                   behind each other along an axis that is there
stack                    along a new axis
hstack, vstack, dstack   along the second, first, third axis
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jt_edu.base.dtypes import promote
from jt_edu.base.errors import ShapeError
from jt_edu.ir import scalar_ops as f
from jt_edu.ir.index_expr import Index, counter, size
from jt_edu.ir.meta_ops import reindex
from jt_edu.ir.node import Shape
from jt_edu.ops.arguments import axis_of, same_words
from jt_edu.ops.concat_copy import slabs
from jt_edu.ops.create import index
from jt_edu.ops.pad import pad
from jt_edu.ops.var_function import var_function
from jt_edu.ops.view import atleast_1d, atleast_2d, atleast_3d, listed, reshape, unsqueeze, view
from jt_edu.variable.autocast import castable
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var

__all__ = ["append", "block_diag", "cat", "column_stack", "concat", "concatenate", "dstack", "hstack", "row_stack",
           "stack", "vstack"]  # fmt: skip
CHOICES = 8  # arrays up to which a choice is cheaper than copying: it fuses with what makes them


@castable(name="cat")
@same_words
def concat(vars: Sequence[Any], dim: Any = 0) -> Var:
    """Arrays behind each other along axis `dim` (0 by default). An empty one of one axis fits beside any others.

    Args:
        dim: the axis; with None each array is laid out as one axis first.

    Example:
        >>> concat([arange(2), arange(3)]).numpy()
        array([0, 1, 0, 1, 2])
    """
    if dim is None:
        return _joined(tuple(reshape(v, -1) for v in listed("concat", vars)), 0)
    return _joined(tuple(vars) if type(vars) is list and vars else vars, dim)


@template
def _joined(vars: Any, dim: Any) -> Var:
    parts = _with_axes(listed("concat", vars, dim))
    axis = axis_of("concat", dim, parts[0].ndim)
    dtype = parts[0].dtype
    for p in parts[1:]:
        dtype = promote(dtype, p.dtype)
        if p.shape[:axis] + p.shape[axis + 1 :] != parts[0].shape[:axis] + parts[0].shape[axis + 1 :]:
            raise ShapeError(
                f"concat along axis {axis} needs all other axes to be equal",
                f"{[p.shape for p in parts]}",
                _to_fit(parts),
            )
    total = sum(p.shape[axis] for p in parts)
    shape = (*parts[0].shape[:axis], total, *parts[0].shape[axis + 1 :])
    cast = tuple(p.cast(dtype) for p in parts)
    return slabs(cast, axis, shape) if len(cast) > CHOICES else _side_by_side(cast, axis, shape)


def _with_axes(parts: list[Var]) -> list[Var]:
    """Without arrays of shape (0,) beside some with more axes, as in PyTorch: what a loop begins to collect in."""
    if all(p.shape != (0,) for p in parts) or all(p.ndim == 1 for p in parts):
        return parts
    kept, dtype = [p for p in parts if p.shape != (0,)], parts[0].dtype
    for p in parts:
        dtype = promote(dtype, p.dtype)
    return [p.cast(dtype) for p in kept]


def _to_fit(parts: Sequence[Var]) -> str:
    """What joins arrays whose shapes differ."""
    if len({p.ndim for p in parts}) > 1:
        return "x.unsqueeze or x.reshape, until all have as many axes"
    differ = sorted({k for p in parts for k, n in enumerate(p.shape) if n != parts[0].shape[k]})
    return f"jt.concat(vars, {differ[0]})" if len(differ) == 1 else "jt.pad, which makes an axis longer"


def _side_by_side(parts: tuple[Var, ...], axis: int, shape: Shape) -> Var:
    """Choose the array that the index falls into, halving the list so that the choice nests only log2 deep."""
    starts = [0]
    for p in parts:
        starts.append(starts[-1] + p.shape[axis])
    moved = [
        view(p, reindex("slide", p.shape, shape, _slid(len(shape), axis, start), 0))
        for p, start in zip(parts, starts[:-1], strict=True)
    ]
    return _choose(moved, starts, index(shape, axis))


def _choose(parts: list[Var], starts: list[int], position: Var) -> Var:
    """The part that the position falls into; part k begins at starts[k]."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    first = _choose(parts[:middle], starts[:middle], position)
    return (position < starts[middle]).apply(f.SELECT, first, _choose(parts[middle:], starts[middle:], position))


def _slid(rank: int, axis: int, start: int) -> tuple[Index, ...]:
    return tuple(counter(k) - size(start) if k == axis and start else counter(k) for k in range(rank))


@castable
@same_words
def stack(vars: Sequence[Any], dim: Any = 0) -> Var:
    """Arrays of equal shape along a new axis, which is number `dim` of the result (0 by default).

    Example:
        >>> stack([arange(2), arange(2)], 1).shape
        (2, 2)
    """
    return _stacked(tuple(vars) if type(vars) is list and vars else vars, dim)


@template
def _stacked(vars: Any, dim: Any) -> Var:
    parts = listed("stack", vars, dim)
    at = axis_of("stack", dim, parts[0].ndim + 1, verb="makes")
    if len({p.shape for p in parts}) != 1:
        raise ShapeError("stack needs arrays of the same shape", f"{[p.shape for p in parts]}", _to_fit(parts))
    return concat([unsqueeze(p, at) for p in parts], at)


def hstack(vars: Sequence[Any]) -> Var:
    """Arrays beside each other: along the second axis, or the first if there is only one.

    Example:
        >>> hstack([arange(2), arange(3)]).numpy()
        array([0, 1, 0, 1, 2])
    """
    parts = [atleast_1d(v) for v in _with_axes(listed("hstack", vars))]
    return concat(parts, 0 if parts[0].ndim == 1 else 1)


def vstack(vars: Sequence[Any]) -> Var:
    """Arrays below each other: along the first axis; an array of one axis is a row.

    Example:
        >>> vstack([arange(2), arange(2)]).shape
        (2, 2)
    """
    return concat([atleast_2d(v) for v in _with_axes(listed("vstack", vars))], 0)


def dstack(vars: Sequence[Any]) -> Var:
    """Arrays behind each other: along the third axis.

    Example:
        >>> dstack([arange(2), arange(2)]).shape
        (1, 2, 2)
    """
    return concat([atleast_3d(v) for v in _with_axes(listed("dstack", vars))], 2)


def column_stack(vars: Sequence[Any]) -> Var:
    """Arrays beside each other; an array of one axis is a column.

    Example:
        >>> column_stack([arange(2), ones((2, 3))]).shape
        (2, 4)
    """
    return concat([reshape(v, -1, 1) if v.ndim < 2 else v for v in _with_axes(listed("column_stack", vars))], 1)


@var_function()
def append(x: Any, values: Any, dim: Any = None) -> Var:
    """x with `values` after it along an axis; without an axis both are flattened first.

    Example:
        >>> append(arange(2), [7]).numpy()
        array([0, 1, 7])
    """
    v = as_var(x)
    named, more = dim, as_var(values, v.dtype)
    if named is None:
        return concat([reshape(v, -1), reshape(more, -1)])
    return concat([v, more], named)


def block_diag(*mats: Any) -> Var:
    """Matrices along the diagonal of a larger one, and 0 elsewhere.

    Example:
        >>> block_diag(ones((1, 2)), ones((1, 1))).tolist()
        [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    parts = [atleast_2d(m) for m in listed("block_diag", mats)]
    if any(p.ndim > 2 for p in parts):
        raise ShapeError("block_diag takes matrices", f"shapes {[p.shape for p in parts]}")
    total, start, rows = sum(p.shape[1] for p in parts), 0, []
    for p in parts:
        rows.append(pad(p, (start, total - start - p.shape[1])))
        start += p.shape[1]
    return concat(rows)


cat = concatenate = concat
row_stack = vstack
