"""Export: a record of ranks as trace events, which Perfetto and chrome://tracing draw.

    "ph": "X"         a bar: a call, or a piece of work; `ts` and `dur` in microseconds, one thread, `tid`, a rank
    "ph": "s", "f"    both ends of an arrow: a message leaves, and is there; the same `id` at both
    "ph": "M"         names of threads

    record.save("run.json")      the same file also holds the whole record, which Record.load reads back

Trace event format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jt_edu.errors import ArgumentError

if TYPE_CHECKING:
    from jt_edu.mpi.record.records import Call, Record

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
        >>> from jt_edu.mpi.simulated.threads import run_ranks
        >>> record = run_ranks(2, lambda comm: comm.sendrecv(comm.rank, 1 - comm.rank)).record
        >>> [event["ph"] for event in trace_events(record)["traceEvents"]].count("s")
        2
    """
    if clock not in ("", "virtual", "wall"):
        raise ArgumentError("ranks have a virtual and a wall clock", repr(clock), 'clock="virtual"')
    clock = clock or ("virtual" if record.network else "wall")
    told = _Times(record, clock)
    events = [*told.bars(), *(told.work() if clock == "virtual" else ()), *told.arrows()]
    events.sort(key=lambda event: event["ts"])
    return {
        "traceEvents": [*told.names(), *events],
        "displayTimeUnit": "ns",
        "otherData": {"ranks": record.size, "clock": clock, "failure": record.failure},
    }


class _Times:
    """When everything was, on one of the two clocks, in microseconds."""

    def __init__(self, record: Record, clock: str) -> None:
        self.record, self.virtual = record, clock == "virtual"
        self.thread = {which: task for what, task, which in record.steps if what == "enter"}
        self.ranks = {self.thread.get(call.number, call.rank): call.rank for call in record.calls}

    def names(self) -> Iterator[Event]:
        """One thread for each rank, and for what a rank does in the background."""
        yield {"ph": "M", "pid": PROCESS, "tid": 0, "name": "process_name", "args": {"name": "ranks"}}
        for thread, rank in sorted(({rank: rank for rank in range(self.record.size)} | self.ranks).items()):
            words = f"rank {rank}" + (", in the background" if thread >= self.record.size else "")
            yield {"ph": "M", "pid": PROCESS, "tid": thread, "name": "thread_name", "args": {"name": words}}

    def bars(self) -> Iterator[Event]:
        """The calls."""
        for call in self.record.calls:
            begin, end = self.ends(call)
            details = {"call": call.words, "line": call.line, "bytes": call.bytes, "algorithm": call.algorithm}
            if call.failed:
                details["failed"] = call.failed
            yield {
                "ph": "X", "pid": PROCESS, "tid": self.of(call), "name": call.name, "cat": "call", "ts": begin,
                "dur": max(0.0, end - begin), "args": details,
            }  # fmt: skip

    def work(self) -> Iterator[Event]:
        """What the ranks computed, which only their virtual clocks know."""
        for work in self.record.work:
            yield {
                "ph": "X", "pid": PROCESS, "tid": work.rank, "name": "compute", "cat": "work", "ts": work.begin / 1e3,
                "dur": (work.end - work.begin) / 1e3, "args": {"what": work.words},
            }  # fmt: skip

    def arrows(self) -> Iterator[Event]:
        """The messages that somebody took."""
        for message in self.record.messages:
            if message.taker < 0 or message.call < 0:
                continue
            out, into = self.record.calls[message.call], self.record.calls[message.taker]
            begin, end = message.sent / 1e3, message.done / 1e3
            if not self.virtual:
                begin, end = self.ends(out)[0], self.ends(into)[1]
            both = {"pid": PROCESS, "cat": "message", "name": "message", "id": message.number}
            details = {"bytes": message.bytes, "tag": message.tag}
            yield {**both, "ph": "s", "tid": self.of(out), "ts": begin, "args": details}
            yield {**both, "ph": "f", "bp": "e", "tid": self.of(into), "ts": max(begin, end), "args": details}

    def of(self, call: Call) -> int:
        """The thread of a call."""
        return self.thread.get(call.number, call.rank)

    def ends(self, call: Call) -> tuple[float, float]:
        """When a call began and when it ended."""
        return (call.enter / 1e3, call.leave / 1e3) if self.virtual else (call.began * 1e6, call.ended * 1e6)


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
