"""09.3: the gradient of a gather adds up what arrives at each point."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from jt_exercises.exercise import exercise
from jt_exercises.neighbours.cases import cloud
from jt_exercises.neighbours.probes import Task, asked, gradient, ran, written
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError

NEAR = 1e-5
NAMED = (([[0, 1], [2, 3]], 4, 2), ([[1, 2], [1, 0], [1, 2], [3, 1]], 6, 3), ([[0, 0, 0]], 1, 1))  # points, axes


@exercise(
    "09.3",
    "the gradient of a gather",
    points=2,
    hints=(
        """First set all of `out` to 0: it begins with arbitrary numbers. Then, for each `i` and `r`, add
        `@dout(i, r, a)` to the row of `out` with the number `@in1(i, r)`.""",
        """Over what may threads share the work? Not over the queries: two of them may have the same neighbour. Plain
        `range` is right. So is a `prange` over the axes, which never meet: `for a in prange(out_shape1):`, with
        everything else inside.""",
    ),
    why="Whoever reads from chosen places needs it: embeddings, graph networks, and pooling, too.",
)
def gather_gradient(answer: Any) -> str:
    """Compare a gradient with np.add.at, where points are named many times, or never, and let debug look for races."""
    text = written(answer)
    tasks = list(_tasks())
    for task, found, _ in ran(text, tasks):
        points, index, dout = task.arrays
        right = np.zeros_like(points)
        np.add.at(right, index, dout)
        if not np.allclose(found, right, NEAR, NEAR):
            raise RefusedError(_why(found, right, index, dout))
    given = asked(text, gradient, points, index, dout)
    if np.shape(given) != right.shape or not np.allclose(given, right, NEAR, NEAR):
        raise RefusedError("as the gradient of an operator it gives other numbers than alone", given, right)
    return f"{len(tasks)} sets of neighbours, and no race"


def _tasks() -> Iterator[Task]:
    for case, (named, count, axes) in enumerate([*NAMED, (random(7).integers(0, 9, (5, 3)).tolist(), 11, 2)]):
        index, points = np.array(named, np.int32), cloud(case, count, axes)
        dout = (cloud(case + 9, index.size, axes) * 8).round().reshape(*index.shape, axes) + 1
        yield Task([points, index, dout], points.shape, "float32")


def _why(found: np.ndarray, right: np.ndarray, index: np.ndarray, dout: np.ndarray) -> str:
    j, a = (int(v) for v in np.argwhere(~np.isclose(found, right, NEAR, NEAR))[0])
    times = int((index == j).sum())
    told = f"out[{j}, {a}] is {found[j, a]:g}, and should be {right[j, a]:g}"
    if times == 0:
        return f"{told}: nobody has point {j} as a neighbour, so its gradient is 0"
    if times > 1 and found[j, a] in dout[index == j][:, a]:
        return f"{told}: point {j} is named {times} times, and gradients add"
    return f"{told}: the sum of dout[i, r, {a}] over all (i, r) where in1[i, r] is {j}"
