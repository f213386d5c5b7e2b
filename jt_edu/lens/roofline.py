"""Roofline: does a kernel wait for memory or for arithmetic, and how far is it from what this machine can do?

    both_ways(nodes)     the kernels that compute some nodes, timed; and the same with each operator a kernel of its own
    of_trace(trace)      the kernels that ran while a trace was open, as they were timed then

The place of a kernel: operations per byte moved, and operations per second. Both are counted as a trace counts them,
one operation for each element of each operator, so an exp counts as much as a plus. The best of several runs counts.
Everything here is plain data, for a page; nothing here draws.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

from jt_edu.base.context import flag_scope, rank_context, trace
from jt_edu.base.trace import KernelRun, Trace
from jt_edu.introspect.explain import Explanation, in_words
from jt_edu.ir.node import Node
from jt_edu.lens.isolated_run import computed, overheard_by_nobody
from jt_edu.lens.machine import Machine, machine
from jt_edu.ops.create import ones, sync

BUDGET, FEWEST, MOST = 0.4, 2, 30  # seconds for each way of running, and how many runs
LARGE = 512 << 20  # bytes: without fusion a graph may need far more memory, and is not run then
CLEAR = 4  # times that an empty kernel takes: what is shorter says nothing about a kernel
NEAR = 0.5  # of a roof: below that something else holds the kernel up
MUCH = 0.1  # of a kernel's time
OPERATION = "An operation is one element of one operator: an exp counts as much as a plus."
Kernel = dict[str, Any]


def both_ways(nodes: Sequence[Node]) -> dict[str, Any]:
    """The kernels that compute `nodes`, fused and not, with their places under the roofs of this machine."""
    ways, notes = {"fused": _timed(nodes), "unfused": None}, []
    with flag_scope(fuse=False):
        need = Explanation(nodes, {}).predicted_peak
        if need <= LARGE:
            ways["unfused"] = _timed(nodes)
        else:
            notes.append(f"With each operator a kernel it would need {in_words(need, 'B')} of arrays: it was not run.")
    return _section(ways, notes, "Times are the least of several runs.")


def of_trace(ran: Trace) -> dict[str, Any]:
    """The kernels of a trace, with their places under the roofs of this machine."""
    return _section({"fused": _grouped(ran.kernels), "unfused": None}, [], "Of a kernel's runs the fastest counts.")


def _section(ways: dict[str, list[Kernel] | None], notes: list[str], times: str) -> dict[str, Any]:
    m, call = machine(), empty_call()
    for kernel in [k for way in ways.values() for k in way or ()]:
        kernel.update(judged(kernel, m, call))
    fused = ways["fused"] or []
    told = [*_notes(fused, m), *notes]
    summaries = {way: None if kernels is None else _summary(kernels) for way, kernels in ways.items()}
    summary = summaries["fused"] or ""
    rest = {"call_ms": call, "summary": summary, "summaries": summaries, "notes": told, "about": [OPERATION, times]}
    return {"machine": m.as_dict(), "ways": ways, **rest}


def judged(kernel: Kernel, m: Machine, call: float) -> Kernel:
    """Where a kernel stands and what that means; `has_place` is False where its place would be made up."""
    ms, moved, done = kernel["ms"], kernel["bytes"], kernel["flops"]
    found = {"has_place": False, "intensity": None, "speed": None, "bound": "", "share": None}
    if ms < CLEAR * call:
        return {**found, "sentence": f"too short to say, since calling any kernel takes about {call * 1e3:.1f} µs"}
    if not done or not moved:
        speed = f": it moves {in_words(moved / ms * 1e3, 'B')}/s" if moved else ""
        return {**found, "sentence": f"its {'operations' if not done else 'bytes'} are not counted{speed}"}
    intensity, speed, ridge = done / moved, done / ms * 1e3, m.flops_per_second / m.bytes_per_second
    bound = "memory" if intensity < ridge else "arithmetic"
    share = speed / min(m.flops_per_second, intensity * m.bytes_per_second)
    sentence = _sentence(bound, share, moved, m, call / ms)
    place = {"intensity": intensity, "speed": speed, "bound": bound, "share": share}
    return {"has_place": True, **place, "sentence": sentence}


def _sentence(bound: str, share: float, moved: int, m: Machine, overhead: float) -> str:
    name, roof = ("memory-bound", "bandwidth") if bound == "memory" else ("compute-bound", "peak")
    said = f"at {round(share * 100)} % of the {roof}"
    if bound == "memory" and share > 1.05 and moved <= m.cache_bytes:
        return f"faster than memory: {said}, since its {in_words(moved, 'B')} fit in the cache"
    if share >= NEAR:
        return f"{name}: {said}"
    return f"{said}, far below it: {_holds_up(overhead, m.threads)}"


def _holds_up(overhead: float, threads: int) -> str:
    """What a kernel waits for that is far below both roofs, as far as it is known."""
    if overhead >= MUCH:
        return f"being called takes {round(overhead * 100)} % of its time"
    alone = "run on one thread, " * (threads > 1)
    return f"it may {alone}do what takes longer than a plus (exp, divisions, looking up), or wait for new memory"


# timing


def _timed(nodes: Sequence[Node]) -> list[Kernel]:
    """Run what these nodes need several times; the best time of each kernel."""
    e = Explanation(nodes, {})
    wanted = [n for n in e.order if n.id in e.wanted and n.data is None]
    rounds: list[list[KernelRun]] = []
    end = time.perf_counter() + BUDGET
    while len(rounds) < FEWEST or (len(rounds) < MOST and time.perf_counter() < end):
        with overheard_by_nobody(), trace() as t:
            computed(e.order, wanted)
        rounds.append(t.kernels)
    return [_kernel(same, times=1) for same in zip(*rounds, strict=True)]


def _grouped(runs: Iterable[KernelRun]) -> list[Kernel]:
    """Kernels of a trace; those that ran again and again, on arrays as large, are one."""
    groups: dict[Any, list[KernelRun]] = {}
    for run in runs:
        groups.setdefault((run.source, run.bytes, run.flops), []).append(run)
    return [_kernel(same, times=len(same)) for same in groups.values()]


def _kernel(runs: Sequence[KernelRun], times: int) -> Kernel:
    first = runs[0]
    return {
        "key": first.key, "name": first.name, "nodes": list(first.nodes),
        "ms": min(r.milliseconds for r in runs), "times": times, "bytes": first.bytes, "flops": first.flops,
    }  # fmt: skip


def empty_call() -> float:
    """Milliseconds of a kernel that has one element to compute."""
    with rank_context():
        one = ones(1)
        sync([one])
        with trace() as t:
            for _ in range(30):
                sync([one * 2])
    return min(k.milliseconds for k in t.kernels)


# words


def _summary(kernels: Sequence[Kernel]) -> str:
    placed = [k for k in kernels if k["has_place"]]
    count = f"{len(kernels)} kernel{'s' * (len(kernels) != 1)}"
    if not placed:
        return f"{count}, none of which runs long enough to be placed."
    near = [k["bound"] for k in placed if k["share"] >= NEAR]
    longest = max(placed, key=lambda k: k["ms"] * k["times"])
    sides = f"{near.count('memory')} memory-bound, {near.count('arithmetic')} compute-bound"
    sides += f", {len(placed) - len(near)} far below both roofs" if len(near) < len(placed) else ""
    return f"{count}: {sides}. The longest, {longest['name']}, is {longest['sentence']}."


def _notes(kernels: Sequence[Kernel], m: Machine) -> list[str]:
    left = sum(not k["has_place"] for k in kernels)
    notes = [f"{left} of {len(kernels)} kernels have no place on the plot, and are listed below it."] if left else []
    notes += ["This machine was busy while it was measured: its roofs are lower bounds."] if m.disturbed else []
    return notes
