"""The bench measures what it says: known times come out as they are, and both sides of every row compute the same."""

import importlib

import numpy as np
import pytest

import jt_edu as jt
from tests.bench import measure
from tests.bench.measure import enough, geometric_mean, largest_error, measured, spread, take_turns
from tests.bench.networks import numbers, products_of_a_step
from tests.bench.rows import Case, Figures, Goal, Result, Row, Run, compare, fill


class Clock:
    """Time that passes only where something is said to take it."""

    def __init__(self):
        self.now = 0.0
        self.log = []

    def __call__(self):
        return self.now

    def work(self, name, seconds):
        def call():
            self.log.append(name)
            self.now += seconds

        return call


# --------------------------------------------------------------------------------------------------------- measuring


def test_a_call_that_takes_three_times_as_long_has_the_ratio_three():
    clock = Clock()

    times = take_turns({"ours": clock.work("a", 1e-4), "peer": clock.work("b", 3e-4)}, 15, clock)

    assert times["peer"].best / times["ours"].best == pytest.approx(3)
    assert spread(times["peer"], times["ours"]) == pytest.approx((3, 3))


def test_the_sides_take_turns():
    clock = Clock()

    take_turns({"ours": clock.work("a", 1.0), "peer": clock.work("b", 1.0)}, 3, clock)

    assert "".join(clock.log).endswith("ababab")


def test_a_slow_moment_counts_for_the_spread_and_not_for_the_best():
    clock, slow = Clock(), iter([1.0] * 6 + [9.0] + [1.0] * 9)

    def call():
        clock.now += next(slow)

    times = take_turns({"ours": call}, 8, clock)["ours"]

    assert times.best == 1
    assert max(times.times) == 9


@pytest.mark.parametrize(("box", "rounds"), [(100.0, 15), (12.0, 6), (1.0, 5)])
def test_a_slow_row_gets_as_many_rounds_as_fit_into_its_box_but_five_at_least(box, rounds):
    clock = Clock()

    times = take_turns({"ours": clock.work("a", 1.5), "peer": clock.work("b", 0.5)}, 15, clock, box=box)

    assert len(times["ours"].times) == len(times["peer"].times) == rounds


def test_warming_up_ends_when_it_takes_too_long():
    clock = Clock()

    take_turns({"ours": clock.work("a", 0.05), "peer": clock.work("b", 8.0)}, 5, clock)

    assert clock.log.count("a") == 3 + 1 + 5  # to warm up, to count the calls of a sample, to measure
    assert clock.log.count("b") == 1 + 1 + 5


@pytest.mark.parametrize(("takes", "calls"), [(1.0, 1), (2e-3, 1), (1e-3, 2), (1e-6, 2000)])
def test_a_sample_repeats_a_short_call_until_the_clock_can_see_it(takes, calls):
    clock = Clock()

    count = enough(clock.work("a", takes), clock)

    assert calls <= count <= 1.3 * calls + 1


def test_a_clock_that_stands_still_ends_the_search(monkeypatch):
    monkeypatch.setattr(measure, "CALLS", 64)

    assert enough(lambda: None, lambda: 0.0) == 64


def test_quartiles_are_of_the_ratio_in_each_round():
    peer, ours = measured([1.0, 2.0, 3.0, 4.0, 5.0]), measured([1.0] * 5)

    assert spread(peer, ours) == (2, 4)


def test_twice_and_half_make_one():
    assert geometric_mean([2, 0.5]) == pytest.approx(1)
    assert geometric_mean([1, 2, 4]) == pytest.approx(2)


@pytest.mark.parametrize(
    ("ours", "peer", "error"),
    [([1, 2], [1, 2], 0), ([1, 2.5], [1, 2], 0.25), ([1], [1, 2], np.inf), ([np.nan, 2], [1, 2], np.inf)],
)
def test_the_error_is_a_share_of_the_largest_number(ours, peer, error):
    assert largest_error([np.array(ours)], [np.array(peer)]) == error


# -------------------------------------------------------------------------------------------------------------- rows


class Tensor:
    """As much of a tensor as a comparison asks for."""

    def __init__(self, *values):
        self.values = np.array(values)

    def detach(self):
        return self

    def numpy(self):
        return self.values


def a_row(ours=1.0, peer=1.0, goals=(), takes=(1e-3, 2e-3), clock=None):
    first, second = (clock or Clock()).work("a", takes[0]), (clock or Clock()).work("b", takes[1])
    case = Case(lambda: first() or Tensor(ours), lambda: second() or Tensor(peer))
    return Row("a row", goals, lambda: case)


