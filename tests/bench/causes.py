"""Causes: a row missed its goal: where does our time go, and what is the limit?

    case.ours  --traced--------------->  kernels: seconds, bytes, operations          phases of them: the cost model
               --timed---------------->  the whole call, and what is left beside the kernels
               --profiled------------->  of that, Python: writing the graph, planning, launching
    the run    ----------------------->  operations per second at the peak, bytes per second of a plain copy

    shares     of the time of the row, in percent; they add to 100
    limit      the longer of two times: all operations at the peak, or the bytes of each kernel as a plain copy;
               a kernel that hardly writes can take less than the copy, and then that is said

An algorithm that needs products and something around them (transforms of Winograd and Fourier, packing of others) is
one kernel, whose clock does not tell them apart. Its cost model does: with k times the samples and the channels of both
sides, products grow by k * k * k, and work around them by less, so for a large k only products are left. (What
Winograd does anew for each block of tiles grows as they do, and is counted with them.)

A row is explained right after it was measured, and its figures are not touched. Rows made of other rows have no calls
of their own, and say in a sentence what they are made of.
"""

import cProfile
import pstats
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from jt_edu.backends.convolve import Algorithm, Sizes
from jt_edu.base.context import current
from jt_edu.base.trace import KernelRun
from tests.bench import report, shares
from tests.bench.measure import enough
from tests.bench.rows import Case, Cause, Result, Run

CALLS = 100  # of which each kernel counts as in its fastest
PROFILED = 0.1  # seconds of calls
HALF, ALL = 0.5, 0.99
MANY = 1 << 10  # k
FARTHEST = 3  # rows that are named
FEWER = {"winograd2": 16 / 36, "winograd4": 36 / 144, "fourier": 0.0}  # of the operations; Fourier's are not counted
TRANSFORMS = ("winograd2", "winograd4", "fourier")
RUNNING = (
    ("jt_edu/runtime/execute.py", "run"),
    ("jt_edu/capture/compiled_step.py", "_replay"),
)  # what runs a graph, or replays a step
PLANNING = (("jt_edu/runtime/execute.py", "recall"), ("jt_edu/runtime/execute.py", "_way_alone"))
ON_HOST = (("jt_edu/runtime/execute.py", "_run_on_host"),)
COMPILED = "<dynamic>"  # a part of the name of each function that numba has compiled

Parts = dict[tuple[str, str], float]  # name and phase -> seconds


def of(result: Result, case: Case | None, run: Run) -> Cause:
    """The cause of a missed goal; to be asked right after the row was measured."""
    if case is None:
        return result.row.why(result, run) if result.row.why else Cause("it is made of other rows")
    kernels = shares.fastest(case.ours, CALLS)
    busy = sum(k.milliseconds for k in kernels) / 1e3
    whole = max(busy, min((result.figures.ours or 0.0) / 1e3, shares.whole(case.ours, CALLS)))
    parts = by_part(kernels, known_sizes()) | beside(whole - busy, python_of(case.ours))
    return Cause(in_words(parts), limit_in_words(limit_of(kernels, run), busy, whole, result))


# ------------------------------------------------------------------------------------------------------------- shares


def by_part(kernels: Iterable[KernelRun], known: Mapping[Any, tuple[Algorithm, Sizes]]) -> Parts:
    """Seconds of kernels by algorithm, or by kind where they have none, and of its phases."""
    parts: Parts = {}
    for k in kernels:
        for phase, share in phases(k, known.get(named(k))).items():
            key = (k.algorithm or (k.calls[0] if k.calls else k.kind), phase)
            parts[key] = parts.get(key, 0.0) + share * k.milliseconds / 1e3
    return parts


def phases(kernel: KernelRun, way: tuple[Algorithm, Sizes] | None) -> dict[str, float]:
    """The share of each phase of a kernel; one without a name if they are not known, or there is only one."""
    products = products_of(*way) if way else 1.0
    if products > ALL:
        return {"": 1.0}
    return {"products": products, "transforms" if kernel.algorithm in TRANSFORMS else "packing": 1 - products}


def products_of(algorithm: Algorithm, s: Sizes) -> float:
    """The share of products, by the cost model; 1 for groups, whose channels do not grow one by one."""
    if s.groups > 1:
        return 1.0
    many = replace(s, n=s.n * MANY, c=s.c * MANY, o=s.o * MANY)
    return min(1.0, algorithm.seconds(many) / MANY**3 / algorithm.seconds(s))


def known_sizes() -> dict[Any, tuple[Algorithm, Sizes]]:
    """The convolutions of all plans that are remembered: a trace names the algorithm, and not what it was given."""
    plans = list(current().rank_state.get("plans", {}).values())
    return {named(step): (step.own.algorithm, step.own.sizes) for p in plans for step in p.steps if step.own}


def named(kernel: Any) -> tuple[str, int, int]:
    """What a kernel of a trace and the step of a plan have in common."""
    return kernel.key, kernel.flops, kernel.bytes


def beside(seconds: float, python: Mapping[str, float]) -> Parts:
    """What is left beside the kernels: Python, up to what a profile says of it, which is more than it takes alone."""
    profiled = sum(python.values())
    told = min(seconds, profiled)
    parts = {("Python", stage): told * part / profiled for stage, part in python.items()} if profiled else {}
    return {**parts, ("the rest", ""): seconds - told}


