"""Meeting: how the ranks of a group come together for one collective, and how one goes by an algorithm.

native        world.meet: the last one that comes works out what each gets; all leave then
algorithm     world.meet only compares what they call; then each runs the algorithm over its wire
background    native: a request that is done when all have come
              algorithm: a helper task of this rank runs it, in turns with the rank itself
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from jt_edu.mpi import algorithms, combine
from jt_edu.mpi.buffers import Buffer, pack_object
from jt_edu.mpi.comm import PointToPoint, check_peer
from jt_edu.mpi.names import SUM, as_op
from jt_edu.mpi.network import Clock
from jt_edu.mpi.records import Call
from jt_edu.mpi.request import Request
from jt_edu.mpi.wire import Wire
from jt_edu.mpi.world import Ask, Meeting, Visit

ROOTED = ("bcast", "gather", "scatter", "reduce")
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
        run = None if algorithm == "native" else algorithms.find(kind, algorithm)
        ask = Ask(kind, tuple(said.items()))
        sequence, self._met = self._met, self._met + 1
        details = {"sequence": sequence, "peer": root if kind in ROOTED else -1, "bytes": size_of(part)}
        label = f"{name}({', '.join(f'{k}={v}' for k, v in said.items() if v is not None)})"
        with self._called(name, label, algorithm=algorithm, **details) as call:
            request = Request(self, label, self._absent(sequence), call.line)
            ask = replace(ask, line=call.line)
            work_out = None if run else lambda m: self._work_out(m, kind, root, op)
            visit = Visit(ask, part, request, call, finish)
            self.world.meet(self.plane, sequence, self.members, self.task.rank, visit, work_out)
            if run is None:
                request.finish = lambda: self._leave_meeting(request, call)
            elif background:
                self._begin_helper(request, run, sequence, (part, kind, root, op, finish))
            else:
                return self._by(run, self._inside(sequence), part, kind, root, op, finish)
            self.task.let_others_run()
            return request if background else request.wait()

    def _numbers(
        self, name: str, part: Any, room: Buffer | None, algorithm: str, background: bool, *, root: int = 0,
        op: Any = SUM, size: Buffer | None = None, dtype: Buffer | None = None,
    ) -> Any:  # fmt: skip
        """A collective on buffers: `room` is filled with what this rank gets."""
        agree: dict[str, Any] = {}
        if size is not None:
            agree["count"] = size.flat.size
        told = size or dtype
        if told is not None:
            agree["dtype"] = str(told.dtype)
            if plain(name) in REDUCING:
                as_op(op, name).check(told.dtype)
        if background or algorithm != "native":
            part = kept(part)

        def finish(got: Any) -> None:
            if room is not None and got is not None:
                put(room, got)

        return self._meet(
            name, part, root=root, op=op, algorithm=algorithm, finish=finish, background=background, agree=agree
        )

    # native

    def _work_out(self, meeting: Meeting, kind: str, root: int, op: Any) -> None:
        """The last one that came: results for all, into all buffers, before anyone can change what it brought."""
        visits = [meeting.visits[m] for m in self.members]
        results = combine.RULES[kind]([v.part for v in visits], root, op)
        ready = max(v.call.enter for v in visits)
        end = ready + combine.cost(kind, self.size, max(v.call.bytes for v in visits), self.world.network)
        for visit, result in zip(visits, results, strict=True):
            visit.request.value = (result if visit.finish is None else visit.finish(result), ready, end)

    def _leave_meeting(self, request: Request, call: Call) -> Any:
        result, call.ready, end = request.value
        self.task.clock.now = max(self.task.clock.now, end)
        return result

    def _absent(self, sequence: int) -> Callable[[], tuple[int, ...]]:
        """The ranks that have not come to this collective yet."""

        def missing() -> tuple[int, ...]:
            meeting = self.world.meetings.get((self.plane, sequence))
            return tuple(m for m in self.members if meeting is not None and m not in meeting.visits)

        return missing

    # by an algorithm

    def _inside(self, sequence: int) -> PointToPoint:
        """This group on a plane of its own, for the messages inside of one collective."""
        return PointToPoint(self.world, self.task, self.members, (self.plane, "inside", sequence), self.name)

    def _by(
        self, run: Callable[..., Any], inside: PointToPoint, part: Any, kind: str, root: int, op: Any,
        finish: Callable[[Any], Any] | None,
    ) -> Any:  # fmt: skip
        given = ([] if kind == "barrier" else [part]) + ([root] if kind in ROOTED else [])
        result = run(
            Wire(inside, objects=finish is None or finish in (copied, each_copied)),
            *given,
            *([op] if kind in REDUCING else []),
        )
        return result if finish is None else finish(result)

    def _begin_helper(self, request: Request, run: Callable[..., Any], sequence: int, rest: tuple[Any, ...]) -> None:
        """A helper task of this rank runs the algorithm; its clock starts at the rank's, and the rank waits for it."""
        mine = self.task.clock
        clock = Clock(mine.network, mine.now, mine.out, mine.into)

        def body() -> None:
            inside = self._inside(sequence)
            inside.task = helper
            request.value = self._by(run, inside, *rest)
            request.complete()

        def finish() -> Any:
            mine.now = max(mine.now, clock.now)
            return request.value

        request.finish = finish
        helper = self.world.baton.add(self.task.rank, f"rank {self.task.rank}, {request.words}", clock, body)


def plain(name: str) -> str:
    """The collective behind a name: "allgather" for Allgatherv."""
    low = name.lower()
    return low.removesuffix("_block") if low.startswith("reduce_scatter") else low.removesuffix("v")


def copied(thing: Any) -> Any:
    """A copy by pickling, as if it had travelled."""
    return pack_object(thing, "a collective").open()


def each_copied(things: Any) -> Any:
    """A list of copies; None stays."""
    return None if things is None else [copied(t) for t in things]


def kept(part: Any) -> Any:
    """A copy of an array, or of each in a list."""
    if isinstance(part, np.ndarray):
        return part.copy()
    return [p.copy() for p in part] if isinstance(part, list) else part


def put(room: Buffer, got: Any) -> None:
    """Fill a buffer with an array, or its parts with arrays."""
    if not isinstance(got, list):
        room.flat[: got.size] = got
        return
    for rank, piece in enumerate(got):
        room.part(rank)[: piece.size] = piece


def size_of(part: Any) -> int:
    """Bytes that a rank brings."""
    if isinstance(part, np.ndarray):
        return part.nbytes
    if isinstance(part, list) and part and isinstance(part[0], np.ndarray):
        return sum(p.nbytes for p in part)
    return 0 if part is None else len(pickle.dumps(part, protocol=5))
