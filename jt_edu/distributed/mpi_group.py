"""MPI group: a process group over a communicator of jt_edu.mpi.

    "threads"    ranks that are simulated in this process: deterministic, no deadlock without an explanation
    "mpi"        ranks that mpirun started
    "solo"       one rank alone

Each collective is one of the communicator's own, begun and then waited for: it compares what the ranks call, tells
deadlocks and lost ranks. This file puts the numbers into buffers. Timeouts count virtual seconds among simulated ranks,
and seconds of the wall under a real MPI; a group that was given none has no end of patience, because who waits in vain
is found out without one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jt_edu.base.context import current
from jt_edu.base.errors import JtError, RankError, ShapeError
from jt_edu.distributed.group_base import Array, ArrayGroup, Task, looks, read, write
from jt_edu.distributed.options import DEFAULT_TIMEOUT
from jt_edu.distributed.process_group import Tensors
from jt_edu.distributed.roll_call import Roll, absence
from jt_edu.distributed.work import Work
from jt_edu.mpi.base.constants import ANY_SOURCE, UNDEFINED, Status
from jt_edu.mpi.base.errors import MismatchError, RankTimeoutError
from jt_edu.mpi.communicator.groups import Communicator

Began = tuple[Any, Callable[[], Any]]  # a request, and what it has brought when it is done


class CommGroup(ArrayGroup):
    """A process group over a communicator.

    Args:
        comm: a communicator of its own: nobody else sends through it.
        name: of the backend.

    Example:
        >>> from jt_edu.mpi.simulator.threads import SoloComm
        >>> group = CommGroup(SoloComm(), "solo")
        >>> group.name(), group.rank(), group.size()
        ('solo', 0, 1)
    """

    def __init__(self, comm: Any, name: str) -> None:
        super().__init__(comm.rank, comm.size)
        self.comm, self._name = comm, name
        self.roll = Roll(comm.side) if name == "mpi" else None

    def name(self) -> str:
        """The backend."""
        return self._name

    def now(self) -> float:
        """Seconds, on the clock by which the group's timeouts count."""
        seconds: float = self.comm.now / 1e9
        return seconds

    def check_whole(self, what: str) -> None:
        """Refuse to go on with ranks that are no longer together, or that were those of an earlier run."""
        super().check_whole(what)
        now = current().rank_state.get("communicator")
        if now is not None and now.is_simulated and self._name == "threads" and now.world is not self.comm.world:
            attempt = "destroy_process_group() and init_process_group() on all ranks"
            raise RankError(f"{what} needs ranks that run", "a process group of an earlier run", attempt)

    def split(self, members: Sequence[int]) -> CommGroup | None:
        """The group of some ranks of this one; all call it. None for who is not a member."""
        self.check_whole("new_group")
        asked = self.comm.allgather(list(members))
        if any(other != list(members) for other in asked):
            rows = "\n  ".join(f"rank {rank} calls new_group({other})" for rank, other in enumerate(asked))
            raise MismatchError(
                "all ranks make the same group", f"different ones:\n  {rows}", "the same call everywhere"
            )
        mine = self._rank in members
        key = list(members).index(self._rank) if mine else 0
        self._number += 2  # as the communicator counts
        comm = self.comm.Split(0 if mine else UNDEFINED, key)
        return CommGroup(comm, self._name) if mine else None

    def _run(self, task: Task) -> Work:
        try:
            request, got = BEGIN[task.kind](self.comm, task)
        except JtError as error:
            told = retold(error, f"{task.label}, {task.words}")
            self.fail(task.label, told)
            raise told from error
        return CommWork(self, request, lambda: task.finish(got()), f"{task.label}, {task.words}", task)

    # one to one: see process_group.py

    def send(self, tensors: Tensors, dst: int, tag: int = 0) -> Work:
        self.check_whole("send")
        x = self._tensor(tensors, "send")
        return CommWork(self, self.comm.Isend(read(x), dst, tag), lambda: [x], f"send(dst={dst}, tag={tag})")

    def recv(self, tensors: Tensors, src: int, tag: int = 0) -> Work:
        return self._receive(self._tensor(tensors, "recv"), src, tag, f"recv(src={src}, tag={tag})")

    def recv_anysource(self, tensors: Tensors, tag: int = 0) -> Work:
        return self._receive(self._tensor(tensors, "recv"), ANY_SOURCE, tag, f"recv(src=any, tag={tag})")

    def _receive(self, x: Any, source: int, tag: int, words: str) -> Work:
        self.check_whole("recv")
        room = np.empty_like(read(x))
        status = Status()

        def finish() -> Any:
            if status.bytes != room.nbytes:
                found = f"{status.bytes} bytes from rank {status.source}"
                raise ShapeError(f"{words} has room for {looks(x)}", found, "the same shape on both ranks")
            write(x, room)
            return status.source if source == ANY_SOURCE else [x]

        return CommWork(self, self.comm.Irecv(room, source, tag), finish, words, status=status)

    def shutdown(self) -> None:
        if self._name != "solo":
            self.comm.Free()


