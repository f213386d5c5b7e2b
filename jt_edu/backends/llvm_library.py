"""LLVM library: what happens to the LLVM module of a kernel, from its text to machine code?

    add_ir_module        it is to use the widest registers; passes over each function
    finalize             passes over the module, but for those that remove references, where there are none
    entered              the entry for Python or for machine code beside it, and machine code of both

Nothing here knows who wrote the module.
"""

# mypy: disable-error-code="attr-defined, no-untyped-call"
# numba is typed in part, and nowhere as deep as this

from __future__ import annotations

from typing import Any

from llvmlite import binding
from numba.core import codegen

from jt_edu.backends import code_loader, cpython_entry
from jt_edu.backends.mathlib.rare_branch import into_loops

WIDEST = '"prefer-vector-width"="512"'  # for some processors LLVM prefers half of it (decision 066)


class Piece(codegen.JITCodeLibrary):
    """The LLVM module of a function that is only called by kernels: it becomes code in each of them, and not before."""

    def add_ir_module(self, module: Any) -> None:
        """The LLVM IR that numba has written, which is to use the widest registers that there are."""
        for function in module.functions:
            if not function.is_declaration:
                set.add(function.attributes, WIDEST)  # its own `add` knows of no attribute with a value
        super().add_ir_module(module)

    def _optimize_final_module(self) -> None:
        """Left to the kernel."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


class Lean(Piece):
    """The LLVM module of a kernel that has no references to count."""

    def _optimize_final_module(self) -> None:
        for variable in code_loader.environments(self._final_module):  # what nobody reads is to go
            variable.linkage = "linkonce_odr"
        self._run_passes()
        into_loops(self._final_module, self._codegen._pass_builder())

    def _run_passes(self) -> None:
        builder = self._codegen._pass_builder()
        builder.getModulePassManager().run(self._final_module, builder)


class Long(Lean):
    """The LLVM module of any other kernel."""

    def _run_passes(self) -> None:
        codegen.JITCodeLibrary._optimize_final_module(self)


def entered(library: Any, kernel: str, kinds: Any, write: Any) -> tuple[Any, bytes]:
    """What to call, and what is kept of it."""
    module, name = library._final_module, f"entry_{kernel}"
    text = (write or cpython_entry.from_python)(name, kernel, kinds)
    module.link_in(binding.parse_assembly(text))
    frozen = code_loader.freeze(library.codegen._tm.emit_object(module), name, module)
    return code_loader.address_of(frozen) if write else code_loader.thaw(frozen), frozen
