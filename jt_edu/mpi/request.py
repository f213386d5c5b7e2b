"""Request: something that will have happened, and what a rank can do until then.

    r = comm.irecv(source=1)        nothing has come yet
    r.test()                        (False, None), or (True, what came)
    r.wait()                        what came; other ranks run meanwhile

A request knows whom it waits for, in words and as ranks, so that a deadlock can be explained.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jt_edu.mpi.names import UNDEFINED, Status

if TYPE_CHECKING:
    from jt_edu.mpi.comm import PointToPoint


Peers = Sequence[int] | Callable[[], Sequence[int]]


class Request:
    """One thing that is under way: a message that leaves or arrives, or a collective.

    Args:
        comm: whose request it is.
        words: what was asked for, as the explanation of a deadlock calls it: "recv(source=1, tag=0)".
        peers: the ranks that can make it happen; or a function that answers which those are by now.
        line: the learner's, that began it.

    `finish` is called once, by the owner, when it learns that it has happened; it answers the value.
    """

    __slots__ = ("_peers", "comm", "done", "error", "finish", "line", "status", "taken", "task", "value", "words")

    def __init__(self, comm: PointToPoint, words: str, peers: Peers = (), line: str = "") -> None:
        self.comm, self.task = comm, comm.task
        self.words, self._peers, self.line = words, peers, line
        self.done, self.taken = False, False
        self.value: Any = None
        self.error: Exception | None = None
        self.status = Status()
        self.finish: Callable[[], Any] | None = None

    @property
    def peers(self) -> tuple[int, ...]:
        """The ranks that can make it happen."""
        return tuple(self._peers() if callable(self._peers) else self._peers)

    def complete(self) -> None:
        """It has happened: whoever waits for it may go on."""
        self.done = True
        self.task.noticed(self)

    # what a rank asks

    def wait(self, status: Status | None = None) -> Any:
        """What came, once it has; None for a send."""
        if self.taken:
            return self._answer(status)
        with self.comm._waiting(f"wait({self.words})"):
            self.task.wait_for([self])
            return self._answer(status)

    def test(self, status: Status | None = None) -> tuple[bool, Any]:
        """Whether it has happened, and then what came. Other ranks get a turn."""
        self.task.let_others_run()
        return (True, self._answer(status)) if self.done else (False, None)

    def _answer(self, status: Status | None) -> Any:
        if not self.taken:
            self.taken = True
            if self.finish is not None and self.error is None:
                self.value = self.finish()
        if self.error is not None:
            raise self.error
        if status is not None:
            status.take(self.status)
        return self.value

    def Wait(self, status: Status | None = None) -> bool:
        """Wait for it; a buffer is filled then."""
        self.wait(status)
        return True

    def Test(self, status: Status | None = None) -> bool:
        """Whether it has happened."""
        return self.test(status)[0]

    def Free(self) -> None:
        """Forget the request; what it began goes on."""

    # several

    @staticmethod
    def waitall(requests: Sequence[Request], statuses: list[Status] | None = None) -> list[Any]:
        """What came, of all of them."""
        if not requests:
            return []
        with requests[0].comm._waiting(f"waitall({len(requests)} requests)"):
            requests[0].task.wait_for(requests)
            found = _rooms(requests, statuses)
            return [r._answer(s) for r, s in zip(requests, found, strict=True)]

    @staticmethod
    def waitany(requests: Sequence[Request], status: Status | None = None) -> tuple[int, Any]:
        """The number of one that has happened, and what came."""
        live = [r for r in requests if not r.taken]
        if not live:
            return UNDEFINED, None
        with live[0].comm._waiting(f"waitany({len(live)} requests)"):
            live[0].task.wait_for(live, every=False)
            first = next(k for k, r in enumerate(requests) if r.done and not r.taken)
            return first, requests[first]._answer(status)

    @staticmethod
    def waitsome(
        requests: Sequence[Request], statuses: list[Status] | None = None
    ) -> tuple[list[int] | None, list[Any] | None]:
        """The numbers of all that have happened, one at least, and what came."""
        live = [r for r in requests if not r.taken]
        if not live:
            return None, None
        with live[0].comm._waiting(f"waitsome({len(live)} requests)"):
            live[0].task.wait_for(live, every=False)
        ready = [k for k, r in enumerate(requests) if r.done and not r.taken]
        found = _rooms(ready, statuses)
        return ready, [requests[k]._answer(s) for k, s in zip(ready, found, strict=True)]

    @staticmethod
    def testall(requests: Sequence[Request], statuses: list[Status] | None = None) -> tuple[bool, list[Any] | None]:
        """Whether all have happened, and then what came."""
        if requests:
            requests[0].task.let_others_run()
        return (True, Request.waitall(requests, statuses)) if all(r.done for r in requests) else (False, None)

    @staticmethod
    def testany(requests: Sequence[Request], status: Status | None = None) -> tuple[int, bool, Any]:
        """The number of one that has happened, whether there is one, and what came."""
        live = [r for r in requests if not r.taken]
        if not live:
            return UNDEFINED, True, None
        live[0].task.let_others_run()
        for k, r in enumerate(requests):
            if r.done and not r.taken:
                return k, True, r._answer(status)
        return UNDEFINED, False, None

    @staticmethod
    def Waitall(requests: Sequence[Request], statuses: list[Status] | None = None) -> bool:
        """Wait for all of them."""
        Request.waitall(requests, statuses)
        return True

    @staticmethod
    def Waitany(requests: Sequence[Request], status: Status | None = None) -> int:
        """The number of one that has happened."""
        return Request.waitany(requests, status)[0]

    @staticmethod
    def Testall(requests: Sequence[Request], statuses: list[Status] | None = None) -> bool:
        """Whether all have happened."""
        return Request.testall(requests, statuses)[0]

    def __repr__(self) -> str:
        return f"Request({self.words}, {'done' if self.done else 'under way'})"


def _rooms(requests: Sequence[Any], statuses: list[Status] | None) -> Iterator[Status | None]:
    """A status for each request; the list is filled up, as mpi4py does."""
    if statuses is None:
        return iter([None] * len(requests))
    statuses += [Status() for _ in range(len(requests) - len(statuses))]
    return iter(statuses[: len(requests)])
