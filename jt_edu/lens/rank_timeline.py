"""Rank timeline: what do the ranks of a record look like side by side, and who was late?

    section(record)        the part `ranks` of a page: calls, messages, work and their order as columns of whole numbers
    arrivals(record)       each collective: when each rank came to it, and how long the others waited for the last one
    summary(record)        one sentence
    spans, arrows          what a picture of the record shows

Columns are many times smaller than a dict for each message. Words stand once, in `texts`, and columns hold their
numbers. Of a long record the beginning is shown, by the order in which things happened, so that whatever is shown has
its causes with it. The browser works the times out again from `order` (jt_edu/mpi/perf_model/replay.py);
nothing here draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

from jt_edu.base.plural import plural
from jt_edu.draw.lanes import nanos_text
from jt_edu.draw.text_metrics import size_text
from jt_edu.mpi.base.deadlock_hints import circle_in
from jt_edu.mpi.perf_model.replay import COMPUTE, TRANSFER, WAIT, Replay, meetings_of
from jt_edu.mpi.trace.records import Record

MOST = 50_000  # calls, and as many messages and pieces of work
MOST_WARNINGS = 3
STEPS = ("enter", "leave", "late", "work", "send", "take", "told", "meet", "fork", "join")

CALLS = "rank name words line sequence group peer bytes algorithm enter ready leave parent meeting failed began ended"
MESSAGES = "source dest tag bytes sent arrived taken done call taker synchronous lost"
WORK = "rank begin end words"
WORDS = {"name", "words", "line", "group", "algorithm", "failed"}
SECONDS = {"began", "ended"}


@dataclass(frozen=True)
class Arrival:
    """One collective: the calls of its ranks in the order in which they came."""

    name: str
    ranks: tuple[int, ...]  # the first one that came first
    times: tuple[int, ...]  # when each of them came

    @property
    def wait(self) -> int:
        """ns that the first one waited for the last one."""
        return self.times[-1] - self.times[0]


def arrivals(record: Record) -> list[Arrival]:
    """The collectives of a record to which more than one rank came, in the order in which they began.

    Example:
        >>> from jt_edu.mpi.simulator.threads import run_ranks
        >>> def program(comm):
        ...     comm.compute(1000 * comm.rank)
        ...     comm.barrier()
        >>> arrivals(run_ranks(3, program).record)
        [Arrival(name='barrier()', ranks=(0, 1, 2), times=(0, 1000, 2000))]
    """
    return [one for one, _ in _met(record)]


def _met(record: Record) -> list[tuple[Arrival, list[int]]]:
    """Each collective, and the numbers of its calls."""
    found, virtual = [], bool(record.network)
    for numbers in meetings_of(record.calls).values():
        if len(numbers) < 2:
            continue
        calls = [record.calls[k] for k in numbers]
        order = sorted(calls, key=lambda c: (c.enter if virtual else c.began, c.rank))
        times = tuple(c.enter if virtual else round(c.began * 1e9) for c in order)
        found.append((Arrival(order[0].words, tuple(c.rank for c in order), times), numbers))
    return found


def summary(record: Record) -> str:
    """How much was said, how long it took, who was late, and how it ended, in one or two sentences."""
    calls = sum(call.parent < 0 for call in record.calls)
    moved = size_text(sum(m.bytes for m in record.messages)) or "0 B"
    said = f"{plural(record.size, 'rank')} made {plural(calls, 'call')}"
    said += f" and sent {plural(len(record.messages), 'message')}"
    end = (
        f"the last one ended after {nanos_text(record.duration)} of virtual time" if record.network else "in real time"
    )
    return " ".join([f"{said} of {moved} in all; {end}.", *_late(arrivals(record)), *_ending(record)])


def _late(found: Sequence[Arrival]) -> Iterable[str]:
    """The rank for which the others waited longest."""
    waited: dict[int, int] = {}
    for one in found:
        waited[one.ranks[-1]] = waited.get(one.ranks[-1], 0) + one.wait
    if waited and max(waited.values()):
        rank = max(waited, key=lambda r: waited[r])
        times = sum(one.ranks[-1] == rank and one.wait > 0 for one in found)
        yield (
            f"Rank {rank} came last to {times} of {plural(len(found), 'collective')}, "
            f"where others waited up to {nanos_text(max(o.wait for o in found if o.ranks[-1] == rank))} for it."
        )


def _ending(record: Record) -> Iterable[str]:
    circle = circle_of(record)
    if circle:
        yield "It ended in a deadlock: " + ", ".join(f"rank {a} waits for rank {b}" for a, b in _pairs(circle)) + "."
    elif record.failure:
        yield f"It ended with {record.failure.split(':', 1)[0]}."


def circle_of(record: Record) -> list[int]:
    """The ranks that wait for each other, the first one once more at the end; [] if there is no such circle."""
    return circle_in({entry["rank"]: list(entry["peers"]) for entry in record.waits})


def _pairs(circle: Sequence[int]) -> Iterable[tuple[int, int]]:
    return pairwise(circle)


def section(record: Record, most: int = MOST) -> dict[str, Any]:
    """A record as a page holds it: its beginning if it is long, in columns."""
    shown, texts = beginning(record, most), Texts()
    return {
        "size": record.size,
        "policy": record.policy,
        "seed": record.seed,
        "network": record.network,
        "duration": record.duration,
        "calls": _columns(shown.calls, CALLS, texts),
        "messages": _columns(shown.messages, MESSAGES, texts),
        "work": _columns(shown.work, WORK, texts),
        "order": [n for what, task, which in shown.steps for n in (STEPS.index(what), task, which)],
        "texts": texts.all,
        "counts": {"calls": len(record.calls), "messages": len(record.messages), "work": len(record.work)},
        "waits": record.waits,
        "circle": circle_of(record),
        "failure": record.failure,
    }


def beginning(record: Record, most: int = MOST) -> Record:
    """The record, up to the step at which it becomes too long to show."""
    lists: dict[str, Sequence[Any]] = {"enter": record.calls, "send": record.messages, "work": record.work}
    if max(len(one) for one in lists.values()) <= most:
        return record
    counts, end = dict.fromkeys(lists, 0), 0
    for what, _, _ in record.steps:
        if what in counts and counts[what] == most:
            break
        counts[what] = counts.get(what, 0) + 1
        end += 1
    calls, messages, work = (counts[what] if record.steps else most for what in lists)
    taken = {which for what, _, which in record.steps[:end] if what == "take"} if record.steps else range(messages)
    kept = [
        replace(
            m, call=m.call if m.call < calls else -1, taker=m.taker if m.taker < calls else -1,
            taken=m.taken if m.number in taken else -1, done=m.done if m.number in taken else -1,
        )
        for m in record.messages[:messages]
    ]  # fmt: skip
    return replace(record, calls=record.calls[:calls], messages=kept, work=record.work[:work], steps=record.steps[:end])


def notes(record: Record, most: int = MOST) -> list[str]:
    """What a page leaves out of a record, in words."""
    shown = beginning(record, most)
    found = []
    if shown is not record:
        found.append(
            f"Showing the first {len(shown.messages):,} of {plural(len(record.messages), 'message')} "
            f"and {len(shown.calls):,} of {plural(len(record.calls), 'call')}."
        )
    if not record.network:
        found.append("There is no virtual clock here: times are those of the wall, and no other network can be tried.")
    return [*found, *record.warnings[:MOST_WARNINGS]]


def spans(record: Record) -> list[dict[str, Any]]:
    """What each rank did when, for a picture: {"rank", "kind", "begin", "end"}, in ns of the clock that it has."""
    if record.network:
        return [asdict(span) for span in Replay(record).spans]
    here = {k: one.times[-1] for one, group in _met(record) for k in group}
    found, free = [], [0] * record.size
    for call in record.calls:
        if call.parent < 0:
            begin, end = round(call.began * 1e9), round(call.ended * 1e9)
            ready = min(max(begin, here.get(call.number, begin)), end)
            cuts = ((COMPUTE, min(free[call.rank], begin), begin), (WAIT, begin, ready), (TRANSFER, ready, end))
            found += [{"rank": call.rank, "kind": k, "begin": a, "end": b} for k, a, b in cuts if b > a]
            free[call.rank] = end
    return found


def arrows(record: Record) -> list[dict[str, Any]]:
    """The messages that were taken, for a picture: {"source", "dest", "sent", "arrived", "bytes"}."""
    return [asdict(m) for m in record.messages if m.taker >= 0]


def text(record: Record) -> str:
    """The ranks as rows, and below them who was late to each collective."""
    rows = [repr(record)]
    for one in arrivals(record):
        times = f"rank {one.ranks[0]} first at {nanos_text(one.times[0])}, rank {one.ranks[-1]} last"
        rows.append(f"{one.name}: {times}, {nanos_text(one.wait)} later")
    return "\n".join(rows)


class Texts:
    """Words, each once; columns hold their numbers."""

    def __init__(self) -> None:
        self.all: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, words: str) -> int:
        """Of these words."""
        found = self._numbers.setdefault(words, len(self.all))
        if found == len(self.all):
            self.all.append(words)
        return found


def _columns(rows: Sequence[Any], names: str, texts: Texts) -> dict[str, list[float]]:
    return {name: [_as_number(name, texts)(getattr(row, name)) for row in rows] for name in names.split()}


def _as_number(name: str, texts: Texts) -> Callable[[Any], float]:
    if name in WORDS:
        return texts.number
    return (lambda seconds: round(seconds * 1e6) * 1000) if name in SECONDS else int
