"""05.5: how often is a cache line not there, when an array is read again and again?"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

from jt_exercises.answers import number
from jt_exercises.exercise import exercise
from jt_exercises.roofline.worlds import cache_misses
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError, ask

DRAWN = 10


@exercise(
    "05.5",
    "the cliff",
    hints=(
        """Play it with a cache of 2 lines: 1 2 1 2 ..., and then 1 2 3 1 2 3 ... Which line was thrown out when line 1
        is wanted again?""",
        "There are two cases: all lines fit, or they do not. How many misses has the second pass in each of them?",
    ),
    why="One line too many, and every read goes to memory: that is why fast programs work on tiles that fit.",
)
def cliff(answer: Callable[..., Any]) -> str:
    """Compare a formula with a simulated cache that forgets the least recently used one."""
    sizes = [*product((8, 16, 1), (7, 8, 9, 16, 40, 1, 0), (1, 2, 5)), *_drawn()]
    for cache, lines, passes in sizes:
        right = cache_misses([k for _ in range(passes) for k in range(lines)], cache)
        found = number(ask(answer, lines, cache, passes, name="misses"))
        if found != right:
            fits = "It fits: after the first pass all of it is there" if lines <= cache else (
                "It does not fit: when a line is needed again, it is the one that was thrown out last pass"
            )  # fmt: skip
            told = f"{lines} lines, read {passes} times, through a cache of {cache}"
            raise RefusedError(f"{told}: {right} misses, not {found:g}. {fits}")
    return f"{len(sizes)} cases, as a simulated cache counts them"


def _drawn() -> list[tuple[int, int, int]]:
    draw = random(55)
    return [(int(draw.integers(1, 50)), int(draw.integers(50)), int(draw.integers(1, 9))) for _ in range(DRAWN)]
