"""Surroundings: what has to be so before NumPy, PyTorch or jt_edu is imported.

    one thread on each side      more threads measure the scheduler of a shared machine, not the code
    BLAS as it chooses itself    an OPENBLAS_CORETYPE that somebody set would measure an older processor
    a kernel cache of our own    every kernel of the run is compiled in the run, so compiling can be measured too

Nothing here imports any of them.
"""

import os
import tempfile
from contextlib import contextmanager

ONE_THREAD = (
    "JT_EDU_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
)  # fmt: skip
LEFT_ALONE = ("MKL_ENABLE_INSTRUCTIONS", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


@contextmanager
def quiet():
    """The environment of this process and its children, until the end; yields the variables that had to go."""
    before = dict(os.environ)
    gone = [name for name in LEFT_ALONE if os.environ.pop(name, None) is not None]
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    with tempfile.TemporaryDirectory(prefix="jt_edu-bench-") as folder:
        os.environ["JT_EDU_CACHE"] = folder
        try:
            yield gone
        finally:
            os.environ.clear()
            os.environ.update(before)
