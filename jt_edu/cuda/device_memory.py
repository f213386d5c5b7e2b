"""Device memory: who gives an array of a GPU its bytes, and who has them when it is gone?

To ask the driver takes some 3 microseconds, to wait for it much longer. So what is given back is kept in a list, by its
size, and the next array of that size has it at once. That is safe, because all work of a GPU stands in one line: a
kernel that still reads the old array is done before one that writes the new.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar
from weakref import WeakSet

from jt_edu.base.errors import JtError, OutOfMemoryError

Asked = TypeVar("Asked")
PAGE = 512  # bytes: sizes are rounded up, so that arrays of nearly one size share


class DeviceMemory:
    """The bytes of one GPU.

    Args:
        driver: what is asked for them.
        stream: the line in which work waits.
    """

    def __init__(self, driver: Any, stream: int) -> None:
        self._driver, self._stream = driver, stream
        self._free: dict[int, list[int]] = {}
        self._holders: WeakSet[Any] = WeakSet()
        self._lock = threading.RLock()  # an array may be collected while another one is made
        self.used = self.peak = self.kept = self.asked = self.reused = 0

    def take(self, size: int) -> int:
        """The address of at least so many bytes.

        Raises:
            OutOfMemoryError: there is no room, not even when all that was kept is given back.
        """
        size = rounded(size)
        with self._lock:
            waiting = self._free.get(size)
            if waiting:
                pointer = waiting.pop()
                self.kept -= size
                self.reused += 1
            else:
                pointer = self._ask(size)
            self.used += size
            self.peak = max(self.peak, self.used)
        return pointer

    def kept_by(self, holder: Any) -> None:
        """Somebody keeps arrays for the next time, and lets go of them where there is no room."""
        with self._lock:
            self._holders.add(holder)

    def _ask(self, size: int) -> int:
        self.asked += 1
        return self.with_room(lambda: int(self._driver.allocate(size, self._stream)))

    def with_room(self, ask: Callable[[], Asked]) -> Asked:
        """The answer of the driver; if it had no room, it is asked again when nothing is kept any more.

        Raises:
            OutOfMemoryError: there is no room then either.
        """
        try:
            return ask()
        except OutOfMemoryError:
            with self._lock:
                for holder in [*self._holders]:
                    holder.let_go()
                if not self.kept:
                    raise
                self.release()
                return ask()

    def give_back(self, pointer: int, size: int) -> None:
        """Keep bytes that nobody needs any more for the next who does."""
        size = rounded(size)
        with self._lock:
            self._free.setdefault(size, []).append(pointer)
            self.used -= size
            self.kept += size

    def release(self) -> None:
        """Give the driver all that is kept."""
        with self._lock, suppress(JtError):  # the error that a kernel made is told elsewhere
            kept, self._free, self.kept = self._free, {}, 0
            for waiting in kept.values():
                for pointer in waiting:
                    self._driver.free(pointer, self._stream)
            self._driver.synchronize(self._stream)

    def stats(self) -> dict[str, int]:
        """Bytes in use now and at most, bytes kept, and how often the driver was asked or the list had some."""
        return {key: getattr(self, key) for key in ("used", "peak", "kept", "asked", "reused")}


def rounded(size: int) -> int:
    """The bytes that are really taken; at least one page, for an array without elements has an address, too."""
    return max(PAGE, -(-size // PAGE) * PAGE)
