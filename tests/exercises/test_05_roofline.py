"""Notebook 05: each check lets the right answer through, and refuses each wrong one with words about that mistake."""

import re

import pytest

import jt_edu as jt
from jt_edu.backends import pool
from jt_exercises import roofline
from jt_exercises.roofline.worlds import FIRST, World, cache_misses
from jt_exercises.timing import least, ratio
from tests.exercises.answers import filled, made
from tests.story.test_course_answers import verdicts

ROOF = """
def roof(intensity, bandwidth, peak):
    slope = intensity * bandwidth
    return (slope, "memory") if slope < peak else (peak, "arithmetic")
"""
MEASURE = """
def measure(work, clock):
    work()
    times = []
    for _ in range(50):
        begin = clock()
        work()
        times.append(clock() - begin)
    return min(times)
"""
MISSES = """
def misses(lines, cache, passes):
    return lines if lines <= cache else lines * passes
"""
IS_SLOWER = """
def is_slower(old, new, clock):
    def took(work):
        begin = clock()
        work()
        return clock() - begin

    old(), new()
    pairs = [(took(old), took(new)) for _ in range(25)]
    return min(b for _, b in pairs) > 1.1 * min(a for a, _ in pairs)
"""
INTENSITIES = {
    "x + y": 1 / 12,
    "x * 2": 1 / 8,
    "x.sum()": 1 / 4,
    "x + y, float64": 1 / 24,
    "(x * 2 + 1) * x - 3, fused": 4 / 8,
    "a @ b, 1200 by 1200": 200,
}
FACTORS = {"x.sum()": 1, "x * 2 + 1": 2, "(x * x + 1).sum()": 5, "(x + y) * z": 1.5}
CHECKS = {
    "roof": roofline.check_roof,
    "measure": roofline.check_measure,
    "misses": roofline.check_misses,
    "is_slower": roofline.check_slower,
}
RIGHT = {"roof": ROOF, "measure": MEASURE, "misses": MISSES, "is_slower": IS_SLOWER}
WRONG = [  # of which exercise, what is written in place of what, and what the refusal says
    ("roof", '(slope, "memory") if slope < peak else ', "", "more than memory delivers"),
    ("roof", 'if slope < peak else (peak, "arithmetic")', "", "more than the peak"),
    ("roof", "(slope, ", "(slope / 2, ", "too low"),
    ("roof", '"arithmetic"', '"memory"', "is limited by arithmetic, not by 'memory'"),
    ("roof", '(slope, "memory")', "slope", "the answer is a pair"),
    ("measure", "min(times)", "sum(times) / len(times)", "A disturbance makes a run longer, never shorter"),
    ("measure", "min(times)", "sorted(times)[25]", "where 70% of the runs are disturbed"),
    ("measure", "min(times)", "max(times)", "which of the runs had least?"),
    ("measure", "range(50)", "range(3)", "they may all have been disturbed"),
    ("measure", "    work()\n    times = []\n    for _ in range(50)", "    times = []\n    for _ in (0,)", "compiles"),
    ("measure", "        work()\n        times", "        times", "read the `clock` that you are given"),
    ("measure", "    return min", "    return 0 * min", "before and after each run"),
    ("misses", "lines if lines <= cache else lines * passes", "lines * passes", "It fits: after the first pass"),
    ("misses", "lines if lines <= cache else lines * passes", "lines", "it is the one that was thrown out last pass"),
    ("misses", "lines * passes", "lines + (lines - cache) * (passes - 1)", "It does not fit"),
    ("misses", "<=", "<", "8 lines, read 2 times, through a cache of 8: 8 misses, not 16"),
    ("is_slower", "[(took(old), took(new)) for _ in range(25)]",
     "list(zip([took(old) for _ in range(25)], [took(new) for _ in range(25)]))", "let old and new take turns"),
    ("is_slower", "range(25)", "range(1)", "Each ran 2 times"),
    ("is_slower", "min(b for _, b in pairs) > 1.1 * min(a for a, _ in pairs)",
     "sum(b for _, b in pairs) > 1.1 * sum(a for a, _ in pairs)", "compare the least of each, not the means"),
    ("is_slower", "> 1.1 *", "> 1.0 *", "you answer True"),
    ("is_slower", "> 1.1 *", "> 1.4 *", "the new work is 15% slower, and you answer False"),
    ("is_slower", "> 1.1 *", "< 1.1 *", "the new work is as fast as the old one, and you answer True"),
]  # fmt: skip


@pytest.fixture(autouse=True)
def _threads_as_before():
    before = pool.threads()
    yield
    pool.set_num_threads(before)


@pytest.mark.parametrize("name", RIGHT)
def test_the_right_answer_passes(name):
    verdict = CHECKS[name](made(RIGHT[name]))

    assert verdict.passed, verdict


