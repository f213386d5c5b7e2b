"""Kernel timer: how long does each kernel of a plan take once it is warm?

    first run    compiles, touches fresh memory, fills caches: its times say little about the kernel
    more runs    as many as a small budget allows; the least of each kernel counts

A kernel writes its outputs and nothing else, and every run makes those anew, so that running it again changes nothing.
Work on the host is not done again: that may be a message to other ranks, or a learner's own function.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from jt_edu.base.context import current, trace
from jt_edu.base.trace import KernelRun
from jt_edu.ir.node import Node
from jt_edu.runtime.execute import run_plan
from jt_edu.runtime.plan import Plan

BUDGET, MOST = 0.05, 9  # seconds for all further runs, and how many those are at most


def warm(plan: Plan, order: list[Node], first: Sequence[KernelRun]) -> tuple[list[KernelRun], int]:
    """The kernels of a first run, each with the least time of the runs after it, and how many those were.

    Where there is no time for more, or the host takes part, the first run stays as it is, and counts as one.
    """
    rounds: list[list[KernelRun]] = []
    longest = sum(run.milliseconds for run in first) / 1e3  # of a run, as far as we know
    end = time.perf_counter() + BUDGET
    again = not any(step.kind == "host" for step in plan.steps)
    while again and len(rounds) < MOST and time.perf_counter() + longest < end:
        begin = time.perf_counter()
        with trace() as t:
            run_plan(plan, order, current())
        rounds.append(t.kernels)
        longest = time.perf_counter() - begin
    if not rounds:
        return list(first), 1
    least = [min(run.milliseconds for run in same) for same in zip(*rounds, strict=True)]
    return [replace(run, milliseconds=ms) for run, ms in zip(first, least, strict=True)], len(rounds)


def about_times(runs: int) -> str:
    """What the times of a page are, in a sentence; nothing where nothing ran."""
    if not runs:
        return ""
    if runs == 1:
        return "Times are those of one run, the first: the next one may take a small part of that."
    return f"Times are the least of {runs} runs, after a first one; each has the call from Python in it."
