"""Workers: how are several threads set to work, and waited for?

    caller      put, put, ... own block, look, wait
    worker      get,  block,  say so, look, get ...

Queues and locks decide what happens. A backend may lend a way to spin, which only shortens the waiting: a thread looks
at a counter for a moment before it goes to sleep. Where a core is short that is in vain, and left off for a while.

Nothing here knows kernels, or which block is which.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np

_PAUSE = 32  # launches
_SHORT = 0.5e-3  # seconds
Counter = np.ndarray[Any, Any]  # one int64 that matters, and room, so that no two share a cache line
Spin = Callable[[int, int, Counter, Counter], None]  # spin(say, n, mine, other): see spin.py


class _Job(NamedTuple):
    """One block of a launch, as a worker receives it."""

    launch: int  # its number
    task: Callable[[int], None]
    block: int
    errors: dict[int, BaseException]
    tickets: list[int]  # one for each worker; popping is atomic, and whoever pops 0 is the last
    ended: threading.Lock  # held until then


class Workers:
    """Worker threads, each with a queue of its own; they start when first needed."""

    def __init__(self) -> None:
        self.spin: Spin | None = None
        self.busy = threading.Lock()
        self.queues: list[SimpleQueue[_Job]] = []
        self.begun, self.ended = np.zeros((2, 32), np.int64)  # the number of the last launch that did
        self.pause = 0  # for so many launches, do not spin

    def run(self, task: Callable[[int], None], count: int) -> None:
        """Block 0 here, the others one on each worker; an error is raised when all have ended."""
        while len(self.queues) < count - 1:
            queue: SimpleQueue[_Job] = SimpleQueue()
            name = f"jt_edu-{len(self.queues) + 1}"
            threading.Thread(target=_work, args=(self, queue), name=name, daemon=True).start()
            self.queues.append(queue)  # only now: the system may refuse another thread
        launch, ended, tickets = int(self.begun[0]) + 1, _held(), list(range(count - 1))
        errors: dict[int, BaseException] = {}
        start = time.perf_counter()
        try:
            for block in range(1, count):
                self.queues[block - 1].put(_Job(launch, task, block, errors, tickets, ended))
            self.begun[0] = launch
            _attempt(task, 0, errors)
            if self.pause:
                self.pause -= 1
            else:
                self.look(0, launch - 1, self.begun, self.ended)
                if ended.locked() and time.perf_counter() - start < _SHORT:  # another process may have that core
                    self.pause = _PAUSE
            ended.acquire()
        except BaseException:  # Ctrl-C: what a worker has begun it ends, while its arrays are still there
            self.drain()
            raise
        if errors:
            raise errors[min(errors)]

    def look(self, say: int, number: int, mine: Counter, other: Counter) -> None:
        """Say something, and wait for a moment until the other counter is above a number; or go on at once."""
        if self.spin is not None and not self.pause:
            self.spin(say, number, mine, other)

    def drain(self) -> None:
        """Wait until each worker has come to the end of its queue, however often Ctrl-C is pressed."""
        for queue in self.queues:
            reached = threading.Event()
            queue.put(_Job(0, lambda _, it=reached: it.set(), 0, {}, [0], _held()))  # type: ignore[misc]
            while not reached.is_set():
                with suppress(KeyboardInterrupt):
                    reached.wait()


def _work(workers: Workers, queue: SimpleQueue[_Job]) -> None:
    while True:
        launch, last = _finish(queue.get())  # in a function, so that a waiting worker keeps no arrays alive
        workers.look(launch if last else 0, launch, workers.ended, workers.begun)


def _finish(job: _Job) -> tuple[int, bool]:
    _attempt(job.task, job.block, job.errors)
    last = job.tickets.pop() == 0
    if last:
        job.ended.release()
    return job.launch, last


def _attempt(task: Callable[[int], None], block: int, errors: dict[int, BaseException]) -> None:
    try:
        task(block)
    except BaseException as error:  # noqa: BLE001 - the caller raises it
        errors[block] = error


def _held() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock
