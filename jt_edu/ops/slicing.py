"""Slicing: slices along an axis, to read or to replace; and elements by a mask.

select, narrow, take              read slices               masked_select    read where a mask is true
index_add, index_copy, ...        write to slices           masked_scatter   write there
delete, insert                    fewer slices, or more     index_put        write to any brackets

What writes here answers a new Var, and x stays; `x[...] = v` moves x to the new value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jt_edu.base.dtypes import bool_
from jt_edu.base.errors import ArgumentError, DtypeError, RangeError, ShapeError
from jt_edu.ir.builders import broadcast_shape, short
from jt_edu.ops.arguments import axis_of, choice, factor, same_words, whole, yes_or_no
from jt_edu.ops.concat import concat
from jt_edu.ops.create import index as counting
from jt_edu.ops.diagonal import diagonal
from jt_edu.ops.index import added, getitem, index_select, replaced
from jt_edu.ops.nonzero import flatnonzero, positions, within
from jt_edu.ops.transpose import moveaxis
from jt_edu.ops.var_function import var_function
from jt_edu.ops.view import lone, reshape
from jt_edu.variable.autocast import castable
from jt_edu.variable.var import Var, as_var, method

__all__ = ["compress", "delete", "diagonal_scatter", "index_add", "index_copy", "index_fill", "index_put", "insert",
           "masked_scatter", "masked_select", "narrow", "select", "select_scatter", "slice_scatter",
           "take"]  # fmt: skip


@var_function()
def select(x: Any, dim: int, index: int) -> Var:
    """The slice at a position along an axis, without that axis.

    Example:
        >>> select(array([[1, 2], [3, 4]]), 1, -1).tolist()
        [2, 4]
    """
    v = as_var(x)
    return getitem(v, _at("select", v, dim, whole("select", "index", index)))


def _at(name: str, x: Var, dim: Any, key: Any) -> tuple[Any, ...]:
    """The brackets that hold `key` for one axis."""
    return (*([slice(None)] * axis_of(name, dim, x.ndim)), key)


@var_function()
def narrow(x: Any, dim: int, start: int, length: int) -> Var:
    """`length` slices along an axis, from `start` on.

    Example:
        >>> narrow(arange(5), 0, 1, 3).tolist()
        [1, 2, 3]
    """
    v = as_var(x)
    at, n, count = axis_of("narrow", dim, v.ndim), whole("narrow", "start", start), whole("narrow", "length", length)
    first = n + v.shape[at] if n < 0 else n
    if not 0 <= first <= first + count <= v.shape[at]:
        raise RangeError(f"narrow stays inside axis {at}, of length {v.shape[at]}", f"start {start}, length {length}")
    return getitem(v, _at("narrow", v, at, slice(first, first + count)))


@var_function()
def take(x: Any, index: Any, dim: Any = None, mode: str = "raise") -> Var:
    """The slices at the positions `index` along an axis; without an axis x is taken as if it had one.

    Args:
        index: of any shape, which replaces the axis.
        mode: what happens outside: "raise", "wrap" around, or "clip" to the border.

    Example:
        >>> take(array([[1, 2], [3, 4]]), array([3, 0])).tolist(), take(arange(3), array([7]), mode="wrap").tolist()
        ([4, 1], [1])
    """
    v, named, i = as_var(x), dim, as_var(index)
    if named is None:
        v, named = reshape(v, -1), 0
    if choice("take", "mode", mode, ("raise", "wrap", "clip")) != "raise":
        i = within("take", i, v.shape[axis_of("take", named, v.ndim)], mode)
    if i.dtype is bool_:
        raise DtypeError("take takes positions as whole numbers", f"dtype {i.dtype}", "jt.compress(mask, x)")
    return getitem(v, _at("take", v, named, i))


@same_words
def compress(condition: Any, x: Any, dim: Any = None) -> Var:
    """The slices where `condition` is not 0, along an axis; without an axis x is taken as if it had one.

    Example:
        >>> compress([0, 1, 1], array([5, 6, 7])).tolist()
        [6, 7]
    """
    mask = as_var(condition)
    if mask.ndim != 1:
        raise ShapeError("compress takes a condition for each slice", f"shape {mask.shape}", "x[mask]")
    return take(x, flatnonzero(mask), dim)


# ----------------------------------------------------------------------------------------------------- write to slices


@var_function(lone)
def index_add(x: Any, dim: int, index: Any, source: Any, alpha: float = 1) -> Var:
    """x, with alpha * source added to the slices at the positions `index`, as often as they are named.

    Example:
        >>> index_add(zeros(3), 0, array([1, 1]), array([5.0, 6.0]), 2).tolist()
        [0.0, 22.0, 0.0]
    """
    v = as_var(x)
    more, times = as_var(source, v.dtype), factor("index_add", "alpha", alpha)
    return added(v, _at("index_add", v, dim, as_var(index)), more if times == 1 else more * times)


@var_function(castable, lone)
def index_copy(x: Any, dim: int, index: Any, source: Any) -> Var:
    """x, with the slices of `source` at the positions `index`; the last one written stays.

    Example:
        >>> index_copy(zeros(3), 0, array([2, 0]), array([5.0, 6.0])).tolist()
        [6.0, 0.0, 5.0]
    """
    v = as_var(x)
    return replaced(v, _at("index_copy", v, dim, as_var(index)), source)


@var_function(lone)
def index_fill(x: Any, dim: int, index: Any, value: Any) -> Var:
    """x, with one number in the slices at the positions `index`.

    Example:
        >>> index_fill(zeros(3), 0, array([2, 0]), 7).tolist()
        [7.0, 0.0, 7.0]
    """
    v, number = as_var(x), as_var(value, as_var(x).dtype)
    if number.ndim:
        raise ShapeError("index_fill writes one number", f"a value of shape {number.shape}", "jt.index_copy")
    return replaced(v, _at("index_fill", v, dim, as_var(index)), number)


@method
@castable
def index_put(x: Any, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Var:
    """x, with `values` at x[indices[0], indices[1], ...], or added there, as often as a place is named.

    Example:
        >>> index_put(zeros(3), (array([1, 1]),), 5.0, accumulate=True).tolist()
        [0.0, 10.0, 0.0]
    """
    if not isinstance(indices, (tuple, list)):
        raise ArgumentError("index_put takes a tuple of index arrays", short(indices), "(rows, columns)")
    more = yes_or_no("index_put", "accumulate", accumulate)
    return (added if more else replaced)(as_var(x), tuple(indices), values)


@var_function()
def slice_scatter(x: Any, src: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Var:
    """x, with src at x[start:end:step] along an axis.

    Example:
        >>> slice_scatter(zeros(4), array([5.0, 6.0]), 0, 0, None, 2).tolist()
        [5.0, 0.0, 6.0, 0.0]
    """
    v = as_var(x)
    return replaced(v, _at("slice_scatter", v, dim, slice(start, end, step)), src)


@var_function()
def select_scatter(x: Any, src: Any, dim: int, index: int) -> Var:
    """x, with src as the slice at a position along an axis.

    Example:
        >>> select_scatter(zeros((2, 2)), array([5.0, 6.0]), 1, 0).tolist()
        [[5.0, 0.0], [6.0, 0.0]]
    """
    v = as_var(x)
    return replaced(v, _at("select_scatter", v, dim, whole("select_scatter", "index", index)), src)


@var_function()
def diagonal_scatter(x: Any, src: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Var:
    """x, with src on the diagonal of two axes, whose places are the last axis of src.

    Example:
        >>> diagonal_scatter(zeros((2, 2)), array([5.0, 6.0])).tolist()
        [[5.0, 0.0], [0.0, 6.0]]
    """
    v = as_var(x)
    length = diagonal(v, offset, dim1, dim2).shape[-1:]
    k = counting(length, 0)
    last = moveaxis(v, (dim1, dim2), (-2, -1))
    return moveaxis(replaced(last, (..., k + max(-offset, 0), k + max(offset, 0)), src), (-2, -1), (dim1, dim2))


# ----------------------------------------------------------------------------------------------------------- by a mask


@method
def masked_select(x: Any, mask: Any) -> Var:
    """The elements where a mask is true, along one axis; x and mask broadcast. The mask is computed at once.

    Example:
        >>> masked_select(array([[1, 2], [3, 4]]), array([True, False])).tolist()
        [1, 3]
    """
    v, m = as_var(x), _mask("masked_select", mask)
    shape = broadcast_shape("masked_select", v.shape, m.shape)
    return index_select(reshape(v.stretched(shape), -1), 0, positions(m.stretched(shape)))


def _mask(name: str, mask: Any) -> Var:
    m = as_var(mask)
    if m.dtype is not bool_:
        raise DtypeError(f"{name} takes a mask of bools", f"dtype {m.dtype}", "mask != 0")
    return m


@method
def masked_scatter(x: Any, mask: Any, source: Any) -> Var:
    """x, with the elements of `source`, in row-major order, one after the other where a mask is true.

    Example:
        >>> masked_scatter(zeros(3), array([True, False, True]), array([5.0, 6.0, 7.0])).tolist()
        [5.0, 0.0, 6.0]
    """
    v, m, flat = as_var(x), _mask("masked_scatter", mask), reshape(source, -1)
    shape = broadcast_shape("masked_scatter", v.shape, m.shape)
    places = positions(m.stretched(shape))
    if flat.size < places.size:
        raise ShapeError("masked_scatter needs an element for each true", f"{flat.size} for {places.size}")
    return reshape(replaced(reshape(v.stretched(shape), -1), places, flat[: places.size]), shape)


# ----------------------------------------------------------------------------------------------- fewer slices, or more


@same_words
def delete(x: Any, obj: Any, dim: Any = None) -> Var:
    """x without the slices at the positions `obj` (a number, several, a slice or a mask), which are computed at once.

    Without an axis x is taken as if it had one.

    Example:
        >>> delete(arange(5), [1, 3]).tolist(), delete(arange(5), slice(3)).tolist()
        ([0, 2, 4], [3, 4])
    """
    v, named = as_var(x), dim
    if named is None:
        v, named = reshape(v, -1), 0
    n = v.shape[axis_of("delete", named, v.ndim)]
    gone = set(_listed("delete", obj, n, n - 1))
    return index_select(v, named, as_var([k for k in range(n) if k not in gone]))


def _listed(name: str, obj: Any, length: int, last: int) -> list[int]:
    """Positions from 0 to `last`, as numbers; those below 0 count from the end."""
    if isinstance(obj, slice):
        return list(range(*obj.indices(length)))
    v = as_var(obj)
    if v.dtype is bool_:
        if v.shape != (length,):
            raise ShapeError(f"{name} takes a mask as long as the axis", f"{v.shape} for {(length,)}")
        v = flatnonzero(v)
    if v.dtype.kind not in "iu" and v.size:
        raise DtypeError(f"{name} takes positions as whole numbers", f"dtype {v.dtype}", "index.int64()")
    found = reshape(v, -1).tolist()
    for k in found:
        if not -length <= k <= last:
            raise RangeError(f"{name} along an axis of length {length}", f"position {k}", f"{-length} to {last}")
    return [int(k) + length if k < 0 else int(k) for k in found]


@same_words
def insert(x: Any, obj: Any, values: Any, dim: Any = None) -> Var:
    """x with `values` before the slices at the positions `obj` (a number, several, a slice or a mask).

    Without an axis x is taken as if it had one. Values broadcast to the slices, and are cast to the dtype of x.

    Example:
        >>> insert(arange(4), 1, [7, 8]).tolist(), insert(arange(4), [1, 4], [7, 8]).tolist()
        ([0, 7, 8, 1, 2, 3], [0, 7, 1, 2, 3, 8])
    """
    v, named = as_var(x), dim
    if named is None:
        v, named = reshape(v, -1), 0
    at = axis_of("insert", named, v.ndim)
    n = v.shape[at]
    places, new = _listed("insert", obj, n, n), as_var(values, v.dtype).cast(v.dtype)
    new = reshape(new, (1,) * (v.ndim - new.ndim) + new.shape) if new.ndim < v.ndim else new
    if len(places) == 1:
        if not isinstance(obj, (slice, list, tuple)) and as_var(obj).ndim == 0:
            new = moveaxis(new, 0, at)
        places = places * new.shape[at]
    new = new.stretched((*v.shape[:at], len(places), *v.shape[at + 1 :]))
    order = sorted([(p, 0, n + k) for k, p in enumerate(places)] + [(p, 1, p) for p in range(n)])
    return index_select(concat([v, new], at), at, as_var([k for _, _, k in order]))
