"""Records: what the ranks said to each other, in the order in which it happened.

    Call      a rank called its communicator: from when to when, and with whom
    Sent      a message: who sent it to whom, how long it was, when it left, arrived and was taken
    Work      a rank computed

Times are counted twice: on the virtual clocks of the ranks, in whole ns, and on the wall clock, in seconds. The same
records come from simulated ranks and from a real MPI (which has no virtual clock). Nothing here knows how to draw them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.mpi.trace.export import read, save

VERSION = 1


@dataclass(slots=True)
class Call:
    """One call of one rank. `ready` is when everything that it waited for was there."""

    number: int
    rank: int
    name: str  # "allreduce", "send"
    words: str  # as an explanation says it: "send(dest=1, tag=0)"
    line: str  # the learner's
    sequence: int = -1  # of a collective, counted in its communicator
    group: str = ""  # the communicator
    peer: int = -1  # the other rank, or the root; -1 for any
    tag: int = -1  # of a message; -1 for any
    bytes: int = 0
    algorithm: str = ""
    enter: int = 0
    ready: int = 0
    leave: int = 0
    began: float = 0.0  # wall clock
    ended: float = 0.0
    parent: int = -1  # the collective that this call is a part of
    failed: str = ""
    meeting: int = -1  # of a collective among simulated ranks: which one of their world


@dataclass(slots=True)
class Sent:
    """One message."""

    number: int
    source: int
    dest: int
    tag: int
    bytes: int
    sent: int
    arrived: int
    taken: int = -1  # -1: nobody has
    done: int = -1
    call: int = -1  # the call that sent it
    taker: int = -1  # the call that took it
    synchronous: bool = False
    lost: bool = False


@dataclass(slots=True)
class Work:
    """A rank computed from `begin` to `end`."""

    rank: int
    begin: int
    end: int
    words: str = ""


@dataclass
class Record:
    """Everything that the ranks of one world did.

    Example:
        >>> from jt_edu.mpi import run_ranks
        >>> run_ranks(2, lambda comm: comm.send("x", dest=1) if comm.rank == 0 else comm.recv()).record
        rank   calls    sent       bytes   virtual µs
           0       1       1          16        1.500
           1       1       0           0        5.503
    """

    size: int
    policy: str = ""
    seed: int = 0
    network: dict[str, float] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    messages: list[Sent] = field(default_factory=list)
    work: list[Work] = field(default_factory=list)
    schedule: list[int] = field(default_factory=list)
    steps: list[tuple[str, int, int]] = field(default_factory=list)  # what moved a clock; see perf_model/replay.py
    waits: list[dict[str, Any]] = field(default_factory=list)  # who waited for whom when it ended in a deadlock
    failure: str = ""
    ends: list[str] = field(default_factory=list)  # by rank: "", or how it ended
    warnings: list[str] = field(default_factory=list)  # what was begun and not ended, though all ranks came to theirs

    @property
    def duration(self) -> int:
        """Virtual ns from the start to the end of the last rank."""
        ends = [c.leave for c in self.calls] + [w.end for w in self.work]
        return max(ends, default=0)

    def as_dict(self) -> dict[str, Any]:
        """Everything as one JSON document."""
        return {"format": "jt_edu.ranks", "version": VERSION, **asdict(self), "duration": self.duration}

    @staticmethod
    def from_dict(document: Mapping[str, Any]) -> Record:
        """The record that `as_dict` wrote down.

        Raises:
            ArgumentError: it is none.
        """
        if not isinstance(document, Mapping) or document.get("format") != "jt_edu.ranks":
            found = document.get("format") if isinstance(document, Mapping) else type(document).__name__
            raise ArgumentError("a record of ranks has the format jt_edu.ranks", repr(found))
        if document.get("version") != VERSION:
            raise ArgumentError(f"this jt_edu reads records of version {VERSION}", repr(document.get("version")))
        told = {f.name: document[f.name] for f in fields(Record) if f.name in document}
        for name, kind in (("calls", Call), ("messages", Sent), ("work", Work)):
            told[name] = [kind(**one) for one in told.get(name, ())]
        told["steps"] = [(what, task, which) for what, task, which in told.get("steps", ())]
        return Record(**told)

    def save(self, path: str | Path) -> Path:
        """Write a file that Perfetto and chrome://tracing open, and `Record.load` reads back."""
        return save(self, path)

    @staticmethod
    def load(path: str | Path) -> Record:
        """The record that `save` wrote."""
        return Record.from_dict(read(path))

    def __repr__(self) -> str:
        calls, sent, moved, end = ([0] * self.size for _ in range(4))
        for call in self.calls:
            calls[call.rank] += call.parent < 0
            end[call.rank] = max(end[call.rank], call.leave)
        for message in self.messages:
            sent[message.source] += 1
            moved[message.source] += message.bytes
        for work in self.work:
            end[work.rank] = max(end[work.rank], work.end)
        rows = [f"{'rank':>4}  {'calls':>6}  {'sent':>6}  {'bytes':>10}  {'virtual µs':>11}"]
        rows += [
            f"{rank:>4}  {calls[rank]:>6}  {sent[rank]:>6}  {moved[rank]:>10}  {end[rank] / 1e3:>11.3f}"
            for rank in range(self.size)
        ]
        return "\n".join([*rows, *self.warnings, *([self.failure] if self.failure else [])])
