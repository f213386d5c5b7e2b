"""Searchsorted: where does a number belong among sorted ones, and is it there at all?

searchsorted, bucketize, digitize       positions among sorted numbers, by halving: many values at each step
isin                                    whether a number is one of a set
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from jt_edu.base.dtypes import bool_, int32, int64, promote, uint8
from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.ops import gpu_rows
from jt_edu.ops.arguments import choice, yes_or_no
from jt_edu.ops.custom_kernel import Rows, kernel
from jt_edu.ops.dtype_rules import check_order
from jt_edu.ops.index import gather
from jt_edu.ops.row_view import picked
from jt_edu.ops.sort import sorted_positions
from jt_edu.ops.transpose import flip
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var, method

__all__ = ["bucketize", "digitize", "isin", "searchsorted"]
BLOCK = 256  # values that are searched for at once
SEARCH = """
    def kernel(lo, hi, edges, values, out):
        n, m, begin = edges.shape[1], values.shape[1], lo
        while begin < hi:  # a block of one row: step by step for all its values, so that none waits for another
            row = begin // m
            first = begin - row * m
            last = min(m, first + hi - begin, first + {block})
            for k in range(np.uint64(first), np.uint64(last)):
                out[row, k] = 0
            left = n
            while left > 0:  # places that are possible behind the first, for each value
                half = (left + 1) // 2
                for k in range(np.uint64(first), np.uint64(last)):
                    low, v = out[row, k], values[row, k]
                    e = edges[row, np.uint64(low + half - 1)]
                    if {before}:
                        low += half
                    out[row, k] = low
                left -= half
            begin += last - first
"""


@cache
def _search(right: bool) -> Callable[..., Var]:
    """The search for the place behind equal numbers, or before them."""
    before = "not (v < e or (e != e and v == v))" if right else "e < v or (v != v and e == e)"
    text = SEARCH.format(before=before, block=BLOCK)
    return kernel("searchsorted", text, weight=8, kind=Rows, threads=gpu_rows.each(text))


@template
def searchsorted(
    sorted_sequence: Any, values: Any, right: bool = False, side: Any = None, sorter: Any = None,
    out_int32: bool = False,
) -> Var:  # fmt: skip
    """Positions at which values could be put in, so that the sequence stays sorted; nan belongs at the end.

    Args:
        sorted_sequence: (n,), or (..., n) with the leading axes of values: a sequence for each of their rows.
        right, side: behind equal numbers (right=True, side="right") or before them; two spellings of the same.
        sorter: positions that sort the sequence, where it is not sorted.
        out_int32: positions as int32 instead of int64.

    Example:
        >>> searchsorted(array([1, 3, 5]), array([3, 4])).numpy(), searchsorted([1, 3, 5], 3, side="right").item()
        (array([1, 2]), 2)
    """
    edges, v = as_var(sorted_sequence), as_var(values)
    after = yes_or_no("searchsorted", "right", right)
    if choice("searchsorted", "side", side, (None, "left", "right")) == "left" and after:
        raise ArgumentError("searchsorted has the sides 'left' and 'right'", f"side={side!r}, right={right!r}")
    alone = edges.ndim == 1
    if edges.ndim == 0 or (not alone and edges.shape[:-1] != v.shape[:-1]):
        raise ShapeError(
            "searchsorted takes one sequence, or one for each row of the values", f"{edges.shape} for {v.shape}"
        )
    if sorter is not None:
        edges = _in_order(edges, as_var(sorter))
    narrow = yes_or_no("searchsorted", "out_int32", out_int32)
    rows = math.prod(edges.shape[:-1])
    table = edges.reshape(rows, edges.shape[-1])
    found = _positions(table, v.reshape(rows, v.size // max(rows, 1)), after or side == "right")
    return found.reshape(v.shape).cast(int32 if narrow else int64)


def _in_order(edges: Var, sorter: Var) -> Var:
    if sorter.shape != edges.shape or sorter.dtype.kind not in "iu":
        raise ShapeError(
            "a sorter holds a position for each number of the sequence",
            f"{sorter.dtype} of shape {sorter.shape} for {edges.shape}", "jt.argsort(sequence)",
        )  # fmt: skip
    return gather(edges, edges.ndim - 1, sorter)


def _positions(edges: Var, values: Var, right: bool) -> Var:
    """(rows, n) and (rows, m): the positions, (rows, m)."""
    check_order("searchsorted", edges)
    check_order("searchsorted", values)
    common = promote(edges.dtype, values.dtype)
    common = uint8 if common is bool_ else common
    a, b = edges.cast(common), values.cast(common)
    return _search(right)(a, b, shape=b.shape, dtype=int64, span=b.size)


@method
def bucketize(x: Any, boundaries: Any, right: bool = False, out_int32: bool = False) -> Var:
    """The bucket of each number: how many boundaries lie below it, or with `right` at or below it.

    Example:
        >>> bucketize(array([1, 3, 9]), array([1, 3, 5])).numpy()
        array([0, 1, 3])
    """
    edges = as_var(boundaries)
    if edges.ndim != 1:
        raise ShapeError("bucketize takes boundaries in one row", f"shape {edges.shape}")
    return searchsorted(edges, as_var(x), right, out_int32=out_int32)


def digitize(x: Any, bins: Any, right: bool = False) -> Var:
    """The bin of each number, bins[i - 1] <= x < bins[i]; with `right` bins[i - 1] < x <= bins[i]. Bins may fall.

    NumPy's twin of `bucketize`, where `right` has the opposite meaning.

    Raises:
        ArgumentError: the bins neither rise nor fall (they are looked at before they are used).

    Example:
        >>> digitize(array([0.5, 1.0, 7.0]), array([1.0, 2.0, 4.0])).numpy()
        array([0, 1, 3])
    """
    edges = as_var(bins).detach()
    if edges.ndim != 1:
        raise ShapeError("digitize takes bins in one row", f"shape {edges.shape}")
    numbers, before = edges.numpy(), not yes_or_no("digitize", "right", right)
    if (numbers[1:] >= numbers[:-1]).all():
        return searchsorted(edges, as_var(x), before)
    if not (numbers[1:] <= numbers[:-1]).all():
        raise ArgumentError("bins are in rising or falling order", f"{numbers.tolist()}", "jt.sort(bins)[0]")
    return len(edges) - searchsorted(flip(edges), as_var(x), before)


@method
def isin(x: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Var:
    """Whether each number is one of `test_elements`; nan equals none.

    Args:
        assume_unique: taken for the sake of code that promises it; the answer is the same.
        invert: whether it is none of them.

    Example:
        >>> isin(array([1, 2, 3]), array([2, 5])).numpy()
        array([False,  True, False])
    """
    v, among = as_var(x), as_var(test_elements).reshape(1, -1)
    yes_or_no("isin", "assume_unique", assume_unique)
    other = yes_or_no("isin", "invert", invert)
    dtype = promote(v.dtype, among.dtype)
    values, among = v.cast(dtype).detach(), among.cast(dtype).detach()
    if among.size == 0:
        return (values != values) | other  # noqa: PLR0124
    ordered = picked(among, sorted_positions(among))
    place = _positions(ordered, values.reshape(1, -1), right=False)
    found = picked(ordered, place.clamp(0, among.size - 1)).reshape(v.shape) == values
    return found == 0 if other else found
