"""The suite `ranks`: what it says about the times that it measured."""

import pytest

from tests.bench import rank_runs, ranks
from tests.bench.ranks import GLOO, NATIVE, RAW, REAL, RING, Side, cells, verdict


def sides(**best):
    names = {"raw": RAW, "native": NATIVE, "real": REAL, "gloo": GLOO, "ring": RING}
    return {key: Side(names[key], 2, [ms, ms * 2, ms * 3, ms * 4]) for key, ms in best.items()}


@pytest.mark.parametrize(
    ("name", "raw", "gloo", "said"),
    [
        (NATIVE, 1.0, 0.5, "met"),
        (NATIVE, 1.01, 0.5, "missed"),
        (REAL, 1.2, 0.5, "met"),
        (REAL, 0.9, 1.1, "missed"),
        (REAL, 1.1, None, "met"),
        (REAL, None, 0.5, ""),
        (RING, 0.5, 0.5, ""),
    ],
)
def test_a_goal_is_met_beside_mpi4py_and_beside_gloo(name, raw, gloo, said):
    assert verdict(name, raw, gloo) == said


def test_a_line_has_the_best_call_and_its_ratios():
    all_of_them = sides(raw=8, native=4, gloo=16)

    line = cells(all_of_them["native"], list(all_of_them.values()))

    assert line == [NATIVE, "2", "4.00 ms", "8.0 … 16.0", "0.50", "0.25", "≤ 1 x mpi4py, < gloo", "met"]


def test_only_sides_with_as_many_ranks_are_compared():
    two, four = Side(NATIVE, 2, [4.0]), Side(RAW, 4, [1.0])

    assert cells(two, [two, four])[4] == ""


def test_a_side_that_does_not_run_says_why(tmp_path, monkeypatch):
    monkeypatch.setitem(ranks.SIDES, NATIVE, ("nothing", "native"))
    side = Side(NATIVE, 2)

    ranks._measure(side, 1, tmp_path / "meeting")

    assert side.failed == "KeyError: 'nothing'"
    assert cells(side, [side])[2:4] == ["FAILED", "KeyError: 'nothing'"]


def test_simulated_ranks_are_measured_in_a_process_of_their_own(tmp_path):
    side = Side(NATIVE, 2)

    ranks._measure(side, 3, tmp_path / "meeting")

    assert len(side.ms) == 3
    assert not side.failed
    assert 0 < side.best < 10_000


# whole runs


@pytest.mark.parametrize(
    ("name", "best", "ratio", "said"),
    [
        (rank_runs.TOGETHER, 25.0, 1.6, "met"),
        (rank_runs.TOGETHER, 25.0, 1.59, "missed"),
        (rank_runs.TOGETHER, 25.0, None, ""),
        (rank_runs.MEET, 2000.0, None, "met"),
        (rank_runs.MEET, 2001.0, None, "missed"),
        (rank_runs.ALONE, 1.0, None, ""),
    ],
)
def test_two_ranks_are_to_be_faster_than_one_and_many_are_to_meet_soon(name, best, ratio, said):
    assert rank_runs.verdict(name, best, ratio) == said


def test_two_ranks_are_compared_with_one():
    runs = [rank_runs.Run(rank_runs.ALONE, 1, [40.0, 41.0]), rank_runs.Run(rank_runs.TOGETHER, 2, [20.0, 25.0])]

    assert rank_runs.cells(runs[1], runs)[1:] == ["2", "20.00 ms", "20.0 … 25.0", "2.00", "≥ 1.6 x as fast", "met"]
    assert rank_runs.cells(runs[0], runs)[4:] == ["", "", ""]


def test_a_run_that_tells_nothing_says_why(monkeypatch):
    monkeypatch.setattr(rank_runs, "STEPS", ("-c", "raise SystemExit('no such thing')"))
    run = rank_runs.Run(rank_runs.ALONE, 1)

    rank_runs._train(run)

    assert run.failed == "no such thing"
    assert rank_runs.cells(run, [run])[2] == "FAILED"
