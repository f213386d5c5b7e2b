"""Tails: how is a function compiled that the machine code of other kernels calls?

`lean` builds what Python calls. A tail is called by machine code, at an address, so it is a C function. It is kept on
disk as kernels are. `Joined` makes of an algorithm and a tail what a plan takes for one kernel; how the one calls the
other stands in `convolve/hook.py`. Nothing here knows convolutions.
"""

# mypy: disable-error-code="attr-defined, call-overload, no-untyped-call"
# numba is typed in part, and nowhere as deep as this

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from numba import _dynfunc
from numba.core import ccallback
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from jt_edu.backends import Program, define, lean
from jt_edu.backends.convolve import hook
from jt_edu.backends.disk import Store
from jt_edu.codegen.text import Parameter, Source
from jt_edu.errors import KernelError

OPTIONS = {"nogil": True, "fastmath": {"reassoc", "contract"}, "error_model": "numpy"}
_known: dict[str, int] = {}  # key of a source -> address
_alive: list[Any] = []  # libraries whose code is called by address


def address_of(source: Source, store: Store) -> tuple[int, float]:
    """The address of a tail, and the seconds that it was compiled; 0 if it was in memory or on disk."""
    if source.key in _known:
        return _known[source.key], 0.0
    name, _ = store.write_text(source)
    frozen, begin = store.load(f"{source.key}t"), time.thread_time()
    if frozen is not None:
        with suppress(Exception):  # whatever is wrong with it, the text is there
            _known[source.key] = thaw(frozen)
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
    """Compile a tail; its address, and what `thaw` makes the same of in another process (None: it cannot)."""
    made = ccallback.CFunc(function, (hook.SIGNATURE.args, hook.SIGNATURE.return_type), locals={}, options=OPTIONS)
    made.compile()
    _alive.append(made)
    address = int(made.address or 0)
    with suppress(Exception):  # keeping it is a favour
        return address, _freeze(made)
    return address, None


def _freeze(made: Any) -> bytes | None:
    library = made._library
    module = library._final_module
    names = {
        "entry": made._wrapper_name,
        "environments": [g.name for g in module.global_variables if g.name.startswith(lean._ENVIRONMENT)],
        "needs": lean.declared(module),
    }
    return json.dumps(names).encode() + b"\n" + bytes(library._get_compiled_object())


@global_compiler_lock
def thaw(frozen: bytes) -> int:
    """The address of what `build` returned to keep, or LookupError."""
    head, _, machine_code = frozen.partition(b"\n")
    names = json.loads(head)
    lean.provide(names["needs"])
    library = cpu_target.target_context.codegen().create_library(names["entry"])
    library.enable_object_caching()
    library._set_compiled_object(machine_code)
    library._finalize_final_module()
    home = _dynfunc.Environment({})
    for name in names["environments"]:
        library.codegen.set_env(name, home)
    _alive.append((library, home))
    return int(library.codegen._engine.get_function_address(names["entry"]))


class Joined:
    """What a plan calls: the first `count` arguments are the algorithm's, the others those of its tail."""

    def __init__(
        self, algorithm: Callable[..., None], count: int, address: int, parameters: tuple[Parameter, ...]
    ) -> None:
        self.algorithm, self._count, self._address = algorithm, count, address
        _, self._words = hook.words_of(parameters)

    def bind(self, arguments: Sequence[Any]) -> list[Any]:
        """What the algorithm is passed instead, in any number of calls."""
        return [*arguments[: self._count], self._words(self._address, arguments[self._count :])]

    def __call__(self, lo: int, hi: int, *arguments: Any) -> None:
        """Run both over [lo, hi)."""
        self.algorithm(lo, hi, *self.bind(arguments))


def without(algorithm: Callable[..., None]) -> Callable[..., None]:
    """The same without a tail."""

    def call(lo: int, hi: int, *arguments: Any) -> None:
        algorithm(lo, hi, *arguments, hook.NONE)

    return call
