"""Run: what happened in a launch, and what was wrong with it?

print(run)          the findings, or that nothing is wrong; and which lines are slow
run.slow            lines at which a warp makes more trips to memory than it needs
run.snapshots       each block at each barrier
run.trips           what each warp touches together, and in how many trips to memory; of a large launch the beginning
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from jt_edu.base.errors import KernelError
from jt_edu.cuda.costs import MOST, Costs, Trip
from jt_edu.cuda.findings import Finding, ThreadNumber, found_and_cure, told
from jt_edu.cuda.history import Access, bits
from jt_edu.cuda.memory import Array, Memory
from jt_edu.cuda.thread import WARPSIZE, Dim3, Thread
from jt_edu.cuda.translator import Place, Program, is_translated, place_of

STEPS, SECONDS = 1_000_000, 30.0  # iterations of the loops of one thread; of a launch
KINDS = 40  # findings that are kept
PICTURED = 1_000_000  # threads and numbers in all snapshots: a large launch repeats itself


class Ended(Exception):  # noqa: N818 - no error
    """The launch ends at this place."""


@dataclass
class Snapshot:
    """A block at a barrier, or at its end: where its threads stand, and what its shared memory holds."""

    block: int
    epoch: int
    lines: dict[int, int]  # thread -> line; 0 for one that has ended
    shared: dict[str, np.ndarray[Any, Any]]
    writers: dict[str, np.ndarray[Any, Any]]  # of each element the thread that wrote it last, -1 for none
    read: dict[str, list[tuple[int, int, int]]]  # since the last barrier: address, first lane of a warp, bits of lanes
    name: str = ""  # "barrier 1" and so on, "end", or "stuck"

    @property
    def readers(self) -> dict[str, dict[int, list[int]]]:
        """Of each array, by address: who has read it since the last barrier."""
        found: dict[str, dict[int, set[int]]] = {name: {} for name in self.read}
        for name, touched in self.read.items():
            for address, first, lanes in touched:
                found[name].setdefault(address, set()).update(first + lane for lane in bits(lanes))
        return {name: {address: sorted(who) for address, who in of.items()} for name, of in found.items()}


@dataclass
class Run:
    """What happened in a launch.

    Args:
        program: what ran.
        grid: blocks.
        block: threads of each.
        shared: bytes of shared memory that the launch adds.
        steps: how many iterations the loops of one thread may make, all together.
        costs: who touched what.

    Example:
        >>> @jt.cuda.jit
        ... def copied(x, out):
        ...     out[jt.cuda.grid(1)] = x[jt.cuda.grid(1)]
        >>> run = jt.cuda.simulate(copied, 1, 32, np.ones(32, np.float32), np.ones(32, np.float32))
        >>> [(trip.name, trip.how, trip.trips) for trip in run.trips]
        [('x', 'read', 4), ('out', 'write', 4)]
    """

    program: Program
    grid: Dim3
    block: Dim3
    shared: int = 0
    steps: int = STEPS
    snapshots: list[Snapshot] = field(default_factory=list)
    costs: Costs = field(default_factory=Costs)
    now: Any = None  # the thread whose turn it is
    until: float = 0.0  # when its time is over
    _found: dict[Any, Finding] = field(default_factory=dict)
    _threads: dict[Any, dict[ThreadNumber, None]] = field(default_factory=dict)  # of each finding, in their order
    _kept: int = 0  # threads and numbers in snapshots

    @property
    def trips(self) -> list[Trip]:
        """What lanes of each warp touched together, and in how many trips; the first 200,000 accesses are counted."""
        return list(self.costs.trips())

    def __str__(self) -> str:
        wrong = [*map(str, self.findings)] or [f"{self.program.name}: nothing is wrong"]
        slow = ", ".join(f"{finding.kind} in line {finding.line}" for finding in self.slow)
        return "\n".join([*wrong, *([f"slow, see run.slow: {slow}"] if slow else [])])

    # ------------------------------------------------------------------------------------ what the interpreter says

    def told(self, threads: Iterable[Thread]) -> str:
        """Threads in words."""
        return told((t.in_grid for t in threads), self._called)

    def _called(self, thread: int) -> str:
        x, y, z = self.block.x, self.block.y, self.block.z
        if y == z == 1:
            return str(thread)
        at = (thread % x, thread // x % y, thread // (x * y))
        return f"({', '.join(map(str, at[: 2 + (z > 1)]))})"

    def report(
        self, kind: str, place: Place, words: str | Callable[[], str], array: str = "", others: Iterable[Thread] = (),
        other: int = 0, at: Iterable[Thread] = (),
    ) -> None:  # fmt: skip
        """Keep a finding. Of those of one kind at one line the first is told, with all threads that did the same."""
        who = list(at) or [self.now]
        key = kind, place.function, array, frozenset((place.line, other or place.line))
        if key not in self._found:
            if len(self._found) >= KINDS:
                raise Ended(place)
            sentence = f"{self.told(who)} {words if isinstance(words, str) else words()}"
            self._found[key] = Finding(kind, place.function, place.line, place.text, (), sentence, array, other)
        self._threads.setdefault(key, {}).update(dict.fromkeys(t.in_grid for t in (*who, *others)))

    @property
    def findings(self) -> list[Finding]:
        """What is wrong. That nobody has written a number is no news where it is a race who is first."""
        found = [replace(finding, threads=tuple(self._threads[key])) for key, finding in self._found.items()]
        races = {(f.function, f.array, line) for f in found if f.kind == "race" for line in (f.line, f.other)}
        return [f for f in found if f.kind != "unwritten" or (f.function, f.array, f.line) not in races]

    @property
    def slow(self) -> list[Finding]:
        """Lines at which a warp makes more trips to memory than it needs."""
        worst: dict[Any, Trip] = {}
        for trip in self.trips:
            key = trip.place, trip.how, trip.name
            if trip.trips > trip.least and (key not in worst or trip.trips > worst[key].trips):
                worst[key] = trip
        return [self._slow(trip) for trip in worst.values()]

    def _slow(self, trip: Trip) -> Finding:
        threads = tuple((trip.block, trip.warp * WARPSIZE + lane) for lane in trip.lanes)
        who = told(threads, self._called)
        if trip.space == "shared":
            words = (
                f"{who} want {trip.trips} words of one bank of {trip.name}, one after the other; {trip.least} would do"
            )
        else:
            words = (
                f"{who} need {trip.trips} trips for their numbers of {trip.name}; {trip.least} would do for neighbors"
            )
        kind = "bank conflict" if trip.space == "shared" else "scattered"
        place = trip.place
        return Finding(kind, place.function, place.line, place.text, threads, words, trip.name)

    def enough(self, thread: Thread, place: Place) -> None:
        """End a loop that goes round too often, or a launch that has had its time."""
        if thread.steps > self.steps or time.monotonic() > self.until:
            had = f"{self.steps:,} iterations" if thread.steps > self.steps else f"{SECONDS:g} seconds"
            self.report("never ends", place, f"is still in this loop after {had}")
            raise Ended(place)

    def noted(self, place: Place, memory: Memory, address: int, how: str) -> Access:
        """What the thread whose turn it is does now."""
        thread = self.now
        now = (thread, place, thread.block.epoch, thread.time, thread.bit, memory, address, how)
        if len(self.costs.touched) < MOST:
            self.costs.touched.append(now)
        return now

    def stopped(self, error: Exception) -> KernelError:
        """An error of Python's in the thread whose turn it is, with its line."""
        place = place_of(_last_frame(error))
        asked = f"{place.function} stopped in {self.told([self.now])}, in line {place.line}: {place.text}"
        return KernelError(asked, *found_and_cure(error))

    def passed(self, threads: Sequence[Thread], waits: Mapping[Thread, Place], what: str) -> None:
        """Keep a picture of a block that is at a barrier, or at its end; `waits`: where who has not ended stands."""
        block = threads[0].block
        self._kept += len(threads) + sum(a.size for a in block.arrays.values())
        if self._kept > PICTURED:
            return
        arrays: dict[str, Array] = {}
        for a in block.arrays.values():
            same = sum(a.memory.name == other.memory.name for other in arrays.values())
            arrays[a.memory.name + "'" * same] = a  # another one, such as that of a device function
        writers = {name: a.memory.history.writers(a.size) for name, a in arrays.items()}
        read = {name: a.memory.history.readers(block.epoch) for name, a in arrays.items()}
        lines = {t.number: waits[t].line if t in waits else 0 for t in threads}
        shared = {name: a.memory.values.reshape(a.shape).copy() for name, a in arrays.items()}
        self.snapshots.append(Snapshot(block.number, block.epoch, lines, shared, writers, read, what))


def _last_frame(error: Exception) -> Any:
    """The innermost frame of a kernel or a device function."""
    trace, found = error.__traceback__, None
    while trace is not None:
        found = trace.tb_frame if is_translated(trace.tb_frame) else found
        trace = trace.tb_next
    return found
