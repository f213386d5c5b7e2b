"""Compile progress: how many kernels are still to come, and how long will that take?

    compiling kernel 7 of 24  ######..................  0:12 left

A kernel that was never compiled on a machine takes up to a second; then it is kept on disk, and the next process has it
at once. The first run of a large network is therefore a long one, and whoever waits for it is told so, in a line that
goes away when the last kernel is there (waiting_line.py).
Of several threads that compile at the same time one has the line.

Nothing here knows how kernels are compiled.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TextIO

from jt_edu.data.progress_bar import marks, minutes
from jt_edu.lens import compile_processes
from jt_edu.lens.waiting_line import Line
from jt_edu.runtime import plan
from jt_edu.runtime.plan import Step


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
    waiting = {step.source.key for step in steps if _is_new(step)}
    if len(waiting) >= compile_processes.LEAST:
        compile_processes.help_with([step for step in steps if _is_new(step)])
    total, line = len(waiting), Line(out, clock)
    try:
        for step in steps:
            if step.source.key in waiting:
                waiting.remove(step.source.key)
                number = total - len(waiting)
                if number > 1:
                    line.show(partial(told, number, total))
            yield step
    finally:
        line.close()


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


plan.shown = shown  # from now on
