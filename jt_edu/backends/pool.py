"""Pool: how do several threads share one kernel?

    [0 ......................... span)
    [ block 0 )[ block 1 )[ block 2 )      borders depend on the span, the number of threads and the alignment alone
      caller     thread 1   thread 2       kernels release the GIL, so the blocks run at the same time

One launch at a time has the workers. A launch from another thread meanwhile, or from inside a block, does its blocks
one after the other in the thread it is in: the borders are the same, so the values are the same.

Nothing here knows kernels or numba.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from operator import index
from pathlib import Path

from jt_edu.backends.workers import Spin, Workers
from jt_edu.errors import ArgumentError


def threads() -> int:
    """How many threads a launch uses at most.

    Example:
        >>> jt.get_num_threads() >= 1
        True
    """
    return _pool.size


def set_num_threads(count: int) -> None:
    """Use that many threads from now on. Values do not depend on it, except where blocks are summed.

    Raises:
        ArgumentError: less than 1.

    Example:
        >>> before = jt.get_num_threads()
        >>> jt.set_num_threads(2)
        >>> jt.get_num_threads()
        2
        >>> jt.set_num_threads(before)
    """
    if index(count) < 1:
        raise ArgumentError("set_num_threads asks for a whole number of threads, 1 or more", repr(count))
    _pool.size = count
    _pool.choose()


def lend_spin(spin: Spin) -> None:
    """Let waiting threads spin for a moment before they sleep."""
    _pool.spin = spin
    _pool.choose()


@lru_cache(maxsize=4096)
def borders(span: int, count: int, align: int = 1) -> tuple[tuple[int, int], ...]:
    """Cut [0, span) into at most `count` blocks of nearly the same length, each a multiple of `align` but the last.

    Example:
        >>> borders(100, 3, align=16)
        ((0, 32), (32, 64), (64, 100))
    """
    units = -(-span // align)
    count = max(1, min(count, units))
    return tuple(pairwise([*(units * k // count * align for k in range(count)), span]))


def run(task: Callable[[int], None], count: int) -> None:
    """Call `task(0)` ... `task(count - 1)`, all at once; an error is raised when all have ended."""
    workers = _pool.workers
    if count < 2 or not workers.busy.acquire(blocking=False):
        for block in range(count):
            task(block)
        return
    try:
        workers.run(task, count)
    finally:
        workers.busy.release()


def _cores() -> int:
    """As many as the machine, the affinity of this process and the quota of its container allow."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(OSError, ValueError):  # "200000 100000", or "max 100000"
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        cores = min(cores, -(-int(quota) // int(period)))
    return max(1, cores)


def _asked() -> int:
    asked = os.environ.get("JT_EDU_NUM_THREADS", "")
    return max(1, int(asked)) if asked.isdecimal() else _cores()


@dataclass
class _Pool:
    """What belongs to this process."""

    size: int = field(default_factory=_asked)
    spin: Spin | None = None
    workers: Workers = field(default_factory=Workers)

    def choose(self) -> None:
        """Spin only if each thread can have a core."""
        self.workers.spin = self.spin if self.size <= _cores() else None


def _after_fork() -> None:
    _pool.workers = Workers()  # threads do not survive a fork
    _pool.choose()


_pool = _Pool()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
