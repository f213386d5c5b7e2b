"""What `tell` says of an answer: right ones in any form, and wrong ones of any kind, which never stop a notebook."""

import numpy as np
import pytest

import jt_edu as jt
from jt_exercises.tell import tell
from jt_exercises.verdict import heard


@pytest.mark.parametrize(
    "yours",
    [[1.0, 2.0], (1, 2), np.array([1, 2], np.float32), jt.array([1.0, 2.0]), np.array([1.00001, 2])],
    ids=["list", "tuple", "float32", "Var", "nearly"],
)
def test_right_in_any_form_is_right(yours, capsys):
    tell("it", yours, np.array([1.0, 2.0]))

    assert capsys.readouterr().out == "right          it\n"
    assert heard[-1].passed is True


@pytest.mark.parametrize(
    ("yours", "right", "said"),
    [
        (None, 2.0, "not done yet   it\n"),
        (-2.0, 2.0, "not right      it: yours is -2.0, it should be 2.0\n"),
        (np.nan, 2.0, "not right      it: yours is nan, it should be 2.0\n"),
        (1j, 2.0, "not right      it: yours is 1j, which is no number\n"),
        ("2.0", 2.0, "not right      it: yours is '2.0', which is no number\n"),
        ([[1], [1, 2]], [1, 2], "not right      it: it is no array"),
        (np.ones((4, 3)), np.ones(3), "another shape  it: yours is (4, 3), it should be (3,)\n"),
        (
            np.arange(100.0).reshape(2, 50), np.arange(1.0, 101.0).reshape(2, 50),
            "not right      it: 100 of 100 numbers differ; at [0, 0] yours is 0.0, it should be 1.0\n",
        ),
        (
            np.where(np.arange(100) == 99, 7, np.arange(100)).reshape(2, 50), np.arange(100).reshape(2, 50),
            "not right      it: 1 of 100 numbers differ; at [1, 49] yours is 7, it should be 99\n",
        ),
        ("too large", "too small", "not right      it: yours is too large, it should be too small\n"),
    ],
)  # fmt: skip
def test_a_wrong_answer_is_told_in_words(yours, right, said, capsys):
    tell("it", yours, right)

    assert capsys.readouterr().out.startswith(said)
    assert heard[-1].passed is (None if yours is None else False)


def test_how_near_an_answer_has_to_be_may_be_said(capsys):
    tell("it", 1.00001, 1.0, near=1e-9, also="difference: 1e-05")

    assert capsys.readouterr().out == "not right      it: yours is 1.00001, it should be 1.0   difference: 1e-05\n"


@pytest.mark.parametrize(("yours", "right"), [([True, False], [2.0, 0.0]), ([2.0, 0.0], [True, False])])
def test_bools_in_the_place_of_numbers_are_not_right_and_stop_nothing(yours, right, capsys):
    tell("a rule", np.array(yours), np.array(right))

    assert capsys.readouterr().out.startswith("not right      a rule: yours is")
