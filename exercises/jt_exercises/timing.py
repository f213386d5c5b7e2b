"""Timing: how many times as long does one thing take as another, on a machine that does other things, too?

    ratio(apart, fused)     CPU time of `apart` over that of `fused`: in turns, the least of 15 each
    least(work)             CPU seconds of one: the least of 15, to be divided by what was measured a moment ago

A clock on the wall also counts what others do, so it is the CPU's clock of this process that is read. Whatever disturbs
us makes a run longer, never shorter, so the least counts. And the two take turns, so that a slow minute hits both.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

ROUNDS = 15


def ratio(
    one: Callable[[], Any], other: Callable[[], Any], rounds: int = ROUNDS, clock: Callable[[], float] | None = None
) -> float:
    """CPU time of `one` over that of `other`; both run once before, so that nothing is compiled in between."""
    read, least = clock or time.process_time, [float("inf"), float("inf")]
    for round_ in range(rounds + 1):
        for k, work in enumerate((one, other)):
            begin = read()
            work()
            took = read() - begin
            least[k] = min(least[k], took) if round_ else least[k]
    return least[0] / max(least[1], 1e-9)


def least(work: Callable[[], Any], rounds: int = ROUNDS, clock: Callable[[], float] | None = None) -> float:
    """CPU seconds of the fastest of several runs, after one that does not count."""
    read, found = clock or time.process_time, float("inf")
    work()
    for _ in range(rounds):
        begin = read()
        work()
        found = min(found, read() - begin)
    return max(found, 1e-9)
