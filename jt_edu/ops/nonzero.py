"""Nonzero: where are the elements that are not 0?

How many there are decides the shape of the answer, so the condition is computed at once: a kernel writes down the
positions, and behind them how many they are. Positions have no gradient; what is read at them has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jt_edu.base.dtypes import bool_, int64
from jt_edu.base.errors import ArgumentError, DtypeError, RangeError
from jt_edu.ir.builders import check_shape
from jt_edu.ir.meta_ops import SOURCE
from jt_edu.ir.node import Node
from jt_edu.ops import gpu_rows
from jt_edu.ops.arguments import choice, yes_or_no
from jt_edu.ops.concat import stack
from jt_edu.ops.custom_kernel import kernel
from jt_edu.ops.dtype_rules import checked
from jt_edu.ops.reduce import sum
from jt_edu.ops.var_function import var_function
from jt_edu.ops.view import reshape
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var, method

__all__ = ["argwhere", "count_nonzero", "flatnonzero", "nonzero", "ravel_multi_index", "unravel_index"]
FOUND = kernel("found_positions", """
def kernel(lo, hi, mask, out):
    k, n = 0, len(mask)
    for i in range(n):
        out[k] = i  # the next one writes over it, unless it is found
        k += mask[i]
    out[n] = k
""", threads=gpu_rows.found("mask[i]", "mask"))  # fmt: skip


def positions(x: Var) -> Var:
    """The row-major numbers of the elements that are not 0, computed at once."""
    return cut_off(_found(x))


def cut_off(room: Var) -> Var:
    """The whole numbers that a kernel has found, computed at once: `room` has them, and in the last place how many."""
    numbers = room.numpy()
    many = numbers.item(-1)
    found = numbers[:many] if 2 * many >= numbers.size else numbers[:many].copy()  # a few do not keep room for all
    return Var._of(Node(SOURCE, (), found.shape, int64, found))


@template
def _found(x: Var) -> Var:
    """Room for all positions and for how many there are."""
    flat = reshape(x != 0 if x.dtype is not bool_ else x, -1)
    return FOUND(flat, shape=(x.size + 1,), dtype=int64)


@method
def nonzero(x: Any, as_tuple: bool = False) -> Any:
    """The indices of the elements that are not 0: one row each, (n, axes of x).

    Args:
        as_tuple: answer one array for each axis of x instead of rows, as NumPy's nonzero does; fit for brackets.

    Example:
        >>> nonzero(array([[0, 5], [6, 0]])).tolist()
        [[0, 1], [1, 0]]
    """
    v, apart = as_var(x), yes_or_no("nonzero", "as_tuple", as_tuple)
    if apart and v.ndim == 0:
        raise ArgumentError("nonzero returns one array for each axis", f"shape {v.shape}", "jt.atleast_1d(x)")
    found = positions(v)
    each = _along_axes(found, v.shape)
    if apart:
        return each
    return stack(each, 1) if each else reshape(found, found.size, 1)[:, :0]


def _along_axes(flat: Var, shape: Sequence[int]) -> tuple[Var, ...]:
    """Row-major numbers as one index for each axis."""
    if len(shape) == 1:
        return (flat,)
    steps = [math.prod(shape[k + 1 :]) for k in range(len(shape))]
    return tuple(flat // max(step, 1) % max(n, 1) for step, n in zip(steps, shape, strict=True))


def argwhere(x: Any) -> Var:
    """The indices of the elements that are not 0, one row each.

    Example:
        >>> argwhere(array([0, 5, 6])).tolist()
        [[1], [2]]
    """
    found: Var = nonzero(x)
    return found


@method
def flatnonzero(x: Any) -> Var:
    """The row-major numbers of the elements that are not 0.

    Example:
        >>> flatnonzero(array([[0, 5], [6, 0]])).tolist()
        [1, 2]
    """
    return positions(as_var(x))


@var_function()
def count_nonzero(x: Any, dim: Any = None, keepdim: bool = False) -> Var:
    """How many elements are not 0, along axes or in all; nan is not 0.

    Example:
        >>> count_nonzero(array([[0, 5], [6, 7]]), 0).numpy()
        array([1, 2])
    """
    keep = yes_or_no("count_nonzero", "keepdim", keepdim)
    return sum(as_var(x) != 0, dim, keep)


def unravel_index(indices: Any, shape: Any) -> tuple[Var, ...]:
    """Row-major numbers as an index for each axis of an array of `shape`.

    Raises:
        RangeError: a number outside the array, when it is computed.

    Example:
        >>> [i.tolist() for i in unravel_index(array([5, 2]), (2, 3))]
        [[1, 0], [2, 2]]
    """
    lengths = check_shape(shape)
    flat = _inside("unravel_index", indices, math.prod(lengths))
    return _along_axes(flat, lengths)


def ravel_multi_index(multi_index: Sequence[Any], dims: Any, mode: str = "raise") -> Var:
    """The row-major number of the element at an index for each axis.

        out = (i0 * n1 + i1) * n2 + i2 ...

    Args:
        multi_index: one array for each axis.
        dims: the shape.
        mode: what happens outside: "raise", "wrap" around, or "clip" to the border.

    Example:
        >>> ravel_multi_index((array([1, 0]), array([2, 2])), (2, 3)).tolist()
        [5, 2]
    """
    lengths = check_shape(dims)
    parts = list(multi_index) if isinstance(multi_index, (tuple, list, Var, np.ndarray)) else [multi_index]
    if len(parts) != len(lengths) or not parts:
        raise ArgumentError("ravel_multi_index takes an index for each axis", f"{len(parts)} for dims {dims}")
    number = as_var(0)
    for part, n in zip(parts, lengths, strict=True):
        number = number * n + within("ravel_multi_index", part, n, mode)
    return number


def within(name: str, index: Any, length: int, mode: str) -> Var:
    """Positions along an axis: checked when they are computed ("raise"), or moved inside ("wrap", "clip")."""
    if choice(name, "mode", mode, ("raise", "wrap", "clip")) == "raise":
        return _inside(name, index, length)
    v = _whole_numbers(name, index)
    if length == 0 and v.size:
        raise RangeError(f"{name} finds nothing along an axis of length 0", f"{v.size} positions")
    if mode == "wrap":
        return v % max(length, 1)
    return v.where_not(v < 0, 0).where_not(v > length - 1, length - 1)


def _inside(name: str, index: Any, length: int) -> Var:
    v = _whole_numbers(name, index)
    return checked(name, v, 0, length)


def _whole_numbers(name: str, index: Any) -> Var:
    v = as_var(index)
    if v.dtype.kind not in "iu" and v.size:
        raise DtypeError(f"{name} takes positions as whole numbers", f"dtype {v.dtype}", "index.int64()")
    return v.cast(int64)
