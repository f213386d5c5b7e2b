"""Conv step: how does a convolution become a step of a plan?

    Convolution  ->  the algorithm that is thought, or was measured, to be fastest  ->  its text, with the tail in it

A kernel is told its arrays, the memory of its own that it asked for (`prepared` is shared by the threads, `space` is
each thread's), and the ten numbers that say how the window slides. A factor that is a view is passed as one, or packed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from jt_edu.backends import Backend, Program
from jt_edu.backends.convolve import Algorithm, text_of
from jt_edu.backends.convolve.packing import Side, choose_with_views, reason
from jt_edu.backends.convolve.selection import choose
from jt_edu.backends.convolve.standalone import (
    NUMBERS,
    SHARED,
    compile_algorithm,
    given_to,
    launch,
    open_source,
    parameters,
    prepare_source,
    rows_of,
)
from jt_edu.backends.kernel_cache import Store
from jt_edu.backends.thread_pool import threads
from jt_edu.codegen.emit_epilogue import Tail, alone, tail_of, with_tail
from jt_edu.codegen.emit_python import Argument, Parameter, Source, Text
from jt_edu.fusion.loop_fusion import Kernel
from jt_edu.ir.conv_pattern import Convolution, Sizes
from jt_edu.ir.node import Node, Shape

SUBTOTALS = (Parameter("subtotals", "float64", 2), Parameter("total", "float64", 1))
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
    gather: Source | None = None  # run after it for each sum that the tail has begun
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
    tail = tail_of(kernel, stored, algorithm.apart(sizes)) if len(kernel.anchors) > 1 else None
    text, begin = with_tail(algorithm.text(sizes), tail)
    listed = parameters(sizes, given_to(sizes))
    nodes = (*found.sides, kernel.written)
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
    program = compile_algorithm(source, own.open, own.tail, backend)
    if program.path is None or own.open is None:
        return program
    _, path = _store(program.path.parent.name).write_text(source)  # of both, which is what a learner reads
    return program._replace(path=path)


def compile_around(own: Own, backend: Backend) -> tuple[Program | None, Program | None]:
    """The programs that run before and after a convolution, where there are any."""
    prepare, gather = (None if source is None else backend.compile(source) for source in (own.prepare, own.gather))
    return prepare, gather


@lru_cache(maxsize=8)
def _store(stamp: str) -> Store:
    return Store(stamp)


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
    start = open_source(algorithm, sizes)
    end = None if tail is None or start is None else Source(alone(tail), tail.parameters)
    gather = None
    if tail is not None and any(a.kind == "scratch" for a in tail.arguments):
        gather = Source(text_of("subtotals"), SUBTOTALS, apart=True)
    return Own(algorithm, sizes, prepare, span, algorithm.prepared(sizes), algorithm.space(sizes), start, end, gather)


def shared_memory(owns: list[Own], backend: Backend) -> dict[tuple[str, bool], Any]:
    """(dtype, for each thread) -> memory for steps that run one after the other: as much as the largest asks for."""
    found: dict[tuple[str, bool], Any] = {}
    for dtype in {own.sizes.dtype for own in owns}:
        mine = [own for own in owns if own.sizes.dtype == dtype]
        for each, most in ((False, max(o.prepared for o in mine)), (True, max(o.space for o in mine))):
            found[dtype, each] = backend.empty((threads(), most) if each else (most,), np.dtype(dtype))
    return found


def run_convolution(
    own: Own, programs: tuple[Program | None, Program, Program | None], arguments: list[Any], span: int,
    sums: Sequence[tuple[int, Shape, Any]], backend: Backend,
) -> None:  # fmt: skip
    """Prepare a kernel, run it with memory of its own, and gather the `sums` that its tail has begun.

    A sum is the position of its subtotals among the arguments, their shape, and the array to write.
    """
    prepare, program, gather = programs
    dtype, numbers = np.dtype(own.sizes.dtype), arguments[OWN + 2 : OWN + 2 + len(NUMBERS)]
    for side in own.views:
        arguments[side.position] = side.read(arguments[side.position], own.small, backend)
    arguments[OWN] = backend.empty((own.prepared,), dtype)
    arguments[OWN + 1] = backend.empty((rows_of(own.sizes), own.space), dtype)
    for position, shape, _ in sums:
        arguments[position] = np.zeros(shape)
    if prepare is not None:
        read = [arguments[k] for k in own.algorithm.reads]
        launch(backend, prepare, [*read, arguments[OWN], *numbers], own.span, own.sizes)
    launch(backend, program, arguments, span, own.sizes, (OWN + 1,))
    if gather is not None:
        for position, shape, total in sums:
            gather.call(0, shape[0], arguments[position], total.reshape(-1))
