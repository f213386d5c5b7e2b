"""Progress: what stands under a real rank where simulated ranks have their world and their baton.

    World   ->  Journal     notes down what this rank calls; there is nothing else to know about the others
    Task    ->  Progress    waits for requests of MPI; its clock is the wall clock, ns from a start that all ranks share
    Request ->  MPIRequest  is done when MPI says so

So that pairs.py, request.py and meeting.py are the same for simulated ranks and real ones.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from jt_edu.errors import JtError, RankError
from jt_edu.graph import callers_line, describe_line
from jt_edu.mpi.record.records import Call, Record, Sent, Work
from jt_edu.mpi.terms.errors import RankTimeoutError, TruncationError
from jt_edu.mpi.terms.names import Status
from jt_edu.mpi.world.request import Request

if TYPE_CHECKING:
    from jt_edu.mpi.real.board import Board

NAP = 2e-5  # seconds between two looks at several requests
MOST_CALLS = 200_000  # noted down by one rank; a long training makes more than anyone looks at
_line = lru_cache(1 << 12)(describe_line)


@dataclass
class Taken:
    """A message as its receiver saw it: the other half of a `Sent`."""

    group: str
    source: int  # ranks of the world
    dest: int
    tag: int
    call: int
    began: int  # ns
    ended: int


class Journal:
    """What one rank called, and what it sent and took.

    Args:
        rank, size: of the world.
        start: the monotonic time, in ns, from which all ranks count.
        keep: whether calls are kept, to be looked at later.
        board: where others can read what this rank does now; see debug.py.
    """

    def __init__(self, rank: int, size: int, start: int, keep: bool = False, board: Board | None = None) -> None:
        self.rank, self.start, self.keep, self.board = rank, start, keep, board
        self.record = Record(size, "mpi")
        self.taken: list[Taken] = []
        self.groups: list[str] = []  # of each message that was sent
        self.meetings: dict[int, str] = {}  # call -> the collective that it takes part in
        self.open_calls: dict[Any, list[Call]] = {}
        self.tell: Callable[[JtError], None] | None = None  # what is done with the explanation of a standstill
        self.save: Callable[[BaseException], None] | None = None  # what is done before this rank ends all others
        self._lock = threading.Lock()

    @property
    def now(self) -> int:
        """ns since the start."""
        return time.monotonic_ns() - self.start

    def enter(self, task: Progress, name: str, said: str, line: str = "", **details: Any) -> Call:
        """A rank calls its communicator."""
        stack = self.open_calls.setdefault(task, [])
        line = line or (stack[-1].line if stack else _line(callers_line()))
        call = Call(-1, self.rank, name, said, line, **details)
        call.parent = stack[-1].number if stack else -1
        call.enter = call.ready = call.leave = now = self.now
        call.began = now / 1e9
        self._keep(call)
        stack.append(call)
        if self.board is not None and call.parent < 0:
            self.board.called(said, line)
        return call

    def _keep(self, call: Call) -> None:
        if self.keep and len(self.record.calls) < MOST_CALLS:
            with self._lock:
                call.number = len(self.record.calls)
                self.record.calls.append(call)

    def leave(self, task: Progress, call: Call, error: BaseException | None = None) -> None:
        """The call is over."""
        stack = self.open_calls[task]
        if call in stack:
            del stack[stack.index(call) :]
        call.leave = now = self.now
        call.ended = now / 1e9
        if error is not None:
            call.failed = type(error).__name__

    def inside_a_call(self, task: Progress) -> bool:
        """Whether what a rank does now is a part of a call that it made."""
        return bool(self.open_calls.get(task))

    def work(self, task: Progress, duration: int, said: str = "") -> None:
        """Pass the time, as if this rank computed."""
        begin = self.now
        time.sleep(duration / 1e9)
        if self.keep:
            self.record.work.append(Work(self.rank, begin, self.now, said))

    def note(self, what: str, task: Progress, number: int) -> None:
        """Only virtual time is worked out again."""

    def explain(self, error: JtError) -> None:
        """Nothing moves any more, and this is why."""
        if self.tell is not None:
            self.tell(error)

    def leave_word(self, error: BaseException) -> None:
        """This rank ends all ranks, and this is why."""
        if self.save is not None:
            self.save(error)

    def meets(self, call: Call, place: str) -> None:
        """A call takes part in a collective."""
        if self.keep and call.number >= 0:
            self.meetings[call.number] = place

    def sent(self, call: Call, group: str, dest: int, tag: int, size: int, synchronous: bool) -> None:
        """This rank sends a message; `dest` is a rank of the world."""
        if self.keep and call.number >= 0:
            with self._lock:
                message = Sent(len(self.record.messages), self.rank, dest, tag, size, self.now, -1)
                message.call, message.synchronous = call.number, synchronous
                self.record.messages.append(message)
                self.groups.append(group)

    def took(self, call: Call, group: str, source: int, tag: int) -> None:
        """This rank has received a message; `source` is a rank of the world."""
        if self.keep and call.number >= 0:
            self.taken.append(Taken(group, source, self.rank, tag, call.number, call.enter, self.now))


class WallClock:
    """The wall clock where simulated ranks have a virtual one."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    @property
    def now(self) -> int:
        """ns since the start that all ranks share."""
        return self._journal.now


