"""Collectives: what all ranks of a group do together, in objects and in buffers.

    bcast      root's to all                 reduce      all, put together, to root
    scatter    a part of root's to each      allreduce   all, put together, to all
    gather     one from each to root         scan        those up to mine, put together
    allgather  one from each to all          exscan      those below mine
    alltoall   one from each to each         barrier     nothing, but nobody leaves before all have come

Every collective exists twice. "native": the ranks meet, and the last one that comes works out what each gets
(combine.py). Or by an algorithm in readable Python over send and receive (`algorithm="ring"`, see algorithms/).

What can be said with objects (`bcast`) stands first, then the same with buffers (`Bcast`), which differs only in where
the numbers lie. How they meet stands in meeting.py.
"""

from __future__ import annotations

from typing import Any

from jt_edu.errors import ArgumentError, ShapeError
from jt_edu.mpi.buffers import Buffer, as_buffer, as_parts
from jt_edu.mpi.meeting import Meets, copied, each_copied
from jt_edu.mpi.names import IN_PLACE, SUM


class Collectives(Meets):
    """What all ranks of a group do together."""

    # objects

    def barrier(self, algorithm: str = "native") -> None:
        """Nobody leaves before all have come."""
        self._meet("barrier", None, algorithm=algorithm)

    def bcast(self, obj: Any = None, root: int = 0, algorithm: str = "native") -> Any:
        """What root has, on every rank."""
        part = copied(obj) if self.rank == root else None
        return self._meet("bcast", part, root=root, algorithm=algorithm, finish=copied)

    def gather(self, sendobj: Any, root: int = 0, algorithm: str = "native") -> list[Any] | None:
        """A list of what each rank has, on root; None elsewhere."""
        found: list[Any] | None = self._meet("gather", copied(sendobj), root=root, algorithm=algorithm)
        return found

    def scatter(self, sendobj: Any = None, root: int = 0, algorithm: str = "native") -> Any:
        """Element k of root's sequence on rank k."""
        part = self._one_each(sendobj, "scatter") if self.rank == root else None
        return self._meet("scatter", part, root=root, algorithm=algorithm)

    def allgather(self, sendobj: Any, algorithm: str = "native") -> list[Any]:
        """A list of what each rank has, on every rank."""
        found: list[Any] = self._meet("allgather", copied(sendobj), algorithm=algorithm, finish=each_copied)
        return found

    def alltoall(self, sendobj: Any, algorithm: str = "native") -> list[Any]:
        """Element k of my sequence goes to rank k; answers what each rank had for me."""
        found: list[Any] = self._meet("alltoall", self._one_each(sendobj, "alltoall"), algorithm=algorithm)
        return found

    def reduce(self, sendobj: Any, op: Any = SUM, root: int = 0, algorithm: str = "native") -> Any:
        """What all ranks have, put together, on root; None elsewhere."""
        return self._meet("reduce", copied(sendobj), root=root, op=op, algorithm=algorithm)

    def allreduce(self, sendobj: Any, op: Any = SUM, algorithm: str = "native") -> Any:
        """What all ranks have, put together, on every rank."""
        return self._meet("allreduce", copied(sendobj), op=op, algorithm=algorithm, finish=copied)

    def scan(self, sendobj: Any, op: Any = SUM, algorithm: str = "native") -> Any:
        """What the ranks up to mine have, put together."""
        return self._meet("scan", copied(sendobj), op=op, algorithm=algorithm, finish=copied)

    def exscan(self, sendobj: Any, op: Any = SUM, algorithm: str = "native") -> Any:
        """What the ranks below mine have, put together; None on rank 0."""
        return self._meet("exscan", copied(sendobj), op=op, algorithm=algorithm, finish=copied)

    def _one_each(self, given: Any, call: str) -> list[Any]:
        try:
            parts = list(given)
        except TypeError:
            raise ArgumentError(f"{call} takes one object for each of {self.size} ranks", repr(given)) from None
        if len(parts) != self.size:
            raise ShapeError(f"{call} takes one object for each of {self.size} ranks", f"{len(parts)}")
        return [copied(p) for p in parts]

    # buffers

    def Barrier(self, algorithm: str = "native") -> None:
        """Nobody leaves before all have come."""
        self._meet("Barrier", None, algorithm=algorithm)

    def Bcast(self, buf: Any, root: int = 0, algorithm: str = "native", background: bool = False) -> Any:
        """The numbers of root's buffer into every rank's."""
        room = as_buffer(buf, "Bcast", write=self.rank != root)
        into = None if self.rank == root else room
        return self._numbers("Bcast", room.flat, into, algorithm, background, root=root, size=room)

    def Gather(
        self, sendbuf: Any, recvbuf: Any, root: int = 0, algorithm: str = "native", background: bool = False
    ) -> Any:
        """The buffers of all ranks, one behind the other, on root."""
        room = as_parts(recvbuf, "Gather", self.size, write=True, equal=True) if self.rank == root else None
        mine = self._mine("Gather", sendbuf, room, self.rank == root)
        return self._numbers("Gather", mine.flat, room, algorithm, background, root=root, size=mine)

    def Gatherv(
        self, sendbuf: Any, recvbuf: Any, root: int = 0, algorithm: str = "native", background: bool = False
    ) -> Any:
        """The buffers of all ranks, of any lengths, on root."""
        room = as_parts(recvbuf, "Gatherv", self.size, write=True) if self.rank == root else None
        mine = self._mine("Gatherv", sendbuf, room, self.rank == root)
        return self._numbers("Gatherv", mine.flat, room, algorithm, background, root=root, dtype=mine)

    def Scatter(
        self, sendbuf: Any, recvbuf: Any, root: int = 0, algorithm: str = "native", background: bool = False
    ) -> Any:
        """One part of root's buffer, all equally long, into every rank's."""
        parts = as_parts(sendbuf, "Scatter", self.size, equal=True) if self.rank == root else None
        return self._scattered("Scatter", parts, recvbuf, root, algorithm, background)

    def Scatterv(
        self, sendbuf: Any, recvbuf: Any, root: int = 0, algorithm: str = "native", background: bool = False
    ) -> Any:
        """One part of root's buffer, of any length, into every rank's."""
        parts = as_parts(sendbuf, "Scatterv", self.size) if self.rank == root else None
        return self._scattered("Scatterv", parts, recvbuf, root, algorithm, background)

    def _scattered(
        self, name: str, parts: Buffer | None, recvbuf: Any, root: int, algorithm: str, background: bool
    ) -> Any:
        stays = recvbuf is IN_PLACE and parts is not None
        room = None if stays else as_buffer(recvbuf, name, write=True)
        like = parts if parts is not None else room
        assert like is not None, "a rank has parts, or room for one"
        pieces = [parts.part(k) for k in range(self.size)] if parts is not None else None
        told = {"size": like if name == "Scatter" and room is None else None, "dtype": like}
        return self._numbers(name, pieces, room, algorithm, background, root=root, **told)

    def Allgather(self, sendbuf: Any, recvbuf: Any, algorithm: str = "native", background: bool = False) -> Any:
        """The buffers of all ranks, one behind the other, on every rank."""
        room = as_parts(recvbuf, "Allgather", self.size, write=True, equal=True)
        mine = self._mine("Allgather", sendbuf, room)
        return self._numbers("Allgather", mine.flat, room, algorithm, background, size=mine)

    def Allgatherv(self, sendbuf: Any, recvbuf: Any, algorithm: str = "native", background: bool = False) -> Any:
        """The buffers of all ranks, of any lengths, on every rank."""
        room = as_parts(recvbuf, "Allgatherv", self.size, write=True)
        mine = self._mine("Allgatherv", sendbuf, room)
        return self._numbers("Allgatherv", mine.flat, room, algorithm, background, dtype=mine)

    def Alltoall(self, sendbuf: Any, recvbuf: Any, algorithm: str = "native", background: bool = False) -> Any:
        """Part k of my buffer goes to rank k, where it becomes part number `rank`; all parts are equally long."""
        room = as_parts(recvbuf, "Alltoall", self.size, write=True, equal=True)
        mine = room if sendbuf is IN_PLACE else as_parts(sendbuf, "Alltoall", self.size, equal=True)
        pieces = _apart(mine, sendbuf)
        return self._numbers("Alltoall", pieces, room, algorithm, background, size=mine)

    def Alltoallv(self, sendbuf: Any, recvbuf: Any, algorithm: str = "native", background: bool = False) -> Any:
        """Part k of my buffer goes to rank k; parts have any lengths."""
        room = as_parts(recvbuf, "Alltoallv", self.size, write=True)
        mine = room if sendbuf is IN_PLACE else as_parts(sendbuf, "Alltoallv", self.size)
        pieces = _apart(mine, sendbuf)
        return self._numbers("Alltoallv", pieces, room, algorithm, background, dtype=mine)

    def Reduce(
        self, sendbuf: Any, recvbuf: Any, op: Any = SUM, root: int = 0, algorithm: str = "native",
        background: bool = False,
    ) -> Any:  # fmt: skip
        """The buffers of all ranks, put together element by element, on root."""
        room = as_buffer(recvbuf, "Reduce", write=True) if self.rank == root else None
        mine = room if sendbuf is IN_PLACE and room is not None else as_buffer(sendbuf, "Reduce")
        return self._numbers("Reduce", mine.flat, room, algorithm, background, root=root, op=op, size=mine)

    def Allreduce(
        self, sendbuf: Any, recvbuf: Any, op: Any = SUM, algorithm: str = "native", background: bool = False
    ) -> Any:
        """The buffers of all ranks, put together element by element, on every rank."""
        return self._put_together("Allreduce", sendbuf, recvbuf, op, algorithm, background)

    def Scan(
        self, sendbuf: Any, recvbuf: Any, op: Any = SUM, algorithm: str = "native", background: bool = False
    ) -> Any:
        """The buffers of the ranks up to mine, put together."""
        return self._put_together("Scan", sendbuf, recvbuf, op, algorithm, background)

    def Exscan(
        self, sendbuf: Any, recvbuf: Any, op: Any = SUM, algorithm: str = "native", background: bool = False
    ) -> Any:
        """The buffers of the ranks below mine, put together; that of rank 0 stays as it is."""
        return self._put_together("Exscan", sendbuf, recvbuf, op, algorithm, background)

    def _put_together(self, name: str, sendbuf: Any, recvbuf: Any, op: Any, algorithm: str, background: bool) -> Any:
        room = as_buffer(recvbuf, name, write=True)
        mine = room if sendbuf is IN_PLACE else as_buffer(sendbuf, name)
        return self._numbers(name, mine.flat, room, algorithm, background, op=op, size=mine)

    def Reduce_scatter_block(
        self, sendbuf: Any, recvbuf: Any, op: Any = SUM, algorithm: str = "native", background: bool = False
    ) -> Any:
        """Part k of the sum of all buffers on rank k; all parts are equally long."""
        return self.Reduce_scatter(sendbuf, recvbuf, None, op, algorithm, background, _name="Reduce_scatter_block")

    def Reduce_scatter(
        self, sendbuf: Any, recvbuf: Any, recvcounts: Any = None, op: Any = SUM, algorithm: str = "native",
        background: bool = False, _name: str = "Reduce_scatter",
    ) -> Any:  # fmt: skip
        """Part k of the sum of all buffers on rank k; `recvcounts` tells how long the parts are."""
        room = as_buffer(recvbuf, _name, write=True)
        given = [recvbuf if sendbuf is IN_PLACE else sendbuf, recvcounts]
        mine = as_parts(given if recvcounts is not None else given[0], _name, self.size)
        pieces = [mine.part(k) for k in range(self.size)]
        return self._numbers(_name, pieces, room, algorithm, background, op=op, size=mine)

    def _mine(self, call: str, sendbuf: Any, room: Buffer | None, may_stay: bool = True) -> Buffer:
        """What this rank brings: its buffer, or the part that lies where the result goes already."""
        if sendbuf is IN_PLACE and room is not None and may_stay:
            return Buffer(room.part(self.rank).copy())
        return as_buffer(sendbuf, call)

    # and at once

    def ibarrier(self) -> Any:
        """A barrier that others may pass meanwhile: the request is done when all have come."""
        return self._meet("barrier", None, background=True)

    Ibarrier = ibarrier


def _apart(mine: Buffer, sendbuf: Any) -> list[Any]:
    """The parts of a buffer; copies, if results will be written where they lie."""
    pieces = [mine.part(k) for k in range(len(mine.counts))]
    return [p.copy() for p in pieces] if sendbuf is IN_PLACE else pieces


def _background(name: str) -> Any:
    """Ibcast from Bcast: it comes back at once with a request."""
    blocking = getattr(Collectives, name)

    def begun(self: Collectives, *args: Any, **named: Any) -> Any:
        return blocking(self, *args, **named, background=True)

    begun.__name__ = begun.__qualname__ = f"I{name.lower()}"
    begun.__doc__ = f"`{name}` that comes back at once with a request; buffers are filled when it has been waited for."
    return begun


for _name in (
    "Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv", "Alltoall", "Alltoallv", "Reduce",
    "Allreduce", "Scan", "Exscan", "Reduce_scatter", "Reduce_scatter_block",
):  # fmt: skip
    setattr(Collectives, f"I{_name.lower()}", _background(_name))
