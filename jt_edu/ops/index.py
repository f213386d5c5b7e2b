"""Indexing: NumPy's brackets, as Reindex.

x[1:5, ::2, None]      basic: slices, numbers, None, ...       a Reindex with arithmetic on the counters
x[rows, cols]          advanced: arrays of positions           a Reindex that loads the position
x[x > 0]               a mask: its positions are found first, so the mask is computed at once
x[...] = v             a new value: v where the brackets point, the old one elsewhere
"""

from __future__ import annotations

import sys
from typing import Any

from jt_edu.base.dtypes import bool_, int64
from jt_edu.base.errors import ArgumentError, DtypeError, ShapeError
from jt_edu.ir.builders import broadcast_shape, inverse, short
from jt_edu.ir.index_expr import Index, counter, load
from jt_edu.ir.meta_ops import CONSTANT, Reindex, reindex, reindex_reduce
from jt_edu.ir.node import Node
from jt_edu.ops.arguments import axis_of, same_words, whole
from jt_edu.ops.create import index as counting
from jt_edu.ops.dtype_rules import checked
from jt_edu.ops.index_parsing import Brackets, meant, read_brackets, roving, spelled
from jt_edu.ops.nonzero import positions as found_positions
from jt_edu.ops.temporaries import warn_if_lost
from jt_edu.ops.var_function import var_function
from jt_edu.ops.view import lone
from jt_edu.variable.index_bounds import check_there
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var, method

__all__ = ["gather", "getitem", "index_select", "one_hot", "scatter", "setitem"]


def gathered(x: Var, b: Brackets, name: str = "getitem") -> Var:
    """What brackets read."""
    op = reindex(name, x.shape, b.shape, b.where)
    node = Node(op, (x.node, *(a.node for a in b.arrays)), b.shape, x.dtype)
    return Var._of(check_there(node) if b.arrays else node)


def getitem(x: Var, key: Any) -> Var:
    """x[key], NumPy's indexing.

    Example:
        >>> arange(6).reshape(2, 3)[:, [2, 0]].numpy()
        array([[2, 0],
               [5, 3]])
    """
    v, parts = as_var(x), spelled(key)
    if parts is not None:
        return _spelled_out(v, roving(v, parts))
    if isinstance(key, Var) and key.dtype is bool_ and key.shape == v.shape != ():
        return _at_positions(v, found_positions(key))
    return _read(v, key)


@template
def _spelled_out(x: Var, parts: tuple[Any, ...]) -> Var:
    return _read(x, meant(parts))


def _read(v: Var, key: Any) -> Var:
    b = read_brackets(v, key)
    plain = b.where == tuple(counter(k) for k in range(v.ndim))
    return v.reshape(b.shape) if plain and b.shape == v.shape else gathered(v, b)


def setitem(x: Var, key: Any, value: Any) -> None:
    """x[key] = value, NumPy's assignment; a position that is named twice keeps the last value.

    `x[0]` is a Var of its own: `x[0][1] = 5`, or writing to `x.reshape(6)`, changes nothing that is left, and warns.

    Example:
        >>> x = zeros(4); x[1:3] = 5; x.numpy()
        array([0., 5., 5., 0.], dtype=float32)
    """
    if not isinstance(x, Var):
        raise ArgumentError("setitem changes a Var", short(x), "x = jt.array(x)")
    warn_if_lost(sys.getrefcount(x))
    x.become(replaced(x, key, value))


def replaced(x: Var, key: Any, value: Any) -> Var:
    """A new Var: `value` where the brackets point, x elsewhere."""
    new, parts = _written(x, value), spelled(key)
    return _replaced(x, key, new) if parts is None else _replaced_there(x, roving(x, parts), new)


@template
def _replaced_there(x: Var, parts: tuple[Any, ...], new: Var) -> Var:
    return _replaced(x, meant(parts), new)


def _replaced(x: Var, key: Any, value: Var) -> Var:
    b = read_brackets(x, key)
    new = _fitting(x, b, value)
    gather = reindex("getitem", x.shape, b.shape, b.where)
    back = inverse(gather, b.shape, x.shape) if not b.arrays else None
    return placed(x, new, back) if back is not None else scattered(x, new, gather, b.arrays)


def added(x: Var, key: Any, value: Any) -> Var:
    """A new Var: x, with `value` added where the brackets point, as often as they name a position."""
    new, parts = _written(x, value), spelled(key)
    return _added(x, key, new) if parts is None else _added_there(x, roving(x, parts), new)


