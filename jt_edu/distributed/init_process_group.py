"""Init process group: becoming one of several ranks that work together, and leaving them.

    init_process_group()          everybody joins; nobody goes on before all have
    destroy_process_group()       the end of a group, or of all

    backend      threads, mpi, solo    a communicator knows who is who        -> CommGroup
                 tcp                   processes meet in a store              -> Mesh -> SocketGroup
                 your own              func(store, rank, size, timeout)       -> your ProcessGroup

What a rank has joined is kept with the rank, not with the process: simulated ranks share a process.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Self
from weakref import WeakKeyDictionary

from jt_edu.base.context import current
from jt_edu.base.errors import ArgumentError, BackendError, RankError
from jt_edu.distributed.mpi_group import CommGroup
from jt_edu.distributed.options import DEFAULT_TIMEOUT, as_timeout
from jt_edu.distributed.process_group import ProcessGroup
from jt_edu.distributed.rendezvous import rendezvous
from jt_edu.distributed.socket_mesh import Mesh
from jt_edu.distributed.store import HashStore, PrefixStore, Store
from jt_edu.distributed.tcp_group import SocketGroup
from jt_edu.distributed.tcp_store import TCPStore
from jt_edu.mpi.communicator.groups import Communicator
from jt_edu.mpi.simulator.threads import SoloComm
from jt_edu.runtime.execute import run

__all__ = ["Backend", "destroy_process_group", "init_process_group", "is_available", "is_initialized"]


class Backend(str):
    """The name of a backend, in small letters.

    threads    simulated ranks            tcp, gloo    sockets between processes
    mpi        ranks of mpirun            solo         one rank alone

    Example:
        >>> Backend("GLOO") == Backend.GLOO, Backend.MPI
        (True, 'mpi')
    """

    __slots__ = ()

    THREADS, MPI, TCP, GLOO, SOLO, NCCL = "threads", "mpi", "tcp", "gloo", "solo", "nccl"

    def __new__(cls, name: Any) -> Self:
        """A name as it is written here."""
        if not isinstance(name, str):
            raise ArgumentError(f"a backend is one of {', '.join(_known())}", repr(name))
        return super().__new__(cls, name.lower())

    @staticmethod
    def register_backend(name: str, func: Callable[[Store, int, int, timedelta], ProcessGroup]) -> None:
        """Add a backend of your own: `func(store, rank, size, timeout)` returns its process group.

        Raises:
            ArgumentError: the name is taken, or `func` cannot be called.

        Example:
            >>> Backend.register_backend("alone", lambda store, rank, size, timeout: ProcessGroup(rank, size))
            >>> Backend.register_backend("tcp", ProcessGroup)
            Traceback (most recent call last):
            ArgumentError: ...
        """
        plain = Backend(name)
        if plain in _BUILT_IN or not callable(func):
            raise ArgumentError(f"a new backend has a new name, none of {', '.join(_BUILT_IN)}", f"{name!r}, {func!r}")
        _OWN[plain] = func


_BUILT_IN = ("threads", "mpi", "tcp", "gloo", "solo", "nccl")
_OWN: dict[str, Callable[[Store, int, int, timedelta], ProcessGroup]] = {}
_MEETINGS: WeakKeyDictionary[Any, Store] = WeakKeyDictionary()  # world of simulated ranks -> their store
SOCKETS = {"tcp", "gloo"}  # two names of one backend
MEANT_FOR = {
    "threads": ("simulated ranks", "jt.simulate(4)(program)"),
    "mpi": ("ranks of mpirun", "mpirun -n 4 python program.py"),
}


@dataclass
class Joined:
    """What one rank has joined."""

    default: ProcessGroup
    backend: Backend
    store: Store | None = None  # where processes met
    own_store: bool = False  # made by init_process_group, and so closed at the end
    mesh: Mesh | None = None
    groups: list[ProcessGroup] = field(default_factory=list)  # the default one first
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))  # for new groups

    def __post_init__(self) -> None:
        self.groups.append(self.default)


def init_process_group(
    backend: Any = None, init_method: str | None = None, timeout: Any = DEFAULT_TIMEOUT, world_size: int = -1,
    rank: int = -1, store: Store | None = None, group_name: str = "",
) -> None:  # fmt: skip
    """Join all other ranks; returns when all have joined.

    Args:
        backend: "threads", "mpi", "tcp" (or "gloo"), "solo", or one of your own. By default the one of the ranks that
            this program is one of: simulated, of mpirun, or processes that the environment tells about each other.
        init_method: where processes meet: "env://" (the default), "tcp://host:port" or "file:///path"; see
            rendezvous.py. Simulated ranks and those of mpirun have met already; the first also for your own backend.
        timeout: how long joining, and each collective, may take: a timedelta or seconds.
        world_size, rank: how many there are, and which one this is, where the method does not tell.
        store: where to meet, instead of `init_method`; then `rank` and `world_size` are told.
        group_name: keeps several worlds apart that meet in one store.

    Raises:
        RankError: this rank has joined already. ArgumentError: a number or a variable is missing.
        RankTimeoutError: not all came in time; the message names those that did not.
        BackendError: there is no such backend here.

    Example:
        >>> jt.distributed.init_process_group("solo")
        >>> jt.distributed.get_rank(), jt.distributed.get_world_size(), jt.distributed.get_backend()
        (0, 1, 'solo')
        >>> jt.distributed.destroy_process_group()
    """
    if is_initialized():
        raise RankError("a rank joins once", f"one of {joined_ranks().default!r}", "destroy_process_group() first")
    if store is not None and (init_method is not None or min(rank, world_size) < 0):
        asked = "a store comes with rank and world_size, and without init_method"
        raise ArgumentError(asked, f"rank {rank}, world_size {world_size}, init_method {init_method!r}")
    patience, chosen = as_timeout(timeout, "init_process_group"), _chosen(backend)
    if chosen in ("threads", "mpi", "solo"):
        joined = _join_comm(chosen, rank, world_size)
    else:
        joined = _join_processes(chosen, init_method, patience, rank, world_size, store, group_name)
    joined.default.timeout = patience
    current().rank_state["distributed"] = joined


def _chosen(backend: Any) -> Backend:
    """The backend that was named, or that of the ranks that this program is one of."""
    comm = current().rank_state.get("communicator")
    simulated = simulated_comm() is not None
    if backend is None:
        return Backend("threads" if simulated else "mpi" if comm is not None else "tcp")
    chosen = Backend(backend)
    if chosen == "nccl":
        asked = "nccl communicates from device to device"
        raise BackendError(asked, "ranks whose arrays go through main memory", "tcp (gloo), mpi or threads")
    if chosen not in _known():
        raise BackendError(f"a backend is one of {', '.join(_known())}", repr(str(chosen)), "Backend.register_backend")
    if simulated and chosen in ("tcp", "gloo", "mpi"):
        found = f"{chosen!r} on a simulated rank, which would wait without letting the others run"
        raise BackendError("simulated ranks speak through 'threads'", found, "backend=None fits wherever a script runs")
    return chosen


def _known() -> list[str]:
    return [*_BUILT_IN, *_OWN]


def _join_comm(backend: Backend, rank: int, world_size: int) -> Joined:
    """Over a communicator, which knows who is who."""
    comm = SoloComm() if backend == "solo" else current().rank_state.get("communicator")
    if comm is None or comm.is_simulated == (backend == "mpi"):
        what, how = MEANT_FOR[backend]
        raise BackendError(f"backend {backend!r} is for {what}", "a program that is none of them", f"{how}, or 'solo'")
    _same_place(comm, rank, world_size)
    group = CommGroup(comm if backend == "solo" else comm.Dup(), backend)
    return Joined(group, backend)


def _same_place(comm: Communicator, rank: int, world_size: int) -> None:
    """Refuse a place that is not the one which the communicator knows."""
    for name, asked, there in (("rank", rank, comm.rank), ("world_size", world_size, comm.size)):
        if asked not in (-1, there):
            raise ArgumentError(f"the {name} of this rank is {there}", f"{name}={asked!r}", "leave it out")


def simulated_comm() -> Any:
    """The communicator of this rank if it is a simulated one, else None.

    Example:
        >>> simulated_comm() is None, jt.simulate(2)(lambda: simulated_comm().size)
        (True, [2, 2])
    """
    comm = current().rank_state.get("communicator")
    return comm if comm is not None and comm.is_simulated else None


def _among_simulated(rank: int, world_size: int) -> tuple[Store, int, int]:
    """Where the simulated ranks of one world meet in a backend of somebody's own: in memory."""
    comm = simulated_comm()
    _same_place(comm, rank, world_size)
    return _MEETINGS.setdefault(comm.world, HashStore()), comm.rank, comm.size


