"""Exercise: what is asked, what it is worth, and who judges it.

@exercise("01.3", "backward, in order", points=2, hints=("Walk from the end.",), why="Paths join.")
def backward(answer): ...              raises RefusedError or NotDoneError, or returns a sentence

find("01.3")                           imports the room of notebook 01, and no other
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from jt_edu.base.plural import plural
from jt_exercises.process import COPY, SECONDS, Forked, Here, LostError, RaisedError, Side
from jt_exercises.verdict import Verdict, judged
from jt_exercises.wire import WireError

ROOMS = {  # a notebook, and the folder with a folder for each of its exercises
    "01": "autograd", "02": "meta_operators", "03": "fusion", "04": "kernels", "05": "roofline", "06": "matmul",
    "07": "convolution", "08": "gpu_threads", "09": "neighbours", "10": "training", "11": "backbones",
    "12": "precision", "13": "ranks", "13b": "together", "16": "signals", "17": "experiments",
}  # fmt: skip
HOME = Path(__file__).resolve().parent
_known: dict[str, Exercise] = {}


@dataclass(frozen=True)
class Exercise:
    """One exercise; `judge` gets the answers: functions that can be called, and plain values."""

    number: str
    title: str
    judge: Callable[..., str]
    points: int = 1
    hints: Sequence[str] = ()
    why: str = ""
    seconds: float = SECONDS

    @property
    def folder(self) -> Path:
        """Where it is written."""
        return Path(inspect.getfile(self.judge)).parent

    @property
    def name(self) -> str:
        """Number and title."""
        return f"{self.number} {self.title}"

    def verdict(self, *answers: Any, here: bool = not COPY) -> Verdict:
        """Judge a learner's objects, which are called in a process of their own; `here`: in this one."""
        try:
            with Here(answers) if here else Forked(answers, seconds=self.seconds) as side:
                return self.of(side)
        except (LostError, WireError) as error:
            return Verdict(self.name, False, str(error))
        except KeyboardInterrupt:
            return Verdict(self.name, None, "stopped before the check had come to an end")

    def of(self, side: Side) -> Verdict:
        """Judge what is on another side."""
        try:
            answers = side.answers()
        except RaisedError as error:
            return Verdict(self.name, False, f"{error.kind}: {error}")
        wanted = inspect.signature(self.judge)
        try:
            wanted.bind(*answers)
        except TypeError:
            names = wanted.parameters
            takes = f'check("{self.number}", {", ".join(names)}) takes {plural(len(names), "answer")}'
            return Verdict(self.name, None, f"{takes}; it was given {len(answers)}")
        found = judged(self.name, partial(self.judge, *answers))
        if found.passed and not side.calls and any(callable(a) for a in answers):
            raise AssertionError(f"the check of {self.name} passed an answer without calling it")
        return replace(found, calls=side.calls, seconds=side.took)


def exercise(number: str, title: str, **more: Any) -> Callable[[Callable[..., str]], Exercise]:
    """Make an exercise of the function that judges it."""

    def note(judge: Callable[..., str]) -> Exercise:
        hints = tuple(" ".join(text.split()) for text in more.pop("hints", ()))  # of several lines
        why = " ".join(more.pop("why", "").split())
        _known[number] = Exercise(number, title, judge, hints=hints, why=why, **more)
        return _known[number]

    return note


def find(number: str) -> Exercise:
    """The exercise of a number, such as "01.3"."""
    there = of_room(str(number).partition(".")[0])
    if number not in _known:
        known = [e.number for e in there] or [f"{room}.…" for room in ROOMS]
        raise ValueError(f"there is no exercise {number!r}. There are: {', '.join(known)}")
    return _known[number]


def of_room(notebook: str) -> list[Exercise]:
    """The exercises of a notebook, such as "01", in order; none where it has none."""
    for file in (HOME / ROOMS[notebook]).glob("*/exercise.py") if notebook in ROOMS else ():
        importlib.import_module(f"jt_exercises.{ROOMS[notebook]}.{file.parent.name}.exercise")
    return [e for number, e in sorted(_known.items()) if number.startswith(f"{notebook}.")]
