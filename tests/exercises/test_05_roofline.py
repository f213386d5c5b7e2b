"""Notebook 05: answers right and wrong, which `test_answers` hands to its checks, and the words of its checks."""

import re

import pytest

import jt_edu as jt
from jt_exercises import roofline
from jt_exercises.roofline.worlds import World, cache_misses
from jt_exercises.timing import least, ratio
from tests.exercises.answers import filled
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
ONE_RUN = """    begin = clock()
    work()
    return (clock() - begin) / 40
"""  # as long as a first run takes, more or less
COLD = """    a = clock()
    old()
    b = clock()
    new()
    c = clock()
    return (c - b) / (b - a) > 1.1
"""  # one run each, compiling
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
WRONG = [  # of which exercise, what is written instead of what, and what the refusal says
    ("roof", '(slope, "memory") if slope < peak else ', "", "more than memory delivers"),
    ("roof", 'if slope < peak else (peak, "arithmetic")', "", "more than the peak"),
    ("roof", "(slope, ", "(slope / 2, ", "too low"),
    ("roof", '"arithmetic"', '"memory"', "is limited by arithmetic, not by 'memory'"),
    ("roof", '(slope, "memory")', "slope", "the answer is a pair"),
    ("roof", "< peak", "<= peak", "is at the ridge, where both take as long: say 'arithmetic', not 'memory'"),
    ("measure", "min(times)", "sum(times) / len(times)", "A disturbance makes a run longer, never shorter"),
    ("measure", "min(times)", "sorted(times)[25]", "where 70% of the runs are disturbed"),
    ("measure", "min(times)", "max(times)", "which of the runs had least?"),
    ("measure", "range(50)", "range(3)", "they may all have been disturbed"),
    ("measure", "    work()\n    times = []\n    for _ in range(50)", "    times = []\n    for _ in (0,)", "compiles"),
    ("measure", MEASURE[MEASURE.index("    work()") :], ONE_RUN, "takes 20 to 60 times as long: do not count it"),
    ("measure", "        work()\n        times", "        times", "read the `clock` that you are given"),
    ("measure", "return min(times)", "return min(times) / 2", "no run took less than the truth"),
    ("measure", "    return min", "    return 0 * min", "before and after each run"),
    ("misses", "lines if lines <= cache else lines * passes", "lines * passes", "It fits: after the first pass"),
    ("misses", "lines if lines <= cache else lines * passes", "lines", "it is the one that was thrown out last pass"),
    ("misses", "lines * passes", "lines + (lines - cache) * (passes - 1)", "It does not fit"),
    ("misses", "<=", "<", "8 lines, read 2 times, through a cache of 8: 8 misses, not 16"),
    ("is_slower", "[(took(old), took(new)) for _ in range(25)]",
     "list(zip([took(old) for _ in range(25)], [took(new) for _ in range(25)]))", "let old and new take turns"),
    ("is_slower", "range(25)", "range(1)", "Each ran 2 times"),
    ("is_slower", IS_SLOWER[IS_SLOWER.index("    def took") :], COLD, "Each ran once, and the first run compiles"),
    ("is_slower", "min(b for _, b in pairs) > 1.1 * min(a for a, _ in pairs)",
     "sum(b for _, b in pairs) > 1.1 * sum(a for a, _ in pairs)", "compare the least of each, not the means"),
    ("is_slower", "> 1.1 *", "> 1.0 *", "you answer True"),
    ("is_slower", "> 1.1 *", "> 1.4 *", "the new work is 15% slower, and you answer False"),
    ("is_slower", "> 1.1 *", "< 1.1 *", "the new work is as fast as the old one, and you answer True"),
]  # fmt: skip
ALSO = [  # of which exercise, and what is written instead of what; no less right
    ("roof", ROOF[ROOF.index("    slope") :], """    ridge = peak / bandwidth
    return min(peak, intensity * bandwidth), ("arithmetic" if intensity >= ridge else "memory")
"""),
    ("measure", "min(times)", "sorted(times)[0]"),
    ("measure", "range(50)", "range(200)"),
    ("is_slower", "range(25)", "range(60)"),
    ("is_slower", IS_SLOWER[IS_SLOWER.index("    def took") :],
     "    from jt_exercises.timing import ratio\n    return ratio(new, old, 25, clock) > 1.1\n"),
]  # fmt: skip


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
        ({"x + y": 0.083, "x + y, float64": 0.042}, None),  # rounded, and what is meant
        ({"x + y": 0.08}, "0.08 is nearly it, and rounded too far: write a fraction"),
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

    assert roofline.caches(tmp_path) == [("L1", 32 << 10), ("L2", 1 << 20)]
    assert roofline.caches(tmp_path / "nowhere") == []


def test_a_cache_that_is_one_line_too_small_keeps_nothing():
    assert [cache_misses([*range(n)] * 10, 8) for n in (7, 8, 9)] == [7, 8, 90]


def test_the_least_of_many_runs_and_a_quotient_in_turns_are_the_truth_on_a_disturbed_machine():
    world = World(3, disturbed=0.4, drift=0.001)

    assert least(world.work(1.0), clock=world.clock) == pytest.approx(1.0, rel=0.03)
    assert ratio(world.work(3.0), world.work(1.0), clock=world.clock) == pytest.approx(3.0, rel=0.03)


def test_the_notebook_says_right_to_right_answers():
    gap = {f'    "{text}": None': f'    "{text}": {value}' for text, value in INTENSITIES.items()}
    guessed = ("factor = dict.fromkeys(expressions)", f"factor = {FACTORS}")

    said = filled("05_roofline", *gap.items(), guessed, *RIGHT.values(), ("    x + y  # <--", "    (x + y).sync()"))

    assert verdicts(said) == {"right": 6, "not right": 0, "not done yet": 0, "another shape": 0}, said
    assert "impossible" not in said


def test_the_notebook_runs_with_nothing_filled_in_and_measures_what_it_claims():
    said = filled("05_roofline")

    assert verdicts(said) == {"right": 0, "not right": 0, "not done yet": 6, "another shape": 0}, said
    assert float(re.search(r"fewer than ([\d.]+) operations per byte", said)[1]) > 1
    assert float(re.search(r"with \d+ kB it is ([\d.]+) times as fast as from memory", said)[1]) > 1.5
    assert len(re.findall(r"M  float\d\d .*%$", said, re.MULTILINE)) == 8
    assert "impossible" in said
