"""07.5: a tuner that measures each problem once, and remembers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from jt_exercises.convolution.probes import choices
from jt_exercises.convolution.problems import ALGORITHMS, Problem, fastest, seconds, suits
from jt_exercises.exercise import exercise
from jt_exercises.roofline.worlds import World
from jt_exercises.seed import random
from jt_exercises.verdict import NotDoneError, RefusedError, ask, short

WORLDS = 3  # of which the first one is not disturbed
CHANGES: list[dict[str, Any]] = [
    {}, {"kernel": 7}, {"stride": 2}, {"channels": 4}, {"dtype": "float64"}, {"size": 7}, {"images": 8},
    {"size": 7, "dtype": "float64"}, {"size": 7, "images": 8},
]  # fmt: skip
ASKED = [replace(Problem(), **change) for change in CHANGES]
NEAR = 1.03  # times the least
Run = tuple[int, str, Problem]  # in which question, of which algorithm, for which problem


@exercise(
    "07.5",
    "a tuner that remembers",
    points=3,
    hints=(
        "What must the key in `table` hold? All that makes another algorithm win: look at `astuple(problem)`.",
        """As `tune` in 06: run each once, leave out those that raise, then 20 rounds in which they take turns, and the
        least time counts.""",
    ),
    why="`jt.backends.conv.benchmark` does this: no algorithm is always the fastest, so it is measured.",
)
def tuner(answer: Callable[..., Any]) -> str:
    """Have algorithms chosen for problems that differ in one size each; what is known must not run again."""
    problems = ASKED * 2
    for k in range(WORLDS):
        world, runs = World(int(random(k).integers(1 << 31)), disturbed=0.3 * (k > 0)), list[Run]()
        found = ask(
            answer, problems, ALGORITHMS, _goer(world, runs), world.clock, case="problem, ...", name="choose",
            through=choices,
        )  # fmt: skip
        if found[0] is None:
            raise NotDoneError("it returns None: is a `return` missing?")
        for question, (p, choice) in enumerate(zip(problems, found, strict=True)):
            now = [run for run in runs if run[0] == question]
            known = any(asked < question and q == p for asked, _, q in runs)
            _judge(p, choice, now, known, ever=bool(runs) and runs[0][0] <= question)
    return f"{WORLDS * len(problems)} questions"


def _goer(world: World, runs: list[Run]) -> Callable[..., str]:
    """Let an algorithm take its time on the clock of a world, the first time more; or say why it cannot run."""
    works: dict[tuple[str, Problem], Callable[[], None]] = {}

    def go(question: int, name: str, sizes: tuple[Any, ...]) -> str:
        problem = Problem(*sizes)
        runs.append((question, name, problem))
        if name not in ALGORITHMS or not suits(name, problem):
            return f"{name} does not do {problem}"
        if (name, problem) not in works:
            works[name, problem] = world.work(seconds(name, problem))
        works[name, problem]()
        return ""

    return go


def _judge(p: Problem, found: Any, runs: list[Run], known: bool, ever: bool) -> None:
    if not isinstance(found, str) or found not in ALGORITHMS:
        raise RefusedError(f"choose returns one of {ALGORITHMS}, not {short(found)}")
    if not ever:
        raise RefusedError(f"{found!r} was chosen for {p}, and `run` was never called: measure, and then choose")
    if not known and not runs:
        raise RefusedError(f"{p} was never measured, and nothing ran: its key must be that of another problem")
    if known and runs:
        raise RefusedError(
            f"{p} was asked for before, and {len(runs)} runs were made again: keep the answer in `table`"
        )
    if not suits(found, p):
        raise RefusedError(f"{found} cannot compute {p}: run raised ValueError, and that is no time")
    if seconds(found, p) > NEAR * seconds(fastest(p), p):
        tries, times = sum(name == found for _, name, _ in runs), seconds(found, p) / seconds(fastest(p), p)
        raise RefusedError(
            f"{found} takes {times:.2f} times as long as {fastest(p)} for {p}, after {tries} "
            f"run{'s' * (tries != 1)} of it: the first run compiles, others are disturbed, so the least of many counts"
        )
