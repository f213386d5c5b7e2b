"""Meshgrid: every combination of several rows of numbers, and tables made of powers and positions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from jt_edu.base.allocator import no_room
from jt_edu.base.dtypes import int64, promote
from jt_edu.base.errors import ShapeError
from jt_edu.ir.builders import check_shape
from jt_edu.ops.arguments import choice, whole, yes_or_no
from jt_edu.ops.concat import stack
from jt_edu.ops.create import index
from jt_edu.ops.index import index_select
from jt_edu.ops.view import apart, listed, reshape, varargs
from jt_edu.variable.torch_keywords import makes
from jt_edu.variable.var import Var, as_var

__all__ = ["cartesian_prod", "combinations", "indices", "meshgrid", "vander"]
MOST_CHOSEN = 1 << 16  # of one combination


def meshgrid(*vars: Any, indexing: str = "ij") -> tuple[Var, ...]:
    """Rows of numbers as the coordinates of a grid: each becomes an array of the shape of the grid.

    Args:
        vars: each with one axis, or none.
        indexing: "ij", the first row goes along the first axis (Jittor's and PyTorch's default); or "xy", the first
            row goes along the second axis (NumPy's).

    Example:
        >>> y, x = meshgrid(arange(2), arange(3)); y.tolist(), x.tolist()
        ([[0, 0, 0], [1, 1, 1]], [[0, 1, 2], [0, 1, 2]])
    """
    parts = [as_var(v) for v in varargs(vars)]
    choice("meshgrid", "indexing", indexing, ("ij", "xy"))
    if any(p.ndim > 1 for p in parts):
        raise ShapeError("meshgrid takes Vars with one axis", f"shapes {[p.shape for p in parts]}")
    places = list(range(len(parts)))
    if indexing == "xy":
        places[:2] = places[:2][::-1]
    shape = [parts[k].size for k in places]
    return tuple(
        reshape(p, tuple(p.size if k == at else 1 for k in places)).stretched(shape) for at, p in enumerate(parts)
    )


@makes
def indices(dimensions: Sequence[int], dtype: Any = int64) -> Var:
    """The loop counters of a shape, stacked: out[k, i0, i1, ...] = i_k.

    Example:
        >>> indices((2, 2)).tolist()
        [[[0, 0], [1, 1]], [[0, 1], [0, 1]]]
    """
    shape = check_shape(dimensions)
    if not shape:
        raise ShapeError("indices needs a shape with an axis", f"{dimensions}", "(2, 3)")
    return stack([index(shape, k, dtype) for k in range(len(shape))])


def cartesian_prod(*vars: Any) -> Var:
    """Every combination of one element from each Var, one per row; a single Var is returned as it is.

    Example:
        >>> cartesian_prod(array([1, 2]), array([5, 6])).tolist()
        [[1, 5], [1, 6], [2, 5], [2, 6]]
    """
    parts = listed("cartesian_prod", vars)
    if any(p.ndim != 1 for p in parts):
        raise ShapeError("cartesian_prod takes Vars with one axis", f"shapes {[p.shape for p in parts]}")
    if len(parts) == 1:
        return apart(parts[0], parts[0])
    return stack([reshape(g, -1) for g in meshgrid(*parts)], 1)


def combinations(x: Any, r: int = 2, with_replacement: bool = False) -> Var:
    """Every choice of r elements of x, in the order of x, one per row.

    Args:
        with_replacement: whether an element may be chosen again.

    Raises:
        OutOfMemoryError: there are more of them than memory has places for.

    Example:
        >>> combinations(array([5, 6, 7])).tolist()
        [[5, 6], [5, 7], [6, 7]]
    """
    v, count = as_var(x), whole("combinations", "r", r, 0, MOST_CHOSEN)
    if v.ndim != 1:
        raise ShapeError("combinations chooses from one axis", f"shape {v.shape}")
    again = yes_or_no("combinations", "with_replacement", with_replacement)
    choose = itertools.combinations_with_replacement if again else itertools.combinations
    rows = math.comb(v.size + count - 1, count) if again and count else math.comb(v.size, count)
    try:
        every = itertools.chain.from_iterable(choose(range(v.size), count))
        places = np.fromiter(every, np.int64, rows * count)
    except (MemoryError, OverflowError, ValueError):
        raise no_room("the choice of combinations", (rows, count), 8 * rows * count) from None
    return reshape(index_select(v, 0, as_var(places)), rows if count else 0, count)


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Var:
    """Powers of x: each row is x**(N-1), ..., x, 1, or the other way round.

    Args:
        N: how many columns; by default as many as rows.

    Example:
        >>> vander(array([2, 3]), 3).tolist()
        [[4, 2, 1], [9, 3, 1]]
    """
    v = as_var(x)
    if v.ndim != 1:
        raise ShapeError("vander takes a Var with one axis", f"shape {v.shape}", "x.flatten()")
    columns = v.size if N is None else whole("vander", "N", N)
    power = index(check_shape((v.size, columns)), 1)
    base = reshape(v.cast(promote(v.dtype, int64)), -1, 1)
    return base ** (power if yes_or_no("vander", "increasing", increasing) else (columns - 1) - power).cast(base.dtype)
