"""Notebook 03: answers right and wrong, which `test_answers` hands to its checks, and the words of its checks."""

import re

import numpy as np
import pytest

import jt_edu as jt
from jt_exercises import fusion
from jt_exercises.fusion.checks import cycle_of
from tests.exercises.answers import filled
from tests.story.test_course_answers import verdicts

CAN_INLINE = """
def can_inline(a, b, times):
    if a.held or a.kind != "elementwise" or b.kind == "matmul":
        return False
    return times == 1 or a.work <= 4
"""
GROUP = """
def fits(order, inputs, home):
    gone, left = set(), set(home.values())
    while left:
        ready = {
            h for h in left
            if all(home[i] in gone or home[i] == h for n in order if home[n] == h for i in inputs[n])
        }
        if not ready:
            return False
        gone, left = gone | ready, left - ready
    return True


def group(order, inputs, may):
    home = {name: name for name in order}
    for a, b in sorted(may):
        joined = {name: home[a] if h == home[b] else h for name, h in home.items()}
        if fits(order, inputs, joined):
            home = joined
    return home
"""
SECONDS = """
def seconds(value, inputs, work, readers, bandwidth, peak):
    stored = (inputs + value * (1 + readers)) / bandwidth + work / peak
    return stored, readers * (inputs / bandwidth + work / peak)
"""
STEP = """
import math


def step(m, s, v):
    new = max(m, v)
    if new == -math.inf:
        return new, 0.0
    return new, s * math.exp(m - new) + math.exp(v - new)
"""
REMOVED = """
def removed(kernels, values):
    gone = [n for k in kernels for n in k.nodes if n not in k.stored]
    return len(gone), sum(values[n][1] for n in gone)
"""
KERNELS = ("{" + ", ".join(f'"{n}": None' for n in ("absolute", "sum", "divide", "exp", "matmul", "max")) + "}",
           '{"absolute": 0, "sum": 0, "divide": 0, "exp": 0, "matmul": 1, "max": 2}')  # fmt: skip
CHECKS = {
    "can_inline": fusion.check_can_inline,
    "group": fusion.check_three_groups,
    "seconds": fusion.check_store_or_recompute,
    "step": fusion.check_softmax_step,
    "removed": fusion.check_removed,
}
RIGHT = {"can_inline": CAN_INLINE, "group": GROUP, "seconds": SECONDS, "step": STEP, "removed": REMOVED}
WRONG = [  # of which exercise, what is written instead of what, and what the refusal says
    ("can_inline", "a.held or ", "", "`exp` is read by `add`, 1 times each element, and you say True"),
    ("can_inline", ' or b.kind == "matmul"', "", "BLAS multiplies"),
    ("can_inline", 'a.kind != "elementwise"', 'a.kind == "matmul"', "`sum` is read by `exp`"),
    ("can_inline", 'a.kind != "elementwise"', 'a.kind == "reduce"', "complete only after its last iteration"),
    ("can_inline", " or a.work <= 4", "", "`multiply` is read by `add`, 60 times each element, and you say False"),
    (
        "can_inline",
        CAN_INLINE[CAN_INLINE.index("    if") :],
        "    return True\n",
        "`sum` has a loop of its own, and is complete only after it. They share a kernel: `exp` comes after that loop",
    ),
    ("can_inline", "a.held or ", "False or ", "`exp` becomes an array, since somebody wants it"),
    ("can_inline", "times == 1 or a.work <= 4", "True", "60 times, 8 multiplications each"),
    ("can_inline", "return times", "return not times", "The framework computes it there"),
    ("group", "if fits(order, inputs, joined):", "if True:", "{scale, add} needs {matmul}; {matmul} needs"),
    ("group", "for a, b in sorted(may):", "for a, b in ():", "may fuse, and that would make no cycle"),
    ("group", "for a, b in sorted(may):", "for a, b in [(i, n) for n in order for i in inputs[n]]:", "no allowed edge"),
    ("group", "return home\n", "return {}\n", "a dict with a group for each of"),
    ("group", "if h == home[b] else h", "if h == home[b] or h == home[a] else name", "may fuse"),
    ("seconds", "1 + readers", "readers", "`stored` is"),
    ("seconds", "1 + readers", "2", "read it once for each reader"),
    ("seconds", "readers * (inputs / bandwidth", "(inputs / bandwidth", "`again`"),
    ("seconds", "(inputs / bandwidth + work / peak)", "work / peak", "each reader reads the inputs"),
    ("seconds", "return stored, ", "return ", "the answer is two numbers"),
    ("step", "s * math.exp(m - new)", "s", "every exp(v - m) that is in s already has to become exp(v - new)"),
    ("step", "math.exp(v - new)", "math.exp(v)", "s is"),
    ("step", "new = max(m, v)", "new = v", "the largest number is"),
    ("step", "if new == -math.inf", "if m == math.inf", "step(-inf, 0, -inf) is (-inf, nan). -inf - -inf is nan"),
    ("step", "return new, s * ", "return new, math.nan * ", "step(-inf, 0, 1) is (1, nan)"),
    (
        "seconds",
        "return stored, ",
        "return max((inputs + value * (1 + readers)) / bandwidth, work / peak), ",
        "Add the times",
    ),
    ("removed", " if n not in k.stored", "", "for x * 2 you count 1 array"),
    ("removed", "len(gone)", "len(gone) - 1", "fusion removes 0"),
    ("removed", "values[n][1]", "1", "fusion removes 2 of 12,000 B"),
]
ALSO = [  # of which exercise, and what is written instead of what; no less right
    ("can_inline", "return times == 1 or a.work <= 4", "return a.work <= 4 or times <= 1"),
    ("step", "if new == -math.inf", "if math.isinf(new)"),
    ("removed", "return len(gone), ", "return len(set(gone)), "),
]