class CommWork(Work):
    """A request of a communicator.

    Args:
        finish: called when it is done; returns the value of the work.
        task: the collective that it belongs to, if it does.
        status: filled with what a receive finds.
    """

    def __init__(
        self, group: CommGroup, request: Any, finish: Callable[[], Any], label: str, task: Task | None = None,
        status: Status | None = None,
    ) -> None:  # fmt: skip
        super().__init__(label)
        self._group, self._request, self._last, self._task, self._status = group, request, finish, task, status

    def _poll(self) -> bool:
        return bool(self._request.get_status())

    def _await(self, seconds: float | None) -> Any:
        if seconds is None:
            timeout = self._group.timeout if self._task is None else self._task.timeout
            seconds = None if timeout == DEFAULT_TIMEOUT else timeout.total_seconds()
        try:
            if self._group.roll is None or self._task is None or seconds is None:
                self._request.wait(self._status, timeout=seconds)
            else:
                self._wait_together(self._group.roll, self._task, seconds)
        except JtError as error:
            told = retold(error, self.label)
            if self._task is not None:
                self._group.fail(self._task.label, told)
            raise told from error
        return self._last()

    def _wait_together(self, roll: Roll, task: Task, seconds: float) -> None:
        """Wait for a collective of a real MPI; if the time is up, name who gave no word."""
        silent = roll.wait(self._request.get_status, task.number, seconds)
        if silent:
            ranks, told_to = [self._group.ranks[r] for r in silent], task.timeout == DEFAULT_TIMEOUT
            found = absence(task.kind, ranks, seconds, told_to)
            raise RankTimeoutError(f"every rank comes to {task.words}", found, "the same calls on every rank")
        self._request.wait()


def retold(error: JtError, label: str) -> JtError:
    """The same error, which also says in which collective it happened.

    Example:
        >>> print(retold(RankError("all come", "nobody"), "barrier number 1"))
        barrier number 1: all come; found nobody.
    """
    return type(error)(f"{label}: {error.asked}", error.found, error.attempt)


# ------------------------------------------------------------------------------- how each collective begins, by kind


def _bcast(comm: Communicator, task: Task) -> Began:
    room = task.part.copy()
    return comm.Ibcast(room, task.root), lambda: room


def _allreduce(comm: Communicator, task: Task) -> Began:
    room = np.empty_like(task.part)
    return comm.Iallreduce(task.part, room, task.op), lambda: room


def _reduce(comm: Communicator, task: Task) -> Began:
    room = np.empty_like(task.part) if comm.rank == task.root else None
    return comm.Ireduce(task.part, room, task.op, task.root), lambda: room


def _allgather(comm: Communicator, task: Task) -> Began:
    room = _rows(comm.size, task.part)
    return comm.Iallgather(task.part, room), lambda: list(room)


def _gather(comm: Communicator, task: Task) -> Began:
    room = _rows(comm.size, task.part) if comm.rank == task.root else None
    return comm.Igather(task.part, room, task.root), lambda: None if room is None else list(room)


def _scatter(comm: Communicator, task: Task) -> Began:
    room = task.rooms[0]
    whole = None if task.part is None else np.concatenate(task.part)
    return comm.Iscatter(whole, room, task.root), lambda: room


def _reduce_scatter(comm: Communicator, task: Task) -> Began:
    room = np.empty_like(task.part[comm.rank])
    counts = [p.size for p in task.part]
    return comm.Ireduce_scatter(np.concatenate(task.part), room, counts, task.op), lambda: room


def _alltoall(comm: Communicator, task: Task) -> Began:
    out, into = [p.size for p in task.part], [p.size for p in task.rooms]
    room = np.concatenate(task.rooms)
    request = comm.Ialltoallv([np.concatenate(task.part), out], [room, into])
    return request, lambda: np.split(room, np.cumsum(into)[:-1])


def _barrier(comm: Communicator, _task: Task) -> Began:
    return comm.ibarrier(), lambda: None


def _rows(size: int, like: Array) -> Array:
    return np.empty((size, like.size), like.dtype)


BEGIN: dict[str, Callable[[Any, Task], Began]] = {
    "bcast": _bcast, "allreduce": _allreduce, "reduce": _reduce, "allgather": _allgather, "gather": _gather,
    "scatter": _scatter, "reduce_scatter": _reduce_scatter, "alltoall": _alltoall, "barrier": _barrier,
}  # fmt: skip