@pytest.mark.parametrize(("goal", "missed"), [(1.9, False), (2.1, True)])
def test_a_goal_is_met_when_the_ratio_reaches_it(goal, missed):
    clock = Clock()

    result = fill(a_row(goals=(Goal("ratio", goal),), clock=clock), Run(15, clock=clock))

    assert result.figures.ratio == pytest.approx(2)
    assert bool(result.missed) is missed


def test_milliseconds_have_to_stay_below_their_goal():
    assert Goal("ms", 120).met(Figures(ours=119.0))
    assert not Goal("ms", 120).met(Figures(ours=121.0))
    assert not Goal("limit", 0.8).met(Figures(ours=1.0))


def test_a_wrong_answer_is_no_answer():
    clock = Clock()

    result = fill(a_row(ours=1.01, clock=clock), Run(3, clock=clock))

    assert result.failed.startswith("wrong: an error of 1.0e-02")


def test_a_row_that_raises_is_told_and_the_next_one_is_measured():
    clock = Clock()
    run = Run(3, clock=clock)

    fill(Row("broken", build=lambda: 1 // 0), run)
    fill(a_row(clock=clock), run)

    assert [r.failed for r in run.results] == ["ZeroDivisionError: integer division or modulo by zero", ""]


def test_a_step_of_training_needs_five_products():
    work = sum(2 * m * k * n for m, k, n in products_of_a_step(64, 128, 10, 64))

    assert len(numbers("mlp", 64, 128, 10, 64)[1]) == 4
    assert work == 2 * 64 * (2 * 64 * 128 + 3 * 128 * 10)


def core_rows():
    """Rows that are pairs of calls. Imported here, since they need PyTorch, and the rest of this file does not."""
    core = importlib.import_module("tests.bench.core")
    return [row for row in core.ROWS if row.build]


def test_both_sides_of_every_row_compute_the_same(torch):
    cases = {row.name: (row.build(*row.tiny), row.tolerance) for row in core_rows()}

    wrong = {name: error for name, (case, bar) in cases.items() if not (error := compare(case)[0]) <= bar}

    assert wrong == {}


def test_the_limit_of_every_row_runs(torch):
    for row in core_rows():
        case = row.build(*row.tiny)

        if case.limit is not None:
            case.limit()

        assert case.limit_share > 0
        assert case.limit is not None or case.flops > 0


def test_names_of_rows_are_different(torch):
    names = [row.name for row in core_rows()]

    assert len(set(names)) == len(names)


# --------------------------------------------------------------------------------------------------- operators


def ops_rows():
    """One row for each operator, and the steps of training; all at the size that is for tests."""
    ops = importlib.import_module("tests.bench.ops")
    return [row for row in ops.ROWS if row.build and row.column in ("", "small")]


def test_both_sides_of_every_operator_compute_the_same(torch):
    with jt.flag_scope(backend="python"):
        cases = {row.name: (row.build(*row.tiny), row.tolerance) for row in ops_rows()}

        wrong = {name: error for name, (case, bar) in cases.items() if not (error := compare(case)[0]) <= bar}

    assert wrong == {}


def test_there_are_60_operators_or_more_at_three_sizes_each(torch):
    ops = importlib.import_module("tests.bench.ops")
    names = [row.name for row in ops.ROWS]

    sizes = {}
    for row in ops.OPERATORS:
        sizes.setdefault(row.group, []).append((row.column, row.size))

    assert len(sizes) >= 60
    assert all([column for column, _ in found] == ["small", "middle", "large"] for found in sizes.values())
    assert all(len({size for _, size in found}) == 3 for found in sizes.values())
    assert len(set(names)) == len(names)


def test_a_sum_of_sizes_is_the_geometric_mean_of_these_sizes(torch):
    ops = importlib.import_module("tests.bench.ops")
    ratios = {"small": 0.25, "middle": 1.0, "large": 16.0}
    run = Run(15)
    run.results += [Result(row, Figures(ratio=ratios[row.column])) for row in ops.OPERATORS]

    assert ops.mean_of(("large",), run).ratio == pytest.approx(16)
    assert ops.mean_of(("small", "middle", "large"), run).ratio == pytest.approx(4 ** (1 / 3))

    run.results.pop()

    with pytest.raises(LookupError, match="it needs all"):
        ops.mean_of(("large",), run)


def test_a_row_may_say_what_its_sides_have_to_agree_in(torch):
    ours, peer = Tensor(2.0, 0.0, 2.0), Tensor(0.0, 2.0, 0.0)

    assert compare(Case(lambda: ours, lambda: peer, told=np.unique))[0] == 0
    assert compare(Case(lambda: ours, lambda: peer))[0] == 1
