"""The backend cudasim: what a GPU would run, run by the interpreter, one thread after the other.

    jt.flags.backend = "cudasim"

Slow, and open: the text is that of a GPU, and whatever is wrong with it is told with lines and threads.
"""

from __future__ import annotations

from jt_edu.backends import PythonBackend
from jt_edu.cuda.emit_cuda import cuda_loops


class CudaSim(PythonBackend):
    """Kernels of a GPU in the interpreter, on NumPy's arrays."""

    name, checks = "cudasim", True  # indices, and much else
    codegen = ((), cuda_loops)  # no algorithms of a CPU, and kernels of a GPU for loops
