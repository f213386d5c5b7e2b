"""09.2: a point gets into a list of the k nearest so far."""

from __future__ import annotations

from typing import Any

import numpy as np

from jt_exercises.exercise import exercise
from jt_exercises.kernels.tried import text_of
from jt_exercises.neighbours.cases import LIST, compare, two_clouds
from jt_exercises.neighbours.probes import Task, asked, lists, ran, written
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError

ORDERS = [  # k, and the distances that come in turn
    (3, [5.0, 2, 9, 3, 1, 8, 4, 0.5]), (1, [4.0, 6, 2, 3]), (4, [1.0, 2, 3, 4, 5]), (2, [4.0, 3, 2, 1]),
    (3, [2.0, 1, 2, 1, 0, 1]),
]  # fmt: skip


@exercise(
    "09.2",
    "a short list",
    points=2,
    hints=(
        "Work from the end to the front. Begin with `place = len(best) - 1`; whatever was there drops out.",
        """`while place > 0 and best[place - 1] > far:` copy the entry at `place - 1` of both arrays to `place`, and
        `place -= 1`. After the loop, store `far` and `j` at `place`.""",
    ),
    why="In a large cloud almost every point needs one comparison alone, with the last of the list.",
)
def insertion(answer: Any) -> str:
    """Follow a list of k, after each insertion, and then use it in a compiled body."""
    text_of(text := written(answer), ("best", "index", "far", "j"), "insert")
    orders = [*ORDERS, (5, random(1).permutation(12).tolist())]
    for k, distances in orders:
        _follow(text, k, [float(d) for d in distances])
    queries, points = two_clouds(3, 5, 30, 3, 4)
    for _, found, _ in ran(text, [Task([queries, points], (5, 4), body=LIST)]):
        compare(found, queries, points)
    return f"{len(orders)} lists, and a cloud"


def _follow(text: str, k: int, distances: list[float]) -> None:
    """Insert what is nearer than the last; RefusedError names the first insertion after which the list is wrong."""
    before = np.full(k, np.inf)
    for step, (far, mine, numbers) in enumerate(zip(distances, *asked(text, lists, distances, k), strict=True)):
        order = np.argsort(distances[: step + 1], kind="stable")[:k]
        missing = k - len(order)
        best = np.append(np.array(distances)[order], [np.inf] * missing)
        index = np.append(order, [-1] * missing).astype(int)
        if not (np.array_equal(mine, best) and np.array_equal(numbers, index)):
            shown, yours = (f"best is {_list(b)} and index {_list(n)}" for b, n in ((best, index), (mine, numbers)))
            told = f"into best = {_list(before)} comes {far:g} of point {step}: then {shown}; yours: {yours}"
            raise RefusedError(f"{told}. {_why_not(mine, best, before, far)}")
        before = best


def _list(numbers: Any) -> str:
    return f"[{', '.join(f'{v:g}' for v in numbers)}]"


def _why_not(mine: np.ndarray, wanted: np.ndarray, before: np.ndarray, far: float) -> str:
    """What a list seems to lack."""
    if np.array_equal(mine, wanted) and (wanted == far).sum() > 1:
        return "Only those that are farther move; one that is as far stays where it is"
    if np.array_equal(mine, wanted):
        return "Each number of a point moves and stands where its distance does"
    if np.array_equal(mine, before):
        return "It is nearer than the last one, so it belongs into the list"
    if far not in mine.tolist():
        return "Where is it? It is stored when those that are farther have moved"
    if np.array_equal(np.sort(mine), np.sort(wanted)):
        return "The list stays in order, the nearest first"
    return "Those that are farther move back by one place, the last one first: else they overwrite each other"
