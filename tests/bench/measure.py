"""Measure: how much CPU time does a call take, and how does it compare with another?

    round 1    ours  peer  limit
    round 2    ours  peer  limit     ...     the best of all rounds counts; the rounds side by side give the spread

A machine that is shared has slow moments. They hit all sides alike when the sides take turns, and the smallest of many
samples has met none of them. CPU time does not count the time in which somebody else has the core. A sample repeats a
short call until it is long enough for the clock.

Samples are blocks of a `jt.benchmark.Timer`, as a learner would take them. A row that takes seconds gets fewer rounds,
as many as fit into a box of time, and says so. Nothing here knows what is measured. The clock is an argument, so that
tests can bring their own.
"""

import math
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from jt_edu.benchmark import Measurement, TaskSpec, Timer

LEAST = 2e-3  # seconds of one sample
CALLS = 1 << 20  # in one sample at most
WARM, WARM_SECONDS = 3, 0.2  # calls before anything is timed: so many, or as many as take so long
FEWEST = 5  # rounds that even the slowest row gets

Clock = Callable[[], float]
Block = Callable[[int], float]


def take_turns(
    sides: Mapping[str, Callable[[], object]],
    rounds: int,
    clock: Clock = time.process_time,
    least: float = LEAST,
    box: float = math.inf,
    threads: Mapping[str, int] | None = None,
) -> dict[str, Measurement]:
    """Time every side once in each round; from the fifth on, the round that fills `box` seconds is the last.

    A side has one thread, or as many as `threads` says.
    """
    kernels = threads or {}
    blocks = {name: block_of(side, clock, kernels.get(name, 1)) for name, side in sides.items()}
    for block in blocks.values():
        _warm(block)
    calls = {name: _enough(block, least) for name, block in blocks.items()}
    samples: dict[str, list[float]] = {name: [] for name in sides}
    spent = 0.0
    for number in range(rounds):
        for name, block in blocks.items():
            took = block(calls[name])
            samples[name].append(took / calls[name])
            spent += took
        if number + 1 >= FEWEST and spent >= box:
            break
    return {name: measured(found, name, kernels.get(name, 1)) for name, found in samples.items()}


def measured(samples: Iterable[float], name: str = "", threads: int = 1) -> Measurement:
    """Seconds of one call, once for each round."""
    return Measurement(1, tuple(samples), TaskSpec(name, num_threads=threads))


def block_of(call: Callable[[], object], clock: Clock = time.process_time, threads: int = 1) -> Block:
    """Seconds of so many calls; what they return is dropped at once, as a training loop does."""
    return Timer(call, timer=clock, num_threads=threads).prepare()


def enough(call: Callable[[], object], clock: Clock = time.process_time, least: float = LEAST) -> int:
    """How many calls take `least` seconds or more."""
    return _enough(block_of(call, clock), least)


def _enough(block: Block, least: float) -> int:
    count = 1
    while count < CALLS:
        took = block(count)
        if took >= least:
            return count
        growth = 2.0 if took <= 0 else min(10.0, 1.2 * least / took)
        count = max(count + 1, math.ceil(count * growth))
    return CALLS


def _warm(block: Block) -> None:
    spent = 0.0
    for _ in range(WARM):
        spent += block(1)
        if spent >= WARM_SECONDS:
            return


def spread(peer: Measurement, ours: Measurement) -> tuple[float, float]:
    """The quartiles of peer / ours over the rounds."""
    return quartiles([p / o for p, o in zip(peer.times, ours.times, strict=True)])


def quartiles(numbers: Sequence[float]) -> tuple[float, float]:
    """A quarter of the numbers is below the first, a quarter above the second."""
    if len(numbers) < 2:
        return numbers[0], numbers[0]
    low, _, high = statistics.quantiles(numbers, n=4, method="inclusive")
    return low, high


def geometric_mean(ratios: Iterable[float]) -> float:
    """The mean of factors: twice as fast and half as fast make 1."""
    return statistics.geometric_mean(ratios)


def largest_error(ours: Iterable[np.ndarray], peer: Iterable[np.ndarray]) -> float:
    """The largest difference between two lists of arrays, as a share of the largest number of each array."""
    worst = 0.0
    for o, p in zip(ours, peer, strict=True):
        if o.shape != p.shape:
            return math.inf
        a, b = o.astype(np.float64), p.astype(np.float64)
        error = np.abs(a - b).max(initial=0.0) / max(np.abs(b).max(initial=0.0), 1e-30)
        worst = max(worst, float(error) if np.isfinite(error) else math.inf)
    return worst
