"""Judging: what a learner's function does on ranks that take turns in several orders.

for run in runs(ring_allreduce, [(x0,), (x1,)], name="ring_allreduce"):       one run for each order
    run.results                                                               what each rank answers
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from jt_edu.base.plural import plural
from jt_exercises.ranks.probes import on_ranks
from jt_exercises.seed import random
from jt_exercises.verdict import NotDoneError, RefusedError, ask

ORDERS = 3  # of turns: each rank in its turn, and then drawn


class Run(NamedTuple):
    """What came of one order of turns."""

    results: list[Any]
    messages: list[tuple[int, int, int]]  # from, to, bytes
    calls: list[str]
    stopped: str  # the simulator's words, where it was ended


def runs(
    answer: Callable[..., Any],
    arguments: Sequence[Sequence[Any]],
    *more: Any,
    name: str,
    through: Callable[..., Any] = on_ranks,
    at_end: str = "",
    **options: Any,
) -> Iterator[Run]:
    """Run answer(comm, *arguments[rank]) on as many ranks as there are arguments, once for each order of turns.

    `at_end` is said before the simulator's words, where it ends a run.
    """
    draw = random(len(arguments))
    orders = [{}, *({"policy": "random", "seed": int(draw.integers(1000))} for _ in range(ORDERS - 1))]
    for order in orders:
        told = {**options, **order}
        case = ", ".join([plural(len(arguments), "rank"), *(f"{key}={value!r}" for key, value in told.items())])
        run = Run(**ask(answer, *more, list(arguments), told, case=case, name=name, through=through))
        if run.stopped:
            words = [line for line in run.stopped.split("\n") if "try: " not in line]  # the hints are ours
            raise RefusedError(f"{at_end}{name}({case}) ends with " + "\n".join(words))
        if len(run.results) != len(arguments):
            raise RefusedError(f"{len(arguments)} ranks give as many results, not {len(run.results)}")
        if any(result is None for result in run.results):
            _nothing(run.results)
        yield run


def _nothing(results: list[Any]) -> None:
    """Some ranks, or all of them, answer None."""
    if all(result is None for result in results):
        raise NotDoneError("it returns None: is a `return` missing?")
    rank = next(rank for rank, result in enumerate(results) if result is None)
    raise RefusedError(f"rank {rank} of {len(results)} returns None, and others do not")
