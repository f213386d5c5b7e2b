"""09.5: when are two answers to a search for neighbours the same?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jt_exercises.answers import truth
from jt_exercises.exercise import exercise
from jt_exercises.neighbours.cases import nearest, two_clouds
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError, ask


@exercise(
    "09.5",
    "the same answer",
    points=2,
    hints=(
        """Compare distances: those of the points that were found, `np.take_along_axis(far, found, 1)`, with the `k`
        smallest of all, from `np.sort`.""",
        """Distances do not show everything. What if a point is named twice instead of its twin? What does NumPy make of
        the index -1, or of one that is too large?""",
        "Distances that should be equal may differ in their last digit: `np.allclose`.",
    ),
    why="A test that refuses right answers is switched off before long, and one that accepts wrong ones is no test.",
)
def same_neighbours(answer: Callable[..., Any]) -> str:
    """Hand right and wrong indices to a comparison, which has to tell them apart: neither too strict nor too lax."""
    answers, said = _answers(), dict[int, bool]()
    for k in map(int, random(0).permutation(len(answers))):  # who counts them learns nothing
        name, queries, points, found, *_ = answers[k]
        told = ask(answer, queries, points, np.array(found), case=name, name="agrees")
        said[k] = truth(told, "agrees returns True or False")
    for k, (name, _, _, found, right, why) in enumerate(answers):
        if said[k] is not right:
            raise RefusedError(f"of {name}, {found}, you say {said[k]}: {why}")
    return f"{len(answers)} answers, of which {sum(not right for *_, right, _ in answers)} are wrong"


def _answers() -> list[tuple[Any, ...]]:
    """Queries, points, what somebody found, and whether it is right; the plain ones first."""
    line = np.array([[0], [1], [3], [7]], np.float32)
    cross = np.array([[0, 0], [1, 0], [0, 1], [5, 5]], np.float32)
    twins = np.array([[2, 2], [2, 2], [4, 4], [9, 9]], np.float32)
    close = np.array([[1.3, 2.4], [0.4, 2.7]], np.float32)  # 7.45 and 7.4500003, or the other way round
    zero, one, row = np.zeros((1, 2), np.float32), line[:1], "4 points on a line"
    queries, points = two_clouds(5, 3, 17, 3, 4)
    near = nearest(queries, points, 5)
    return [
        (row, one, line, [[0, 1]], True, "these are the nearest, the point itself first"),
        (row, one, line, [[0, 2]], False, "point 1 is nearer than point 2"),
        (row, one, line, [[1, 0]], False, "the nearest comes first"),
        (row, one, line, [[1, 2]], False, "a point of the cloud is its own nearest neighbour"),
        (row, line[:2], line, [[0, 1], [1, 2]], False, "of the second query, point 0 is nearer than point 2"),
        ("two at one distance", zero, cross, [[0, 2]], True, "points 1 and 2 are equally far: either will do"),
        ("twins", twins[:2], twins, [[1, 0], [0, 1]], True, "points 0 and 1 are at one place: any order will do"),
        ("twins", twins[:1], twins, [[0, 0]], False, "point 0 is named twice, and distances do not show it"),
        (row, line[3:], line, [[-1, 2]], False, "there is no point -1, though NumPy finds one"),
        (row, one, line, [[0, 4]], False, "there is no point 4"),
        ("a tie but for rounding", zero, close, [[1]], True,
         "in float32 one of them is nearer, in float64 the other: compare distances with np.allclose"),
        ("two that nearly tie", zero, [[1, 0], [1.001, 0]], [[1]], False, "the other is nearer, by more than rounding"),
        ("one point", one, line[:1], [[0]], True, "there is no other one"),
        ("17 points of a cube", queries, points, near[:, :4].tolist(), True, "these are the 4 nearest of each query"),
        ("17 points of a cube", queries, points, near[:, [0, 1, 2, 4]].tolist(), False, "the 4th is the 5th nearest"),
    ]  # fmt: skip
