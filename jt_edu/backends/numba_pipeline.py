"""Numba pipeline: a shorter way through numba, for kernels that allocate nothing.

    njit     text -> numba IR -> types -> LLVM IR (kernel, wrapper, reference counts) -> three rounds of passes -> code
    here     text -> numba IR -> types -> LLVM IR (kernel)                            -> two                    -> code

A kernel that allocates nothing has no references to count, nor the round of passes that removes them. The kernel itself
goes through the passes that numba would send it through, and runs as fast. How Python calls it is not left to numba
(`cpython_entry`), nor is how it comes into memory (`code_loader`), so whoever finds it on disk needs no numba.
Functions that kernels call are typed and written once, and become machine code as a part of each kernel only: see
`Inside`.

Generated kernels go a shorter way still: `text_to_llvm` reads them. What uses more of numba than numba promises to keep
stands here, there and in the files beside it, `llvm_library`, `llvm_array` and `llvm_number`, and in `cpython_entry`.
Nothing here knows files.
"""

# mypy: disable-error-code="attr-defined, call-overload, no-any-return, no-untyped-call"
# numba is typed in part, and nowhere as deep as this

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import suppress
from pkgutil import resolve_name
from typing import Any

import numba
from numba.core import compiler
from numba.core.registry import cpu_target

from jt_edu.backends import code_loader, text_to_llvm
from jt_edu.backends.llvm_library import Lean, Long, Piece, entered

FLAGS = {"nogil": True, "fastmath": text_to_llvm.FASTMATH, "error_model": "numpy"}


class Inside(compiler.CompilerBase):
    """For functions that kernels call: neither machine code of their own, nor a way to call them from Python.

    Numba would compile each by itself, with everything that it calls, and then once more as a part of the kernel.
    """

    library: type[Piece] = Piece

    def define_pipelines(self) -> list[Any]:
        """The one pipeline there is."""
        self.state.library = self.library(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        for name in ("no_compile", "no_cpython_wrapper", "no_cfunc_wrapper"):
            setattr(self.state.flags, name, True)
        return [compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)]

    def _compile_core(self) -> Any:
        made = super()._compile_core()
        nobody: Any = [].append  # numba tells functions apart by what Python would call: something in C, and its own
        self.state.targetctx.insert_user_function(nobody, made.fndesc, [made.library])
        return made._replace(entry_point=nobody)


class _Kernel(Inside):
    """For kernels, which are as good as they get."""

    library = Lean

    def _compile_core(self) -> Any:
        made = super()._compile_core()
        made.library.finalize()
        return made


class _Apart(_Kernel):
    """The same, for arrays that do not overlap: without this LLVM takes every store for a change of every input."""

    def define_pipelines(self) -> list[Any]:
        """The one pipeline there is."""
        self.state.flags.noalias = True
        return super().define_pipelines()


class _Allocating(_Kernel):
    """For kernels that allocate."""

    library = Long


def build(
    function: Callable[..., None], signature: Any, apart: bool = False, write: Any = None, text: str = ""
) -> tuple[Any, Any]:
    """Compile; what to call, and what `code_loader.thaw` makes the same of in another process (None: it cannot).

    `apart` promises that no array that is written overlaps another argument. With `write=cpython_entry.from_code` it is
    to be called by machine code, and comes as an address. Numba's front end is spared the function if its `text` is
    given and is what generated kernels are made of.
    """
    collecting = gc.isenabled()
    gc.disable()  # compiling makes many objects and no cycles to speak of; looking for them takes a fifth of the time
    try:
        made = text_to_llvm.straight(function, _by_blas, signature.args, apart, text) or compiled(
            function, signature, apart
        )
    finally:
        if collecting:
            gc.enable()
    if isinstance(made, Lean):
        return entered(made, made.name, signature.args, write)
    if not hasattr(made, "overloads"):  # NUMBA_DISABLE_JIT
        return function, None
    result = made.overloads[made.signatures[0]]
    call, frozen = entered(result.library, result.fndesc.llvm_func_name, result.fndesc.argtypes, write)
    library = result.library
    if consts := result.environment.consts:
        code_loader.remember(cpu_target.target_context.get_env_name(result.fndesc), result.environment)
    return call, None if result.reload_init or library.has_dynamic_globals or consts else frozen  # or only here


def compiled(function: Callable[..., None], signature: Any, apart: bool = False) -> Any:
    """What numba makes of a function, with its machine code as text; the function itself under NUMBA_DISABLE_JIT."""
    pipeline = _Apart if apart else _Kernel
    if "scratch" not in function.__code__.co_names:
        with suppress(Exception):  # it allocates otherwise, or is wrong: numba's own way tells
            return numba.njit(signature, pipeline_class=pipeline, _nrt=False, **FLAGS)(_by_blas(function))
    return numba.njit(signature, pipeline_class=_Allocating, **FLAGS)(function)


def _by_blas(function: Callable[..., None]) -> Callable[..., None]:
    """The same function; one that multiplies matrices asks BLAS, which is loaded here, because that takes a while."""
    if "dot" not in function.__code__.co_names:
        return function
    return resolve_name("jt_edu.backends.matmul.dot:with_blas")(function)


def cpu() -> Any:
    """What machine code is made for: the triple, the CPU's name and its features."""
    return cpu_target.target_context.codegen().magic_tuple()
