"""Collectives: what all ranks of a group do together, in objects and in buffers.

    bcast      root's to all                 reduce      all, put together, to root
    scatter    a part of root's to each      allreduce   all, put together, to all
    gather     one from each to root         scan        those up to mine, put together
    allgather  one from each to all          exscan      those below mine
    alltoall   one from each to each         barrier     nothing, but nobody leaves before all have come

Every collective exists twice. "native": the ranks meet, and the last one that comes works out what each gets
(combine.py). Or by an algorithm in readable Python over send and receive (`algorithm="ring"`, see algorithms/).

What can be said with objects (`bcast`) stands first, then the same with buffers (`Bcast`), which differs only in where
the numbers lie. How they meet stands in collective_call.py.
"""

from __future__ import annotations

from typing import Any

from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.mpi.base.buffers import Buffer, as_buffer, as_kinds, as_parts, check_sizes, check_types
from jt_edu.mpi.base.constants import IN_PLACE, SUM
from jt_edu.mpi.communicator.collective_call import Meets


def begun(blocking: Any) -> Any:
    """Ibcast from Bcast: it comes back at once with a request."""

    def begin(self: Collectives, *args: Any, **named: Any) -> Any:
        return blocking(self, *args, **named, background=True)

    begin.__name__ = begin.__qualname__ = f"I{blocking.__name__.lower()}"
    begin.__doc__ = f"`{blocking.__name__}` that comes back at once with a request; waiting for it fills the buffers."
    return begin


