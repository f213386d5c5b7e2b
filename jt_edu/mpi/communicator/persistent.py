"""Persistent: a call that is made again and again, told once.

    out, back = comm.Send_init(x, dest=1), comm.Recv_init(y, source=1)
    for _ in range(1000):
        Prequest.Startall([out, back])          x is read now
        Request.Waitall([out, back])            y is filled now

Between two rounds such a request is inactive: waiting for it ends at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jt_edu.base.context import current
from jt_edu.base.errors import RankError
from jt_edu.mpi.base.constants import ANY_SOURCE, ANY_TAG, Status
from jt_edu.mpi.communicator.collective import Collectives
from jt_edu.mpi.communicator.request import NOBODY, Request


class Prequest(Request):
    """A request that can be started again.

    Args:
        comm, words: whose it is, and what it does.
        begin: begins one round of it.
    """

    __slots__ = ("_begin", "_freed", "_round")

    def __init__(self, comm: Any, words: str, begin: Callable[[], Request]) -> None:
        super().__init__(comm, words)
        self._begin, self._freed, self._round = begin, False, Request(comm, words)
        self._round.taken = True

    def Start(self) -> None:
        """Begin a round.

        Raises:
            RankError: the last one was not waited for, or the request was freed.
        """
        if self._freed or self._round:
            found = "one that was freed" if self._freed else "one whose last round was not waited for"
            raise RankError("Start begins a round of an inactive request", f"{found}: {self.words}", "Wait before it")
        self._round = self._begin()

    @staticmethod
    def Startall(requests: Sequence[Prequest]) -> None:
        """Begin a round of each."""
        for request in requests:
            request.Start()

    def current(self) -> Request:
        """The round that is under way, or the last one."""
        return self._round

    def wait(self, status: Status | None = None, timeout: float | None = None) -> Any:
        """Wait for the round that is under way."""
        return self._round.wait(status, timeout)

    def test(self, status: Status | None = None) -> tuple[bool, Any]:
        """Whether the round is over."""
        return self._round.test(status)

    def get_status(self, status: Status | None = None) -> bool:
        """Whether the round is over; it can be waited for all the same."""
        return self._round.get_status(status)

    def Cancel(self) -> None:
        """Take the round back."""
        self._round.Cancel()

    def Free(self) -> None:
        """It is not used any more."""
        self._freed = True

    Get_status, cancel, free = get_status, Cancel, Free

    def __bool__(self) -> bool:
        return not self._freed


class Grequest(Request):
    """A request for work of one's own: it has happened when `Complete` is called.

    Args:
        query, free, cancel: functions of a status, of nothing, of whether it is complete; each may be left out, and
            gets `args` and `named` as well.
    """

    __slots__ = ("_asked",)
    _asked: tuple[Any, ...]

    @classmethod
    def Start(
        cls, query_fn: Any = None, free_fn: Any = None, cancel_fn: Any = None, args: Any = None, kargs: Any = None
    ) -> Grequest:
        """Begin it."""
        found = cls(current().rank_state.get("communicator") or NOBODY, "Grequest")
        found.done = False
        found._asked = (query_fn, free_fn, cancel_fn, tuple(args or ()), dict(kargs or {}))
        found.finish = found._over
        return found

    def complete(self, obj: Any = None) -> None:
        """It has happened, and this is what came of it: whoever waits for it may go on."""
        self.value = obj
        super().complete(self.task.now)

    def Complete(self) -> None:
        """It has happened: whoever waits for it may go on."""
        self.complete()

    def _over(self) -> Any:
        self._ask(0, self.status)
        self._ask(1)
        return self.value

    def Cancel(self) -> None:
        """Tell whoever works on it that nobody needs it any more."""
        self._ask(2, self.done)

    cancel = Cancel

    def _ask(self, number: int, *given: Any) -> None:
        asked, args, named = self._asked[number], self._asked[3], self._asked[4]
        if asked is not None:
            asked(*given, *args, **named)


def again(begin: Any) -> Any:
    """Bcast_init from Ibcast: a request that can be started again and again."""
    name = f"{begin.__name__[1:].capitalize()}_init"

    def init(self: Persistent, *args: Any, **named: Any) -> Prequest:
        return Prequest(self, name, lambda: begin(self, *args, **named))

    init.__name__ = init.__qualname__ = name
    init.__doc__ = f"`{begin.__name__}` as a request that can be started again and again."
    return init


class Persistent(Collectives):
    """Calls that are told once, and started again and again."""

    def Send_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """Send the numbers that a buffer has when it is started."""
        return Prequest(self, f"Send_init(dest={dest}, tag={tag})", lambda: self.Isend(buf, dest, tag))

    def Ssend_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """The same; a round is over when it is being received."""
        return Prequest(self, f"Ssend_init(dest={dest}, tag={tag})", lambda: self.Issend(buf, dest, tag))

    def Bsend_init(self, buf: Any, dest: int, tag: int = 0) -> Prequest:
        """The same; a round is over at once."""
        return Prequest(self, f"Bsend_init(dest={dest}, tag={tag})", lambda: self.Ibsend(buf, dest, tag))

    Rsend_init = Send_init

    def Recv_init(self, buf: Any, source: int = ANY_SOURCE, tag: int = ANY_TAG) -> Prequest:
        """Receive into a buffer."""
        return Prequest(self, f"Recv_init(source={source}, tag={tag})", lambda: self.Irecv(buf, source, tag))

    Barrier_init, Bcast_init = again(Collectives.Ibarrier), again(Collectives.Ibcast)
    Gatherv_init, Scatterv_init = again(Collectives.Igatherv), again(Collectives.Iscatterv)
    Allgatherv_init, Alltoallv_init = again(Collectives.Iallgatherv), again(Collectives.Ialltoallv)
    Alltoallw_init = again(Collectives.Ialltoallw)
    Gather_init, Scatter_init = again(Collectives.Igather), again(Collectives.Iscatter)
    Allgather_init, Alltoall_init = again(Collectives.Iallgather), again(Collectives.Ialltoall)
    Reduce_init, Allreduce_init = again(Collectives.Ireduce), again(Collectives.Iallreduce)
    Scan_init, Exscan_init = again(Collectives.Iscan), again(Collectives.Iexscan)
    Reduce_scatter_init = again(Collectives.Ireduce_scatter)
    Reduce_scatter_block_init = again(Collectives.Ireduce_scatter_block)
