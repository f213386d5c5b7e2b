"""Answers that are not right though they look it are refused, and right ones in another dress are not."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import jt_edu as jt
from jt_exercises import convolution, fusion, roofline
from jt_exercises.convolution.problems import Problem
from tests.exercises.answers import made
from tests.exercises.test_05_roofline import RIGHT as ROOFLINE
from tests.exercises.test_07_convolution import REPAIRED, WINOGRAD, WINOGRAD_2D


def test_a_key_has_to_be_that_of_equal_problems_too_and_of_no_others():
    count = itertools.count()
    asked_twice = "your pair is right; but asked twice for"
    keys = {
        "an object": (lambda p: object(), asked_twice),
        "a counter": (lambda p: next(count), asked_twice),
        "a list": (lambda p: [p.images, p.channels, p.size, p.kernel, p.stride, p.dtype], "a dict takes no key"),
        "a sum": (lambda p: (p.images + p.channels + p.size + p.kernel + p.stride, p.dtype), "to both Problem("),
        "a product": (lambda p: (p.images * p.channels * p.size * p.kernel * p.stride, p.dtype), "to both Problem("),
        "digits": (lambda p: f"{p.images}{p.channels}{p.size}{p.kernel}{p.stride}{p.dtype}", "to both Problem("),
        "no order": (lambda p: frozenset([p.images, p.channels, p.size, p.kernel, p.stride, p.dtype]), "Problem("),
    }

    said = {name: convolution.check_broken_key(Problem(), Problem(stride=2), key) for name, (key, _) in keys.items()}

    assert {name for name, verdict in said.items() if verdict.passed is not False} == set()
    assert [(name, said[name].words) for name, (_, words) in keys.items() if words not in said[name].words] == []


@pytest.mark.parametrize(
    "key", [repr, lambda p: p, lambda p: (p.dtype, p.stride, p.kernel, p.size, p.channels, p.images)]
)
def test_any_key_that_tells_problems_apart_is_right(key):
    assert convolution.check_broken_key(Problem(), Problem(stride=2), key).passed
    assert convolution.check_broken_key(Problem(), Problem(stride=2), made(REPAIRED)).passed


@pytest.mark.parametrize(
    ("answer", "lost"), [({"exp": 0}, "sum"), ({"sum": 0}, "exp"), ({}, None), (None, None), ({"exp": None}, None)]
)
def test_each_operator_needs_a_kernel(answer, lost):
    x = jt.array(np.ones((4, 5), np.float32))

    verdict = fusion.check_groups(lambda: x.exp().sum(1), answer)

    assert verdict.passed is (None if lost is None else False)
    assert verdict.words == (f"which kernel computes `{lost}`? The answer leaves it out" if lost else "")


def test_nothing_is_not_done_yet():
    assert roofline.check_intensity(None).passed is None


def test_a_roof_may_be_a_list_and_seconds_may_be_a_number_of_numpy():
    roof, measure = made(ROOFLINE["roof"]), made(ROOFLINE["measure"])

    assert roofline.check_roof(lambda *place: list(roof(*place))).passed
    assert roofline.check_measure(lambda work, clock: np.float32(measure(work, clock))).passed


def test_a_number_has_a_plus_in_front_and_shows_its_value_to_nobody():
    def plus(d, g):
        return [+v for v in made(WINOGRAD)(d, g)]

    def plain(d, g):
        d, g = ([Fraction(repr(v)) for v in numbers] for numbers in (d, g))
        return made(WINOGRAD)(d, g)

    (number,) = convolution.checks.Count().numbers([3])

    assert convolution.check_winograd(plus, made(WINOGRAD_2D)).passed
    assert "returns plain numbers" in convolution.check_winograd(plain, made(WINOGRAD_2D)).words
    assert [name for name in vars(number) if not name.startswith("_")] == []
