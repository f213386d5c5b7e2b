"""Records: what the ranks said to each other, in the order in which it happened.

    Call      a rank called its communicator: from when to when, and with whom
    Sent      a message: who sent it to whom, how long it was, when it left, arrived and was taken
    Work      a rank computed

Times are counted twice: on the virtual clocks of the ranks, in whole ns, and on the wall clock, in seconds. The same
records come from simulated ranks and from a real MPI (which has no virtual clock). Nothing here knows how to draw them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

VERSION = 1


@dataclass
class Call:
    """One call of one rank. `ready` is when everything that it waited for was there."""

    number: int
    rank: int
    name: str  # "allreduce", "send"
    words: str  # as an explanation says it: "send(dest=1, tag=0)"
    line: str  # the learner's
    sequence: int = -1  # of a collective, counted in its communicator
    group: str = ""  # the communicator
    peer: int = -1  # the other rank, or the root
    bytes: int = 0
    algorithm: str = ""
    enter: int = 0
    ready: int = 0
    leave: int = 0
    began: float = 0.0  # wall clock
    ended: float = 0.0
    parent: int = -1  # the collective that this call is a part of
    failed: str = ""


@dataclass
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


@dataclass
class Work:
    """A rank computed from `begin` to `end`."""

    rank: int
    begin: int
    end: int
    words: str = ""


@dataclass
class Record:
    """Everything that the ranks of one world did."""

    size: int
    policy: str = ""
    seed: int = 0
    network: dict[str, float] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    messages: list[Sent] = field(default_factory=list)
    work: list[Work] = field(default_factory=list)
    schedule: list[int] = field(default_factory=list)
    waits: list[dict[str, Any]] = field(default_factory=list)  # who waited for whom when it ended in a deadlock
    failure: str = ""

    @property
    def duration(self) -> int:
        """Virtual ns from the start to the end of the last rank."""
        ends = [c.leave for c in self.calls] + [w.end for w in self.work]
        return max(ends, default=0)

    def as_dict(self) -> dict[str, Any]:
        """Everything as one JSON document."""
        return {"format": "jt_edu.ranks", "version": VERSION, **asdict(self), "duration": self.duration}

    def __repr__(self) -> str:
        rows = [f"{'rank':>4}  {'calls':>6}  {'sent':>6}  {'bytes':>10}  {'virtual us':>11}"]
        for rank in range(self.size):
            mine = [c for c in self.calls if c.rank == rank]
            out = [m for m in self.messages if m.source == rank]
            end = max([c.leave for c in mine] + [w.end for w in self.work if w.rank == rank], default=0)
            rows.append(
                f"{rank:>4}  {sum(c.parent < 0 for c in mine):>6}  {len(out):>6}  "
                f"{sum(m.bytes for m in out):>10}  {end / 1e3:>11.3f}"
            )
        return "\n".join([*rows, *([self.failure] if self.failure else [])])
