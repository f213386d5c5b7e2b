"""Sets: each number once.

    unique, unique_consecutive                          the numbers that are there
    union1d, intersect1d, setdiff1d, setxor1d           two sets together

How many there are is known only when the numbers are, so these compute at once, as a mask in brackets does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from jt_edu.base.dtypes import int64, promote
from jt_edu.ir.index_expr import load
from jt_edu.ir.scalar_ops import IMAG, REAL
from jt_edu.ops import gpu_rows
from jt_edu.ops.arguments import axis_of, yes_or_no
from jt_edu.ops.concat import concat, stack
from jt_edu.ops.create import arange
from jt_edu.ops.create import index as counting
from jt_edu.ops.cumulative import cumsum
from jt_edu.ops.custom_kernel import kernel
from jt_edu.ops.index import getitem, index_select
from jt_edu.ops.nonzero import cut_off, positions
from jt_edu.ops.reduce import any
from jt_edu.ops.row_view import as_rows
from jt_edu.ops.searchsorted import isin
from jt_edu.ops.sort import sorted_numbers, sorted_positions
from jt_edu.ops.var_function import var_function
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var

__all__ = ["intersect1d", "setdiff1d", "setxor1d", "union1d", "unique", "unique_consecutive"]
FIRSTS = """
    def kernel(lo, hi, x, out):
        k, n = 0, len(x)
        for i in range(n):
            out[k] = i  # the next one writes over it, unless it differs from the one before
            k += {new}
        out[n] = k
