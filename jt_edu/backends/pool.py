"""Pool: how do several threads share one kernel?

    [0 ......................... span)
    [ block 0 )[ block 1 )[ block 2 )      borders depend on the span, the number of threads and the alignment alone
      caller     thread 1   thread 2       kernels release the GIL, so the blocks run at the same time

One launch at a time has the pool. A launch from another thread meanwhile, or from inside a block, does its blocks one
after the other in the thread it is in: the borders are the same, so the values are the same.

Queues and locks decide what happens. A backend may lend a way to spin, which only shortens the waiting: a thread that
waits for another looks at its counter for a moment before it goes to sleep. Nothing here knows kernels or numba.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from jt_edu.errors import ArgumentError

Counter = np.ndarray[Any, Any]  # one int64 that matters, and room so that no two share a cache line
Spin = Callable[[int, int, Counter], None]  # spin(0, n, counter) returns when counter[0] > n, or after a moment


class _Job(NamedTuple):
    """One block of a launch, as a worker receives it."""

    task: Callable[[int], None]
    block: int
    errors: dict[int, BaseException]
    tickets: list[int]  # one for each worker; popping is atomic, and whoever pops 0 is the last
    ended: threading.Lock  # held until then


_T=np.zeros(32,np.int64)
class _Pool:
    """Worker threads, each with a queue of its own; they start when first needed."""

    def __init__(self, size: int, spin: Spin | None) -> None:
        self.size, self.cores, self.spin = size, _cores(), spin
        self.busy = threading.Lock()
        self.queues: list[SimpleQueue[_Job]] = []
        self.given: list[Counter] = []  # how many jobs each worker was given
        self.ended = _counter()  # how many launches have ended

    def run(self, task: Callable[[int], None], count: int) -> None:
        while len(self.queues) < count - 1:
            self.queues.append(SimpleQueue())
            self.given.append(_counter())
            arguments = (self, self.queues[-1], self.given[-1])
            threading.Thread(target=_work, args=arguments, name=f"jt_edu-{len(self.queues)}", daemon=True).start()
        before, ended, tickets = int(self.ended[0]), _held(), list(range(count - 1))
        errors: dict[int, BaseException] = {}
        try:
            for block in range(1, count):
                self.give(block, _Job(task, block, errors, tickets, ended))
            _attempt(task, 0, errors)
            self.look(before, self.ended)
            ended.acquire()
        except BaseException:  # Ctrl-C: what a worker has begun it ends, while its arrays are still there
            self.drain()
            raise
        if errors:
            raise errors[min(errors)]

    def give(self, worker: int, job: _Job) -> None:
        self.queues[worker - 1].put(job)
        self.given[worker - 1][0] += 1

    def look(self, number: int, counter: Counter, n=0, tell=_T) -> None:
        if self.spin is not None and self.size <= self.cores:
            self.spin(n, number, counter, tell)

    def drain(self) -> None:
        """Wait until each worker has come to the end of its queue, however often Ctrl-C is pressed."""
        for worker in range(1, len(self.queues) + 1):
            reached = threading.Event()
            self.give(worker, _Job(lambda _, it=reached: it.set(), 0, {}, [0], _held()))  # type: ignore[misc]
            while not reached.is_set():
                with suppress(KeyboardInterrupt):
                    reached.wait()


def threads() -> int:
    """How many threads a launch uses at most."""
    return _pool.size


def set_num_threads(count: int) -> None:
    """Use that many threads from now on. Values do not depend on it, except where blocks are summed."""
    if not isinstance(count, int) or count < 1:
        raise ArgumentError("set_num_threads asks for a whole number of threads, 1 or more", repr(count))
    _pool.size = count


def lend_spin(spin: Spin) -> None:
    """Let waiting threads spin for a moment before they sleep."""
    _pool.spin = spin


def borders(span: int, count: int, align: int = 1) -> list[tuple[int, int]]:
    """Cut [0, span) into at most `count` blocks of nearly the same length, each a multiple of `align` but the last.

    Example:
        >>> borders(100, 3, align=16)
        [(0, 32), (32, 64), (64, 100)]
    """
    units = -(-span // align)
    count = max(1, min(count, units))
    return list(pairwise([*(units * k // count * align for k in range(count)), span]))


def run(task: Callable[[int], None], count: int) -> None:
    """Call `task(0)` ... `task(count - 1)`, all at once; an error is raised when all have ended."""
    pool = _pool
    if count < 2 or not pool.busy.acquire(blocking=False):
        for block in range(count):
            task(block)
        return
    try:
        pool.run(task, count)
    finally:
        pool.busy.release()


def _work(pool: _Pool, queue: SimpleQueue[_Job], given: Counter) -> None:
    done = 0
    n=0
    while True:
        pool.look(done, given, n, pool.ended)
        n=_finish(pool, queue.get())  # in a function, so that a waiting worker keeps no arrays alive
        done += 1


def _finish(pool: _Pool, job: _Job) -> int:
    _attempt(job.task, job.block, job.errors)
    if job.tickets.pop() == 0:
        job.ended.release()
        return int(pool.ended[0])+1
    return 0


def _attempt(task: Callable[[int], None], block: int, errors: dict[int, BaseException]) -> None:
    try:
        task(block)
    except BaseException as error:  # noqa: BLE001 - the caller raises it
        errors[block] = error


def _held() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


def _counter() -> Counter:
    return np.zeros(32, np.int64)


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


def _after_fork() -> None:
    global _pool  # noqa: PLW0603 - threads do not survive a fork
    _pool = _Pool(_pool.size, _pool.spin)


_pool = _Pool(_asked(), None)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
