"""World: the ranks of one process, the messages between them, and where they meet.

    post      a letter goes to the box of its receiver        [rank 1] <- letter, letter
    expect    a receive waits at its own box                  [rank 1] -> receive
    meet      all ranks of a group come to one collective     the last one that comes works out what each one gets

A letter and a receive join if they are of one plane (a communicator, or one collective in it) and source and tag fit,
in the order in which they came. A world is used by one rank at a time, the one that holds the baton.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from jt_edu.ir.node import callers_line, describe_line
from jt_edu.mpi.base.buffers import Packet
from jt_edu.mpi.base.constants import ANY_SOURCE, ANY_TAG
from jt_edu.mpi.base.errors import MismatchError, RankStopped, RankTimeoutError
from jt_edu.mpi.communicator.collective_args import Visit
from jt_edu.mpi.communicator.point_to_point import Plane
from jt_edu.mpi.communicator.request import Request
from jt_edu.mpi.simulator import deadlock_report
from jt_edu.mpi.simulator.cpu_meter import check as check_meter
from jt_edu.mpi.simulator.faults import Fate, Faults
from jt_edu.mpi.simulator.scheduler import Baton
from jt_edu.mpi.simulator.task import Task
from jt_edu.mpi.trace.network import Network
from jt_edu.mpi.trace.records import Call, Record, Sent, Work

MOST_CALLS = 200_000  # are in a record; a long training makes more than anyone looks at
Choice = Callable[["World", list[Task]], bool]


@dataclass(eq=False, slots=True)
class Letter:
    """A message on its way; ranks are those of the world."""

    source: int
    dest: int
    tag: int
    packet: Packet
    arrival: int
    record: Sent
    sender: Task
    call: Call  # that sent it
    waits: Request | None = None  # of a synchronous send, which ends when the letter is taken


@dataclass(eq=False, slots=True)
class Receive:
    """A receive that waits for its letter."""

    source: int
    tag: int
    request: Request
    posted: int  # the receiver's time
    letter: Letter | None = None

    def takes(self, letter: Letter) -> bool:
        """Whether it would get the letter: one that comes after it has given up stays for the next one."""
        until = self.request.until
        in_time = until is None or letter.arrival <= until
        return in_time and fits(letter, self.source, self.tag)


@dataclass(slots=True)
class Box:
    """What came for one rank on one plane and was not asked for, and what was asked for and has not come."""

    letters: list[Letter] = field(default_factory=list)
    receives: list[Receive] = field(default_factory=list)
    watchers: list[Receive] = field(default_factory=list)  # probes, which leave the letter where it is

    @property
    def all_receives(self) -> list[Receive]:
        """Who waits here, receives and probes."""
        return [*self.receives, *self.watchers]


@dataclass(slots=True)
class Meeting:
    """One collective: who has come so far, by rank of the world."""

    number: int = -1  # counted in the world
    visits: dict[int, Visit] = field(default_factory=dict)

    def absent(self, members: tuple[int, ...], time: int | None) -> tuple[int, ...]:
        """Who had not come by a time of their own clocks; None: by now."""
        came = {m: v.call.enter for m, v in self.visits.items() if time is None or v.call.enter <= time}
        return tuple(m for m in members if m not in came)


class World:
    """The ranks of one process.

    Args:
        size: how many ranks.
        policy, seed: who runs next; see scheduler.py.
        network: how long messages take.
        faults: what goes wrong, and where.
        synchronous: every send waits until its message is taken, so that programs which rely on buffers are found out.
        timeout: seconds of virtual time after which a wait is given up; None: never.
        computing: how the time between two calls is counted; see cpu_meter.py.
        choice: says which message a receive from any rank takes, when nobody can run; see model_checker.py.
    """

    def __init__(
        self, size: int, policy: str | Sequence[int] = "round_robin", seed: int = 0, network: Network | None = None,
        faults: Faults | None = None, synchronous: bool = False, timeout: float | None = None,
        choice: Choice | None = None, computing: str | None = None,
    ) -> None:  # fmt: skip
        self.computing = check_meter(computing)
        self.size, self.synchronous, self.choice = size, synchronous, choice
        self.network, self.fate = network or Network(), Fate(faults or Faults(), size)
        self.baton = Baton(policy, seed, self._at_rest, timeout, patient=choice is not None)
        self.boxes: dict[tuple[Plane, int], Box] = {}
        self.meetings: dict[tuple[Plane, int], Meeting] = {}
        self.record = Record(size, str(policy), seed, {k: float(v) for k, v in vars(self.network).items()})
        self.met = 0  # how many meetings there were
        self.called = 0  # how many calls
        self.last_calls: dict[int, Call] = {}  # by rank, of the learner
        self.open_calls: dict[Task, list[Call]] = {}
        self.ended: dict[int, str] = {}  # how each rank ended: "" for well
        self.stopped_in: dict[int, Call] = {}  # by rank, the call in which it was told to end
        self.begin = time.perf_counter()
        self._line = lru_cache(1 << 12)(describe_line)  # a loop calls from one line a thousand times

    # calls

    def enter(self, task: Task, /, name: str, said: str, said_at: str = "", **details: Any) -> Call:
        """A rank calls its communicator; `said_at` is the learner's line, if it is not the one that calls."""
        self.baton.check(task)
        stack = self.open_calls.setdefault(task, [])
        self.catch_up(task)
        line = stack[-1].line if stack else said_at or self._line(callers_line())
        call = Call(self.called, task.rank, name, said, line, **details)
        self.called += 1
        call.parent = stack[-1].number if stack else -1
        call.enter = call.ready = call.leave = task.clock.now
        call.began = time.perf_counter() - self.begin
        if not self.is_full:
            self.record.calls.append(call)
        self.note("enter", task, call.number)
        stack.append(call)
        if call.parent < 0:
            self.last_calls[task.rank] = call
            try:
                self.fate.at_call(self, task.rank, call)
            except RankStopped as stopped:
                self.leave(task, call, stopped)
                raise
        return call

    def leave(self, task: Task, call: Call, error: BaseException | None = None) -> None:
        """The call is over."""
        stack = self.open_calls[task]
        while stack and stack.pop() is not call:
            pass
        call.leave = task.clock.now
        call.ended = time.perf_counter() - self.begin
        if isinstance(error, RankStopped):
            self.stopped_in.setdefault(task.rank, stack[-1] if stack else call)
        elif error is not None:
            call.failed = type(error).__name__
        self.note("late" if isinstance(error, RankTimeoutError) else "leave", task, call.number)

    def ask_the_time(self, task: Task) -> int:
        """The virtual time of a rank, with all that it has computed so far."""
        self.catch_up(task)
        return task.ask_the_time()

    def catch_up(self, task: Task) -> None:
        """The clock of a rank moves on by what it has computed since its last call."""
        if task.meter is not None and not self.open_calls.get(task):
            self.work(task, task.meter())

    def note(self, what: str, task: Task, number: int) -> None:
        """What moves the clock of a task, or is read from it: with these steps all times can be worked out again."""
        if not self.is_full:
            self.record.steps.append((what, task.number, number))

    @property
    def is_full(self) -> bool:
        """Whether the record is: it ends at one moment, and has no more calls, messages, work or steps after it."""
        return self.called > MOST_CALLS

    def inside_a_call(self, task: Task) -> bool:
        """Whether what a rank does now is a part of a call that it made."""
        return bool(self.open_calls.get(task))

    def work(self, task: Task, duration: float, said: str = "") -> None:
        """A rank computes for so many ns of its virtual time; a slow rank for longer."""
        self.baton.check(task)
        self.baton.in_vain = 0
        clock, begin = task.clock, task.clock.now
        clock.pass_(self.fate.slowed(task.rank, duration))
        if clock.now > begin:
            task.asked = 0
        if clock.now > begin and not self.is_full:
            self.note("work", task, len(self.record.work))
            self.record.work.append(Work(task.rank, begin, clock.now, said))

    # messages

    def post(
        self, plane: Plane, task: Task, call: Call, dest: int, tag: int, packet: Packet, synchronous: bool,
        request: Request,
    ) -> None:  # fmt: skip
        """Send a letter; the request is complete at once, or when the letter is taken."""
        source, self.baton.in_vain = task.rank, 0
        sent, arrival = task.clock.send(packet.bytes)
        arrival += self.fate.delayed(source, dest)
        record = Sent(len(self.record.messages), source, dest, tag, packet.bytes, sent, arrival)
        record.synchronous = synchronous or self.synchronous
        record.call = call.number
        if not self.is_full:
            self.record.messages.append(record)
        self.note("send", task, record.number)
        letter = Letter(source, dest, tag, packet, arrival, record, task, call, request if record.synchronous else None)
        if self.fate.loses(source, dest):
            record.lost = True
        else:
            self._deliver(plane, letter)
        if not record.synchronous:
            request.complete()

    def _deliver(self, plane: Plane, letter: Letter) -> None:
        box = self.box(plane, letter.dest)
        for receive in box.receives:
            if receive.takes(letter):
                if self._is_open(receive):
                    break  # it is chosen when all that may come has come
                box.receives.remove(receive)
                self.tidy(plane, letter.dest)
                self.join(letter, receive)
                return
        box.letters.append(letter)
        for watcher in box.watchers:
            if fits(letter, watcher.source, watcher.tag) and not self._is_open(watcher):
                watcher.request.complete(letter.arrival)

    def expect(self, plane: Plane, rank: int, receive: Receive) -> None:
        """Ask for a letter."""
        box = self.box(plane, rank)
        is_open = self.choice is not None and any(self._is_open(r) for r in (*box.receives, receive))
        for letter in () if is_open else box.letters:
            if receive.takes(letter):
                self.take_out(plane, rank, letter)
                self.join(letter, receive)
                return
        box.receives.append(receive)

    def _is_open(self, receive: Receive) -> bool:
        """Whether it is left open, until nobody can run, which letter it gets."""
        return self.choice is not None and receive.source == ANY_SOURCE

    def await_letter(self, plane: Plane, task: Task, watcher: Receive) -> Letter:
        """The first letter that such a receive would get, as soon as it has come."""
        box, request = self.box(plane, task.rank), watcher.request
        letter = self.look(plane, task.rank, watcher.source, watcher.tag)
        if letter is not None and not self._is_open(watcher):
            request.complete(letter.arrival)
        box.watchers.append(watcher)
        try:
            task.wait_for([request])
        finally:
            box.watchers.remove(watcher)
            self.tidy(plane, task.rank)
        letter = request.value or self.look(plane, task.rank, watcher.source, watcher.tag)
        assert letter is not None, "somebody told that it is there"
        return letter

    def look(self, plane: Plane, rank: int, source: int, tag: int) -> Letter | None:
        """The first letter that such a receive would get, if it has come."""
        box = self.boxes.get((plane, rank))
        return None if box is None else next((m for m in box.letters if fits(m, source, tag)), None)

    def take_out(self, plane: Plane, rank: int, letter: Letter) -> None:
        """A letter leaves the box in which it lies."""
        self.box(plane, rank).letters.remove(letter)
        self.tidy(plane, rank)

    def box(self, plane: Plane, rank: int) -> Box:
        """The box of a rank on a plane."""
        return self.boxes.setdefault((plane, rank), Box())

    def tidy(self, plane: Plane, rank: int) -> None:
        """Throw a box away with which nothing is left to do: each collective has planes of its own."""
        box = self.boxes.get((plane, rank))
        if box is not None and not (box.letters or box.receives or box.watchers):
            del self.boxes[plane, rank]

    def join(self, letter: Letter, receive: Receive) -> None:
        """A letter is the one that a receive was waiting for."""
        receive.letter = letter
        if letter.waits is not None:
            taken = max(receive.posted, letter.arrival)
            letter.waits.finish = lambda: self._told(letter, taken)
            letter.waits.complete(taken + round(self.network.latency))
        receive.request.complete(letter.arrival)

    def withdraw(self, plane: Plane, rank: int, receive: Receive) -> bool:
        """Take a receive back; returns whether no letter has come for it."""
        box = self.boxes.get((plane, rank))
        if box is None or receive not in box.receives:
            return False
        box.receives.remove(receive)
        self.tidy(plane, rank)
        return True

    def _told(self, letter: Letter, taken: int) -> None:
        """The sender of a synchronous message hears that it is being taken."""
        task = letter.sender
        task.clock.now = max(task.clock.now, taken + round(self.network.latency))
        self.note("told", task, letter.record.number)

    # meetings

    def meet(
        self, plane: Plane, sequence: int, members: tuple[int, ...], rank: int, visit: Visit,
        work_out: Callable[[Meeting], int] | None,
    ) -> None:  # fmt: skip
        """A rank comes to collective number `sequence` of its group, with its part of it.

        The last one that comes works out what everyone gets, and when; without `work_out` the ranks only compare what
        they call.
        """
        self.baton.in_vain = 0
        meeting = self.meetings.setdefault((plane, sequence), Meeting())
        if not meeting.visits:
            meeting.number, self.met = self.met, self.met + 1
        visit.call.meeting = meeting.number
        first = next(iter(meeting.visits.values()), visit)
        meeting.visits[rank] = visit
        visit.request.partners = lambda time: meeting.absent(members, time)
        complete = len(meeting.visits) == len(members)
        if complete:
            del self.meetings[plane, sequence]
        if (first.ask.name, first.ask.agree) != (visit.ask.name, visit.ask.agree):
            self._disagree(meeting, sequence)
        if complete and work_out is not None:
            end = work_out(meeting)
            for other in meeting.visits.values():
                other.request.complete(end)

    def _disagree(self, meeting: Meeting, sequence: int) -> None:
        """Everyone who has come is told; the one that came last finds out first."""
        told = deadlock_report.disagreement({rank: v.ask for rank, v in meeting.visits.items()}, sequence)
        for visit in meeting.visits.values():
            if not visit.request.done:
                visit.request.error = MismatchError(*told)
                visit.request.complete()
        raise MismatchError(*told)

    # the end

    def _at_rest(self, waiting: list[Task], looks: Task | None) -> dict[Task, BaseException]:
        """Nobody can run, or all but one wait, and that one looks in vain: choose what was left open, or explain it."""
        if self.choice is not None and self.choice(self, waiting):
            return {}
        if all(t.number >= self.size for t in waiting):  # helpers, whose ranks did not wait for them
            return {t: RankStopped() for t in waiting}
        self.record.waits = [
            {"rank": w.rank, "words": w.words, "line": w.line, "peers": list(w.peers)}
            for w in deadlock_report.waits(waiting)
        ]
        return deadlock_report.explained(waiting, self, looks)


def fits(letter: Letter, source: int, tag: int) -> bool:
    """Whether a receive for this source and tag takes the letter."""
    return source in (ANY_SOURCE, letter.source) and tag in (ANY_TAG, letter.tag)
