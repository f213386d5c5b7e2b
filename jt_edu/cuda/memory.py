"""Memory: what does a thread read and write?

    Memory          a row of numbers: of the whole grid, of a block (shared) or of a thread (local)
    Array           what a kernel sees of it: a shape, and for each element an address in the row

Each access is written down (costs.py) and compared with those before it (history.py). What is shared or local begins
unwritten: floats are nan, whole numbers garbage.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from jt_edu.base.errors import KernelError
from jt_edu.cuda.findings import BETWEEN_BLOCKS
from jt_edu.cuda.history import History, Unordered
from jt_edu.cuda.translator import Place, place_of

NUMBERS = "biufc"  # kinds of dtypes
GARBAGE = 0x55  # each byte of a whole number that nobody has written
PLAIN = frozenset([int, float, bool, np.float32, np.float64, np.int64])  # what a kernel mostly writes


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
    history: History = field(default_factory=History)
    first: int = 0

    def __post_init__(self) -> None:
        dtype = self.values.dtype
        narrow = np.int64 if dtype.kind in "iu" and dtype.itemsize < 8 else None  # as in numba: sums do not overflow
        self.as_read: Callable[[Any], Any] | None = bool if dtype.kind == "b" else narrow

    def get(self, address: int) -> Any:
        """A number as a kernel reads it."""
        return self.values[address] if self.as_read is None else self.as_read(self.values.item(address))

    def put(self, address: int, value: Any, where: Place) -> None:
        """Write a number; of one that is too large for a dtype of integers the low bits remain."""
        if type(value) not in PLAIN:
            value = value[()] if isinstance(value, np.ndarray) else value
            if not isinstance(value, (int, float, complex, np.number, np.bool_)):
                found = f"{type(value).__name__} in line {where.line}"
                raise KernelError(f"{self.name} holds numbers", found, "a number")
        try:
            self.values[address] = value
        except OverflowError:
            if not isinstance(value, (int, np.integer)):
                raise
            bits = 8 * self.values.itemsize
            self.values[address] = np.array(int(value) % (1 << bits), f"u{bits // 8}").view(self.values.dtype)


def garbage(size: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """What stands where nobody has written."""
    values = np.full(size * dtype.itemsize, GARBAGE, np.uint8).view(dtype)
    if dtype.kind == "f":
        values[:] = np.nan
    return values


def fresh(name: str, space: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """An array that nobody has written yet."""
    size = math.prod(shape)
    return Array(Memory(name, space, garbage(size, dtype), np.zeros(size, bool)), shape)


class Array:
    """What a kernel sees: `a[i]`, `a[i, j]`, a row `a[i]`, a part `a[i:j]`, `a.shape`, `a.size`, `len(a)`.

    Args:
        memory: where its numbers are.
        shape: how many there are along each axis.
        first: the address of the first one.
        steps: from each one to the next, along each axis; None for rows without gaps, from the first address on.
    """

    __slots__ = ("_end", "first", "memory", "shape", "steps")

    def __init__(
        self, memory: Memory, shape: tuple[int, ...], first: int = 0, steps: tuple[int, ...] | None = None
    ) -> None:
        self.memory, self.shape, self.first = memory, shape, first
        self.steps = tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape))) if steps is None else steps
        self._end = shape[0] if steps is None and len(shape) == 1 else 0  # up to here an index is an address

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: math.prod(self.shape))
    dtype = property(lambda self: self.memory.values.dtype)

    def __len__(self) -> int:
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Any:
        place = place_of(sys._getframe(1))
        address = index if type(index) is int and 0 <= index < self._end else self.at(index, place)
        if address is None:
            return self.dtype.type(0)
        if type(address) is Array:
            return address
        memory, run = self.memory, current.run
        now = None if memory.space == "local" else run.noted(place, memory, address, "read")
        if not memory.written[address]:
            self._unwritten(address, place)
        if now is not None:
            against = memory.history.read(address + memory.first, now)
            if against is not None:
                self._race(address, place, "reads", against)
        return memory.values[address] if memory.as_read is None else memory.as_read(memory.values.item(address))

    def __setitem__(self, index: Any, value: Any) -> None:
        place = place_of(sys._getframe(1))
        address = index if type(index) is int and 0 <= index < self._end else self.at(index, place)
        if type(address) is Array:
            name, found = self.memory.name, f"{index} in line {place.line}"
            element = f"{name}[{', '.join('ijklmn'[: self.ndim])}], or a loop"
            raise KernelError(f"a thread writes one number of {name} at a time", found, element)
        if address is None:
            return
        memory, run = self.memory, current.run
        memory.written[address] = True
        if memory.space != "local":
            now = run.noted(place, memory, address, "write")
            against = memory.history.write(address + memory.first, now)
            if against is not None:
                self._race(address, place, "writes", against)
        memory.put(address, value, place)

    def at(self, index: Any, where: Place) -> Any:
        """The address of an element, an Array for a part, None where there is nothing; a finding then."""
        places = index if type(index) is tuple else (index,)
        address = self.first
        for place, size, step in zip(places, self.shape, self.steps, strict=False):
            if type(place) is not int or not 0 <= place < size:
                break
            address += place * step
        else:
            if len(places) == len(self.shape):
                return address
        return self._part(places, where)

    def _part(self, places: tuple[Any, ...], where: Place) -> Any:
        """The same, where an index is no plain number, or out of bounds."""
        if len(places) > len(self.shape):
            asked = f"{self.memory.name} has {len(self.shape)} axes"
            raise KernelError(asked, f"{len(places)} numbers in its index", "one number for each axis")
        first, left = self.first, []
        for axis, (place, size, step) in enumerate(zip(places, self.shape, self.steps, strict=False)):
            if type(place) is not int and not isinstance(place, (slice, np.integer)):
                found = f"{self.memory.name}[{place!r:.30}] in line {where.line}"
                way = "its .x, one number" if hasattr(place, "x") else "i // 2 for a half; a loop for many numbers"
                raise KernelError("an index is a whole number", found, way)
            if isinstance(place, slice):
                part = range(size)[place]
                first += part.start * step
                left.append((len(part), part.step * step))
            elif 0 <= place < size:
                first += int(place) * step
            else:
                self._outside(places, axis, where)
                return None
        left += zip(self.shape[len(places) :], self.steps[len(places) :], strict=True)
        if not left:
            return first
        shape, steps = zip(*left, strict=True)
        return Array(self.memory, shape, first, steps)

    def _outside(self, places: tuple[Any, ...], axis: int, where: Place) -> None:
        from_end = " (an index below 0 does not count from the end here)" if places[axis] < 0 else ""
        shown = ", ".join(str(int(p)) for p in places if not isinstance(p, slice))
        size = f"axis {axis} has {self.shape[axis]} elements"
        name = self.memory.name
        current.run.report("out of bounds", where, lambda: f"touches {name}[{shown}], but {size}{from_end}", name)

    def change(self, index: Any, place: Place, new: Callable[[Any], Any]) -> Any:
        """Read a number, and write another one, between which nobody comes; the number that was read."""
        address = self.at(index, place)
        if address is None:
            return self.dtype.type(0)
        if type(address) is Array:
            asked = f"an atomic changes one number of {self.memory.name}"
            raise KernelError(asked, f"{index} in line {place.line}", "(i, j)")
        memory, run = self.memory, current.run
        now = None if memory.space == "local" else run.noted(place, memory, address, "atomic")
        if not memory.written[address]:
            self._unwritten(address, place)
            memory.written[address] = True
        if now is not None:
            against = memory.history.change(address + memory.first, now)
            if against is not None:
                self._race(address, place, "changes", against)
        old = memory.get(address)
        memory.put(address, new(old), place)
        return old

    def _unwritten(self, address: int, place: Place) -> None:
        def words() -> str:
            return f"reads {self.named(address)}, which nobody has written"

        current.run.report("unwritten", place, words, self.memory.name)

    def _race(self, address: int, place: Place, verb: str, against: Unordered) -> None:
        way, other, there = against

        def words() -> str:
            same = (there.function, there.line) == (place.function, place.line)
            where = "in the same line" if same else f"in line {there.line} (`{there.text}`)"
            which = f"which {current.run.told([other])} {way} {where}"
            here = current.run.now.block is other.block
            return f"{verb} {self.named(address)}, {which}, {'with no barrier between' if here else BETWEEN_BLOCKS}"

        current.run.report("race", place, words, self.memory.name, (other,), there.line)

    def named(self, address: int) -> str:
        """An element as the kernel would write it."""
        along = (np.arange(size) * step for size, step in zip(self.shape, self.steps, strict=True))
        places = np.argwhere(reduce(np.add.outer, along, np.array(self.first)) == address)[0]
        return f"{self.memory.name}[{', '.join(map(str, places.tolist())) or '()'}]"


class _Current(threading.local):
    """The launch that is going on in this thread of Python; such as a rank, which has its own."""

    run: Any = None


current = _Current()