@template
def _added_there(x: Var, parts: tuple[Any, ...], new: Var) -> Var:
    return _added(x, meant(parts), new)


def _added(x: Var, key: Any, value: Var) -> Var:
    b = read_brackets(x, key)
    new = _fitting(x, b, value)
    op = reindex_reduce("index_add", "add", b.shape, x.shape, b.where)
    return x + Var._of(check_there(Node(op, (new.node, *(a.node for a in b.arrays)), x.shape, x.dtype)))


def _written(x: Var, value: Any) -> Var:
    """A value as a Var; a number gets shape (1,), so that one template serves all numbers."""
    new = as_var(value, x.dtype)
    return new.stretched((1,)) if new.node.op is CONSTANT else new


def _fitting(x: Var, b: Brackets, new: Var) -> Var:
    """A value in the dtype of x and the shape of the brackets; it may have axes of length 1 in front."""
    if new.dtype.kind == "c" and x.dtype.kind != "c":
        raise DtypeError(f"a Var of {x.dtype} holds real numbers", f"{new.dtype} to assign", "value.real")
    extra = max(new.ndim - len(b.shape), 0)
    fits = new.shape[:extra] == (1,) * extra
    if not fits or broadcast_shape("assignment", new.shape[extra:], b.shape) != b.shape:
        raise ShapeError("x[...] = v needs a v that fits the brackets", f"{new.shape} for {b.shape}")
    return new.cast(x.dtype).reshape(new.shape[extra:]).stretched(b.shape)


def placed(x: Var, new: Var, back: Reindex) -> Var:
    """No two positions meet: read the new value through the inverse index where there is one."""
    there = Var._of(Node(back, (new.node,), x.shape, x.dtype))
    touched = Var._of(Node(back, (new.ones_like().cast(bool_).node,), x.shape, bool_))
    return x.where_not(touched, there)


def scattered(x: Var, new: Var, gather: Reindex, arrays: tuple[Var, ...]) -> Var:
    """Positions may be named twice: the value named last stays."""
    op = reindex_reduce("setitem", "last", new.shape, x.shape, gather.where)
    nodes = tuple(a.node for a in arrays)
    there = Var._of(check_there(Node(op, (new.node, *nodes), x.shape, x.dtype)))
    touched = Var._of(Node(op, (new.ones_like().cast(bool_).node, *nodes), x.shape, bool_))
    return x.where_not(touched, there)


method(getitem)
method(getitem, "__getitem__")
method(setitem, "__setitem__")


@var_function(template)
def gather(x: Any, dim: int, index: Any) -> Var:
    """out[i, j] = x[index[i, j], j] for dim 0, and so on: one position along `dim` for each element of the result.

    Example:
        >>> gather(array([[1, 2], [3, 4]]), 1, array([[1], [0]])).numpy()
        array([[2],
               [3]])
    """
    v = as_var(x)
    axis = axis_of("gather", dim, v.ndim, lone=True)
    one = v.reshape(1) if v.ndim == 0 else v
    positions = _positions_along("gather", one, index, axis)
    found = gathered(one, Brackets(positions.shape, along(one.ndim, axis), (positions,)), "gather")
    return found if as_var(index).ndim else found.reshape(())


def along(ndim: int, axis: int) -> tuple[Index, ...]:
    """The index of an element, but along `axis` the position that the first index array holds for it."""
    return tuple(load(0, [counter(j) for j in range(ndim)]) if k == axis else counter(k) for k in range(ndim))


def _positions_along(name: str, x: Var, index: Any, axis: int) -> Var:
    """The index as int64, which must be whole numbers in a shape that fits x; one number alone fits one axis."""
    positions = as_var(index)
    if positions.ndim == 0 and x.ndim == 1:
        positions = positions.reshape(1)
    if positions.dtype.kind not in "iu":
        raise DtypeError(f"{name} takes positions as whole numbers", f"dtype {positions.dtype}", "index.int64()")
    fits = positions.ndim == x.ndim and all(n <= x.shape[k] for k, n in enumerate(positions.shape) if k != axis)
    if not fits:
        found = f"{positions.shape} for {x.shape}"
        raise ShapeError(f"{name} along axis {axis} needs an index no longer than x elsewhere", found)
    return positions.cast(int64)


