"""Answers: another kind, another shape and a known mistake are told apart; whatever is right passes."""

import numpy as np
import pytest

from jt_exercises.answers import entry, number, numbers, pair, same, truth
from jt_exercises.process import COPY, Forked, Here
from jt_exercises.verdict import NotDoneError, RefusedError, ask

RIGHT = np.array([2.0, 4.0])
KNOWN = [([4.0, 2.0], "turned round"), ([2.0, 4.0, 0.0], "one more"), ([np.nan, np.nan], "0 / 0")]
JAGGED = [[1], [2, 3]]


@pytest.mark.parametrize(("found", "words"), [
    ([4, 2], "the mean: turned round"),
    (np.float32([2, 4, 0]), "the mean: one more"),
    ([np.nan, np.nan], "the mean: 0 / 0"),
    ([1, 2], "the mean: these are not the right numbers"),
    ([1], "the mean: numbers of the shape (2,) are asked for. Yours has the shape (1,)"),
    ("two", "the mean: numbers of the shape (2,) are asked for, not 'two'"),
    ([True, True], "the mean: numbers of the shape (2,) are asked for, not [True, True]"),
    (JAGGED, "the mean: numbers of the shape (2,) are asked for, not [[1], [2, 3]]"),
])  # fmt: skip
def test_a_wrong_answer_is_told_by_its_kind_its_shape_or_its_mistake(found, words):
    with pytest.raises(RefusedError) as refused:
        same(found, RIGHT, "the mean", KNOWN)

    assert str(refused.value) == words


def test_what_is_right_passes_as_the_value_it_is():
    assert same((2, 4 + 1e-12), RIGHT).tolist() == pytest.approx([2, 4])
    assert (number(np.float32(2)), number(np.array(3)), truth(np.array(True)), pair([1, "a"], "")) == (
        2,
        3,
        True,
        (1, "a"),
    )
    assert entry({"x": 2}, "x") == 2


@pytest.mark.parametrize("found", ["yes", [1], None, JAGGED, 1j])
def test_another_kind_is_refused_with_what_was_asked_for(found):
    for take in (truth, number):
        with pytest.raises(RefusedError, match=f"a {take.__name__}, not "):
            take(found, f"the answer is a {take.__name__}")


def test_what_is_still_none_is_not_wrong():
    with pytest.raises(NotDoneError, match="two numbers; it is still None"):
        numbers(None, "two numbers")


def refuses(function):
    raise RefusedError("the probe says why\nin two lines")


@pytest.mark.parametrize("make", [Here, pytest.param(Forked, marks=pytest.mark.skipif(not COPY, reason="no fork"))])
def test_a_probe_refuses_in_its_own_words(make):
    with make([len]) as side, pytest.raises(RefusedError) as refused:
        ask(side.answers()[0], through=refuses)

    assert str(refused.value) == "the probe says why\nin two lines"
