"""Jittor's names: `jt.mpi`, which is false for a program that runs alone.

    jt.mpi.world_size()   jt.mpi.world_rank()   jt.mpi.local_rank()        jt.world_size   jt.rank   jt.in_mpi
    jt.mpi.mpi_all_reduce(x)   mpi_reduce   mpi_broadcast                  x.mpi_all_reduce() and so on
    module.mpi_param_broadcast()                                          @jt.single_process_scope(rank=0)

The same script runs alone, on simulated ranks (each of them a thread with a context of its own) and under mpirun: these
names ask the rank that runs right now.
"""

from __future__ import annotations

import atexit
import functools
import inspect
import os
from collections.abc import Callable
from pkgutil import resolve_name
from types import ModuleType
from typing import Any

from jt_edu.backends.thread_pool import set_num_threads, threads
from jt_edu.base.context import current, no_grad
from jt_edu.base.errors import ArgumentError, BackendError
from jt_edu.base.module_aliases import Face
from jt_edu.base.own import own
from jt_edu.ir.builders import short
from jt_edu.mpi.differentiable_collectives import communicator, mpi_all_reduce, mpi_broadcast, mpi_reduce
from jt_edu.mpi.mpi4py_backend import launch
from jt_edu.mpi.notebook.process import own_generators
from jt_edu.mpi.rank_team import alone, flush, join
from jt_edu.mpi.simulator.threads import simulate as simulate_comm
from jt_edu.nn.module import Module
from jt_edu.ops.arguments import whole
from jt_edu.runtime.devices import CUDA, device_of
from jt_edu.variable.var import Var, as_var, method

__all__ = ["broadcast", "local_rank", "mpi_barrier", "nccl_all_reduce", "nccl_broadcast", "nccl_reduce", "simulate",
           "single_process_scope", "world_rank", "world_size"]  # fmt: skip


def in_mpi() -> bool:
    """Whether this program is one of several ranks.

    Example:
        >>> in_mpi()
        False
    """
    return "communicator" in current().rank_state


def world_size() -> int:
    """How many ranks there are; 1 for a program that runs alone.

    Example:
        >>> world_size()
        1
    """
    return communicator().size if in_mpi() else 1


def world_rank() -> int:
    """The number of this rank, from 0.

    Example:
        >>> jt.simulate(3)(world_rank)
        [0, 1, 2]
    """
    return communicator().rank if in_mpi() else 0


def local_rank() -> int:
    """The number of this rank among those on the same machine.

    Example:
        >>> jt.simulate(2)(local_rank)
        [0, 1]
    """
    return int(current().rank_state.get("local_rank", communicator().rank)) if in_mpi() else 0


