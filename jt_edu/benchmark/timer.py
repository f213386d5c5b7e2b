"""Timer: how long does a statement take?

    Timer(stmt, setup)      setup once, and untimed; then a few runs that do not count: they compile and plan
        .timeit(100)               one block of 100 runs
        .blocked_autorange()       blocks of a size that the clock can see, until they fill `min_run_time`
        .adaptive_autorange()      the same, until the samples agree, or time is up

    [ run run run run ][ run run run run ][ run run run run ]        a block: one sample, clock to clock
      t0            t1   t1            t2   ...

A run is over when the kernels of what the statement left behind have run (statement.py says what that is); a framework
that is lazy would be measured in its sleep otherwise. Kernels use `num_threads` threads meanwhile, 1 unless told
otherwise, and afterwards as many as before. The collector of Python is left alone: what it costs, users pay too.

Nothing here knows tables.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

from jt_edu.backends.thread_pool import set_num_threads, threads
from jt_edu.base.errors import ArgumentError
from jt_edu.benchmark.measurement import UNSTEADY, Measurement, TaskSpec
from jt_edu.benchmark.statement import Code, Statement, execute
from jt_edu.ir.builders import short
from jt_edu.ops import arguments
from jt_edu.ops.arguments import whole

WARM = 3  # runs before anything is timed: the first compiles, the second writes the plan out as a page of Python
OVERHEAD = 1e-4  # of a block: what looking at the clock may cost
BLOCKS = 1000  # in min_run_time, at least, where one run allows it
MOST = 10**7  # runs of a block
LONGEST = 1e9  # seconds that can be asked for
MOST_THREADS = 1024  # more are a slip of the pen

Block = Callable[[int], float]
Told = Callable[[int, float], object]


class Timer:
    """Measures the time of a statement, until the numbers that it asks for are there.

    Args:
        stmt: code, as a text or as a function without arguments. What is timed is the statement, and the kernels of
            its value and of each Var that it binds or mentions (`jt_edu/benchmark/statement.py` says more).
        setup: code that runs before each measurement, and is not timed; it makes names for `stmt`.
        global_setup: code that runs once, when the Timer is made. (PyTorch has it for C++ alone.)
        timer: a function that returns the time in seconds; another one can be given, such as `time.process_time`.
        globals: names that `stmt` and `setup` see, such as `globals()`; `jt` is always there.
        label: what is measured, in a word or two; tables have it as their title. The statement, if there is none.
        sub_label: what tells this measurement from others with the same label, such as a size: a line of a table.
        description: what tells this one from others with the same label and sub-label: a column of a table.
        env: which of several environments this is, such as a branch.
        num_threads: how many threads kernels use meanwhile.

    Raises:
        ArgumentError: a text is not Python; `num_threads` is less than 1; the clock stands still; an argument is of
            another kind.

    Example:
        >>> timer = jt.benchmark.Timer("x * y", "x, y = jt.ones(3), jt.ones(3)", label="multiply")
        >>> found = timer.blocked_autorange(min_run_time=0.01)
        >>> 0 < found.median < 1
        True
    """

    def __init__(
        self,
        stmt: Code = "pass",
        setup: Code = "pass",
        global_setup: Code = "",
        timer: Callable[[], float] = time.perf_counter,
        globals: dict[str, Any] | None = None,  # noqa: A002  as timeit and PyTorch call it
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
    ) -> None:
        count = whole("Timer", "num_threads", num_threads, 1, MOST_THREADS)
        for name, value in (("label", label), ("sub_label", sub_label), ("description", description), ("env", env)):
            _expect(name, value, value is None or isinstance(value, str), "a text, or None")
        _expect("timer", timer, callable(timer), "a function that returns seconds")
        _expect("globals", globals, globals is None or isinstance(globals, dict), "a dict of names, or None")
        texts = _text("stmt", stmt), _text("setup", setup), _text("global_setup", global_setup)
        self._task = TaskSpec(*texts, label, sub_label, description, env, count)
        self._setup = setup
        self._statement = Statement(stmt, timer)
        self._names = _front_door() | (globals or {})
        execute(global_setup, self._names, "global_setup")

    def __repr__(self) -> str:
        """What it measures, when it is asked to."""
        count = self._task.num_threads
        asked = f"{count} thread{'s' if count != 1 else ''}; .timeit(n) and .blocked_autorange() measure"
        return f"<jt.benchmark.Timer>\n{self._task.summary()}\n  {asked}"

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """One block of so many runs, after a hundredth of them (at least one) that does not count.

        Example:
            >>> jt.benchmark.Timer("1 + 1").timeit(100).number_per_run
            100
        """
        number = whole("timeit", "number", number, 1)
        block = self.prepare()
        block(max(number // 100, 1))
        return self._measured(number, [block(number)])

    def blocked_autorange(self, callback: Told | None = None, min_run_time: float = 0.2) -> Measurement:
        """Blocks until they have taken `min_run_time` seconds together.

        Each block has 1, 10, 100 ... runs: as few as make it a thousandth of `min_run_time`, and long beside two looks
        at the clock, so that there are samples enough to see how they are spread.

        Args:
            callback: called after each block with its number of runs and its seconds.
            min_run_time: in seconds.

        Example:
            >>> seen = []
            >>> jt.benchmark.Timer("1 + 1").blocked_autorange(lambda n, s: seen.append(n), 0.01).number_per_run in seen
            True
        """
        min_run_time = _seconds("blocked_autorange", "min_run_time", min_run_time)
        block, number = self._sized(min_run_time, callback)
        times = [_told(block, number, callback)]
        total = times[0]
        while total < min_run_time:
            times.append(_told(block, number, callback))
            total += times[-1]
        return self._measured(number, times)

    def adaptive_autorange(
        self, threshold: float = UNSTEADY, *, min_run_time: float = 0.01, max_run_time: float = 10.0,
        callback: Told | None = None,
    ) -> Measurement:  # fmt: skip
        """Blocks until their interquartile range is below `threshold` of their median, or time is up.

            stop when  seconds >= min_run_time, samples >= 4 and iqr < threshold * median
                 or    seconds >= max_run_time

        Whether they agree is looked at after each block, and from 20 blocks on whenever there are a tenth more.

        Args:
            threshold: a share of the median.
            min_run_time: in seconds; less is not measured, however well the samples agree.
            max_run_time: in seconds; the block that passes it is the last.
            callback: called after each block with its number of runs and its seconds.

        Example:
            >>> found = jt.benchmark.Timer("sum(range(100))").adaptive_autorange(max_run_time=0.1)
            >>> found.meets_confidence() or sum(found.raw_times) >= 0.1
            True
        """
        threshold = arguments.number("adaptive_autorange", "threshold", threshold, 0.0)
        min_run_time = _seconds("adaptive_autorange", "min_run_time", min_run_time)
        max_run_time = _seconds("adaptive_autorange", "max_run_time", max_run_time, above=True)
        block, number = self._sized(min_run_time, callback)
        times: list[float] = []
        total, look = 0.0, 1
        while total < max_run_time:
            times.append(_told(block, number, callback))
            total += times[-1]
            if total >= min_run_time and len(times) >= look:
                look = len(times) + max(1, len(times) // 10)
                if self._measured(number, times).meets_confidence(threshold):
                    break
        return self._measured(number, times)

    def prepare(self) -> Block:
        """Run the setup. The answer is given a number of runs, does them, and tells the seconds that they took.

        For those who choose their samples themselves, such as by turns with another Timer. Nothing has warmed up yet.

        Example:
            >>> block = jt.benchmark.Timer("1 + 1").prepare()
            >>> block(100) < 1
            True
        """
        with _threads(self._task.num_threads):
            block = self._statement.prepared(self._setup, self._names)

        def timed(number: int) -> float:
            with _threads(self._task.num_threads):
                return block(number)

        return timed

    def _sized(self, min_run_time: float, callback: Told | None) -> tuple[Block, int]:
        """What to repeat, and how often between two looks at the clock."""
        _expect("callback", callback, callback is None or callable(callback), "a function, or None")
        block = self.prepare()
        return block, _runs_of_a_block(block, min_run_time)

    def _measured(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, times, self._task)


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Let kernels use so many threads inside."""
    before = threads()
    set_num_threads(count)
    try:
        yield
    finally:
        set_num_threads(before)


