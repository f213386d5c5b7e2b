"""Memory: where arrays come from, and how much of it is in use.

Fresh memory is slow: the system hands it out page by page, which costs as much as a whole kernel. So large buffers are
kept and lent again. Nobody has to give one back: a buffer is free when nothing refers to it any more, not even a view
that the learner took of it, and Python counts that for us.
"""

from __future__ import annotations

import math
import sys
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

LARGE = 1 << 16  # bytes; smaller arrays are cheap to make
GRAIN = 1 << 16  # buffers are multiples of this, so that similar shapes can share them
KEEP = 1 << 30  # bytes of unused buffers that are kept at most
LINE = 64  # bytes: large buffers begin at a multiple, as the widest registers like it


@dataclass(frozen=True)
class MemoryStats:
    """Bytes in buffers that something refers to, and bytes kept for later."""

    in_use: int
    kept: int
    reused: int  # how often a buffer was lent again
    made: int


class BufferPool:
    """Lends buffers, and finds out by itself which are free."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._buffers: dict[int, list[tuple[np.ndarray[Any, Any], int]]] = {}  # size -> (buffer, where it begins)
        self._reused = self._made = 0
        probe = [(np.empty(1, np.uint8), 0)]
        self._unused = next(sys.getrefcount(b) for b, _ in probe)  # how many references a free buffer has

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """An array with arbitrary contents."""
        size = math.prod(shape) * dtype.itemsize
        if size < LARGE:
            return np.empty(shape, dtype)
        with self._lock:
            buffer, begin = self._free(-(-size // GRAIN) * GRAIN)
            return buffer[begin : begin + size].view(dtype).reshape(shape)

    def _free(self, size: int) -> tuple[np.ndarray[Any, Any], int]:
        for buffer, begin in self._buffers.get(size, ()):
            if sys.getrefcount(buffer) == self._unused:
                self._reused += 1
                return buffer, begin
        self._made += 1
        if sum(s for s, free in self._sizes() if free) + size > KEEP:
            self._trim()
        fresh = np.empty(size + LINE, np.uint8)
        self._buffers.setdefault(size, []).append((fresh, -fresh.ctypes.data % LINE))
        return self._buffers[size][-1]

    def _sizes(self) -> list[tuple[int, bool]]:
        return [
            (size, sys.getrefcount(buffer) == self._unused)
            for size, shelf in self._buffers.items()
            for buffer, _ in shelf
        ]

    def _trim(self) -> None:
        """Give unused buffers back to the system."""
        for size, shelf in list(self._buffers.items()):
            self._buffers[size] = [(buffer, at) for buffer, at in shelf if sys.getrefcount(buffer) != self._unused]

    def clear(self) -> None:
        """Give every unused buffer back to the system."""
        with self._lock:
            self._trim()

    def stats(self) -> MemoryStats:
        """What is lent, and what is kept."""
        with self._lock:
            sizes = self._sizes()
            in_use = sum(s for s, free in sizes if not free)
            return MemoryStats(in_use, sum(s for s, _ in sizes) - in_use, self._reused, self._made)


pool = BufferPool()


def memory_stats() -> MemoryStats:
    """How many bytes of large buffers are in use, and how many are kept to be lent again.

    Example:
        >>> memory_stats().in_use >= 0
        True
    """
    return pool.stats()


def gc() -> None:
    """Give unused buffers back to the system.

    Example:
        >>> gc()
        >>> memory_stats().kept
        0
    """
    pool.clear()
