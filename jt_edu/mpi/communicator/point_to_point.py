"""Point to point: one rank's door to the others, shaped like mpi4py's. Here is what goes from one rank to one other.

    send, recv, bcast, ...     objects: pickled, so any object can travel, slowly
    Send, Recv, Bcast, ...     buffers: the numbers of an array, nothing else
    isend, Irecv, Ibcast, ...  come back at once with a Request

What a call is named, checks, says and waits for is the same for all ranks, and stands in this room. How it is done
differs: each kind of rank has five methods of its own for it.

    _post      a packet leaves                                                (point_to_point.py in simulator/
    _expect    a receive begins                                                and in mpi4py_backend/)
    _find      a probe looks for a message
    _fetch     what a probe took away is received
    _lent      what a send carries that is over when its call is
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from jt_edu.base.errors import ArgumentError, RankError, UnknownNameError
from jt_edu.mpi.base.buffer_memory import Array
from jt_edu.mpi.base.buffers import Buffer, Packet, pack_array, pack_object
from jt_edu.mpi.base.constants import ANY_SOURCE, ANY_TAG, PROC_NULL, Status
from jt_edu.mpi.base.deadlock_hints import RECEIVE, SEND
from jt_edu.mpi.base.missing import instead_of
from jt_edu.mpi.communicator.messages import Message, check_peer, check_tag, got, into, out_of, which, who
from jt_edu.mpi.communicator.protocols import Ledger, Voice
from jt_edu.mpi.communicator.request import Request
from jt_edu.mpi.trace.records import Call
from jt_edu.variable.gradient_errors import warn

Plane = Hashable  # tells the messages of one communicator from those of others


class PointToPoint(ABC):
    """What one rank says to one other.

    Args:
        ledger, task: where its calls are noted down, and who speaks for it; see protocols.py.
        members: the ranks of the world that make up the group, in the order of their ranks in it.
        plane: tells the messages of this communicator from those of others.
        name: what messages call it.
    """

    is_simulated: bool  # whether its ranks are those of one process
    freed, freed_to = False, None  # and the null that it equals then
    said_at = ""  # the line that speaks, where it is not the one that calls: a node of a graph
    before: Callable[[], None] | None = None  # what has to be said first

    def __init__(self, ledger: Ledger, task: Voice, members: tuple[int, ...], plane: Plane, name: str) -> None:
        self.ledger, self.task, self.members, self.plane, self.name = ledger, task, members, plane, name
        self.rank, self.size = members.index(task.rank), len(members)

    if not TYPE_CHECKING:  # which would take every name for one of a communicator

        def __getattr__(self, name: str) -> Any:
            """A method of mpi4py that is not here is refused by name."""
            if name.startswith("_"):
                raise AttributeError(name)
            raise UnknownNameError(
                f"comm.{name} is asked for", "no such method here", instead_of(name, dir(type(self)))
            )

    def Get_rank(self) -> int:
        """The number of this rank in the group, from 0."""
        return self.rank

    def Get_size(self) -> int:
        """How many ranks the group has."""
        return self.size

    def compute(self, nanoseconds: int) -> None:
        """Let so much time pass, as if this rank computed: on the virtual clock, or in truth."""
        if not isinstance(nanoseconds, (int, float, np.number)) or nanoseconds < 0:
            raise ArgumentError("a rank computes for a number of ns from 0", repr(nanoseconds))
        self._compute(nanoseconds)

    @property
    def now(self) -> int:
        """ns on the clock of this rank: the virtual one, or that on the wall."""
        return self.task.now

    def ask_the_time(self) -> int:
        """The same, as `MPI.Wtime` asks."""
        return self.now

    # objects

    def send(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send an object; comes back when it is copied, not when it is there."""
        self._send(pack_object(obj, "send"), dest, tag, "send", wait=True)

    def ssend(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send an object, and come back when it is being received."""
        self._send(pack_object(obj, "ssend"), dest, tag, "ssend", synchronous=True, wait=True)

    def isend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        """Begin to send an object."""
        return self._send(pack_object(obj, "isend"), dest, tag, "isend")

    def issend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        """Begin to send an object; the request is done when it is being received."""
        return self._send(pack_object(obj, "issend"), dest, tag, "issend", synchronous=True)

    def bsend(self, obj: Any, dest: int, tag: int = 0) -> None:
        """Send a copy of an object; comes back at once, whether it will be received or not."""
        self._send(pack_object(obj, "bsend"), dest, tag, "bsend").Free()

    def ibsend(self, obj: Any, dest: int, tag: int = 0) -> Request:
        """The same, with a request that is done."""
        return self._on_its_way(pack_object(obj, "ibsend"), dest, tag, "ibsend")

    def recv(self, buf: Any = None, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Any:
        """The object that comes next from `source` with `tag`. `buf` has no use here; mpi4py has it in this place."""
        if buf is not None:
            warn("recv makes room for its object itself: buf has no use, and mpi4py will drop it")
        return got(self._receive(source, tag, None, "recv", wait=True), status)

    def irecv(self, buf: Any = None, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        """Begin to receive an object."""
        return self._receive(source, tag, None, "irecv")

    def sendrecv(
        self, sendobj: Any, dest: int, sendtag: int = 0, recvbuf: Any = None, source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG, status: Status | None = None,
    ) -> Any:  # fmt: skip
        """Send one object and receive another, neither waiting for the other."""
        with self._called("sendrecv", f"sendrecv(dest={dest}, source={who(source)})", peer=dest):
            out = self._send(pack_object(sendobj, "sendrecv"), dest, sendtag, "isend")
            back = self._receive(source, recvtag, None, "irecv", limited=True)
            return self._waited(back, out, status=status)

    # buffers

    def Send(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send the numbers of a buffer."""
        self._send(self._lent(out_of(buf, dest, "Send")), dest, tag, "Send", wait=True)

    def Ssend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a buffer, and come back when it is being received."""
        self._send(self._lent(out_of(buf, dest, "Ssend")), dest, tag, "Ssend", synchronous=True, wait=True)

    def Isend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Begin to send a buffer."""
        return self._send(pack_array(out_of(buf, dest, "Isend")), dest, tag, "Isend")

    def Issend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """Begin to send a buffer; the request is done when it is being received."""
        return self._send(pack_array(out_of(buf, dest, "Issend")), dest, tag, "Issend", synchronous=True)

    def Bsend(self, buf: Any, dest: int, tag: int = 0) -> None:
        """Send a copy of a buffer; comes back at once, whether it will be received or not."""
        self._send(pack_array(out_of(buf, dest, "Bsend")), dest, tag, "Bsend").Free()

    def Ibsend(self, buf: Any, dest: int, tag: int = 0) -> Request:
        """The same, with a request that is done."""
        return self._on_its_way(pack_array(out_of(buf, dest, "Ibsend")), dest, tag, "Ibsend")

    def Recv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> None:
        """Receive numbers into a buffer, which has room for them or more."""
        got(self._receive(source, tag, into(buf, source, "Recv"), "Recv", wait=True), status)

    def Irecv(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Request:
        """Begin to receive into a buffer; it is filled when the request has been waited for."""
        return self._receive(source, tag, into(buf, source, "Irecv"), "Irecv")

    def Sendrecv(
        self, sendbuf: Any, dest: int, sendtag: int = 0, recvbuf: Any = None, source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG, status: Status | None = None,
    ) -> None:  # fmt: skip
        """Send one buffer and fill another, neither waiting for the other."""
        flat, room = out_of(sendbuf, dest, "Sendrecv"), into(recvbuf, source, "Sendrecv")
        with self._called("Sendrecv", f"Sendrecv(dest={dest}, source={who(source)})", peer=dest):
            packet = pack_array(flat) if np.may_share_memory(flat, room.flat) else self._lent(flat)
            out = self._send(packet, dest, sendtag, "Isend")
            back = self._receive(source, recvtag, room, "Irecv", limited=True)
            self._waited(back, out, status=status)

    def Isendrecv(
        self, sendbuf: Any, dest: int, sendtag: int = 0, recvbuf: Any = None, source: int = ANY_SOURCE,
        recvtag: int = ANY_TAG,
    ) -> Request:  # fmt: skip
        """Begin to send one buffer and to fill another; the request is done when both have happened."""
        flat, room = out_of(sendbuf, dest, "Isendrecv"), into(recvbuf, source, "Isendrecv")
        with self._called("Isendrecv", f"Isendrecv(dest={dest}, source={who(source)})", peer=dest) as call:
            out = self._send(pack_array(flat), dest, sendtag, "Isend")
            back = self._receive(source, recvtag, room, "Irecv").together_with(out)
            self._left_open(back, call)
        return back

    def Isendrecv_replace(
        self, buf: Any, dest: int, sendtag: int = 0, source: int = ANY_SOURCE, recvtag: int = ANY_TAG
    ) -> Request:
        """Begin to send a buffer, and to fill it with what comes."""
        return self.Isendrecv(buf, dest, sendtag, buf, source, recvtag)

    def Sendrecv_replace(
        self, buf: Any, dest: int, sendtag: int = 0, source: int = ANY_SOURCE, recvtag: int = ANY_TAG,
        status: Status | None = None,
    ) -> None:  # fmt: skip
        """Send a buffer, and fill it with what comes."""
        self.Sendrecv(buf, dest, sendtag, buf, source, recvtag, status)

    Rsend, Irsend = Send, Isend  # "ready": as good as any, for those who know that the receive has begun

    # looking

    def probe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> bool:
        """Wait until such a message is there, and tell what it is; it stays.

        Of a long object it tells the bytes of a first, short message, as under MPI: only the receive knows its size.
        """
        return self._found("probe", source, tag, status, waits=True) is not None

    def iprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> bool:
        """Whether such a message is there."""
        return self._found("iprobe", source, tag, status) is not None

    def mprobe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Message:
        """Wait for such a message, and take it away: nobody else receives it."""
        found = self._found("mprobe", source, tag, status, waits=True, takes=True)
        assert found is not None, "it was waited for"
        return found

    def improbe(self, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None) -> Message | None:
        """Take such a message away if it is there."""
        return self._found("improbe", source, tag, status, takes=True)

    Probe, Iprobe, Mprobe, Improbe = probe, iprobe, mprobe, improbe

    # how a call goes, on all ranks alike

    def _called(self, name: str, said: str, **details: Any) -> Calling:
        """One call, noted down from its beginning to its end."""
        if self.freed:
            raise RankError(f"{name} communicates through a communicator", f"{self.name}, which was freed")
        self._due_first()
        if details.get("peer", -1) >= 0:
            details["peer"] = self.members[details["peer"]]
        return Calling(self, name, said, details)

    def _due_first(self) -> None:
        """A call by hand comes after the messages of the graph that were written before it."""
        if self.before is not None and not self.said_at and not self.ledger.inside_a_call(self.task):
            self.before()

    def _waiting(self, said: str) -> Calling | nullcontext[None]:
        """A wait that stands by itself is a call of its own; one inside a call is a part of it."""
        return nullcontext() if self.ledger.inside_a_call(self.task) else self._called("wait", said)

    def _send(
        self, packet: Packet, dest: int, tag: int, name: str, synchronous: bool = False, wait: bool = False
    ) -> Request:
        """Send a packet; `wait`: and come back when its memory is free, or it is being received if synchronous."""
        check_peer(dest, self.size, name, "dest", (PROC_NULL,))
        check_tag(tag, name)
        said = f"{name}(dest={dest}, tag={tag})"
        with self._called(name, said, peer=dest, tag=tag, bytes=packet.bytes) as call:
            request = Request(self, said, self._peers(dest), call.line, SEND, tag, not wait)
            if dest == PROC_NULL:
                request.complete()
            else:
                self._post(request, call, packet, dest, tag, synchronous)
            if wait:
                request.wait()
            self._left_open(request, call)
            if call.parent < 0:
                self.task.give_way()
        return request

    def _on_its_way(self, packet: Packet, dest: int, tag: int, name: str) -> Request:
        """Send a copy, for which nobody has to wait."""
        sent = self._send(packet, dest, tag, name)
        sent.Free()
        request = Request(self, sent.words, (), sent.line, SEND, tag)
        request.complete(self.now)
        return request

    def _receive(
        self, source: int, tag: int, room: Buffer | None, name: str, wait: bool = False, limited: bool = False
    ) -> Request:
        """Receive numbers into a buffer, or an object if there is none.

        `wait`: until it is here; `limited`: until its caller gives up. What comes after the timeout is not taken then.
        """
        with self._looking(name, source, tag) as call:
            request = Request(self, call.words, self._peers(source), call.line, RECEIVE, tag, not wait)
            if source == PROC_NULL:
                request.status = Status(PROC_NULL, ANY_TAG)
                request.complete()
            else:
                request.until = self.task.gives_up_at() if wait or limited else None
                self._expect(request, call, source, tag, None if room is None else room.flat)
                request.then(None if room is None else room.settle)
            if wait:
                self._waited(request)
            self._left_open(request, call)
        return request

    def _waited(self, receive: Request, *sends: Request, status: Status | None = None) -> Any:
        """What came, by a receive and with it the sends of one call; one that fails takes no message away."""
        try:
            return Request.waitall([*sends, receive], [Status() for _ in sends] + [status or Status()])[-1]
        except BaseException:
            receive.Cancel()
            raise

    def _received(self, message: Message, room: Buffer | None, name: str, at_once: bool) -> Request:
        """Receive what a probe took away."""
        found = message.found
        said = f"{name}(source={who(found.source)}, tag={which(found.tag)})"
        with self._called(name, said, peer=found.source, tag=found.tag) as call:
            request = Request(self, said, self._peers(found.source), call.line, RECEIVE, found.tag, at_once)
            if found.source == PROC_NULL:
                request.status = Status(PROC_NULL, ANY_TAG)
                request.complete()
            else:
                self._fetch(request, call, message, None if room is None else room.flat)
                request.then(None if room is None else room.settle)
        return request

    def _found(
        self, name: str, source: int, tag: int, status: Status | None, waits: bool = False, takes: bool = False
    ) -> Message | None:
        """The next such message; None if there is none, and the call does not wait. From nobody there always is one."""
        with self._looking(name, source, tag) as call:
            if source == PROC_NULL:
                message: Message | None = Message(self, Status(PROC_NULL, ANY_TAG), None)
            else:
                request = Request(self, call.words, self._peers(source), call.line, RECEIVE, tag, not waits)
                message = self._find(request, source, tag, waits, takes)
            if message is not None and status is not None:
                status.take(message.found)
        return message

    def _looking(self, name: str, source: int, tag: int) -> Calling:
        """A call about a message that comes."""
        check_peer(source, self.size, name, "source", (PROC_NULL, ANY_SOURCE))
        check_tag(tag, name, ANY_TAG)
        return self._called(name, f"{name}(source={who(source)}, tag={which(tag)})", peer=source, tag=tag)

    def _left_open(self, request: Request, call: Call) -> None:
        """A learner's call is over, and what it began is not: somebody has to wait for it."""
        if call.parent < 0 and not request.taken:
            self.task.begun[id(request)] = request

    def _peers(self, source: int) -> tuple[int, ...]:
        """The ranks of the world that can send it, or take it."""
        if source == ANY_SOURCE:
            return tuple(m for m in self.members if m != self.task.rank) or self.members
        return () if source == PROC_NULL else (self.members[source],)

    # how it is done, on each kind of rank

    @abstractmethod
    def _compute(self, nanoseconds: float) -> None:
        """Let so much time pass."""

    @abstractmethod
    def _lent(self, flat: Array) -> Packet:
        """What a send carries that is over when its call is, and whose memory nobody writes into meanwhile."""

    @abstractmethod
    def _post(self, request: Request, call: Call, packet: Packet, dest: int, tag: int, synchronous: bool) -> None:
        """A packet leaves; the request is done when it has, or when it is being received if `synchronous`."""

    @abstractmethod
    def _expect(self, request: Request, call: Call, source: int, tag: int, into: Array | None) -> None:
        """Begin to receive; the request is done when something has come, and its `finish` puts it into the array."""

    @abstractmethod
    def _find(self, request: Request, source: int, tag: int, waits: bool, takes: bool) -> Message | None:
        """The next such message: wait for it if asked to, take it away if asked to."""

    @abstractmethod
    def _fetch(self, request: Request, call: Call, message: Message, into: Array | None) -> None:
        """Begin to receive a message that `_find` took away."""


class Calling:
    """The time from the beginning of a call to its end, whatever happens inside."""

    __slots__ = ("_comm", "_details", "_name", "_said", "call")

    def __init__(self, comm: PointToPoint, name: str, said: str, details: dict[str, Any]) -> None:
        self._comm, self._name, self._said, self._details = comm, name, said, details

    def __enter__(self) -> Call:
        comm = self._comm
        self.call = comm.ledger.enter(comm.task, self._name, self._said, comm.said_at, group=comm.name, **self._details)
        return self.call

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._comm.ledger.leave(self._comm.task, self.call, error)
