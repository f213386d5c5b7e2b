"""Clock: how long does an end take, if nobody else needs the cores?

    seconds     what this process computes, and how long it waits in vain: until a limit of its own is reached

A machine that is busy with something else makes neither longer, so what is promised in seconds can be held on any
machine. To wait for what does happen costs nothing here; where it does not happen, a test does not end. What happens
may be that a worker comes home, so the seconds that workers sleep before they do are written down as well.
"""

import time
from collections.abc import Callable
from multiprocessing.context import SpawnProcess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from jt_edu.data import worker_pool, worker_process

LONG = 120.0  # seconds for what takes a moment, unless the machine is busy


class Clock:
    """The clock of the process that has workers, from now on."""

    def __init__(self, put: Callable[[Any, str, Any], None] = setattr) -> None:
        self.killed: set[int] = set()  # processes that end for certain: they may take as long as they need
        self.now = 0.0
        self.restart()
        put(worker_pool, "time", SimpleNamespace(monotonic=lambda: self.now, sleep=time.sleep))
        put(worker_pool, "_wait", self._waits(worker_pool._wait))
        put(SpawnProcess, "kill", self._kills(SpawnProcess.kill))

    def restart(self) -> None:
        """Count from here."""
        self.begun, self.computed = self.now, time.process_time()

    @property
    def seconds(self) -> float:
        """Waited in vain, and computed."""
        return self.now - self.begun + time.process_time() - self.computed

    def _waits(self, wait: Any) -> Any:
        def waits(process: SpawnProcess, seconds: float) -> None:
            wait(process, LONG if process.pid in self.killed else seconds)
            if process.is_alive():
                self.now += seconds

        return waits

    def _kills(self, kill: Any) -> Any:
        def kills(process: SpawnProcess) -> None:
            self.killed.add(process.pid)
            kill(process)

        return kills


def note_sleeps(folder: Path, number: int) -> None:
    """For a worker, as it starts: whenever our code sleeps there, the seconds are written down."""

    def sleep(seconds: float) -> None:
        with (folder / f"worker {number}").open("a") as file:
            file.write(f"{seconds}\n")
        time.sleep(seconds)

    worker_process.time = SimpleNamespace(sleep=sleep)


def slept(folder: Path, count: int = 2) -> list[float]:
    """Seconds that each worker slept, all at the same time."""
    files = [folder / f"worker {number}" for number in range(count)]
    return [sum(map(float, file.read_text().split())) if file.exists() else 0.0 for file in files]
