"""Staging: how do numbers get to a GPU and back, without anybody waiting for longer than need be?

    an array  -- copied by the processor -->  pinned memory  -- copied by the GPU, in line -->  the GPU's memory

A copy from pinned memory stands in line as a kernel does; before one from any other memory, the driver waits for all
that is in line. So arrays go through some of it, which is kept, piece by piece: while the GPU copies one piece, the
processor does the next. Who copies to a GPU goes on at once, and may change the array; who copies from it waits until
the numbers are there.

The pinned memory has a few parts, which are filled one after the other. An event stands in line behind the last copy of
each part, and it is waited for before the part is filled again.
"""

from __future__ import annotations

import ctypes
import threading
from typing import Any

from jt_edu.base.errors import JtError

PART, PARTS = 1 << 20, 4  # bytes of a part, and how many there are


class Staging:
    """Copies between this machine and one GPU.

    Args:
        driver: who copies.
        stream: the line in which copies stand.
    """

    def __init__(self, driver: Any, stream: int) -> None:
        self._driver, self._stream, self._lock = driver, stream, threading.Lock()
        self._pinned: int | None = None  # the address, as soon as somebody copies; 0 where there is none
        self._events: list[int] = []  # of the parts, and two for pieces that come back
        self._part, self._filled = 0, 0  # which one is filled, and how far

    def to_device(self, pointer: int, source: int, size: int) -> None:
        """Copy bytes of this machine, which may be changed as soon as this returns."""
        driver, stream = self._driver, self._stream
        with self._lock:
            if not self._is_ready():
                driver.synchronize(stream)  # or the driver does, and does not hear Ctrl-C
                driver.to_device(pointer, source, size, stream)
                return
            for begin in range(0, size, PART):
                length = min(PART, size - begin)
                room = self._room(length)
                ctypes.memmove(room, source + begin, length)
                driver.to_device(pointer + begin, room, length, stream)

    def to_host(self, target: int, pointer: int, size: int) -> None:
        """Copy bytes to this machine, and wait for them."""
        driver, stream = self._driver, self._stream
        with self._lock:
            if not self._is_ready():
                driver.synchronize(stream)
                driver.to_host(target, pointer, size, stream)
                driver.synchronize(stream)
                return
            before: tuple[int, ...] = ()  # the piece that the GPU copies while the next one is put in line
            for number, begin in enumerate(range(0, size, PART)):
                length, event = min(PART, size - begin), self._events[PARTS + number % 2]
                room = self._room(length)
                driver.to_host(room, pointer + begin, length, stream)
                driver.record(event, stream)
                if before:
                    self._arrived(*before)
                before = event, target + begin, room, length
            if before:
                self._arrived(*before)

    def _arrived(self, event: int, target: int, room: int, length: int) -> None:
        self._driver.wait(event)
        ctypes.memmove(target, room, length)

    def _room(self, length: int) -> int:
        """The address of so many pinned bytes, which no copy needs any more."""
        if self._filled + length > PART:
            self._driver.record(self._events[self._part], self._stream)
            self._part, self._filled = (self._part + 1) % PARTS, 0
            self._driver.wait(self._events[self._part])  # at once, where nothing was in line
        room = (self._pinned or 0) + self._part * PART + self._filled
        self._filled += -(-length // 64) * 64
        return room

    def _is_ready(self) -> bool:
        """Pin the memory when it is first needed; where there is none to be had, the driver copies on its own."""
        if self._pinned is None:
            try:
                self._events = [self._driver.event() for _ in range(PARTS + 2)]
                self._pinned = self._driver.pinned(PART * PARTS)
            except JtError:
                if self._driver.lost:
                    raise
                self._pinned = 0
        return self._pinned != 0
