"""Task: a rank of this process, or a helper of one, as the baton sees it. Runs, waits, looks, and gives up.

    ready --- it is its turn ---> runs --- wait_for ---> waiting --- what it waits for has happened ---> ready

It waits in `pass_on`, and finds there what ended its wait: that it happened, an error, or that its time is up.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from jt_edu.mpi.base.deadlock_hints import ranks_named
from jt_edu.mpi.base.errors import LookedInVainError, RankTimeoutError
from jt_edu.mpi.communicator.request import Request
from jt_edu.mpi.trace.network import Clock

if TYPE_CHECKING:
    from jt_edu.mpi.simulator.scheduler import Baton

LOOKS = 20_000  # that many in vain, while nothing else happens anywhere, will find nothing any more


class Task:
    """Something that runs in a thread of its own, and holds the baton while it does: a rank, or a helper of one."""

    def __init__(self, baton: Baton, rank: int, name: str, clock: Clock, helps: bool = False) -> None:
        self.baton, self.rank, self.name, self.clock, self.helps = baton, rank, name, clock, helps
        self.number = baton.numbered
        baton.numbered += 1
        self.gate = threading.Lock()
        self.gate.acquire()
        self.thread: threading.Thread | None = None
        self.meter: Callable[[], int] | None = None  # ns that it computed since it was asked last
        self.state = "ready"  # "ready", "waiting" or "ended"
        self.awaits: dict[int, Request] = {}  # by id, in the order of the call
        self.missing = 0  # how many of them have to happen before it goes on
        self.since = 0  # when it began to wait
        self.deadline: int | None = None  # when it gives up, in ns of its clock
        self.error: BaseException | None = None  # what it finds when it goes on
        self.ended_by: BaseException | None = None  # None: it came to its end
        self.choosy = False  # waits for one of several things, and is told which
        self.chosen: Request | None = None  # that one
        self.begun: dict[int, Request] = {}  # by id, and not waited for so far
        self.looks = 0  # in vain, one after the other
        self.asked = 0  # for the time, since it let others run
        self.stops = 0

    def wait_for(self, requests: Sequence[Request], every: bool = True, deadline: int | None = None) -> None:
        """Go on when all of the requests have happened, or one of them; others run meanwhile.

        Raises:
            RankTimeoutError: that took longer than until `deadline`, in ns of its clock.
        """
        baton = self.baton
        baton.check(self)
        deadline = self.gives_up_at() if deadline is None else deadline
        pending = [r for r in requests if not r.done]
        self.since = self.clock.now
        self.chosen, self.choosy = None, baton.patient and not every
        if self.choosy or (pending and (every or len(pending) == len(requests))):
            self.awaits, self.missing = {id(r): r for r in requests}, len(pending) if every else 1
            self.state, self.deadline = "waiting", deadline
            try:
                baton.pass_on(self)
            finally:
                self.awaits, self.deadline = {}, None
            self._go_on(pending)
        if deadline is not None:
            self._look_at_the_clock(requests, every, deadline)

    def gives_up_at(self) -> int | None:
        """When a wait that begins now is given up, in ns of its clock; None: never."""
        timeout = self.baton.timeout
        return None if timeout is None else self.clock.now + round(timeout * 1e9)

    def first_of(self, requests: Sequence[Request]) -> Request:
        """With which one a wait for one of several goes on: the one that was chosen, or the first that has happened."""
        return self.chosen or next(r for r in requests if r.done)

    @property
    def now(self) -> int:
        """ns of its clock."""
        return self.clock.now

    def let_others_run(self) -> None:
        """A point at which the baton may go to another rank."""
        self.baton.check(self)
        self.baton.pass_on(self)
        self._go_on()

    give_way = let_others_run  # after a send, for which another rank may have waited

    def ask_the_time(self) -> int:
        """ns of its clock; who asks again and again, and does nothing else, is told that it stands still.

        Raises:
            LookedInVainError: it was asked for LOOKS times.
        """
        self.baton.check(self)
        self.asked += 1
        if self.asked > LOOKS:
            self.asked = 0
            raise LookedInVainError(
                "virtual time passes only in calls", f"that {self.name} asked for it {LOOKS:,} times, calling nothing",
                "comm.compute(nanoseconds) to let it pass, or computing='measured', which counts what the loop takes",
            )  # fmt: skip
        return self.clock.now

    def look(self, requests: Sequence[Request], every: bool = True) -> bool:
        """Whether all of the requests have happened by now, or one of them; others get a turn."""
        enough = all if every else any
        return self.look_for(requests[0], lambda: enough(r.done for r in requests))

    def look_for(self, request: Request, happened: Callable[[], bool]) -> bool:
        """Whether something has happened; others get a turn. `request` is what an explanation calls it.

        A rank that looks again and again, while all others wait, would most likely do so for ever: it is told.
        """
        self.let_others_run()
        if happened():
            self.looks = 0
            return True
        self.looks += 1
        self.baton.in_vain += 1
        if self.baton.in_vain > LOOKS:
            waiting = [t for t in self.baton.tasks if t.state == "waiting"]
            self.awaits, self.baton.in_vain = {id(request): request}, 0
            error = self.baton.at_rest([self, *waiting], self).get(self)
            self.awaits = {}
            if error is not None:
                raise error
        return False

    def noticed(self, request: Request) -> None:
        """A request of this task has happened."""
        self.baton.in_vain = 0
        if self.state == "waiting" and id(request) in self.awaits:
            self.missing -= 1
            if self.missing == 0 and not self.choosy:
                self.baton.wake(self)

    def _go_on(self, requests: Sequence[Request] = ()) -> None:
        error, self.error = self.error, None
        told = error or next((r.error for r in requests if r.error is not None), None)
        if told is not None:
            raise told
        self.baton.check(self)

    def _look_at_the_clock(self, requests: Sequence[Request], every: bool, deadline: int) -> None:
        """Whatever order the ranks ran in: what happened after the deadline has not happened by then."""
        late = [r for r in requests if r.done and r.ready > deadline]
        if late and (every or all(r in late for r in requests if r.done)):
            raise self.times_out(late, deadline)

    def times_out(self, requests: Sequence[Request], deadline: int) -> RankTimeoutError:
        """The error of a task that has waited for long enough."""
        self.clock.now = max(self.clock.now, deadline)
        asked = " and ".join(r.words for r in requests)
        missing = sorted({p for r in requests for p in r.missing(deadline)})
        ranks = ranks_named(missing) if missing else "it"
        line = next((f", at {r.line}" for r in requests if r.line), "")
        waited = f"{self.name} waited {(deadline - self.since) / 1e9:g} s of virtual time for {asked}{line}"
        return RankTimeoutError(waited, f"that {ranks} had not come by then", "a longer timeout, or see who is slow")
