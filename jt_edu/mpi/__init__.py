"""Ranks: programs that run several times at once and speak to each other, simulated in one notebook or under mpirun.

    jt.mpi               this room; it is true for a program that is one of several ranks: if jt.mpi: ...
    jt.simulate(4)(f)    run f on four ranks of this process
    help(jt.mpi.ops)     the collectives that have gradients

See README.md in this folder for what stands where.
"""

import sys
from typing import TYPE_CHECKING, Any

from jt_edu.base.did_you_mean import door, names_of
from jt_edu.mpi import differentiable_collectives as ops
from jt_edu.mpi.base.errors import *
from jt_edu.mpi.differentiable_collectives import *
from jt_edu.mpi.jittor_api import *
from jt_edu.mpi.jittor_api import Room as _Room
from jt_edu.mpi.perf_model import model
from jt_edu.mpi.rank_team import flush
from jt_edu.mpi.simulator.faults import Faults
from jt_edu.mpi.simulator.threads import *
from jt_edu.mpi.trace.network import Network
from jt_edu.mpi.trace.records import Record

__all__ = [
    "Faults", "Network", "Record", "flush", "model", "ops",
    *names_of("jt_edu.mpi", "differentiable_collectives jittor_api"),
    *names_of("jt_edu.mpi.base", "errors"),
    *names_of("jt_edu.mpi.simulator", "threads"),
]  # fmt: skip
__all__.sort()


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
