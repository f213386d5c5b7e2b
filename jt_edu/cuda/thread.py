"""Thread: what does one thread of a GPU know, and what can it ask of the others?

A thread stands in the place of the name `cuda` in a kernel. So `cuda.threadIdx.x` is its own number, and
`cuda.syncthreads()` says to the scheduler that it waits.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import index
from typing import Any

import numpy as np

from jt_edu.base.errors import KernelError
from jt_edu.cuda.history import Atomics, Clock, joined
from jt_edu.cuda.kernel_names import BARRIERS, TENSOR, WARP, has_room
from jt_edu.cuda.memory import NUMBERS, Array, Memory, fresh
from jt_edu.cuda.tensor_core import fragments, tf32
from jt_edu.cuda.translator import Place, place_of

WARPSIZE = 32
ALL = 0xFFFFFFFF
LOCAL = 512 * 1024  # bytes of a thread


@dataclass(frozen=True)
class Dim3:
    """Three numbers, as in threadIdx.x."""

    x: int = 1
    y: int = 1
    z: int = 1

    @property
    def size(self) -> int:
        """How many there are in all."""
        return self.x * self.y * self.z


@dataclass(eq=False)
class Block:
    """Threads that have shared memory, and can wait for each other."""

    number: int
    index: Dim3
    arrays: dict[Any, Array] = field(default_factory=dict)  # by the place in the text that makes them
    named: int = 0  # bytes of those whose size the text says
    launched: list[Memory] = field(default_factory=list)  # of the size that the launch says
    epoch: int = 0  # how many barriers it has passed
    told: bool = False  # whether other blocks can know of what it did


@dataclass(eq=False)
class Warp:
    """32 threads of a block that go together."""

    number: int
    threads: list[Thread] = field(default_factory=list)


@dataclass(slots=True)
class Wait:
    """What a thread waits for, and what it says to the others."""

    kind: str
    place: Place
    mask: int = ALL
    value: Any = None
    argument: Any = None


TAKES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(BARRIERS, ("predicate",)), **dict.fromkeys(WARP, ("mask", "predicate")),
    "syncthreads": (), "syncwarp": ("mask",),
    "shfl_sync": ("mask", "value", "lane"), "shfl_up_sync": ("mask", "value", "delta"),
    "shfl_down_sync": ("mask", "value", "delta"), "shfl_xor_sync": ("mask", "value", "lane_mask"),
}  # fmt: skip


class Thread:
    """One thread, with the names that a kernel has for it."""

    warpsize = WARPSIZE
    time = steps = 0  # as each begins: what it did, and iterations of its loops
    known: tuple[int, ...] = (0,) * WARPSIZE  # up to when it knows what the lanes of its warp did

    def __init__(self, run: Any, block: Block, warp: Warp, number: int, at: Dim3) -> None:
        self.run, self.block, self.warp, self.number = run, block, warp, number
        self.threadIdx, self.blockIdx, self.blockDim, self.gridDim = at, block.index, run.block, run.grid
        self.laneid = number % WARPSIZE
        self.bit = 1 << self.laneid
        nothing: Clock = {}
        self.heard = nothing  # what atomics told it of all others,
        self.fence = self.wide = nothing  # and what it knew at its last fence, and at the last one for all blocks
        warp.threads.append(self)

    shared = property(lambda self: Shared(self))  # noqa: PLW0108 - that class comes later
    local = property(lambda self: Local())
    atomic = property(lambda self: Atomic())

    @property
    def in_grid(self) -> tuple[int, int]:
        """Number of its block, and its own in there."""
        return self.block.number, self.number

    def grid(self, axes: int) -> Any:
        """Its number in the whole grid, along one axis or along several."""
        names = "xyz"[: _axes("grid", axes)]
        found = tuple(getattr(self.blockIdx, a) * getattr(self.blockDim, a) + getattr(self.threadIdx, a) for a in names)
        return found[0] if axes == 1 else found

    def gridsize(self, axes: int) -> Any:
        """How many threads there are in the whole grid."""
        names = "xyz"[: _axes("gridsize", axes)]
        found = tuple(getattr(self.blockDim, a) * getattr(self.gridDim, a) for a in names)
        return found[0] if axes == 1 else found

    def threadfence(self) -> None:
        """From here on an atomic operation tells others about what was written before."""
        self.threadfence_block()
        self.wide = self.fence

    def threadfence_block(self) -> None:
        """The same, for others of this block."""
        self.time += 1
        own = self.laneid
        self.known = (*self.known[:own], self.time, *self.known[own + 1 :])
        lanes: Clock = {thread: until for thread, until in zip(self.warp.threads, self.known, strict=False) if until}
        self.fence = joined(self.heard, lanes | {self.block: self.block.epoch})

    def passes_on(self, atomics: Atomics) -> None:
        """An atomic operation: what others have told there is ordered before what this thread does from now on."""
        here = atomics.near.get(self.block, {})
        self.heard = joined(self.heard, joined(here, atomics.far))
        if self.fence is not self.wide:
            atomics.near[self.block] = joined(here, self.fence)
        if self.wide:
            atomics.far = joined(atomics.far, self.wide)
            self.block.told = True

    def step(self) -> None:
        """One more iteration of a loop."""
        self.steps += 1
        if self.steps > self.run.steps or not self.steps % 4096:
            self.run.enough(self, place_of(sys._getframe(1)))

    popc = staticmethod(lambda x: int(x & ALL).bit_count())
    clz = staticmethod(lambda x: 32 - int(x & ALL).bit_length())
    ffs = staticmethod(lambda x: (int(x) & -int(x)).bit_length())
    brev = staticmethod(lambda x: int(f"{int(x) & ALL:032b}"[::-1], 2))
    tf32 = staticmethod(tf32)
    fma = staticmethod(lambda a, b, c: _as(np.float64(a) * b + c, a, b, c))


def _as(found: Any, *given: Any) -> Any:
    """A number as exact as those that it is made of."""
    kinds = {type(g) for g in given}
    return np.float32(found) if np.float32 in kinds and np.float64 not in kinds else found


def _axes(name: str, axes: Any) -> int:
    if axes not in (1, 2, 3):
        raise KernelError(f"cuda.{name} takes a number of axes", f"{axes}", "1, 2 or 3")
    return int(axes)


def _waits(kind: str) -> Callable[..., Wait]:
    """A method that says what a thread waits for; it takes what numba's takes."""
    wanted, of_block = TAKES[kind], kind in BARRIERS

    def wait(_: Thread, *given: Any) -> Wait:
        place = place_of(sys._getframe(1))
        if len(given) != len(wanted) and not (kind == "syncwarp" and not given):
            asked = f"cuda.{kind} takes {', '.join(wanted) or 'nothing'}"
            found = f"{len(given)} arguments in line {place.line}"
            raise KernelError(asked, found, f"cuda.{kind}({', '.join(wanted)})")
        if of_block:
            return Wait(kind, place, ALL, *given)
        mask, value, argument = (given + (ALL, None, 0)[len(given) :])[:3]
        return Wait(kind, place, index(mask) & ALL, value, index(argument))

    return wait


