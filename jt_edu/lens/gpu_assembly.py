"""GPU assembly: what do the kernels of a GPU become?

C++          as a person would write them for nvcc: cuda/cpp.py
PTX          NVIDIA's assembly, with registers and memory that the compiler needed; where numba-cuda is installed
"""

from __future__ import annotations

from jt_edu.base.errors import JtError
from jt_edu.codegen.emit_python import Source
from jt_edu.cuda.compiler import compile_kernel
from jt_edu.cuda.cpp import generated, launched


def listings(source: Source) -> tuple[str, str, str]:
    """(C++, PTX, why there is none) of the kernels of a text."""
    try:
        cpp = generated(source)
    except JtError as error:
        cpp = f"// {error}\n"
    try:
        made = [compile_kernel(kernel, *arguments) for kernel, arguments in launched(source)]
    except JtError as error:
        return cpp, "", str(error)
    needs = "\n".join(f"// {m!r}" for m in made)
    return cpp, "\n".join([needs, *(m.ptx for m in made)]), ""
