"""Memory: what does a thread read and write, and in which order with others?

    Memory          a row of numbers: of the whole grid, of a block (shared) or of a thread (local)
    Array           what a kernel sees of it: a shape, and for each element an address in the row

Each access is compared with the ones before it at the same address. Two accesses of different threads, one of which
writes, have to be ordered: in a block by `syncthreads`, or among lanes of a warp by a `syncwarp` in which both take
part (shuffles and votes order nothing); between blocks only by the end of the kernel. A fence, and an atomic
operation after it that the other one has seen, order what was before. Atomics are no race among themselves. What is
shared or local begins unwritten: floats are nan, whole numbers garbage.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from jt_edu.base.errors import KernelError
from jt_edu.cuda.translator import Place, place_of

if TYPE_CHECKING:
    from jt_edu.cuda.thread import Thread

NUMBERS = "biufc"  # kinds of dtypes
GARBAGE = 0x55  # each byte of a whole number that nobody has written


@dataclass(slots=True)
class Access:
    """Lanes of a warp that did it in one line, and how far block and lanes were then."""

    thread: Thread  # the first of them
    place: Place
    epoch: int
    time: int
    lanes: int = 0  # a bit for each


Kept = dict[Any, Access]  # of one kind, by who did it when and where


@dataclass(slots=True)
class History:
    """What was done to one number, as far as something may still be unordered with it."""

    last: Access | None = None  # who changed it last, in which way ever
    write: Access | None = None
    atomics: Kept = field(default_factory=dict)
    reads: Kept = field(default_factory=dict)
    blocks: frozenset[int] = frozenset()  # whose writes are seen with an atomic here
    threads: dict[Thread, int] | None = None  # the same in a block, and until when

    def note(self, thread: Thread, place: Place, how: str) -> tuple[str, Thread, Place] | None:
        """Write an access down; what it is not ordered with: "written" or "read" before, by whom, in which line."""
        now = Access(thread, place, thread.block.epoch, thread.time, 1 << thread.laneid)
        done = (self.write,) if self.write is not None else ()
        against = _first_unordered(done if how == "atomic" else (*done, *self.atomics.values()), thread, "written")
        if how == "read":
            _keep(self.reads, now)
            return against
        against = against or _first_unordered(self.reads.values(), thread, "read")
        self.last = now
        if how == "atomic":
            _keep(self.atomics, now)
        else:
            self.write = now
            self.atomics.clear()
            self.reads.clear()
        return against

    def readers(self, epoch: int) -> list[int]:
        """Numbers of the threads that have read it since the last barrier."""
        kept = (r for r in self.reads.values() if r.epoch == epoch)
        return sorted({r.thread.number // 32 * 32 + lane for r in kept for lane in _bits(r.lanes)})


def _bits(lanes: int) -> Iterator[int]:
    return (lane for lane in range(lanes.bit_length()) if lanes >> lane & 1)


def _keep(kept: Kept, now: Access) -> None:
    """Add an access to its like. What is ordered before it may go: who is ordered after it is after those, too."""
    thread = now.thread
    key = thread.warp, now.place, now.epoch, now.time
    old = kept.get(key)
    if old is not None:
        old.lanes |= now.lanes
        return
    if len(kept) > 2 and not len(kept) & (len(kept) - 1):  # at 4, 8, 16, ...: to look is work
        far = [k for k, access in kept.items() if access.thread.block is not thread.block]
        for k in [*far[2:], *(k for k, access in kept.items() if _unordered(access, thread) is None)]:
            kept.pop(k, None)
    kept[key] = now


def _first_unordered(kept: Iterable[Access], now: Thread, way: str) -> tuple[str, Thread, Place] | None:
    for access in kept:
        other = _unordered(access, now)
        if other is not None:
            return way, other, access.place
    return None


def _unordered(before: Access, now: Thread) -> Thread | None:
    """Who did it, where nothing says that it comes before what a thread does now."""
    first = before.thread
    if first is now and before.lanes == 1 << now.laneid:
        return None
    if first.block is not now.block:
        return None if _published(before, now) else first
    if before.epoch != now.block.epoch:
        return None
    for lane in _bits(before.lanes):
        other = first.warp.threads[lane]
        synced = other.warp is now.warp and now.known[lane] > before.time
        if other is not now and not synced and now.heard.get(other, 0) <= before.time:
            return other
    return None


def _published(before: Access, now: Thread) -> bool:
    """Whether another block has passed it on, by a fence and an atomic, and this thread knows of it."""
    block, warp = before.thread.block, before.thread.warp
    if block.number not in now.block.seen and block.number not in now.seen:
        return False
    return before.epoch < block.released or all(warp.released[lane] > before.time for lane in _bits(before.lanes))


@dataclass
class Memory:
    """Numbers with their history.

    Args:
        name: as the kernel calls it.
        space: "global", "shared" or "local".
        values: flat; those of a global array are the caller's.
        written: which of them hold something.
        history: of each number; arguments that overlap have one together,
        first: in which the first number of this one is so far behind.
    """

    name: str
    space: str
    values: np.ndarray[Any, Any]
    written: np.ndarray[Any, Any]
    history: dict[int, History] = field(default_factory=dict)
    first: int = 0

    def __post_init__(self) -> None:
        dtype = self.values.dtype
        narrow = np.int64 if dtype.kind in "iu" and dtype.itemsize < 8 else None  # as in numba: sums do not overflow
        self.as_read: Callable[[Any], Any] | None = bool if dtype.kind == "b" else narrow

    def get(self, address: int) -> Any:
        """A number as a kernel reads it."""
        found = self.values[address]
        return found if self.as_read is None else self.as_read(found)

    def put(self, address: int, value: Any, where: Place) -> None:
        """Write a number; of one that is too large for a dtype of integers the low bits remain."""
        number = value[()] if isinstance(value, np.ndarray) else value
        if not isinstance(number, (int, float, complex, np.number, np.bool_)):
            raise KernelError(f"{self.name} holds numbers", f"{type(value).__name__} in line {where.line}", "a number")
        try:
            self.values[address] = number
        except OverflowError:
            if not isinstance(number, (int, np.integer)):
                raise
            bits = 8 * self.values.itemsize
            self.values[address] = np.array(int(number) % (1 << bits), f"u{bits // 8}").view(self.values.dtype)

    def of(self, address: int) -> History:
        """What was done to a number."""
        found = self.history.get(address + self.first)
        if found is None:
            found = self.history[address + self.first] = History()
        return found


def garbage(size: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """What stands where nobody has written."""
    values = np.full(size * dtype.itemsize, GARBAGE, np.uint8).view(dtype)
    if dtype.kind == "f":
        values[:] = np.nan
    return values


def fresh(name: str, space: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array that nobody has written yet."""
    size = int(np.prod(shape, dtype=np.int64))
    return Array(Memory(name, space, garbage(size, dtype), np.zeros(size, bool)), np.arange(size).reshape(shape))


