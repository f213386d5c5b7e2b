"""Waiting line: one line for whoever waits longer than WAIT, which goes away when the waiting is over.

A terminal and a notebook show it; a file and a pipe do not. Of several threads that have something to tell, one has it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TextIO

from jt_edu.data.progress_bar import rewrites, screen

WAIT = 1.0  # seconds without a line

_line = threading.Lock()  # held by whoever writes


class Line:
    """A line that is written again and again.

    Args:
        out: where to write; by default `sys.stderr`, in a notebook `sys.stdout`.
        clock: tells the time, in seconds.
    """

    def __init__(self, out: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.out = screen() if out is None else out
        self.clock, self.begin, self.width = clock, clock(), 0

    def show(self, told: Callable[[float], str]) -> None:
        """Write what `told` says, given the seconds since the begin; unless it is too early, or nobody would see it."""
        elapsed = self.clock() - self.begin
        if elapsed >= WAIT and (self.width or (rewrites(self.out) and _line.acquire(blocking=False))):
            text = told(elapsed)
            self._write(text.ljust(self.width))
            self.width = len(text)

    def close(self) -> None:
        """Take the line away."""
        if self.width:
            _line.release()
            self._write(" " * self.width + "\r")
            self.width = 0

    def _write(self, text: str) -> None:
        assert self.out is not None, "only who may write writes"
        self.out.write("\r" + text)
        self.out.flush()
