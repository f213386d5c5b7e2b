# ruff: noqa: N999 - the name that programs import
"""MPI: the names of mpi4py's module, so that a program written for it runs on simulated ranks too.

    from jt_edu.mpi import MPI              instead of: from mpi4py import MPI

    comm = MPI.COMM_WORLD                   the communicator of the rank that asks; of a program that runs alone, one
    comm.Allreduce(x, total, op=MPI.SUM)    with a single rank

Under mpirun the same names speak through mpi4py. What is not here (windows, files, grids of ranks, processes that are
started later) is refused by name.
"""

from __future__ import annotations

import platform
import threading
import time
from typing import Any

from jt_edu.base.context import current
from jt_edu.base.errors import RankError, UnknownNameError
from jt_edu.mpi.base.buffer_memory import address_of, as_array
from jt_edu.mpi.base.constants import (
    ANY_SOURCE,
    ANY_TAG,
    BAND,
    BOR,
    BOTTOM,
    BSEND_OVERHEAD,
    BXOR,
    COMM_NULL,
    COMM_TYPE_SHARED,
    CONGRUENT,
    DATATYPE_NULL,
    GROUP_NULL,
    IDENT,
    IN_PLACE,
    LAND,
    LOR,
    LXOR,
    MAX,
    MAXLOC,
    MIN,
    MINLOC,
    NO_OP,
    OP_NULL,
    ORDER_C,
    ORDER_F,
    PROC_NULL,
    PROD,
    REPLACE,
    SIMILAR,
    SUM,
    THREAD_FUNNELED,
    THREAD_MULTIPLE,
    THREAD_SERIALIZED,
    THREAD_SINGLE,
    UNDEFINED,
    UNEQUAL,
    Op,
    Status,
)  # fmt: skip
from jt_edu.mpi.base.datatypes import TYPES, Datatype
from jt_edu.mpi.base.errors import CLASSES, CallError
from jt_edu.mpi.base.missing import instead_of
from jt_edu.mpi.base.pickling import Pickle, pickler
from jt_edu.mpi.communicator.groups import Communicator as Comm
from jt_edu.mpi.communicator.groups import Group
from jt_edu.mpi.communicator.messages import MESSAGE_NO_PROC, MESSAGE_NULL, Message
from jt_edu.mpi.communicator.persistent import Grequest, Prequest
from jt_edu.mpi.communicator.request import REQUEST_NULL, Request
from jt_edu.mpi.simulator.threads import SoloComm
from jt_edu.ops.arguments import whole

__all__ = [
    "ANY_SOURCE", "ANY_TAG", "Aint_add", "Aint_diff", "Alloc_mem", "Attach_buffer", "BAND", "BOR", "BOTTOM",
    "BSEND_OVERHEAD", "BXOR", "COMM_NULL", "COMM_TYPE_SHARED", "CONGRUENT", "Comm", "DATATYPE_NULL", "Datatype",
    "Detach_buffer", "Exception", "Finalize", "Free_mem", "GROUP_NULL", "Get_address", "Get_library_version",
    "Get_processor_name", "Get_version", "Grequest", "Group", "IDENT", "IN_PLACE", "Init", "Init_thread",
    "Intracomm", "Is_finalized", "Is_initialized", "Is_thread_main", "LAND", "LOR", "LXOR", "MAX", "MAXLOC",
    "MESSAGE_NO_PROC", "MESSAGE_NULL", "MIN", "MINLOC", "Message", "NO_OP", "OP_NULL", "ORDER_C", "ORDER_F", "Op",
    "PROC_NULL", "PROD", "Pickle", "Prequest", "Query_thread", "REPLACE", "REQUEST_NULL", "Request", "SIMILAR",
    "SUM", "Status", "THREAD_FUNNELED", "THREAD_MULTIPLE", "THREAD_SERIALIZED", "THREAD_SINGLE", "UNDEFINED",
    "UNEQUAL", "Wtick", "Wtime", "get_vendor",
]  # fmt: skip

Exception = RankError  # noqa: A001 - as mpi4py calls it
Intracomm = Comm  # none has two sides, here


