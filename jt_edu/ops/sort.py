"""Sorting: which number belongs where.

    argsort     the positions, by a merge sort        sort, msort, topk, kthvalue     the numbers there

Only positions are computed by a kernel of its own; the numbers are read there, so gradients go to where they came from.
Equal numbers keep their order, and nan counts as larger than every number, as in NumPy and PyTorch.
"""

from __future__ import annotations

from typing import Any

from jt_edu.dtypes import bool_, int64, uint8
from jt_edu.errors import ArgumentError, RangeError
from jt_edu.ops.code import kernel
from jt_edu.ops.reduce import check_order, pick_axes
from jt_edu.ops.rows import as_rows, from_rows, one_axis, one_each, picked
from jt_edu.ops.view import whole
from jt_edu.var import Var, as_var, method

ARGSORT = kernel(
    "argsort",
    """
    def kernel(lo, hi, x, down, out):
        n = x.shape[1]
        other = np.empty(n, np.int64)
        falling = down[()]
        for row in range(lo, hi):
            key, here = x[row], out[row]
            for first in range(0, n, 16):  # short runs, by insertion
                for i in range(first, min(first + 16, n)):
                    a = key[i]
                    k = i
                    while k > first:
                        b = key[here[k - 1]]
                        if (a > b or (a != a and b == b)) if falling else (a < b or (b != b and a == a)):
                            here[k] = here[k - 1]
                            k -= 1
                        else:
                            break
                    here[k] = i
            width = 16
            while width < n:  # two sorted runs become one
                for first in range(0, n, 2 * width):
                    middle, last = min(first + width, n), min(first + 2 * width, n)
                    i, j = first, middle
                    for k in range(first, last):
                        right = i == middle
                        if not right and j < last:
                            a, b = key[here[j]], key[here[i]]
                            right = (a > b or (a != a and b == b)) if falling else (a < b or (b != b and a == a))
                        if right:
                            other[k] = here[j]
                            j += 1
                        else:
                            other[k] = here[i]
                            i += 1
                here[:] = other
                width *= 2
    """,
    weight=100,
)


def sorted_positions(rows: Var, descending: bool = False) -> Var:
    """For each row its positions, so that the numbers there rise (or fall)."""
    keys = rows.cast(uint8) if rows.dtype is bool_ else rows.detach()
    return ARGSORT(keys, Var(bool(descending)), shape=rows.shape, dtype=int64, span=len(rows))


@method
def argsort(
    x: Any, dim: Any = None, descending: bool = False, stable: bool = True, *, dims: Any = None, axis: Any = None
) -> Var:
    """Positions (int64) that put the numbers along an axis (the last one by default) in order; equal ones keep theirs.

    Args:
        descending: the largest first.
        stable: taken for the sake of code that asks for it; the order of equal numbers is kept always.

    Example:
        >>> argsort(array([3.0, 1.0, 2.0])).numpy()
        array([1, 2, 0])
    """
    v = as_var(x)
    axis = _axis("argsort", v, pick_axes("argsort", dim, dims, axis, False, False)[0])
    _yes_or_no("argsort", descending=descending, stable=stable)
    return from_rows(sorted_positions(as_rows(v, (axis,)), descending), v.shape, axis)


@method
def sort(
    x: Any, dim: Any = None, descending: bool = False, stable: bool = True, *, dims: Any = None, axis: Any = None
) -> tuple[Var, Var]:
    """(numbers in order, their old positions) along an axis, the last one by default; the arguments are `argsort`'s.

    Example:
        >>> [v.tolist() for v in sort(array([3, 1, 2]), descending=True)]
        [[3, 2, 1], [0, 2, 1]]
    """
    v = as_var(x)
    axis = _axis("sort", v, pick_axes("sort", dim, dims, axis, False, False)[0])
    _yes_or_no("sort", descending=descending, stable=stable)
    rows = as_rows(v, (axis,))
    order = sorted_positions(rows, descending)
    return from_rows(picked(rows, order), v.shape, axis), from_rows(order, v.shape, axis)


def msort(x: Any) -> Var:
    """Numbers in order along the first axis.

    Example:
        >>> msort(array([[3, 1], [2, 4]])).numpy()
        array([[2, 1],
               [3, 4]])
    """
    return sort(x, 0)[0]


@method
def topk(
    x: Any, k: int, dim: Any = None, largest: bool = True, sorted: bool = True,  # noqa: A002 - PyTorch's word
    *, dims: Any = None, axis: Any = None,
) -> tuple[Var, Var]:  # fmt: skip
    """(the k largest numbers along an axis, their positions); the last axis by default.

    Args:
        largest: False for the smallest ones.
        sorted: the largest (smallest) first; otherwise in the order in which they stand in x.

    Raises:
        RangeError: k is below 0, or more than there are.

    Example:
        >>> [v.tolist() for v in topk(array([1, 5, 3, 4]), 2)]
        [[5, 4], [1, 3]]
    """
    v = as_var(x)
    axis = _axis("topk", v, pick_axes("topk", dim, dims, axis, False, False)[0])
    _yes_or_no("topk", largest=largest, sorted=sorted)
    many = _rank("topk", k, 0, v.shape[axis])
    rows = as_rows(v, (axis,))
    best = sorted_positions(rows, largest)[:, :many]
    best = best if sorted else picked(best, sorted_positions(best))
    return from_rows(picked(rows, best), v.shape, axis), from_rows(best, v.shape, axis)


@method
def kthvalue(
    x: Any, k: int, dim: Any = None, keepdim: bool = False, *, dims: Any = None, axis: Any = None,
    keepdims: bool = False,
) -> tuple[Var, Var]:  # fmt: skip
    """(the k-th smallest number along an axis, its position), counted from 1; the last axis by default.

    Example:
        >>> [v.item() for v in kthvalue(array([30, 10, 20]), 2)]
        [20, 2]
    """
    v = as_var(x)
    along, keep = pick_axes("kthvalue", dim, dims, axis, keepdims, keepdim)
    axis = _axis("kthvalue", v, along)
    rank = _rank("kthvalue", k, 1, v.shape[axis])
    rows = as_rows(v, (axis,))
    where = sorted_positions(rows)[:, rank - 1 : rank]
    found, at = (one_each(r, v.shape, (axis,), keep) for r in (picked(rows, where), where))
    return found, at


def _axis(name: str, x: Var, dim: Any) -> int:
    check_order(name, x)
    return one_axis(name, -1 if dim is None else dim, x.ndim)


def _rank(name: str, k: Any, low: int, high: int) -> int:
    rank = whole(name, k)
    if not low <= rank <= high:
        raise RangeError(f"{name} of {high} numbers takes k from {low} to {high}", f"k={rank}")
    return rank


def _yes_or_no(name: str, **given: Any) -> None:
    for word, value in given.items():
        if value not in (True, False):
            raise ArgumentError(f"{name} takes {word}=True or {word}=False", repr(value))
