"""13b.4: backwards through the batch norm of all ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import jt_edu as jt
from jt_exercises.answers import same
from jt_exercises.exercise import exercise
from jt_exercises.ranks.judging import runs
from jt_exercises.seed import random
from jt_exercises.verdict import part

CASES = ((4, 9), (2, 5), (5, 3), (1, 4))  # ranks and examples


@exercise(
    "13b.4",
    "batch norm, backward",
    points=2,
    hints=(
        "A mean over the whole batch is a sum over all ranks, divided by `count`.",
        "`comm.allreduce(dy.sum())` is the sum of dy over all ranks; the other one is of `dy * y`.",
    ),
    why="The statistics of a batch are shared, and so is their gradient: batch norm speaks on the way back, too.",
)
def normalised_backward(answer: Callable[..., Any]) -> str:
    """Compare the shares with the framework's gradient of the whole batch."""
    for size, n in CASES:
        with part(f"{n} examples on {size} ranks"):
            x, dy = random(size, n).normal(size=(2, n))
            y, std, right = (x - x.mean()) / x.std(), float(x.std()), _right(x, dy)
            dys, ys, rights = (np.array_split(a, size) for a in (dy, y, right))
            arguments = [(mine, its_y, std, n) for mine, its_y in zip(dys, ys, strict=True)]
            for run in runs(answer, arguments, name="normalised_backward"):
                for rank, found in enumerate(run.results):
                    known = _mistakes(dys, ys, std, n, rank)
                    same(found, rights[rank], f"dx of rank {rank}", known)
    return "dx of each share is what the framework finds for the whole batch"


def _right(x: np.ndarray, dy: np.ndarray) -> np.ndarray:
    """dx of the whole batch, as the framework finds it."""
    v = jt.array(x)
    centred = v - v.mean()
    found: np.ndarray = jt.grad((centred / centred.sqr().mean().sqrt() * jt.array(dy)).sum(), v).numpy()
    return found


def _mistakes(
    dys: list[np.ndarray], ys: list[np.ndarray], std: float, n: int, rank: int
) -> Iterator[tuple[np.ndarray, str]]:
    """What known mistakes give a rank, and what is said of them."""
    sums, products = [d.sum() for d in dys], [(d * y).sum() for d, y in zip(dys, ys, strict=True)]
    here = max(1, len(dys[rank]))

    def dx(mean_dy: float, mean_dy_y: float) -> np.ndarray:
        return (dys[rank] - mean_dy - ys[rank] * mean_dy_y) / std

    yield dx(sums[rank] / here, products[rank] / here), "both means are those of its own share"
    yield dx(sum(sums) / n, products[rank] / here), "the mean of dy · y is that of its own share"
    yield dx(sums[rank] / here, sum(products) / n), "the mean of dy is that of its own share"
    yield dx(sums[rank] / n, products[rank] / n), "the sums are those of its own share; `count` counts all ranks"
    yield dx(sum(sums), sum(products)), "a mean is a sum divided by `count`"
    yield dx(sum(sums) / len(dys), sum(products) / len(dys)), "a mean is divided by the examples, not by the ranks"
    yield dx(sum(sums) / n, sum(y.sum() for y in ys) / n), "the second mean is of dy · y"
