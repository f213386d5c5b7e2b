"""Timer: with a clock that is told the time, each number is the one that a hand calculates."""

import math

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.backends import thread_pool
from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.benchmark import Measurement, TaskSpec, Timer


class Clock:
    """Time that passes only where something is said to take it."""

    def __init__(self, takes=()):
        self.now = 0.0
        self.takes = iter(takes)
        self.calls = 0

    def __call__(self):
        return self.now

    def work(self, seconds=None):
        self.calls += 1
        self.now += next(self.takes) if seconds is None else seconds


def timer(clock, seconds, **named):
    return Timer("clock.work(seconds)", timer=clock, globals={"clock": clock, "seconds": seconds}, **named)


# ------------------------------------------------------------------------------------------------------ how many runs


def test_timeit_measures_so_many_runs_after_a_hundredth_of_them():
    clock = Clock()

    found = timer(clock, 0.25).timeit(200)

    assert clock.calls == 202
    assert (found.number_per_run, found.raw_times, found.times) == (200, (50.0,), [0.25])


def test_a_block_has_the_first_power_of_ten_that_is_a_thousandth_of_the_time_asked_for():
    clock = Clock()

    found = timer(clock, 2**-14).blocked_autorange(min_run_time=4.0)  # 61 microseconds: 100 runs are 6.1 ms

    assert found.number_per_run == 100
    assert found.raw_times == (100 * 2**-14,) * math.ceil(4.0 / (100 * 2**-14))


def test_a_run_that_takes_longer_than_asked_for_is_measured_once():
    clock = Clock()

    found = timer(clock, 8.0).blocked_autorange(min_run_time=1.0)

    assert (found.number_per_run, found.raw_times) == (1, (8.0,))


def test_looking_at_the_clock_is_a_ten_thousandth_of_a_block_at_most():
    clock = Clock()

    def slow_clock():
        clock.now += 2**-20  # each look costs a microsecond
        return clock.now

    found = Timer("clock.work(2**-14)", timer=slow_clock, globals={"clock": clock}).blocked_autorange(min_run_time=0.5)

    assert found.number_per_run == 1000  # 61 ms; a hundred of 6 ms would be 6,000 looks long


def test_each_block_is_told_with_its_runs_and_its_seconds():
    told = []

    found = timer(Clock(), 0.5).blocked_autorange(lambda *what: told.append(what), min_run_time=2.0)

    assert told == [(1, 0.5)] * 4
    assert found.raw_times == (0.5,) * 4


def test_adaptive_stops_at_four_samples_that_agree():
    found = timer(Clock(), 0.5).adaptive_autorange(min_run_time=0.25)

    assert found.raw_times == (0.5,) * 4


def test_adaptive_goes_on_while_samples_differ_and_stops_when_time_is_up():
    wild = [0.25, 1.75] * 100
    clock = Clock([0.5] * 4 + wild)  # three that warm up, and one that sizes the block

    found = timer(clock, None).adaptive_autorange(min_run_time=0.25, max_run_time=12.0)

    assert found.raw_times == (0.25, 1.75) * 6
    assert not found.meets_confidence()


def test_a_larger_threshold_accepts_what_a_smaller_one_does_not():
    samples = [0.5] * 4 + [1.0, 1.0, 1.5, 1.5] * 9

    loose = timer(Clock(samples), None).adaptive_autorange(0.5, min_run_time=0.25, max_run_time=9.0)
    strict = timer(Clock(samples), None).adaptive_autorange(0.1, min_run_time=0.25, max_run_time=9.0)

    assert len(loose.times) == 4
    assert sum(strict.raw_times) >= 9


def test_a_clock_that_stands_still_is_an_error(monkeypatch):
    monkeypatch.setattr("jt_edu.benchmark.timer.MOST", 100)

    with pytest.raises(ArgumentError, match="a clock that goes on; found 0 seconds for 100 runs"):
        Timer("pass", timer=lambda: 0.0).blocked_autorange()


# --------------------------------------------------------------------------------------------------- what is a run


def kernels(stmt, setup="pass", **names):
    """How many kernels ran in two runs of a statement beyond those of its setup and of one run."""
    with jt.trace() as t:
        Timer(stmt, setup, globals=names).timeit(1)  # one run that warms up, one that counts
    before = len(t.kernels)
    with jt.trace() as t:
        Timer(stmt, setup, globals=names).timeit(3)
    return len(t.kernels) - before


