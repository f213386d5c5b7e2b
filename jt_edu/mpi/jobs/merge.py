"""Merge: one record of a job from what each of its ranks noted down.

    rank 0   call 0, call 1, sent 0 ...            calls of all ranks in the order in which they began, on one clock;
    rank 1   call 0, taken 0 ...                   a message is what one rank sent and another took

The monotonic clock is common to all processes of a machine, so times need no fitting together.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from jt_edu.mpi.real.progress import Journal, Taken
from jt_edu.mpi.record.records import Call, Record, Sent, Work

Notes = Mapping[str, Any]  # of one rank, as JSON


def notes(journal: Journal) -> dict[str, Any]:
    """What a rank noted down, to be sent to whoever merges it."""
    return {
        "rank": journal.rank,
        "calls": [asdict(c) for c in journal.record.calls],
        "messages": [asdict(m) for m in journal.record.messages],
        "work": [asdict(w) for w in journal.record.work],
        "taken": [asdict(t) for t in journal.taken],
        "groups": journal.groups,
        "meetings": {str(call): place for call, place in journal.meetings.items()},
    }


def merged(size: int, told: Sequence[Notes]) -> Record:
    """One record of all ranks; a rank that told nothing is not in it."""
    record = Record(size, "mpi")
    numbers = _calls(record, told)
    _meetings(record, told, numbers)
    _messages(record, told, numbers)
    record.work = sorted((Work(**w) for rank in told for w in rank["work"]), key=lambda w: (w.begin, w.rank))
    return record


Numbers = dict[tuple[int, int], int]  # (rank, its number of a call) -> the number in the record


def _calls(record: Record, told: Sequence[Notes]) -> Numbers:
    record.calls = sorted(
        (Call(**c) for rank in told for c in rank["calls"]), key=lambda c: (c.enter, c.rank, c.number)
    )
    numbers = {(c.rank, c.number): k for k, c in enumerate(record.calls)}
    for k, call in enumerate(record.calls):
        call.parent = numbers.get((call.rank, call.parent), -1)
        call.number = k
    return numbers


def _meetings(record: Record, told: Sequence[Notes], numbers: Numbers) -> None:
    """Number the collectives; each call of one is ready when its last rank has come."""
    meetings: dict[str, list[Call]] = defaultdict(list)
    for rank in told:
        for call, place in rank["meetings"].items():
            meetings[place].append(record.calls[numbers[rank["rank"], int(call)]])
    ordered = sorted(meetings.values(), key=lambda calls: min(c.number for c in calls))
    for number, calls in enumerate(ordered):
        last = max(c.enter for c in calls)
        for call in calls:
            call.meeting, call.ready = number, max(call.enter, min(last, call.leave))


def _messages(record: Record, told: Sequence[Notes], numbers: Numbers) -> None:
    """Bring together who sent and who took: messages of one kind from one rank to another keep their order."""
    ways: dict[tuple[str, int, int, int], deque[Taken]] = defaultdict(deque)
    for taken in sorted((Taken(**t) for rank in told for t in rank["taken"]), key=lambda t: t.began):
        ways[taken.group, taken.source, taken.dest, taken.tag].append(taken)
    sent = [(Sent(**m), group) for rank in told for m, group in zip(rank["messages"], rank["groups"], strict=True)]
    for number, (message, group) in enumerate(sorted(sent, key=lambda pair: (pair[0].sent, pair[0].source))):
        message.call = numbers.get((message.source, message.call), -1)
        waiting = ways[group, message.source, message.dest, message.tag]
        if waiting:
            taken = waiting.popleft()
            message.taker = numbers.get((message.dest, taken.call), -1)
            message.arrived = message.done = max(message.sent, taken.ended)
            message.taken = min(message.done, max(message.sent, taken.began))
        message.number = number
        record.messages.append(message)
