"""13b.3: count, mean and M2 of two sets of numbers together, and no digit is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from jt_exercises.answers import same
from jt_exercises.exercise import exercise
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError, ask, part, short

CASES = ((200, 700, 0.0), (1, 1, 3.0), (5, 0, 2.0), (3, 4, 1e7))  # how many numbers in each set, and around what
NEAR = 1e-6  # of numbers around 1e7; a difference of squares has lost all digits there


FAR = 1e6  # from 0: there the difference of two squares has lost what is asked for
LOST = "is it the difference of two large numbers? What is small is lost in it"
LEFT = "how far is each mean from the common one, and for how many numbers?"


class Moments(NamedTuple):
    """Of a set of numbers; those of an empty one are 0."""

    count: int
    mean: float
    m2: float

    @staticmethod
    def of(x: np.ndarray) -> Moments:
        """(count, mean, sum of (x - mean)²)."""
        return Moments(len(x), float(x.mean()), float(((x - x.mean()) ** 2).sum())) if len(x) else Moments(0, 0.0, 0.0)


@exercise(
    "13b.3",
    "merge",
    points=2,
    hints=(
        "The common mean is weighted by the counts.",
        "Each set is as far from the common mean as its own mean is: that adds to the sum of squares.",
        "M2 = M2a + M2b + (distance of the means)² · na · nb / n.",
    ),
    why="So batch norm finds the variance of a batch that no rank has, with all its digits.",
)
def merge(answer: Callable[..., Any]) -> str:
    """Compare with the numbers in one set: far from 0, of one number, and of none."""
    for k, (many, more, around) in enumerate(CASES):
        with part(f"{many} numbers and {more}, around {around:,.0f}"):
            x = random(k).normal(around, 1, many + more)
            a, b, right = Moments.of(x[:many]), Moments.of(x[many:]), Moments.of(x)
            found = ask(answer, tuple(a), tuple(b), name="merge")
            if not isinstance(found, (tuple, list)) or len(found) != len(right):
                raise RefusedError(f"(count, mean, M2) is asked for, not {short(found)}")
            if found[0] != right.count:
                raise RefusedError(f"{many} numbers and {more} are {right.count}, not {short(found[0])}")
            same(found[1], np.array(right.mean), "the mean", _means(a, b), near=1e-12)
            same(found[2], np.array(right.m2), "M2", _squares(a, b), NEAR, LOST if around > FAR else LEFT)
    return "exact algebra: two sets, one of them empty, or with a mean of 10 million"


def _means(a: Moments, b: Moments) -> Iterator[tuple[float, str]]:
    n = a.count + b.count
    yield (a.mean + b.mean) / 2, "both sets count alike, and one has more numbers"
    yield (a.mean * b.count + b.mean * a.count) / n, "each mean is weighted by the count of the other set"
    yield a.mean + b.mean, "the means add up; they are to be weighted by the counts"


def _squares(a: Moments, b: Moments) -> Iterator[tuple[float, str]]:
    away = (b.mean - a.mean) ** 2
    yield a.m2 + b.m2, "the distance of both means adds to it, too"
    yield a.m2 + b.m2 + away, "the distance of the means counts for as many numbers as there are"
    yield a.m2 + b.m2 + away * a.count * b.count, "na · nb is divided by n"
