"""05.4: how long does some work take, on a machine that does other things, too?"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

from jt_exercises.answers import number
from jt_exercises.exercise import exercise
from jt_exercises.roofline.worlds import World
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError, ask

MOST = 50  # runs: even where 7 of 10 are disturbed, one in 10 million such series has no undisturbed one
SHORT = 0.9  # of the truth: not the time of a run


@exercise(
    "05.4",
    "an honest stopwatch",
    points=2,
    hints=(
        "The first run compiles, and others are disturbed: run the work several times, each with a time of its own.",
        "A disturbance makes a run longer, never shorter. Is the mean honest, then? The median, where 7 of 10 suffer?",
        "Keep the least time of all runs that you may take.",
    ),
    why="Two figures can be compared only if each of them is the time of the work, and not that of a disturbance.",
)
def stopwatch(answer: Callable[..., Any]) -> str:
    """Have known times measured on machines that are disturbed, most of the time on some of them."""
    worlds = list(product((0.0, 0.3, 0.7), range(10)))
    for share, k in worlds:
        world, right = World(int(random(54, k).integers(1 << 30)), share), 10.0 ** (k % 4 - 3)
        found = ask(answer, world.work(right), world.clock, case="work, clock", name="measure")
        found = number(found, "a time is a number")
        if world.calls > MOST:
            raise RefusedError(f"`work` ran {world.calls} times; a benchmark has to end, and {MOST} are enough")
        if not 0.99 * right <= found <= 1.03 * right:
            raise RefusedError(_why_not(found / right, world.calls, share))
    return f"{len(worlds)} machines, within 3 %"


def _why_not(times: float, calls: int, share: float) -> str:
    found = f"where {share:.0%} of the runs are disturbed, your answer is {times:.3g} times the truth"
    if calls == 0:
        return f"{found}: `work` never ran"
    if times < SHORT:
        clock = "read the `clock` that you are given, before and after each run"
        return f"{found}, and no run took less than the truth: {clock}"
    if not share:
        return f"{found}. The first run compiles, and takes 20 to 60 times as long: do not count it"
    if calls < 10:
        return f"{found}, after {calls} runs: they may all have been disturbed"
    return f"{found}, after {calls} runs. A disturbance makes a run longer, never shorter: which of the runs had least?"
