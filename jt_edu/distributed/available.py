"""Available: which backends work here, and what PyTorch once offered and is not here.

is_mpi_available()         there is an mpirun, and mpi4py
is_gloo_available()        sockets are always there
is_nccl_available()        never: Vars are kept on no device
"""

from __future__ import annotations

from importlib.util import find_spec

from jt_edu.base.errors import UnknownNameError
from jt_edu.mpi.mpi4py_backend import launch

ONE_DEVICE = "a rank has one device here, and so one tensor where there were lists of them"
FORMER = {
    "all_gather_multigpu": ("all_gather", ONE_DEVICE),
    "all_reduce_multigpu": ("all_reduce", ONE_DEVICE),
    "broadcast_multigpu": ("broadcast", ONE_DEVICE),
    "reduce_multigpu": ("reduce", ONE_DEVICE),
    "reduce_scatter_multigpu": ("reduce_scatter", ONE_DEVICE),
    "reduce_op": ("ReduceOp", "an old name, which PyTorch gave up as well"),
}


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
    """Whether the backend "nccl" works: it never does, because Vars are kept on no device.

    Example:
        >>> is_nccl_available()
        False
    """
    return False


def refuse_former(name: str) -> None:
    """Say what is to be used in place of a name that PyTorch 1.8 had.

    Raises:
        UnknownNameError: it is one of FORMER.

    Example:
        >>> refuse_former("all_reduce_multigpu")
        Traceback (most recent call last):
        UnknownNameError: jt.distributed offers no all_reduce_multigpu; found that a rank has one device here, ...
    """
    if name in FORMER:
        now, why = FORMER[name]
        raise UnknownNameError(f"jt.distributed offers no {name}", f"that {why}", f"jt.distributed.{now}")