class Collectives(Meets):
    """What all ranks of a group do together."""

    # objects

    def barrier(self, algorithm: str = "native") -> None:
        """No rank continues before all have arrived."""
        self._meet("barrier", None, algorithm=algorithm)

    def bcast(self, obj: Any = None, root: int = 0, algorithm: str = "native") -> Any:
        """What root has, on every rank."""
        return self._meet("bcast", obj if self.rank == root else None, root=root, algorithm=algorithm)

    def gather(self, sendobj: Any, root: int = 0, algorithm: str = "native") -> list[Any] | None:
        """A list of what each rank has, on root; None elsewhere."""
        found: list[Any] | None = self._meet("gather", sendobj, root=root, algorithm=algorithm)
        return found

    def scatter(self, sendobj: Any = None, root: int = 0, algorithm: str = "native") -> Any:
        """Element k of root's sequence on rank k."""
        part = self._one_each(sendobj, "scatter") if self.rank == root else None
        return self._meet("scatter", part, root=root, algorithm=algorithm)

    def allgather(self, sendobj: Any, algorithm: str = "native") -> list[Any]:
        """A list of what each rank has, on every rank."""
        found: list[Any] = self._meet("allgather", sendobj, algorithm=algorithm)
        return found

    def alltoall(self, sendobj: Any, algorithm: str = "native") -> list[Any]:
        """Element k of my sequence goes to rank k; returns what each rank had for me."""
        found: list[Any] = self._meet("alltoall", self._one_each(sendobj, "alltoall"), algorithm=algorithm)
        return found

    def reduce(self, sendobj: Any, op: Any = SUM, root: int = 0, algorithm: str = "native") -> Any:
        """What all ranks have, put together, on root; None elsewhere."""
        return self._meet("reduce", sendobj, root=root, op=op, algorithm=algorithm)

    def allreduce(self, sendobj: Any, op: Any = SUM, algorithm: str = "native") -> Any:
        """What all ranks have, put together, on every rank."""
        return self._meet("allreduce", sendobj, op=op, algorithm=algorithm)

    def scan(self, sendobj: Any, op: Any = SUM, algorithm: str = "native") -> Any:
        """What the ranks up to mine have, put together."""
        return self._meet("scan", sendobj, op=op, algorithm=algorithm)

    def exscan(self, sendobj: Any, op: Any = SUM, algorithm: str = "native") -> Any:
        """What the ranks below mine have, put together; None on rank 0."""
        return self._meet("exscan", sendobj, op=op, algorithm=algorithm)

    def _one_each(self, given: Any, call: str) -> list[Any]:
        try:
            parts = list(given)
        except TypeError:
            raise ArgumentError(f"{call} takes one object for each of {self.size} ranks", repr(given)) from None
        if len(parts) != self.size:
            raise ShapeError(f"{call} takes one object for each of {self.size} ranks", f"{len(parts)}")
        return parts

    # buffers

    def Barrier(self, algorithm: str = "native") -> None:
        """No rank continues before all have arrived."""
        self._meet("Barrier", None, algorithm=algorithm)

    def Bcast(self, buf: Any, root: int = 0, algorithm: str = "native", background: bool = False) -> Any:
        """The numbers of root's buffer into every rank's."""
        room = as_buffer(buf, "Bcast", write=self.rank != root)
        into = None if self.rank == root else room
        size = room.flat.size
        return self._numbers("Bcast", room.flat, into, algorithm, background, root=root, mine=room, count=size)

    def Gather(
        self, sendbuf: Any, recvbuf: Any, root: int = 0, algorithm: str = "native", background: bool = False
    ) -> Any:
        """The buffers of all ranks, one behind the other, on root."""
        room = as_parts(recvbuf, "Gather", self.size, write=True, equal=True) if self.rank == root else None
        mine = self._mine("Gather", sendbuf, room)
        size = mine.flat.size
        return self._numbers("Gather", mine.flat, room, algorithm, background, root=root, mine=mine, count=size)

    def Gatherv(
        self, sendbuf: Any, recvbuf: Any, root: int = 0, algorithm: str = "native", background: bool = False
    ) -> Any:
        """The buffers of all ranks, of any lengths, on root."""
        room = as_parts(recvbuf, "Gatherv", self.size, write=True) if self.rank == root else None
        mine = self._mine("Gatherv", sendbuf, room)
        return self._numbers("Gatherv", mine.flat, room, algorithm, background, root=root, mine=mine)

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
        stays = _stays(recvbuf) and parts is not None
        room = None if stays else as_buffer(recvbuf, name, write=True)
        mine = parts or room
        assert mine is not None, "a rank has parts, or room for one"
        check_types(name, mine, room)
        if parts is not None and room is not None:
            check_sizes(name, parts.counts[self.rank], room.flat.size, " to each rank")
        size = parts.counts[0] if parts is not None else mine.flat.size
        pieces = _apart(parts, None) if parts is not None else None
        count = size if name == "Scatter" else None
        return self._numbers(name, pieces, room, algorithm, background, root=root, mine=mine, count=count)

    def Allgather(self, sendbuf: Any, recvbuf: Any, algorithm: str = "native", background: bool = False) -> Any:
        """The buffers of all ranks, one behind the other, on every rank."""
        room = as_parts(recvbuf, "Allgather", self.size, write=True, equal=True)
        mine = self._mine("Allgather", sendbuf, room)
        return self._numbers("Allgather", mine.flat, room, algorithm, background, mine=mine, count=mine.flat.size)

    def Allgatherv(self, sendbuf: Any, recvbuf: Any, algorithm: str = "native", background: bool = False) -> Any:
        """The buffers of all ranks, of any lengths, on every rank."""
        room = as_parts(recvbuf, "Allgatherv", self.size, write=True)
        mine = self._mine("Allgatherv", sendbuf, room)
        return self._numbers("Allgatherv", mine.flat, room, algorithm, background, mine=mine)

    def Alltoall(self, sendbuf: Any, recvbuf: Any, algorithm: str = "native", background: bool = False) -> Any:
        """Part k of my buffer goes to rank k, where it becomes part number `rank`; all parts are equally long."""
        room = as_parts(recvbuf, "Alltoall", self.size, write=True, equal=True)
        mine = room if _stays(sendbuf) else as_parts(sendbuf, "Alltoall", self.size, equal=True)
        check_types("Alltoall", mine, room)
        check_sizes("Alltoall", mine.counts[0], room.counts[0], " from each rank")
        pieces = _apart(mine, sendbuf)
        return self._numbers("Alltoall", pieces, room, algorithm, background, mine=mine, count=mine.counts[0])

    def Alltoallv(self, sendbuf: Any, recvbuf: Any, algorithm: str = "native", background: bool = False) -> Any:
        """Part k of my buffer goes to rank k; parts have any lengths."""
        room = as_parts(recvbuf, "Alltoallv", self.size, write=True)
        mine = room if _stays(sendbuf) else as_parts(sendbuf, "Alltoallv", self.size)
        check_types("Alltoallv", mine, room)
        return self._numbers("Alltoallv", _apart(mine, sendbuf), room, algorithm, background, mine=mine)

    def Alltoallw(self, sendbuf: Any, recvbuf: Any, algorithm: str = "native", background: bool = False) -> Any:
        """`Alltoallv` of parts that are of different types: [array, counts, displacements in bytes, datatypes]."""
        room = as_kinds(recvbuf, "Alltoallw", self.size, write=True)
        mine = IN_PLACE if _stays(sendbuf) else as_kinds(sendbuf, "Alltoallw", self.size)
        return self.Alltoallv(mine, room, algorithm, background)

    def Reduce(
        self, sendbuf: Any, recvbuf: Any, op: Any = SUM, root: int = 0, algorithm: str = "native",
        background: bool = False,
    ) -> Any:  # fmt: skip
        """The buffers of all ranks, put together element by element, on root."""
        room = as_buffer(recvbuf, "Reduce", write=True) if self.rank == root else None
        return self._put_together("Reduce", sendbuf, room, op, algorithm, background, root)

    def Allreduce(
        self, sendbuf: Any, recvbuf: Any, op: Any = SUM, algorithm: str = "native", background: bool = False
    ) -> Any:
        """The buffers of all ranks, put together element by element, on every rank."""
        room = as_buffer(recvbuf, "Allreduce", write=True)
        return self._put_together("Allreduce", sendbuf, room, op, algorithm, background)

    def Scan(
        self, sendbuf: Any, recvbuf: Any, op: Any = SUM, algorithm: str = "native", background: bool = False
    ) -> Any:
        """The buffers of the ranks up to mine, put together."""
        room = as_buffer(recvbuf, "Scan", write=True)
        return self._put_together("Scan", sendbuf, room, op, algorithm, background)

    def Exscan(
        self, sendbuf: Any, recvbuf: Any, op: Any = SUM, algorithm: str = "native", background: bool = False
    ) -> Any:
        """The buffers of the ranks below mine, put together; that of rank 0 stays as it is."""
        room = as_buffer(recvbuf, "Exscan", write=True)
        return self._put_together("Exscan", sendbuf, room, op, algorithm, background)

    def _put_together(
        self, name: str, sendbuf: Any, room: Buffer | None, op: Any, algorithm: str, background: bool, root: int = 0
    ) -> Any:
        mine = room if _stays(sendbuf) and room is not None else as_buffer(sendbuf, name)
        check_types(name, mine, room)
        size = mine.flat.size
        if room is not None:
            check_sizes(name, size, room.flat.size)
        return self._numbers(name, mine.flat, room, algorithm, background, root=root, op=op, mine=mine, count=size)

    def Reduce_scatter_block(
        self, sendbuf: Any, recvbuf: Any, op: Any = SUM, algorithm: str = "native", background: bool = False
    ) -> Any:
        """Part k of the sum of all buffers on rank k; all parts are equally long."""
        name = "Reduce_scatter_block"
        mine = as_parts(recvbuf if _stays(sendbuf) else sendbuf, name, self.size, equal=True)
        return self._reduced_parts(name, mine, sendbuf, recvbuf, op, algorithm, background)

    def Reduce_scatter(
        self, sendbuf: Any, recvbuf: Any, recvcounts: Any = None, op: Any = SUM, algorithm: str = "native",
        background: bool = False,
    ) -> Any:  # fmt: skip
        """Part k of the sum of all buffers on rank k. `recvcounts` tells how long the parts are.

        Without it, they are as long as the buffers for them, which the ranks tell each other first.
        """
        name, given = "Reduce_scatter", recvbuf if _stays(sendbuf) else sendbuf
        if recvcounts is None and not _stays(sendbuf):
            recvcounts = self.allgather(as_buffer(recvbuf, name, write=True).flat.size)
        counts = list(recvcounts) if isinstance(recvcounts, tuple) else recvcounts
        mine = as_parts(given if counts is None else [as_buffer(given, name).flat, counts], name, self.size)
        return self._reduced_parts(name, mine, sendbuf, recvbuf, op, algorithm, background)

    def _reduced_parts(
        self, name: str, mine: Buffer, sendbuf: Any, recvbuf: Any, op: Any, algorithm: str, background: bool
    ) -> Any:
        room = as_buffer(recvbuf, name, write=True)
        check_types(name, mine, room)
        if room.flat.size < mine.counts[self.rank]:
            check_sizes(name, mine.counts[self.rank], room.flat.size, f" to rank {self.rank}")
        pieces, size = _apart(mine, sendbuf), sum(mine.counts)
        return self._numbers(name, pieces, room, algorithm, background, op=op, mine=mine, count=size)

    def _mine(self, call: str, sendbuf: Any, room: Buffer | None) -> Buffer:
        """What this rank brings: its buffer, or the part that lies where the result goes already."""
        if _stays(sendbuf) and room is not None:
            return Buffer(room.part(self.rank).copy())
        mine = as_buffer(sendbuf, call)
        check_types(call, mine, room)
        if room is not None:
            check_sizes(call, mine.flat.size, room.counts[self.rank], f" of rank {self.rank}")
        return mine

    # and at once

    def ibarrier(self, algorithm: str = "native") -> Any:
        """A barrier that others may pass meanwhile: the request is done when all have come."""
        return self._meet("barrier", None, algorithm=algorithm, background=True)

    Ibarrier = ibarrier
    Ibcast, Ireduce, Iallreduce = begun(Bcast), begun(Reduce), begun(Allreduce)
    Igather, Igatherv, Iscatter, Iscatterv = begun(Gather), begun(Gatherv), begun(Scatter), begun(Scatterv)
    Iallgather, Iallgatherv, Ialltoall, Ialltoallv = (
        begun(Allgather), begun(Allgatherv), begun(Alltoall), begun(Alltoallv),
    )  # fmt: skip
    Ialltoallw = begun(Alltoallw)
    Iscan, Iexscan = begun(Scan), begun(Exscan)
    Ireduce_scatter, Ireduce_scatter_block = begun(Reduce_scatter), begun(Reduce_scatter_block)


def _stays(sendbuf: Any) -> bool:
    """Whether a rank's part already lies where the result goes."""
    return sendbuf is None or sendbuf is IN_PLACE


def _apart(mine: Buffer, sendbuf: Any) -> list[Any]:
    """The parts of a buffer; copies, if results will be written where they lie."""
    pieces = [mine.part(k) for k in range(len(mine.counts))]
    return [p.copy() for p in pieces] if _stays(sendbuf) else pieces
