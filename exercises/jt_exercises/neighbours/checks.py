"""Checks of notebook 09: each takes a learner's answer and says whether it is right; verdict.py knows how.

Bodies run as plain Python first, where every read is counted, and then as jt.code runs them. Nothing looks at a clock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import jt_edu as jt
from jt_exercises.kernels.tried import text_of, tried
from jt_exercises.neighbours.cases import (
    GATHER,
    INSERT,
    LIST,
    LOOK,
    cloud,
    grid,
    nearest,
    ran,
    squared,
    text_of_body,
)
from jt_exercises.verdict import NotDoneError, RefusedError, ask, exercise, short

FEW = 0.5  # of the points, at most, are looked at where there is a grid
NEAR = 1e-5


@exercise("1 all distances")
def check_nearest(body: str | None) -> str:
    """Compare the indices of a body with NumPy's, in clouds without ties; its outer loop is shared by threads."""
    cases = [(5, 9, 2, 3), (4, 7, 3, 1), (3, 6, 1, 6), (6, 20, 3, 4)]
    for seed, (many, count, axes, k) in enumerate(cases):
        queries, points = cloud(seed, many, axes), cloud(seed + 50, count, axes)
        for found, _ in ran(body, [queries, points], (many, k)):
            _compare(found, queries, points, k)
    assert body is not None, "it ran"
    if text_of_body(body, [queries, points], (many, k), "", None, "checked").span == 1:
        raise RefusedError("the right indices, but one thread does it all: threads share the rounds of a `prange`")
    return f"{len(cases)} clouds"


def _compare(found: np.ndarray, queries: np.ndarray, points: np.ndarray, k: int) -> None:
    """Refuse indices that are not those of NumPy."""
    right = nearest(queries, points, k)
    if np.array_equal(found, right):
        return
    i = int(np.argwhere((found != right).any(1))[0, 0])
    mine, wanted = found[i].tolist(), right[i].tolist()
    far = squared(queries, points)[i]
    told = (
        f"of {len(points)} points with {points.shape[1]} axes, query {i} has the {k} nearest {wanted}, and not {mine}"
    )
    raise RefusedError(f"{told}{_slip(found, queries, points, k, far, mine, wanted)}")


def _slip(
    found: np.ndarray, queries: np.ndarray, points: np.ndarray, k: int, far: np.ndarray, mine: list[int],
    wanted: list[int],
) -> str:  # fmt: skip
    """What wrong indices seem to be."""
    apart = queries[:, None].astype(np.float64) - points
    order = np.argsort(squared(queries, points), axis=1)
    slips = {
        "those are the farthest": order[:, ::-1][:, :k],
        "the nearest one is left out": order[:, 1 : k + 1],
        "the points have the numbers from 0 on": order[:, :k] + 1,
        "differences of different signs cancel: square them": np.argsort(apart.sum(2), axis=1)[:, :k],
        "differences are squared, not taken without their sign": np.argsort(abs(apart).sum(2), axis=1)[:, :k],
    }
    for axes in range(1, points.shape[1]):
        some = nearest(queries[:, :axes], points[:, :axes], k)
        slips["only the last axis counts: add up all of them"] = nearest(queries[:, -1:], points[:, -1:], k)
        slips[f"only {axes} of {points.shape[1]} axes {'count' if axes > 1 else 'counts'}: loop over all of them"] = (
            some
        )
    for words, slip in slips.items():
        if np.array_equal(found, slip):
            return f": {words}"
    if not found.any():
        return ": is it the number of a point that is written, and not its distance?"
    if len(set(mine)) < k:
        return ": a point is named more than once. One that was taken must not be the nearest again"
    if sorted(mine) == sorted(wanted):
        return f": the nearest comes first. Their squared distances are {np.round(far[mine], 3).tolist()}"
    return f": point {next(j for j in wanted if j not in mine)} is nearer"


@exercise("2 a short list")
def check_insert(text: str | None) -> str:
    """Follow a list of k, after each insertion, and then use it in a compiled body."""
    text = text_of(text, ("best", "index", "far", "j"), "insert")
    orders = [(3, [5, 2, 9, 3, 1, 8, 4, 0.5]), (1, [4, 6, 2, 3]), (4, [1, 2, 3, 4, 5]), (2, [4, 3, 2, 1])]
    for k, distances in orders:
        _inserted(text, k, [float(d) for d in distances])
    queries, points = cloud(3, 5, 3), cloud(4, 30, 3)
    for found, _ in ran(LIST, [queries, points], (5, 4), header=text):
        _compare(found, queries, points, 4)
    return f"{len(orders)} lists, and a cloud"


