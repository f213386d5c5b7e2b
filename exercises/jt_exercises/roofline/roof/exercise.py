"""05.2: the two lines of the plot, one of memory and one of arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from typing import Any

from jt_exercises.answers import number, pair
from jt_exercises.exercise import exercise
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError, ask, short

RIDGES = [(0.5, 1e10, 5e9), (4.0, 2.5e11, 1e12)]  # in numbers that no rounding moves
DRAWN = 10


@exercise(
    "05.2",
    "the roof",
    hints=(
        "Memory alone allows `intensity * bandwidth` operations per second. What does arithmetic alone allow?",
        "The kernel needs both, so the smaller of the two is its roof, and it says what limits the kernel.",
    ),
    why="The roof tells what can still be gained, and which measurement cannot be true.",
)
def roof(answer: Callable[..., Any]) -> str:
    """Compare (operations per second, what limits them) at places to both sides of the ridge, and on it."""
    draw = random(52)
    places = [*product((0.01, 0.25, 1.0, 7.0, 300.0), (1e10, 2e11), (5e9, 1e12)), *RIDGES]
    places += [(10 ** draw.uniform(-2, 3), 10 ** draw.uniform(9, 12), 10 ** draw.uniform(9, 13)) for _ in range(DRAWN)]
    for place in places:
        _one(ask(answer, *place, name="roof"), *place)
    return f"{len(places)} places"


def _one(answer: Any, intensity: float, bandwidth: float, peak: float) -> None:
    first, bound = pair(answer, "the answer is a pair, such as (2e9, 'memory')")
    speed = number(first, "the first of the pair is a number")
    right = min(intensity * bandwidth, peak)
    where = f"roof({intensity:g}, {bandwidth:g}, {peak:g})"
    if not math.isclose(speed, right, rel_tol=1e-9):
        over = "more than the peak" if speed > peak else "more than memory delivers" if speed > right else "too low"
        raise RefusedError(f"{where} is {speed:g} operations per second, which is {over}: it should be {right:g}")
    limit = "memory" if intensity * bandwidth < peak else "arithmetic"
    if not isinstance(bound, str) or bound != limit:
        if intensity * bandwidth == peak:
            where = f"{where} is at the ridge, where both take as long: say 'arithmetic'"
            raise RefusedError(f"{where}, not {short(bound)}")
        raise RefusedError(f"{where} is limited by {limit}, not by {short(bound)}: below the ridge, it is memory")
