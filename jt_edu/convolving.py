"""Convolving: how does a convolution become a step of a plan?

    Convolution  ->  the algorithm that is thought, or was measured, to be fastest  ->  its text, with the tail in it

A kernel is told its arrays, the memory of its own that it asked for (`prepared` is shared by the threads, `space` is
each thread's), and the ten numbers that say how the window slides. A factor that is a view is passed as one, or packed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jt_edu.backends import Backend, Program
from jt_edu.backends.convolve import Algorithm, text_of
from jt_edu.backends.convolve.alone import NUMBERS, SHARED, SIDES, launch, parameters, prepare_source, rows_of
from jt_edu.backends.convolve.choice import choose
from jt_edu.backends.convolve.packing import Side, choose_with_views, reason
from jt_edu.backends.pool import threads
from jt_edu.codegen.tail import Tail, alone, hooked, tail_of, with_tail
from jt_edu.codegen.text import Argument, Parameter, Source, Text
from jt_edu.convolution import Convolution, Sizes
from jt_edu.graph import Node
from jt_edu.join import Kernel

OWN = 3  # the position of `prepared` among the arguments; `space` is the next


@dataclass(frozen=True)
class Own:
    """What the step of a convolution needs besides arrays of the graph."""

    algorithm: Algorithm
    sizes: Sizes
    prepare: Source | None  # run before, over [0, span), with what it reads and `prepared`
    span: int
    prepared: int  # numbers that all threads share
    space: int  # numbers that each thread has for itself
    open: Source | None = None  # the text that takes any tail, and
    tail: Source | None = None  # the tail: the two can be compiled apart
    views: tuple[Side, ...] = ()  # the factors that are views
    moved: int = 0  # bytes that are read and written because of them, besides the whole arrays behind them

    @property
    def reason(self) -> str:
        """Why this algorithm, and how it reads views."""
        return reason(self.sizes, self.algorithm, self.views)

    def shown(self, position: int, array: Any) -> Any:
        """What argument `position` shows of an array: a view has the same elements in memory of their own."""
        side = next((side for side in self.views if side.position == position), None)
        return array if side is None else np.ascontiguousarray(side.seen(array))

    @property
    def small(self) -> bool:
        """Whether one thread does it."""
        return self.sizes.flops < SHARED


def convolution_text(kernel: Kernel, stored: set[Node]) -> tuple[Text, Own]:
    """The text of the algorithm that was chosen, what to pass to it, and what it needs."""
    found = kernel.anchors[0].contraction
    assert isinstance(found, Convolution), "fuse says so"
    sizes, views = found.sizes, list[Side]()
    if any(found.strides):
        algorithm, views = choose_with_views(sizes, found.strides)
    else:
        algorithm = choose(sizes)
    tail = tail_of(kernel, stored) if len(kernel.anchors) > 1 else None
    text, begin = with_tail(text_of(algorithm.kernel), tail)
    listed = parameters(sizes, (*SIDES[sizes.kind], "out", "prepared", "space"))
    nodes = (*found.sides, kernel.anchors[-1].node)
    roles = ("in", "in", "out")
    shapes = [n.shape if lies else s for n, s, lies in zip(nodes, found.shapes, (*found.strides, None), strict=True)]
    arguments = [Argument(role, n, 0, shape) for role, n, shape in zip(roles, nodes, shapes, strict=True)]
    arguments += [Argument("own"), Argument("own"), *(Argument("length", length=n) for n in sizes.numbers)]
    row = next(k for k, line in enumerate(text.split("\n"), 1) if line.startswith("def kernel("))
    lines = [(row, found.node)]
    if tail is not None:
        listed, arguments = (*listed, *tail.parameters), [*arguments, *tail.arguments]
        lines += [(begin + line, node) for line, node in tail.lines]
    source = Source(text, listed, apart=tail is None)
    own = replace(_own(algorithm, sizes, tail), views=tuple(views), moved=_moved(found, views))
    return Text(source, tuple(arguments), tuple(sorted(lines, key=lambda line: line[0]))), own


def compile_convolution(own: Own, source: Source, backend: Backend) -> Program:
    """The program of a step: algorithm and tail apart, if the backend can do that, else the one text of both."""
    apart = getattr(backend, "compile_apart", None)
    if apart is None or own.open is None:
        return backend.compile(source)
    program: Program = apart(own.open, own.tail)
    return program


def _moved(found: Convolution, views: Sequence[Side]) -> int:
    """Bytes of copies, written and read; without those of an array that a view does not show."""
    size, total = np.dtype(found.sizes.dtype).itemsize, 0
    for side in views:
        shown, there = math.prod(side.strides.shape), math.prod(found.sides[side.position].shape)
        total += size * (min(shown, there) - there + 2 * shown * side.packed)
    return total


def _own(algorithm: Algorithm, sizes: Sizes, tail: Tail | None) -> Own:
    prepare = prepare_source(algorithm, sizes)
    span = 0 if prepare is None else algorithm.prepare_span(sizes)
    text, end = text_of(algorithm.kernel), None
    if "*rest" not in text:
        return Own(algorithm, sizes, prepare, span, algorithm.prepared(sizes), algorithm.space(sizes))
    listed = (*parameters(sizes, (*SIDES[sizes.kind], "out", "prepared", "space")), Parameter("tail", "int64", 1))
    if tail is not None:
        end = Source(alone(tail), tail.parameters)
    start = Source(hooked(text), listed, apart=True)
    return Own(algorithm, sizes, prepare, span, algorithm.prepared(sizes), algorithm.space(sizes), start, end)


def shared_memory(owns: list[Own], backend: Backend) -> dict[tuple[str, bool], Any]:
    """(dtype, for each thread) -> memory for steps that run one after the other: as much as the largest asks for."""
    found: dict[tuple[str, bool], Any] = {}
    for dtype in {own.sizes.dtype for own in owns}:
        mine = [own for own in owns if own.sizes.dtype == dtype]
        for each, most in ((False, max(o.prepared for o in mine)), (True, max(o.space for o in mine))):
            found[dtype, each] = backend.empty((threads(), most) if each else (most,), np.dtype(dtype))
    return found


def run_convolution(
    own: Own, prepare: Program | None, program: Program, arguments: list[Any], span: int, backend: Backend
) -> None:
    """Give a kernel memory of its own, and before that prepare it."""
    dtype, numbers = np.dtype(own.sizes.dtype), arguments[OWN + 2 : OWN + 2 + len(NUMBERS)]
    for side in own.views:
        arguments[side.position] = side.read(arguments[side.position], own.small, backend)
    arguments[OWN] = backend.empty((own.prepared,), dtype)
    arguments[OWN + 1] = backend.empty((rows_of(own.sizes), own.space), dtype)
    if prepare is not None:
        read = [arguments[k] for k in own.algorithm.reads]
        launch(backend, prepare, [*read, arguments[OWN], *numbers], own.span, own.sizes)
    launch(backend, program, arguments, span, own.sizes, (OWN + 1,))
