"""Jittor reports: what ran inside a `with`, as a table of Jittor's profiler, or as lines of its log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from jt_edu.base.context import flag_scope, trace

COLUMNS = (
    "Name", "FileName", "Count", "TotalTime", "AvgTime", "MinTime", "MaxTime", "Input", "Output", "InOut", "Compute",
)  # fmt: skip


@contextmanager
def profile_scope(**flags: Any) -> Iterator[list[list[str]]]:
    """A table of the kernels that run inside, filled at the end: the header, then the most expensive first.

    Times are in ns, `Input`, `Output` and `InOut` in bytes and `Compute` in operations for each second.

    Example:
        >>> with profile_scope() as report:
        ...     _ = (jt.ones(8) * 2 + 1).sync()
        >>> report[0][:4], report[1][2]
        (['Name', 'FileName', 'Count', 'TotalTime'], '1')
    """
    report: list[list[str]] = []
    with flag_scope(**flags), trace() as t:
        yield report
    written: dict[int, int] = defaultdict(int)
    for event in t.memory:
        written[event.kernel] += event.bytes * (event.action == "allocate")
    runs = defaultdict(list)
    for number, kernel in enumerate(t.kernels):
        runs[kernel.name, kernel.path].append((kernel.milliseconds * 1e6, kernel.bytes, written[number], kernel.flops))
    report.append(list(COLUMNS))
    for (name, path), rows in sorted(runs.items(), key=lambda item: -sum(r[0] for r in item[1])):
        times, moved, out, flops = zip(*rows, strict=True)
        total = sum(times)
        rates = [
            sum(each) / max(total, 1) * 1e9
            for each in ((m - o for m, o in zip(moved, out, strict=True)), out, moved, flops)
        ]
        figures = (len(rows), total, total / len(rows), min(times), max(times), *rates)
        report.append([name, path, *(f"{figure:.0f}" for figure in figures)])


@contextmanager
def log_capture_scope(**flags: Any) -> Iterator[list[dict[str, Any]]]:
    """A list with a line for each kernel that runs inside, filled at the end.

    Example:
        >>> with log_capture_scope() as logs:
        ...     _ = (jt.ones(8) * 2).sync()
        >>> logs[0]["level"], "multiply" in logs[0]["msg"]
        ('i', True)
    """
    logs: list[dict[str, Any]] = []
    with flag_scope(**flags), trace() as t:
        yield logs
    for kernel in t.kernels:
        ops = ", ".join(line.op for line in kernel.lines)
        text = f"{'compiled and run' if kernel.compiled else 'run'}: {kernel.name} ({ops}) by {kernel.backend}"
        logs.append({"level": "i", "name": "jt_edu", "msg": text, "file": kernel.path})
