"""Backends: who turns the text of a kernel into something that runs?

    get("numba").compile(source)  ->  Program, whose `call(lo, hi, *arguments)` does the work

A backend is any object with a name and three methods; a fourth, `compile_apart`, is for those whose compiler takes long
(see `Backend`). Ours are found by the table below. One that lives elsewhere announces itself in its own
`pyproject.toml`, and is looked up when its name is first asked for:

    [project.entry-points."jt_edu.backends"]
    mine = "my_package:MyBackend"

The simplest backend stands here: `PythonBackend` runs the text as it is. Nothing here knows graphs, and nothing here
imports numba: a backend is loaded when its name is first asked for.
"""

from __future__ import annotations

import difflib
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple, Protocol

import numpy as np

from jt_edu.backends.kernel_cache import Store as _Store
from jt_edu.base import allocator
from jt_edu.base.context import CHECKS as _CHECKS
from jt_edu.base.errors import BackendError, KernelError
from jt_edu.codegen.emit_python import Parameter, Source

__all__ = ["Backend", "Program", "PythonBackend", "define", "get", "names", "register"]


class Program(NamedTuple):
    """What a backend made of a `Source`."""

    call: Callable[..., None]  # call(lo, hi, *arguments); it trusts that they are what the parameters of the source say
    compiled: bool  # False: it was in memory or on disk
    seconds: float  # of CPU time, spent on compiling
    path: Path | None  # the file where its text can be read; None if no folder could be written


class Backend(Protocol):
    """Three methods and a name: what the executor asks of every backend.

    One that has `compile_apart(algorithm: Source, tail: Source | None) -> Program` as well is given the kernel of a
    forward convolution in two: the algorithm, which takes any tail, and the work that was joined to it, or None. So an
    algorithm is compiled once, whatever follows it. Without that method, `compile` is given one text of both.

    One whose arrays are not NumPy's says so by its `device`: runtime/devices.py has what is asked of it.
    """

    name: str

    def compile(self, source: Source) -> Program:
        """The program for a source; the second time it is the same one. Any thread may ask."""

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """Memory for an array, filled with anything."""

    def launch(
        self, program: Program, arguments: Sequence[Any], span: int, scratch: Sequence[int] = (), align: int = 1,
        depth: int = 1,
    ) -> None:  # fmt: skip
        """Run a kernel over [0, span), on as many threads as the backend has.

        Each thread does one block, whose length is a multiple of `align` except for the last. `scratch` are the
        positions of arguments that come once for each thread: block k is given `arguments[p][k]`.
        If `depth` is more than 1, a thread may do several blocks, one after the other: see `thread_pool.pieces`.
        """


_OURS = {
    "cuda": "jt_edu.cuda.backend:Cuda",
    "cudasim": "jt_edu.cuda.backend:CudaSim",
    "numba": "jt_edu.backends.numba_cpu:NumbaBackend",
    "python": "jt_edu.backends:PythonBackend",
}
_loaded: dict[str, Backend] = {}
_lock = threading.RLock()


def register(backend: Backend) -> None:
    """Make a backend known under its name; a second one of the same name replaces the first."""
    with _lock:
        _loaded[backend.name] = backend


def names() -> tuple[str, ...]:
    """Every name that `get` knows, sorted: ours, those registered, those that installed packages announce."""
    return tuple(sorted({*_OURS, *_loaded, *(e.name for e in _announced())}))


def get(name: str) -> Backend:
    """The backend of that name, loaded if need be.

    Example:
        >>> get("python").name
        'python'
    """
    found = _loaded.get(name)
    if found is not None:
        return found
    with _lock:
        if name not in _loaded:
            _loaded[name] = _load(name)
        return _loaded[name]


def _load(name: str) -> Backend:
    try:
        if name in _OURS:
            made = resolve_name(_OURS[name])()
        else:
            entry = next((e for e in _announced() if e.name == name), None)
            if entry is None:
                near = difflib.get_close_matches(name, names(), 1) or ["numba"]
                found = f"the backends {', '.join(names())}"
                raise BackendError(f"a backend named {name!r} was asked for", found, repr(near[0]))
            made = entry.load()()
    except (ImportError, AttributeError) as error:
        raise BackendError(f"the backend {name!r} could not be loaded", f"{type(error).__name__}: {error}") from error
    return made  # type: ignore[no-any-return]


_CHECKS["backend"] = lambda name: name in _OURS or get(name)


def _announced() -> Any:  # importlib.metadata loads all that mail is made of, and is hardly ever asked
    return resolve_name("importlib.metadata:entry_points")(group="jt_edu.backends")


class PythonBackend:
    """The text of a kernel as it is, run by the Python that is running already, one element at a time.

    Slow, and open: a breakpoint in the kernel's file stops there, and every local variable can be looked at. Numbers
    come in the dtype that the source states, and divisions by zero give inf and nan without a word, as compiled code
    does.
    """

    name = "python"
    empty = staticmethod(allocator.pool.empty)

    def __init__(self) -> None:
        self._store = _Store("python-text")
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

    def launch(
        self, program: Program, arguments: Sequence[Any], span: int, scratch: Sequence[int] = (), align: int = 1,
        depth: int = 1,
    ) -> None:  # fmt: skip
        """Run a kernel over [0, span), in one call."""
        del align, depth
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
