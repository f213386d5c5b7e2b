"""BLAS: where does machine code find it, and who shares out a matrix product among threads?

We do: a product's rows are split like any other loop. BLAS itself is held to one thread, because two pools that do not
know of each other fight for the cores: on a busy machine a product of (32, 64) by (64, 256) took 35 ms instead of
0.04 ms while OpenBLAS waited for its second thread. Only the library of SciPy is held, which is the one that kernels
call; NumPy's own keeps its threads.

SciPy lends its BLAS to other libraries in one module, `scipy.linalg.cython_blas`. The package around it loads half of
SciPy, which takes five times as long as the module, and is left alone.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from importlib import util
from importlib.machinery import PathFinder
from pkgutil import resolve_name
from typing import Any

import scipy
from llvmlite import binding
from threadpoolctl import ThreadpoolController

NAMES = [*(kind + name for kind in "sdcz" for name in ("gemm", "gemv")), "sdot", "ddot"]
HOME = "scipy.linalg.cython_blas"
_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


@cache
def provide() -> int:
    """Define `jt_edu_sgemm` and so on for machine code; the answer is how many libraries are held to one thread."""
    functions = _module().__pyx_capi__
    for name in NAMES:
        binding.add_symbol(f"jt_edu_{name}", _pointer(functions[name], _name(functions[name])))
    libraries = ThreadpoolController().lib_controllers
    found = [library for library in libraries if library.user_api == "blas" and "scipy" in library.filepath]
    for library in found:
        library.set_num_threads(1)
    return len(found)


def _module() -> Any:
    """The module, without the package around it unless that is there already."""
    spec = PathFinder.find_spec(HOME, [f"{folder}/linalg" for folder in scipy.__path__])
    if "scipy.linalg" in sys.modules or spec is None or spec.loader is None:
        return resolve_name("scipy.linalg.cython_blas")
    made = util.module_from_spec(spec)
    spec.loader.exec_module(made)
    sys.modules.pop(HOME, None)  # whoever imports the package is to find it there, too
    return made