class Progress:
    """One thread of a rank that waits for MPI."""

    def __init__(self, journal: Journal) -> None:
        self.journal, self.rank, self.clock = journal, journal.rank, WallClock(journal)
        self.name = f"rank {self.rank}"
        self.open: dict[MPIRequest, None] = {}  # in the order in which they were begun
        self.begun: dict[Request, None] = {}  # and not waited for so far
        self.chosen: Request | None = None  # only simulated ranks choose

    def wait_for(self, requests: Sequence[MPIRequest], every: bool = True, deadline: int | None = None) -> None:
        """Come back when all of the requests have happened, or one of them.

        Raises:
            RankTimeoutError: the deadline, in ns of the clock, passed.
        """
        waiting = [r for r in requests if not r.done]
        if not waiting or (not every and len(waiting) < len(requests)):
            return
        with self.blocked(waiting[0], self._attended()):
            if deadline is None and (every or len(waiting) == 1) and not self._attended(waiting):
                for request in waiting:
                    request.advance(block=True)
            else:
                self._look_again_and_again(waiting, every, deadline)

    def _look_again_and_again(self, waiting: list[MPIRequest], every: bool, deadline: int | None) -> None:
        enough = all if every else any
        while not enough([r.done for r in waiting]):
            self.let_others_run()
            if deadline is not None and self.clock.now > deadline:
                asked = " and ".join(r.words for r in waiting if not r.done)
                missing = sorted({p for r in waiting if not r.done for p in r.peers})
                raise RankTimeoutError(f"{self.name} waited for {asked}", f"nothing from ranks {missing} in time")
            time.sleep(NAP)

    def let_others_run(self) -> None:
        """See how far everything is that was begun."""
        for request in list(self.open):
            request.advance()

    def look(self, request: MPIRequest, happened: Callable[[], bool]) -> bool:
        """Whether something has happened by now."""
        self.let_others_run()
        return happened()

    def noticed(self, request: MPIRequest) -> None:
        """A request has happened."""
        self.open.pop(request, None)

    def _attended(self, but: Sequence[MPIRequest] = ()) -> bool:
        """Whether there are requests that do not go on by themselves: long objects have two messages.

        One that is waited for alone needs no attention: its own wait gives it.
        """
        return any(isinstance(r.raw, Incoming) and list(but) != [r] for r in self.open)

    @contextmanager
    def blocked(self, request: MPIRequest, attended: bool = True) -> Iterator[None]:
        """While this rank waits, others can read for whom; what was begun goes on, unless it is `attended` anyway."""
        board = self.journal.board
        if board is not None:
            group = request.comm.name
            said = request.words + (f" in the {group}" if group != "world" else "")
            board.waits(said, request.line, request.peers, request.place)
        try:
            if attended or not self._attended():
                yield
            else:
                with self._attendant():
                    yield
        finally:
            if board is not None:
                board.goes_on()

    @contextmanager
    def _attendant(self) -> Iterator[None]:
        """A thread that looks after what was begun, while this one is inside of MPI."""
        over = threading.Event()

        def attend() -> None:
            while not over.wait(NAP):
                self.let_others_run()

        thread = threading.Thread(target=attend, name=f"jt_edu {self.name}, attendant", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


class MPIRequest(Request):
    """A request that is done when MPI says so.

    `raw` is MPI's request, or anything else with Test(status) and Wait(status); `keep` is memory that has to stay until
    then; `place` tells a collective from all others.
    """

    __slots__ = ("found", "keep", "place", "raw")

    def __init__(self, comm: Any, words: str, peers: Any = (), line: str = "", place: Any = None) -> None:
        super().__init__(comm, words, peers, line)
        self.raw: Any = None
        self.keep: Any = None
        self.place = place
        self.found: Any = None  # MPI's status

    def begin(self, raw: Any, keep: Any = None) -> None:
        """From now on it is under way."""
        self.raw, self.keep = raw, keep
        self.task.open[self] = None  # type: ignore[attr-defined] # its task is a Progress

    def advance(self, block: bool = False) -> bool:
        """Whether it has happened; `block`: wait until it has. Who waits for it is told what goes wrong in it."""
        if self.done:
            return True
        mpi = self.comm.mpi  # type: ignore[attr-defined] # its communicator is an MPIComm
        found = self.found = self.found or mpi.Status()
        try:
            arrived = self.raw.Wait(found) if block else self.raw.Test(found)
        except Exception as error:  # noqa: BLE001 - an operation of the learner's may raise anything
            ours = explained(mpi, error, self.words) if isinstance(error, mpi.Exception) else error
            self.error, arrived = ours, True
        if arrived:
            self.status = status_from(mpi, found)
            self.keep = None if self.finish is None else self.keep
            self.complete()
        return bool(arrived)

    def take_back(self) -> bool:
        """Whether MPI lets go of it: a receive for which no message has come."""
        self.raw.Cancel()
        self.advance(block=True)
        return self.status.cancelled


class Incoming:
    """A receive of an object, which may turn out to be long: then a second message follows.

    Args:
        first: MPI's request for the first message.
        follow: (status of the first) -> MPI's request for the second, or None if there is none.
    """

    def __init__(self, first: Any, follow: Callable[[Any], Any]) -> None:
        self._first: Any = first
        self._second: Any = None
        self._follow = follow

    def Wait(self, status: Any) -> bool:
        """Wait for all of it."""
        if self._first is not None:
            self._first.Wait(status)
            self._first, self._second = None, self._follow(status)
        if self._second is not None:
            self._second.Wait()
        return True

    def Test(self, status: Any) -> bool:
        """Whether all of it is here."""
        if self._first is not None:
            if not self._first.Test(status):
                return False
            self._first, self._second = None, self._follow(status)
        return self._second is None or bool(self._second.Test())

    def Cancel(self) -> None:
        """Take it back, if nothing of it has come."""
        if self._first is not None:
            self._first.Cancel()


class Several:
    """Requests of MPI that make up one thing."""

    def __init__(self, *raws: Any) -> None:
        self.raws = raws

    def Wait(self, status: Any = None) -> bool:
        """Wait for all of them."""
        for raw in self.raws:
            raw.Wait(status)
        return True

    def Test(self, status: Any = None) -> bool:
        """Whether all have happened."""
        done = [raw.Test(status) for raw in self.raws]  # each of them goes on
        return all(done)


class Helper:
    """A thread in which an algorithm runs, in the form of a request."""

    def __init__(self, body: Any, name: str) -> None:
        self._error: BaseException | None = None
        self._body = body
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._body()
        except BaseException as error:  # noqa: BLE001 - it is raised where the request is waited for
            self._error = error

    def Wait(self, status: Any = None) -> bool:
        """Wait for its end."""
        self._thread.join()
        return self.Test(status)

    def Test(self, status: Any = None) -> bool:
        """Whether it has ended."""
        if self._thread.is_alive():
            return False
        if self._error is not None:
            raise self._error
        return True


def status_from(mpi: Any, found: Any) -> Status:
    """Our status from MPI's."""
    return Status(found.source, found.tag, max(0, found.Get_count(mpi.BYTE)), bool(found.Is_cancelled()))


def explained(mpi: Any, error: Any, words: str) -> Exception:
    """Our error for MPI's."""
    if error.Get_error_class() == mpi.ERR_TRUNCATE:
        return TruncationError(
            f"{words} has room for what comes", "a longer message", "a larger buffer, or Probe first"
        )
    return RankError(f"MPI does what {words} asks", f"{error}")
