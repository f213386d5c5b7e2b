"""Thread: what does one thread of a GPU know, and what can it ask of the others?

A thread stands in the place of the name `cuda` in a kernel. So `cuda.threadIdx.x` is its own number, and
`cuda.syncthreads()` says to the scheduler that it waits.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jt_edu.base.errors import KernelError
from jt_edu.cuda.kernel_names import BARRIERS, WARP
from jt_edu.cuda.memory import Array, fresh
from jt_edu.cuda.translator import Place, place_of

WARPSIZE = 32
ALL = 0xFFFFFFFF


@dataclass(frozen=True)
class Dim3:
    """Three numbers, as in threadIdx.x."""

    x: int = 1
    y: int = 1
    z: int = 1


@dataclass(eq=False)
class Block:
    """Threads that have shared memory, and can wait for each other."""

    number: int
    index: Dim3
    arrays: dict[Any, Array] = field(default_factory=dict)  # by the place in the text that makes them
    epoch: int = 0  # how many barriers it has passed
    seen: set[int] = field(default_factory=set)  # blocks whose writes are ordered before what comes now


@dataclass(eq=False)
class Warp:
    """32 threads of a block that go together."""

    number: int
    epoch: int = 0


@dataclass(frozen=True)
class Wait:
    """What a thread waits for, and what it says to the others."""

    kind: str
    place: Place
    mask: int = ALL
    value: Any = None
    argument: Any = None


class Thread:
    """One thread, with the names that a kernel has for it."""

    warpsize = WARPSIZE

    def __init__(self, run: Any, block: Block, warp: Warp, number: int, index: Dim3) -> None:
        self.run, self.block, self.warp, self.number = run, block, warp, number
        self.threadIdx, self.blockIdx, self.blockDim, self.gridDim = index, block.index, run.block, run.grid
        self.laneid = number % WARPSIZE
        self.shared, self.local, self.atomic = Shared(self), Local(self), Atomic()
        self.fenced = False
        self.steps = 0

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
        self.fenced = True

    threadfence_block = staticmethod(lambda: None)  # no barrier: it orders nothing that is looked for here

    def passes_on(self, released: set[int]) -> None:
        """An atomic operation: what others have released there is ordered before what this block does from now on."""
        if self.fenced:
            released |= {self.block.number, *self.block.seen}
        self.block.seen |= released - {self.block.number}

    def step(self) -> None:
        """One more iteration of a loop."""
        self.steps += 1
        if self.steps > self.run.steps or not self.steps % 4096:
            self.run.enough(self, place_of(sys._getframe(1)))

    popc = staticmethod(lambda x: int(x & ALL).bit_count())
    clz = staticmethod(lambda x: 32 - int(x & ALL).bit_length())
    ffs = staticmethod(lambda x: (int(x) & -int(x)).bit_length())
    brev = staticmethod(lambda x: int(f"{int(x) & ALL:032b}"[::-1], 2))
    fma = staticmethod(lambda a, b, c: a * b + c)


def _axes(name: str, axes: Any) -> int:
    if axes not in (1, 2, 3):
        raise KernelError(f"cuda.{name} takes a number of axes", f"{axes}", "1, 2 or 3")
    return int(axes)


def _waits(kind: str) -> Callable[..., Wait]:
    def wait(_: Thread, *given: Any) -> Wait:
        place = place_of(sys._getframe(1))
        if kind in BARRIERS:
            return Wait(kind, place, ALL, *given)
        mask, *rest = given or (ALL,)
        return Wait(kind, place, int(mask) & ALL, *rest)

    return wait


for _kind in (*BARRIERS, *WARP):
    setattr(Thread, _kind, _waits(_kind))


class Shared:
    """`cuda.shared.array(shape, dtype)`: one array for all threads of a block."""

    def __init__(self, thread: Thread) -> None:
        self._thread = thread

    def array(self, shape: Any, dtype: Any) -> Array:
        """The array that the block has at this place of the text; with the shape 0, as large as the launch says."""
        place, block = place_of(sys._getframe(1)), self._thread.block
        if place not in block.arrays:
            kind = as_dtype(dtype)
            extent = (self._thread.run.shared // kind.itemsize,) if shape == 0 else _shape(shape)
            block.arrays[place] = fresh(_assigned(place), "shared", extent, kind)
        return block.arrays[place]


class Local:
    """`cuda.local.array(shape, dtype)`: an array of this thread alone."""

    def __init__(self, thread: Thread) -> None:
        self._thread = thread

    def array(self, shape: Any, dtype: Any) -> Array:
        """A new array, which no other thread sees."""
        return fresh(_assigned(place_of(sys._getframe(1))), "local", _shape(shape), as_dtype(dtype))


def _assigned(place: Place) -> str:
    """The name to which a line assigns what it makes at this place, such as `tile`."""
    try:
        made = ast.parse(place.text).body
    except SyntaxError:  # a part of a line that goes on
        return "array"
    match made:
        case [ast.Assign([ast.Tuple(names)], ast.Tuple(values))]:
            at = (n for n, v in zip(names, values, strict=False) if place.column < (v.end_col_offset or 0))
            return ast.unparse(next(at, names[0]))
        case [ast.Assign([ast.Name(name)])]:
            return name
    return "array"


class Atomic:
    """`cuda.atomic.add(a, i, value)` and its like: nobody comes between reading and writing; it returns the old one."""


def _atomic(new: Callable[..., Any]) -> Callable[..., Any]:
    def change(_: Atomic, array: Array, index: Any, *given: Any) -> Any:
        place = place_of(sys._getframe(1))
        address = array.at(index, place)
        if address is None:
            return array.dtype.type(0)
        array.touch(address, place, "atomic")
        old = array.memory.values[address]
        array.memory.values[address] = new(old, *given)
        return old

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
    return found


def _shape(shape: Any) -> tuple[int, ...]:
    return tuple(map(int, shape)) if isinstance(shape, (tuple, list)) else (int(shape),)
