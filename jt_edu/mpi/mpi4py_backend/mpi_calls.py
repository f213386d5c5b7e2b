"""MPI calls: a collective as MPI has it: which of its calls, its types, its reductions.

    Buffer, dtype       [array, type], or [array, counts, starts, type] with a part for each rank
    float16, structs    no type of MPI: travel as so many bytes
    SUM of bool, MAX    no reduction of MPI on that dtype, or one that differs from NumPy's: ours, called by MPI
    a learner's op      gathered, and put together in the order of ranks, as simulated ranks do
    same array twice    MPI forbids it; IN_PLACE where MPI has it, a copy else

The library is handed in (`mpi`, the module mpi4py.MPI), so that this file can be read and imported without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jt_edu.mpi.algorithms.combine import RULES, fold
from jt_edu.mpi.base.buffer_memory import Array
from jt_edu.mpi.base.buffers import Buffer
from jt_edu.mpi.base.constants import Op
from jt_edu.mpi.communicator.collective_args import Fill, Visit, Way
from jt_edu.mpi.communicator.collective_call import REDUCING, opened

# On which kinds of dtype a reduction of MPI does what NumPy does. MPI's MAX and MIN may lose a NaN.
KINDS = {
    "SUM": "iufc", "PROD": "iufc", "MAX": "iu", "MIN": "iu", "LAND": "iub", "LOR": "iub", "LXOR": "iub", "BAND": "iu",
    "BOR": "iu", "BXOR": "iu",
}  # fmt: skip


class Native:
    """MPI's side of the buffers of one process: types and reductions are made once, and kept."""

    def __init__(self, mpi: Any) -> None:
        self.mpi = mpi
        self._types: dict[np.dtype[Any], Any] = {}
        self._ops: dict[tuple[str, str], Any] = {}

    # messages

    def type_of(self, dtype: np.dtype[Any]) -> Any:
        """MPI's type for a dtype; for those that it has not, so many bytes."""
        found = self._types.get(dtype)
        if found is None:
            known = self.mpi._typedict.get(dtype.char) if dtype.isnative and dtype.char != "e" else None
            if known is None or known == self.mpi.DATATYPE_NULL or known.Get_size() != dtype.itemsize:
                known = self.mpi.BYTE.Create_contiguous(dtype.itemsize).Commit()
            found = self._types[dtype] = known
        return found

    def message(self, flat: Array) -> list[Any]:
        """All of an array."""
        return [flat, self.type_of(flat.dtype)]

    def parts(self, buffer: Buffer) -> list[Any]:
        """A part of an array for each rank."""
        return [buffer.flat, list(buffer.counts), list(buffer.starts), self.type_of(buffer.dtype)]

    # reductions

    def op_of(self, op: Op, dtype: np.dtype[Any]) -> Any:
        """MPI's reduction, or ours as MPI calls it: (lower ranks', higher ranks' and room for both, type)."""
        if dtype.kind in KINDS.get(op.name, "") and dtype.char != "e" and dtype.isnative:
            return getattr(self.mpi, op.name)
        found = self._ops.get((op.name, dtype.str))
        if found is None:

            def combine(below: Any, above: Any, _: Any) -> None:
                room = np.frombuffer(above, dtype)
                room[:] = op(np.frombuffer(below, dtype), room.copy())

            found = self._ops[op.name, dtype.str] = self.mpi.Op.Create(combine, op.commute)
        return found

    # collectives

    def begin(self, raw: Any, visit: Visit, way: Way) -> Begun:
        """Call MPI's collective, to its end or to begin it."""
        name = visit.call.name
        if way.kind == "barrier":
            return Begun(raw.Ibarrier() if way.background else raw.Barrier())
        case = Case(visit, way, raw)
        if way.kind in REDUCING and not way.op.is_predefined:
            return self._gathered(raw, visit, way, case)
        call = getattr(raw, f"I{name.lower()}" if way.background else name)
        arguments = ARGUMENTS[name](self, case)
        return Begun(call(*arguments), arguments)

    def _gathered(self, raw: Any, visit: Visit, way: Way, case: Case) -> Begun:
        """A reduction of the learner's own: every rank gets all parts, and puts them together in the order of ranks.

        MPI would call it in an order of its own, and could not stand an exception.
        """
        mine = np.ascontiguousarray(case.brought if way.kind == "reduce_scatter" else visit.part)
        rows = np.empty((raw.size, mine.size), mine.dtype)
        gather = raw.Iallgather if way.background else raw.Allgather
        request = gather(self.message(mine), self.message(rows))

        def after() -> None:
            assert visit.finish is not None, "buffers are filled"
            parts: list[Any] = list(rows)
            if way.kind == "reduce_scatter":
                assert case.mine is not None, "every rank brings parts"
                parts = [np.split(row, np.cumsum(case.mine.counts)[:-1]) for row in rows]
            visit.finish(RULES[way.kind](parts, way.root, way.op)[raw.rank])

        return Begun(request, (mine, rows), after)


@dataclass
class Begun:
    """A collective that MPI has begun, or done.

    `raw` is its request, if it goes on in the background; `memory` has to stay until it is over, which mpi4py does not
    see to; `after` is done then.
    """

    raw: Any
    memory: Any = None
    after: Callable[[], None] | None = None


class Case:
    """One rank's side of one collective on buffers: what it brings, and where the result goes."""

    def __init__(self, visit: Visit, way: Way, raw: Any) -> None:
        assert isinstance(visit.finish, Fill), "buffers are filled"
        self.part, self.room, self.mine = visit.part, visit.finish.room, visit.finish.mine
        self.root, self.op, self.rank, self.size = way.root, way.op, raw.rank, raw.size
        self.is_root = raw.rank == way.root
        self.background = way.background

    @property
    def brought(self) -> Array:
        """The parts that this rank brings, one behind the other, in memory of their own."""
        assert self.mine is not None, "it brings parts"
        flat = self.mine.flat[: sum(self.mine.counts)]
        return flat.copy() if self.background or self._overlap(flat) else flat

    @property
    def filled(self) -> Array:
        """Room for one part of each rank, one behind the other."""
        assert self.room is not None, "it has room"
        return self.room.flat[: sum(self.room.counts)] if self.room.counts else self.room.flat

    def apart(self) -> Buffer:
        """The parts that this rank brings, wherever they lie."""
        assert self.mine is not None, "it brings parts"
        keep = self.background or self._overlap(self.mine.flat)
        return Buffer(self.mine.flat.copy(), self.mine.counts, self.mine.starts) if keep else self.mine

    def overlaps(self) -> bool:
        """Whether what it brings lies where the result goes."""
        return self._overlap(self.part)

    def _overlap(self, flat: Array) -> bool:
        return self.room is not None and np.may_share_memory(flat, self.room.flat)


Arguments = tuple[Any, ...]


def _bcast(native: Native, case: Case) -> Arguments:
    flat = case.part if case.room is None else case.room.flat
    return native.message(flat), case.root


def _gather(native: Native, case: Case) -> Arguments:
    return native.message(case.part), native.message(case.filled) if case.is_root else None, case.root


def _gatherv(native: Native, case: Case) -> Arguments:
    room = native.parts(case.room) if case.room is not None else None
    return native.message(case.part), room, case.root


def _scatter(native: Native, case: Case) -> Arguments:
    room = native.mpi.IN_PLACE if case.room is None else native.message(case.room.flat)
    return native.message(case.brought) if case.is_root else None, room, case.root


def _scatterv(native: Native, case: Case) -> Arguments:
    room = native.mpi.IN_PLACE if case.room is None else native.message(case.room.flat)
    return native.parts(case.apart()) if case.is_root else None, room, case.root


def _allgather(native: Native, case: Case) -> Arguments:
    part = case.part.copy() if case.overlaps() else case.part
    return native.message(part), native.message(case.filled)


def _allgatherv(native: Native, case: Case) -> Arguments:
    assert case.room is not None, "every rank has room"
    part = case.part.copy() if case.overlaps() else case.part
    return native.message(part), native.parts(case.room)


