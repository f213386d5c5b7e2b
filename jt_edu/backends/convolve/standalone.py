"""Standalone: how does an algorithm run without a graph?

    run = Alone(algorithm, sizes, backend)       compiled, and with memory of its own
    run(left, right, out)                        the factors in the order of `SIDES`, and the array to fill

A plan puts an algorithm between other kernels, and hangs a tail on it. To time it, or to look at what it computes, one
wants it without: the same program, on the same number of threads. What both need stands here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jt_edu.backends import Backend, Program
from jt_edu.backends.convolve import Algorithm, Sizes, text_of
from jt_edu.backends.thread_pool import threads
from jt_edu.codegen.emit_epilogue import hooked, with_tail
from jt_edu.codegen.emit_python import Parameter, Source
from jt_edu.ir.node import Shape

SIDES = {"forward": ("image", "weights"), "by_image": ("places", "weights"), "by_weights": ("image", "places")}
NUMBERS = ("sd", "sh", "sw", "pd", "ph", "pw", "dd", "dh", "dw", "groups")
SHARED = 3_200_000  # operations from which on threads share a convolution
PIECE = 4_000_000  # of two of the smallest pieces: shorter ones would not be worth the asking
DEPTH = 4  # so often the work is halved, at most


class Alone:
    """One algorithm for convolutions of one size."""

    def __init__(self, algorithm: Algorithm, sizes: Sizes, backend: Backend) -> None:
        self._algorithm, self._sizes, self._backend = algorithm, sizes, backend
        text, _ = with_tail(algorithm.text(sizes), None)
        source = Source(text, parameters(sizes, given_to(sizes)), apart=True)
        self._program = compile_algorithm(source, open_source(algorithm, sizes), None, backend)
        prepare = prepare_source(algorithm, sizes)
        self._prepare = None if prepare is None else backend.compile(prepare)
        dtype = np.dtype(sizes.dtype)
        self._prepared = backend.empty((algorithm.prepared(sizes),), dtype)
        self._space = backend.empty((rows_of(sizes), algorithm.space(sizes)), dtype)

    def __call__(self, left: Any, right: Any, out: Any) -> None:
        """Fill `out`; all arrays have five axes."""
        algorithm, sizes, numbers = self._algorithm, self._sizes, self._sizes.numbers
        given = [left, right, out, self._prepared, self._space, *numbers]
        if self._prepare is not None:
            read = [*(given[k] for k in algorithm.reads), self._prepared, *numbers]
            launch(self._backend, self._prepare, read, algorithm.prepare_span(sizes), sizes)
        launch(self._backend, self._program, given, algorithm.span(sizes), sizes, (4,))


def compile_algorithm(whole: Source, opened: Source | None, tail: Source | None, backend: Backend) -> Program:
    """The program of an algorithm and its tail: the two compiled apart, where the backend can do that.

    `whole` is the text of both, `opened` that of the algorithm with a hook, if it takes a tail; see `epilogue_hook.py`.
    """
    apart = getattr(backend, "compile_apart", None)
    if apart is None or opened is None:
        return backend.compile(whole)
    program: Program = apart(opened, tail)
    return program


def open_source(algorithm: Algorithm, sizes: Sizes) -> Source | None:
    """The text of an algorithm that any tail can be hung on; None if it takes none."""
    if not algorithm.takes_tail:
        return None
    listed = (*parameters(sizes, given_to(sizes)), Parameter("tail", "int64", 1))
    return Source(hooked(algorithm.text(sizes)), listed, apart=True)


def launch(
    backend: Backend, program: Program, arguments: list[Any], span: int, sizes: Sizes, each: tuple[int, ...] = ()
) -> None:
    """Run a kernel of an algorithm, on one thread if it is small; arguments `each` come once for each thread."""
    if sizes.flops < SHARED:
        program.call(0, span, *(a[0] if p in each else a for p, a in enumerate(arguments)))
    else:
        backend.launch(program, arguments, span, each, 1, depth_of(sizes))


def depth_of(sizes: Sizes) -> int:
    """How often the work for threads is halved, until whoever is free takes the next piece."""
    return max(1, min(DEPTH, (sizes.flops // PIECE).bit_length()))


def rows_of(sizes: Sizes) -> int:
    """How many threads may need memory of their own."""
    return 1 if sizes.flops < SHARED else threads()


def given_to(sizes: Sizes) -> tuple[str, ...]:
    """The arrays that a kernel is given, in this order."""
    return (*SIDES[sizes.kind], "out", "prepared", "space")


def parameters(sizes: Sizes, arrays: tuple[str, ...]) -> tuple[Parameter, ...]:
    """Arrays (those of the kernel's own are flat), and the ten numbers."""
    listed = [Parameter(name, sizes.dtype, 1 if name in ("prepared", "space") else 5) for name in arrays]
    return (*listed, *(Parameter(name, "int64") for name in NUMBERS))


def prepare_source(algorithm: Algorithm, sizes: Sizes) -> Source | None:
    """What runs before an algorithm, if it is to."""
    if not algorithm.prepared(sizes):
        return None
    names = (*SIDES[sizes.kind], "out")
    listed = parameters(sizes, (*(names[k] for k in algorithm.reads), "prepared"))
    return Source(text_of(algorithm.prepare), listed, apart=True)


def shapes_of(sizes: Sizes) -> tuple[Shape, Shape, Shape]:
    """The shapes of both factors and of what is asked for."""
    all_three = {"image": sizes.image_shape, "weights": sizes.weights_shape, "places": sizes.places_shape}
    left, right = (all_three.pop(name) for name in SIDES[sizes.kind])
    return left, right, next(iter(all_three.values()))


def any_arrays(sizes: Sizes) -> tuple[Any, Any, Any]:
    """Both factors, filled with numbers around 0, and room for the answer."""
    some = np.random.default_rng(0).standard_normal(4096).astype(sizes.dtype)
    left, right, out = shapes_of(sizes)
    return np.resize(some, left), np.resize(some[::-1], right), np.empty(out, sizes.dtype)


def workspace(algorithm: Algorithm, sizes: Sizes, count: int) -> int:
    """Bytes that an algorithm uses on `count` threads besides the three arrays."""
    numbers = algorithm.prepared(sizes) + algorithm.space(sizes) * (1 if sizes.flops < SHARED else count)
    return numbers * np.dtype(sizes.dtype).itemsize
