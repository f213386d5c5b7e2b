"""Epilogues: how is a function compiled that the machine code of other kernels calls?

A tail is called by machine code, at an address. It is compiled and kept on disk as kernels are, with another entry.
`Joined` makes of an algorithm and a tail what a plan takes for one kernel; how the one calls the other stands in
`convolve/epilogue_hook.py`. Nothing here knows convolutions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pkgutil import resolve_name
from typing import Any

from jt_edu.backends import Program, code_loader, define
from jt_edu.backends.convolve import epilogue_args
from jt_edu.backends.kernel_cache import Store
from jt_edu.base.errors import KernelError
from jt_edu.codegen.emit_python import Parameter, Source

_known: dict[str, int] = {}  # key of a source -> address


def address_of(source: Source, store: Store) -> tuple[int, float]:
    """The address of a tail, and the seconds that it was compiled; 0 if it was in memory or on disk."""
    if source.key in _known:
        return _known[source.key], 0.0
    name, _ = store.write_text(source)
    frozen, begin = store.load(f"{source.key}t"), time.thread_time()
    if frozen is not None:
        with suppress(Exception):  # whatever is wrong with it, the text is there
            _known[source.key] = code_loader.address_of(frozen)
            return _known[source.key], 0.0
    function = define(source, name)
    function.__qualname__ = f"tail_{source.key}"
    try:
        _known[source.key], frozen = build(function)
    except Exception as error:
        raise KernelError(f"numba compiles {name}", f"{type(error).__name__}: {error}") from error
    if frozen is not None:
        store.save(f"{source.key}t", frozen)
    return _known[source.key], time.thread_time() - begin


def program(begun: Program, algorithm: Source, address: int, seconds: float, tail: Source) -> Program:
    """The program of both."""
    call = Joined(begun.call, len(algorithm.parameters) - 1, address, tail.parameters)
    return Program(call, begun.compiled or seconds > 0, begun.seconds + seconds, begun.path)


def build(function: Callable[..., None]) -> tuple[int, bytes | None]:
    """Compile a tail; its address, and what `code_loader.address_of` makes the same of in another process."""
    kinds = resolve_name("jt_edu.backends.convolve.epilogue_hook:SIGNATURE")
    write = resolve_name("jt_edu.backends.cpython_entry:from_code")
    made: tuple[int, bytes | None] = resolve_name("jt_edu.backends.numba_pipeline:build")(function, kinds, write=write)
    return made


class Joined:
    """What a plan calls: the first `count` arguments are the algorithm's, the others those of its tail."""

    def __init__(
        self, algorithm: Callable[..., None], count: int, address: int, parameters: tuple[Parameter, ...]
    ) -> None:
        self.algorithm, self._count, self._address = algorithm, count, address
        _, self._words = epilogue_args.words_of(parameters)

    def bind(self, arguments: Sequence[Any]) -> list[Any]:
        """What the algorithm is passed instead, in any number of calls."""
        return [*arguments[: self._count], self._words(self._address, arguments[self._count :])]

    def __call__(self, lo: int, hi: int, *arguments: Any) -> None:
        """Run both over [lo, hi)."""
        self.algorithm(lo, hi, *self.bind(arguments))


def without(algorithm: Callable[..., None]) -> Callable[..., None]:
    """The same without a tail."""

    def call(lo: int, hi: int, *arguments: Any) -> None:
        algorithm(lo, hi, *arguments, epilogue_args.NONE)

    return call
