"""Real: the communicator of a rank that mpirun started, over mpi4py.

    world()    the communicator of all ranks; every rank has to ask for it, once

Arrays travel as buffers, never pickled; objects travel pickled. What a call is named, checks and notes down is the same
as for simulated ranks (pairs.py, collective.py, meeting.py); here stands only how it gets to MPI.

A communicator has two of MPI's: one for the learner's messages and collectives, and `side` for our own: messages inside
of algorithms, long objects, and what debug mode compares.
"""

from __future__ import annotations

import atexit
import itertools
import os
import sys
import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any, cast

import numpy as np

from jt_edu.errors import RankError
from jt_edu.mpi.real import launch
from jt_edu.mpi.real.debug import COURTESY, Checked, agreed, board_for, leave_together, print_explanation, watch
from jt_edu.mpi.real.letter import Letter, shift_for, stub_for, ticket_for
from jt_edu.mpi.real.native import OBJECTS, Native
from jt_edu.mpi.real.progress import Helper, Incoming, Journal, MPIRequest, Progress, Several, explained, status_from
from jt_edu.mpi.record.records import Call
from jt_edu.mpi.talk.groups import Groups
from jt_edu.mpi.talk.meeting import Fill, Way
from jt_edu.mpi.talk.messages import Message, check_peer, check_tag, which, who
from jt_edu.mpi.terms.advice import ranks_named
from jt_edu.mpi.terms.buffers import Array, Packet, open_object
from jt_edu.mpi.terms.errors import MismatchError
from jt_edu.mpi.terms.names import ANY_SOURCE, ANY_TAG, PROC_NULL, SMALL, Status
from jt_edu.mpi.world.baton import Task
from jt_edu.mpi.world.request import Request
from jt_edu.mpi.world.world import Visit, World


