"""13.2: the sum of the arrays of all ranks, by a ring."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jt_exercises.answers import same
from jt_exercises.exercise import exercise
from jt_exercises.ranks.judging import Run, runs
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError, part

SIZES = (4, 2, 5, 1)
LARGEST = 1000  # of a number: whole ones, whose sums are exact in whatever order
UNFINISHED = (  # two mistakes of which the same comes
    "chunk k is everywhere what rank k had. Does the first loop add what comes, and does the second loop begin with a "
    "chunk that is finished?"
)


@exercise(
    "13.2",
    "the ring",
    points=3,
    hints=(
        "In the first step rank r sends chunk r. In the next one it sends what it has just added to.",
        "In step s of the first loop, rank r sends chunk r - s, and adds what comes to chunk r - s - 1 (all mod P).",
        "In the second loop it begins with chunk r + 1, which is finished, and puts what comes in its place.",
    ),
    why="This is how gradients are added on many machines: nobody sends more than twice the array.",
)
def ring_allreduce(answer: Callable[..., Any]) -> str:
    """Compare the sums, for arrays that P divides and others, and count what is sent."""
    for size in SIZES:
        with part(f"{size} ranks"):
            for n in (2 * size, 7, 1, 0):
                xs = [random(size, n, rank).integers(LARGEST, size=n).astype(float) for rank in range(size)]
                for run in runs(answer, [(x,) for x in xs], name="ring_allreduce"):
                    _judge(run, xs)
    return "the sum on each rank, and each sends 2 (P - 1) messages: together 2 (P - 1) / P times its array"


def _judge(run: Run, xs: list[np.ndarray]) -> None:
    size, n = len(xs), len(xs[0])
    same(run.results, np.array([sum(xs)] * size), f"the sum of {n} numbers of each rank", _mistakes(xs))
    for rank in range(size):
        sent = [(to, length) for source, to, length in run.messages if source == rank]
        steps = 2 * (size - 1)
        if len(sent) != steps:
            calls = ", ".join(sorted(set(run.calls))) or "nothing"
            raise RefusedError(
                f"the sum is right. Rank {rank} sends {len(sent)} messages for it, and a ring takes 2 (P - 1) = "
                f"{steps}: P - 1 in each loop. Yours calls {calls}"
            )
        if any(to != (rank + 1) % size for to, _ in sent):
            raise RefusedError(f"rank {rank} sends to {sorted({to for to, _ in sent})}: in a ring only to its right")
        moved, most = sum(length for _, length in sent), steps * math.ceil(n / size) * xs[0].itemsize
        if moved > most:
            raise RefusedError(
                f"of {n} numbers, rank {rank} sends {moved} bytes: chunks of 1 / P of the array make {most} at most"
            )


def _mistakes(xs: list[np.ndarray]) -> Iterator[tuple[np.ndarray, str]]:
    """What known mistakes leave on each rank, and what is said of them."""
    yield np.array(xs), "each rank still has its own numbers"
    yield _after(xs, second=None), "one chunk on each rank is finished. It has to go round, in the second loop"
    yield _after(xs, begin=0), UNFINISHED
    yield _after(xs, second=_add), "in the second loop, a finished chunk replaces yours, and is not added to it"
    yield _after(xs, more=1), "a loop has P - 1 steps. After one more, a rank's own numbers come back to it"


def _put(_: np.ndarray, came: np.ndarray) -> np.ndarray:
    return came


def _add(own: np.ndarray, came: np.ndarray) -> np.ndarray:
    return own + came


Change = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _after(xs: list[np.ndarray], second: Change | None = _put, begin: int = 1, more: int = 0) -> np.ndarray:
    """What each rank has after both loops, where the second one changes chunks so, and begins with r + begin."""
    size = len(xs)
    chunks = [np.array_split(x, size) for x in xs]
    loops = [(_add, 0)] + ([] if second is None else [(second, begin)])
    for change, start in loops:
        for step in range(size - 1 + more):
            numbers = [(rank + start - step) % size for rank in range(size)]  # of the chunk that each sends
            sent = [own[number] for own, number in zip(chunks, numbers, strict=True)]
            for rank in range(size):
                number = numbers[rank - 1]
                chunks[rank][number] = change(chunks[rank][number], sent[rank - 1])
    return np.array([np.concatenate(own) for own in chunks])
