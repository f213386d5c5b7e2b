"""Worlds: a machine whose true times are known, so that a measurement can be judged.

    world = World(seed, disturbed=0.4, drift=0.01)
    work = world.work(1.0)      a function that "takes" 1 second: the first call 20 to 60 times as long, it compiles
    work()                      the clock goes on by 1 second and a little; in 4 of 10 calls by much more
    world.clock()               what it says now

Nothing waits: the clock of a world goes on only when something runs. How long it compiles has nothing to do with how
long the work takes, so first calls tell nothing. `cache_misses` is a cache that forgets the least recently used one.
"""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Callable, Iterable

COMPILES = (19.0, 59.0)  # times as long as the work, somewhere between: what a first call takes besides
JITTER = 0.01  # of a call that nothing disturbs
READING = 1e-7  # seconds that it takes to look at the clock


class World:
    """A simulated clock, and work that takes time on it; the same seed gives the same disturbances."""

    def __init__(self, seed: int, disturbed: float = 0.3, drift: float = 0.0) -> None:
        self._draw = random.Random(seed)  # noqa: S311 - disturbances, not secrets
        self._now, self._disturbed, self._drift = 100.0, disturbed, drift
        self.calls = 0

    def clock(self) -> float:
        """Seconds, from some moment on."""
        self._now += READING
        return self._now

    def work(self, seconds: float) -> Callable[[], None]:
        """Work that takes so long where nothing disturbs it."""
        fresh = [True]

        def run() -> None:
            took = seconds * (1 + JITTER * self._draw.random()) * (1 + self._drift * self.calls)
            if self._draw.random() < self._disturbed:
                took *= self._draw.uniform(1.4, 6.0)
            if fresh.pop() if fresh else False:
                took += seconds * self._draw.uniform(*COMPILES)
            self._now += took
            self.calls += 1

        return run


def cache_misses(reads: Iterable[int], lines: int) -> int:
    """How many of these reads, of numbered cache lines, find nothing in a cache of so many lines.

    Example:
        >>> cache_misses([1, 2, 1, 2], 2), cache_misses([1, 2, 3, 1, 2, 3], 2)
        (2, 6)
    """
    kept: OrderedDict[int, None] = OrderedDict()
    misses = 0
    for line in reads:
        misses += line not in kept
        kept[line] = None
        kept.move_to_end(line)
        if len(kept) > lines:
            kept.popitem(last=False)
    return misses
