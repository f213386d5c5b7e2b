"""The suite `threads`: when it measures, when it waits, and when it does not."""

import pytest

import jt_edu as jt
from jt_edu import nn
from tests.bench import machine, report, threads
from tests.bench.measure import measured
from tests.bench.rows import Row, Run, fill


@pytest.fixture
def asked(monkeypatch):
    """Times that are known, of a small network; on two cores."""
    calls = []

    def times(sides, rounds, clock, box, threads):
        calls.append((threads, rounds))
        return {"1": measured((4.0, 6.0), "", 1), "2": measured((2.0, 2.0), "", 2)}

    monkeypatch.setattr(threads, "take_turns", times)
    monkeypatch.setattr(threads, "PHOTO", (2, 3, 3))
    monkeypatch.setattr(threads, "PATIENCE", 0)
    monkeypatch.setattr(machine, "allowed", lambda: 2)
    return calls


def small():
    return nn.Sequential(nn.AdaptiveAvgPool2d(1))


@pytest.mark.parametrize(("load", "is_measured"), [(0.66, True), (1.5, True), (1.6, False), (None, False)])
def test_two_threads_are_not_measured_on_a_machine_that_is_busy(asked, monkeypatch, load, is_measured):
    monkeypatch.setattr(machine, "load", lambda: load)

    found = threads.two_over_one(small, 1, Run(25))

    assert found.measured is is_measured
    assert found.ratio == (2.0 if is_measured else None)
    assert asked == [({"1": 1, "2": 2}, 25)] * is_measured
    assert "load" in found.how


def test_one_core_is_told(asked, monkeypatch):
    monkeypatch.setattr(machine, "allowed", lambda: 1)

    found = threads.two_over_one(small, 1, Run(25))

    assert not found.measured
    assert found.how == "it needs two cores, and may use 1"


def test_a_high_load_gets_time_to_fall(monkeypatch):
    loads, pauses = iter([4.0, 2.0, 1.0]), []
    monkeypatch.setattr(machine, "load", lambda: next(loads))

    assert threads.settled(pauses.append, 30) == 1.0
    assert pauses == [5, 5]


def test_patience_ends(monkeypatch):
    pauses = []
    monkeypatch.setattr(machine, "load", lambda: 4.0)

    assert threads.settled(pauses.append, 30) == 4.0
    assert pauses == [5] * 6


def test_both_numbers_of_threads_compute_the_same(asked, monkeypatch):
    monkeypatch.setattr(machine, "load", lambda: 0.0)
    before, run = jt.get_num_threads(), Run(25)

    result = fill(Row("a net", work=lambda run: threads.two_over_one(small, 2, run)), run)

    assert not result.failed
    assert result.figures.error == 0
    assert jt.get_num_threads() == before
    assert report.cells(result)[0] == "a net: 4000.0 ms / 2000.0 ms, load 0.0"


def test_the_goal_is_for_resnet_and_there_are_15_rounds_or_more():
    goals = {row.name: [g.value for g in row.goals] for row in threads.ROWS}

    assert goals["ResNet-50, batch 4"] == [1.7]
    assert threads.ROUNDS >= 15
