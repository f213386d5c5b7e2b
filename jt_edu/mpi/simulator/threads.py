"""Threads: four ranks in one notebook.

    def program(comm):                       runs once for each rank, in a thread and a context of its own
        return comm.allreduce(comm.rank)

    simulate(4)(program)                     [6, 6, 6, 6], and what they said to each other is in `.record`

A simulation is deterministic, and cannot hang in a call: a deadlock is found at once and explained, an exception on one
rank ends the others. A loop without a call and without an end is the learner's to interrupt: an interrupt ends all.
"""

from __future__ import annotations

import signal
import sys
import sysconfig
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from jt_edu.base.context import Context, current, rank_context
from jt_edu.base.errors import ArgumentError, JtError, RankError
from jt_edu.base.tracebacks import HOME
from jt_edu.ir.node import describe_line
from jt_edu.mpi.base.deadlock_hints import ranks_named
from jt_edu.mpi.base.errors import (
    DeadlockError,
    LookedInVainError,
    LostRankError,
    MismatchError,
    RankStopped,
    RankTimeoutError,
)
from jt_edu.mpi.communicator.groups import Groups
from jt_edu.mpi.communicator.point_to_point import Plane
from jt_edu.mpi.rank_team import flush, join
from jt_edu.mpi.simulator import deadlock_report
from jt_edu.mpi.simulator.arguments import check_options
from jt_edu.mpi.simulator.collective_call import ThreadMeets
from jt_edu.mpi.simulator.cpu_meter import meter_for
from jt_edu.mpi.simulator.task import Task
from jt_edu.mpi.simulator.world import World
from jt_edu.mpi.trace.network import Clock, Network
from jt_edu.mpi.trace.records import Record

