"""Communicator: of a rank that mpirun started, over mpi4py.

    world()    the communicator of all ranks; every rank has to ask for it, once

What a call is named, checks and notes down is the same as for simulated ranks (communicator/); here stands only how
collectives get to MPI, and in point_to_point.py how messages do.

A communicator has two of MPI's: one for the learner's messages and collectives, and `side` for our own: messages inside
of algorithms, long objects, and what debug mode compares.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from jt_edu.base.errors import RankError
from jt_edu.mpi.base.deadlock_hints import ranks_named
from jt_edu.mpi.base.errors import MismatchError
from jt_edu.mpi.communicator.collective_args import Fill, Visit, Way
from jt_edu.mpi.communicator.collective_call import opened
from jt_edu.mpi.communicator.groups import Groups
from jt_edu.mpi.communicator.point_to_point import Plane
from jt_edu.mpi.mpi4py_backend import launch
from jt_edu.mpi.mpi4py_backend.abort import abort
from jt_edu.mpi.mpi4py_backend.call_log import Journal
from jt_edu.mpi.mpi4py_backend.debug import (
    COURTESY,
    Checked,
    agreed,
    board_for,
    leave_together,
    print_explanation,
    watch,
)
from jt_edu.mpi.mpi4py_backend.mpi_calls import OBJECTS, Native
from jt_edu.mpi.mpi4py_backend.object_message import shift_for
from jt_edu.mpi.mpi4py_backend.point_to_point import MPIPairs
from jt_edu.mpi.mpi4py_backend.progress import Helper, Place, Progress, in_our_words


class MPIComm(MPIPairs, Groups):
    """A real rank's communicator: what communicator/ says, over mpi4py."""

    # together

    def _come(self, visit: Visit, way: Way) -> Any:
        request = visit.request
        place = (str(self.plane), way.sequence)
        request.partners = self._others
        self.journal.meets(visit.call, f"{place}")
        compared = agreed(self, visit, way, place)
        if way.run is not None:
            return self._by_algorithm(visit, way, compared, place)
        if not isinstance(visit.finish, Fill) and way.kind != "barrier":
            with self.task.blocked(request, place):
                got = OBJECTS[way.kind](self.raw, visit.part, way)
            return opened(got) if visit.finish is None else visit.finish(got)
        return self._natively(visit, way, compared, place)

    def _natively(self, visit: Visit, way: Way, compared: Any, place: Place) -> Any:
        request = visit.request
        try:
            with self.task.blocked(request, place):
                begun = self.native.begin(self.raw, visit, way)
        except self.mpi.Exception as error:
            raise in_our_words(self.mpi, error, request.words) from None
        request.finish = begun.after
        if not way.background:
            return None if begun.after is None else begun.after()
        raw = begun.raw if compared is None else Checked(compared, begun.raw)
        self.task.begin(request, raw, (visit, begun), place)
        self._left_open(request, visit.call)
        return request

    def _by_algorithm(self, visit: Visit, way: Way, compared: Any, place: Place) -> Any:
        request = visit.request
        if not way.background:
            return self._by(visit, way, self._inside(way.sequence, self.task))
        task = Progress(self.journal, self.mpi)
        inside = self._inside(way.sequence, task)
        self.journal.open_calls[task] = [visit.call]  # what it calls is a part of this call

        def body() -> None:
            try:
                request.value = self._by(visit, way, inside)
            finally:
                del self.journal.open_calls[task]

        helper = Helper(body, f"jt_edu rank {self.rank}, {request.words}")
        self.task.begin(request, helper if compared is None else Checked(compared, helper), visit, place)
        request.finish = lambda: request.value
        self._left_open(request, visit.call)
        return request

    def _inside(self, sequence: int, task: Progress) -> MPIPairs:
        """This group for the messages inside one collective: on `side`, with tags of their own."""
        return MPIPairs(
            self.side, self.side, self.native, self.journal, task, self.members, self.plane, self.name,
            shift_for(sequence), self._tickets,
        )  # fmt: skip

    # groups

    def Free(self) -> None:
        """This communicator is not used any more, and MPI, which has not many, gets its own two back."""
        if not self.freed:
            super().Free()
            self.raw.Free()
            self.side.Free()

    def _group(self, members: tuple[int, ...], plane: Plane) -> MPIComm:
        group = self.raw.Get_group().Incl([self.members.index(m) for m in members])
        raw, side = self.raw.Create_group(group, 0), self.raw.Create_group(group, 1)
        name = f"group of {ranks_named(members)}"
        made = MPIComm(raw, side, self.native, self.journal, self.task, members, plane, name)
        made.before = self.before
        return made

    def Abort(self, errorcode: int = 0) -> None:
        """End all ranks, at once."""
        sys.stdout.flush()
        error = RankError(f"rank {self.rank} called Abort", f"error code {errorcode}")
        sys.stderr.write(f"{error}\n")
        sys.stderr.flush()
        self.journal.leave_word(error)
        abort(self.mpi, errorcode or 1)


