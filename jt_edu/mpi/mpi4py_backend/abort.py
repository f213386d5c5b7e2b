"""Abort: how does a rank end all ranks, so that its last words are heard?

    its words   rank --pipe----> launcher --> terminal
    its Abort   rank --socket--> launcher, which ends all ranks, and reads no pipe any more

Nothing says which of the two the launcher looks at first. So a rank waits until its pipes are empty before it aborts.

Nothing here knows communicators.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

try:  # not on Windows, where nobody looks into pipes
    import fcntl
    import termios
except ImportError:  # pragma: no cover
    PIPES_TELL = False
else:
    PIPES_TELL = True

PATIENCE = 10.0  # seconds for the launcher to read: on a busy machine it may have to wait for its turn
LOOK = 0.002  # seconds between two looks


def abort(mpi: Any, code: int = 1) -> None:
    """End all ranks with an exit code, as soon as the launcher has what this rank has written."""
    wait_until_read((1, 2), PATIENCE)
    mpi.COMM_WORLD.Abort(code)


def wait_until_read(handles: Iterable[int], seconds: float) -> None:
    """Wait until nothing is left in the pipes behind these file numbers, but not for long."""
    pipes, until = [*filter(_is_pipe, handles)], time.monotonic() + seconds
    while any(map(_unread, pipes)) and time.monotonic() < until:
        time.sleep(LOOK)


def _is_pipe(handle: int) -> bool:
    with suppress(OSError):
        return PIPES_TELL and stat.S_ISFIFO(os.fstat(handle).st_mode)
    return False


def _unread(pipe: int) -> int:
    """How many bytes are in a pipe; 0 where that cannot be told."""
    with suppress(OSError):
        return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)
    return 0