@pytest.mark.parametrize(
    "stmt",
    [
        "x * 2",
        "y = x * 2",
        "y = x; y = y * 2",
        "[x * 2]",
        "{'a': (x * 2,)}",
        "held[0].assign(x * 2)",
        "x.assign(x * 2)",
        "jt.add(x, x, out=out)",
        "for _ in range(2): y = x * 2",
        "if True:\n    y = x * 2",
    ],
)
def test_what_a_statement_leaves_behind_runs_inside_the_timed_region(stmt):
    assert kernels(stmt, "x, out, held = jt.arange(8.0), jt.zeros(8), [jt.zeros(8)]") == 2


def test_a_function_is_a_statement_and_its_answer_is_computed():
    x = jt.arange(8.0).sync()

    assert kernels(lambda: x * 2) == 2
    assert kernels(lambda: [x * 2, None]) == 2


def test_running_statistics_of_a_module_are_part_of_the_run():
    norm, x = jt.nn.BatchNorm1d(3), jt.randn((5, 3))

    Timer("norm(x)", globals={"norm": norm, "x": x}).timeit(1)

    assert norm.running_mean.node.data is not None
    assert norm.num_batches_tracked.item() == 2


def test_what_setup_made_is_computed_before_the_clock_starts():
    seen = []

    with jt.trace() as t:
        Timer("x", "x = jt.arange(8.0) * 2", timer=lambda: seen.append(len(t.kernels)) or 0.0).timeit(1)

    assert seen[0] == seen[-1] >= 1


def test_setup_runs_once_for_each_measurement_and_global_setup_once_for_all():
    log = []
    one = Timer("log.append('run')", "log.append('setup')", "log.append('global')", globals={"log": log})

    one.timeit(1)
    one.timeit(1)

    assert log == ["global", "setup", "run", "run", "setup", "run", "run"]


def test_names_of_a_setup_do_not_leak_into_the_next_measurement_or_into_globals():
    names = {"a": [1]}
    one = Timer("seen = 'b' in dir(); b = 1", "import math as m", globals=names)

    one.timeit(2)

    assert set(names) == {"a"}


def test_an_indented_setup_is_code_too():
    found = Timer("n * 2", """
        n = 1
        for _ in range(3):
            n = n * 2
    """).timeit(1)  # fmt: skip

    assert found.task_spec.summary().splitlines()[1:3] == ["setup:", "  n = 1"]


