"""Rows: what is a line of the table, what is its goal, and how is it filled in?

    Row  --build(*size)-->  Case: ours, peer, limit  --take_turns-->  Figures  --goals-->  Result
    Row  --work(run)--------------------------------------------->   Figures               for what is no pair of calls
                                               a goal was missed  -->  Cause: where the time goes, what the limit is

A row says as data what it measures and what it should reach. Both sides are given the same numbers, and before anything
is timed their answers are compared. A row that fails is told in the table, and the others go on. How a cause is found
is not known here: whoever fills the rows says who looks for it.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

import jt_edu as jt
from tests.bench import limits
from tests.bench.keeping import best_kept
from tests.bench.measure import Clock, largest_error, spread, take_turns

AT_LEAST = {"ratio", "limit"}
LEAST_COPY, MOST_COPY = 1 << 18, 1 << 27  # bytes: a shorter one would measure the call, a longer one nothing new


@dataclass(frozen=True)
class Goal:
    """A bar: `ratio` (peer / ours) and `limit` (share of it) at least, `ms` and `over` at most."""

    kind: str
    value: float

    def met(self, figures: "Figures") -> bool:
        found = {"ratio": figures.ratio, "limit": figures.limit, "ms": figures.ours, "over": figures.over}[self.kind]
        if found is None:
            return False
        return found >= self.value if self.kind in AT_LEAST else found <= self.value


@dataclass(frozen=True)
class Case:
    """The calls of a row. `limit` does what the row cannot do without, and is worth `limit_share` of it."""

    ours: Callable[[], Any]
    peer: Callable[[], Any]
    limit: Callable[[], Any] | None = None
    limit_share: float = 1.0
    limit_of: str = "copy"  # what the limit does
    steps: int = 1  # how many calls one after the other are compared: training has a memory
    told: Callable[[np.ndarray], np.ndarray] | None = None  # what is compared of an array, if not all of it
    flops: float = 0  # additions and multiplications of a call, for rows that are held to the peak of the machine
    how: Callable[[], str] | None = None  # asked when all has run: in which way ours did it


@dataclass(frozen=True)
class Figures:
    """What was found; times in ms of CPU. Nothing at all, but in `how` the reason: the row could not be measured."""

    ours: float | None = None
    peer: float | None = None
    ratio: float | None = None
    spread: tuple[float, float] | None = None  # quartiles of the ratio
    limit: float | None = None  # share of the limit that was reached
    error: float | None = None
    rounds: int = 0  # if the row was so slow that it got fewer than the others
    how: str = ""  # the algorithm
    limit_of: str = ""  # which limit: the peak, a copy ...
    over: float | None = None  # a choice among candidates: how many times as long as the best of them it takes
    kept: float | None = None  # the ratio, if malloc gave nothing back; only where the peer has page faults

    @property
    def measured(self) -> bool:
        return not all(found is None for found in (self.ours, self.ratio, self.over))


@dataclass(frozen=True)
class Cause:
    """Why a goal was missed."""

    where: str  # the time goes
    limit: str = ""  # how fast it could be


@dataclass(frozen=True)
class Row:
    """A line of the table: either `build` and its sizes, or `work`."""

    name: str
    goals: tuple[Goal, ...] = ()
    build: Callable[..., Case] | None = None
    size: tuple[int, ...] = ()
    tiny: tuple[int, ...] = ()
    work: "Callable[[Run], Figures] | None" = None
    group: str = ""
    column: str = ""  # rows of one group with columns share a line of a wide table
    tolerance: float = 2e-5
    why: "Callable[[Result, Run], Cause] | None" = None  # asked if a row made by `work` missed a goal


@dataclass(frozen=True)
class Result:
    row: Row
    figures: Figures = field(default_factory=Figures)
    failed: str = ""
    cause: Cause | None = None  # if a goal was missed

    @property
    def missed(self) -> list[Goal]:
        return [g for g in self.row.goals if not g.met(self.figures)] if self.figures.measured else []


@dataclass
class Run:
    """What rows know of the run that they are part of."""

    rounds: int = 25
    quick: bool = False
    clock: Clock = time.process_time
    box: float = math.inf  # seconds that the rounds of one row may take, but for the first five
    results: list[Result] = field(default_factory=list)
    compiled: list[float] = field(default_factory=list)  # seconds, one for each kernel that was compiled
    copies: dict[int, float] = field(default_factory=dict)  # bytes that a copy moves -> bytes per second

    @cached_property
    def peak(self) -> float:
        """Float operations per second at best, measured once in each run."""
        return limits.peak()

    def copy_seconds(self, size: int) -> float:
        """How long a plain copy takes to move so many bytes, at the speed of one at most an eighth shorter."""
        step = max(1 << size.bit_length() >> 4, 1)  # half the length may fit into a cache where the whole does not
        near = min(max(size // step * step, LEAST_COPY), MOST_COPY)
        if near not in self.copies:
            self.copies[near] = limits.copy_speed(near)
        return size / self.copies[near]


Explain = Callable[[Result, Case | None, Run], Cause]


def fill(row: Row, run: Run, explain: Explain | None = None) -> Result:
    """Measure a row, and have it explained if it missed a goal. Whatever goes wrong is part of the result."""
    case = None
    try:
        case = row.build(*row.size) if row.build else None
        figures = row.work(run) if case is None else measure_case(case, row, run)
        result = Result(row, figures)
        if figures.error is not None and not figures.error <= row.tolerance:
            result = Result(row, figures, f"wrong: an error of {figures.error:.1e}, {row.tolerance:.0e} is allowed")
    except Exception as error:  # noqa: BLE001  a bench goes on
        result = Result(row, failed=in_short(error))
    if explain and result.missed and not result.failed:
        result = replace(result, cause=cause_of(result, case, run, explain))
    run.results.append(result)
    return result


def cause_of(result: Result, case: Case | None, run: Run, explain: Explain) -> Cause:
    """The cause; that it could not be found is no reason to lose the row."""
    try:
        return explain(result, case, run)
    except Exception as error:  # noqa: BLE001  a bench goes on
        return Cause(f"it could not be profiled: {in_short(error)}")


def in_short(error: Exception) -> str:
    """An error in one line."""
    return f"{type(error).__name__}: {error}".splitlines()[0]


def measure_case(case: Case, row: Row, run: Run) -> Figures:
    """Compile, compare, then time all sides by turns."""
    warm_malloc()
    error, seconds = compare(case)
    run.compiled += seconds
    sides = {"ours": case.ours, "peer": case.peer} | ({"limit": case.limit} if case.limit else {})
    times = take_turns(sides, run.rounds, run.clock, box=run.box)
    ours, peer = times["ours"], times["peer"]
    limit, limit_of = None, ""
    if case.limit:
        limit, limit_of = times["limit"].best * case.limit_share / ours.best, case.limit_of
    if case.flops:
        limit, limit_of = case.flops / ours.best / run.peak, "peak"
    few, how = len(ours.times), case.how() if case.how else ""
    kept = best_kept(case.peer, run.clock)
    return Figures(
        ours.best * 1e3, peer.best * 1e3, peer.best / ours.best, spread(peer, ours), limit, error,
        few if few < run.rounds else 0, how, limit_of, kept=kept and min(kept, peer.best) / ours.best,
    )  # fmt: skip


def warm_malloc() -> None:
    """Let malloc keep blocks of up to 32 MB that were freed: page faults cost as much as a kernel.

    glibc does so for blocks up to the largest that it has seen come and go, and no larger than that. For others, see
    keeping.py.
    """
    np.empty((32 << 20) - (64 << 10), np.uint8)


def compare(case: Case) -> tuple[float, list[float]]:
    """The largest error of ours beside the peer, and the seconds that each new kernel took to compile."""
    worst, seconds = 0.0, []
    for _ in range(case.steps):
        with jt.trace() as t:
            ours = numbers(case.ours(), case.told)
        seconds += [k.compile_seconds for k in t.kernels if k.compiled]
        worst = max(worst, largest_error(ours, numbers(case.peer(), case.told)))
    return worst, seconds


def numbers(answer: Any, told: Callable[[np.ndarray], np.ndarray] | None = None) -> list[np.ndarray]:
    """The arrays in an answer: a Var, a tensor, or several."""
    if isinstance(answer, (tuple, list)):
        return [n for part in answer for n in numbers(part, told)]
    array = np.array(answer.detach().numpy() if hasattr(answer, "numpy") else answer)
    return [told(array) if told else array]


def vars_and_tensors(*arrays: np.ndarray) -> tuple[list[Any], list[Any]]:
    """The same numbers for both sides, each in memory of its own, as its users would have them."""
    import torch  # noqa: PLC0415  tests that have no peer still import this file

    return [jt.array(a) for a in arrays], [torch.tensor(a) for a in arrays]