def _inserted(text: str, k: int, distances: list[float]) -> None:
    """Insert what is nearer than the last; RefusedError names the first insertion after which the list is wrong."""
    harness = """

def kernel(lo, hi, distances, best, index, bests, indices):
    for step in range(lo, hi):
        if distances[step] < best[-1]:
            insert(best, index, distances[step], step)
        bests[step], indices[step] = best, index
"""
    many = len(distances)
    best, index = np.full(k, np.inf), np.full(k, -1)
    bests, indices = np.zeros((many, k)), np.zeros((many, k), int)
    seen = tried(text + harness, 0, many, [np.array(distances), best, index, bests, indices])
    if not seen.writes["best"] + seen.writes["index"]:
        raise NotDoneError
    for step, far in enumerate(distances):
        order = np.argsort(distances[: step + 1], kind="stable")[:k]
        wanted = np.append(np.sort(distances[: step + 1])[:k], [np.inf] * (k - len(order)))
        numbers = np.append(order, [-1] * (k - len(order))).astype(int)
        if not (np.array_equal(bests[step], wanted) and np.array_equal(indices[step], numbers)):
            before = bests[step - 1] if step else np.full(k, np.inf)
            why = _why_not(bests[step], wanted, before, far)
            shown = f"best is {_list(wanted)} and index {_list(numbers)}"
            mine = f"best is {_list(bests[step])} and index {_list(indices[step])}"
            told = f"into best = {_list(before)} comes {far:g} of point {step}: then {shown}; yours: {mine}"
            raise RefusedError(f"{told}. {why}")


def _list(numbers: Any) -> str:
    return f"[{', '.join(f'{v:g}' for v in numbers)}]"


def _why_not(mine: np.ndarray, wanted: np.ndarray, before: np.ndarray, far: float) -> str:
    """What a list seems to lack."""
    if np.array_equal(mine, wanted):
        return "Each number of a point moves and stands where its distance does"
    if np.array_equal(mine, before):
        return "It is nearer than the last one, so it belongs into the list"
    if far not in mine.tolist():
        return "Where is it? It is stored when those that are farther have moved"
    if np.array_equal(np.sort(mine), np.sort(wanted)):
        return "The list stays in order, the nearest first"
    return "Those that are farther move back by one place, the last one first: else they overwrite each other"


@exercise("3 the gradient of a gather")
def check_back(body: str | None) -> str:
    """Compare a gradient with np.add.at, where points are named many times, or never, and let debug look for races."""
    cases = [([[0, 1], [2, 3]], 4, 2), ([[1, 2], [1, 0], [1, 2], [3, 1]], 6, 3), ([[0, 0, 0]], 1, 1)]
    for seed, (named, count, axes) in enumerate(cases):
        index, points = np.array(named, np.int32), cloud(seed, count, axes)
        dout = (cloud(seed + 9, index.size, axes) * 8).round().reshape(*index.shape, axes) + 1
        right = np.zeros_like(points)
        np.add.at(right, index, dout)
        for found, _ in ran(body, [points, index, dout], points.shape, "float32", names={"in2": "dout"}):
            if not np.allclose(found, right, NEAR, NEAR):
                raise RefusedError(_why_no_gradient(found, right, index, dout))
        x, dy = jt.array(points), jt.array(dout)
        y = jt.code(dout.shape, "float32", [x, jt.array(index)], GATHER, [body, ""])
        if not np.allclose(jt.grad((y * dy).sum(), x).numpy(), right, NEAR, NEAR):
            raise RefusedError("as the gradient of an operator it gives other numbers than alone")
    return f"{len(cases)} sets of neighbours, and no race"


def _why_no_gradient(found: np.ndarray, right: np.ndarray, index: np.ndarray, dout: np.ndarray) -> str:
    j, a = (int(v) for v in np.argwhere(~np.isclose(found, right, NEAR, NEAR))[0])
    times = int((index == j).sum())
    told = f"out[{j}, {a}] is {found[j, a]:g}, and should be {right[j, a]:g}"
    if times == 0:
        return f"{told}: nobody has point {j} as a neighbour, so its gradient is 0"
    if times > 1 and found[j, a] in dout[index == j][:, a]:
        return f"{told}: point {j} is named {times} times, and gradients add"
    return f"{told}: the sum of dout[i, r, {a}] over all (i, r) where in1[i, r] is {j}"