def _runs_of_a_block(block: Block, min_run_time: float) -> int:
    """1, 10, 100 ... runs: the first that the clock sees well enough."""
    block(WARM)
    looking, number = median(block(0) for _ in range(5)), 1
    while True:
        took = block(number)
        if took >= min_run_time / BLOCKS and took * OVERHEAD >= looking:
            return number
        if took > min_run_time:
            return number
        if number >= MOST:
            break
        number *= 10
    if took <= 0:
        raise ArgumentError("Timer needs a clock that goes on", f"0 seconds for {number} runs", "time.perf_counter")
    return number


def _told(block: Block, number: int, callback: Told | None) -> float:
    took = block(number)
    if callback is not None:
        callback(number, took)
    return took


def _front_door() -> dict[str, Any]:
    """What every statement may call jt or jt_edu: the package that we are a part of."""
    package = __name__.partition(".")[0]
    return dict.fromkeys(("jt", package), sys.modules[package])


def _expect(name: str, value: Any, fine: bool, what: str) -> None:
    if not fine:
        raise ArgumentError(f"Timer takes {name} as {what}", f"{name}={short(value)}")


def _seconds(method: str, name: str, value: float, above: bool = False) -> float:
    return arguments.number(method, name, value, 0.0, LONGEST, above)


def _text(name: str, code: Code) -> str:
    _expect(name, code, isinstance(code, str) or callable(code), "code, a text or a function without arguments")
    return code if isinstance(code, str) else f"{getattr(code, '__qualname__', type(code).__name__)}()"
