"""Shares: where does the time of a call go?

    kernels     by kind: the algorithm of a convolution, product (BLAS), loops (all that was generated), code, host
    the rest    writing and planning the graph in Python, launching kernels, memory

A kernel is timed on the wall clock and the whole call by its CPU time, one thread each; the best of a few calls counts,
and two are enough where each takes seconds. It shows what is large, and no more.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import jt_edu as jt
from tests.bench import report
from tests.bench.rows import Result

CALLS, FEWEST, BOX = 7, 2, 1.0  # calls: so many, or as many as fit into a second, and at least two
SMALL = 0.01  # shares that are not told


def told(call: Callable[[], Any]) -> str:
    """The shares of a call in words, the largest first."""
    kernels, whole_call = times(call), whole(call)
    rest = max(0.0, whole_call - sum(kernels.values()))
    total = rest + sum(kernels.values())
    ordered = sorted(kernels.items(), key=lambda entry: -entry[1])
    parts = [f"{name} {seconds / total:.0%}" for name, seconds in ordered if seconds >= SMALL * total]
    return ", ".join([*parts, f"Python and the rest {rest / total:.0%}"])


def times(call: Callable[[], Any]) -> dict[str, float]:
    """Seconds of the kernels of a call, by kind: each kernel as fast as in the fastest of a few calls."""
    found: dict[str, float] = {}
    for k in fastest(call):
        name = k.algorithm or k.kind
        found[name] = found.get(name, 0.0) + k.milliseconds / 1e3
    return found


def fastest(call: Callable[[], Any], calls: int = CALLS) -> list[Any]:
    """The kernels of a call, each as it ran in the fastest of a few calls."""
    runs = _some(partial(_kernels, call), calls)
    return [min(same, key=lambda k: k.milliseconds) for same in zip(*runs, strict=False)]


def tables(results: Sequence[Result]) -> str:
    """The tables of a suite whose rows tell their shares: these stand in a list of their own."""
    plain = [replace(r, figures=replace(r.figures, how="")) if r.figures.measured else r for r in results]
    lines = [f"* {r.row.name}: {r.figures.how}" for r in results if r.figures.measured and r.figures.how]
    head = ["Where the time of jt_edu goes:", "\n".join(lines)] if lines else []
    return "\n\n".join([report.tables(plain), *head])


def algorithms(call: Callable[[], Any]) -> str:
    """How the convolutions of a call are computed; "loops" if none of them has an algorithm."""
    names = dict.fromkeys(k.algorithm or k.kind for k in _kernels(call))
    return ", ".join(name for name in names if name not in ("loops", "code", "host")) or "loops"


def whole(call: Callable[[], Any], calls: int = CALLS) -> float:
    """CPU seconds of the fastest of a few calls."""
    return min(_some(partial(_seconds, call), calls))


def _some(what: Callable[[], Any], calls: int = CALLS) -> list[Any]:
    """What a few calls told."""
    told, begin = [], time.perf_counter()
    while len(told) < FEWEST or (len(told) < calls and time.perf_counter() - begin < BOX):
        told.append(what())
    return told


def _kernels(call: Callable[[], Any]) -> list[Any]:
    with jt.trace() as t:
        call()
    return t.kernels


def _seconds(call: Callable[[], Any]) -> float:
    begin = time.process_time()
    call()
    return time.process_time() - begin
