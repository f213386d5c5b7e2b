"""Transport: send and receive as the algorithms of algorithms/ use them, for arrays and for objects alike.

    wire.send(piece, dest)                          arrays go as buffers, objects pickled
    piece = wire.receive(source, like)              `like`: an array of the shape and dtype that comes
    piece = wire.swap(piece, dest, source, like)    both at the same time; NOBODY in either place leaves that half out
    wire.nod(dest, source)                          no piece at all: only that it happened

    wire.joined(pieces), wire.apart(whole, likes)   several pieces in one message, and back
    wire.among(ranks)                               the same for some of the ranks, which count from 0 among themselves

So an algorithm is written once, and runs among simulated ranks and under a real MPI.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.mpi.base.buffers import Buffer
from jt_edu.mpi.base.constants import PROC_NULL, Op, Status

NOBODY = PROC_NULL


class Speaker(Protocol):
    """What a wire needs of a communicator."""

    rank: int
    size: int

    # ruff: noqa: D102 - what these do stands in communicator/point_to_point.py

    def send(self, obj: Any, dest: int, tag: int = 0) -> None: ...
    def recv(self, buf: Any = None, source: int = 0, tag: int = 0) -> Any: ...
    def sendrecv(
        self, sendobj: Any, dest: int, sendtag: int = 0, recvbuf: Any = None, source: int = 0, recvtag: int = 0
    ) -> Any: ...
    def Send(self, buf: Any, dest: int, tag: int = 0) -> None: ...
    def Recv(self, buf: Any, source: int = 0, tag: int = 0, status: Status | None = None) -> None: ...
    def Sendrecv(
        self, sendbuf: Any, dest: int, sendtag: int = 0, recvbuf: Any = None, source: int = 0, recvtag: int = 0
    ) -> None: ...


class Wire:
    """One rank's end of the messages inside a collective.

    Args:
        comm: whose messages it uses.
        tag: keeps its messages apart from all others.
        objects: everything travels pickled, arrays too.
        room: the buffer that the collective fills; it tells how long the pieces of other ranks are.
        ranks: the ranks of `comm` that take part; all of them by default.
    """

    def __init__(
        self, comm: Speaker, tag: int = 0, objects: bool = False, room: Buffer | None = None,
        ranks: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        self.comm, self.tag, self.objects, self.room = comm, tag, objects, room
        self.ranks = range(comm.size) if ranks is None else ranks
        self.rank, self.size = self.ranks.index(comm.rank), len(self.ranks)

    def among(self, ranks: Sequence[int]) -> Wire:
        """A wire for some of the ranks, this one among them, in their order."""
        return Wire(self.comm, self.tag, self.objects, ranks=[self.ranks[r] for r in ranks])

    def send(self, piece: Any, dest: int) -> None:
        """Send a piece."""
        if self._is_buffer(piece):
            self.comm.Send(np.ascontiguousarray(piece), self._place(dest), self.tag)
        else:
            self.comm.send(piece, self._place(dest), self.tag)

    def receive(self, source: int, like: Any = None) -> Any:
        """The piece that comes from `source`; an array may be shorter than `like`."""
        if not self._is_buffer(like):
            return self.comm.recv(source=self._place(source), tag=self.tag)
        room, found = np.empty(like.shape, like.dtype), Status()
        self.comm.Recv(room, self._place(source), self.tag, found)
        return room if found.bytes == room.nbytes else room[: found.bytes // room.itemsize]

    def swap(self, piece: Any, dest: int, source: int, like: Any = None) -> Any:
        """Send one piece and receive another; `like` is as what is sent, if nothing else is said."""
        to, by = self._place(dest), self._place(source)
        if not self._is_buffer(piece):
            return self.comm.sendrecv(piece, to, self.tag, source=by, recvtag=self.tag)
        like = piece if like is None else like
        room = np.empty(0 if source == NOBODY else like.shape, like.dtype)
        self.comm.Sendrecv(np.ascontiguousarray(piece), to, self.tag, room, by, self.tag)
        return None if source == NOBODY else room

    def nod(self, dest: int, source: int) -> None:
        """Send an empty message, and receive one."""
        nothing = np.empty(0, np.uint8)
        self.comm.Sendrecv(nothing, self._place(dest), self.tag, nothing.copy(), self._place(source), self.tag)

    def like(self, rank: int, x: Any) -> Any:
        """An array like the piece of `rank`; `x`, if all pieces are alike."""
        if self.room is None:
            return x
        return self.room.part(rank) if self.room.counts else self.room.flat

    def joined(self, pieces: Sequence[Any]) -> Any:
        """Several pieces as one, to be sent in one message: arrays one behind the other, objects in a list."""
        return np.concatenate(pieces) if pieces and self._is_buffer(pieces[0]) else list(pieces)

    def apart(self, whole: Any, likes: Sequence[Any]) -> list[Any]:
        """The pieces of what was joined, as long as `likes`."""
        if isinstance(whole, list):
            return whole
        ends = np.cumsum([len(like) for like in likes])
        return [whole[end - len(like) : end] for end, like in zip(ends, likes, strict=True)]

    def _is_buffer(self, piece: Any) -> bool:
        return isinstance(piece, np.ndarray) and not self.objects

    def _place(self, rank: int) -> int:
        return rank if rank == NOBODY else self.ranks[rank]


def chunks(x: Any, count: int) -> list[Any]:
    """An array cut into `count` flat views whose lengths differ by one at most.

    Raises:
        ArgumentError: it is no array.

    Example:
        >>> [len(piece) for piece in chunks(np.arange(7), 3)]
        [3, 2, 2]
    """
    if not isinstance(x, np.ndarray):
        raise ArgumentError("this algorithm cuts arrays into pieces", type(x).__name__, "algorithm='tree' for objects")
    return list(np.array_split(x.reshape(-1), count))


def together(pieces: Sequence[Any], like: Any) -> Any:
    """The chunks of an array, put together again: an array of the shape of `like`."""
    return np.concatenate(pieces).reshape(like.shape)


def in_any_order(op: Op, algorithm: str) -> None:
    """Refuse reductions whose result depends on the order of ranks.

    Raises:
        ArgumentError: the op does not commute.
    """
    if not op.commute:
        raise ArgumentError(
            f"algorithm={algorithm!r} combines contributions in a different order from the ranks'",
            f"{op.name}, which does not commute", "algorithm='tree', or Op.Create(function, commute=True)",
        )  # fmt: skip


Pieces = Sequence[Any]
