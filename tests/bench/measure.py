"""Measure: how much CPU time does a call take, and how does it compare with another?

    round 1    ours  peer  limit
    round 2    ours  peer  limit     ...     the best of all rounds counts; the rounds side by side give the spread

A machine that is shared has slow moments. They hit all sides alike when the sides take turns, and the smallest of many
samples has met none of them. CPU time does not count the time in which somebody else has the core. A sample repeats a
short call until it is long enough for the clock.

Nothing here knows what is measured. The clock is an argument, so that tests can bring their own.
"""

import math
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

LEAST = 2e-3  # seconds of one sample
CALLS = 1 << 20  # in one sample at most
WARM = 3  # calls before anything is timed

Clock = Callable[[], float]


@dataclass(frozen=True)
class Times:
    """Seconds of one call, once for each round."""

    samples: tuple[float, ...]

    @property
    def best(self) -> float:
        return min(self.samples)


def take_turns(
    sides: Mapping[str, Callable[[], object]], rounds: int, clock: Clock = time.process_time, least: float = LEAST
) -> dict[str, Times]:
    """Time every side once in each round."""
    for side in sides.values():
        for _ in range(WARM):
            side()
    calls = {name: enough(side, clock, least) for name, side in sides.items()}
    samples = {name: [] for name in sides}
    for _ in range(rounds):
        for name, side in sides.items():
            samples[name].append(seconds(side, calls[name], clock) / calls[name])
    return {name: Times(tuple(found)) for name, found in samples.items()}


def enough(call: Callable[[], object], clock: Clock = time.process_time, least: float = LEAST) -> int:
    """How many calls take `least` seconds or more."""
    count = 1
    while count < CALLS:
        took = seconds(call, count, clock)
        if took >= least:
            return count
        growth = 2.0 if took <= 0 else min(10.0, 1.2 * least / took)
        count = max(count + 1, math.ceil(count * growth))
    return CALLS


def seconds(call: Callable[[], object], count: int, clock: Clock = time.process_time) -> float:
    """CPU time of `count` calls; what they return is dropped at once, as a training loop does."""
    begin = clock()
    for _ in range(count):
        call()
    return clock() - begin


def spread(peer: Times, ours: Times) -> tuple[float, float]:
    """The quartiles of peer / ours over the rounds."""
    ratios = [p / o for p, o in zip(peer.samples, ours.samples, strict=True)]
    if len(ratios) < 2:
        return ratios[0], ratios[0]
    low, _, high = statistics.quantiles(ratios, n=4, method="inclusive")
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
