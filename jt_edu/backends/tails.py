"""Tails: compile a function for other kernels to call, and join it to an algorithm.

`lean` builds what Python calls. A tail is called by machine code, at an address, so it is a C function. It is kept on
disk as kernels are. `joined` makes of an algorithm and a tail what a plan takes for one kernel.
"""

# mypy: disable-error-code="attr-defined, call-overload, no-untyped-call"
# numba is typed in part, and nowhere as deep as this

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from numba import _dynfunc
from numba.core import ccallback
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from jt_edu.backends import lean
from jt_edu.backends.convolve import hook
from jt_edu.codegen.text import Parameter

OPTIONS = {"nogil": True, "fastmath": {"reassoc", "contract"}, "error_model": "numpy"}
_alive: list[Any] = []  # libraries whose code is called by address


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


def joined(
    algorithm: Callable[..., None], own: int, address: int, parameters: tuple[Parameter, ...]
) -> Callable[..., None]:
    """What a plan calls: the first `own` arguments are the algorithm's, the others those of its tail."""
    _, words = hook.words_of(parameters)

    def call(lo: int, hi: int, *arguments: Any) -> None:
        algorithm(lo, hi, *arguments[:own], words(address, arguments[own:]))

    return call


def without(algorithm: Callable[..., None]) -> Callable[..., None]:
    """The same without a tail."""

    def call(lo: int, hi: int, *arguments: Any) -> None:
        algorithm(lo, hi, *arguments, hook.NONE)

    return call
