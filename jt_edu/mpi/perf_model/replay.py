"""Replay: how long would the same program have taken on another network?

    record.steps   what moved a clock, in the order in which it happened: (what, task, which)

        enter, leave, late   a call begins, ends, ends because its time was up         which: the call
        work                 a rank computes                                           which: the piece of work
        send, take, told     a message leaves, is taken, is known to have been taken   which: the message
        meet                 a native collective ends for one rank                     which: the call
        fork, join           a helper of a rank begins, and is waited for              which: the parent; the helper

Each step moves the clock of one task by the rules of network.py, and reads only what steps before it have left. So the
same steps with other parameters give the times of the same program on another network, in the order that was recorded.
Tasks 0, 1, ... are the ranks; helpers have higher numbers. The browser does the same (views/ranks/replay.js).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from jt_edu.mpi.algorithms.combine import cost
from jt_edu.mpi.communicator.collective_call import plain
from jt_edu.mpi.trace.network import Clock, Network
from jt_edu.mpi.trace.records import Call, Record, Sent, Work

COMPUTE, WAIT, TRANSFER = "compute", "wait", "transfer"


@dataclass
class Span:
    """What a task did from `begin` to `end`: compute, wait for somebody, or send and receive."""

    task: int
    rank: int
    kind: str
    begin: int
    end: int
    call: int = -1


@dataclass
class Replay:
    """All times of a record, worked out again for a network; and what each task did meanwhile.

    Args:
        record: of simulated ranks; under a real MPI no steps are known, and there is nothing to work out.
        network: another one, or that of the record.

    Example:
        >>> from jt_edu.mpi.simulator.threads import run_ranks
        >>> record = run_ranks(2, lambda comm: comm.sendrecv(0, 1 - comm.rank)).record
        >>> record.duration, Replay(record).duration, Replay(record, Network(latency=1_000_000)).duration
        (5501, 5501, 1003001)
    """

    record: Record
    network: Network | None = None
    calls: list[Call] = field(default_factory=list)
    messages: list[Sent] = field(default_factory=list)
    work: list[Work] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.before = network_of(self.record)
        self.net = self.network or self.before
        self.calls = [replace(call) for call in self.record.calls]
        self.messages = [replace(message) for message in self.record.messages]
        self.work = [replace(work) for work in self.record.work]
        self.clocks = {rank: Clock(self.net) for rank in range(self.record.size)}
        self.ranks = {rank: rank for rank in range(self.record.size)}
        self.meetings = meetings_of(self.calls)
        for what, task, which in self.record.steps:
            getattr(self, f"_{what}")(task, which)

    @property
    def duration(self) -> int:
        """Virtual ns until the last rank had ended."""
        return max((clock.now for clock in self.clocks.values()), default=0)

    def _enter(self, task: int, which: int) -> None:
        call = self.calls[which]
        call.enter = call.ready = call.leave = self.clocks[task].now

    def _leave(self, task: int, which: int) -> None:
        self.calls[which].leave = self.clocks[task].now

    def _late(self, task: int, which: int) -> None:
        """It waited as long as it was allowed to, which no network changes."""
        call, allowed = self.calls[which], self.record.calls[which]
        self._pass(task, call.enter + allowed.leave - allowed.enter, WAIT, which)
        self._leave(task, which)

    def _work(self, task: int, which: int) -> None:
        work, clock = self.work[which], self.clocks[task]
        work.begin, work.end = clock.now, clock.now + work.end - work.begin
        self._pass(task, work.end, COMPUTE)

    def _send(self, task: int, which: int) -> None:
        message, clock = self.messages[which], self.clocks[task]
        begin, extra = clock.now, delay(self.record.messages[which], self.before)
        message.sent, message.arrived = clock.send(message.bytes)
        message.arrived += extra
        self._span(task, TRANSFER, begin, clock.now, message.call)

    def _take(self, task: int, which: int) -> None:
        message, clock = self.messages[which], self.clocks[task]
        begin, call = clock.now, self.calls[message.taker]
        call.ready = max(call.enter, message.arrived)
        message.taken, message.done = clock.receive(message.arrived, message.bytes)
        call.leave = clock.now
        ready = min(max(begin, message.sent), message.taken)
        self._span(task, WAIT, begin, ready, message.taker)
        self._span(task, TRANSFER, ready, clock.now, message.taker)

    def _told(self, task: int, which: int) -> None:
        message = self.messages[which]
        posted = self.calls[message.taker].enter if message.taker >= 0 else 0
        self._pass(task, posted, WAIT, message.call)
        self._pass(task, max(posted, message.arrived) + round(self.net.latency), TRANSFER, message.call)

    def _meet(self, task: int, which: int) -> None:
        call = self.calls[which]
        group = self.meetings[call.meeting]
        call.ready = max(self.calls[k].enter for k in group)
        most = max(self.calls[k].bytes for k in group)
        self._pass(task, call.ready, WAIT, which)
        self._pass(task, call.ready + cost(plain(call.name), len(group), most, self.net), TRANSFER, which)

    def _fork(self, task: int, which: int) -> None:
        self.clocks[task], self.ranks[task] = replace(self.clocks[which]), self.ranks[which]

    def _join(self, task: int, which: int) -> None:
        self._pass(task, self.clocks[which].now, WAIT)

    def _pass(self, task: int, until: int, kind: str, call: int = -1) -> None:
        clock = self.clocks[task]
        begin, clock.now = clock.now, max(clock.now, until)
        self._span(task, kind, begin, clock.now, call)

    def _span(self, task: int, kind: str, begin: int, end: int, call: int) -> None:
        if end > begin:
            self.spans.append(Span(task, self.ranks[task], kind, begin, end, call))


def network_of(record: Record) -> Network:
    """The network of a record; one without any cost where there was none, as under a real MPI."""
    return Network(**record.network) if record.network else Network(0, 0, 0, 0, 0, 0)  # type: ignore[arg-type]


def delay(message: Sent, network: Network) -> int:
    """How much longer than the network says a message was under way, because of a fault."""
    usual = round(network.overhead) + round(network.latency) + network.byte_time(message.bytes)
    return message.arrived - message.sent - usual


def meetings_of(calls: Sequence[Call]) -> dict[object, list[int]]:
    """The calls that make up each collective, by its number in its world; where it has none, by its group's count."""
    found: dict[object, list[int]] = {}
    for call in calls:
        if call.sequence >= 0:
            key = call.meeting if call.meeting >= 0 else (call.group, call.sequence)
            found.setdefault(key, []).append(call.number)
    return found
