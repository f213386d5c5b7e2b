"""13b.1: the mean gradient of all examples, from the means of unequal shares."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jt_exercises.answers import same
from jt_exercises.exercise import exercise
from jt_exercises.ranks.judging import runs
from jt_exercises.seed import random
from jt_exercises.verdict import part

CASES = ((4, 9), (2, 7), (5, 3), (1, 4))  # ranks and examples
SHAPES: tuple[tuple[int, ...], ...] = ((), (2, 3))  # of a gradient


@exercise(
    "13b.1",
    "the mean of unequal shares",
    points=2,
    hints=(
        "A share of 3 counts for more than one of 2. Means of unequal shares have no simple mean; what about sums?",
        "`gradient * count` is the sum over one share. Add these up, and the counts, too.",
    ),
    why="The last batch of an epoch is seldom divisible. A mean of means is wrong there, and nothing warns you.",
)
def combine(answer: Callable[..., Any]) -> str:
    """Compare on each rank, also where some ranks have no example."""
    for size, n in CASES:
        with part(f"{n} examples on {size} ranks"):
            for shape in SHAPES:
                whole = random(size, len(shape)).integers(1, 10, (n, *shape)).astype(float)  # a gradient for each
                shares = np.array_split(whole, size)
                means = [share.mean(0) if len(share) else np.zeros(shape) for share in shares]
                counts = [len(share) for share in shares]
                right = np.array([whole.mean(0)] * size)
                arguments = [(m if shape else float(m), c) for m, c in zip(means, counts, strict=True)]
                for run in runs(answer, arguments, name="combine"):
                    same(run.results, right, "the mean gradient, on each rank", _mistakes(np.array(means), counts))
    return "each rank has the mean of all examples, however they are shared out"


def _mistakes(means: np.ndarray, counts: list[int]) -> Iterator[tuple[np.ndarray, str]]:
    """What known mistakes give each rank, and what is said of them."""
    size = len(counts)
    weights = np.array(counts, float).reshape(size, *[1] * (means.ndim - 1))
    total = np.array([(means * weights).sum(0)] * size)
    shares = " and ".join(map(str, sorted(set(counts), reverse=True)))
    yield np.array([means.mean(0)] * size), f"shares of {shares} examples count alike; the larger one counts for more"
    yield means, "each rank still has the mean of its own share"
    yield total, "it is the sum over all examples, and no mean yet"
    yield total / size, "the sum is divided by the number of ranks, not of examples"
    yield total / np.maximum(weights, 1), "the sum is divided by the examples of one rank; how many do all have?"