def begin() -> None:
    """Join the other ranks, if mpirun started this process: when jt_edu is imported, on every rank.

    What is due at the end of the program is said then. A program that this one starts is none of the ranks. The cores
    of a machine are shared out among its ranks.
    """
    if launch.inside():
        world = resolve_name(
            "jt_edu.mpi.mpi4py_backend.communicator:world"
        )  # it loads mpi4py, which a program that runs alone does not need
        comm = world()
        join(comm)
        here = launch.neighbours() or (comm.rank, comm.size)
        current().rank_state["local_rank"] = here[0]
        set_num_threads(max(1, threads() // here[1]))  # the ranks of one machine share its cores
        os.environ[launch.OWNER] = str(os.getpid())
        atexit.register(flush)


# ranks of one process


def simulate(size: int, **options: Any) -> Callable[[Callable[..., Any]], list[Any]]:
    """Run a function on simulated ranks, in threads of this process; returns what it returns on each.

    The function may take the communicator of its rank, or nothing. What the ranks share (lists, modules) they really
    share, which no ranks of an MPI do; `random` and `numpy.random` are each rank's own, and unseeded at first.

    Args:
        size: how many ranks.
        options: policy="round_robin", "random" or "clock" says who runs next; seed; network=Network(...) how long
            messages take; faults=Faults(...) what goes wrong; synchronous=True makes every send wait for its receive.

    Raises:
        RankError: a rank failed, or they wait for each other; the message says which, where and why.

    Example:
        >>> jt.simulate(3)(lambda: jt.array([1.0]).mpi_all_reduce().item())
        [3.0, 3.0, 3.0]
        >>> jt.simulate(2)(lambda comm: comm.allgather(comm.rank))
        [[0, 1], [0, 1]]
    """

    def run(program: Callable[..., Any]) -> list[Any]:
        wanted = with_comm(program)

        def on_a_rank(comm: Any) -> Any:
            current().rank_state["draws"] = True  # numbers of its own, see notebook/process.py
            return wanted(comm)

        with own_generators():
            return simulate_comm(size, **options)(on_a_rank)

    return run


def with_comm(program: Callable[..., Any]) -> Callable[[Any], Any]:
    """A program of the communicator, from one that may take it or not.

    Raises:
        ArgumentError: it is no function, or needs several arguments.
    """
    if not callable(program):
        raise ArgumentError("a program for ranks is a function", short(program), "simulate(4)(function)")
    try:
        parameters = inspect.signature(program).parameters.values()
    except (TypeError, ValueError):
        return program
    asked = [p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(asked) > 1:
        raise ArgumentError("a program for ranks takes its communicator, or nothing", f"{len(asked)} arguments")
    return program if asked else lambda comm: program()


def single_process_scope(rank: int = 0) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A function that only one rank runs, as if it were alone; the others get None and do not wait.

    Args:
        rank: which one.

    Example:
        >>> @jt.single_process_scope(rank=1)
        ... def report():
        ...     return jt.in_mpi, jt.world_size
        >>> jt.simulate(2)(report), report()
        ([None, (False, 1)], (False, 1))
    """
    whole("single_process_scope", "rank", rank, 0)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def on_one_rank(*args: Any, **named: Any) -> Any:
            if not in_mpi():
                return function(*args, **named)
            if rank >= world_size():
                raise ArgumentError(f"there are the ranks 0 to {world_size() - 1}", f"rank {rank}")
            if world_rank() != rank:
                flush()
                return None
            with alone():
                return function(*args, **named)

        return on_one_rank

    return decorate


# modules, older names, and those of the device path


def mpi_param_broadcast(module: Module, root: int = 0) -> None:
    """Give a module on all ranks the parameters and buffers (running statistics) that it has on `root`.

    Example:
        >>> def start():
        ...     layer = jt.nn.Linear(1, 1)
        ...     layer.weight.update(jt.full((1, 1), float(jt.rank)))
        ...     layer.mpi_param_broadcast(root=1)
        ...     return layer.weight.item()
        >>> jt.simulate(2)(start)
        [1.0, 1.0]
    """
    with no_grad():
        for var in (*own(module).parameters(), *own(module).buffers()):
            var.update(mpi_broadcast(var, root))


Module.mpi_param_broadcast = mpi_param_broadcast  # type: ignore[attr-defined]


def mpi_barrier() -> None:
    """No rank continues before all ranks have arrived.

    Example:
        >>> jt.simulate(2)(lambda: jt.mpi.mpi_barrier())
        [None, None]
    """
    communicator().barrier()


broadcast = mpi_broadcast  # as Jittor's `jt.mpi` calls it


@method
def nccl_all_reduce(x: Any, op: str = "add") -> Any:
    """`mpi_all_reduce` of a Var on a GPU, whose answer is there, too. In between, numbers go through main memory:
    `trace.copies` tells it, and so does the line of the call in a record of the ranks.

    Raises:
        BackendError: x is not on a GPU.

    Example:
        >>> nccl_all_reduce(jt.ones(2))
        Traceback (most recent call last):
        BackendError: nccl_all_reduce communicates from GPU to GPU; found a Var on the device cpu. ...
    """
    return mpi_all_reduce(_on_gpu("nccl_all_reduce", x), op)


@method
def nccl_reduce(x: Any, op: str = "add", root: int = 0) -> Any:
    """`mpi_reduce` of a Var on a GPU, whose answer is there, too. In between, numbers go through main memory.

    Raises:
        BackendError: x is not on a GPU.

    Example:
        >>> nccl_reduce(jt.ones(2))
        Traceback (most recent call last):
        BackendError: nccl_reduce communicates from GPU to GPU; found a Var on the device cpu. ...
    """
    return mpi_reduce(_on_gpu("nccl_reduce", x), op, root)


@method
def nccl_broadcast(x: Any, root: int = 0) -> Any:
    """`mpi_broadcast` of a Var on a GPU, whose answer is there, too. In between, numbers go through main memory.

    Raises:
        BackendError: x is not on a GPU.

    Example:
        >>> nccl_broadcast(jt.ones(2))
        Traceback (most recent call last):
        BackendError: nccl_broadcast communicates from GPU to GPU; found a Var on the device cpu. ...
    """
    return mpi_broadcast(_on_gpu("nccl_broadcast", x), root)


def _on_gpu(name: str, x: Any) -> Var:
    v = as_var(x)
    if device_of(v.node) != CUDA:
        way = f"{name.replace('nccl', 'mpi')}, which needs no GPU; where there is one, x.cuda()"
        raise BackendError(f"{name} communicates from GPU to GPU", f"a Var on the device {device_of(v.node)}", way)
    return v


class Package(ModuleType):
    """The class of the module jt_edu, some of whose names depend on who asks."""

    rank = property(lambda self: world_rank(), doc="The number of this rank, from 0.")
    world_size = property(lambda self: world_size(), doc="How many ranks there are.")
    in_mpi = property(lambda self: in_mpi(), doc="Whether this program is one of several ranks.")

    def __setattr__(self, name: str, value: Any) -> None:
        """Python puts `jt_edu.random` here when it is imported; `jt.random` stays the function."""
        if not (isinstance(value, Face) and name in vars(self)):
            super().__setattr__(name, value)


class Room(ModuleType):
    """The class of the module jt_edu.mpi: true for a program that is one of several ranks, as in `if jt.mpi:`."""

    def __bool__(self) -> bool:
        return in_mpi()
