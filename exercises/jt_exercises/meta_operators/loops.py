"""Loops: a Reindex and a ReindexReduce as plain loops over numbers, for those who judge.

    read(x, (3, 2), lambda i, j: (j, i))             out[i, j] = x[j, i], and `fill` outside of x
    accumulate("add", x, (2,), lambda i, j: (i,))    out[i] += x[i, j]; what lies outside of out is dropped

What a known mistake computes is such a loop with another index. Nothing here knows Vars.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Where = Callable[..., tuple[int, ...]]
REDUCERS: dict[str, tuple[float, Callable[[Any, Any], Any]]] = {  # what a cell begins with, and how it goes on
    "add": (0.0, lambda old, new: old + new),
    "maximum": (-np.inf, max),
    "last": (0.0, lambda _, new: new),
}


def read(x: np.ndarray, shape: tuple[int, ...], where: Where, fill: float = 0.0) -> np.ndarray:
    """An array of that shape, whose cells are read from x."""
    out = np.full(shape, fill)
    for here in np.ndindex(*shape):
        if _inside(there := where(*here), x.shape):
            out[here] = x[there]
    return out


def accumulate(reducer: str, x: np.ndarray, shape: tuple[int, ...], where: Where) -> np.ndarray:
    """An array of that shape, into which the cells of x go."""
    first, reduce = REDUCERS[reducer]
    out = np.full(shape, first)
    for here in np.ndindex(*x.shape):
        if _inside(there := where(*here), shape):
            out[there] = reduce(out[there], x[here])
    return out


def _inside(place: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    return all(0 <= k < n for k, n in zip(place, shape, strict=True))
