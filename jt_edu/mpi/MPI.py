# ruff: noqa: N999 - the name that programs import
"""MPI: the names of mpi4py's module, so that a program written for it runs on simulated ranks too.

    from jt_edu.mpi import MPI              in place of: from mpi4py import MPI

    comm = MPI.COMM_WORLD                   the communicator of the rank that asks; of a program that runs alone, one
    comm.Allreduce(x, total, op=MPI.SUM)    with a single rank

Under mpirun the same names speak through mpi4py. What is not here (windows, files, derived datatypes, processes that
are started later) is refused by name.
"""

from __future__ import annotations

import platform
import threading
import time
from typing import Any

from jt_edu.errors import RankError, UnknownNameError
from jt_edu.mpi.simulated.threads import SoloComm
from jt_edu.mpi.talk.collective import Collectives as Intracomm
from jt_edu.mpi.talk.groups import Group
from jt_edu.mpi.talk.messages import Message
from jt_edu.mpi.talk.pairs import PointToPoint as Comm
from jt_edu.mpi.talk.persistent import Prequest
from jt_edu.mpi.talk.request import REQUEST_NULL, Request
from jt_edu.mpi.terms.datatypes import TYPES, Datatype
from jt_edu.mpi.terms.missing import instead_of
from jt_edu.mpi.terms.names import (
    ANY_SOURCE,
    ANY_TAG,
    BAND,
    BOR,
    BXOR,
    COMM_NULL,
    COMM_TYPE_SHARED,
    GROUP_NULL,
    IN_PLACE,
    LAND,
    LOR,
    LXOR,
    MAX,
    MAXLOC,
    MIN,
    MINLOC,
    PROC_NULL,
    PROD,
    SUM,
    THREAD_FUNNELED,
    THREAD_MULTIPLE,
    THREAD_SERIALIZED,
    THREAD_SINGLE,
    UNDEFINED,
    Op,
    Status,
)  # fmt: skip
from jt_edu.settings import current

__all__ = [
    "ANY_SOURCE", "ANY_TAG", "Attach_buffer", "BAND", "BOR", "BXOR", "COMM_NULL", "COMM_TYPE_SHARED", "Comm",
    "Datatype", "Detach_buffer", "Exception", "Finalize", "GROUP_NULL", "Get_library_version", "Get_processor_name",
    "Get_version", "Group", "IN_PLACE", "Init", "Init_thread", "Intracomm", "Is_finalized", "Is_initialized",
    "Is_thread_main", "LAND", "LOR", "LXOR", "MAX", "MAXLOC", "MIN", "MINLOC", "Message", "Op", "PROC_NULL", "PROD",
    "Prequest", "Query_thread", "REQUEST_NULL", "Request", "SUM", "Status", "THREAD_FUNNELED", "THREAD_MULTIPLE",
    "THREAD_SERIALIZED", "THREAD_SINGLE", "UNDEFINED", "Wtick", "Wtime",
]  # fmt: skip

Exception = RankError  # noqa: A001 - as mpi4py calls it


def Wtime() -> float:
    """Seconds: of the virtual clock of a simulated rank, of the wall clock for others.

    Raises:
        LookedInVainError: a simulated rank asks in a loop that does nothing else, so that its time stands still.

    Example:
        >>> later = Wtime()
        >>> Wtime() >= later
        True
    """
    comm = current().rank_state.get("communicator")
    return comm.ask_the_time() / 1e9 if comm is not None else time.perf_counter()


def Wtick() -> float:
    """Seconds between two ticks of `Wtime`.

    Example:
        >>> Wtick()
        1e-09
    """
    return 1e-9


def Get_processor_name() -> str:
    """The name of this machine.

    Example:
        >>> isinstance(Get_processor_name(), str)
        True
    """
    return platform.node()


def Get_version() -> tuple[int, int]:
    """The version of the standard whose names these are.

    Example:
        >>> Get_version()
        (4, 1)
    """
    return 4, 1


def Get_library_version() -> str:
    """Who carries the messages.

    Example:
        >>> Get_library_version()
        'jt_edu: ranks of one process'
    """
    comm = current().rank_state.get("communicator")
    raw = getattr(comm, "mpi", None)
    return str(raw.Get_library_version()) if raw is not None else "jt_edu: ranks of one process"


def Init() -> None:
    """Nothing has to be done: ranks can speak from their first line on.

    Example:
        >>> Init()
    """


def Init_thread(required: int = THREAD_MULTIPLE) -> int:
    """The same; answers which of a rank's threads may speak, at most those that are asked for.

    Example:
        >>> Init_thread(THREAD_MULTIPLE) == THREAD_FUNNELED, Init_thread(THREAD_SINGLE) == THREAD_SINGLE
        (True, True)
    """
    return min(required, Query_thread())


def Query_thread() -> int:
    """Which threads of a rank may speak to others: the one that runs its program.

    Example:
        >>> Query_thread() < THREAD_MULTIPLE
        True
    """
    return THREAD_FUNNELED


def Is_thread_main() -> bool:
    """Whether the thread that asks may speak.

    Example:
        >>> Is_thread_main()
        True
    """
    comm = current().rank_state.get("communicator")
    mine = getattr(comm.task, "thread", None) if comm is not None else None
    return threading.current_thread() is (mine or threading.main_thread())


def Attach_buffer(buf: Any) -> None:
    """Nothing has to be done: `Bsend` makes room for its copies itself.

    Example:
        >>> Attach_buffer(bytearray(1000))
    """


def Detach_buffer() -> None:
    """Nothing has to be done.

    Example:
        >>> Detach_buffer()
    """


def Finalize() -> None:
    """Nothing has to be done: a rank ends with its program.

    Example:
        >>> Finalize()
    """


def Is_initialized() -> bool:
    """Always.

    Example:
        >>> Is_initialized()
        True
    """
    return True


def Is_finalized() -> bool:
    """Never, as long as anyone can ask.

    Example:
        >>> Is_finalized()
        False
    """
    return False


def __getattr__(name: str) -> Any:
    """COMM_WORLD and COMM_SELF of the rank that asks, and the datatypes."""
    if name in TYPES:
        return TYPES[name]
    state = current().rank_state
    if name == "COMM_WORLD" and "communicator" in state:
        return state["communicator"]
    if name in ("COMM_WORLD", "COMM_SELF"):
        if "COMM_SELF" not in state:
            state["COMM_SELF"] = SoloComm()
        return state["COMM_SELF"]
    if name.startswith("__"):
        raise AttributeError(name)
    near = instead_of(name, [*__all__, *TYPES, "COMM_WORLD", "COMM_SELF"])
    raise UnknownNameError(f"MPI.{name} is asked for", "no such name here", near or "mpi4py, under mpirun")
