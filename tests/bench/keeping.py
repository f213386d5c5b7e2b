"""Keeping: what would a row cost the peer if malloc gave nothing back to the system?

    malloc as it is     blocks above 32 MB come from the system at each call, and go back: every page is a fault
    keeping()           every block stays with the process, as in jt_edu's own pool

Who runs PyTorch as it is installed pays for these faults, so they are a part of its time. They say nothing about its
kernels, so rows in which they happen tell both ratios.
"""

import ctypes
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.bench.measure import Clock, take_turns

TRIM_THRESHOLD, MMAP_MAX = -1, -4  # of glibc's mallopt
MOST_BLOCKS, KEPT = 1 << 16, (1 << 31) - 1  # glibc's own number of large blocks; bytes that stay
FEWEST = 64  # faults of a call that are worth asking for; a huge page is one, too
ROUNDS = 5


@contextmanager
def keeping() -> Iterator[bool]:
    """Inside, malloc gives nothing back; False where it cannot be told so."""
    libc = ctypes.CDLL(None)
    mallopt = getattr(libc, "mallopt", None)
    if mallopt is None:
        yield False
        return
    mallopt(MMAP_MAX, 0)
    mallopt(TRIM_THRESHOLD, KEPT)
    try:
        yield True
    finally:
        mallopt(TRIM_THRESHOLD, 64 << 20)  # twice the largest block that it keeps by itself
        mallopt(MMAP_MAX, MOST_BLOCKS)
        libc.malloc_trim(0)  # or what was kept would be there for the next row


def faults(call: Callable[[], Any]) -> int:
    """How many pages a call asks the system for, when it is not the first."""
    call()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    call()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def best_kept(call: Callable[[], Any], clock: Clock) -> float | None:
    """Seconds of a call that finds its memory there already; None where it finds it so anyway, or nobody can tell."""
    if faults(call) < FEWEST:
        return None
    with keeping() as kept:
        return take_turns({"peer": call}, ROUNDS, clock)["peer"].best if kept else None
