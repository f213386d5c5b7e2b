"""Memory: what does a thread read and write, and in which order with others?

    Memory          a row of numbers: of the whole grid, of a block (shared) or of a thread (local)
    Array           what a kernel sees of it: a shape, and for each element an address in the row

Each access is compared with the ones before it at the same address. Two accesses of different threads, one of which
writes, have to be ordered: in a block by `syncthreads`, or in a warp by `syncwarp`; between blocks only by the end
of the kernel, or by a fence and an atomic operation after it that the other block has seen. Atomics are ordered among
themselves. What is shared or local begins unwritten: floats are nan, whole numbers garbage.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from jt_edu.base.errors import KernelError
from jt_edu.cuda.translator import Place, place_of

if TYPE_CHECKING:
    from jt_edu.cuda.thread import Thread

GARBAGE = 0x55  # each byte of a whole number that nobody has written


@dataclass(slots=True)
class Access:
    """Who did it, in which line, and how far block and warp were then."""

    thread: Thread
    place: Place
    epoch: int
    warp_epoch: int
    atomic: bool


@dataclass
class Memory:
    """Numbers with their history.

    Args:
        name: as the kernel calls it.
        space: "global", "shared" or "local".
        values: flat; those of a global array are the caller's.
        written: which of them hold something.
    """

    name: str
    space: str
    values: np.ndarray[Any, Any]
    written: np.ndarray[Any, Any]
    last: dict[int, Access] = field(default_factory=dict)  # write at an address
    reads: dict[int, list[Access]] = field(default_factory=dict)  # since then, as many as it takes
    released: dict[int, set[int]] = field(default_factory=dict)  # by an atomic here: whose writes are seen with it

    def note(self, address: int, now: Access, writes: bool) -> tuple[str, Access] | None:
        """Write an access down; what it is not ordered with, and in which way: "written" or "read" before."""
        last = self.last.get(address)
        against = ("written", last) if last is not None and _unordered(last, now) else None
        if not writes:
            self._remember(address, now)
            return against
        if against is None:
            against = next((("read", r) for r in self.reads.get(address, ()) if _unordered(r, now)), None)
        self.last[address] = now
        self.reads.pop(address, None)
        return against

    def _remember(self, address: int, now: Access) -> None:
        """Keep a read: since the last barrier of its block two of each warp, and two of other blocks."""
        seen, thread = self.reads.get(address, []), now.thread
        if not seen or seen[-1].epoch != now.epoch or seen[-1].thread.block is not thread.block:
            self.reads[address] = [*[r for r in seen if r.thread.block is not thread.block][:2], now]
            return
        lanes = [k for k, r in enumerate(seen) if r.thread.warp is thread.warp]
        again = next((k for k in lanes if seen[k].thread is thread), None)
        if again is not None:
            seen[again] = now
        elif len(lanes) < 2:
            seen.append(now)


def _unordered(before: Access, now: Access) -> bool:
    """Whether nothing says which of two accesses comes first."""
    a, b = before.thread, now.thread
    if a is b or (before.atomic and now.atomic):
        return False
    if a.block is not b.block:
        return a.block.number not in b.block.seen
    if before.epoch != now.epoch:
        return False
    return a.warp is not b.warp or before.warp_epoch == now.warp_epoch


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
        return self.memory.values[address]

    def __setitem__(self, index: Any, value: Any) -> None:
        place = place_of(sys._getframe(1))
        address = self.at(index, place)
        if isinstance(address, Array):
            raise KernelError(f"a thread writes one number of {self.memory.name} at a time", f"index {index}", "a loop")
        if address is not None:
            self.touch(address, place, "write")
            self.memory.values[address] = value

    def at(self, index: Any, where: Place) -> Any:
        """The address of an element, an Array for a part, None where there is nothing; a finding then."""
        places = index if type(index) is tuple else (index,)
        if len(places) > len(self.shape):
            asked = f"{self.memory.name} has {len(self.shape)} axes"
            raise KernelError(asked, f"{len(places)} numbers in its index", "one number for each axis")
        for axis, place in enumerate(places):
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
        current.run.report("out of bounds", where, f"touches {name}[{shown}], but {size}{from_end}", name)

    def touch(self, address: int, where: Place, how: str) -> None:
        """Note that the thread whose turn it is reads, writes or changes (an atomic) an element."""
        run, memory = current.run, self.memory
        thread = run.now
        run.costs.note(thread, where, memory, address, how)
        if how != "write" and not memory.written[address]:
            words = f"reads {self.named(address)}, which nobody has written"
            run.report("unwritten", where, words, memory.name)
        if how != "read":
            memory.written[address] = True
        if memory.space == "local":
            return
        now = Access(thread, where, thread.block.epoch, thread.warp.epoch, how == "atomic")
        against = memory.note(address, now, how != "read")
        if how == "atomic":
            thread.passes_on(memory.released.setdefault(address, set()))
        if against is not None:
            verb, (way, other) = {"read": "reads", "write": "writes", "atomic": "changes"}[how], against
            done = "wrote" if way == "written" else "read"
            which = f"which {run.told([other.thread])} {done} in line {other.place.line} (`{other.place.text}`)"
            words = f"{verb} {self.named(address)}, {which}, with no barrier between"
            run.report("race", where, words, memory.name, (other.thread,), other.place.line)

    def named(self, address: int) -> str:
        """An element as the kernel would write it."""
        place = np.argwhere(self._addresses == address)
        if not len(place):
            return f"{self.memory.name}[...]"
        return f"{self.memory.name}[{', '.join(str(int(p)) for p in place[0])}]"


class _Current:
    """The launch that is going on; kernels are run one after the other."""

    run: Any = None


current = _Current()
