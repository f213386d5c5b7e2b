"""Compile progress: how many kernels are still to come, and how long will that take?

    compiling kernel 7 of 24  ######..................  0:12 left

A kernel that was never compiled on a machine takes up to a second; then it is kept on disk, and the next process has it
at once. The first run of a large network is therefore a long one, and whoever waits for it longer than WAIT is told so,
in a line that goes away when the last kernel is there. A terminal and a notebook show it; a file and a pipe do not.
Of several threads that compile at the same time one has the line.

Nothing here knows how kernels are compiled.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

from jt_edu.data.progress_bar import marks, minutes, rewrites, screen
from jt_edu.lens import compile_processes
from jt_edu.runtime import plan
from jt_edu.runtime.plan import Step

WAIT = 1.0  # seconds without a line

_line = threading.Lock()  # held by whoever writes


def shown(
    steps: Sequence[Step], out: TextIO | None = None, clock: Callable[[], float] = time.monotonic
) -> Iterator[Step]:
    """Go over the steps of a plan while they are compiled, and tell how far that is.

    Args:
        steps: all of the plan; those that have a program already, or need none, are passed on and not counted, and
            those with the same source count as one.
        out: where to write; by default `sys.stderr`, in a notebook `sys.stdout`.
        clock: tells the time, in seconds.
    """
    out = screen() if out is None else out
    waiting = {step.source.key for step in steps if _is_new(step)}
    if len(waiting) >= compile_processes.LEAST:
        compile_processes.help_with([step for step in steps if _is_new(step)])
    total, begin, width = len(waiting), clock(), 0
    try:
        for step in steps:
            if step.source.key in waiting:
                waiting.remove(step.source.key)
                number, elapsed = total - len(waiting), clock() - begin
                if number > 1 and elapsed >= WAIT and (width or _may_write(out)):
                    text = told(number, total, elapsed)
                    _write(out, text.ljust(width))
                    width = len(text)
            yield step
    finally:
        if width:
            _line.release()
            _write(out, " " * width + "\r")


def told(number: int, total: int, elapsed: float) -> str:
    """Say that kernel `number` of `total` is being compiled, `elapsed` seconds after the first was begun.

    Example:
        >>> told(7, 24, 4.0)
        'compiling kernel 7 of 24  ######..................  0:12 left'
    """
    done = number - 1
    left = elapsed / done * (total - done)
    return f"compiling kernel {number} of {total}  {marks(done, total)}  {minutes(left)} left"


def _is_new(step: Step) -> bool:
    return step.program is None and step.kind != "host"


def _may_write(out: TextIO | None) -> bool:
    """Whether `out` shows one line again and again, and no other thread writes it; without a console it is None."""
    return rewrites(out) and _line.acquire(blocking=False)


def _write(out: TextIO | None, text: str) -> None:
    assert out is not None, "only who may write writes"
    out.write("\r" + text)
    out.flush()


plan.shown = shown  # from now on
