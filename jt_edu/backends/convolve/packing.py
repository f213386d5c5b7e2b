"""Packing: does an algorithm read a view where its numbers lie, or a copy of it?

    in place   the elements of the view lie behind each other: it is an array like any other
    through    the kernel takes the steps of the view: windows are written out anyway, from wherever they lie
    packed     one pass before the kernel writes what the view shows in row-major order (kernels/pack.py)

Each algorithm is weighed with what the views cost it, and the least sum wins: a copy is one of the prices, and never
taken for granted. An explanation tells which it was, and what the copy costs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pkgutil import resolve_name
from typing import Any

import numpy as np

from jt_edu.backends import Backend
from jt_edu.backends.convolve import Algorithm, Sizes, text_of
from jt_edu.backends.convolve.selection import candidates, choice_of
from jt_edu.backends.convolve.standalone import SIDES
from jt_edu.backends.convolve.tuner_report import time_text
from jt_edu.codegen.emit_python import Parameter, Source
from jt_edu.ir.conv_pattern import Strides

NUMBERS = ("start", "sn", "sc", "sd", "sh", "sw")
AXES = {"image": "ncdhw", "places": "ncdhw", "weights": "ocdhw"}
TURNED, ROWS, SINGLE = 2e-10, 2.5e-10, 7e-10  # seconds for a number that is packed: see kernels/pack.py
CALL = 2e-6  # to make room for a copy, and call its kernel
FAR = 6e-10  # for a number of a window that is fetched alone, where a row would come in vectors


@dataclass(frozen=True)
class Side:
    """A factor that is a view: where its elements lie, and whether it is packed."""

    position: int  # among the arguments of the kernel
    name: str  # "image", "weights" or "places"
    strides: Strides
    packed: bool
    seconds: float  # that the copy costs, or the steps

    def seen(self, array: Any) -> Any:
        """The elements of the view, in the memory of `array`."""
        size, lies = array.dtype.itemsize, self.strides
        return np.ndarray(lies.shape, array.dtype, array, lies.start * size, [step * size for step in lies.steps])

    def read(self, array: Any, small: bool, backend: Backend) -> Any:
        """What the kernel is passed: the elements of the view in `array`, or a copy of them."""
        if not self.packed:
            return self.seen(array)
        lies, dtype = self.strides, array.dtype
        packed, program = backend.empty(lies.shape, dtype), backend.compile(pack_source(dtype.name))
        span = lies.shape[0] * -(-lies.shape[1] // (_lanes() * 4 // dtype.itemsize))
        arguments = [array.reshape(-1), packed, lies.start, *lies.steps]
        if small:
            program.call(0, span, *arguments)
        else:
            backend.launch(program, arguments, span)
        return packed

    @property
    def told(self) -> str:
        """In words, such as `packed: image was (n, h, w, c), 12 µs`."""
        were, lies = "were" if self.name != "image" else "was", lies_as(self.name, self.strides)
        if self.packed:
            return f"packed: {self.name} {were} {lies}, {time_text(self.seconds)}"
        how = "lies in one piece" if self.strides.plain else "is read through its steps"
        return f"not copied: {self.name}, a view that {how}, {lies}"


@lru_cache(maxsize=4)
def pack_source(dtype: str) -> Source:
    """The kernel that packs arrays of a dtype."""
    arrays = (Parameter("source", dtype, 1), Parameter("packed", dtype, 5))
    return Source(text_of("pack"), (*arrays, *(Parameter(name, "int64") for name in NUMBERS)), apart=True)


def lies_as(name: str, lies: Strides) -> str:
    """The axes in the order in which they lie in memory: "(n, h, w, c)"; "-w" is one that runs backwards."""
    axes = [k for k, n in enumerate(lies.shape) if n > 1]
    axes.sort(key=lambda k: -abs(lies.steps[k]))
    return "(" + ", ".join(("-" if lies.steps[k] < 0 else "") + AXES[name][k] for k in axes) + ")"


def choose_with_views(sizes: Sizes, strides: tuple[Strides | None, Strides | None]) -> tuple[Algorithm, list[Side]]:
    """The algorithm that is fastest with what the views among its factors cost it, and how it reads them."""
    known = {a.name: a for a in candidates(sizes)}
    best: tuple[float, Algorithm, list[Side]] | None = None
    for timing in choice_of(sizes).timings:
        algorithm = known[timing.name]
        sides = [_side(algorithm, sizes, k, lies) for k, lies in enumerate(strides) if lies is not None]
        seconds = timing.seconds + sum(side.seconds for side in sides)
        if best is None or seconds < best[0]:
            best = seconds, algorithm, sides
    assert best is not None, "some algorithm computes every convolution"
    return best[1], best[2]


def reason(sizes: Sizes, algorithm: Algorithm, sides: tuple[Side, ...]) -> str:
    """In a line: why this algorithm, what the others cost, and how it reads views."""
    choice = choice_of(sizes)
    if not sides:
        return choice.reason
    return "; ".join([replace(choice, algorithm=algorithm).reason, *(side.told for side in sides)])


def _side(algorithm: Algorithm, sizes: Sizes, position: int, lies: Strides) -> Side:
    name, copy = SIDES[sizes.kind][position], _pack_seconds(lies, sizes.dtype)
    if lies.plain:
        return Side(position, name, lies, False, 0.0)
    if name == "image" and algorithm.reads_views(lies):
        through = _through_seconds(sizes, lies)
        if through <= copy:
            return Side(position, name, lies, False, through)
    return Side(position, name, lies, True, copy)


def _pack_seconds(lies: Strides, dtype: str) -> float:
    each = ROWS if lies.steps[4] == 1 else TURNED if lies.steps[1] == 1 and lies.shape[1] >= _lanes() else SINGLE
    return CALL + math.prod(lies.shape) * each * (1 if dtype == "float32" else 2)


def _through_seconds(sizes: Sizes, lies: Strides) -> float:
    """What it costs more to write out windows of numbers that lie far from each other."""
    step = lies.steps[4] * sizes.stride[2]
    if step in (1, 2, 4):
        return 0.0
    windows = sizes.n * math.prod(sizes.places) * math.prod(sizes.kernel) * sizes.c
    return windows * FAR


@cache
def _lanes() -> int:
    """How many float32 a vector holds; asked late, because who knows it loads numba."""
    found: int = resolve_name("jt_edu.backends.convolve.gemm_microkernel:LANES")
    return found
