"""Point to point: how messages go through MPI. What a rank can say stands in communicator/point_to_point.py.

array           as a buffer, never pickled, from and into the learner's own memory
object          pickled; a long one in two messages, see object_message.py
inside an algorithm, messages go through `side` with tags of their own: `shift` is added to the learner's
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from jt_edu.mpi.base.buffer_memory import Array
from jt_edu.mpi.base.buffers import Packet, open_object
from jt_edu.mpi.base.constants import ANY_SOURCE, ANY_TAG, SMALL, STUB_BYTES
from jt_edu.mpi.communicator.messages import Message
from jt_edu.mpi.communicator.point_to_point import Plane, PointToPoint
from jt_edu.mpi.communicator.request import Request
from jt_edu.mpi.mpi4py_backend.call_log import Journal
from jt_edu.mpi.mpi4py_backend.mpi_calls import Native
from jt_edu.mpi.mpi4py_backend.object_message import Envelope, stub_for, ticket_for
from jt_edu.mpi.mpi4py_backend.progress import Incoming, Progress, Several, status_from
from jt_edu.mpi.trace.records import Call


class MPIPairs(PointToPoint):
    """What a real rank says to one other.

    Args:
        raw, side: two communicators of MPI for the same group.
        native: types and reductions of this process.
        journal, task: where calls are noted down, and who waits.
        members, plane, name: as for any communicator.
        shift: is added to all tags.
        tickets: number the long objects that leave through `side`.
    """

    is_simulated = False
    ledger: Journal
    task: Progress

    def __init__(
        self, raw: Any, side: Any, native: Native, journal: Journal, task: Progress, members: tuple[int, ...],
        plane: Plane, name: str, shift: int = 0, tickets: Iterator[int] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(journal, task, members, plane, name)
        self.raw, self.side, self.native, self.mpi, self.shift = raw, side, native, native.mpi, shift
        self._tickets = itertools.count() if tickets is None else tickets

    @property
    def journal(self) -> Journal:
        """Where calls are noted down."""
        return self.ledger

    def _compute(self, nanoseconds: float) -> None:
        self.journal.work(nanoseconds)

    def _lent(self, flat: Array) -> Packet:
        """MPI reads it where it lies."""
        return Packet(flat, flat.size, flat.nbytes)

    # sending

    def _post(self, request: Request, call: Call, packet: Packet, dest: int, tag: int, synchronous: bool) -> None:
        self.journal.sent(call, self._key, self.members[dest], tag, packet.bytes, synchronous)
        self.task.begin(request, *self._handed_over(packet, dest, tag + self.shift, synchronous))

    def _handed_over(self, packet: Packet, dest: int, tag: int, synchronous: bool) -> tuple[Any, Any]:
        """Hand a packet to MPI: (its request, what has to stay in memory)."""
        send = self.raw.Issend if synchronous else self.raw.Isend
        if not isinstance(packet.payload, bytes):
            return send(self.native.message(packet.payload), dest, tag), packet.payload
        if packet.bytes <= SMALL and not (packet.bytes == STUB_BYTES and packet.payload[0] == 0):  # as a stub begins
            return send([packet.payload, self.mpi.BYTE], dest, tag), packet.payload
        ticket = ticket_for(next(self._tickets))
        stub = stub_for(packet.bytes, ticket)
        first = send([stub, self.mpi.BYTE], dest, tag)
        rest = self.side.Isend([packet.payload, self.mpi.BYTE], dest, ticket)
        return Several(first, rest), (stub, packet.payload)

    # receiving

    def _expect(self, request: Request, call: Call, source: int, tag: int, into: Array | None) -> None:
        where = self._from(source, tag)
        self._begin(request, call, into, SMALL, lambda room: self.raw.Irecv(room, *where))
        request.withdraw = lambda: self.task.take_back(request)

    def _fetch(self, request: Request, call: Call, message: Message, into: Array | None) -> None:
        self._begin(request, call, into, message.found.bytes, message.handle.Irecv)

    def _begin(
        self, request: Request, call: Call, into: Array | None, most: int, receive: Callable[[Any], Any]
    ) -> None:
        """Begin to receive: into an array, or an object of at most `most` bytes in its first message."""
        envelope = None
        if into is None:
            envelope = Envelope(self.mpi, self.side, bytearray(most))
            self.task.begin(request, Incoming(receive([envelope.data, self.mpi.BYTE]), envelope.follow))
        else:
            self.task.begin(request, receive(self.native.message(into)), into)
        request.finish = lambda: self._arrived(request, call, envelope)

    def _arrived(self, request: Request, call: Call, envelope: Envelope | None) -> Any:
        """A message is there: note it down, and open it if it is an object."""
        found = request.status
        found.tag -= self.shift
        if envelope is not None and envelope.long:
            found.bytes = envelope.long
        call.bytes = found.bytes
        self.journal.took(call, self._key, self.members[found.source], found.tag)
        return None if envelope is None else open_object(envelope.content(found.bytes), call.name, found.source)

    def _find(self, request: Request, source: int, tag: int, waits: bool, takes: bool) -> Message | None:
        name = ("Mprobe" if waits else "Improbe") if takes else ("Probe" if waits else "Iprobe")
        raw = self.mpi.Status()
        with self.task.blocked(request):
            handle = getattr(self.raw, name)(*self._from(source, tag), raw)
        if not waits and not handle:
            return None
        found = status_from(self.mpi, raw)
        found.tag -= self.shift
        return Message(self, found, handle)

    def _from(self, source: int, tag: int) -> tuple[int, int]:
        """Source and tag as MPI calls them."""
        mpi = self.mpi
        return mpi.ANY_SOURCE if source == ANY_SOURCE else source, mpi.ANY_TAG if tag == ANY_TAG else tag + self.shift

    @property
    def _key(self) -> str:
        """Tells the messages of this communicator from those of others, on all ranks alike."""
        return f"{self.plane}+{self.shift}"

    @cached_property
    def _others(self) -> tuple[int, ...]:
        return tuple(m for m in self.members if m != self.task.rank)
