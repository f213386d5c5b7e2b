"""Ranks: programs that run several times at once and speak to each other, simulated in one notebook or under mpirun.

    jt.mpi               this room; it is true for a program that is one of several ranks: if jt.mpi: ...
    jt.simulate(4)(f)    run f on four ranks of this process

See README.md in this folder for what stands where.
"""

import sys
from typing import TYPE_CHECKING, Any

from jt_edu.base.did_you_mean import door
from jt_edu.mpi.base.errors import (
    DeadlockError,
    LookedInVainError,
    LostRankError,
    MismatchError,
    RankTimeoutError,
    TruncationError,
)
from jt_edu.mpi.data_parallel import flush
from jt_edu.mpi.differentiable_collectives import (
    communicator,
    mpi_all_gather,
    mpi_all_reduce,
    mpi_all_to_all,
    mpi_broadcast,
    mpi_gather,
    mpi_reduce,
    mpi_reduce_scatter,
    mpi_scatter,
    mpi_send_recv,
)
from jt_edu.mpi.jittor_api import (
    Room as _Room,
)
from jt_edu.mpi.jittor_api import (
    broadcast,
    local_rank,
    mpi_barrier,
    nccl_all_reduce,
    nccl_broadcast,
    nccl_reduce,
    simulate,
    single_process_scope,
    world_rank,
    world_size,
)
from jt_edu.mpi.perf_model import model
from jt_edu.mpi.simulator.faults import Faults
from jt_edu.mpi.simulator.threads import Simulation, SoloComm, ThreadComm, run_ranks
from jt_edu.mpi.trace.network import Network
from jt_edu.mpi.trace.records import Record

__all__ = [
    "DeadlockError",
    "Faults",
    "LookedInVainError",
    "LostRankError",
    "MismatchError",
    "Network",
    "RankTimeoutError",
    "Record",
    "Simulation",
    "SoloComm",
    "ThreadComm",
    "TruncationError",
    "broadcast",
    "communicator",
    "flush",
    "local_rank",
    "model",
    "mpi_all_gather",
    "mpi_all_reduce",
    "mpi_all_to_all",
    "mpi_barrier",
    "mpi_broadcast",
    "mpi_gather",
    "mpi_reduce",
    "mpi_reduce_scatter",
    "mpi_scatter",
    "mpi_send_recv",
    "nccl_all_reduce",
    "nccl_broadcast",
    "nccl_reduce",
    "run_ranks",
    "simulate",
    "single_process_scope",
    "world_rank",
    "world_size",
]


if not TYPE_CHECKING:
    _missing, _names = door("jt.mpi", [*__all__, "comm"])
    sys.modules[__name__].__class__ = _Room

    def __getattr__(name: str) -> object:
        """`comm`: the communicator of the rank that asks."""
        return communicator() if name == "comm" else _missing(name)

    def __dir__() -> list[str]:
        """The names that can be asked for: of a program that runs alone, there is no `comm`."""
        return _names() if sys.modules[__name__] else sorted(__all__)
else:
    comm: Any