@exercise("4 a grid")
def check_rings(body: str | None) -> str:
    """Compare indices with NumPy's, in even and in lumpy clouds, and count the points that are looked at."""
    lump, apart = cloud(1, 40, 2) * 0.3, 0.6 + cloud(2, 8, 2) * 0.39
    few = np.array([[0.45, 0.1], [0.51, 0.3], [0.9, 0.9]], np.float32)
    edge = np.array([[0.49, 0.3], [0.02, 0.97]], np.float32)
    square, corner = np.array([[0.3, 0.3]], np.float32), np.array([[0.01, 0.01], [0.62, 0.3]], np.float32)
    cases = [
        (square, corner, 5, 1),
        (edge, few, 4, 1),
        (edge, few, 4, 3),
        (apart, lump, 5, 3),
        (cloud(3, 20, 2), cloud(4, 240, 2), 8, 4),
    ]
    for queries, points, side, k in cases:
        order, begins = grid(points, side)
        arrays, shape, header = [queries, points, order, begins], (len(queries), k), INSERT + LOOK
        for found, seen in ran(body, arrays, shape, header=header, data={"side": side}):
            _compare_cells(found, queries, points, side)
            looked, many = seen.reads["in1"] / points.shape[1] / len(queries), len(points)
    if looked >= many:
        raise NotDoneError(f"right indices, but for each query it looks at all {many} points: when may it stop?")
    if looked > FEW * many:
        raise RefusedError(
            f"right indices, but for each query it looks at {looked:.0f} of {many} points. Stop before a ring if its "
            f"points are all at least as far as the last one of the list"
        )
    return f"{looked:.0f} of {many} points are looked at for each query"


def _compare_cells(found: np.ndarray, queries: np.ndarray, points: np.ndarray, side: int) -> None:
    """Refuse indices that are not those of NumPy, with words about cells."""
    k = found.shape[1]
    right = nearest(queries, points, k)
    if np.array_equal(found, right):
        return
    i = int(np.argwhere((found != right).any(1))[0, 0])
    mine, wanted = found[i].tolist(), right[i].tolist()
    told = f"of {len(points)} points in {side} by {side} cells, query {i} has the {k} nearest {wanted}, and not {mine}"
    missing = [j for j in wanted if j not in mine]
    if -1 in mine:
        raise RefusedError(f"{told}: it stopped before the list was full. Other cells have more points")
    if len(set(mine)) < k:
        raise RefusedError(f"{told}: a point is named more than once, so a cell was looked at more than once")
    if not missing:
        raise RefusedError(f"{told}: the nearest comes first")
    here, there = ((p * side).astype(int) for p in (queries[i], points[missing[0]]))
    raise RefusedError(
        f"{told}: the query is in cell ({here[0]}, {here[1]}), point {missing[0]} in ({there[0]}, {there[1]}), ring "
        f"{abs(here - there).max()}. A full list is not the end: the next ring may hold nearer points"
    )


@exercise("5 the same answer")
def check_agrees(agrees: Callable[..., Any]) -> str:
    """Hand right and wrong indices to a comparison, which has to tell them apart: neither too strict nor too lax."""
    answers = list(_answers())
    for case in answers:
        said = ask(agrees, case.queries, case.points, np.array(case.found), case=case.name)
        if not isinstance(said, bool | np.bool_):
            raise RefusedError(f"agrees returns True or False, not {short(said)}")
        if bool(said) is not case.right:
            raise RefusedError(f"of {case.name}, {case.found}, you say {bool(said)}: {case.why}")
    return f"{len(answers)} answers, of which {sum(not case.right for case in answers)} are wrong"


class Answer(NamedTuple):
    """Indices that somebody found, and whether they are right."""

    name: str
    queries: np.ndarray
    points: np.ndarray
    found: list[list[int]]
    right: bool
    why: str


def _answers() -> Iterator[Answer]:
    """Right and wrong answers, the plain ones first."""
    line = np.array([[0], [1], [3], [7]], np.float32)
    cross = np.array([[0, 0], [1, 0], [0, 1], [5, 5]], np.float32)
    twins = np.array([[2, 2], [2, 2], [4, 4], [9, 9]], np.float32)
    close = np.array([[1.3, 2.4], [0.4, 2.7]], np.float32)  # 7.45 and 7.4500003, or the other way round
    zero, one, row = np.zeros((1, 2), np.float32), line[:1], "4 points on a line"
    for answer in (
        (row, one, line, [[0, 1]], True, "these are the nearest, the point itself first"),
        (row, one, line, [[0, 2]], False, "point 1 is nearer than point 2"),
        (row, one, line, [[1, 0]], False, "the nearest comes first"),
        (row, one, line, [[1, 2]], False, "a point of the cloud is its own nearest neighbour"),
        ("two at one distance", zero, cross, [[0, 2]], True, "points 1 and 2 are equally far: either will do"),
        ("twins", twins[:2], twins, [[1, 0], [0, 1]], True, "points 0 and 1 are at one place: any order will do"),
        ("twins", twins[:1], twins, [[0, 0]], False, "point 0 is named twice, and distances do not show it"),
        (row, line[3:], line, [[-1, 2]], False, "there is no point -1, though NumPy finds one"),
        (row, one, line, [[0, 4]], False, "there is no point 4"),
        ("a tie but for rounding", zero, close, [[1]], True,
         "in float32 one of them is nearer, in float64 the other: compare distances with np.allclose"),
    ):  # fmt: skip
        yield Answer(*answer)
