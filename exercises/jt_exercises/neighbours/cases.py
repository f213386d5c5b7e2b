"""Cases: bodies of the course, clouds of points, and what NumPy finds in them.

cloud(7, 30, 2)                     30 points of the unit square; with another seed of the exercises, other ones
two_clouds(7, 5, 30, 2, 3)          5 queries and 30 points: which 3 are nearest is beyond doubt
nearest(queries, points, 3)         the indices that NumPy finds: it measures all, and sorts
compare(found, queries, points)     refuses others, in words
grid(points, 8)                     which points are in which of 8 by 8 cells
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError

Why = Callable[[np.ndarray, np.ndarray, list[int], list[int]], str]
CLEAR = 1e-6  # between two squared distances: rounding in float32 is much less
GATHER = """
for i in prange(out_shape0):
    for r in range(out_shape1):
        j = @in1(i, r)
        for a in range(out_shape2):
            @out(i, r, a) = @in0(j, a)
"""
LIST = """
for i in prange(out_shape0):
    best = np.full(out_shape1, np.inf)
    out[i] = -1
    for j in range(in1_shape0):
        far = 0.0
        for a in range(in1_shape1):
            far += (@in0(i, a) - @in1(j, a)) ** 2
        if far < best[-1]:
            insert(best, out[i], far, j)
"""
LOOK = """
def look(best, index, query, points, order, begins, cell):
    for place in range(begins[cell], begins[cell + 1]):
        j = order[place]
        far = 0.0
        for a in range(len(query)):
            far += (query[a] - points[j, a]) ** 2
        if far < best[-1]:
            insert(best, index, far, j)
"""


def cloud(case: int, many: int, axes: int) -> np.ndarray:
    """Points of the unit square, cube and so on."""
    return random(case).random((many, axes)).astype(np.float32)


def two_clouds(case: int, many: int, count: int, axes: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Queries and points: of no query are two of the k + 1 nearest at about the same distance."""
    made = random(case)
    while True:
        queries, points = (made.random((n, axes)).astype(np.float32) for n in (many, count))
        apart = np.diff(np.sort(squared(queries, points), 1)[:, : k + 1])
        if apart.min(initial=1) > CLEAR:
            return queries, points


def squared(queries: Any, points: Any) -> np.ndarray:
    """Squared distances, a row for each query."""
    queries, points = (np.asarray(v, np.float64) for v in (queries, points))
    return np.asarray(((queries[:, None] - points) ** 2).sum(2))


def nearest(queries: Any, points: Any, k: int) -> np.ndarray:
    """The indices of the k nearest points, a row for each query; of two at one distance the first comes first."""
    return np.argsort(squared(queries, points), axis=1, kind="stable")[:, :k]


def grid(points: Any, side: int) -> tuple[np.ndarray, np.ndarray]:
    """The points of the unit square by cells: their numbers in the order of the cells, and where each cell begins.

    Example:
        >>> order, begins = grid(np.array([[0.1, 0.9], [0.1, 0.1], [0.2, 0.8]]), 2)
        >>> order.tolist(), begins.tolist()
        ([1, 0, 2], [0, 1, 3, 3, 3])
    """
    row, column = (np.asarray(points) * side).astype(int).clip(0, side - 1).T
    cell = row * side + column
    order = np.argsort(cell, kind="stable")
    begins = np.searchsorted(cell[order], np.arange(side * side + 1))
    return order.astype(np.int32), begins.astype(np.int32)


def compare(found: np.ndarray, queries: np.ndarray, points: np.ndarray, why: Why | None = None) -> None:
    """Refuse indices that are not those of NumPy; `why` is a text about the first wrong row."""
    k = found.shape[1]
    right = nearest(queries, points, k)
    if np.array_equal(found, right):
        return
    i = int(np.argwhere((found != right).any(1))[0, 0])
    mine, wanted = found[i].tolist(), right[i].tolist()
    told = f"of {len(points)} points with {points.shape[1]} axes, query {i} has the {k} nearest {wanted}, not {mine}"
    slips = [words for words, slip in _slips(queries, points, k) if np.array_equal(found, slip) and not why]
    raise RefusedError(f"{told}: {slips[0] if slips else (why or _why)(queries[i], points, mine, wanted)}")


def _why(query: np.ndarray, points: np.ndarray, mine: list[int], wanted: list[int]) -> str:
    if len(set(mine)) < len(mine):
        return "a point is named more than once. One that was taken must not be the nearest again"
    if sorted(mine) == sorted(wanted):
        far = squared([query], points)[0, mine].round(3).tolist()
        return f"the nearest comes first. Their squared distances are {far}"
    return f"point {next(j for j in wanted if j not in mine)} is nearer"


def _slips(queries: np.ndarray, points: np.ndarray, k: int) -> Iterator[tuple[str, np.ndarray]]:
    """Known mistakes, and the indices that they lead to."""
    apart, axes = queries[:, None].astype(np.float64) - points, points.shape[1]
    order = nearest(queries, points, len(points))
    yield "is it the number of a point that is written, and not its distance?", np.zeros((len(queries), k))
    yield "those are the farthest", order[:, ::-1][:, :k]
    yield "the nearest one is left out", order[:, 1 : k + 1]
    yield "the points have the numbers from 0 on", order[:, :k] + 1
    yield "differences of different signs cancel: square them", np.argsort(apart.sum(2))[:, :k]
    yield "differences are squared, not taken without their sign", np.argsort(abs(apart).sum(2))[:, :k]
    for some in range(1, axes):
        words = f"only {some} of {axes} axes {'count' if some > 1 else 'counts'}: loop over all of them"
        yield words, nearest(queries[:, :some], points[:, :some], k)
    yield "only the last axis counts: add up all of them", nearest(queries[:, -1:], points[:, -1:], k)
