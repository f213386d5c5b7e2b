"""Measurement: what do the samples of a statement say, and how far can they be trusted?

    samples     |    |  | ||:||  |          |         seconds of one run, once for each block
                     25%   median   75%               the quarter on either side is the business of the machine
                     <--- iqr --->

The median is no better than the samples: `significant_figures` says how many of its digits mean something, from the
middle half of the samples alone. Where the interquartile range is a tenth of the median or more, something else was
going on, and the text says so.

Nothing here measures.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from textwrap import dedent, indent
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.base.plural import plural
from jt_edu.ir.builders import short
from jt_edu.ops.arguments import number, whole

UNITS = (("ns", 1e-9, "nanoseconds"), ("µs", 1e-6, "microseconds"), ("ms", 1e-3, "milliseconds"), ("s", 1.0, "seconds"))
UNSTEADY = 0.1  # iqr / median from which on a measurement comes with a warning
MANY = 4  # samples that quartiles need
LEAST_ERROR = 25e-9  # seconds: no clock of a program sees less
MOST_FIGURES = 5
SURE = 1.645  # standard errors to either side hold 90 % of normal numbers


@dataclass(frozen=True)
class TaskSpec:
    """What was measured; samples of equal tasks can be merged.

    Example:
        >>> task = jt.benchmark.Timer("x + 1", "x = jt.ones(3)", label="one more").timeit(3).task_spec
        >>> task.title, task.num_threads
        ('one more', 1)
    """

    stmt: str
    setup: str = ""
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or else the statement; and the sub-label."""
        text = self.label or dedent(self.stmt).strip()
        if "\n" not in text:
            return f"{text}: {self.sub_label}" if self.sub_label else text
        return f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n{indent(text, '  ')}"

    def summary(self) -> str:
        """Title, description and setup, as lines."""
        setup = dedent(self.setup).strip()
        many = "\n" in setup
        shown = "" if setup in ("", "pass") else f"setup:\n{indent(setup, '  ')}" if many else f"setup: {setup}"
        return "\n".join(part for part in (self.title, self.description, shown) if part)