class Array:
    """What a kernel sees: `a[i]`, `a[i, j]`, a row `a[i]`, a part `a[i:j]`, `a.shape`, `a.size`, `len(a)`."""

    __slots__ = ("_addresses", "memory", "shape")

    def __init__(self, memory: Memory, addresses: np.ndarray[Any, Any]) -> None:
        self.memory, self._addresses, self.shape = memory, addresses, addresses.shape

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: self._addresses.size)
    dtype = property(lambda self: self.memory.values.dtype)

    def __len__(self) -> int:
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        place = place_of(sys._getframe(1))
        address = self.at(index, place)
        if address is None:
            return self.dtype.type(0)
        if isinstance(address, Array):
            return address
        self.touch(address, place, "read")
        return self.memory.get(address)

    def __setitem__(self, index: Any, value: Any) -> None:
        place = place_of(sys._getframe(1))
        address = self.at(index, place)
        if isinstance(address, Array):
            raise KernelError(
                f"a thread writes one number of {self.memory.name} at a time", f"{index} in line {place.line}", "a loop"
            )
        if address is not None:
            self.touch(address, place, "write")
            self.memory.put(address, value, place)

    def at(self, index: Any, where: Place) -> Any:
        """The address of an element, an Array for a part, None where there is nothing; a finding then."""
        places = index if type(index) is tuple else (index,)
        if len(places) > len(self.shape):
            asked = f"{self.memory.name} has {len(self.shape)} axes"
            raise KernelError(asked, f"{len(places)} numbers in its index", "one number for each axis")
        for axis, place in enumerate(places):
            if type(place) is not int and not isinstance(place, (slice, np.integer)):
                found = f"{self.memory.name}[{place!r:.30}] in line {where.line}"
                raise KernelError("an index is a whole number", found, "i // 2 for a half; a loop for many numbers")
            if not isinstance(place, slice) and not 0 <= place < self.shape[axis]:
                self._outside(places, axis, where)
                return None
        found = self._addresses[index]
        return int(found) if isinstance(found, np.integer) else Array(self.memory, found)

    def _outside(self, places: tuple[Any, ...], axis: int, where: Place) -> None:
        from_end = " (an index below 0 does not count from the end here)" if places[axis] < 0 else ""
        shown = ", ".join(str(int(p)) for p in places if not isinstance(p, slice))
        size = f"axis {axis} has {self.shape[axis]} elements"
        name = self.memory.name
        current.run.report("out of bounds", where, lambda: f"touches {name}[{shown}], but {size}{from_end}", name)

    def touch(self, address: int, where: Place, how: str) -> None:
        """Note that the thread whose turn it is reads, writes or changes (an atomic) an element."""
        run, memory = current.run, self.memory
        thread = run.now
        run.costs.note(thread, where, memory, address, how)
        if how != "write" and not memory.written[address]:
            run.report(
                "unwritten", where, lambda: f"reads {self.named(address)}, which nobody has written", memory.name
            )
        if how != "read":
            memory.written[address] = True
        if memory.space == "local":
            return
        history = memory.of(address)
        against = history.note(thread, where, how)
        if how == "atomic":
            thread.passes_on(history)
        if against is not None:
            _, other, place = against
            run.report("race", where, lambda: self._raced(address, how, against), memory.name, (other,), place.line)

    def _raced(self, address: int, how: str, against: tuple[str, Thread, Place]) -> str:
        """What the thread whose turn it is does, and what it is not ordered with."""
        verb, (way, other, place) = {"read": "reads", "write": "writes", "atomic": "changes"}[how], against
        done = "wrote" if way == "written" else "read"
        which = f"which {current.run.told([other])} {done} in line {place.line} (`{place.text}`)"
        return f"{verb} {self.named(address)}, {which}, with no barrier between"

    def named(self, address: int) -> str:
        """An element as the kernel would write it."""
        place = np.argwhere(self._addresses == address)
        if not len(place):
            return f"{self.memory.name}[...]"
        return f"{self.memory.name}[{', '.join(str(int(p)) for p in place[0]) or '()'}]"


class _Current(threading.local):
    """The launch that is going on in this thread of Python; such as a rank, which has its own."""

    run: Any = None


current = _Current()
