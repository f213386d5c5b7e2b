"""Thread pool: how do several threads share one kernel?

    [0 ......................... span)
    [ block 0 )[ block 1 )[ block 2 )      borders depend on the span, the number of threads and the alignment alone
      caller     thread 1   thread 2       kernels release the GIL, so the blocks run at the same time

Threads are not equally fast: one has to wake up first, another has to share its core with other processes. So a block
may be cut into pieces, and whoever is free takes the next one:

    [       0       )[       1       )[   2   )[   3   )[ 4 )[ 5 )[6)[7)      `pieces` for two threads

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

from jt_edu.backends.thread_workers import Spin, Workers
from jt_edu.base.errors import ArgumentError, DtypeError


def threads() -> int:
    """How many threads a launch uses at most.

    Example:
        >>> jt.get_num_threads() >= 1
        True
    """
    return _pool.size


def set_num_threads(count: int) -> None:
    """Use that many threads from now on. Values do not depend on it, except where blocks are summed.

    More than there are cores are taken without a word, as by PyTorch: they are useful to nobody, but a program that
    asks for 8 threads is to run on any machine. They share the cores, and wait asleep, without spinning.

    Args:
        count: a whole number, 1 or more.

    Raises:
        DtypeError: `count` is no whole number.
        ArgumentError: it is less than 1.

    Example:
        >>> before = jt.get_num_threads()
        >>> jt.set_num_threads(2)
        >>> jt.get_num_threads()
        2
        >>> jt.set_num_threads(before)
    """
    try:
        wanted = int(index(count))  # True is a whole number, too
    except TypeError:
        raise DtypeError("set_num_threads asks for a whole number of threads", repr(count), "1 or more") from None
    if wanted < 1:
        raise ArgumentError("set_num_threads asks for a whole number of threads, 1 or more", repr(count))
    _pool.size = wanted
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


@lru_cache(maxsize=4096)
def pieces(span: int, count: int, align: int, depth: int) -> tuple[tuple[int, int], ...]:
    """Cut [0, span) into `count` blocks of half of it, as many of half of the rest, and so on; depth 1 is `borders`.

    Example:
        >>> pieces(100, 2, 1, depth=3)
        ((0, 25), (25, 50), (50, 62), (62, 75), (75, 87), (87, 100))
    """
    units, begin, marks = -(-span // align), 0, []
    for level in range(depth):
        size = units - begin if level == depth - 1 else (units - begin) // 2
        marks += [begin + size * k // count for k in range(count)]
        begin += size
    begins = [align * mark for mark in dict.fromkeys(marks) if mark < units]
    return tuple(pairwise([*(begins or [0]), span]))


def run(task: Callable[[int], None], count: int) -> None:
    """Call `task(0)` ... `task(count - 1)`, at once where threads are free; an error is raised when all have ended."""
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
