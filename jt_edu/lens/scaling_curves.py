"""Scaling curves: how long would each collective of a record take on ever more ranks, by every algorithm there is?

    curves([record, ...])     the part `curves` of a page: closed forms as numbers of trips, bytes and doors, and points

A closed form (mpi/perf_model/model.py) is a sum of trips and of doors. Asked with a machine that only writes down what
it is asked for, it gives, for each number of ranks P, the numbers of

    time(P) = trips (L + 2 o) + bytes G + doors max(o, g + bytes_behind G) + ...

so that the browser can draw the curve for any L, o and G. Nothing here draws.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from jt_edu.mpi.communicator.collective_call import plain
from jt_edu.mpi.perf_model.model import CLOSED, Machine, known, predict
from jt_edu.mpi.perf_model.replay import meetings_of
from jt_edu.mpi.trace.records import Call, Record

RANKS = (2, 3, 4, *(1 << k for k in range(3, 14)), 10_000)
MOST = 8  # collectives that have curves; those that took longest


@dataclass(frozen=True)
class Sum:
    """So many trips and doors, each of so many bytes: what a closed form is made of."""

    parts: Mapping[tuple[str, float], float] = field(default_factory=dict)

    def __add__(self, other: Sum | float) -> Sum:
        found = dict(self.parts)
        for key, many in other.parts.items() if isinstance(other, Sum) else ():
            found[key] = found.get(key, 0) + many
        return Sum(found)

    __radd__ = __add__  # sum() begins with 0

    def __mul__(self, times: float) -> Sum:
        return Sum({key: times * many for key, many in self.parts.items()})

    __rmul__ = __mul__


class Paper:
    """A machine that writes down which messages it is asked for."""

    def trip(self, size: float) -> Sum:
        """One message from rank to rank."""
        return Sum({("trip", size): 1})

    def door(self, size: float) -> Sum:
        """One more message that comes behind another one."""
        return Sum({("door", size): 1})


def curves(records: Sequence[Record]) -> list[dict[str, Any]]:
    """For each kind and size of collective in the first record: a curve for each algorithm, and what was measured.

    Example:
        >>> from jt_edu.mpi.simulator.threads import run_ranks
        >>> found = curves([run_ranks(2, lambda comm: comm.barrier()).record])
        >>> found[0]["name"], [line["name"] for line in found[0]["lines"]], found[0]["measured"]
        ('barrier', ['naive', 'dissemination'], [{'name': 'native', 'size': 2, 'nanos': 5500}])
    """
    found = [_measured(record) for record in records]
    took: dict[tuple[str, int], int] = {}
    for kind, _, _, nanos in found[0]:
        took[kind] = max(took.get(kind, 0), nanos)
    wanted = sorted(took, key=lambda kind: -took[kind])[:MOST]
    return [
        {
            "name": name,
            "bytes": size,
            "lines": [{"name": how, "points": [_point(name, how, p, size) for p in RANKS]} for how in known(name)],
            "measured": list(_points((name, size), found)),
        }
        for name, size in wanted
    ]


def _points(kind: tuple[str, int], found: Iterable[Iterable[tuple[Any, ...]]]) -> Iterable[dict[str, Any]]:
    """The longest time of each algorithm and number of ranks."""
    longest: dict[tuple[str, int], int] = {}
    for record in found:
        for other, how, size, nanos in record:
            if other == kind:
                longest[how, size] = max(longest.get((how, size), 0), nanos)
    return ({"name": how, "size": size, "nanos": nanos} for (how, size), nanos in longest.items())


def _measured(record: Record) -> list[tuple[tuple[str, int], str, int, int]]:
    """((name, bytes), algorithm, ranks, ns from the last arrival to the end) of each collective that has curves."""
    found, ends = [], _ends(record)
    names = {name for name, _ in CLOSED}
    for numbers in meetings_of(record.calls).values():
        calls = [record.calls[k] for k in numbers]
        name = plain(calls[0].name)
        if name in names and len(calls) > 1 and not any(call.failed for call in calls):
            brought = max(call.bytes for call in calls)
            nanos = max(ends[call.number] for call in calls) - max(_times(record, call)[0] for call in calls)
            if nanos > 0:
                found.append(((name, brought), calls[0].algorithm or "native", len(calls), nanos))
    return found


def _ends(record: Record) -> dict[int, int]:
    """When each call was over, with all of its parts: what began in the background may end later than its call."""
    ends = {call.number: _times(record, call)[1] for call in record.calls}
    for call in reversed(record.calls):
        if call.parent >= 0:
            ends[call.parent] = max(ends[call.parent], ends[call.number])
    return ends


def _times(record: Record, call: Call) -> tuple[int, int]:
    """When a call began and ended, in ns of the virtual clock where there is one."""
    return (call.enter, call.leave) if record.network else (round(call.began * 1e9), round(call.ended * 1e9))


def _point(name: str, algorithm: str, ranks: int, size: int) -> list[float]:
    """P, trips, bytes, and pairs of doors and the bytes behind the first one of each."""
    told = cast("Any", predict(name, algorithm, ranks, size, cast("Machine", Paper())))
    parts = [(what, max(long - 1, 0.0), many) for (what, long), many in told.parts.items() if many] if told else []
    trips = sum(many for what, _, many in parts if what == "trip")
    moved = sum(many * behind for what, behind, many in parts if what == "trip")
    return [ranks, trips, moved, *(n for what, behind, many in parts if what == "door" for n in (many, behind))]
