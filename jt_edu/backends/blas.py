"""BLAS: who shares out a matrix product among threads?

We do: a product's rows are split like any other loop. BLAS itself is held to one thread, because two pools that do not
know of each other fight for the cores: on a busy machine a product of (32, 64) by (64, 256) took 35 ms in place of
0.04 ms while OpenBLAS waited for its second thread. Only the library that numba calls (SciPy's) is held; NumPy's own
keeps its threads.
"""

from __future__ import annotations

from functools import cache

import scipy.linalg.cython_blas  # noqa: F401 - loads the library, so that it can be found
from threadpoolctl import ThreadpoolController


@cache
def hold_to_one_thread() -> int:
    """Let SciPy's BLAS use one thread; the answer is how many libraries were found."""
    libraries = ThreadpoolController().lib_controllers
    found = [library for library in libraries if library.user_api == "blas" and "scipy" in library.filepath]
    for library in found:
        library.set_num_threads(1)
    return len(found)
