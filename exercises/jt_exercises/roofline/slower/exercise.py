"""05.6: is a change slower by more than 10 %?"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

from jt_exercises.answers import truth
from jt_exercises.exercise import exercise
from jt_exercises.roofline.worlds import World
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError, ask

MOST = 30  # runs of each
MOODS = ((0.0, 0.0), (0.01, 0.0), (-0.004, 0.0), (0.0, 0.4), (0.002, 0.4))  # (slower with each run, disturbed runs)
SEEDS = 3


@exercise(
    "05.6",
    "ten percent slower?",
    points=3,
    hints=(
        "One round runs both, one after the other: whatever changes slowly hits both.",
        "At least 15 rounds. The first one compiles, so its times must not count.",
        "Keep the least time of each.",
    ),
    why="A test of speed that is wrong now and then is soon ignored, and then the really slower change gets through.",
)
def slower(answer: Callable[..., Any]) -> str:
    """Have two pieces of work compared on machines that are disturbed, and become slower or faster meanwhile."""
    cases = list(product((1.0, 1.05, 1.15, 1.5, 0.8), MOODS, range(SEEDS)))
    for k, (true, (drift, share), _) in enumerate(cases):
        world = World(int(random(56, k).integers(1 << 30)), share, drift)
        work = world.work(1e-3), world.work(1e-3 * true)
        found = truth(ask(answer, *work, world.clock, case="old, new, clock", name="is_slower"))
        if world.calls > 2 * MOST:
            raise RefusedError(f"old and new ran {world.calls} times together; {MOST} times each are enough")
        if found != (true > 1.1):
            raise RefusedError(_misjudged(true, drift, share, world.calls, found))
    return f"{len(cases)} comparisons"


def _misjudged(true: float, drift: float, share: float, calls: int, answer: bool) -> str:
    alike = "as fast as the old one" if true == 1 else f"{abs(true - 1):.0%} {'slower' if true > 1 else 'faster'}"
    told = f"the new work is {alike}, and you answer {answer} after {calls} runs"
    if not calls:
        return f"{told}: `old` and `new` have to be called"
    if calls < 20:
        each = "once" if calls < 4 else f"{calls // 2} times"
        return f"{told}. Each ran {each}, and the first run compiles, for a longer or a shorter time: that says little"
    if drift and not share:
        way = "slower" if drift > 0 else "faster"
        return f"{told}. This machine becomes {way} with each run: let old and new take turns, so that it hits both"
    if share:
        return f"{told}. {share:.0%} of the runs were disturbed: compare the least of each, not the means"
    return (
        f"{told}. Nothing was disturbed here: is the border at 1.1 times the old time, and is the first run left out?"
    )
