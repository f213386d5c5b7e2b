"""Lean: a shorter way through numba, for kernels that allocate nothing.

    njit    text -> numba IR -> types -> LLVM IR (kernel, wrapper, reference counts) -> three rounds of passes -> code
    lean    text -> numba IR -> types -> LLVM IR (kernel, wrapper)                   -> two, on the kernel     -> code

A kernel that allocates nothing has no references to count, nor the round of passes that removes them. The wrapper,
which takes the arguments out of Python objects, is left as it is: a call takes 0.05 us more, a kernel 12 ms less.
The kernel itself goes through the passes that numba would send it through, and runs as fast. Functions that kernels
call are typed and written once, and become machine code as a part of each kernel only: see `Inside`.

What is kept on disk is the machine code and the names in it, not all that numba's own cache stores. Loading it takes
0.5 ms, and does not need numba's tables of all the functions it knows, whose filling takes half a second.

This file alone uses what numba does not promise to keep; where that fails, `njit` is asked. Nothing here knows files.
"""

# mypy: disable-error-code="attr-defined, call-overload, no-any-return, no-untyped-call"
# numba is typed in part, and nowhere as deep as this

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from contextlib import suppress
from pkgutil import resolve_name
from typing import Any

import numba
from llvmlite import binding
from numba import _dynfunc
from numba.core import codegen, compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.runtime.nrt import rtsys

FLAGS = {"nogil": True, "fastmath": {"reassoc", "contract"}, "error_model": "numpy", "no_cfunc_wrapper": True}
_ENVIRONMENT = "_ZN08NumbaEnv"


class _Library(codegen.JITCodeLibrary):
    """The LLVM module of one kernel and its wrapper."""

    def add_ir_module(self, ir_module: Any) -> None:
        """Add the kernel, or the wrapper: that one is to be left as it is."""
        if ir_module.name == "wrapper":
            for function in ir_module.functions:
                if not function.is_declaration:
                    function.attributes.add("noinline")
                    function.attributes.add("optnone")
        super().add_ir_module(ir_module)

    def _optimize_functions(self, ll_module: Any) -> None:
        if ll_module.name != "wrapper":
            super()._optimize_functions(ll_module)

    def _optimize_final_module(self) -> None:
        builder = self._codegen._pass_builder()
        builder.getModulePassManager().run(self._final_module, builder)


class _Pipeline(compiler.CompilerBase):
    """Numba's own passes, with our library at the end."""

    def define_pipelines(self) -> list[Any]:
        """The one pipeline there is."""
        self.state.library = _Library(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        self.state.library.enable_object_caching()
        return [compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)]


class _Apart(_Pipeline):
    """The same, for arrays that do not overlap: without this LLVM takes every store for a change of every input."""

    def define_pipelines(self) -> list[Any]:
        """The one pipeline there is."""
        self.state.flags.noalias = True
        return super().define_pipelines()


class _Piece(codegen.JITCodeLibrary):
    """The LLVM module of a function that is only called by kernels: it becomes code in each of them, and not before."""

    def _optimize_final_module(self) -> None:
        """Left to the kernel."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class Inside(compiler.CompilerBase):
    """For functions that kernels call: neither machine code of their own, nor a way to call them from Python.

    Numba would compile each by itself, with everything that it calls, and then once more as a part of the kernel.
    """

    def define_pipelines(self) -> list[Any]:
        """The one pipeline there is."""
        self.state.library = _Piece(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        for name in ("no_compile", "no_cpython_wrapper", "no_cfunc_wrapper"):
            setattr(self.state.flags, name, True)
        return [compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)]

    def _compile_core(self) -> Any:
        made = super()._compile_core()
        nobody: Any = [].append  # numba tells functions apart by what Python would call: something in C, and its own
        self.state.targetctx.insert_user_function(nobody, made.fndesc, [made.library])
        return made._replace(entry_point=nobody)


def build(
    function: Callable[..., None], signature: Any, apart: bool = False
) -> tuple[Callable[..., None], bytes | None]:
    """Compile; what to call, and what `thaw` makes the same of in another process (None: it cannot).

    `apart` promises that no array that is written overlaps another argument.
    """
    collecting = gc.isenabled()
    gc.disable()  # compiling makes many objects and no cycles to speak of; looking for them takes a fifth of the time
    try:
        made = compiled(function, signature, apart)
    finally:
        if collecting:
            gc.enable()
    if not hasattr(made, "overloads"):  # NUMBA_DISABLE_JIT
        return function, None
    result = made.overloads[made.signatures[0]]
    with suppress(Exception):  # keeping it is a favour
        return result.entry_point, _freeze(result)
    return result.entry_point, None


def compiled(function: Callable[..., None], signature: Any, apart: bool = False) -> Any:
    """What numba makes of a function, with its machine code as text; the function itself under NUMBA_DISABLE_JIT."""
    pipeline = _Apart if apart else _Pipeline
    try:
        return numba.njit(signature, pipeline_class=pipeline, _nrt=False, **FLAGS)(_by_blas(function))
    except Exception:  # noqa: BLE001 - it allocates, or is wrong, or numba has changed: numba's own way tells
        return numba.njit(signature, **FLAGS)(function)


def _by_blas(function: Callable[..., None]) -> Callable[..., None]:
    """The same function; one that multiplies matrices asks BLAS, which is loaded here, because that takes a while."""
    if "dot" not in function.__code__.co_names:
        return function
    return resolve_name("jt_edu.backends.multiply.dot:with_blas")(function)


def _freeze(result: Any) -> bytes | None:
    library, module = result.library, result.library._final_module
    if result.reload_init or library.has_dynamic_globals or result.environment.consts:
        return None  # it needs objects of this process
    names = {
        "entry": result.fndesc.llvm_cpython_wrapper_name,
        "environments": [g.name for g in module.global_variables if g.name.startswith(_ENVIRONMENT)],
        "needs": declared(module),
    }
    return json.dumps(names).encode() + b"\n" + bytes(library._get_compiled_object())


def declared(module: Any) -> list[str]:
    """The symbols that a module uses and somebody else defines."""
    found = [g for g in (*module.functions, *module.global_variables) if g.is_declaration]
    return [g.name for g in found if not g.name.startswith("llvm.")]


def provide(symbols: list[str]) -> None:
    """Have numba define symbols of its own that machine code needs; LookupError if one remains unknown."""
    context = cpu_target.target_context
    if _missing(symbols):  # products need numba's own helpers, and those no tables
        rtsys.initialize(context)
    if _missing(symbols):
        context.refresh()
    if _missing(symbols):  # LLVM would end the process
        raise LookupError(_missing(symbols))


@global_compiler_lock
def thaw(frozen: bytes) -> Callable[..., None]:
    """What `build` returned to call, made from what it returned to keep, or LookupError."""
    head, _, machine_code = frozen.partition(b"\n")
    names = json.loads(head)
    provide(names["needs"])
    library = cpu_target.target_context.codegen().create_library(names["entry"])
    library.enable_object_caching()
    library._set_compiled_object(machine_code)
    library._finalize_final_module()
    engine, home = library.codegen._engine, _dynfunc.Environment({})
    for name in names["environments"]:
        library.codegen.set_env(name, home)
    address = engine.get_function_address(names["entry"])
    made: Callable[..., None] = _dynfunc.make_function(numba, "kernel", "", address, home, (library,))
    return made


def cpu() -> Any:
    """What machine code is made for: the triple, the CPU's name and its features."""
    return cpu_target.target_context.codegen().magic_tuple()


def _missing(symbols: list[str]) -> list[str]:
    return [s for s in symbols if not binding.address_of_symbol(s)]
