"""Validate: is a check as good as what it judges?

    the solution            right, with all its parts, for several seeds, beside its judge and in a process of its own
    the stub                your turn, in the words of the gap
    each known mistake      not right, in words of its own
    odd answers             not right, and nothing is raised: texts, nan, objects, lists of nothing
    mutants                 of the solution, by the dozen: at least 95 % are noticed

`findings` lists what does not hold. The tests of the course ask nothing else.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jt_edu.base.source_text import remember
from jt_exercises.author.masters import GAP, Master
from jt_exercises.author.mutants import mutants
from jt_exercises.exercise import find
from jt_exercises.process import COPY
from jt_exercises.seed import seeded
from jt_exercises.verdict import Verdict, YourTurn

KILLED = 0.95  # of the mutants
SEEDS = 0, 1, 2
WRONG = 3, 6  # known mistakes: at least, and at most
FEW = 3.0  # seconds for a mutant: those that take longer are noticed
ODD = ("four", -1, 1e308, float("nan"), [], [[]], [1, [2]], {}, {"a": None}, (None, None), True, b"", np.zeros(0),
       np.array(["a"]), np.full((2, 2), np.nan), lambda *_: "four", lambda *_: [[]], lambda *_: {"a": 1},
       lambda *_: float("nan"), lambda *_: np.zeros(0), lambda *_: [object()], lambda *_: (1, (2, "x")))  # fmt: skip


def verdicts(number: str, text: str, here: bool = True, **more: Any) -> tuple[list[Verdict], Exception | None]:
    """What is said of all that a learner's cells hand to `check`, and what stopped these cells."""
    found = list[Verdict]()

    def check(asked: str, *answers: Any) -> None:
        if asked != number:
            raise ValueError(f"the cell of {number} calls check({asked!r}, ...)")
        found.append(replace(find(number), **more).verdict(*answers, here=here))

    try:
        _run(number, text, check)
    except Exception as error:  # noqa: BLE001 - a mutant may raise whatever there is
        return found, error
    return found, None


def _run(number: str, text: str, check: Callable[..., None]) -> None:
    """Run a learner's cells; they hand their answers to `check`."""
    own = re.sub(r"^from jt_exercises import .*\n", "", text, flags=re.MULTILINE)
    space = {"__name__": "answers", "check": check, "solved": lambda *_: False, "YourTurn": YourTurn}
    name = remember(own, f"the answers to {number}")  # a kernel's text is read
    exec(compile(own, name, "exec"), space)  # noqa: S102 - a master is Python of ours


@dataclass(frozen=True)
class Mutants:
    """Of one exercise: all, those that were judged, and those that were called right."""

    every: list[str]
    judged: int
    alive: list[str]

    @property
    def noticed(self) -> int:
        """How many were not called right."""
        return len(self.every) - len(self.alive)

    def __repr__(self) -> str:
        return f"{self.noticed} of {len(self.every)} mutants are noticed"


def tried_mutants(master: Master) -> Mutants:
    """Change each gap of a solution in each way, and let the check look at it."""
    every, judged, alive = list[str](), 0, list[str]()
    for lines in gaps(master):
        every += mutants(master.solved, lines)
    for text in every:
        found, _ = verdicts(master.number, text, here=not COPY, seconds=FEW)  # one that does not even run is noticed
        judged += bool(found)
        alive += [text] if found and found[0].passed else []
    return Mutants(every, judged, alive)


def gaps(master: Master) -> Iterator[tuple[int, int]]:
    """The first and the last line of each gap in a function or a text, as numbered in the text with the solution.

    A gap between statements holds values that are guessed or chosen: others may be as right.
    """
    markers = 0
    for gap in GAP.finditer(master.text):
        first = master.text.count("\n", 0, gap.start()) + 1 - markers
        if gap[1]:
            yield first, first + gap[3].count("\n") - 1
        markers += 2


def findings(master: Master) -> Iterator[str]:
    """What is not as it should be, in words; mutants are looked at apart, for they take long."""
    exercise = find(master.number)
    if re.search(r"np\.random\.(?!Generator)", (exercise.folder / "exercise.py").read_text(encoding="utf-8")):
        yield "its cases are drawn by np.random; `random` of jt_exercises.seed can be secret"
    if len(exercise.hints) < 2 or not exercise.why or exercise.points < 1:
        yield "it needs two hints, a reason why, and at least a point"
    refused = list(_solution(master))
    yield from refused
    if refused:  # the rest would say the same again
        return
    yield from _stub(master)
    yield from _mistakes(master)
    yield from _odd(master)


def one_verdict(number: str, text: str, **more: Any) -> Verdict:
    """What is said of the one answer in a learner's cells."""
    found, error = verdicts(number, text, **more)
    if error is not None or len(found) != 1:
        return Verdict(number, None, f"the cells hand over {len(found)} answers and stop with {error!r}")
    return found[0]


def _solution(master: Master) -> Iterator[str]:
    for seed in SEEDS:
        with seeded(seed):
            found = one_verdict(master.number, master.solved, here=not COPY or seed != SEEDS[-1])
        if found.error is not None:
            yield "the check itself stops:\n" + "".join(traceback.format_exception(found.error))
        elif not found.passed or found.right != found.of:
            yield f"the solution is refused (seed {seed}): {found}"


def _stub(master: Master) -> Iterator[str]:
    found = one_verdict(master.number, master.stub)
    if found.passed is not None:
        yield f"the stub is judged, though nothing was done: {found}"
    if "raise YourTurn" in master.stub and not any(gap[2] in found.words for gap in GAP.finditer(master.text)):
        yield f"the words of the gap are not told: {found}"


def _mistakes(master: Master) -> Iterator[str]:
    wrong = master.wrong()
    if not WRONG[0] <= len(wrong) <= WRONG[1]:
        yield f"{len(wrong)} known mistakes; {WRONG[0]} to {WRONG[1]} are wanted"
    if len({w.says for w in wrong}) < len(wrong) or not all(w.says for w in wrong):
        yield "two known mistakes are told in the same words"
    said = {w.name: one_verdict(master.number, w.text) for w in wrong}
    for w in wrong:
        if said[w.name].passed is not False or w.says not in said[w.name].words:
            yield f"the mistake {w.name!r} is not refused with {w.says!r}: {said[w.name]}"
        if others := [name for name, found in said.items() if name != w.name and w.says in found.words]:
            yield f"{w.says!r} is said of {w.name!r}, and of {', '.join(others)}, too"


def _odd(master: Master) -> Iterator[str]:
    handed = list[tuple[Any, ...]]()
    _run(master.number, master.stub, lambda _, *answers: handed.append(answers))
    for answer in ODD:
        found = find(master.number).verdict(*[answer for _ in handed[0]], here=True)
        if found.passed or (found.passed is False and not found.words):
            yield f"the odd answer {answer!r} is not refused in words: {found}"
