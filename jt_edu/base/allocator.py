"""Allocator: where arrays come from, and how much of it is in use.

Fresh memory is slow: the system hands it out page by page, which costs as much as a whole kernel. So large buffers are
kept and lent again. Nobody has to give one back: a buffer is free when nothing refers to it any more, not even a view
that the learner took of it, and Python counts that for us.

    pool                whoever needs an array asks `pool.empty`, and the allocator in charge answers
    CachingAllocator    lends buffers again: the usual one
    PlainAllocator      takes fresh memory each time
    TracingAllocator    notes down who asked (variable/storage.py)
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from jt_edu.base.errors import ArgumentError, OutOfMemoryError
from jt_edu.base.scoped import scoped

__all__ = ["CachingAllocator", "PlainAllocator", "allocator", "gc"]
LARGE = 1 << 16  # bytes; smaller arrays are cheap to make
GRAIN = 1 << 16  # buffers are multiples of this, so that similar shapes can share them
KEEP = 1 << 30  # bytes of unused buffers, from which on making another one gives them back
LINE = 64  # bytes: large buffers begin at a multiple, as the widest registers like it


@dataclass(frozen=True)
class PoolStats:
    """Bytes in buffers that something refers to, and bytes kept for later."""

    in_use: int
    kept: int
    reused: int  # how often a buffer was lent again
    made: int


class Allocator(Protocol):
    """Who makes room for arrays: one method."""

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """An array with arbitrary contents, in row-major order."""


class PlainAllocator:
    """Fresh memory for each array: what NumPy does. To see what lending again saves.

    Example:
        >>> with jt.allocator(PlainAllocator()):
        ...     jt.zeros(100_000).sync().storage().reserved
        400000
    """

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """An array with arbitrary contents."""
        return np.empty(shape, dtype)


class CachingAllocator:
    """Lends buffers of 64 kB and more, and finds out by itself which are free. Smaller arrays are NumPy's.

    Example:
        >>> with jt.allocator(CachingAllocator()) as mine:
        ...     for _ in range(3):
        ...         x = (jt.ones(100_000) * 2).sync()
        >>> mine.stats().made + mine.stats().reused
        3
    """

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
        shelves = self._buffers.items()
        return [(size, sys.getrefcount(buffer) == self._unused) for size, shelf in shelves for buffer, _ in shelf]

    def _trim(self) -> None:
        """Give unused buffers back to the system."""
        for size, shelf in list(self._buffers.items()):
            self._buffers[size] = [(buffer, at) for buffer, at in shelf if sys.getrefcount(buffer) != self._unused]

    def clear(self) -> None:
        """Give every unused buffer back to the system."""
        with self._lock:
            self._trim()

    def stats(self) -> PoolStats:
        """What is lent, and what is kept."""
        with self._lock:
            sizes = self._sizes()
            in_use = sum(s for s, free in sizes if not free)
            return PoolStats(in_use, sum(s for s, _ in sizes) - in_use, self._reused, self._made)


class Pool:
    """The allocator in charge: of the whole process, as memory is."""

    def __init__(self) -> None:
        self.buffers = CachingAllocator()
        self.put_in_charge(self.buffers)

    def put_in_charge(self, allocator: Allocator) -> None:
        """Ask this one from now on."""
        self.allocator = allocator
        lends = type(allocator) is CachingAllocator
        self.room: Callable[..., np.ndarray[Any, Any]] = np.empty if lends else self._checked  # for less than LARGE
        self._large = allocator.empty if lends else self._checked

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """An array with arbitrary contents, in row-major order."""
        return self.room(shape, dtype) if math.prod(shape) * dtype.itemsize < LARGE else self._large(shape, dtype)

    def _checked(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """Kernels write where they are told to, so what a stranger hands out is looked at first."""
        array = self.allocator.empty(shape, dtype)
        fits = isinstance(array, np.ndarray) and (array.shape, array.dtype) == (shape, dtype)
        if not fits or not (array.flags.c_contiguous and array.flags.writeable and array.flags.aligned):
            raise ArgumentError(
                f"an allocator makes room for shape {shape}, {dtype}, in row-major order", f"{type(array).__name__}"
                + (f" of shape {array.shape}, {array.dtype}" if isinstance(array, np.ndarray) else ""),
            )  # fmt: skip
        return array


pool = Pool()


@scoped
def allocator(chosen: Allocator) -> Iterator[Allocator]:
    """Let another allocator make room for the arrays of the lines inside, on every backend and in every thread.

    Args:
        chosen: an object with a method `empty(shape, dtype)`, as `Allocator` describes it.

    Example:
        >>> with allocator(PlainAllocator()) as mine:
        ...     x = jt.ones(3).sync()
        >>> type(mine).__name__
        'PlainAllocator'
    """
    if not callable(getattr(chosen, "empty", None)):
        raise ArgumentError("an allocator has a method empty(shape, dtype)", repr(chosen), "jt.PlainAllocator()")
    before = pool.allocator
    pool.put_in_charge(chosen)
    try:
        yield chosen
    finally:
        pool.put_in_charge(before)


def no_room(who: str, shape: tuple[int, ...], size: int) -> OutOfMemoryError:
    """The error of an array of `size` bytes that could not be made."""
    return OutOfMemoryError(
        f"{who} is stored in an array of shape {shape}, {size:,} bytes", "too little memory for that",
        "fewer elements at once, or a narrower dtype",
    )  # fmt: skip


def gc() -> None:
    """Give unused buffers back to the system: those of jt_edu, and of an allocator in charge that can `clear` its own.

    Example:
        >>> gc()
        >>> jt.memory_stats().kept
        0
    """
    pool.buffers.clear()
    getattr(pool.allocator, "clear", pool.buffers.clear)()