__all__ = ["Simulation", "SoloComm", "ThreadComm", "run_ranks"]
MOST_RANKS = 4096
WITH_LINES = (  # they name ranks and lines themselves
    DeadlockError, LookedInVainError, LostRankError, MismatchError, RankTimeoutError,
)  # fmt: skip
LIBRARIES = (HOME, *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")), "<frozen")


class ThreadComm(ThreadMeets, Groups):
    """A simulated rank's communicator: what communicator/ says, as point_to_point.py and collective_call.py here do it.

    Example:
        >>> simulate(2)(lambda comm: comm)
        [ThreadComm(rank 0 of 2), ThreadComm(rank 1 of 2)]
    """

    def __init__(self, world: World, task: Task, members: tuple[int, ...], plane: Plane, name: str) -> None:
        super().__init__(world, task, members, plane, name)
        self._groups: weakref.WeakSet[ThreadComm] = weakref.WeakSet()

    def _group(self, members: tuple[int, ...], plane: Plane) -> ThreadComm:
        group = ThreadComm(self.world, self.task, members, plane, f"group of {ranks_named(members)}")
        group.before = self.before
        self._groups.add(group)
        return group

    def go_on(self, later: ThreadComm) -> None:
        """Speak in a later run of the same ranks, and so do the groups that were made of this one."""
        self.ledger, self.task = later.ledger, later.task
        for group in self._groups:
            group.go_on(later)

    def Abort(self, errorcode: int = 0) -> None:
        """End all ranks."""
        with self._called("Abort", f"Abort({errorcode})") as call:
            raise RankError(f"rank {call.rank} called Abort", f"error code {errorcode}")


class SoloComm(ThreadComm):
    """The communicator of a program that runs alone: rank 0 of 1, in the thread that asks.

    Example:
        >>> SoloComm().allreduce(3)
        3
    """

    def __init__(self, network: Network | None = None) -> None:
        world = World(1, network=network)
        task = world.baton.adopt(0, "rank 0", Clock(world.network))
        super().__init__(world, task, (0,), "world", "world")


class Simulation:
    """The results of a simulation.

    Attributes:
        results: what the program returned, by rank.
        error, failed_rank: what ended it, if it failed, and on which rank.
        errors: by rank, None or what that rank met: an error of its own, or that it was stopped, and where.
        stopped: where each rank was that was told to end, and why.

    Example:
        >>> run = run_ranks(2, lambda comm: comm.bcast(comm.rank, root=1))
        >>> run.results, run.error, len(run.record.calls)
        ([1, 1], None, 2)
    """

    def __init__(self, world: World) -> None:
        self.world, self.results = world, [None] * world.size
        self.error: BaseException | None = None
        self.failed_rank: int | None = None
        self.errors: list[BaseException | None] = [None] * world.size
        self.stopped: dict[int, str] = {}

    @property
    def record(self) -> Record:
        """What the ranks said to each other."""
        return self.world.record

    def close(self) -> None:
        """All ranks have ended: see how."""
        baton, record = self.world.baton, self.record
        record.schedule = baton.schedule
        if baton.failure is not None:
            task, self.error = baton.failure
            self.failed_rank = None if task is None else task.rank
            record.failure = f"{type(self.error).__name__}: {self.error}"
        else:
            record.warnings = deadlock_report.unfinished(self.world)
        if self.world.is_full:
            later = self.world.called - len(record.calls)
            record.warnings.append(f"the record ends after {len(record.calls):,} calls; {later:,} came later")
        if later := baton.turns - len(baton.schedule):
            record.warnings.append(f"the schedule ends after {len(baton.schedule):,} turns; {later:,} came later")
        self.errors = [self._end_of(rank) for rank in range(self.world.size)]
        record.ends = ["" if e is None else f"{type(e).__name__}: {e}" for e in self.errors]

    def _end_of(self, rank: int) -> BaseException | None:
        error = self.world.baton.tasks[rank].ended_by
        if rank == self.failed_rank:
            return self.error
        if not isinstance(error, RankStopped):
            return error
        if how := self.world.ended.get(rank):
            return LostRankError(f"rank {rank} finishes", f"that it {how}")
        call = self.world.stopped_in.get(rank)
        where = f"in {call.words} at {call.line}" if call else "before its first call"
        cause = "the ranks were stopped" if self.failed_rank is None else f"rank {self.failed_rank} failed"
        self.stopped[rank] = f"{where}, because {cause}"
        return RankError(f"rank {rank} finishes", f"that it was stopped {self.stopped[rank]}")


Program = Callable[[ThreadComm], Any]


def run_ranks(
    size: int, program: Program, *, contexts: Sequence[Any] = (), while_waiting: Callable[[], None] | None = None,
    **options: Any,
) -> Simulation:  # fmt: skip
    """Run a program on simulated ranks, and wait for all of them; an error is part of the result, and not raised.

    Args:
        size: how many ranks.
        program: a function of the communicator of a rank.
        contexts: one context of settings for each rank, to go on with; fresh ones by default.
        while_waiting: called now and then in the thread that waits.
        options: policy, seed, network, faults, synchronous, timeout, computing: see `World`.

    Example:
        >>> run_ranks(2, lambda comm: comm.allgather(comm.rank)).results
        [[0, 1], [0, 1]]
    """
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= MOST_RANKS:
        raise ArgumentError(f"there are 1 to {MOST_RANKS} ranks", repr(size), "simulate(4)")
    if contexts and len(contexts) != size:
        raise ArgumentError(f"contexts has one for each of {size} ranks", f"{len(contexts)}")
    for name, function in (("program", program), ("while_waiting", while_waiting)):
        if not (callable(function) or (name == "while_waiting" and function is None)):
            raise ArgumentError(f"{name} is a function", repr(function), "simulate(4)(function)")
    check_options(options)
    world = World(size, **options)
    ids = current().ids  # of the caller: a Var from outside can be used by a rank, and one of a rank outside
    told, before = Simulation(world), threading.stack_size(1 << 20 if size > 64 else 0)
    try:
        for rank in range(size):
            own = contexts[rank] if contexts else Context(ids=ids)
            world.baton.add(rank, f"rank {rank}", Clock(world.network), _body(told, program, rank, own))
    except BaseException as error:  # no room for so many threads, or an interrupt
        world.baton.stop(error)
        raise
    finally:
        threading.stack_size(before)
    _wait(world, while_waiting)
    told.close()
    return told


def _body(told: Simulation, program: Program, rank: int, context: Any) -> Callable[[], None]:
    """What the thread of a rank runs. How to compute a graph is found out once, for all ranks of the process."""
    world = told.world
    plans = {name: current().rank_state.setdefault(name, {}) for name in ("plans", "outlines", "messages")}

    def run() -> None:
        with rank_context(context) as mine:
            mine.rank_state |= plans
            comm = ThreadComm(world, world.baton.tasks[rank], tuple(range(world.size)), "world", "world")
            join(comm)
            comm.task.meter = meter = meter_for(world.computing, world.network, mine)
            try:
                told.results[rank] = program(comm)
                flush()
                if meter is not None:
                    world.work(comm.task, meter())
            except SystemExit as end:  # sys.exit() ends a rank, and well; sys.exit(1) does not
                if isinstance(end, RankStopped) or end.code not in (None, 0):
                    raise
            except JtError as error:
                if not isinstance(error, WITH_LINES):
                    error.at(f"{line_of(error)}, on rank {rank}")
                raise
            finally:
                if meter is not None:
                    meter.close()
            world.ended.setdefault(rank, "")

    return run


def _wait(world: World, meanwhile: Callable[[], None] | None) -> None:
    """Until all ranks have ended; an interrupt ends them."""
    world.baton.start()
    try:
        with _interrupts() as raise_the_dropped:
            while not world.baton.finished.wait(0.1):  # where a wait without an end cannot be interrupted, this can
                raise_the_dropped()
                if meanwhile is not None:
                    meanwhile()
    except BaseException as error:
        left = world.baton.stop(error)
        if left:
            where = "\n  ".join(f"{t.name}, at {_line_now(t)}" for t in left)
            raise RankError(
                "an interrupt ends all ranks", f"code that ends only when it likes:\n  {where}",
                "go on; such a rank ends as soon as it is back from there",
            ) from error  # fmt: skip
        raise


@contextmanager
def _interrupts() -> Iterator[Callable[[], None]]:
    """What raises the interrupt that Python dropped: it does so when one finds a finalizer at work.

    Whoever handles interrupts in a way of his own does so still.
    """
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)
        signal.default_int_handler(number, frame)

    def raise_the_dropped() -> None:
        if came:
            raise KeyboardInterrupt

    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ours = usual and threading.current_thread() is threading.main_thread()  # no other thread hears of them
    if ours:
        signal.signal(signal.SIGINT, note)
    try:
        yield raise_the_dropped
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _line_now(task: Task) -> str:
    frame = sys._current_frames().get(task.thread.ident or 0) if task.thread is not None else None
    places = []
    while frame is not None:
        places.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return learners_line(places)


