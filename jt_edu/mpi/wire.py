"""Wire: send and receive as the algorithms of algorithms/ use them, for arrays and for objects alike.

    wire.send(piece, dest)                  arrays go as buffers, objects pickled
    piece = wire.receive(source, like)      `like`: an array of the shape and dtype that comes; None: an object comes
    piece = wire.swap(piece, dest, source, like)

So an algorithm is written once, and runs among simulated ranks and under a real MPI.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from jt_edu.errors import ArgumentError


class Speaker(Protocol):
    """What a wire needs of a communicator."""

    rank: int
    size: int

    # ruff: noqa: D102 - what these do stands in comm.py

    def send(self, obj: Any, dest: int, tag: int = 0) -> None: ...
    def recv(self, buf: Any = None, source: int = 0, tag: int = 0) -> Any: ...
    def sendrecv(
        self, sendobj: Any, dest: int, sendtag: int = 0, recvbuf: Any = None, source: int = 0, recvtag: int = 0
    ) -> Any: ...
    def Send(self, buf: Any, dest: int, tag: int = 0) -> None: ...
    def Recv(self, buf: Any, source: int = 0, tag: int = 0) -> None: ...
    def Sendrecv(
        self, sendbuf: Any, dest: int, sendtag: int = 0, recvbuf: Any = None, source: int = 0, recvtag: int = 0
    ) -> None: ...


class Wire:
    """One rank's end of the messages inside of a collective; `tag` keeps them apart from all others."""

    def __init__(self, comm: Speaker, tag: int = 0, objects: bool = False) -> None:
        self.comm, self.rank, self.size, self.tag = comm, comm.rank, comm.size, tag
        self.objects = objects  # everything travels pickled, arrays too

    def send(self, piece: Any, dest: int) -> None:
        """Send a piece."""
        if self._is_buffer(piece):
            self.comm.Send(np.ascontiguousarray(piece), dest, self.tag)
        else:
            self.comm.send(piece, dest, self.tag)

    def receive(self, source: int, like: Any = None) -> Any:
        """The piece that comes from `source`."""
        if not self._is_buffer(like):
            return self.comm.recv(source=source, tag=self.tag)
        room = np.empty(like.shape, like.dtype)
        self.comm.Recv(room, source, self.tag)
        return room

    def swap(self, piece: Any, dest: int, source: int, like: Any = None) -> Any:
        """Send one piece and receive another at the same time."""
        if not self._is_buffer(piece):
            return self.comm.sendrecv(piece, dest, self.tag, source=source, recvtag=self.tag)
        like = piece if like is None else like
        room = np.empty(like.shape, like.dtype)
        self.comm.Sendrecv(np.ascontiguousarray(piece), dest, self.tag, room, source, self.tag)
        return room

    def _is_buffer(self, piece: Any) -> bool:
        return isinstance(piece, np.ndarray) and not self.objects


def chunks(x: Any, count: int) -> list[Any]:
    """An array (n,) cut into `count` views whose lengths differ by one at most.

    Raises:
        ArgumentError: it is no array.
    """
    if not isinstance(x, np.ndarray):
        raise ArgumentError("this algorithm cuts arrays into pieces", type(x).__name__, "algorithm='tree' for objects")
    return list(np.array_split(x, count))


Pieces = Sequence[Any]