def Wtime() -> float:
    """The time in seconds: on the virtual clock for a simulated rank, on the wall clock otherwise.

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
    """The library that carries the messages.

    Example:
        >>> Get_library_version()
        'jt_edu: ranks of one process'
    """
    comm = current().rank_state.get("communicator")
    raw = getattr(comm, "mpi", None)
    return str(raw.Get_library_version()) if raw is not None else "jt_edu: ranks of one process"


def get_vendor() -> tuple[str, tuple[int, ...]]:
    """The library that carries the messages, and its version; for simulated ranks, this package.

    Example:
        >>> get_vendor()[0]
        'jt_edu'
    """
    comm = current().rank_state.get("communicator")
    raw = getattr(comm, "mpi", None)
    return ("jt_edu", (0, 0, 0)) if raw is None else raw.get_vendor()


def Init() -> None:
    """Nothing needs to be done: ranks can communicate from their first line on.

    Example:
        >>> Init()
    """


def Init_thread(required: int = THREAD_MULTIPLE) -> int:
    """The same; returns which threads of a rank may communicate, at most those that are asked for.

    Example:
        >>> Init_thread(THREAD_MULTIPLE) == THREAD_FUNNELED, Init_thread(THREAD_SINGLE) == THREAD_SINGLE
        (True, True)
    """
    return min(required, Query_thread())


def Query_thread() -> int:
    """Which threads of a rank may communicate: the one that runs its program.

    Example:
        >>> Query_thread() < THREAD_MULTIPLE
        True
    """
    return THREAD_FUNNELED


def Is_thread_main() -> bool:
    """Whether the calling thread may communicate.

    Example:
        >>> Is_thread_main()
        True
    """
    comm = current().rank_state.get("communicator")
    mine = getattr(comm.task, "thread", None) if comm is not None else None
    return threading.current_thread() is (mine or threading.main_thread())


def Attach_buffer(buf: Any) -> None:
    """Nothing needs to be done: `Bsend` allocates its copies itself. `Detach_buffer` gives the buffer back.

    Raises:
        CallError: one is attached already.

    Example:
        >>> Attach_buffer(bytearray(1000))
        >>> len(Detach_buffer())
        1000
    """
    as_array(buf, "Attach_buffer", write=True)
    if "attached" in current().rank_state:
        raise CallError("a rank has one buffer for Bsend", "a second one", "Detach_buffer before it").of("ERR_BUFFER")
    current().rank_state["attached"] = buf


def Detach_buffer() -> Any:
    """The buffer that was attached; None if none was.

    Example:
        >>> Detach_buffer()
    """
    return current().rank_state.pop("attached", None)


def Alloc_mem(size: int, info: Any = None) -> bytearray:  # noqa: ARG001 - as mpi4py has it
    """So many bytes, each 0.

    Example:
        >>> len(Alloc_mem(8))
        8
    """
    return bytearray(whole("Alloc_mem", "size", size, 0))


def Free_mem(mem: Any) -> None:
    """Nothing needs to be done: memory is freed when it is no longer used.

    Example:
        >>> Free_mem(Alloc_mem(8))
    """


def Get_address(location: Any) -> int:
    """Where the numbers of a buffer begin, for displacements from BOTTOM.

    Example:
        >>> x = np.zeros(2)
        >>> Aint_diff(Get_address(x[1:]), Get_address(x))
        8
    """
    return address_of(location)


def Aint_add(base: int, disp: int) -> int:
    """An address plus a number of bytes."""
    return base + disp


def Aint_diff(addr1: int, addr2: int) -> int:
    """How many bytes there are from the second address to the first."""
    return addr1 - addr2


def Finalize() -> None:
    """Nothing needs to be done: a rank ends with its program.

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
    """Never, as long as the program runs.

    Example:
        >>> Is_finalized()
        False
    """
    return False


def __getattr__(name: str) -> Any:
    """What is the rank's own (COMM_WORLD, COMM_SELF, GROUP_EMPTY, pickle), the datatypes, and the classes of errors."""
    if name in TYPES:
        return TYPES[name]
    if name in CLASSES:
        return CLASSES.index(name)
    state = current().rank_state
    if name == "COMM_WORLD" and "communicator" in state:
        return state["communicator"]
    if name in ("COMM_WORLD", "COMM_SELF"):
        if "COMM_SELF" not in state:
            state["COMM_SELF"] = SoloComm()
        return state["COMM_SELF"]
    if name == "GROUP_EMPTY":
        return __getattr__("COMM_WORLD").group.Incl([])
    if name == "pickle":
        return pickler()
    if name.startswith("__"):
        raise AttributeError(name)
    near = instead_of(name, [*__all__, *TYPES, *CLASSES, "COMM_WORLD", "COMM_SELF", "GROUP_EMPTY", "pickle"])
    raise UnknownNameError(f"MPI.{name} is asked for", "no such name here", near or "mpi4py, under mpirun")
