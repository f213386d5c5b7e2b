"""Protocols: what a communicator needs of those behind it, who have the same names among simulated ranks and real ones.

    role      simulated    real
    Voice     Task         Progress     speaks for a rank: waits for requests, and lets others run meanwhile
    Ledger    World        Journal      where it is noted down when each call began and ended

Everything else that a communicator asks of them stands in its own kind: simulator/point_to_point.py,
mpi4py_backend/point_to_point.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from jt_edu.mpi.communicator.request import Request
    from jt_edu.mpi.trace.records import Call


class Voice(Protocol):
    """Who speaks for a rank, and waits for it."""

    rank: int  # of the world
    begun: dict[int, Request]  # by id; by the learner, and not waited for so far

    @property
    def now(self) -> int:
        """ns: of the virtual clock, or of the wall clock."""

    def wait_for(self, requests: Sequence[Request], every: bool = True, deadline: int | None = None) -> None:
        """Come back when all of the requests have happened, or one of them.

        Raises:
            RankTimeoutError: that took longer than until `deadline`, in ns.
        """

    def look(self, requests: Sequence[Request], every: bool = True) -> bool:
        """Whether all of the requests have happened by now, or one of them."""

    def first_of(self, requests: Sequence[Request]) -> Request:
        """With which one a wait for one of several goes on."""

    def gives_up_at(self) -> int | None:
        """When a wait that begins now is given up, in ns; None: never."""

    def give_way(self) -> None:
        """A message has been sent: another rank may have waited for it."""

    def noticed(self, request: Request) -> None:
        """A request has happened."""


class Ledger(Protocol):
    """Where calls are noted down; `voice` is one of its own kind."""

    def enter(self, voice: Any, /, name: str, said: str, said_at: str = "", **details: Any) -> Call:
        """A rank calls its communicator; `said_at` is the learner's line, if it is not the one that calls."""

    def leave(self, voice: Any, /, call: Call, error: BaseException | None = None) -> None:
        """The call is over."""

    def inside_a_call(self, voice: Any, /) -> bool:
        """Whether what a rank does now is a part of a call that it made."""