"""


@var_function()
def unique(
    x: Any, return_inverse: bool = False, return_counts: bool = False, dim: Any = None, *, return_index: bool = False,
    equal_nan: bool = True,
) -> Any:  # fmt: skip
    """The different numbers (or slices along `dim`), each once and in order; complex ones by their real part first.

    Args:
        return_inverse: also where each number of x is in the answer.
        return_counts: also how often each is there.
        return_index: also where each is first in x.
        equal_nan: every nan is the same; otherwise each one is a number of its own.

    Returns:
        A Var, or a tuple (unique, index, inverse, counts) of it and of what was asked for.

    Example:
        >>> [v.tolist() for v in unique(array([3, 1, 3]), return_counts=True)]
        [[1, 3], [1, 2]]
    """
    v, axis = as_var(x), None if dim is None else axis_of("unique", dim, as_var(x).ndim)
    flags = {"equal_nan": equal_nan, "return_index": return_index, "return_inverse": return_inverse}
    alike, wants_index, inverse = (yes_or_no("unique", name, flag) for name, flag in flags.items())
    counts = yes_or_no("unique", "return_counts", return_counts)
    if axis is None and v.dtype.kind != "c" and not (wants_index or inverse):  # nobody asks for positions
        return _numbers_once(v, alike, counts)
    order, rows, new = _grouped(v, axis, alike)
    first = positions(new)
    index = index_select(order, 0, first)  # equal numbers keep their order: the first in x
    found = [index_select(rows, 0, first) if axis is None else index_select(v, axis, index)]
    if wants_index:
        found.append(index)
    if inverse:
        found.append(_inverse(new, order).reshape(v.shape if axis is None else (-1,)))
    if counts:
        found.append(_lengths(new, found[0].shape[axis or 0]))
    return found[0] if len(found) == 1 else tuple(found)


def _numbers_once(x: Var, equal_nan: bool, counts: bool) -> Any:
    """The numbers in order, each once, and how often each was there; without their positions sorting is faster."""
    row, room = _in_order(x, equal_nan)
    first = cut_off(room)
    found = index_select(row, 0, first)
    return (found, first.reindex(first.shape, lambda i: (i + 1,), x.size) - first) if counts else found


@template
def _in_order(x: Var, equal_nan: bool) -> tuple[Var, Var]:
    """The numbers in order; and where each that differs from the one before stands, and how many those are."""
    row = sorted_numbers(x.reshape(1, x.size)).reshape(x.size)
    return row, _firsts(equal_nan)(row, shape=(x.size + 1,), dtype=int64)


@cache
def _firsts(equal_nan: bool) -> Callable[..., Var]:
    """The search in sorted numbers for those that differ from the one before."""
    same = " and (x[i] == x[i] or x[i - 1] == x[i - 1])" if equal_nan else ""
    new = f"i == 0 or (x[i] != x[i - 1]{same})"
    return kernel("first_positions", FIRSTS.format(new=new), threads=gpu_rows.found(new, "x"))


@var_function()
def unique_consecutive(x: Any, return_inverse: bool = False, return_counts: bool = False, dim: Any = None) -> Any:
    """The numbers (or slices along `dim`) without those that repeat the one before; the arguments are `unique`'s.

    Example:
        >>> unique_consecutive(array([1, 1, 2, 1])).numpy()
        array([1, 2, 1])
    """
    v = as_var(x)
    axis = None if dim is None else axis_of("unique_consecutive", dim, v.ndim)
    table = _table(v, axis)
    order = arange(len(table))
    new = _begins(table, equal_nan=False)
    found = [v.reshape(-1)[order[new]] if axis is None else index_select(v, axis, order[new])]
    if yes_or_no("unique_consecutive", "return_inverse", return_inverse):
        found.append(_inverse(new, order).reshape(v.shape if axis is None else (-1,)))
    if yes_or_no("unique_consecutive", "return_counts", return_counts):
        found.append(_lengths(new, found[0].shape[axis or 0]))
    return found[0] if len(found) == 1 else tuple(found)


def _sorted_rows(table: Var) -> Var:
    """Positions that put the rows of a table in order: by the last column first, as keeping the order allows."""
    if table.dtype.kind == "c":
        return _sorted_rows(_ranked_parts(table))
    if table.shape[1] == 1:
        return sorted_positions(table.reshape(1, -1)).reshape(-1)
    order = arange(len(table))
    for column in reversed(range(table.shape[1])):
        order = order[sorted_positions(table[order, column].reshape(1, -1))[0]]
    return order


def _ranked_parts(table: Var) -> Var:
    """Three columns for each of complex numbers: which part is nan, as NumPy asks first, the real part, the other."""
    re, im = table.apply(REAL), table.apply(IMAG)
    rank = (re != re).cast(re.dtype) * 2 + (im != im).cast(re.dtype)  # noqa: PLR0124
    return stack([rank, re, im], -1).reshape(len(table), 3 * table.shape[1])


@template
def _grouped(x: Var, axis: int | None, equal_nan: bool) -> tuple[Var, Var, Var]:
    """Positions that sort the numbers (or slices), what is there, and whether each differs from the one before.

    What is there is an answer, so that it is stored: the two sides of a comparison need not look it up twice.
    """
    table = _table(x, axis)
    order = _sorted_rows(table)
    rows = index_select(table, 0, order)
    return order, rows.reshape(-1) if axis is None else rows, _begins(rows, equal_nan)


def _table(x: Var, axis: int | None) -> Var:
    """A row for each number, or for each slice along an axis."""
    return x.reshape(x.size, 1) if axis is None else as_rows(x, tuple(k for k in range(x.ndim) if k != axis))


def _begins(table: Var, equal_nan: bool) -> Var:
    """Whether each row differs from the one before; the first one always does."""
    rows, columns = table.shape
    before = table.reindex((rows, columns), lambda i, j: (i - 1, j))
    differ = table != before
    if equal_nan and table.dtype.is_float:
        differ = differ & ((table == table) | (before == before))  # noqa: PLR0124
    some = differ.reshape(rows) if columns == 1 else any(differ, 1)
    return some | (counting((rows,), 0) == 0)


def _inverse(new: Var, order: Var) -> Var:
    """For each row the number of its group, at the place that the row had before it was sorted."""
    group = cumsum(new) - 1
    return group.reindex_reduce("last", group.shape, lambda i: (load(0, [i]),), extras=[order])


def _lengths(new: Var, groups: int) -> Var:
    """How many rows each group has."""
    one = new.ones_like().cast(int64)
    return one.reindex_reduce("add", (groups,), lambda i: (load(0, [i]),), extras=[cumsum(new) - 1])


def union1d(x: Any, y: Any) -> Var:
    """The numbers that are in x or in y.

    Example:
        >>> union1d([1, 2], [2, 3]).numpy()
        array([1, 2, 3])
    """
    a, b = _alike(x, y)
    found: Var = unique(concat([a, b]))
    return found


def intersect1d(x: Any, y: Any) -> Var:
    """The numbers that are in x and in y.

    Example:
        >>> intersect1d([1, 2], [2, 3]).numpy()
        array([2])
    """
    a, b = _alike(x, y)
    found = unique(a)
    return getitem(found, isin(found, b))


def setdiff1d(x: Any, y: Any) -> Var:
    """The numbers that are in x and not in y, in the dtype of x.

    Example:
        >>> setdiff1d([1, 2], [2, 3]).numpy()
        array([1])
    """
    found = unique(x)
    return getitem(found, isin(found, y, invert=True))


def setxor1d(x: Any, y: Any) -> Var:
    """The numbers that are in x or in y and not in both.

    Example:
        >>> setxor1d([1, 2], [2, 3]).numpy()
        array([1, 3])
    """
    a, b = _alike(x, y)
    found: Var = unique(concat([setdiff1d(a, b), setdiff1d(b, a)]), equal_nan=False)
    return found


def _alike(x: Any, y: Any) -> tuple[Var, Var]:
    """Both in one row, and of the dtype that they have together."""
    a, b = as_var(x).reshape(-1), as_var(y).reshape(-1)
    dtype = promote(a.dtype, b.dtype)
    return a.cast(dtype), b.cast(dtype)