@var_function(template, lone)
def scatter(x: Any, dim: int, index: Any, src: Any, reduce: str = "void") -> Var:
    """x, with src written (reduce="void"), added ("add") or multiplied ("multiply") at x[index[i, j], j] for dim 0.

    Args:
        index: positions along `dim`; elsewhere no longer than x.
        src: a number, or an array no shorter than the index.

    Example:
        >>> scatter(zeros((1, 3)), 1, array([[2, 0]]), array([[5.0, 6.0]])).numpy()
        array([[6., 0., 5.]], dtype=float32)
    """
    v = as_var(x)
    if not isinstance(reduce, str) or reduce not in ("void", "add", "multiply"):
        raise ArgumentError("scatter reduces by 'void', 'add' or 'multiply'", short(reduce), "jt.scatter_reduce")
    axis = axis_of("scatter", dim, v.ndim)
    positions, new = scatter_parts("scatter", v, axis, index, src)
    where = along(v.ndim, axis)
    if reduce == "void":
        return scattered(v, new, reindex("getitem", v.shape, positions.shape, where), (positions,))
    there = scatter_into(v, new, positions, where, reduce)
    return there + v if reduce == "add" else there * v


def scatter_parts(name: str, x: Var, axis: int, index: Any, src: Any) -> tuple[Var, Var]:
    """The positions along an axis, and what to write there, of the same shape and in the dtype of x."""
    positions = _positions_along(name, x, index, axis)
    new = as_var(src, x.dtype)
    if new.dtype.kind == "c" and x.dtype.kind != "c":
        raise DtypeError(f"a Var of {x.dtype} holds real numbers", f"{new.dtype} to write", "src.real")
    new = new.cast(x.dtype)
    new = new if new.ndim else new.stretched(positions.shape)
    if new.ndim != x.ndim or any(n > m for n, m in zip(positions.shape, new.shape, strict=True)):
        raise ShapeError(f"{name} needs a src no shorter than its index", f"src {new.shape}, index {positions.shape}")
    return positions, new[tuple(slice(n) for n in positions.shape)]


def scatter_into(x: Var, new: Var, positions: Var, where: tuple[Index, ...], reducer: str) -> Var:
    """What meets at each place of x, put together by a reducer."""
    op = reindex_reduce("scatter", reducer, new.shape, x.shape, where)
    return Var._of(check_there(Node(op, (new.node, positions.node), x.shape, new.dtype)))


@var_function(template, lone)
def index_select(x: Any, dim: int, index: Any) -> Var:
    """The slices of x at the positions `index` along axis `dim`.

    Example:
        >>> index_select(arange(6).reshape(2, 3), 1, array([2, 2])).tolist()
        [[2, 2], [5, 5]]
    """
    v, where = as_var(x), as_var(index)
    axis = axis_of("index_select", dim, v.ndim)
    where = where if where.ndim else where.reshape(1)
    if where.ndim == 1 and where.dtype.kind in "iu":
        return _selected(v, axis, where)
    return getitem(v, (*([slice(None)] * axis), where))


@template
def _at_positions(x: Var, index: Var) -> Var:
    return _selected(x.reshape(-1), 0, index)


@template
def _selected(x: Var, axis: int, index: Var) -> Var:
    """What brackets with one row of positions read."""
    shape = (*x.shape[:axis], index.size, *x.shape[axis + 1 :])
    where = tuple(load(0, [counter(k)]) if k == axis else counter(k) for k in range(x.ndim))
    return gathered(x, Brackets(shape, where, (index.cast(int64),)))


@same_words
def one_hot(x: Any, num_classes: int = -1) -> Var:
    """A new last axis with 1 at position x, 0 elsewhere (int64).

        out[..., k] = 1 where k = x[...], else 0

    Args:
        x: class numbers, any shape.
        num_classes: length of the new axis; -1 for the largest number and one more, which computes x.

    Raises:
        RangeError: a number below 0, or num_classes and more, when the kernel is about to read it.

    Example:
        >>> one_hot(array([2, 0]), 3).tolist()
        [[0, 0, 1], [1, 0, 0]]
    """
    if type(num_classes) is int and num_classes >= 0:
        return _one_hot(x, num_classes)
    v, classes = as_var(x), whole("one_hot", "num_classes", num_classes, -1)
    if classes < 0 and v.dtype.kind in "iu":
        classes = 1 + max((int(k) for k in v.numpy().flat), default=-1)
    return _one_hot(v, classes)


@template
def _one_hot(x: Any, classes: int) -> Var:
    v = as_var(x)
    if v.dtype.kind not in "iu":
        raise DtypeError("one_hot takes whole numbers", f"dtype {v.dtype}", "x.int64()")
    there = checked("one_hot", v, 0, classes).unsqueeze(-1)
    return (there == counting((*v.shape, classes), v.ndim)).cast(int64)
