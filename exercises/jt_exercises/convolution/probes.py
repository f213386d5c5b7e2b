"""Probes: what has to happen beside a learner's function, and cannot be seen from another process.

Each calls the function, and carries what there was to see back in plain values; none of them judges.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import astuple
from functools import partial
from typing import Any

from jt_exercises.convolution.problems import Problem

Sizes = tuple[Any, ...]  # of a problem


def choices(
    choose: Callable[..., Any],
    problems: Sequence[Problem],
    candidates: Sequence[str],
    go: Callable[[int, str, Sizes], str],
    clock: Callable[[], float],
) -> list[Any]:
    """What a tuner says of each problem; `go` hears of each run in which question it is, and says why it cannot be."""
    table: dict[Hashable, str] = {}
    return [choose(p, candidates, partial(_run, go, question), clock, table) for question, p in enumerate(problems)]


def _run(go: Callable[..., str], question: int, name: str, problem: Problem) -> None:
    if no := go(question, name, astuple(problem)):
        raise ValueError(no)


def sizes(value: Any) -> Sizes:
    """Those of a problem, and none of anything else."""
    return astuple(value) if isinstance(value, Problem) else ()


def keys(repaired: Callable[[Problem], Any], problems: Sequence[Problem]) -> list[Any]:
    """The key of each problem; where it is a problem, which is a good key, its sizes."""
    return [sizes(found) or found for found in map(repaired, problems)]
