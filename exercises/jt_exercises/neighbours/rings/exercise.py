"""09.4: a grid tells where a query need not look."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from jt_exercises.exercise import exercise
from jt_exercises.neighbours.cases import LOOK, cloud, compare, grid, squared, two_clouds
from jt_exercises.neighbours.probes import Task, ran, written
from jt_exercises.verdict import RefusedError

FEW = 1 / 6  # of the points, at most, are looked at in the last case; an eighth is enough
INSERT = """
def insert(best, index, far, j):
    place = len(best) - 1
    while place > 0 and best[place - 1] > far:
        best[place], index[place] = best[place - 1], index[place - 1]
        place -= 1
    best[place], index[place] = far, j
"""


def _tasks() -> Iterator[Task]:
    """Points that lie such that a body which stops too early, or passes over a cell, misses one; even ones last."""
    lump, apart = cloud(1, 40, 2) * 0.3, 0.6 + cloud(2, 8, 2) * 0.39
    few = np.array([[0.45, 0.27], [0.51, 0.3], [0.9, 0.9]], np.float32)
    edge = np.array([[0.49, 0.3], [0.02, 0.97]], np.float32)
    square, corner = np.array([[0.3, 0.3]], np.float32), np.array([[0.01, 0.01], [0.62, 0.3]], np.float32)
    for queries, points, side, k in (
        (square, corner, 5, 1),
        (edge, few, 4, 1),
        (edge, few, 4, 3),
        (apart, lump, 5, 3),
        (edge, few, 1, 2),
        (*two_clouds(3, 40, 160, 2, 4), 8, 4),
    ):
        arrays = [queries, points, *grid(points, side)]
        yield Task(arrays, (len(queries), k), header=INSERT + LOOK, data={"side": side})


@exercise(
    "09.4",
    "a grid",
    points=3,
    hints=(
        """`for ring in range(side):`, and inside it all `y` and `x` from `ring` cells before the query's own to `ring`
        cells after it, as far as there are cells. Call `look` where `max(abs(y - row), abs(x - column)) == ring`.""",
        """When rings 0 to `ring - 1` are done, how far away is a point that was not looked at, at least?""",
        """It is at least `ring - 1` whole cells away, a distance of `(ring - 1) / side`. If the last of `best`, a
        *squared* distance, is no larger than the square of that, `break`.""",
    ),
    why="The fastest loop is the one that is not run: the work no longer grows with the square of the points.",
)
def rings(answer: Any) -> str:
    """Compare indices with NumPy's, in even and in lumpy clouds, and count the points that are looked at."""
    text, tasks = written(answer), list(_tasks())
    many = len(tasks[-1].arrays[1])
    for task, found, reads in ran(text, tasks):
        compare(found, *task.arrays[:2], partial(_why, int(task.data["side"])))
        if reads and task is tasks[-1]:
            looked = reads.get("in1", 0) / 2 / len(found)  # at both numbers of a point
            if looked >= many:
                raise RefusedError(f"right, but for each query it looks at all {many} points: when may it stop?")
            if looked > FEW * many:
                raise RefusedError(
                    f"right, but for each query it looks at {looked:.0f} of {many} points. Stop before a ring if its "
                    f"points are all at least as far as the last one of the list"
                )
    return f"{looked:.0f} of {many} points are looked at for each query"


def _why(side: int, query: np.ndarray, points: np.ndarray, mine: list[int], wanted: list[int]) -> str:
    """What a row of wrong indices seems to lack, with words about cells."""
    missing = [j for j in wanted if j not in mine]
    if -1 in mine:
        return "it stopped before the list was full. Other cells have more points"
    if len(set(mine)) < len(mine):
        return "a point is named more than once, so a cell was looked at more than once"
    if not missing:
        return "the nearest comes first"
    here, there = ((p * side).astype(int) for p in (query, points[missing[0]]))
    ring, last = abs(here - there).max(), np.sqrt(squared([query], points[mine]).max())
    why = "A full list is not the end: the next ring may hold nearer points"
    if last <= ring / side:
        why = f"A query may lie at the edge of its cell: how near may a point of ring {ring} be?"
    return (
        f"of {side} by {side} cells, the query is in ({here[0]}, {here[1]}), point {missing[0]} in ({there[0]}, "
        f"{there[1]}), ring {ring}. {why}"
    )
