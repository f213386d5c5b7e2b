"""Call log: what one real rank called, and what it sent and took. It knows nothing else about the others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from jt_edu.base.errors import JtError
from jt_edu.ir.node import callers_line, describe_line
from jt_edu.mpi.mpi4py_backend.status_board import Board
from jt_edu.mpi.trace.records import Call, Record, Sent, Work

if TYPE_CHECKING:
    from jt_edu.mpi.mpi4py_backend.progress import Progress

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
        self.open_calls: dict[Progress, list[Call]] = {}
        self.tell: Callable[[JtError], None] | None = None  # what is done with the explanation of a standstill
        self.save: Callable[[BaseException], None] | None = None  # what is done before this rank ends all others
        self._lock = threading.Lock()

    @property
    def now(self) -> int:
        """ns since the start."""
        return time.monotonic_ns() - self.start

    def enter(self, voice: Progress, /, name: str, said: str, said_at: str = "", **details: Any) -> Call:
        """This rank calls its communicator; `said_at` is the learner's line, if it is not the one that calls."""
        stack = self.open_calls.setdefault(voice, [])
        line = said_at or (stack[-1].line if stack else _line(callers_line()))
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

    def leave(self, voice: Progress, call: Call, error: BaseException | None = None) -> None:
        """The call is over."""
        stack = self.open_calls[voice]
        if call in stack:
            del stack[stack.index(call) :]
        call.leave = now = self.now
        call.ended = now / 1e9
        if error is not None:
            call.failed = type(error).__name__

    def inside_a_call(self, voice: Progress) -> bool:
        """Whether what this rank does now is a part of a call that it made."""
        return bool(self.open_calls.get(voice))

    def work(self, duration: float) -> None:
        """Pass so many ns, as if this rank computed."""
        begin = self.now
        time.sleep(duration / 1e9)
        if self.keep:
            self.record.work.append(Work(self.rank, begin, self.now))

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
