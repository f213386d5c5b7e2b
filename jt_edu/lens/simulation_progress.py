"""Simulation progress: how many blocks of a launch has the interpreter run, and how long will the others take?

interpreting each: block 1,025 of 4,096  ######..................  0:03 left
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TextIO, TypeVar

from jt_edu.cuda import launch
from jt_edu.data.progress_bar import marks, minutes
from jt_edu.lens.waiting_line import Line

Place = TypeVar("Place")


def shown(
    blocks: Iterable[Place], kernel: str, total: int, out: TextIO | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Place]:  # fmt: skip
    """Go over the blocks of a launch while they are run, and tell how far that is.

    Args:
        blocks: of the launch.
        kernel: its name.
        total: how many blocks there are.
        out: where to write; by default `sys.stderr`, in a notebook `sys.stdout`.
        clock: tells the time, in seconds.
    """
    line = Line(out, clock)
    try:
        for done, block in enumerate(blocks):
            if done:
                line.show(partial(told, kernel, done, total))
            yield block
    finally:
        line.close()


def told(kernel: str, done: int, total: int, elapsed: float) -> str:
    """Say that so many blocks are done, `elapsed` seconds after the first was begun.

    Example:
        >>> told("each", 1024, 4096, 1.0)
        'interpreting each: block 1,025 of 4,096  ######..................  0:03 left'
    """
    left = elapsed / done * (total - done)
    return f"interpreting {kernel}: block {done + 1:,} of {total:,}  {marks(done, total)}  {minutes(left)} left"


launch.shown = shown  # from now on