def expression():
    x, w = jt.array(np.ones((20, 30), np.float32)), jt.array(np.ones((30, 10), np.float32))
    return ((x / x.abs().sum()).exp() @ w).max(1)


@pytest.mark.parametrize(
    ("guess", "passed", "words"),
    [
        ((0, 0, 0, 0, 1, 2), True, "3 kernels"),
        ((7, 7, 7, 7, 1, 3), True, "3 kernels"),  # the numbers are free
        ((0, 0, 1, 1, 2, 3), False, "you have `sum` and `divide` apart, but they share a kernel"),
        ((0, 0, 0, 0, 0, 1), False, "you have `exp` and `matmul` together, but they do not share one: BLAS"),
        ((0, 0, 0, 0, 1, 0), False, "`absolute` and `max` are in two kernels"),
        ((0, 0, 0, 0, None, 2), False, "which kernel computes `matmul`"),
        ((None,) * 6, None, ""),
    ],
)
def test_guessed_kernels_are_compared_with_the_plan(guess, passed, words):
    names = ("absolute", "sum", "divide", "exp", "matmul", "max")

    verdict = fusion.check_groups(expression, dict(zip(names, guess, strict=True)))

    assert verdict.passed is passed
    assert words in verdict.words


def test_a_cycle_is_found_and_named():
    g = fusion.diamond

    assert cycle_of(g, {"scale": 0, "matmul": 1, "add": 2}) == []
    assert cycle_of(g, {"scale": 0, "matmul": 1, "add": 0}) == [["scale", "add"], ["matmul"]]


def test_the_graphs_hold_cycles_to_run_into():
    edges = [({n: n for n in g.order}, g) for g in fusion.all_graphs()]
    greedy = [{n: "all" if any(n in e for e in g.may) else n for n in home} for home, g in edges]

    cycles = sum(bool(cycle_of(g, found)) for found, (_, g) in zip(greedy, edges, strict=True))

    assert cycles >= 10


def test_an_operator_that_is_not_there_is_told():
    verdict = fusion.check_groups(expression, {"abs": 0, "exp": 0})

    assert verdict.words == "there is no operator `abs` here; there are absolute, sum, divide, exp, matmul, max"


def test_the_notebook_says_right_to_right_answers():
    said = filled("03_fusion", KERNELS, *RIGHT.values())

    assert verdicts(said) == {"right": 6, "not right": 0, "not done yet": 0, "another shape": 0}, said


def test_the_notebook_runs_with_nothing_filled_in_and_measures_what_it_claims():
    said = filled("03_fusion")

    assert verdicts(said) == {"right": 0, "not right": 0, "not done yet": 6, "another shape": 0}, said
    moved, longer = map(float, re.search(r"([\d.]+) times the bytes, ([\d.]+) times the time", said).groups())
    assert moved == 3.0
    assert longer > 1.5  # a third of the time, where nothing else needs the memory
    assert float(re.search(r"in one loop it takes ([\d.]+) times as long", said)[1]) > 1.2
    assert re.search(r"alone +1 kernel\(s\), 128 MB moved, 64 MB new", said)
    assert re.search(r"watched +1 kernel\(s\), 192 MB moved, 128 MB new", said)
