"""Notebook 03: what is drawn, answers of another kind, and what the notebook measures."""

import re

import numpy as np
import pytest

from jt_exercises.author.masters import masters
from jt_exercises.author.validate import one_verdict
from jt_exercises.exercise import find
from jt_exercises.fusion.cases import two_numbers
from jt_exercises.fusion.cycles.exercise import AGAIN, DIAMOND, cycle_of, graphs
from jt_exercises.seed import seeded
from jt_exercises.verdict import RefusedError
from tests.story.test_course_answers import untouched

MASTERS = masters()


@pytest.mark.parametrize("number", [f"03.{k}" for k in range(1, 7)])
def test_a_solution_is_right_whatever_is_drawn(number):
    for seed in range(20):
        with seeded(seed):
            assert one_verdict(number, MASTERS[number].solved).passed, seed


def test_which_number_a_kernel_has_is_free():
    guess = {"max": 3, "absolute": 7, "sum": 7, "divide": 7, "exp": 7, "matmul": -1}

    assert find("03.1").verdict(guess).words == "3 kernels"


@pytest.mark.parametrize("answer", ["yes", np.ones(2) > 0, 1])
def test_a_rule_says_true_or_false(answer):
    assert "True or False, not" in find("03.2").verdict(lambda *_: answer).words


@pytest.mark.parametrize("answer", [5, "ab", (1, None), (1, (2, 3)), {1: 2, 3: 4}, (1, 2, 3)])
def test_what_is_not_two_numbers_is_told(answer):
    with pytest.raises(RefusedError, match=r"two numbers, \(m, s\), not "):
        two_numbers(answer, "(m, s)")


def test_a_cycle_is_found_and_named_and_the_graphs_hold_enough_of_them():
    greedy = [cycle_of(g, {n: any(n in e for e in g.may) or n for n in g.order}) for g in graphs()]

    assert sum(map(bool, greedy)) >= 10
    assert cycle_of(DIAMOND, {"scale": 0, "matmul": 1, "add": 0}) == ["{scale, add}", "{matmul}", "{scale, add}"]
    assert cycle_of(DIAMOND, {"scale": 0, "matmul": 1, "add": 2}) == cycle_of(AGAIN, dict.fromkeys(AGAIN.order)) == []


def test_the_notebook_runs_with_nothing_filled_in_and_measures_what_it_claims():
    said = untouched("03_fusion")

    moved, longer = map(float, re.search(r"([\d.]+) times the bytes, ([\d.]+) times the time", said).groups())
    assert moved == 3.0
    assert longer > 1.5  # a third of the time, where nothing else needs the memory
    assert float(re.search(r"in one loop it takes ([\d.]+) times as long", said)[1]) > 1.2
    assert re.search(r"alone +1 kernel\(s\), 128 MB moved, 64 MB new", said)
    assert re.search(r"watched +1 kernel\(s\), 192 MB moved, 128 MB new", said)