class MPIComm(Groups):
    """A real rank's communicator: the surface of pairs.py, collective.py and groups.py, over mpi4py.

    Args:
        raw, side: two communicators of MPI for the same group.
        native: types and reductions of this process.
        journal, task: where calls are noted down, and who waits.
        members, plane, name: as for any communicator.
    """

    def __init__(
        self, raw: Any, side: Any, native: Native, journal: Journal, task: Progress, members: tuple[int, ...],
        plane: Any, name: str,
    ) -> None:  # fmt: skip
        super().__init__(cast("World", journal), cast("Task", task), members, plane, name)
        self.raw, self.side, self.native, self.mpi = raw, side, native, native.mpi
        self.shift = 0  # of tags, for messages inside of algorithms
        self._tickets = itertools.count()

    @property
    def journal(self) -> Journal:
        """Where calls are noted down."""
        return cast("Journal", self.world)

    # one to one

    def _lent(self, flat: Array, into: Array | None = None) -> Packet:
        """MPI reads it where it lies, unless that place is being filled."""
        if into is not None and np.may_share_memory(flat, into):
            flat = flat.copy()
        return Packet(flat, flat.size, flat.nbytes)

    def _isend(
        self, packet: Packet, dest: int, tag: int, name: str, synchronous: bool = False, wait: bool = False
    ) -> Request:
        check_peer(dest, self.size, name, "dest", (PROC_NULL,))
        check_tag(tag, name)
        said = f"{name}(dest={dest}, tag={tag})"
        with self._called(name, said, peer=dest, bytes=packet.bytes) as call:
            request = MPIRequest(self, said, self._peers(dest), call.line)
            if dest == PROC_NULL:
                request.complete()
            else:
                self.journal.sent(call, self._key, self.members[dest], tag, packet.bytes, synchronous)
                request.begin(*self._post(packet, dest, tag + self.shift, synchronous))
            if wait:
                request.wait()
            self._left_open(request, call)
        return request

    def _post(self, packet: Packet, dest: int, tag: int, synchronous: bool) -> tuple[Any, Any]:
        """Hand a packet to MPI: (its request, what has to stay in memory)."""
        send = self.raw.Issend if synchronous else self.raw.Isend
        if not isinstance(packet.payload, bytes):
            return send(self.native.message(packet.payload), dest, tag), packet.payload
        if packet.bytes <= SMALL:
            return send([packet.payload, self.mpi.BYTE], dest, tag), packet.payload
        ticket = ticket_for(next(self._tickets))
        stub = stub_for(packet.bytes, ticket)
        first = send([stub, self.mpi.BYTE], dest, tag)
        rest = self.side.Isend([packet.payload, self.mpi.BYTE], dest, ticket)
        return Several(first, rest), (stub, packet.payload)

    def _irecv(self, source: int, tag: int, into: Any, name: str, wait: bool = False) -> Request:
        check_peer(source, self.size, name, "source", (PROC_NULL, ANY_SOURCE))
        check_tag(tag, name, ANY_TAG)
        said = f"{name}(source={who(source)}, tag={which(tag)})"
        with self._called(name, said, peer=source) as call:
            request = MPIRequest(self, said, self._peers(source), call.line)
            if source == PROC_NULL:
                request.status = Status(PROC_NULL, ANY_TAG)
                request.complete()
            else:
                where = self._from(source, tag)
                self._expect(request, call, into, SMALL, lambda room: self.raw.Irecv(room, *where))
            if wait:
                request.wait()
            self._left_open(request, call)
        return request

    def _expect(self, request: MPIRequest, call: Call, into: Any, most: int, receive: Callable[[Any], Any]) -> None:
        """Begin to receive: into an array, or an object of at most `most` bytes in its first message."""
        if into is None:
            letter = Letter(self.mpi, self.side, bytearray(most))
            request.begin(Incoming(receive([letter.data, self.mpi.BYTE]), letter.follow))
        else:
            letter = None
            request.begin(receive(self.native.message(into)), into)
        request.withdraw = request.take_back
        request.finish = lambda: self._received(request, call, letter)

    def _received(self, request: MPIRequest, call: Call, letter: Letter | None) -> Any:
        """A message is there: note it down, and open it if it is an object."""
        found = request.status
        found.tag -= self.shift
        if letter is not None and letter.long:
            found.bytes = letter.long
        call.bytes = found.bytes
        self.journal.took(call, self._key, self.members[found.source], found.tag)
        return None if letter is None else open_object(memoryview(letter.data)[: found.bytes], call.name, found.source)

    def _from(self, source: int, tag: int) -> tuple[int, int]:
        """Source and tag as MPI calls them."""
        mpi = self.mpi
        return mpi.ANY_SOURCE if source == ANY_SOURCE else source, mpi.ANY_TAG if tag == ANY_TAG else tag + self.shift

    @property
    def _key(self) -> str:
        """Tells the messages of this communicator from those of others, on all ranks alike."""
        return f"{self.plane}+{self.shift}"

    # looking

    def probe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> bool:
        """Wait until such a message is there, and tell what it is; it stays."""
        self._probed("probe", self.raw.Probe, source, tag, status)
        return True

    def iprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> bool:
        """Whether such a message is there."""
        return bool(self._probed("iprobe", self.raw.Iprobe, source, tag, status))

    def mprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Message:
        """Wait for such a message, and take it away: nobody else receives it."""
        return cast("Message", self._probed("mprobe", self.raw.Mprobe, source, tag, status))

    def improbe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Message | None:
        """Take such a message away if it is there."""
        return cast("Message | None", self._probed("improbe", self.raw.Improbe, source, tag, status))

    Probe, Iprobe, Mprobe, Improbe = probe, iprobe, mprobe, improbe

    def _probed(self, name: str, look: Callable[..., Any], source: int, tag: int, status: Status | None) -> Any:
        check_peer(source, self.size, name, "source", (PROC_NULL, ANY_SOURCE))
        check_tag(tag, name, ANY_TAG)
        said = f"{name}(source={who(source)}, tag={which(tag)})"
        with self._called(name, said, peer=source) as call:
            found, told = True, Status(PROC_NULL, ANY_TAG)
            if source != PROC_NULL:  # Open MPI 5 would look for ever
                raw = self.mpi.Status()
                with self._task.blocked(MPIRequest(self, said, self._peers(source), call.line), attended=False):
                    found = look(*self._from(source, tag), raw)
                if found is None or found is False:
                    return found
                told = status_from(self.mpi, raw)
                told.tag -= self.shift
            if status is not None:
                status.take(told)
        return MPIMessage(self, found, told) if "mprobe" in name else True

    # together

    def _packed(self, kind: str, part: Any, native: bool) -> Any:
        """mpi4py packs objects itself."""
        return part

    def _come(self, visit: Visit, way: Way) -> Any:
        """Come to a collective; answers what this rank gets, or a request for it."""
        place = (str(self.plane), way.sequence)
        request = MPIRequest(self, visit.request.words, self._others, visit.call.line, place)
        self.journal.meets(visit.call, f"{place}")
        compared = agreed(self, visit, way, request)
        if way.run is not None:
            return self._by_algorithm(visit, way, request, compared)
        if not isinstance(visit.finish, Fill) and way.kind != "barrier":
            with self._task.blocked(request, attended=False):
                got = OBJECTS[way.kind](self.raw, visit.part, way)
            return visit.finish(got) if visit.finish is not None and way.kind in ("split", "create", "dup") else got
        return self._natively(visit, way, request, compared)

    def _natively(self, visit: Visit, way: Way, request: MPIRequest, compared: Any) -> Any:
        try:
            with self._task.blocked(request, attended=False):
                begun = self.native.begin(self.raw, visit, way)
        except self.mpi.Exception as error:
            raise explained(self.mpi, error, request.words) from None
        request.finish = begun.after
        if not way.background:
            return None if begun.after is None else begun.after()
        request.begin(begun.raw if compared is None else Checked(compared, begun.raw), (visit, begun))
        self._left_open(request, visit.call)
        return request

    def _by_algorithm(self, visit: Visit, way: Way, request: MPIRequest, compared: Any) -> Any:
        inside = self._inside(way.sequence)
        if not way.background:
            return self._by(visit, way, inside)
        inside.task = cast("Task", Progress(self.journal))
        self.journal.open_calls[inside.task] = [visit.call]

        def body() -> None:
            request.value = self._by(visit, way, inside)

        helper = Helper(body, f"jt_edu rank {self.rank}, {request.words}")
        request.begin(helper if compared is None else Checked(compared, helper), visit)
        request.finish = lambda: request.value
        self._left_open(request, visit.call)
        return request

    def _inside(self, sequence: int) -> MPIComm:
        """This group for the messages inside of one collective: on `side`, with tags of their own."""
        inside = MPIComm(
            self.side, self.side, self.native, self.journal, self._task, self.members, self.plane, self.name
        )
        inside.shift = shift_for(sequence)
        inside._tickets = self._tickets
        return inside

    def _others(self, time: int | None = None) -> tuple[int, ...]:
        return tuple(m for m in self.members if m != self.task.rank)

    @property
    def _task(self) -> Progress:
        return cast("Progress", self.task)

    # groups

    def Free(self) -> None:
        """This communicator is not used any more, and MPI, which has not many, gets its own two back."""
        if not self.freed:
            super().Free()
            self.raw.Free()
            self.side.Free()

    def _group(self, members: tuple[int, ...], plane: Any) -> MPIComm:
        group = self.raw.Get_group().Incl([self.members.index(m) for m in members])
        raw, side = self.raw.Create_group(group, 0), self.raw.Create_group(group, 1)
        name = f"group of {ranks_named(members)}"
        made = MPIComm(raw, side, self.native, self.journal, self._task, members, plane, name)
        made.before = self.before
        return made

    def Abort(self, errorcode: int = 0) -> None:
        """End all ranks, at once."""
        sys.stdout.flush()
        error = RankError(f"rank {self.rank} called Abort", f"error code {errorcode}")
        sys.stderr.write(f"{error}\n")
        sys.stderr.flush()
        self.journal.leave_word(error)
        self.mpi.COMM_WORLD.Abort(errorcode or 1)


