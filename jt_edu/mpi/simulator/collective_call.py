"""Collective call: how the ranks of one process come together for a collective.

native        world.meet: the last one that comes works out what each gets; all leave then
algorithm     world.meet only compares what they call; then each runs the algorithm over its wire
background    native: a request that is done when all have come
              algorithm: a helper task of this rank runs it, in turns with the rank itself
"""

from __future__ import annotations

from contextvars import copy_context
from typing import Any

from jt_edu.base.errors import JtError, RankError
from jt_edu.mpi.algorithms import combine
from jt_edu.mpi.base.buffers import Packet, pack_object
from jt_edu.mpi.base.constants import Op
from jt_edu.mpi.communicator.collective_args import Visit, Way
from jt_edu.mpi.communicator.collective_call import REDUCING, Meets, opened
from jt_edu.mpi.simulator.point_to_point import ThreadPairs
from jt_edu.mpi.simulator.world import Meeting
from jt_edu.mpi.trace.network import Clock


class ThreadMeets(ThreadPairs, Meets):
    """A simulated rank that can meet the others of its group."""

    def _come(self, visit: Visit, way: Way) -> Any:
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
        parts, rooms = [v.part for v in visits], [v.room for v in visits]
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

    def _inside(self, sequence: int) -> ThreadPairs:
        """This group on a plane of its own, for the messages inside one collective."""
        return ThreadPairs(self.world, self.task, self.members, (self.plane, "inside", sequence), self.name)

    def _begin_helper(self, visit: Visit, way: Way) -> None:
        """A helper task of this rank runs the algorithm; its clock starts at the rank's, and the rank waits for it."""
        mine, request = self.task.clock, visit.request
        clock = Clock(mine.network, mine.now, mine.out, mine.into)

        context = copy_context()  # what it calls, such as a learner's op, belongs to this rank

        def body() -> None:
            inside = self._inside(way.sequence)
            inside.task = helper
            try:
                request.value = context.run(self._by, visit, way, inside)
            finally:
                del self.world.open_calls[helper]
            request.complete(clock.now)

        def finish() -> Any:
            mine.now = max(mine.now, clock.now)
            self.world.note("join", self.task, helper.number)
            return request.value

        request.finish = finish
        name = f"rank {self.task.rank}, {request.words}"
        helper = self.world.baton.add(self.task.rank, name, clock, body, helps=True)
        self.world.open_calls[helper] = [visit.call]  # what it calls is a part of this call
        self.world.note("fork", helper, self.task.number)


def _finish(visit: Visit, result: Any) -> None:
    """Give a rank what it gets, in the form that it wants; what does not fit is that rank's error, and no other's."""
    assert visit.finish is not None, "there is a form"
    try:
        visit.request.value = (visit.finish(result), *visit.request.value[1:])
    except JtError as error:
        visit.request.error = error.at(visit.call.line)


def _reduced_objects(parts: list[Packet], way: Way) -> list[Packet | None]:
    """Objects put together; an op may change what it is given, and each rank gets a copy of its own."""
    op = way.op
    if way.kind in ("scan", "exscan"):
        op = Op(op.name, lambda a, b: way.op(opened(pack_object(a, way.kind)), b), op.commute)
    results = combine.RULES[way.kind](opened(parts), way.root, op)
    if way.kind == "allreduce":
        return [pack_object(results[0], way.kind)] * len(parts)
    return [None if r is None else pack_object(r, way.kind) for r in results]