def python_of(call: Callable[[], object]) -> dict[str, float]:
    """Seconds of Python in a call, by what it was at, as a profiler sees it: about twice as long as without."""
    calls = enough(call, least=PROFILED)
    profiler = cProfile.Profile()
    profiler.enable()
    for _ in range(calls):
        call()
    profiler.disable()
    found: Mapping[Any, Any] = pstats.Stats(profiler).stats  # type: ignore[attr-defined]
    total = sum(entry[2] for entry in found.values())
    running, planning, on_host = (min(total, _spent(found, names)) for names in (RUNNING, PLANNING, ON_HOST))
    kernels = on_host + sum(entry[2] for (_, _, name), entry in found.items() if COMPILED in name)
    spent = {"writing": total - running, "planning": planning, "launching": max(0.0, running - planning - kernels)}
    return {stage: seconds / calls for stage, seconds in spent.items()}


def _spent(found: Mapping[Any, Any], names: Iterable[tuple[str, str]]) -> float:
    """Seconds in some functions, and in what they call."""
    wanted = set(names)
    return sum(
        entry[3] for (file, _, name), entry in found.items() if ("/".join(Path(file).parts[-3:]), name) in wanted
    )


def percent(parts: Mapping[Any, float]) -> dict[Any, int]:
    """Whole numbers that add to 100: the largest fractions are rounded up."""
    total = sum(parts.values())
    if not total:
        return {}
    exact = {key: 100 * part / total for key, part in parts.items()}
    whole = {key: int(number) for key, number in exact.items()}
    upwards = sorted(exact, key=lambda key: whole[key] - exact[key])[: 100 - sum(whole.values())]
    return {key: number + (key in upwards) for key, number in whole.items()}


def in_words(parts: Parts) -> str:
    """The shares, the largest first: "Python 80% (launching 50, writing 30), loops 20%"."""
    groups: dict[str, dict[str, int]] = {}
    for (name, phase), number in percent(parts).items():
        if number:
            groups.setdefault(name, {})[phase] = number
    ordered = sorted(groups.items(), key=lambda group: -sum(group[1].values()))
    return ", ".join(f"{name} {sum(inner.values())}%{_inner(inner)}" for name, inner in ordered)


def _inner(phases: Mapping[str, int]) -> str:
    told = sorted(phases.items(), key=lambda phase: -phase[1])
    if set(phases) == {""}:
        return ""
    texts = [f"{phase or 'the rest'} {number}" for phase, number in told]
    return f" ({', '.join(texts)})"


# -------------------------------------------------------------------------------------------------------------- limit


def limit_of(kernels: Sequence[KernelRun], run: Run) -> tuple[float, str]:
    """Seconds below which this machine cannot do what these kernels do, and what it is that takes them."""
    arithmetic = sum(k.flops * FEWER.get(k.algorithm, 1.0) for k in kernels) / run.peak
    memory = sum(run.copy_seconds(k.bytes) for k in kernels)
    return max((arithmetic, "arithmetic"), (memory, "memory"))


def limit_in_words(limit: tuple[float, str], busy: float, whole: float, result: Result) -> str:
    """The limit as a time and as a ratio; where most of the time is no kernel, the ratio that kernels alone have."""
    seconds, what = limit
    peer = (result.figures.peer or 0.0) / 1e3
    told = f"{what}: {report.time_of(seconds * 1e3)}" if seconds else "nothing is counted"
    if seconds > whole:
        told += ", and it takes less"
    elif seconds and peer:
        told += f", ratio {peer / seconds:.2f}"
    if busy < HALF * whole and busy and peer:
        told += f"; kernels alone: {peer / busy:.2f}"
    return told


# ---------------------------------------------------------------------------------------------- rows without a call


def of_rows(results: Sequence[Result]) -> Cause:
    """Of a mean: how many rows it is made of, and which are the farthest behind."""
    behind = sorted((r for r in results if r.figures.ratio), key=lambda r: r.figures.ratio or 0.0)
    names = "; ".join(f"{r.row.name} ({r.figures.ratio:.2f})" for r in behind[:FARTHEST])
    return Cause(f"the mean of {len(behind)} rows; farthest behind: {names}", "that of its rows")


def of_threads(one: Sequence[KernelRun], two: Sequence[KernelRun], whole: float) -> Cause:
    """What two threads spend where, of `whole` seconds, and how many times as long one thread takes for it.

    The limit is that of Amdahl: all kernels in half the time, and Python as it is.
    """
    alone, both = (_without_phases(by_part(kernels, {})) for kernels in (one, two))
    python = max(0.0, whole - sum(both.values()))
    numbers = percent({**both, "Python": python})
    told = {name: f"{name} {numbers[name]}% ({alone.get(name, 0.0) / s:.2f}x)" for name, s in both.items() if s}
    told["Python"] = f"Python {numbers['Python']}% (1.00x)"
    ordered = sorted(told, key=lambda name: -numbers[name])
    kernels = sum(alone.values())
    limit = (kernels + python) / (kernels / 2 + python)
    return Cause(", ".join(told[n] for n in ordered if numbers[n]), f"kernels in half the time: ratio {limit:.2f}")


def _without_phases(parts: Parts) -> dict[str, float]:
    return {name: seconds for (name, _), seconds in parts.items()}
