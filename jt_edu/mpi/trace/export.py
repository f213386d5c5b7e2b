"""Export: a record of ranks as trace events, which Perfetto and chrome://tracing draw.

    "ph": "X"         a bar: a call, or a piece of work; `ts` and `dur` in microseconds, one thread, `tid`, a rank
    "ph": "s", "f"    both ends of an arrow: a message leaves, and is there; the same `id` at both
    "ph": "M"         names of threads, and their order

    record.save("run.json")      the same file also holds the whole record, which Record.load reads back

Viewers ask for more than the format says: bars of one thread lie inside each other or apart; each end of an arrow
lies in a bar, before its last nanosecond, or it is tied to the bar that comes next; what has no length is not there. So
a bar lasts a nanosecond at least, and what was received between two calls, by a test, gets a bar of its own.

Trace event format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jt_edu.base.errors import ArgumentError

if TYPE_CHECKING:
    from jt_edu.mpi.trace.records import Call, Record, Sent

Event = dict[str, Any]
PROCESS = 1


def trace_events(record: Record, clock: str = "") -> dict[str, Any]:
    """Everything that the ranks did, as trace events.

    Args:
        record: what they did.
        clock: "virtual" or "wall"; "" for the virtual one where there is one, as among simulated ranks.

    Raises:
        ArgumentError: there is no such clock.

    Example:
        >>> from jt_edu.mpi.simulator.threads import run_ranks
        >>> record = run_ranks(2, lambda comm: comm.sendrecv(comm.rank, 1 - comm.rank)).record
        >>> [event["ph"] for event in trace_events(record)["traceEvents"]].count("s")
        2
    """
    if clock not in ("", "virtual", "wall"):
        raise ArgumentError("ranks have a virtual and a wall clock", repr(clock), 'clock="virtual"')
    clock = clock or ("virtual" if record.network else "wall")
    told = _Times(record, clock)
    events = [*told.bars(), *(told.work() if clock == "virtual" else ()), *told.arrows()]
    events.sort(key=lambda event: (event["ts"], -event.get("dur", 0.0)))  # what lies inside comes after what it lies in
    return {
        "traceEvents": [*told.names(), *events],
        "displayTimeUnit": "ns",
        "otherData": {"ranks": record.size, "clock": clock, "failure": record.failure},
    }


class _Times:
    """When everything was, on one of the two clocks, in ns; and on which thread."""

    def __init__(self, record: Record, clock: str) -> None:
        self.record, self.virtual = record, clock == "virtual"
        self.ends = [self._ends(call) for call in record.calls]
        tasks = {which: task for what, task, which in record.steps if what == "enter"}
        self.thread: list[int] = []
        for call in record.calls:
            self.thread.append(tasks.get(call.number, self._thread(call)))
        self.ranks = {rank: rank for rank in range(record.size)}
        self.ranks |= {thread: call.rank for thread, call in zip(self.thread, record.calls, strict=True)}
        self.outer: dict[int, list[int]] = defaultdict(list)  # of each thread, calls that lie in no other
        for number in sorted(range(len(self.ends)), key=lambda n: (self.ends[n][0], -self.ends[n][1])):
            mine = self.outer[self.thread[number]]
            if not mine or self.ends[number][1] > self.ends[mine[-1]][1]:
                mine.append(number)

    def _ends(self, call: Call) -> tuple[int, int]:
        """When a call began and when it ended, in ns."""
        begin, end = (call.enter, call.leave) if self.virtual else (round(call.began * 1e9), round(call.ended * 1e9))
        return begin, max(begin + 1, end)

    def _thread(self, call: Call) -> int:
        """Where no task is known, as among real ranks: what goes on after its call is over is in the background."""
        if call.parent < 0:
            return call.rank
        if self.ends[call.number][0] < self.ends[call.parent][1]:
            return self.thread[call.parent]
        return self.record.size + call.parent

    def names(self) -> Iterator[Event]:
        """One thread for each rank, and for what a rank does in the background."""
        yield {"ph": "M", "pid": PROCESS, "tid": 0, "name": "process_name", "args": {"name": "ranks"}}
        for thread, rank in sorted(self.ranks.items()):
            words = f"rank {rank}" + (", in the background" if thread >= self.record.size else "")
            of = {"ph": "M", "pid": PROCESS, "tid": thread}
            yield {**of, "name": "thread_name", "args": {"name": words}}
            yield {**of, "name": "thread_sort_index", "args": {"sort_index": thread}}

    def bars(self) -> Iterator[Event]:
        """The calls."""
        for call, thread, ends in zip(self.record.calls, self.thread, self.ends, strict=True):
            details = {"call": call.words, "line": call.line, "bytes": call.bytes, "algorithm": call.algorithm}
            if call.failed:
                details["failed"] = call.failed
            yield _bar(thread, call.name, "call", ends, details)

    def work(self) -> Iterator[Event]:
        """What the ranks computed, which only their virtual clocks know."""
        for work in self.record.work:
            ends = work.begin, max(work.begin + 1, work.end)
            yield _bar(work.rank, "compute", "work", ends, {"what": work.words})

    def arrows(self) -> Iterator[Event]:
        """The messages that somebody took."""
        for message in self.record.messages:
            if message.taker < 0 or message.call < 0:
                continue
            first, (sent, done) = self.ends[message.call][0], self._when(message)
            begin, end = self._inside(message.call, sent), self._inside(message.taker, done)
            begin = first if begin is None else begin if end is None else max(first, min(begin, end))
            details = {"bytes": message.bytes, "tag": message.tag}
            if end is None or end < begin:
                end = max(begin, done)
                yield _bar(self.thread[message.taker], "received", "message", (end, end + 1), details)
            both = {"pid": PROCESS, "cat": "message", "name": "message", "id": message.number, "args": details}
            yield {**both, "ph": "s", "tid": self.thread[message.call], "ts": begin / 1e3}
            yield {**both, "ph": "f", "bp": "e", "tid": self.thread[message.taker], "ts": end / 1e3}

    def _when(self, message: Sent) -> tuple[int, int]:
        """When a message left, and when it was there: on the wall clock of simulated ranks, by their calls."""
        if self.virtual or not self.record.network:
            return message.sent, max(message.sent, message.done)
        begin = self.ends[message.call][0]
        return begin, max(begin, self.ends[message.taker][1])

    def _inside(self, number: int, time: int) -> int | None:
        """The time, if it is in a call or at its end, or in another one of its thread: before the last ns of that."""
        mine = self.outer[self.thread[number]]
        before = bisect_right(mine, time, key=lambda n: self.ends[n][0]) - 1
        for other in (number, *mine[max(0, before - 1) : before + 1]):
            begin, end = self.ends[other]
            if begin <= time <= end:
                return min(time, end - 1)
        return None


def _bar(thread: int, name: str, kind: str, ends: tuple[int, int], details: Event) -> Event:
    begin, end = ends
    return {
        "ph": "X", "pid": PROCESS, "tid": thread, "name": name, "cat": kind, "ts": begin / 1e3,
        "dur": (end - begin) / 1e3, "args": details,
    }  # fmt: skip


def save(record: Record, path: str | Path) -> Path:
    """Write trace events, and beside them the record itself, which those who draw them pass over."""
    if not isinstance(path, (str, Path)) or Path(path).suffix.lower() != ".json":
        raise ArgumentError("a record is saved as .json", repr(path), '"run.json"')
    document = {**trace_events(record), "record": record.as_dict()}
    Path(path).write_text(json.dumps(document, separators=(",", ":")), encoding="utf-8")
    return Path(path)


def read(path: str | Path) -> dict[str, Any]:
    """The record in a file that `save` wrote."""
    try:
        found: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))["record"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ArgumentError("a record of ranks is read from a file that save wrote", f"{path}: {error!r}") from None
    return found