@dataclass(frozen=True, repr=False)
class Measurement:
    """Samples of a task: `raw_times` has the seconds of each block of `number_per_run` runs.

        times[k] = raw_times[k] / number_per_run         seconds of one run

    Its text gives the median, the interquartile range (from four samples on), and how many runs there were.

    Example:
        >>> task = jt.benchmark.Timer("pass").timeit(1).task_spec
        >>> jt.benchmark.Measurement(10, [1e-5, 2e-5, 3e-5, 4e-5, 5e-5], task)
        <jt.benchmark.Measurement>
        pass
          Median: 3.00 µs
          IQR:    2.00 µs (2.00 to 4.00)
          5 measurements, 10 runs per measurement, 1 thread
          WARNING: The interquartile range is 66.7% of the median: other work may have disturbed this measurement.
    """

    number_per_run: int
    raw_times: Sequence[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        for name, value, kind in (("raw_times", self.raw_times, Iterable), ("task_spec", self.task_spec, TaskSpec)):
            if not isinstance(value, kind):
                raise ArgumentError(f"a Measurement takes {name} as {kind.__name__}", f"{name}={short(value)}")
        count = whole("a Measurement", "number_per_run", self.number_per_run)
        times = tuple(number("a Measurement", "a time", seconds) for seconds in self.raw_times)
        object.__setattr__(self, "number_per_run", count)
        object.__setattr__(self, "raw_times", times)
        if not times or count < 1:
            raise ArgumentError(
                "a Measurement is made of samples, of 1 or more runs each",
                f"{len(self.raw_times)} samples of {self.number_per_run} runs",
            )

    @property
    def times(self) -> list[float]:
        """Seconds of one run, for each block."""
        return [t / self.number_per_run for t in self.raw_times]

    @cached_property
    def _sorted(self) -> list[float]:
        return sorted(self.times)

    @property
    def best(self) -> float:
        """Seconds of the fastest: on a shared machine, the one that was disturbed least."""
        return self._sorted[0]

    @property
    def mean(self) -> float:
        """Mean of the times, in seconds."""
        return math.fsum(self.times) / len(self.times)

    @property
    def median(self) -> float:
        """The time in the middle, in seconds."""
        return self._quantile(0.5)

    @property
    def iqr(self) -> float:
        """Interquartile range, in seconds: from a quarter of the samples to three quarters."""
        return self._quantile(0.75) - self._quantile(0.25)

    def _quantile(self, share: float) -> float:
        """Between two samples, a straight line."""
        return float(np.quantile(self._sorted, share))

    @property
    def significant_figures(self) -> int:
        """How many digits of the median mean something, from 1 to 5.

        Of n samples in the middle half, with standard deviation s:

            error = max(1.645 s / sqrt(n), 25 ns)           90 % of the time the truth lies so near
            figures = floor(-log10(error / median))
        """
        count = len(self._sorted)
        middle = self._sorted[count // 4 : math.ceil(3 * count / 4)]
        error = max(SURE * float(np.std(middle)) / math.sqrt(len(middle)), LEAST_ERROR)
        if self.median <= 0:
            return 1
        return max(1, min(MOST_FIGURES, math.floor(-math.log10(error / self.median))))

    def meets_confidence(self, threshold: float = UNSTEADY) -> bool:
        """Whether the interquartile range is less than so much of the median; with fewer than 4 samples, no."""
        return len(self.times) >= MANY and self.iqr < threshold * self.median

    @property
    def has_warnings(self) -> bool:
        """Whether there are samples enough to see that something was unsteady."""
        return len(self.times) >= MANY and not self.meets_confidence()

    @property
    def title(self) -> str:
        """What was measured, in a line or a few."""
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        """What a line of a table calls it: the sub-label, or else the statement."""
        return self.task_spec.sub_label or self.task_spec.stmt.strip() or "[unknown]"

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One measurement for each task, in the order in which they came first; times are of one run each.

        Example:
            >>> a, b = (jt.benchmark.Timer("pass").timeit(10) for _ in range(2))
            >>> [len(m.times) for m in jt.benchmark.Measurement.merge([a, b])]
            [2]
        """
        times: dict[TaskSpec, list[float]] = {}
        for one in checked("merge", measurements):
            times.setdefault(one.task_spec, []).extend(one.times)
        return [Measurement(1, found, task) for task, found in times.items()]

    def __repr__(self) -> str:
        task, count = self.task_spec, len(self.times)
        name, unit, _ = unit_of(self.median)
        low, median, high = (self._quantile(share) / unit for share in (0.25, 0.5, 0.75))
        many = f"{plural(count, 'measurement')}, {plural(self.number_per_run, 'run')}"
        lines = [
            "<jt.benchmark.Measurement>",
            task.summary(),
            f"  {'Median: ' if count > 1 else ''}{median:.2f} {name}",
            *([f"  IQR:    {high - low:.2f} {name} ({low:.2f} to {high:.2f})"] if count >= MANY else []),
            f"  {many}{' per measurement' if count > 1 else ''}, {plural(task.num_threads, 'thread')}",
        ]
        if self.has_warnings:
            share = self.iqr / self.median if self.median else math.inf
            lines.append(
                f"  WARNING: The interquartile range is {share:.1%} of the median: other work may have disturbed this "
                "measurement."
            )
        return "\n".join(lines)


def checked(asks: str, results: Any) -> list[Measurement]:
    """The measurements as a list; ArgumentError unless they are some.

    Example:
        >>> checked("Compare", [1.0])
        Traceback (most recent call last):
        ArgumentError: ...
    """
    found: list[Any] = list(results) if isinstance(results, Iterable) and not isinstance(results, str) else [None]
    wrong = next((one for one in found if not isinstance(one, Measurement)), found)
    if wrong is not found:
        kind = type(results if wrong is None else wrong).__name__
        raise ArgumentError(f"{asks} is given Measurements", kind, "a list of what Timer.timeit returns")
    return found


def unit_of(seconds: float) -> tuple[str, float, str]:
    """The largest unit that a time is at least one of: its sign, its seconds, its name.

    Example:
        >>> unit_of(2.5e-4)
        ('µs', 1e-06, 'microseconds')
    """
    return next((unit for unit in reversed(UNITS) if seconds >= unit[1]), UNITS[0])
