"""Thread workers: how are several threads set to work, and waited for?

    caller      put, put, ... block 0,  blocks that nobody has begun,  look, wait
    worker      get,  a block that nobody has begun,  say so,  look,  get ...

A worker that slept needs a moment to wake up, and where another process has its core it may not come at all. So blocks
are not given to workers: whoever is there takes the next, and the caller waits only for those that somebody has begun.

Queues and locks decide what happens. A backend may lend a way to spin, which only shortens the waiting: a thread looks
at a counter for a moment before it goes to sleep. Where that is in vain several times in a row, a core is short, and it
is left off for a while.

Nothing here knows kernels, or which block is which.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

import numpy as np

_VAIN = 3  # launches in a row that were waited for in vain, after which no thread spins
_PAUSE = 32  # launches, for which that is so
_SHORT = 0.5e-3  # seconds
Counter = np.ndarray[Any, Any]  # one int64 that matters, and room, so that no two share a cache line
Spin = Callable[[int, int, Counter, Counter], None]  # spin(say, n, mine, other): see spin_wait.py


class _Launch:
    """A task, and its blocks: those that nobody has begun, and how many have not ended."""

    def __init__(self, number: int, task: Callable[[int], None], count: int) -> None:
        self.number = number
        self.task: Callable[[int], None] | None = task
        self.left = list(range(count))[::-1]  # popping is atomic, so that each block has one who takes it
        self.tickets = list(range(count))  # and whoever pops 0 has done the last one
        self.errors: dict[int, BaseException] = {}
        self.ended = _held()  # until then

    def work(self) -> bool:
        """Take the next block as long as there is one; whether the last one to end was among them."""
        last = False
        while self.left:
            with suppress(IndexError):  # somebody was faster
                last = self._do(self.left.pop())
        return last

    def _do(self, block: int) -> bool:
        assert self.task is not None, "it is forgotten when all blocks have ended"
        try:
            self.task(block)
        except BaseException as error:  # noqa: BLE001 - the caller raises it
            self.errors[block] = error
        last = self.tickets.pop() == 0
        if last:
            self.ended.release()
        return last


class Workers:
    """Worker threads, each with a queue of its own; they start when first needed."""

    def __init__(self) -> None:
        self.spin: Spin | None = None
        self.busy = threading.Lock()
        self.queues: list[SimpleQueue[_Launch]] = []
        self.begun, self.ended = np.zeros((2, 32), np.int64)  # the number of the last launch that did
        self.vain = 0  # so many times in a row, spinning was in vain
        self.pause = 0  # for so many launches, do not spin

    def run(self, task: Callable[[int], None], count: int) -> None:
        """Block 0 here, the others wherever a thread is free; an error is raised when all have ended."""
        while len(self.queues) < count - 1:
            queue: SimpleQueue[_Launch] = SimpleQueue()
            threading.Thread(None, _work, f"jt_edu-{len(self.queues) + 1}", (self, queue), daemon=True).start()
            self.queues.append(queue)  # only now: the system may refuse another thread
        launch = _Launch(int(self.begun[0]) + 1, task, count)
        first, start = launch.left.pop(), time.perf_counter()
        try:
            for queue in self.queues[: count - 1]:
                queue.put(launch)
            self.begun[0] = launch.number
            launch._do(first)
            launch.work()
            self.wait(launch, start)
        except BaseException:  # Ctrl-C: what a worker has begun it ends, while its arrays are still there
            launch.left.clear()
            self.drain()
            raise
        launch.task = None  # a worker may not have looked into its queue yet
        if launch.errors:
            raise launch.errors[min(launch.errors)]

    def wait(self, launch: _Launch, start: float) -> None:
        """Until the blocks that others have begun are done."""
        if self.pause:
            self.pause -= 1
        elif launch.ended.locked():
            self.look(0, launch.number - 1, self.begun, self.ended)
            short = launch.ended.locked() and time.perf_counter() - start < _SHORT  # another process may have that core
            self.vain = self.vain + 1 if short else 0
            if self.vain == _VAIN:
                self.vain, self.pause = 0, _PAUSE
        launch.ended.acquire()

    def look(self, say: int, number: int, mine: Counter, other: Counter) -> None:
        """Say something, and wait for a moment until the other counter is above a number; or go on at once."""
        if self.spin is not None and not self.pause:
            try:
                self.spin(say, number, mine, other)
            except Exception:  # noqa: BLE001 - it only shortens the waiting, and a worker that ends is waited for
                self.spin = None

    def drain(self) -> None:
        """Wait until each worker has come to the end of its queue, however often Ctrl-C is pressed."""
        for queue in self.queues:
            reached = threading.Event()
            queue.put(_Launch(0, lambda _, it=reached: it.set(), 1))  # type: ignore[misc]
            while not reached.is_set():
                with suppress(KeyboardInterrupt):
                    reached.wait()


def _work(workers: Workers, queue: SimpleQueue[_Launch]) -> None:
    while True:
        launch, last = _finish(queue.get())  # in a function, so that a waiting worker keeps no arrays alive
        workers.look(launch if last else 0, launch, workers.ended, workers.begun)


def _finish(launch: _Launch) -> tuple[int, bool]:
    return launch.number, launch.work()


def _held() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock
