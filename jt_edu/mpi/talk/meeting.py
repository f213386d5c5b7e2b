"""Meeting: how the ranks of a group come together for one collective, and how one goes by an algorithm.

native        world.meet: the last one that comes works out what each gets; all leave then
algorithm     world.meet only compares what they call; then each runs the algorithm over its wire
background    native: a request that is done when all have come
              algorithm: a helper task of this rank runs it, in turns with the rank itself
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jt_edu.errors import JtError, RankError
from jt_edu.mpi import algorithms
from jt_edu.mpi.algorithms import combine
from jt_edu.mpi.algorithms.wire import Speaker, Wire
from jt_edu.mpi.record.network import Clock
from jt_edu.mpi.talk.messages import check_peer
from jt_edu.mpi.talk.pairs import PointToPoint
from jt_edu.mpi.terms.buffers import Array, Buffer, Packet, pack_object
from jt_edu.mpi.terms.errors import TruncationError
from jt_edu.mpi.terms.names import SUM, Op, as_op
from jt_edu.mpi.world.request import Request
from jt_edu.mpi.world.world import Ask, Meeting, Visit

ROOTED = ("bcast", "gather", "scatter", "reduce")
NOTHING = pickle.dumps(None, protocol=5)
REDUCING = ("reduce", "allreduce", "reduce_scatter", "scan", "exscan")


class Meets(PointToPoint):
    """A rank that can meet the others of its group."""

    _met = 0  # how many collectives this rank has begun here

    def _meet(
        self, name: str, part: Any, *, root: int = 0, op: Any = SUM, algorithm: str = "native",
        finish: Callable[[Any], Any] | None = None, background: bool = False, agree: dict[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        """Take part in one collective; answers what this rank gets, or a request for it."""
        kind = plain(name)
        said: dict[str, Any] = {"root": root} if kind in ROOTED else {}
        if kind in ROOTED:
            check_peer(root, self.size, name, "root")
        if kind in REDUCING:
            op = as_op(op, name)
            said["op"] = op.name
        said |= {**(agree or {}), "algorithm": None if algorithm == "native" else algorithm}
        run = None if algorithm == "native" else algorithms.find(kind, algorithm, uneven=name.endswith("v"))
        called = f"I{name.lower()}" if background else "barrier" if kind == "barrier" else name
        ask = Ask(called, tuple(said.items()))
        if finish is None and kind != "barrier":
            part = self._packed(kind, part, run is None)
        self._due_first()  # which may meet the others, too
        sequence, self._met = self._met, self._met + 1
        details = {"sequence": sequence, "peer": root if kind in ROOTED else -1, "bytes": size_of(part)}
        with self._called(name, str(ask), algorithm=algorithm, **details) as call:
            visit = Visit(replace(ask, line=call.line), part, Request(self, str(ask), (), call.line), call, finish)
            return self._come(visit, Way(kind, sequence, run, root, op, background))

    def _packed(self, kind: str, part: Any, native: bool) -> Any:
        """An object, or one for each rank, as it travels: what its rank does with it afterwards changes nothing."""
        each = kind in ("scatter", "alltoall") and part is not None
        packed = [pack_object(p, kind) for p in part] if each else pack_object(part, kind)
        return packed if native else opened(packed)

    def _come(self, visit: Visit, way: Way) -> Any:
        """Come to the meeting; answers what this rank gets, or a request for it."""
        request, run = visit.request, way.run
        work_out = None if run else lambda m: self._work_out(m, way)
        self.world.meet(self.plane, way.sequence, self.members, self.task.rank, visit, work_out)
        if run is None:
            request.finish = lambda: self._leave_meeting(visit, way)
        elif way.background:
            self._begin_helper(visit, way)
        else:
            return self._by(visit, way, self._inside(way.sequence))
        if not way.background:
            return request.wait()
        self._left_open(request, visit.call)
        self.task.let_others_run()
        return request

    def _numbers(
        self, name: str, part: Any, room: Buffer | None, algorithm: str, background: bool, *, root: int = 0,
        op: Any = SUM, mine: Buffer, count: int | None = None,
    ) -> Any:  # fmt: skip
        """A collective on buffers: `room` is filled with what this rank gets; all ranks agree in `count`."""
        agree = {"count": count, "dtype": str(mine.dtype)}
        if plain(name) in REDUCING:
            as_op(op, name).check(mine.dtype)
        if background or algorithm != "native":
            part = kept(part)
        finish = Fill(room, mine, name)
        return self._meet(
            name, part, root=root, op=op, algorithm=algorithm, finish=finish, background=background, agree=agree
        )

    # native

    def _work_out(self, meeting: Meeting, way: Way) -> int:
        """The last one that came: results for all, into all buffers, before anyone can change what it brought.

        Answers when all may leave. What is begun in the background fills its buffer later, when it is waited for.
        """
        visits = [meeting.visits[m] for m in self.members]
        ready = max(v.call.enter for v in visits)
        try:
            results = self._results(visits, way)
        except Exception as error:  # noqa: BLE001 - a learner's op may raise anything; all ranks are told
            for visit in visits:
                found = f"{type(error).__name__}: {error}"
                visit.request.error = RankError(f"{visit.ask} puts together what the ranks bring", found)
                visit.request.error.__cause__ = error
            return ready
        end = ready + combine.cost(way.kind, self.size, max(v.call.bytes for v in visits), self.world.network)
        for visit, result in zip(visits, results, strict=True):
            visit.request.value = (result, ready, end)
            if visit.finish is not None and not way.background:
                _finish(visit, result)
        return end

    def _results(self, visits: list[Visit], way: Way) -> list[Any]:
        if visits[0].finish is None and way.kind in REDUCING:
            return _reduced_objects([v.part for v in visits], way)
        parts, rooms = [v.part for v in visits], [_room(v) for v in visits]
        if not way.background and combine.straight(way.kind, parts, rooms, way.root, way.op):
            return [None] * self.size
        return combine.RULES[way.kind](parts, way.root, way.op)

    def _leave_meeting(self, visit: Visit, way: Way) -> Any:
        result, visit.call.ready, end = visit.request.value
        self.task.clock.now = max(self.task.clock.now, end)
        self.world.note("meet", self.task, visit.call.number)
        if visit.finish is None:
            return opened(result)
        return visit.finish(result) if way.background else result

    # by an algorithm

    def _inside(self, sequence: int) -> PointToPoint:
        """This group on a plane of its own, for the messages inside of one collective."""
        return PointToPoint(self.world, self.task, self.members, (self.plane, "inside", sequence), self.name)

    def _by(self, visit: Visit, way: Way, inside: Speaker) -> Any:
        """Run the algorithm over the wire `inside`."""
        assert way.run is not None, "only what goes by an algorithm comes here"
        given = ([] if way.kind == "barrier" else [visit.part]) + ([way.root] if way.kind in ROOTED else [])
        fill = visit.finish if isinstance(visit.finish, Fill) else None
        wire = Wire(inside, objects=fill is None, room=fill.room if fill else None)
        result = way.run(wire, *given, *([way.op] if way.kind in REDUCING else []))
        return opened(pack_object(result, way.kind)) if visit.finish is None else visit.finish(result)

    def _begin_helper(self, visit: Visit, way: Way) -> None:
        """A helper task of this rank runs the algorithm; its clock starts at the rank's, and the rank waits for it."""
        mine, request = self.task.clock, visit.request
        clock = Clock(mine.network, mine.now, mine.out, mine.into)

        context = copy_context()  # what it calls, such as a learner's op, belongs to this rank

        def body() -> None:
            inside = self._inside(way.sequence)
            inside.task = helper
            request.value = context.run(self._by, visit, way, inside)
            request.complete(clock.now)

        def finish() -> Any:
            mine.now = max(mine.now, clock.now)
            self.world.note("join", self.task, helper.number)
            return request.value

        request.finish = finish
        helper = self.world.baton.add(self.task.rank, f"rank {self.task.rank}, {request.words}", clock, body)
        self.world.open_calls[helper] = [visit.call]  # what it calls is a part of this call
        self.world.note("fork", helper, self.task.number)


@dataclass(frozen=True)
class Way:
    """How a rank takes part in one collective."""

    kind: str  # "allreduce"
    sequence: int  # of the collective in its communicator
    run: Callable[..., Any] | None  # the algorithm; None: native
    root: int
    op: Any
    background: bool


@dataclass(frozen=True)
class Fill:
    """Puts what a rank gets from a collective into its buffer, `room`; `mine` is the buffer that it brought."""

    room: Buffer | None
    mine: Buffer | None
    name: str

    def __call__(self, got: Any) -> None:
        """Take what this rank gets."""
        if self.room is not None and got is not None:
            put(self.room, got, self.name)


def _finish(visit: Visit, result: Any) -> None:
    """Give a rank what it gets, in the form that it wants; what does not fit is that rank's error, and no other's."""
    assert visit.finish is not None, "there is a form"
    try:
        visit.request.value = (visit.finish(result), *visit.request.value[1:])
    except JtError as error:
        visit.request.error = error.at(visit.call.line)


def _room(visit: Visit) -> Array | None:
    """The buffer that a rank wants to be filled as a whole."""
    room = visit.finish.room if isinstance(visit.finish, Fill) else None
    return None if room is None else room.flat


def plain(name: str) -> str:
    """The collective behind a name: "allgather" for Allgatherv."""
    low = name.lower()
    return low.removesuffix("_block") if low.startswith("reduce_scatter") else low.removesuffix("v")


def opened(packed: Any) -> Any:
    """What was packed, as fresh objects; None is nothing."""
    if isinstance(packed, list):
        return [opened(p) for p in packed]
    return packed.open() if isinstance(packed, Packet) else packed


def _reduced_objects(parts: list[Packet], way: Way) -> list[Packet | None]:
    """Objects put together; an op may change what it is given, and each rank gets a copy of its own."""
    op = way.op
    if way.kind in ("scan", "exscan"):
        op = Op(op.name, lambda a, b: way.op(opened(pack_object(a, way.kind)), b), op.commute)
    results = combine.RULES[way.kind](opened(parts), way.root, op)
    if way.kind == "allreduce":
        return [pack_object(results[0], way.kind)] * len(parts)
    return [None if r is None else pack_object(r, way.kind) for r in results]


def kept(part: Any) -> Any:
    """A copy of an array, or of each in a list."""
    if isinstance(part, np.ndarray):
        return part.copy()
    return [p.copy() for p in part] if isinstance(part, list) else part


def put(room: Buffer, got: Any, call: str) -> None:
    """Fill a buffer with an array, or its parts with arrays.

    Raises:
        TruncationError: they are longer than the room for them.
    """
    targets = [room.part(k) for k in range(len(got))] if isinstance(got, list) else [room.flat]
    for rank, (target, piece) in enumerate(zip(targets, got if isinstance(got, list) else [got], strict=True)):
        if piece.size > target.size:
            whose = f" for what rank {rank} sends" if isinstance(got, list) else ""
            raise TruncationError(
                f"{call} has room for {target.size} numbers{whose}",
                f"{piece.size} of them",
                "counts that fit on all ranks",
            )
        target[: piece.size] = piece


def size_of(part: Any) -> int:
    """Bytes that a rank brings."""
    if isinstance(part, Packet):
        return part.bytes if part.payload != NOTHING else 0
    if isinstance(part, np.ndarray):
        return part.nbytes
    if isinstance(part, list) and part and isinstance(part[0], (np.ndarray, Packet)):
        return sum(map(size_of, part))
    return 0 if part is None else pack_object(part, "a collective").bytes