def _join_processes(
    backend: Backend, method: str | None, timeout: timedelta, rank: int, world_size: int, store: Store | None, name: str
) -> Joined:
    """Over a store, where the processes tell each other their addresses."""
    if store is None and method is None and backend in _OWN and simulated_comm() is not None:
        store, rank, world_size = _among_simulated(rank, world_size)
    own = store is None
    if store is None:
        store, rank, world_size = rendezvous(method or "env://", rank, world_size, timeout)
    part = PrefixStore(f"{name}/{0 if own else _round()}", store)
    part.set_timeout(timeout)
    mesh = None
    try:
        if backend in _OWN:
            group = _OWN[backend](part, rank, world_size, timeout)
        else:
            mesh = Mesh(part, rank, world_size, _own_address(store), timeout.total_seconds())
            group = SocketGroup(mesh, range(world_size), name=backend)
            group.timeout = timeout
            group.join()
    except BaseException:
        if own:
            store.close()
        raise
    return Joined(group, backend, store, own, mesh)


def _round() -> int:
    """How often this rank has joined by a store that it was given: what is left of the last time is not read again."""
    rounds = current().rank_state.setdefault("distributed rounds", itertools.count())
    return int(next(rounds))


def _own_address(store: Store) -> str:
    """Where the others reach this machine: the way that leads to the store, if it is far away."""
    return store.address if isinstance(store, TCPStore) else "127.0.0.1"


