"""Messages: one that a probe took out of the box, and how ranks and tags are checked and said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jt_edu.errors import ArgumentError, RankError
from jt_edu.mpi.talk.request import Request
from jt_edu.mpi.terms.buffers import Array, as_buffer
from jt_edu.mpi.terms.names import ANY_SOURCE, ANY_TAG, PROC_NULL, TAG_LIMIT, Status

if TYPE_CHECKING:
    from jt_edu.mpi.talk.pairs import PointToPoint


class Message:
    """A message that a matched probe took out of the box: only its holder can receive it, once.

    Args:
        comm: whose message it is.
        found: what the probe tells of it.
        handle: what the communicator knows it by; None for a message from nobody.
    """

    def __init__(self, comm: PointToPoint, found: Status, handle: Any) -> None:
        self.comm, self.found, self.handle, self.received = comm, found, handle, False

    def recv(self, status: Status | None = None) -> Any:
        """Its object."""
        return self._begun(None, "recv").wait(status)

    def Recv(self, buf: Any, status: Status | None = None) -> None:
        """Its numbers, into a buffer."""
        self._begun(as_buffer(buf, "Recv", write=True).flat, "Recv").wait(status)

    def irecv(self) -> Request:
        """Its object, when the request is waited for."""
        return self._begun(None, "irecv", at_once=True)

    def Irecv(self, buf: Any) -> Request:
        """Its numbers, when the request is waited for."""
        return self._begun(as_buffer(buf, "Irecv", write=True).flat, "Irecv", at_once=True)

    def _begun(self, into: Array | None, name: str, at_once: bool = False) -> Request:
        if self.received:
            raise RankError(f"{name} of a message that a probe took away", "one that was received before")
        self.received = True
        return self.comm._received(self, into, name, at_once)


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
        raise ArgumentError(f"{name} takes a rank from 0 to {size - 1} as {role}", repr(int(peer)))


def check_tag(tag: Any, name: str, also: int = 0) -> None:
    """Refuse a tag that real MPI would not take."""
    if not isinstance(tag, (int, np.integer)) or isinstance(tag, bool) or not (0 <= tag <= TAG_LIMIT or tag == also):
        raise ArgumentError(f"{name} takes a tag from 0 to {TAG_LIMIT}", repr(tag))


def who(source: int) -> str:
    """How a message calls the other rank."""
    return {ANY_SOURCE: "any", PROC_NULL: "nobody"}.get(source, str(source))


def which(tag: int) -> str:
    """How a message calls a tag."""
    return "any" if tag == ANY_TAG else str(tag)
