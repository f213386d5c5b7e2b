"""Merge: one record of a job from what each of its ranks noted down.

    rank 0   call 0, call 1, sent 0 ...            calls of all ranks in the order in which they began, on one clock;
    rank 1   call 0, taken 0 ...                   a message is what one rank sent and another took

The monotonic clock is common to all processes of a machine, so times need no fitting together. When all ranks have come
to a good end, the record also tells what they began and never ended, in the words of simulated ranks.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from jt_edu.mpi.base.constants import ANY_TAG
from jt_edu.mpi.base.deadlock_hints import MOST, RECEIVE
from jt_edu.mpi.communicator.request import Request
from jt_edu.mpi.mpi4py_backend.call_log import MOST_CALLS, Journal, Taken
from jt_edu.mpi.trace.records import Call, Record, Sent, Work

Notes = Mapping[str, Any]  # of one rank, as JSON


def notes(journal: Journal, begun: Iterable[Request] = (), began: int = 0) -> dict[str, Any]:
    """What a rank noted down, to be sent to whoever merges it.

    Args:
        journal: where it did.
        begun: what it did not wait for.
        began: when its program did, in ns of the monotonic clock.
    """
    return {
        "rank": journal.rank,
        "calls": [asdict(c) for c in journal.record.calls],
        "messages": [asdict(m) for m in journal.record.messages],
        "work": [asdict(w) for w in journal.record.work],
        "taken": [asdict(t) for t in journal.taken],
        "groups": journal.groups,
        "meetings": {str(call): place for call, place in journal.meetings.items()},
        "began": max(0, began - journal.start),
        "now": journal.now,
        "begun": [
            {"words": r.words, "line": r.line, "peers": list(r.peers), "kind": r.kind, "tag": r.tag} for r in begun
        ],
    }


def merged(size: int, told: Sequence[Notes]) -> Record:
    """One record of all ranks; a rank that told nothing is not in it."""
    record = Record(size, "mpi")
    numbers = _calls(record, told)
    _meetings(record, told, numbers)
    _messages(record, told, numbers)
    record.work = sorted((Work(**w) for rank in told for w in rank["work"]), key=lambda w: (w.begin, w.rank))
    _count_from(record, min([rank["began"] for rank in told] + [call.enter for call in record.calls[:1]], default=0))
    if len(told) == size and not any(rank.get("error") for rank in told):
        record.warnings = _unfinished(record, told)
    return record


Numbers = dict[tuple[int, int], int]  # (rank, its number of a call) -> the number in the record


def _calls(record: Record, told: Sequence[Notes]) -> Numbers:
    record.calls = sorted(
        (Call(**c) for rank in told for c in rank["calls"]), key=lambda c: (c.enter, c.rank, c.number)
    )
    ends = {rank["rank"]: (rank["now"], (rank.get("error") or {}).get("kind", "")) for rank in told}
    for call in record.calls:
        if not call.ended:  # it still waited when all was over
            call.leave, call.failed = ends[call.rank]
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


def _count_from(record: Record, start: int) -> None:
    """All times, in ns from `start`: what comes before it, imports of ours, is nobody's interest."""
    for call in record.calls:
        call.enter, call.ready, call.leave = call.enter - start, call.ready - start, call.leave - start
        call.began, call.ended = call.enter / 1e9, call.leave / 1e9
    for message in record.messages:
        message.sent -= start
        if message.done >= 0:
            message.arrived, message.taken, message.done = (
                time - start for time in (message.arrived, message.taken, message.done)
            )
    for work in record.work:
        work.begin, work.end = work.begin - start, work.end - start


def _unfinished(record: Record, told: Sequence[Notes]) -> list[str]:
    """Sentences about messages that nobody took, and requests for which nobody waited."""
    begun = sorted(((rank["rank"], one) for rank in told for one in rank["begun"]), key=lambda pair: pair[0])
    rows = []
    if all(len(rank["calls"]) < MOST_CALLS for rank in told):  # else whoever took it may not be noted down
        for message in _left(record, begun):
            call = record.calls[message.call]
            rows.append(f"nobody received the message of rank {call.rank}, {call.words} at {call.line}")
    rows += [f"rank {rank} did not wait for its {one['words']} at {one['line']}" for rank, one in begun]
    return rows if len(rows) <= MOST else [*rows[:MOST], f"and {len(rows) - MOST} more of that kind"]


def _left(record: Record, begun: Sequence[tuple[int, Notes]]) -> list[Sent]:
    """The learner's messages that were not taken, but those that a receive would take if it were waited for."""
    found, open_receives = [], [(rank, one) for rank, one in begun if one["kind"] == RECEIVE]
    for message in record.messages:
        if message.done >= 0 or message.call < 0 or record.calls[message.call].parent >= 0:
            continue
        takers = [
            (rank, one) for rank, one in open_receives
            if rank == message.dest and message.source in one["peers"] and one["tag"] in (message.tag, ANY_TAG)
        ]  # fmt: skip
        if takers:
            open_receives.remove(takers[0])
        else:
            found.append(message)
    return found
