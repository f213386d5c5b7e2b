"""Training loop: a training that runs while others are served, and that can be paused between any two steps.

    loop = Loop(training, tell)      tell({"rows": [...], "status": ..., "units": ...}): what is new, not too often
    await loop.train(steps=500)      in an async cell: messages are handled between steps
    loop.step()                      one step, from anywhere

Who asks for a pause or a step may be another thread: Jupyter handles messages in one of its own. Steps and looks back
take turns by a lock; a request during training is a mark that the loop sees before its next step.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.lens.train_monitor import Row, Training
from jt_edu.variable.var import Var

BREATHE = 0.02  # seconds of training between two breaks, in which other threads and messages have their turn
TELL_EVERY = 0.1  # seconds
RECENT = 20  # steps whose times tell how long the rest will take


@dataclass
class Loop:
    """How far a training is, and whether it is to go on."""

    training: Training
    tell: Callable[[dict[str, Any]], None] = lambda news: None
    planned: int = 0  # steps, counted from the first of all
    paused: bool = False
    running: bool = False
    goal: int = 0  # in a pause it goes on up to this step
    turn: threading.RLock = field(default_factory=threading.RLock, repr=False)
    told: int = 0  # steps
    told_at: float = 0.0

    def step(self) -> Row:
        """Train on one batch; its row."""
        with self.turn:
            row = self.training.step()
            self.planned = max(self.planned, self.training.done)
        self._tell(now=not self.running)
        return row

    def ask_step(self) -> None:
        """One step: by the loop if it runs, which is paused then; else here and now."""
        with self.turn:  # the step under way ends first, so that one more is exactly one
            if self.running:
                self.paused, self.goal = True, max(self.goal, self.training.done) + 1
                return
        self.step()

    def pause(self, wanted: bool = True) -> None:
        """Stop before the next step; or go on."""
        self.paused, self.goal = wanted, self.training.done
        self._tell(now=True)

    async def train(self, steps: int | None = None, epochs: int | None = None) -> None:
        """Train for `steps` batches, or for `epochs` over all of them; an interrupt ends it between two steps."""
        self.planned = self.training.done + self._count(steps, epochs)
        self.running, self.paused = True, False  # who asks for training wants it to go on
        self._tell(now=True)
        try:
            await self._run()
            with self.turn:
                self.training.validate()
        finally:
            self.running = False
            self._tell(now=True)

    async def _run(self) -> None:
        rested = time.perf_counter()
        while self.training.done < self.planned:
            if self.paused and self.training.done >= self.goal:
                if self.told < self.training.done:
                    self._tell(now=True)
                await asyncio.sleep(BREATHE)
                continue
            self.step()
            tired = time.perf_counter() - rested > BREATHE
            await asyncio.sleep(0.001 if tired else 0)
            rested = time.perf_counter() if tired else rested

    def _count(self, steps: int | None, epochs: int | None) -> int:
        batches, wanted = self.training.batches, steps if epochs is None else epochs
        if self.running:
            raise ArgumentError("only one training can run at a time", "another train() of this loop still running")
        if (steps is None) == (epochs is None) or not isinstance(wanted, int) or wanted < 1:
            found = f"steps={steps}, epochs={epochs}"
            raise ArgumentError("train takes a number of steps or of epochs, from 1", found, "steps=100")
        if epochs is None:
            return wanted
        if not isinstance(batches, Sized):
            raise ArgumentError("epochs are counted by the length of the batches", type(batches).__name__, "steps=100")
        return wanted * len(batches)

    def _tell(self, now: bool) -> None:
        if now or time.monotonic() - self.told_at >= TELL_EVERY:
            rows = [row for row in self.training.rows if row["step"] > self.told]
            self.told, self.told_at = rows[-1]["step"] if rows else self.told, time.monotonic()
            news = {"units": self.training.units, "checks": self.training.checks}
            self.tell({"rows": rows, "status": self.status(), **news})

    @contextmanager
    def at(self, step: int) -> Iterator[Var]:
        """The loss of a kept step, as `Training.at`; no step is made meanwhile."""
        with self.turn, self.training.at(step) as loss:
            yield loss

    def status(self) -> dict[str, Any]:
        """How far it is, as plain data."""
        t, recent = self.training, [row["ms"] for row in self.training.rows[-RECENT:]]
        left = sum(recent) / len(recent) * (self.planned - t.done) if recent else None
        return {
            "done": t.done, "planned": self.planned, "running": self.running, "paused": self.paused,
            "left_ms": left, "kept": list(t.kept), "kept_bytes": t.kept_bytes, "thinned": t.thinned,
        }  # fmt: skip
