"""Engine: how long does a schedule take, for ten thousand ranks, without running any of them?

    Round(dest, bytes, source)      every source sends one message; then every destination takes the one for it
    Compute(ns, ranks)              ranks compute

A schedule is a list of these steps, or something that makes them one by one. A rank goes through the steps in which
it stands, in their order, and is not held up by the others: a round is no barrier, only many events written at once.

    rank 0  send to 1 |           |           The same rules as `network.Clock`, for all ranks of a step at a time:
    rank 1            | take      | send      so the engine and simulated ranks agree to the nanosecond.

Nothing here knows what the messages are for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jt_edu.base.plural import plural
from jt_edu.mpi.trace.network import Network
from jt_edu.mpi.trace.records import Sent
from jt_edu.ops.arguments import whole

Ints = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Round:
    """One message from each source. No rank stands twice among the sources, nor among the destinations.

    Args:
        dest: (k,), who takes each message.
        bytes: of each message: (k,), or one number for all.
        source: (k,), who sends it; None: every rank, in order.
    """

    dest: Ints
    bytes: Ints | int
    source: Ints | None = None


@dataclass(frozen=True)
class Compute:
    """Ranks compute for so many ns: one number or one for each; `ranks` None: all of them."""

    ns: Ints | int
    ranks: Ints | None = None


Step = Round | Compute


@dataclass
class Timing:
    """What a schedule took: when each rank was done, in ns, and what it sent."""

    ends: Ints  # (P,)
    sent: Ints  # (P,), bytes
    count: Ints  # (P,), messages
    messages: list[Sent] = field(default_factory=list)

    @property
    def duration(self) -> int:
        """ns until the last rank was done."""
        return int(self.ends.max(initial=0))

    def __repr__(self) -> str:
        sent = plural(int(self.count.sum()), "message")
        return (
            f"{plural(len(self.ends), 'rank')}: {self.duration / 1e3:.3f} µs, {sent}, "
            f"{int(self.sent.sum())} bytes, at most {int(self.sent.max(initial=0))} from one rank"
        )


def run(steps: Iterable[Step], ranks: int, network: Network | None = None, keep: bool = False) -> Timing:
    """Go through a schedule.

    Args:
        steps: see above; `schedules.schedule` makes them for a collective.
        ranks: how many there are.
        network: how long messages take.
        keep: note down every message, as simulated ranks do.

    Raises:
        ArgumentError: there is no rank.

    Example:
        >>> tree = [Round(np.array([1]), 8, np.array([0])), Round(np.array([2, 3]), 8, np.array([0, 1]))]
        >>> run(tree, ranks=4, network=Network(latency=2500, overhead=1500, byte=6)).ends.tolist()
        [3000, 7042, 7042, 11084]
    """
    whole("run", "ranks", ranks, 1)
    clocks = Clocks(network or Network(), ranks)
    told = Timing(clocks.now, np.zeros(ranks, np.int64), np.zeros(ranks, np.int64))
    for step in steps:
        if isinstance(step, Compute):
            clocks.now[_place(step.ranks)] += step.ns
            continue
        times = clocks.exchange(step)
        told.sent[_place(step.source)] += step.bytes
        told.count[_place(step.source)] += 1
        if keep:
            told.messages += _kept(step, times, len(told.messages))
    return told


def events(steps: Iterable[Step], rank: int) -> list[tuple[str, int, int]]:
    """What one rank does, in its order: ("send", to whom, bytes), ("take", from whom, bytes), ("compute", -1, ns).

    Example:
        >>> there, back = Round(np.array([1]), 8, np.array([0])), Round(np.array([0]), 4, np.array([1]))
        >>> events([there, Compute(500), back], rank=1)
        [('take', 0, 8), ('compute', -1, 500), ('send', 0, 4)]
    """
    found = []
    for step in steps:
        if isinstance(step, Compute):
            places = [rank] if step.ranks is None else np.flatnonzero(step.ranks == rank)
            found += [("compute", -1, int(step.ns if np.ndim(step.ns) == 0 else np.ravel(step.ns)[k])) for k in places]
            continue
        source = np.arange(len(step.dest)) if step.source is None else step.source
        sizes = np.broadcast_to(step.bytes, source.shape)
        found += [("send", int(step.dest[k]), int(sizes[k])) for k in np.flatnonzero(source == rank)]
        found += [("take", int(source[k]), int(sizes[k])) for k in np.flatnonzero(step.dest == rank)]
    return found


class Clocks:
    """The times of all ranks: (P,) each. See `network.Clock`, which is one of them."""

    def __init__(self, network: Network, ranks: int) -> None:
        self.now, self.out, self.into = (np.zeros(ranks, np.int64) for _ in range(3))
        self.latency, self.overhead, self.gap = (round(t) for t in (network.latency, network.overhead, network.gap))
        self.byte = network.byte

    def exchange(self, step: Round) -> tuple[Ints, Ints, Ints, Ints]:
        """All sends of a round, then all receives: (k,) when each was sent, arrived, was taken, was there."""
        wire = np.rint(np.maximum(step.bytes - np.int64(1), 0) * self.byte).astype(np.int64)
        source, dest = _place(step.source), step.dest
        sent = np.maximum(self.now[source], self.out[source])
        self.now[source] = sent + self.overhead
        self.out[source] = sent + (self.gap + wire)
        arrived = sent + (self.overhead + self.latency + wire)
        last = np.maximum(arrived, self.into[dest] + wire)  # byte is in
        self.into[dest] = last + self.gap
        taken = np.maximum(self.now[dest], last)
        self.now[dest] = taken + self.overhead
        return sent, arrived, taken, taken + self.overhead


def _place(ranks: Ints | None) -> Any:
    """Where their times stand: a view of everything, if it is all ranks."""
    return slice(None) if ranks is None else ranks


def _kept(step: Round, times: tuple[Ints, Ints, Ints, Ints], first: int) -> list[Sent]:
    count = len(step.dest)
    source = np.arange(count) if step.source is None else step.source
    rows = (source, step.dest, np.broadcast_to(step.bytes, (count,)), *times)
    return [
        Sent(first + k, s, d, 0, size, sent, arrived, taken, done)
        for k, (s, d, size, sent, arrived, taken, done) in enumerate(zip(*(r.tolist() for r in rows), strict=True))
    ]