# the world


@cache
def world() -> MPIComm:
    """The communicator of all ranks that mpirun started together. Every rank has to ask for it, in the same place.

    From then on an exception that nobody catches ends all ranks, not only the one that raised it.

    Raises:
        RankError: no launcher started this process, mpi4py is missing, or launcher and library are of different MPIs.
    """
    mpi = library()
    everyone = mpi.COMM_WORLD
    raw, side = everyone.Dup(), everyone.Dup()
    start = raw.bcast(time.monotonic_ns(), 0)
    board = board_for(raw)
    journal = Journal(raw.rank, raw.size, start, "JT_EDU_MPI_FOLDER" in os.environ, board)
    members = tuple(range(raw.size))
    comm = MPIComm(raw, side, Native(mpi), journal, Progress(journal, mpi), members, "world", "world")
    if board is not None and board.debug:
        journal.tell = print_explanation(board)
        watch(board, journal.explain, partial(abort, mpi))
    if raw.rank == 0 and "JT_EDU_MPI_FOLDER" not in os.environ:
        version = ".".join(map(str, mpi.get_vendor()[1]))
        sys.stderr.write(f"{launch.announcement(version)}\n")
    sys.excepthook = _ends_all(comm, sys.excepthook)
    return comm


def library() -> Any:
    """mpi4py's MPI, begun.

    Raises:
        RankError: it cannot speak to the other ranks.
    """
    told = launch.told()
    if told is None:
        raise RankError("a real rank is started by mpirun", "a process without one", "mpirun -n 4 python program.py")
    try:
        import mpi4py  # noqa: PLC0415 - only ranks need it, and it takes up to a second

        if "mpi4py.MPI" not in sys.modules:
            mpi4py.rc.initialize, mpi4py.rc.finalize = False, True
        from mpi4py import MPI  # noqa: PLC0415
    except (ImportError, RuntimeError) as error:
        raise RankError("real ranks communicate through mpi4py", f"{error}", launch.INSTALL) from error
    version = " ".join(MPI.Get_library_version().split("\n")[0].split())
    if not MPI.Is_initialized():
        if "OMPI_COMM_WORLD_RANK" in os.environ and "Open MPI" not in version:
            raise _strangers(f"a launcher of Open MPI, and the library {version}")
        MPI.Init_thread(MPI.THREAD_MULTIPLE)
    if told[1] not in (-1, MPI.COMM_WORLD.size):
        raise _strangers(f"a launcher of {told[1]} ranks, and the library {version}, which sees {MPI.COMM_WORLD.size}")
    return MPI


def _strangers(found: str) -> RankError:
    attempt = "the mpirun beside this Python, or MPI4PY_LIBMPI=path to the library of the other"
    return RankError("mpirun and the library under mpi4py must belong to the same MPI", found, attempt)


def _ends_all(comm: MPIComm, before: Callable[..., Any]) -> Callable[..., None]:
    """What Python calls for an exception that nobody caught: tell it, and end all ranks, which would wait for ever."""

    def hook(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        sys.stdout.flush()
        sys.stderr.write(f"rank {comm.rank} of {comm.size}:\n")
        before(kind, error, trace)
        sys.stderr.flush()
        end_all(comm, error)

    return hook


def end_all(comm: MPIComm, error: BaseException, code: int = 1) -> None:
    """End all ranks because of an error on this one; what all ranks have found they may all tell before."""
    board = comm.journal.board
    if board is not None:
        board.ends(type(error).__name__)
        if isinstance(error, MismatchError):
            leave_together(board, COURTESY)
        board.discard()
    abort(comm.mpi, code)
