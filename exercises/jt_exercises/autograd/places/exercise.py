"""01.7: at which places does a checker look?"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jt_exercises.autograd.numbers import slope
from jt_exercises.exercise import exercise
from jt_exercises.verdict import NotDoneError, RefusedError, short

MOST = 4
FAR = 100.0
Rule = tuple[Callable[[float], float], Callable[[float], float], str]
RULES: dict[str, Rule] = {  # a function, the rule that somebody wrote, and where it is seen to be wrong
    "log": (math.log, lambda x: float(x == 1), "it is right at 1 alone: the slope of log is 1 / x"),
    "abs": (abs, lambda _: 1.0, "it is right above 0: below, abs falls"),
    "x ** 3": (lambda x: x**3, lambda x: 3 * x, "it is right at 0 and 1: the slope is 3 x²"),
    "sqrt(x * x + 3)": (lambda x: math.sqrt(x * x + 3), lambda _: 0.5, "it is right at 1: the slope changes with x"),
    "tanh": (math.tanh, lambda x: 1 - math.tanh(x) ** 2, ""),
}


def caught(places: list[float]) -> list[str]:
    """The rules that some place shows to be wrong."""
    found = []
    for name, (function, rule, _) in RULES.items():
        usable = [x for x in places if x > 0.01 or name != "log"]
        if any(abs(slope(function, (x,)) - rule(x)) > 1e-3 for x in usable):
            found.append(name)
    return found


@exercise(
    "01.7",
    "places for a checker",
    hints=(
        "Which values of x does each wrong rule get right by chance? Leave those out.",
        "One place below 0 and one above 0 that is not 1 are enough.",
    ),
    why="If a checker looks only at places where a mistake does not show, it reports that all is well.",
)
def places(answer: Any) -> str:
    """Count which of the four wrong rules are caught."""
    try:
        at = [float(x) for x in answer]
    except (TypeError, ValueError):
        raise RefusedError(f"`places` is a list of numbers, not {short(answer)}") from None
    if at == [1.0]:
        raise NotDoneError("`places` is still [1.0]")
    if not all(np.isfinite(at)) or any(abs(x) > FAR for x in at):
        raise RefusedError(f"the functions are looked at between -{FAR:g} and {FAR:g}, not at {short(at)}")
    if len(at) > MOST:
        raise RefusedError(f"there are {len(at)} places; {MOST} are enough")
    found = caught(at)
    missed = [name for name, (_, _, why) in RULES.items() if why and name not in found]
    if "tanh" in found:
        raise RefusedError("the rule of tanh is right, and is blamed")
    if missed:
        count = len(RULES) - 1
        raise RefusedError(f"{count - len(missed)} of {count} are caught. `{missed[0]}` is not: {RULES[missed[0]][2]}")
    return f"the four wrong rules are caught at {len(at)} places, and the right one is not blamed"
