"""06.6: a tuner that finds the fastest tile on simulated machines, which are disturbed, or become slower."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jt_exercises.exercise import exercise
from jt_exercises.matmul.probes import tuned
from jt_exercises.roofline.worlds import World
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError, ask, short

MACHINES = 12
TILES, TOO_LARGE = (16, 32, 64, 128, 256), 512
STEP = 0.12  # of the time: how much longer each tile takes than its neighbour that is nearer to the best
MOST = 100  # runs of each candidate


@exercise(
    "06.6",
    "a tuner",
    points=2,
    hints=(
        "First run each once, and forget those that raise.",
        "Then rounds: in each, every candidate runs once, and its least time is kept.",
        "20 rounds do. In each: `begin = clock()`, `run(t)`, `clock() - begin`. Then `min(least, key=least.get)`.",
    ),
    why="A tile that is best on one machine is not on the next. Kernels are tuned where they run.",
)
def tuner(answer: Callable[..., Any]) -> str:
    """Have the best of some candidates found, where runs are disturbed, and some candidates cannot run."""
    for k in range(MACHINES):
        _one(answer, k)
    return f"{MACHINES} machines"


def _one(answer: Any, k: int) -> None:
    """One machine."""
    seed, busy = int(random(6, k).integers(1 << 31)), k % 2 == 1
    world = World(seed, disturbed=0.5 if busy else 0.0, drift=0.0 if busy else 0.01)
    times = {size: 1e-3 * (1 + STEP * abs(place - k % 5)) for place, size in enumerate(TILES)}
    works = {size: world.work(seconds) for size, seconds in times.items()}
    candidates = [*times, TOO_LARGE] if k % 3 else [TOO_LARGE, *times]
    calls: list[int] = []

    def runs(size: int) -> bool:
        calls.append(size)
        if len(calls) > MOST * len(candidates):
            raise RefusedError(f"it runs more than {MOST} times each: a tuner must not take longer than it saves")
        if size in works:
            works[size]()
        return size in works

    found = ask(answer, candidates, runs, world.clock, case=f"{candidates}, run, clock", through=tuned)
    if not isinstance(found, (int, float)) or found not in candidates:
        raise RefusedError(f"tune returns one of {candidates}, not {short(found)}")
    if not calls:
        raise RefusedError(f"{found} was chosen, and `run` was never called: measure, and then choose")
    if found == TOO_LARGE:
        raise RefusedError(f"{found} cannot run: run({found}) raises ValueError, and that is no time")
    best = min(times, key=times.__getitem__)
    if found != best:
        truth = f"{found} was chosen, which takes {times[int(found)] / times[best] - 1:.0%} longer than {best}. "
        raise RefusedError(truth + _why(calls.count(best), busy))


def _why(rounds: int, busy: bool) -> str:
    """Why a tuner that ran the best candidate so often did not see that it is."""
    if rounds < 5:
        each = {0: "None ran", 1: "Each ran once"}.get(rounds, f"Each ran {rounds} times")
        return f"{each}, and the first run of each compiles, for a longer or a shorter time"
    if not busy:
        return "This machine becomes slower with each run: let the candidates take turns"
    return "Half of the runs were disturbed: compare the least time of each"
