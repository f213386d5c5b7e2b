"""Comm: one rank's door to the others, shaped like mpi4py's.

    send, recv, bcast, ...     objects: pickled, so any object can travel, slowly
    Send, Recv, Bcast, ...     buffers: the numbers of an array, nothing else
    isend, Irecv, Ibcast, ...  come back at once with a Request

This file has what goes from one rank to one other, and the making of groups; `collective.py` has what all ranks do
together. Both speak through the `World` of simulated ranks, whose only member may be this one (`SoloComm`).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from jt_edu.errors import ArgumentError, RankError, UnknownNameError
from jt_edu.mpi.record.records import Call
from jt_edu.mpi.talk.messages import Message, check_peer, check_tag, got, which, who
from jt_edu.mpi.terms.buffers import Array, Packet, as_buffer, fill, pack_array, pack_object
from jt_edu.mpi.terms.errors import TruncationError
from jt_edu.mpi.terms.names import ANY_SOURCE, ANY_TAG, PROC_NULL, SMALL, STUB_BYTES, Status
from jt_edu.mpi.world.baton import Task
from jt_edu.mpi.world.request import Request
from jt_edu.mpi.world.world import Letter, Plane, Receive, World


class PointToPoint:
    """What one rank says to one other.

    Args:
        world, task: whose rank this is, and the thread that speaks for it.
        members: the ranks of the world that make up the group, in the order of their ranks in it.
        plane: tells the messages of this communicator from those of others.
    """

    said_at = ""  # the line that speaks, where it is not the one that calls: a node of a graph
    before: Callable[[], None] | None = None  # what has to be said first

    def __init__(self, world: World, task: Task, members: tuple[int, ...], plane: Plane, name: str) -> None:
        self.world, self.task, self.members, self.plane, self.name = world, task, members, plane, name
        self.rank, self.size = members.index(task.rank), len(members)
        self.freed = False

    if not TYPE_CHECKING:  # which would take every name for one of a communicator

        def __getattr__(self, name: str) -> Any:
            """A method of mpi4py that is not here is refused by name."""
            if name.startswith("_"):
                raise AttributeError(name)
            near = difflib.get_close_matches(name, dir(type(self)), 3)
            raise UnknownNameError(f"comm.{name} is asked for", "no such method here", ", ".join(near))

    def Get_rank(self) -> int:
        """The number of this rank in the group, from 0."""
        return self.rank

    def Get_size(self) -> int:
        """How many ranks the group has."""
        return self.size

    def compute(self, nanoseconds: int) -> None:
        """Let so much virtual time pass, as if this rank computed."""
        if not isinstance(nanoseconds, (int, float, np.number)) or nanoseconds < 0:
            raise ArgumentError("a rank computes for a number of ns from 0", repr(nanoseconds))
        self.world.work(self.task, nanoseconds)

    @property
    def now(self) -> int:
        """The virtual time of this rank, in ns."""
        return self.task.clock.now

    def ask_the_time(self) -> int:
        """The same, as `MPI.Wtime` asks."""
        return self.now

    # objects

    def send(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send an object; comes back when it is copied, not when it is there."""
        self._isend(pack_object(obj, "send"), dest, tag, "send", wait=True)

    def ssend(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send an object, and come back when it is being received."""
        self._isend(pack_object(obj, "ssend"), dest, tag, "ssend", synchronous=True, wait=True)

    def isend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        """Begin to send an object."""
        return self._isend(pack_object(obj, "isend"), dest, tag, "isend")

    def issend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        """Begin to send an object; the request is done when it is being received."""
        return self._isend(pack_object(obj, "issend"), dest, tag, "issend", synchronous=True)

    def recv(self, buf: Any = None, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Any:
        """The object that comes next from `source` with `tag`. `buf` has no use here; mpi4py has it in this place."""
        return got(self._irecv(source, tag, None, "recv", wait=True), status)

    def irecv(self, buf: Any = None, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        """Begin to receive an object."""
        return self._irecv(source, tag, None, "irecv")

    def sendrecv(
        self, sendobj: Any, dest: int, sendtag: int = 0, recvbuf: Any = None, source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG, status: Status | None = None,
    ) -> Any:  # fmt: skip
        """Send one object and receive another, neither waiting for the other."""
        with self._called("sendrecv", f"sendrecv(dest={dest}, source={who(source)})", peer=dest):
            out = self._isend(pack_object(sendobj, "sendrecv"), dest, sendtag, "isend")
            back = self._irecv(source, recvtag, None, "irecv")
            return Request.waitall([out, back], [Status(), status or Status()])[1]

    # buffers

    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send the numbers of a buffer."""
        self._isend(self._lent(as_buffer(buf, "Send").flat), dest, tag, "Send", wait=True)

    def Ssend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a buffer, and come back when it is being received."""
        self._isend(self._lent(as_buffer(buf, "Ssend").flat), dest, tag, "Ssend", synchronous=True, wait=True)

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Begin to send a buffer."""
        return self._isend(pack_array(as_buffer(buf, "Isend").flat), dest, tag, "Isend")

    def Issend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Begin to send a buffer; the request is done when it is being received."""
        return self._isend(pack_array(as_buffer(buf, "Issend").flat), dest, tag, "Issend", synchronous=True)

    def Recv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> None:
        """Receive numbers into a buffer, which has room for them or more."""
        got(self._irecv(source, tag, as_buffer(buf, "Recv", write=True).flat, "Recv", wait=True), status)

    def Irecv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        """Begin to receive into a buffer; it is filled when the request has been waited for."""
        return self._irecv(source, tag, as_buffer(buf, "Irecv", write=True).flat, "Irecv")

    def Sendrecv(
        self, sendbuf: Any, dest: int, sendtag: int = 0, recvbuf: Any = None, source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG, status: Status | None = None,
    ) -> None:  # fmt: skip
        """Send one buffer and fill another, neither waiting for the other."""
        out_flat = as_buffer(sendbuf, "Sendrecv").flat
        into = as_buffer(recvbuf, "Sendrecv", write=True).flat
        with self._called("Sendrecv", f"Sendrecv(dest={dest}, source={who(source)})", peer=dest):
            out = self._isend(self._lent(out_flat, into), dest, sendtag, "Isend")
            back = self._irecv(source, recvtag, into, "Irecv")
            Request.waitall([out, back], [Status(), status or Status()])

    def Sendrecv_replace(
        self, buf: Any, dest: int, sendtag: int = 0, source: int = ANY_SOURCE, recvtag: int = ANY_TAG,
        status: Status | None = None,
    ) -> None:  # fmt: skip
        """Send a buffer, and fill it with what comes."""
        self.Sendrecv(buf, dest, sendtag, buf, source, recvtag, status)

    # looking

    def probe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> bool:
        """Wait until such a message is there, and tell what it is; it stays.

        Of a long object it tells the bytes of a first, short message, as under MPI: only the receive knows its size.
        """
        with self._looking("probe", source, tag) as call:
            self._await_letter(source, tag, status, call)
        return True

    def iprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> bool:
        """Whether such a message is there."""
        with self._looking("iprobe", source, tag) as call:
            return self._glance(source, tag, status, call)[0]

    def mprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Message:
        """Wait for such a message, and take it away: nobody else receives it."""
        with self._looking("mprobe", source, tag) as call:
            return self._out_of_the_box(self._await_letter(source, tag, status, call))

    def improbe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Message | None:
        """Take such a message away if it is there."""
        with self._looking("improbe", source, tag) as call:
            there, letter = self._glance(source, tag, status, call)
            return self._out_of_the_box(letter) if there else None

    Probe, Iprobe, Mprobe, Improbe = probe, iprobe, mprobe, improbe

    # how it is done

    def _called(self, name: str, said: str, **details: Any) -> Calling:
        """One call, noted down from its beginning to its end."""
        if self.freed:
            raise RankError(f"{name} speaks through a communicator", f"{self.name}, which was freed")
        self._due_first()
        if details.get("peer", -1) >= 0:
            details["peer"] = self.members[details["peer"]]
        return Calling(self, name, said, details)

    def _due_first(self) -> None:
        """A call by hand comes after the messages of the graph that were written before it."""
        if self.before is not None and not self.said_at and not self.world.inside_a_call(self.task):
            self.before()

    def _waiting(self, said: str) -> Calling | nullcontext[None]:
        """A wait that stands by itself is a call of its own; one inside of a call is a part of it."""
        return nullcontext() if self.world.inside_a_call(self.task) else self._called("wait", said)

    def _lent(self, flat: Array, into: Array | None = None) -> Packet:
        """What a send carries that is over when its call is, while `into` is being filled."""
        return pack_array(flat)

    def _isend(
        self, packet: Packet, dest: int, tag: int, name: str, synchronous: bool = False, wait: bool = False
    ) -> Request:
        check_peer(dest, self.size, name, "dest", (PROC_NULL,))
        check_tag(tag, name)
        said = f"{name}(dest={dest}, tag={tag})"
        with self._called(name, said, peer=dest, bytes=packet.bytes) as call:
            request = Request(self, said, self._peers(dest), call.line)
            if dest == PROC_NULL:
                request.complete()
            else:
                self.world.post(self.plane, self.task, self.members[dest], tag, packet, synchronous, request)
            if wait:
                request.wait()
            self._left_open(request, call)
            if call.parent < 0:
                self.task.let_others_run()
        return request

    def _irecv(self, source: int, tag: int, into: Any, name: str, wait: bool = False) -> Request:
        check_peer(source, self.size, name, "source", (PROC_NULL, ANY_SOURCE))
        check_tag(tag, name, ANY_TAG)
        said = f"{name}(source={who(source)}, tag={which(tag)})"
        with self._called(name, said, peer=source) as call:
            request = Request(self, said, self._peers(source), call.line)
            if source == PROC_NULL:
                request.status = Status(PROC_NULL, ANY_TAG)
                request.complete()
            else:
                until = self.task.gives_up_at() if wait else None
                receive = Receive(self._place(source), tag, request, self.task.clock.now, until)
                request.finish = lambda: self._take(receive, into, name, call)
                request.withdraw = lambda: self.world.withdraw(self.plane, self.task.rank, receive)
                self.world.expect(self.plane, self.task.rank, receive)
            if wait:
                self._waited(request)
            self._left_open(request, call)
        return request

    def _waited(self, request: Request) -> None:
        """Wait for a receive; one that fails takes no message away."""
        try:
            request.wait()
        except BaseException:
            request.Cancel()
            raise

    def _left_open(self, request: Request, call: Call) -> None:
        """A learner's call is over, and what it began is not: somebody has to wait for it."""
        if call.parent < 0 and not request.taken:
            self.task.begun[request] = None

    def _place(self, rank: int) -> int:
        """The number in the world of a rank of this group."""
        return self.members[rank] if rank >= 0 else rank

    def _peers(self, source: int) -> tuple[int, ...]:
        if source == ANY_SOURCE:
            return tuple(m for m in self.members if m != self.task.rank) or self.members
        return () if source == PROC_NULL else (self.members[source],)

    def _take(self, receive: Receive, into: Any, name: str, call: Call) -> Any:
        """The receiver takes its letter: its clock moves, its buffer is filled."""
        letter = receive.letter
        assert letter is not None, "a receive is finished when its letter has come"
        self._charge(letter, call)
        receive.request.status = self._status_of(letter)
        packet, source = letter.packet, receive.request.status.source
        if into is None:
            return packet.as_object(name, source)
        if packet.count > into.size:
            room = f"{name} has room for {into.size} numbers"
            raise TruncationError(room, f"{packet} from rank {source}", "a larger buffer, or Probe first")
        fill(into, packet, name, source)
        return None

    def _charge(self, letter: Letter, call: Call) -> None:
        clock, record = self.task.clock, letter.record
        call.ready = max(call.enter, letter.arrival)
        record.taken, record.done = clock.receive(letter.arrival, letter.packet.bytes)
        record.taker = -1 if self.world.is_full else call.number
        call.leave, call.bytes = clock.now, letter.packet.bytes
        self.world.note("take", self.task, record.number)

    def _seen(self, letter: Letter) -> Status:
        """What a probe tells of a message."""
        seen = self._status_of(letter)
        if isinstance(letter.packet.payload, bytes) and seen.bytes > SMALL:
            seen.bytes = STUB_BYTES
        return seen

    def _status_of(self, letter: Letter) -> Status:
        return Status(self._number_of(letter.source), letter.tag, letter.packet.bytes)

    def _number_of(self, rank: int) -> int:
        """What this group calls a rank of the world; in the world itself, that is quick."""
        is_world = rank < self.size and self.members[rank] == rank
        return rank if is_world else self.members.index(rank)

    def _looking(self, name: str, source: int, tag: int) -> Calling:
        """A call that looks for a message."""
        check_peer(source, self.size, name, "source", (PROC_NULL, ANY_SOURCE))
        check_tag(tag, name, ANY_TAG)
        return self._called(name, f"{name}(source={who(source)}, tag={which(tag)})", peer=source)

    def _await_letter(self, source: int, tag: int, status: Status | None, call: Call) -> Letter | None:
        """Wait for a letter, and leave it where it is; None from nobody."""
        world, place, letter = self.world, self._place(source), None
        if source != PROC_NULL:
            receive = Receive(
                place, tag, Request(self, call.words, self._peers(source), call.line), self.task.clock.now
            )
            letter = world.await_letter(self.plane, self.task, receive)
        if status is not None:
            status.take(Status(PROC_NULL) if letter is None else self._seen(letter))
        return letter

    def _glance(self, source: int, tag: int, status: Status | None, call: Call) -> tuple[bool, Letter | None]:
        """Whether there is a letter now, and which; None from nobody, who has always sent."""
        world, rank, place = self.world, self.task.rank, self._place(source)
        request = Request(self, call.words, self._peers(source), call.line)
        there = self.task.look(
            request, lambda: place == PROC_NULL or world.look(self.plane, rank, place, tag) is not None
        )
        letter = None if place == PROC_NULL else world.look(self.plane, rank, place, tag)
        if there and status is not None:
            status.take(Status(PROC_NULL) if letter is None else self._seen(letter))
        return there, letter

    def _out_of_the_box(self, letter: Letter | None) -> Message:
        if letter is not None:
            self.world.take_out(self.plane, self.task.rank, letter)
        return Message(self, letter)


class Calling:
    """The time from the beginning of a call to its end, whatever happens inside."""

    __slots__ = ("_comm", "_name", "_said", "_told", "call")

    def __init__(self, comm: PointToPoint, name: str, said: str, told: dict[str, Any]) -> None:
        self._comm, self._name, self._said, self._told = comm, name, said, told

    def __enter__(self) -> Call:
        comm = self._comm
        self.call = comm.world.enter(comm.task, self._name, self._said, comm.said_at, group=comm.name, **self._told)
        return self.call

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._comm.world.leave(self._comm.task, self.call, error)
