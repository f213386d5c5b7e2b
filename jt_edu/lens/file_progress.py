"""File progress: how far is a large file, and how long will the rest take?

reading vgg19-dcbb9e9d.pth: 229 of 548 MB  ##########..............  0:02 left
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from jt_edu.data.progress_bar import marks, minutes
from jt_edu.lens.waiting_line import Line
from jt_edu.nn.weight_files import packed

MB = 10**6


@contextmanager
def metered(
    verb: str, path: Any, total: int, out: TextIO | None = None, clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[[int], None]]:
    """Tell how far a file is. The function that one gets is told of the bytes that have come.

    Args:
        verb: what is done with the file, such as "reading".
        path: of the file, or the file.
        total: bytes; 0 if nobody knows.
        out: where to write; by default `sys.stderr`, in a notebook `sys.stdout`.
        clock: tells the time, in seconds.
    """
    name, done, line = Path(getattr(path, "name", path)).name, 0, Line(out, clock)

    def seen(count: int) -> None:
        nonlocal done
        done += count
        line.show(partial(told, f"{verb} {name}", done, total))

    try:
        yield seen
    finally:
        line.close()


def told(what: str, done: int, total: int, elapsed: float) -> str:
    """The line, `elapsed` seconds after the begin.

    Example:
        >>> told("reading vgg19.pth", 229_000_000, 548_000_000, 1.4)
        'reading vgg19.pth: 229 of 548 MB  ##########..............  0:02 left'
    """
    if not 0 < done <= total:
        return f"{what}: {done // MB} MB"
    left = elapsed / done * (total - done)
    return f"{what}: {done // MB} of {total // MB} MB  {marks(done, total)}  {minutes(left)} left"


packed.metered = metered  # from now on