def simulate(size: int, **options: Any) -> Callable[[Callable[..., Any]], list[Any]]:
    """Run a function on simulated ranks, in threads of this process; returns what it returns on each.

    Args:
        size: how many ranks.
        options: policy="round_robin", "random" or "clock"; seed; network=Network(...); faults=Faults(...);
            synchronous=True makes every send wait for its receive.

    Raises:
        RankError: a rank failed; the error of the first that did is its cause, and says which rank it was.

    Example:
        >>> simulate(3)(lambda comm: comm.allreduce(comm.rank + 1))
        [6, 6, 6]
    """

    def run(program: Callable[..., Any]) -> list[Any]:
        told = run_ranks(size, program, **options)
        if told.error is not None:
            raise_failure(told)
        return told.results

    return run


def raise_failure(told: Simulation) -> None:
    """Raise the error that ended a simulation: errors of the ranks' world as they are, others with their rank."""
    error = told.error
    assert error is not None, "only a simulation that failed has a failure"
    if isinstance(error, RankError) or told.failed_rank is None:
        raise error
    said = f"sys.exit({error.code!r})" if isinstance(error, SystemExit) else f"{type(error).__name__}: {error}"
    line = line_of(error)
    rows = [said + (f"\n    at {line}" if line and line not in said else "")]
    rows += [f"rank {rank} was stopped {where}" for rank, where in told.stopped.items()]
    raise RankError(f"every rank finishes, and rank {told.failed_rank} did not", "\n  ".join(rows)) from error


def line_of(error: BaseException) -> str:
    """The learner's line at which an error was raised."""
    places, trace = [], error.__traceback__
    while trace is not None:
        places.append((trace.tb_frame.f_code, trace.tb_lasti))
        trace = trace.tb_next
    return learners_line(places[::-1])


def learners_line(places: Sequence[tuple[CodeType, int]]) -> str:
    """The innermost place, of some that begin with it, which is no library's; of all there are, if all are."""
    own = [p for p in places if not p[0].co_filename.startswith(LIBRARIES)]
    return describe_line(next(iter(own or places), None))
