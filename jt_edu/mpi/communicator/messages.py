"""Messages: one that a probe took out of the box, and how ranks and tags are checked and said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jt_edu.base.errors import ArgumentError, RankError
from jt_edu.mpi.base.buffer_memory import Array
from jt_edu.mpi.base.buffers import Buffer, as_buffer
from jt_edu.mpi.base.constants import ANY_SOURCE, ANY_TAG, PROC_NULL, TAG_LIMIT, Status
from jt_edu.mpi.base.errors import CallError
from jt_edu.mpi.communicator.request import NOBODY, Request

if TYPE_CHECKING:
    from jt_edu.mpi.communicator.point_to_point import PointToPoint


NOTHING = Buffer(np.zeros(0, "u1"))  # for nobody


class Message:
    """A message that a matched probe took out of the box: only its holder can receive it, once.

    Then it is false, and equals MESSAGE_NULL. MESSAGE_NO_PROC is one from nobody, and stays.

    Args:
        comm: whose message it is; or a message, to have another one like it; None for none.
        found: what the probe tells of it.
        handle: what the communicator knows it by; None for a message from nobody.
    """

    def __init__(self, comm: Any = None, found: Status | None = None, handle: Any = None) -> None:
        self.comm: Any = comm
        self.found, self.handle, self.received = found or Status(PROC_NULL), handle, comm is None
        if isinstance(comm, Message):
            vars(self).update(vars(comm))

    @classmethod
    def probe(
        cls, comm: PointToPoint, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None
    ) -> Message:
        """Wait for such a message, and take it away."""
        return comm.mprobe(source, tag, status)

    @classmethod
    def iprobe(
        cls, comm: PointToPoint, source: int = ANY_SOURCE, tag: int = ANY_TAG, status: Status | None = None
    ) -> Message | None:
        """Take such a message away if it is there."""
        return comm.improbe(source, tag, status)

    Probe, Iprobe = probe, iprobe

    def recv(self, status: Status | None = None) -> Any:
        """Its object."""
        return self._begun(None, "recv").wait(status)

    def Recv(self, buf: Any, status: Status | None = None) -> None:
        """Its numbers, into a buffer."""
        self._begun(into(buf, self.found.source, "Recv"), "Recv").wait(status)

    def irecv(self) -> Request:
        """Its object, when the request is waited for."""
        return self._begun(None, "irecv", at_once=True)

    def Irecv(self, buf: Any) -> Request:
        """Its numbers, when the request is waited for."""
        return self._begun(into(buf, self.found.source, "Irecv"), "Irecv", at_once=True)

    def _begun(self, room: Buffer | None, name: str, at_once: bool = False) -> Request:
        if self.received:
            raise RankError(f"{name} of a message that a probe took away", "one that was received before")
        self.received = self is not MESSAGE_NO_PROC
        if self.comm is NOBODY:
            return Request(NOBODY, name)
        request: Request = self.comm._received(self, room, name, at_once)
        return request

    def __bool__(self) -> bool:
        return not self.received

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message) or self.received or other.received:
            return isinstance(other, Message) and self.received == other.received
        return self is other or self.found.source == other.found.source == PROC_NULL

    __hash__ = None  # type: ignore[assignment] # as mpi4py has it: what it equals changes

    def __reduce__(self) -> Any:
        for name in ("MESSAGE_NULL", "MESSAGE_NO_PROC"):
            if self == globals()[name]:
                return name if self is globals()[name] else (Message, (globals()[name],))
        raise ArgumentError("a message can be received", "one that is to be pickled", "its recv()")


MESSAGE_NULL = Message()
MESSAGE_NO_PROC = Message(NOBODY)


def into(buf: Any, source: Any, name: str) -> Buffer:
    """The buffer that a receive fills; from nobody nothing comes, and nobody looks at it."""
    return NOTHING if source == PROC_NULL else as_buffer(buf, name, write=True)


def out_of(buf: Any, dest: Any, name: str) -> Array:
    """The numbers that a send takes; to nobody nothing goes, and nobody looks at it."""
    return NOTHING.flat if dest == PROC_NULL else as_buffer(buf, name).flat


def got(request: Request, status: Status | None) -> Any:
    """What a receive brought that has been waited for."""
    if status is not None:
        status.take(request.status)
    return request.value


def check_peer(peer: Any, size: int, name: str, role: str, also: tuple[int, ...] = ()) -> None:
    """Refuse a rank that is not there."""
    if isinstance(peer, (bool, float)) or not isinstance(peer, (int, np.integer)):
        raise ArgumentError(f"{name} takes the number of a rank as {role}", repr(peer))
    if not (0 <= peer < size or peer in also):
        error = CallError(f"{name} takes a rank from 0 to {size - 1} as {role}", repr(int(peer)))
        raise error.of("ERR_ROOT" if role == "root" else "ERR_RANK")


def check_tag(tag: Any, name: str, also: int = 0) -> None:
    """Refuse a tag that real MPI would not take."""
    if not isinstance(tag, (int, np.integer)) or isinstance(tag, bool) or not (0 <= tag <= TAG_LIMIT or tag == also):
        raise CallError(f"{name} takes a tag from 0 to {TAG_LIMIT}", repr(tag)).of("ERR_TAG")


def who(source: int) -> str:
    """How a message calls the other rank."""
    return {ANY_SOURCE: "any", PROC_NULL: "nobody"}.get(source, str(source))


def which(tag: int) -> str:
    """How a message calls a tag."""
    return "any" if tag == ANY_TAG else str(tag)