class MPIMessage(Message):
    """A message that a matched probe took out of MPI's queue."""

    def __init__(self, comm: MPIComm, raw: Any, found: Status) -> None:
        self.comm: MPIComm = comm
        self.raw, self.found = raw, found

    def _begun(self, into: Any, name: str) -> Request:
        comm, found = self.comm, self.found
        said = f"{name}(source={found.source}, tag={found.tag})"
        with comm._called(name, said, peer=found.source) as call:
            request = MPIRequest(comm, said, comm._peers(found.source), call.line)
            if found.source == PROC_NULL:
                request.status = Status(PROC_NULL, ANY_TAG)
                request.complete()
            else:
                comm._expect(request, call, into, found.bytes, self.raw.Irecv)
        return request


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
    comm = MPIComm(raw, side, Native(mpi), journal, Progress(journal), members, "world", "world")
    if board is not None:
        atexit.register(board.ends_well)
        if board.debug:
            journal.tell = print_explanation(board)
            watch(board, journal.explain, partial(mpi.COMM_WORLD.Abort, 1))
    if raw.rank == 0 and board is None:
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
        raise RankError("real ranks speak through mpi4py", f"{error}", launch.INSTALL) from error
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
    return RankError("mpirun and the library under mpi4py belong to one MPI", found, attempt)


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
    comm.mpi.COMM_WORLD.Abort(code)
