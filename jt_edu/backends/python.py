"""The python backend: the text of a kernel as it is, one element at a time.

Slow, and open: a breakpoint in the kernel's file stops there, and every local variable can be looked at. Numbers come
in the dtype that the source states, and divisions by zero give inf and nan without a word, as compiled code does.

Nothing here knows numba or threads.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jt_edu import memory
from jt_edu.backends import Program
from jt_edu.backends.disk import Store
from jt_edu.codegen.source import Parameter, Source
from jt_edu.errors import KernelError


class PythonBackend:
    """Runs the text in the Python that is running already."""

    name = "python"

    def __init__(self) -> None:
        self._store = Store("python-text")
        self._programs: dict[str, Program] = {}
        self._lock = threading.Lock()

    def compile(self, source: Source) -> Program:
        """The program for a source."""
        with self._lock:
            known = self._programs.get(source.key)
            if known is not None:
                return known
            begin = time.thread_time()
            name, path = self._store.write_text(source)
            call = _quiet(define(source, name), source.parameters)
            self._programs[source.key] = Program(call, compiled=False, seconds=0.0, path=path)
            return Program(call, compiled=True, seconds=time.thread_time() - begin, path=path)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """Memory for an array, filled with anything."""
        return memory.pool.empty(shape, dtype)

    def launch(
        self, program: Program, arguments: Sequence[Any], span: int, scratch: Sequence[int] = (), align: int = 1
    ) -> None:
        """Run a kernel over [0, span), in one call."""
        del align
        program.call(0, span, *(a[0, ...] if p in scratch else a for p, a in enumerate(arguments)))


def define(source: Source, name: str) -> Callable[..., None]:
    """Execute the text under a file name; the function that it defines."""
    space: dict[str, Any] = {"__name__": f"jt_edu_k_{source.key}"}
    try:
        exec(compile(source.text, name, "exec"), space)  # noqa: S102 - text that the code generator wrote
        function: Callable[..., None] = space[source.entry]
    except Exception as error:
        raise KernelError(f"{name} defines {source.entry!r}", f"{type(error).__name__}: {error}") from error
    return function


def _quiet(kernel: Callable[..., None], parameters: tuple[Parameter, ...]) -> Callable[..., None]:
    numbers = [(p, np.dtype(a.dtype).type) for p, a in enumerate(parameters) if a.rank is None and a.dtype != "int64"]

    def call(lo: int, hi: int, *arguments: Any) -> None:
        given = list(arguments)
        for position, as_dtype in numbers:
            given[position] = as_dtype(given[position])
        with np.errstate(all="ignore"):
            kernel(lo, hi, *given)

    return call
