"""Answers that are not right though they look it are refused, and right ones in another dress are not."""

import numpy as np
import pytest

import jt_edu as jt
from jt_exercises import fusion, matmul, roofline
from tests.exercises.answers import made
from tests.exercises.test_05_roofline import RIGHT as ROOFLINE


@pytest.mark.parametrize(
    ("answer", "lost"), [({"exp": 0}, "sum"), ({"sum": 0}, "exp"), ({}, None), (None, None), ({"exp": None}, None)]
)
def test_each_operator_needs_a_kernel(answer, lost):
    x = jt.array(np.ones((4, 5), np.float32))

    verdict = fusion.check_groups(lambda: x.exp().sum(1), answer)

    assert verdict.passed is (None if lost is None else False)
    assert verdict.words == (f"which kernel computes `{lost}`? The answer leaves it out" if lost else "")


def test_nothing_is_not_done_yet():
    assert matmul.check_order(None).passed is None
    assert roofline.check_intensity(None).passed is None


def test_a_roof_may_be_a_list_and_seconds_may_be_a_number_of_numpy():
    roof, measure = made(ROOFLINE["roof"]), made(ROOFLINE["measure"])

    assert roofline.check_roof(lambda *place: list(roof(*place))).passed
    assert roofline.check_measure(lambda work, clock: np.float32(measure(work, clock))).passed