@pytest.mark.parametrize(("name", "part", "instead", "words"), WRONG)
def test_a_wrong_answer_is_refused_with_words_about_its_mistake(name, part, instead, words):
    assert RIGHT[name].count(part) == 1

    verdict = CHECKS[name](made(RIGHT[name].replace(part, instead)))

    assert verdict.passed is False
    assert words in verdict.words


@pytest.mark.parametrize("name", RIGHT)
def test_an_empty_answer_is_not_done_and_a_broken_one_is_told_why(name):
    empty = CHECKS[name](lambda *_: None)
    broken = CHECKS[name](lambda *_: 1 / 0)

    assert (empty.passed, broken.passed) == (None, False)
    assert "stopped with ZeroDivisionError" in broken.words


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, None),
        ({"x + y": 1 / 3}, "a number has several bytes"),
        ({"x * 2": 1 / 4}, "what is written also moves"),
        ({"x + y": 12}, "that is bytes for each operation"),
        ({"x + y, float64": 1 / 12}, "a number has 8 bytes here"),
        ({"a @ b, 1200 by 1200": 100}, "a multiplication and an addition are two operations"),
        ({"(x * 2 + 1) * x - 3, fused": 4 / 12}, "numbers: 1 read and 1 written for 4 operations"),
        ({"x.sum()": None}, "`x.sum()` still has None"),
    ],
)
def test_guessed_intensities_are_refused_by_their_slip(change, words):
    verdict = roofline.check_intensity({**INTENSITIES, **change})

    assert verdict.passed is (words is None)
    assert words is None or words in verdict.words


def expressions():
    x = jt.zeros(1000, 1000)
    x.sync()
    return {"x * 2 + 1": lambda: x * 2 + 1, "x.sum()": lambda: x.sum()}


@pytest.mark.parametrize(
    ("guess", "passed", "words"),
    [
        ((2, 1), True, "2 expressions"),
        ((1, 1), False, "fusion moves `x * 2 + 1` by 2, not by 1: 2 kernel(s) move 16 MB if not fused, 1 move 8 MB"),
        ((2, 2), False, "fusion moves `x.sum()` by 1, not by 2"),
        ((2, None), False, "`x.sum()` still has None"),
        ((None, None), None, ""),
    ],
)
def test_guessed_factors_are_compared_with_what_explain_counts(guess, passed, words):
    there = expressions()

    verdict = roofline.check_moves(there, dict(zip(there, guess, strict=True)))

    assert verdict.passed is passed
    assert words in verdict.words


def test_a_world_compiles_first_and_is_disturbed_later():
    world = World(1, disturbed=0.5)
    work, times = world.work(1.0), []

    for _ in range(200):
        begin = world.clock()
        work()
        times.append(world.clock() - begin)

    assert times[0] == pytest.approx(FIRST, rel=1e-3)
    assert 1 <= min(times[1:]) < 1.01
    assert 60 < sum(t > 1.3 for t in times[1:]) < 140


def test_a_cache_that_is_one_line_too_small_keeps_nothing():
    assert [cache_misses([*range(n)] * 10, 8) for n in (7, 8, 9)] == [7, 8, 90]


def test_the_least_of_many_runs_and_a_quotient_in_turns_are_the_truth_on_a_disturbed_machine():
    world = World(3, disturbed=0.4, drift=0.001)

    assert least(world.work(1.0), clock=world.clock) == pytest.approx(1.0, rel=0.03)
    assert ratio(world.work(3.0), world.work(1.0), clock=world.clock) == pytest.approx(3.0, rel=0.03)


@pytest.mark.slow
def test_the_notebook_says_right_to_right_answers():
    gap = {f'    "{text}": None': f'    "{text}": {value}' for text, value in INTENSITIES.items()}
    guessed = ("factor = dict.fromkeys(expressions)", f"factor = {FACTORS}")

    said = filled("05_roofline", *gap.items(), guessed, *RIGHT.values(), ("    x + y  # <--", "    (x + y).sync()"))

    assert verdicts(said) == {"right": 6, "not right": 0, "not done yet": 0, "another shape": 0}, said
    assert "impossible" not in said


@pytest.mark.slow
def test_the_notebook_runs_with_nothing_filled_in_and_measures_what_it_claims():
    said = filled("05_roofline")

    assert verdicts(said) == {"right": 0, "not right": 0, "not done yet": 6, "another shape": 0}, said
    assert float(re.search(r"fewer than ([\d.]+) operations per byte", said)[1]) > 1
    assert float(re.search(r"from the smallest cache ([\d.]+) times as fast", said)[1]) > 1.5
    assert len(re.findall(r"M  float\d\d .*%$", said, re.MULTILINE)) == 8
    assert "impossible" in said
