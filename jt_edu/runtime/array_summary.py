"""Array summary: what does an array look like, in a few numbers and at most 32 x 32 cells?

    a small array     every element                                   exact
    a large one       every k-th row and column, evenly spaced        sampled; the statistics are of all elements

Rows are all axes but the last. Complex numbers are shown by their magnitude.
"""

from __future__ import annotations

import math

import numpy as np

from jt_edu.base.dtypes import from_bfloat16
from jt_edu.base.trace import Value

CELLS = 32  # rows, and columns


def value_of(node: int, array: np.ndarray, dtype: str) -> Value:
    """The summary of an array that is stored as `dtype`, of node number `node`."""
    numbers = _as_floats(array, dtype)
    finite = numbers[np.isfinite(numbers)]
    rows, columns = math.prod(array.shape[:-1]), array.shape[-1] if array.shape else 1
    table = numbers.reshape(rows, columns)
    seen = table[np.ix_(_spread(rows, CELLS), _spread(columns, CELLS))]
    low, mean, high = (finite.min(), finite.mean(), finite.max()) if finite.size else (math.nan,) * 3
    return Value(
        node=node, shape=array.shape, dtype=dtype, min=float(low), mean=float(mean), max=float(high),
        nan=int(np.isnan(numbers).sum()), inf=int(np.isinf(numbers).sum()), zero=int((numbers == 0).sum()),
        rows=seen.shape[0], columns=seen.shape[1],
        exact=seen.size == numbers.size, cells=seen.astype("<f4").tobytes(),
    )  # fmt: skip


def _as_floats(array: np.ndarray, dtype: str) -> np.ndarray:
    """The numbers as float64."""
    if dtype == "bfloat16" and array.dtype == np.uint16:
        return from_bfloat16(array).astype(np.float64)
    return np.abs(array).astype(np.float64) if array.dtype.kind == "c" else array.astype(np.float64)


def _spread(length: int, most: int) -> np.ndarray:
    """At most `most` of `length` places, evenly spaced, the first one among them."""
    return np.arange(length) if length <= most else np.arange(most) * length // most
