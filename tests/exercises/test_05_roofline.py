"""Notebook 05: right answers in other forms, the simulated machines, and what the notebook measures."""

import re

import numpy as np
import pytest

from jt_exercises.exercise import find
from jt_exercises.roofline import caches
from jt_exercises.roofline.worlds import World, cache_misses
from jt_exercises.timing import least, ratio
from tests.story.test_course_answers import untouched


def ridge(intensity, bandwidth, peak):
    return [np.float64(min(peak, intensity * bandwidth)), "memory" if intensity * bandwidth < peak else "arithmetic"]


@pytest.mark.parametrize(
    ("number", "answer"),
    [
        ("05.2", ridge),
        ("05.4", lambda work, clock: np.float32(least(work, clock=clock, rounds=40))),
        ("05.6", lambda old, new, clock: np.bool_(ratio(new, old, 25, clock) > 1.1)),
    ],
)
def test_a_right_answer_in_another_form_passes(number, answer):
    found = find(number).verdict(answer)

    assert found.passed, found


def test_an_intensity_may_be_rounded_where_it_still_says_what_is_meant():
    found = find("05.1").verdict({"x + y": 0.083, "x + y, float64": 0.042, "x * 2": None})

    assert (found.passed, found.right, found.of, found.words) == (None, 2, 6, "x * 2: there is no number yet")


def test_a_world_compiles_first_and_is_disturbed_later():
    world = World(1, disturbed=0.5)
    work, times = world.work(1.0), []

    for _ in range(200):
        begin = world.clock()
        work()
        times.append(world.clock() - begin)

    assert 20 <= times[0] <= 65
    assert 1 <= min(times[1:]) < 1.01
    assert 60 < sum(t > 1.3 for t in times[1:]) < 140


def test_first_runs_of_a_world_say_nothing_about_the_later_ones():
    def first(world, seconds):
        begin = world.clock()
        world.work(seconds)()
        return world.clock() - begin

    worlds = [World(seed, disturbed=0.0) for seed in range(40)]

    quotients = [first(world, 1.5) / first(world, 1.0) for world in worlds]

    assert 5 <= sum(q < 1.1 for q in quotients) <= 20  # the slower one looks as fast, or faster
    assert max(quotients) > 2.5


def test_caches_are_those_that_hold_data_and_can_be_read(tmp_path):
    told = [("1", "Data", "32K"), ("1", "Instruction", "64K"), ("2", "Unified", "1M"), ("3", "Unified", "?"), ("4",)]
    for k, facts in enumerate(told):
        place = tmp_path / f"index{k}"
        place.mkdir()
        for name, fact in zip(("level", "type", "size"), facts, strict=False):
            (place / name).write_text(f"{fact}\n")

    assert caches(tmp_path) == [("L1", 32 << 10), ("L2", 1 << 20)]
    assert caches(tmp_path / "nowhere") == []


def test_a_cache_that_is_one_line_too_small_keeps_nothing():
    assert [cache_misses([*range(n)] * 10, 8) for n in (7, 8, 9)] == [7, 8, 90]


def test_the_least_of_many_runs_and_a_quotient_in_turns_are_the_truth_on_a_disturbed_machine():
    world = World(3, disturbed=0.4, drift=0.001)

    assert least(world.work(1.0), clock=world.clock) == pytest.approx(1.0, rel=0.03)
    assert ratio(world.work(3.0), world.work(1.0), clock=world.clock) == pytest.approx(3.0, rel=0.03)


def test_the_notebook_runs_with_nothing_filled_in_and_measures_what_it_claims():
    said = untouched("05_roofline")

    assert float(re.search(r"fewer than ([\d.]+) operations per byte", said)[1]) > 1
    assert float(re.search(r"with \d+ kB it is ([\d.]+) times as fast as from memory", said)[1]) > 1.5
    assert len(re.findall(r"M  float\d\d .*%$", said, re.MULTILINE)) == 8
    assert "impossible" in said