def destroy_process_group(group: Any = None) -> None:
    """The end of a group; of all of them, and of everything that joining made, if none is named.

    Ranks wait some seconds for each other, so that nobody's last message is cut off.

    Example:
        >>> jt.distributed.init_process_group("solo")
        >>> jt.distributed.destroy_process_group()
        >>> jt.distributed.is_initialized()
        False
    """
    joined = joined_ranks()
    if sys.exception() is None:
        run(list(current().due))  # what a graph has to say to the group is said first
    if group is not None and group is not joined.default:
        as_group(group).shutdown()
        joined.groups = [g for g in joined.groups if g is not group]
        return
    del current().rank_state["distributed"]
    for one in reversed(joined.groups):
        one.shutdown()
    close = joined.store.close if joined.store is not None and joined.own_store else _nothing
    if joined.mesh is not None:
        joined.mesh.leave(close)
    else:
        close()


def _nothing() -> None:
    """There is no store to close."""


def is_available() -> bool:
    """Whether this package works here: it always does.

    Example:
        >>> is_available()
        True
    """
    return True


def is_initialized() -> bool:
    """Whether this rank has joined the others.

    Example:
        >>> is_initialized()
        False
    """
    return "distributed" in current().rank_state


def joined_ranks() -> Joined:
    """What this rank has joined.

    Raises:
        RankError: nothing.
    """
    found = current().rank_state.get("distributed")
    if not isinstance(found, Joined):
        asked = "ranks work together when they have joined"
        raise RankError(asked, "a rank that has not", "jt.distributed.init_process_group()")
    return found


def as_group(group: Any) -> ProcessGroup:
    """A process group, as it is.

    Raises:
        ArgumentError: it is something else.
    """
    if not isinstance(group, ProcessGroup):
        raise ArgumentError("a group is what new_group returns, or None for all ranks", repr(group))
    return group


def own_backend(name: str) -> Any:
    """What makes the groups of a backend that somebody registered; None for the others."""
    return _OWN.get(name)
