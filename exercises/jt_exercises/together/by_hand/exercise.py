"""13b.2: a training on several ranks gives the numbers of one rank alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jt_exercises.answers import same
from jt_exercises.exercise import exercise
from jt_exercises.ranks.judging import runs
from jt_exercises.seed import random
from jt_exercises.together.training import NAMES, beginnings, trainings
from jt_exercises.verdict import part

SIZES = (2, 3, 1, 5)
EXAMPLES = 7
NEAR = 1e-5  # float32, added up in another order


@exercise(
    "13b.2",
    "data parallel by hand",
    points=3,
    hints=(
        "`begin`: all of `net.parameters()`, the frozen ones too, come from rank 0. Which two calls does each need?",
        "`p.update(comm.bcast(p.numpy(), root=0))` for each parameter `p`.",
        "`together` is what `combine` of exercise 13b.1 does.",
    ),
    why="This is all that data parallel training is: the same beginning, and the mean gradient after each step.",
)
def by_hand(begin: Callable[..., Any], together: Callable[..., Any]) -> str:
    """Compare the parameters of each rank after `begin`, and after three steps."""
    with part("begin"):
        for size in SIZES:
            seeds = _seeds(size)
            (right,) = beginnings(_nothing, seeds[:1], {})["results"]
            for run in runs(begin, seeds, name="begin", through=beginnings):
                for rank, found in enumerate(run.results):
                    for k, name in enumerate(NAMES):
                        what = f"on {size} ranks, `{name}` of rank {rank}"
                        same(found[k], right[k], what, _beginnings(seeds, rank, k))
    for size in SIZES:
        with part(f"training on {size} ranks"):
            batch = random(size, EXAMPLES).normal(size=(EXAMPLES, 6)).astype(np.float32)
            arguments = [(seed, batch) for (seed,) in _seeds(size)]
            (right,) = trainings(_nothing, _own, arguments[:1], {})["results"]
            for run in runs(begin, arguments, together, name="together", through=trainings):
                for rank, found in enumerate(run.results):
                    same(
                        found[0], right[0], f"`w` of rank {rank}, after three steps", _trainings(arguments, rank), NEAR
                    )
    return "the parameters of each rank are those of one rank alone: after `begin`, and after three steps"


def _seeds(size: int) -> list[tuple[int]]:
    return [(int(seed),) for seed in random(size).choice(1000, size, replace=False)]


def _nothing(*_: Any) -> None:
    pass


def _own(_: Any, gradient: np.ndarray, __: int) -> np.ndarray:
    return gradient


def _beginnings(seeds: list[tuple[int]], rank: int, k: int) -> Iterator[tuple[np.ndarray, str]]:
    """What a parameter is after a wrong `begin`."""
    drawn = [values[k] for values in beginnings(_nothing, seeds, {})["results"]]
    frozen = "" if k == 0 else ". It is frozen, and comes from rank 0, too"
    yield drawn[rank], f"it is still its own{frozen}"
    yield np.mean(drawn, 0), "it is the mean of all ranks; one rank alone would begin with that of rank 0"
    for other in range(1, len(drawn)):
        yield drawn[other], f"it is that of rank {other}; all begin with that of rank 0"


def _trainings(arguments: list[tuple[int, np.ndarray]], rank: int) -> Iterator[tuple[np.ndarray, str]]:
    """What `w` is after three steps with a wrong `together`."""
    same_seed = [(arguments[0][0], batch) for _, batch in arguments]
    rules: dict[str, Callable[..., Any]] = {
        "each rank goes its own way, with the gradient of its own share": _own,
        "shares count alike, and one has more examples": lambda comm, g, _: comm.allreduce(g) / comm.size,
        "the gradients of the shares add up, and no mean is taken": lambda comm, g, _: comm.allreduce(g),
        "the sum is divided by the ranks, not by the examples": lambda comm, g, n: comm.allreduce(g * n) / comm.size,
    }
    for words, rule in rules.items():
        yield trainings(_nothing, rule, same_seed, {})["results"][rank][0], words