def _alltoall(native: Native, case: Case) -> Arguments:
    return native.message(case.brought), native.message(case.filled)


def _alltoallv(native: Native, case: Case) -> Arguments:
    assert case.room is not None, "every rank has room"
    return native.parts(case.apart()), native.parts(case.room)


def _reduce(native: Native, case: Case) -> Arguments:
    op = native.op_of(case.op, case.part.dtype)
    if not case.is_root:
        return native.message(case.part), None, op, case.root
    return *_both(native, case), op, case.root


def _put_together(native: Native, case: Case) -> Arguments:
    return *_both(native, case), native.op_of(case.op, case.part.dtype)


def _both(native: Native, case: Case) -> Arguments:
    """What a rank brings and its room, or IN_PLACE and its room."""
    assert case.room is not None, "it has room"
    room = case.room.flat[: case.part.size]
    if not case.overlaps():
        return native.message(case.part), native.message(room)
    if room.ctypes.data != case.part.ctypes.data:
        room[:] = case.part.copy()
    return native.mpi.IN_PLACE, native.message(room)


def _exscan(native: Native, case: Case) -> Arguments:
    """MPI may write anything into the room of rank 0, which has nobody below: it gets another room."""
    assert case.room is not None, "it has room"
    part = case.part.copy() if case.overlaps() else case.part
    room = case.room.flat[: part.size] if case.rank else np.empty_like(part)
    return native.message(part), native.message(room), native.op_of(case.op, part.dtype)


def _reduce_scatter(native: Native, case: Case) -> Arguments:
    assert case.room is not None, "every rank has room"
    assert case.mine is not None, "every rank brings parts"
    room = case.room.flat[: case.mine.counts[case.rank]]
    op = native.op_of(case.op, case.mine.dtype)
    return native.message(case.brought), native.message(room), list(case.mine.counts), op


def _reduce_scatter_block(native: Native, case: Case) -> Arguments:
    brought, room, _, op = _reduce_scatter(native, case)
    return brought, room, op


ARGUMENTS: dict[str, Callable[[Native, Case], Arguments]] = {
    "Bcast": _bcast, "Gather": _gather, "Gatherv": _gatherv, "Scatter": _scatter, "Scatterv": _scatterv,
    "Allgather": _allgather, "Allgatherv": _allgatherv, "Alltoall": _alltoall, "Alltoallv": _alltoallv,
    "Reduce": _reduce, "Allreduce": _put_together, "Scan": _put_together, "Exscan": _exscan,
    "Reduce_scatter": _reduce_scatter, "Reduce_scatter_block": _reduce_scatter_block,
}  # fmt: skip


def _folded(parts: list[Any] | None, op: Any) -> Any:
    return fold(opened(parts), op) if parts else None


# Collectives on objects, which are packed. Reductions gather, and put together in the order of ranks, as simulated
# ranks do.
OBJECTS: dict[str, Callable[[Any, Any, Way], Any]] = {
    "bcast": lambda raw, part, way: raw.bcast(part, way.root),
    "gather": lambda raw, part, way: raw.gather(part, way.root),
    "scatter": lambda raw, part, way: raw.scatter(part, way.root),
    "allgather": lambda raw, part, way: raw.allgather(part),
    "alltoall": lambda raw, part, way: raw.alltoall(part),
    "reduce": lambda raw, part, way: _folded(raw.gather(part, way.root), way.op),
    "allreduce": lambda raw, part, way: _folded(raw.allgather(part), way.op),
    "scan": lambda raw, part, way: _folded(raw.allgather(part)[: raw.rank + 1], way.op),
    "exscan": lambda raw, part, way: _folded(raw.allgather(part)[: raw.rank], way.op),
    "split": lambda raw, part, way: raw.allgather(part),
    "split_type": lambda raw, part, way: raw.allgather(part),
    "create": lambda raw, part, way: raw.allgather(part),
    "dup": lambda raw, part, way: raw.Barrier(),
}
