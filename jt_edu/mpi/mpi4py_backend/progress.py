"""Progress: how does a real rank wait for what MPI does?

    begin      a request of MPI is under way for one of ours
    advance    MPI says that it is over, and ours is complete

What goes on only when somebody looks (a long object comes in two messages) is looked at while the rank waits for
something else.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from jt_edu.base.errors import RankError
from jt_edu.mpi.base.constants import Status
from jt_edu.mpi.base.errors import RankTimeoutError, TruncationError
from jt_edu.mpi.communicator.request import Request
from jt_edu.mpi.mpi4py_backend.call_log import Journal

Place = tuple[str, int]  # a collective: (plane of its communicator, number)
NAP = 2e-5  # seconds between two looks at several requests


@dataclass(eq=False, slots=True)
class UnderWay:
    """What MPI does for a request.

    `raw` is MPI's request, or anything else with Test(status) and Wait(status); `keep` is memory that has to stay until
    it is over; `place` tells a collective from all others.
    """

    request: Request
    raw: Any
    keep: Any
    place: Place | None
    found: Any  # MPI's status


class Progress:
    """One thread of a rank that waits for MPI. Its clock is the wall clock: ns from a start that all ranks share.

    Args:
        journal: where the calls of its rank are noted down.
        mpi: the module mpi4py.MPI.
    """

    def __init__(self, journal: Journal, mpi: Any) -> None:
        self.journal, self.mpi, self.rank = journal, mpi, journal.rank
        self.name = f"rank {self.rank}"
        self.open: dict[int, UnderWay] = {}  # by id of the request, in the order in which they were begun
        self.begun: dict[int, Request] = {}  # by id, and not waited for so far

    @property
    def now(self) -> int:
        """ns since the start that all ranks share."""
        return self.journal.now

    def begin(self, request: Request, raw: Any, keep: Any = None, place: Place | None = None) -> None:
        """From now on it is under way."""
        self.open[id(request)] = UnderWay(request, raw, keep, place, self.mpi.Status())

    def wait_for(self, requests: Sequence[Request], every: bool = True, deadline: int | None = None) -> None:
        """Come back when all of the requests have happened, or one of them.

        Raises:
            RankTimeoutError: the deadline, in ns of the clock, passed.
        """
        waiting = [r for r in requests if not r.done]
        if not waiting or (not every and len(waiting) < len(requests)):
            return
        for request in waiting:
            if id(request) not in self.open and request.needs is None:
                raise _stranger(request)
        first = self.open.get(id(waiting[0]))
        with self.blocked(waiting[0], None if first is None else first.place, self._attended()):
            if deadline is None and (every or len(waiting) == 1) and not self._attended(waiting):
                for request in waiting:
                    self.advance(request, block=True)
            else:
                self._look_again_and_again(waiting, every, deadline)

    def _look_again_and_again(self, waiting: list[Request], every: bool, deadline: int | None) -> None:
        enough = all if every else any
        while not enough([r.done for r in waiting]):
            self._look_around()
            if deadline is not None and self.now > deadline:
                asked = " and ".join(r.words for r in waiting if not r.done)
                missing = sorted({p for r in waiting if not r.done for p in r.peers})
                raise RankTimeoutError(f"{self.name} waited for {asked}", f"nothing from ranks {missing} in time")
            time.sleep(NAP)

    def look(self, requests: Sequence[Request], every: bool = True) -> bool:
        """Whether all of the requests have happened by now, or one of them."""
        self._look_around()
        return (all if every else any)(r.done for r in requests)

    def _look_around(self) -> None:
        """See how far everything is that was begun."""
        for one in list(self.open.values()):
            self.advance(one.request)

    def first_of(self, requests: Sequence[Request]) -> Request:
        """With which one a wait for one of several goes on: the first that has happened."""
        return next(r for r in requests if r.done)

    def gives_up_at(self) -> int | None:
        """Real ranks wait as long as it takes; the watch finds out when nothing moves any more, see debug.py."""
        return None

    def give_way(self) -> None:
        """Other ranks run by themselves."""

    def noticed(self, request: Request) -> None:
        """A request has happened."""
        self.open.pop(id(request), None)

    def advance(self, request: Request, block: bool = False) -> None:
        """See whether it has happened; `block`: wait until it has. Who waits for it is told what goes wrong in it."""
        if request.needs is not None:
            self.advance(request.needs, block)
        if request.done or id(request) not in self.open or not (request.needs is None or request.needs.done):
            return
        raw, found = self.open[id(request)].raw, self.open[id(request)].found
        try:
            arrived = raw.Wait(found) if block else raw.Test(found)
        except Exception as error:  # noqa: BLE001 - an operation of the learner's may raise anything
            ours = in_our_words(self.mpi, error, request.words) if isinstance(error, self.mpi.Exception) else error
            request.error, arrived = ours, True
        if arrived:
            request.status = status_from(self.mpi, found)
            request.complete()

    def take_back(self, request: Request) -> bool:
        """Whether MPI lets go of it: a receive for which no message has come."""
        self.open[id(request)].raw.Cancel()
        self.advance(request, block=True)
        return request.status.cancelled

    def _attended(self, but: Sequence[Request] = ()) -> bool:
        """Whether there are requests that do not go on by themselves: long objects have two messages.

        One that is waited for alone needs no attention: its own wait gives it.
        """
        return any(isinstance(u.raw, Incoming) and list(but) != [u.request] for u in list(self.open.values()))

    @contextmanager
    def blocked(self, request: Request, place: Place | None = None, attended: bool = False) -> Iterator[None]:
        """While this rank waits, others can read for whom; what was begun goes on, unless it is `attended` anyway."""
        board = self.journal.board
        if board is not None:
            group = request.comm.name
            said = request.words + (f" in the {group}" if group != "world" else "")
            facts = {"kind": request.kind, "tag": request.tag, "at_once": request.at_once}
            board.waits(said, request.line, request.peers, place, **facts)
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
        """A thread that looks after what was begun, while this one is inside MPI."""
        over = threading.Event()

        def attend() -> None:
            while not over.wait(NAP):
                self._look_around()

        thread = threading.Thread(target=attend, name=f"jt_edu {self.name}, attendant", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def _stranger(request: Request) -> RankError:
    return RankError(
        "a real rank waits for requests of MPI", f"{request.words}, which is of another communicator's world",
        "wait for the requests of simulated ranks and real ones apart",
    )  # fmt: skip


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


def in_our_words(mpi: Any, error: Any, words: str) -> Exception:
    """Our error for MPI's."""
    if error.Get_error_class() == mpi.ERR_TRUNCATE:
        return TruncationError(
            f"{words} has room for what comes", "a longer message", "a larger buffer, or Probe first"
        )
    return RankError(f"MPI does what {words} asks", f"{error}")
