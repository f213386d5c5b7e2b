"""Request: something that will have happened, and what a rank can do until then.

    r = comm.irecv(source=1)        nothing has come yet
    r.test()                        (False, None), or (True, what came)
    r.wait()                        what came; other ranks run meanwhile

Who has waited for a request has used it up: it is false then, and waiting once more gives nothing. A request knows whom
it waits for, in words and as ranks, so that a deadlock can be explained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Self

from jt_edu.base.errors import ArgumentError, RankError
from jt_edu.mpi.base.constants import ANY_TAG, PROC_NULL, UNDEFINED, Status
from jt_edu.mpi.base.deadlock_hints import COLLECTIVE

if TYPE_CHECKING:
    from jt_edu.mpi.communicator.point_to_point import PointToPoint

Peers = Sequence[int] | Callable[[int | None], Sequence[int]]


class _Nobody:
    """Stands behind a request of no communicator: nobody else can make it happen."""

    begun: dict[int, Any] = {}  # noqa: RUF012 - nothing is ever begun
    now = 0

    @property
    def task(self) -> _Nobody:
        """Who speaks for it."""
        return self

    def _waiting(self, said: str) -> AbstractContextManager[None]:
        return nullcontext()

    def wait_for(self, requests: Sequence[Request], every: bool = True, deadline: int | None = None) -> None:
        """All of them have happened."""
        if not self.look(requests, every):
            raise RankError(
                "a request that is waited for must complete", "one that no rank completes", "Complete before it"
            )

    def look(self, requests: Sequence[Request], every: bool = True) -> bool:
        """Whether they have happened."""
        return (all if every else any)(r.done for r in requests)

    def first_of(self, requests: Sequence[Request]) -> Request:
        """The first one that has happened."""
        return next(r for r in requests if r.done)

    def noticed(self, request: Request) -> None:
        """Nobody has to be told."""


NOBODY: Any = _Nobody()


class Request:
    """One thing that is under way: a message that leaves or arrives, or a collective. `Request()` is REQUEST_NULL.

    Args:
        comm: whose request it is.
        words: what was asked for, as the explanation of a deadlock calls it: "recv(source=1, tag=0)".
        partners: the ranks that can make it happen; or a function that answers which had not come by a time.
        line: the learner's, that began it.
        kind: SEND, RECEIVE or COLLECTIVE.
        tag: of a message.
        at_once: whether the call that began it came back before it had happened.

    `finish` is called once, by the owner, when it learns that it has happened; it returns the value. `withdraw` is
    called to take it back, and returns whether that was possible. `needs` is another one without which it has not
    happened: the send of a receive that is one call with it.
    """

    __slots__ = (
        "at_once", "comm", "done", "error", "finish", "kind", "line", "needed_by", "needs", "partners", "ready",
        "status", "tag", "taken", "task", "until", "value", "withdraw", "words",
    )  # fmt: skip

    def __init__(
        self, comm: PointToPoint = NOBODY, words: str = "", partners: Peers = (), line: str = "",
        kind: str = COLLECTIVE, tag: int = ANY_TAG, at_once: bool = False,
    ) -> None:  # fmt: skip
        self.comm, self.task = comm, comm.task
        self.words, self.partners, self.line = words, partners, line
        self.kind, self.tag, self.at_once = kind, tag, at_once
        self.until: int | None = None  # when its rank gives it up, in ns; only set if nobody else can wait for it
        self.done, self.taken = comm is NOBODY, comm is NOBODY and not words
        self.needs: Request | None = None
        self.needed_by: Request | None = None
        self.ready = 0  # when it happened, in ns of virtual time
        self.value: Any = None
        self.error: Exception | None = None
        self.status = Status(PROC_NULL) if self.done and not self.taken else Status()
        self.finish: Callable[[], Any] | None = None
        self.withdraw: Callable[[], bool] | None = None

    @property
    def peers(self) -> tuple[int, ...]:
        """The ranks that can make it happen."""
        return self.missing(None)

    def missing(self, time: int | None) -> tuple[int, ...]:
        """The ranks that had not done their part by a time of their own clocks; None: by now."""
        return tuple(self.partners(time) if callable(self.partners) else self.partners)

    def complete(self, ready: int = 0) -> None:
        """It has happened: whoever waits for it may go on."""
        self.ready = max(self.ready, ready)
        if self.needs is not None and not self.needs.done:
            self.needs.needed_by = self
            return
        self.done = True
        self.task.noticed(self)
        if self.needed_by is not None:
            self.needed_by.complete(ready)

    def together_with(self, other: Request) -> Self:
        """The same request, which has not happened before another one has."""
        self.needs = other
        if self.done and not other.done:
            self.done, other.needed_by = False, self
        return self

    def then(self, settle: Callable[[], None] | None) -> Self:
        """The same request; when its owner learns that it has happened, `settle` is called, too."""
        finish = self.finish
        if settle is not None:

            def and_settle() -> Any:
                value = None if finish is None else finish()
                settle()
                return value

            self.finish = and_settle
        return self

    # what a rank asks

    def wait(self, status: Status | None = None, timeout: float | None = None) -> Any:
        """What came, once it has; None for a send.

        Raises:
            RankTimeoutError: that took more than `timeout` seconds of virtual time; the request goes on.
        """
        if self.taken:
            self._nothing(status)
            return None
        with self.comm._waiting(f"wait({self.words})"):
            self.task.wait_for([self], deadline=_deadline(self, timeout))
            return self._answer(status)

    def test(self, status: Status | None = None) -> tuple[bool, Any]:
        """Whether it has happened, and then what came. Other ranks get a turn."""
        if self.taken:
            self._nothing(status)
            return True, None
        return (True, self._answer(status)) if self.task.look([self]) else (False, None)

    def get_status(self, status: Status | None = None) -> bool:
        """Whether it has happened; it can be waited for all the same."""
        happened = self.taken or self.task.look([self])
        if happened and status is not None:
            status.take(self.status)
        return happened

    def _answer(self, status: Status | None) -> Any:
        """What came; now the request is used up."""
        if self.taken:
            self._nothing(status)
            return None
        self.taken = True
        self.task.begun.pop(id(self), None)
        if self.needs is not None:
            self.needs._answer(None)
        self.needs = self.needed_by = None
        if self.error is not None:
            raise self.error
        if self.finish is not None and not self.status.cancelled:
            self.value = self.finish()
        self.finish = self.withdraw = None  # these know this request: a circle, which only a garbage collection ends
        self.partners = ()
        if status is not None:
            status.take(self.status)
        return self.value

    def _nothing(self, status: Status | None) -> None:
        if status is not None:
            status.take(Status())

    def Wait(self, status: Status | None = None, timeout: float | None = None) -> bool:
        """Wait for it; a buffer is filled then."""
        self.wait(status, timeout)
        return True

    def Test(self, status: Status | None = None) -> bool:
        """Whether it has happened."""
        return self.test(status)[0]

    Get_status = get_status

    def Cancel(self) -> None:
        """Take a receive back, if no message has come for it; a wait for it ends at once, and `Status` tells."""
        if not self.done and self.withdraw is not None and self.withdraw():
            self.status.cancelled = True
            self.complete()

    def Free(self) -> None:
        """Forget the request; what it began goes on."""
        self.taken = True
        self.task.begun.pop(id(self), None)

    cancel, free = Cancel, Free

    def __bool__(self) -> bool:
        return not self.taken

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Request) and not self and not other)

    __hash__ = None  # type: ignore[assignment] # as mpi4py has it: what it equals changes

    def __reduce__(self) -> str:
        if self is REQUEST_NULL:
            return "REQUEST_NULL"
        raise ArgumentError("a request is waited for where it was made", f"{self!r}, which is to be pickled")

    def __repr__(self) -> str:
        if self is REQUEST_NULL:
            return "REQUEST_NULL"
        return f"Request({self.words}, {'used up' if self.taken else 'done' if self.done else 'under way'})"

    def current(self) -> Request:
        """The request that is waited for, if this one is."""
        return self

    # several

    @staticmethod
    def waitall(
        requests: Sequence[Request], statuses: list[Status] | None = None, timeout: float | None = None
    ) -> list[Any]:
        """What came, of all of them."""
        requests, live, one = _current(requests)
        if not live:
            return [None] * len(requests)
        with one.comm._waiting(f"waitall({', '.join(r.words for r in live[:4])}{', ...' * (len(live) > 4)})"):
            one.task.wait_for(live, deadline=_deadline(one, timeout))
            return _answers(requests, statuses)

    @staticmethod
    def waitany(
        requests: Sequence[Request], status: Status | None = None, timeout: float | None = None
    ) -> tuple[int, Any]:
        """The number of one that has happened, and what came; UNDEFINED if there is nothing to wait for."""
        requests, live, one = _current(requests)
        if not live:
            return UNDEFINED, None
        with one.comm._waiting(f"waitany({len(live)} requests)"):
            task = one.task
            task.wait_for(live, False, _deadline(one, timeout))
            first = task.first_of(live)
            return next(k for k, r in enumerate(requests) if r is first), first._answer(status)

    @staticmethod
    def waitsome(
        requests: Sequence[Request], statuses: list[Status] | None = None, timeout: float | None = None
    ) -> tuple[list[int] | None, list[Any] | None]:
        """The numbers of all that have happened, one at least, and what came; None if there is nothing to wait for."""
        requests, live, one = _current(requests)
        if not live:
            return None, None
        with one.comm._waiting(f"waitsome({len(live)} requests)"):
            one.task.wait_for(live, False, _deadline(one, timeout))
            return _those_done(requests, statuses)

    @staticmethod
    def testall(requests: Sequence[Request], statuses: list[Status] | None = None) -> tuple[bool, list[Any] | None]:
        """Whether all have happened, and then what came."""
        requests, live, one = _current(requests)
        if live and not one.task.look(live):
            return False, None
        return True, _answers(requests, statuses)

    @staticmethod
    def testany(requests: Sequence[Request], status: Status | None = None) -> tuple[int, bool, Any]:
        """The number of one that has happened, whether there is one, and what came."""
        requests, live, one = _current(requests)
        if not live:
            return UNDEFINED, True, None
        if not one.task.look(live, every=False):
            return UNDEFINED, False, None
        first = next(k for k, r in enumerate(requests) if r and r.done)
        return first, True, requests[first]._answer(status)

    @staticmethod
    def testsome(
        requests: Sequence[Request], statuses: list[Status] | None = None
    ) -> tuple[list[int] | None, list[Any] | None]:
        """The numbers of all that have happened, perhaps none, and what came; None if there is nothing to wait for."""
        requests, live, one = _current(requests)
        if not live:
            return None, None
        one.task.look(live, every=False)
        return _those_done(requests, statuses)

    @staticmethod
    def Waitall(
        requests: Sequence[Request], statuses: list[Status] | None = None, timeout: float | None = None
    ) -> bool:
        """Wait for all of them."""
        Request.waitall(requests, statuses, timeout)
        return True

    @staticmethod
    def Waitany(requests: Sequence[Request], status: Status | None = None) -> int:
        """The number of one that has happened."""
        return Request.waitany(requests, status)[0]

    @staticmethod
    def Waitsome(requests: Sequence[Request], statuses: list[Status] | None = None) -> list[int] | None:
        """The numbers of all that have happened, one at least."""
        return Request.waitsome(requests, statuses)[0]

    @staticmethod
    def Testall(requests: Sequence[Request], statuses: list[Status] | None = None) -> bool:
        """Whether all have happened."""
        return Request.testall(requests, statuses)[0]

    @staticmethod
    def Testany(requests: Sequence[Request], status: Status | None = None) -> tuple[int, bool]:
        """The number of one that has happened, and whether there is one."""
        return Request.testany(requests, status)[:2]

    @staticmethod
    def Testsome(requests: Sequence[Request], statuses: list[Status] | None = None) -> list[int] | None:
        """The numbers of all that have happened, perhaps none."""
        return Request.testsome(requests, statuses)[0]


REQUEST_NULL = Request()


def _current(requests: Sequence[Request]) -> tuple[list[Request], list[Request], Request]:
    """The requests that are waited for if these are, those that still have something to bring, and one to wait with."""
    found = [r.current() for r in requests]
    live = [r for r in found if r]
    return found, live, next((r for r in live if not r.done), next(iter(live), REQUEST_NULL))


def _deadline(request: Request, timeout: float | None) -> int | None:
    """When a wait of so many seconds is over, on the clock of the rank."""
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not timeout >= 0:
        raise ArgumentError("wait takes a number of seconds from 0 as timeout", repr(timeout), "None: no end")
    return request.task.now + round(timeout * 1e9)


def _those_done(requests: Sequence[Request], statuses: list[Status] | None) -> tuple[list[int], list[Any]]:
    """The numbers of those that have happened, and what came."""
    ready = [k for k, r in enumerate(requests) if r and r.done]
    return ready, _answers([requests[k] for k in ready], statuses)


def _answers(requests: Sequence[Request], statuses: list[Status] | None) -> list[Any]:
    return [r._answer(s) for r, s in zip(requests, _rooms(requests, statuses), strict=True)]


def _rooms(requests: Sequence[Request], statuses: Any) -> Iterator[Status | None]:
    """A status for each request; a list is filled up, as mpi4py does."""
    if statuses is None:
        return iter([None] * len(requests))
    if not isinstance(statuses, list):
        statuses = list(statuses)
    statuses += [Status() for _ in range(len(requests) - len(statuses))]
    return iter(statuses[: len(requests)])