def _multiplies(kind: str) -> Callable[..., Wait]:
    """A method with which a thread gives its parts of two matrices."""

    def wait(_: Thread, *given: Any) -> Wait:
        place = place_of(sys._getframe(1))
        return Wait(kind, place, ALL, fragments(kind, given, place.line))

    return wait


for _kind in (*BARRIERS, *WARP):
    setattr(Thread, _kind, _waits(_kind))
for _kind in TENSOR:
    setattr(Thread, _kind, _multiplies(_kind))


class Shared:
    """`cuda.shared.array(shape, dtype)`: one array for all threads of a block."""

    def __init__(self, thread: Thread) -> None:
        self._thread = thread

    def array(self, shape: Any, dtype: Any) -> Array:
        """The array that the block has at this place of the text; with the shape 0, as large as the launch says."""
        place, block = place_of(sys._getframe(1)), self._thread.block
        if place not in block.arrays:
            kind, given = as_dtype(dtype), self._thread.run.shared
            extent = (given // kind.itemsize,) if shape == 0 else _shape(shape)
            block.named += 0 if shape == 0 else math.prod(extent) * kind.itemsize
            has_room(block.named, given, f" in line {place.line}")
            made = fresh(place.target or "array", "shared", extent, kind)
            if shape == 0:
                block.launched.append(made.memory)
                _one_memory(block.launched)
            block.arrays[place] = made
        return block.arrays[place]


def _one_memory(views: list[Memory]) -> None:
    """What a launch adds is one piece of memory, whatever names it has."""
    first, last = views[0], views[-1]
    if first.values.itemsize != last.values.itemsize:
        found = f"{first.name} of {first.values.dtype} and {last.name} of {last.values.dtype}"
        raise KernelError(
            "arrays of the size 0 begin at the same byte, and have numbers of one size", found, "one of them"
        )
    last.values, last.written, last.history = first.values.view(last.values.dtype), first.written, first.history


class Local:
    """`cuda.local.array(shape, dtype)`: an array of this thread alone."""

    def array(self, shape: Any, dtype: Any) -> Array:
        """A new array, which no other thread sees."""
        kind, extent = as_dtype(dtype), _shape(shape)
        asked = math.prod(extent) * kind.itemsize
        if asked > LOCAL:
            raise KernelError(f"a thread has {LOCAL:,} bytes of local memory", f"{asked:,}", "an array of the launch")
        return fresh(place_of(sys._getframe(1)).target or "array", "local", extent, kind)


class Atomic:
    """`cuda.atomic.add(a, i, value)` and its like: nobody comes between reading and writing; it returns the old one."""


def _atomic(new: Callable[..., Any]) -> Callable[..., Any]:
    def change(_: Atomic, array: Array, index: Any, *given: Any) -> Any:
        return array.change(index, place_of(sys._getframe(1)), lambda old: new(old, *given))

    return change


CHANGES: dict[str, Callable[..., Any]] = {  # the old number, and what is given -> the new one
    "add": lambda old, value: old + value,
    "sub": lambda old, value: old - value,
    "max": max,
    "min": min,
    "and_": lambda old, value: old & value,
    "or_": lambda old, value: old | value,
    "xor": lambda old, value: old ^ value,
    "exch": lambda _, value: value,
    "inc": lambda old, most: 0 if old >= most else old + 1,
    "dec": lambda old, most: most if old == 0 or old > most else old - 1,
    "cas": lambda old, wanted, value: value if old == wanted else old,
}
for _name, _new in CHANGES.items():
    setattr(Atomic, _name, _atomic(_new))


def as_dtype(dtype: Any) -> np.dtype[Any]:
    """NumPy's dtype of a dtype: NumPy's own, a text, or one of numba or jt_edu."""
    try:
        found: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        found = np.dtype(str(dtype).removeprefix("jt."))
    if found.kind not in NUMBERS:
        raise KernelError("an array of a kernel holds numbers", f"the dtype {found}", "float32")
    return found


def _shape(shape: Any) -> tuple[int, ...]:
    return tuple(map(int, shape)) if isinstance(shape, (tuple, list)) else (int(shape),)