def test_an_error_in_a_statement_is_the_statements_own_and_shows_its_line():
    broken = Timer("y = 1\ny = a + b", "a, b = jt.ones(2), jt.ones(3)")

    with pytest.raises(ShapeError) as caught:
        broken.timeit(1)

    assert any("y = a + b" in str(entry) for entry in caught.traceback) or "a + b" in str(caught.getrepr())
    assert jt.get_num_threads() >= 1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Timer("x +"), "Timer runs its stmt as Python; found invalid syntax in 'x \\+'"),
        (lambda: Timer("return 1"), "'return' outside function"),
        (lambda: Timer("1", global_setup="x ="), "runs its global_setup as Python"),
        (lambda: Timer("1", "x =").timeit(1), "runs its setup as Python"),
        (lambda: Timer("1", num_threads=0), "num_threads as a whole number from 1 to 1024; found num_threads=0"),
        (lambda: Timer("1").timeit(0), "number as a whole number from 1; found number=0"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_words(make, words):
    with pytest.raises(ArgumentError, match=words):
        make()


# ----------------------------------------------------------------------------------------------------------- threads


@pytest.mark.parametrize("count", [1, 3])
def test_kernels_use_as_many_threads_as_asked_for_and_afterwards_as_many_as_before(count):
    before, seen = jt.get_num_threads(), []

    Timer(lambda: seen.append(jt.get_num_threads()), num_threads=count).timeit(1)

    assert seen == [count, count]
    assert jt.get_num_threads() == before


def test_a_large_kernel_is_shared_out_over_the_threads(monkeypatch):
    shares, x, run = [], jt.ones(2_000_000).sync(), thread_pool.run
    monkeypatch.setattr(thread_pool, "run", lambda task, count: shares.append(count) or run(task, count))

    for count in (1, 2, 4):
        shares.append(f"{count}:")
        Timer("x * 2 + 1", globals={"x": x}, num_threads=count).timeit(1)

    assert shares == ["1:", "2:", 2, 2, "4:", 4, 4]


def test_the_number_of_threads_is_put_back_after_an_error():
    before = jt.get_num_threads()

    with pytest.raises(ZeroDivisionError):
        Timer("1 / 0", num_threads=before + 2).timeit(1)

    assert jt.get_num_threads() == before


# -------------------------------------------------------------------------------------------------------- statistics


def measured(*times, number=1, **task):
    return Measurement(number, times, TaskSpec("f(x)", **task))


def test_statistics_of_four_samples_by_hand():
    found = measured(4.0, 1.0, 3.0, 2.0, number=2)

    assert found.times == [2.0, 0.5, 1.5, 1.0]
    assert (found.best, found.median, found.mean, found.iqr) == (0.5, 1.25, 1.25, 0.75)  # quartiles 0.875 and 1.625
    assert found.has_warnings
    assert not found.meets_confidence(0.6)
    assert found.meets_confidence(0.61)


@pytest.mark.parametrize(
    ("times", "figures"),
    [
        ((1.0,) * 8, 5),  # 25 ns in a second would be seven; five is the most
        ((1e-6,) * 8, 1),  # 25 ns in a microsecond: 1.6
        ((1e-5,) * 8, 2),  # 25 ns in 10 microseconds: 2.6
        ((9.0, 1.0, 2.0, 9.0), 1),  # the middle two, 2 and 9: 3.5 * 1.645 / sqrt(2) is nearly all of 5.5
        ((0.0, 0.99, 1.01, 7.0), 1),  # 0.01 * 1.645 / sqrt(2) = 0.0116: 1.9
        ((0.0, 0.999, 1.001, 7.0), 2),  # 0.00116: 2.9
    ],
)
def test_significant_figures_by_hand(times, figures):
    assert measured(*times).significant_figures == figures


def test_statistics_agree_with_pytorch(torch):
    from torch.utils.benchmark import Measurement as Peer  # noqa: PLC0415  only this test needs it
    from torch.utils.benchmark.utils.common import TaskSpec as PeerTask  # noqa: PLC0415

    rng = np.random.default_rng(0)
    for count in range(1, 40):
        times = list(rng.lognormal(-9, rng.uniform(0.001, 1), count))
        ours, peer = measured(*times, number=7), Peer(7, times, PeerTask("f(x)", ""))

        assert ours.median == pytest.approx(peer.median)
        assert ours.mean == pytest.approx(peer.mean)
        assert ours.iqr == pytest.approx(peer.iqr)
        assert ours.significant_figures == peer.significant_figures
        if count >= 4:
            assert ours.meets_confidence(0.3) == peer.meets_confidence(0.3)


def test_the_text_of_a_measurement_by_hand():
    found = measured(1e-3, 2e-3, 3e-3, 4e-3, number=10, setup="x = 1", label="f", sub_label="[1]", num_threads=2)

    assert repr(found).splitlines() == [
        "<jt.benchmark.Measurement>",
        "f: [1]",
        "setup: x = 1",
        "  Median: 250.00 µs",
        "  IQR:    150.00 µs (175.00 to 325.00)",
        "  4 measurements, 10 runs per measurement, 2 threads",
        "  WARNING: The interquartile range is 60.0% of the median: other work may have disturbed this measurement.",
    ]
    assert repr(measured(2.0)).splitlines()[2:] == ["  2.00 s", "  1 measurement, 1 run, 1 thread"]


def test_measurements_of_the_same_task_are_merged_and_others_are_not():
    first, again, other = measured(4.0, number=2, env="a"), measured(3.0, env="a"), measured(1.0, env="b")

    merged = Measurement.merge([first, other, again])

    assert [(m.task_spec.env, m.number_per_run, m.times) for m in merged] == [("a", 1, [2.0, 3.0]), ("b", 1, [1.0])]


def test_a_measurement_without_samples_is_refused():
    with pytest.raises(ArgumentError, match="found 0 samples of 1 run"):
        measured()
