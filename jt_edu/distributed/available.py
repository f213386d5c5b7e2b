"""Available: which backends work here.

is_mpi_available()         there is an mpirun, and mpi4py
is_gloo_available()        sockets are always there
is_nccl_available()        never: arrays of GPUs go through main memory
"""

from __future__ import annotations

from importlib.util import find_spec

from jt_edu.mpi.mpi4py_backend import launch


def is_mpi_available() -> bool:
    """Whether there is an mpirun, and mpi4py to speak to its ranks.

    Example:
        >>> is_mpi_available() in (True, False)
        True
    """
    return find_spec("mpi4py") is not None and launch.find() is not None


def is_gloo_available() -> bool:
    """Whether the backend "gloo", here sockets between processes, works: it always does.

    Example:
        >>> is_gloo_available()
        True
    """
    return True


def is_nccl_available() -> bool:
    """Whether the backend "nccl" works: it never does, because arrays of GPUs go through main memory.

    Example:
        >>> is_nccl_available()
        False
    """
    return False
