"""Notebook 10: a step by hand and how large it may be, as the grader judges them: apart from the long training."""

import pytest

from jt_exercises.grade import judged
from tests.exercises.test_grade import handed_in, text_of

DESCEND = """
def descend(parameters, loss, lr):
    for p, g in zip(parameters, jt.grad(loss, parameters)):
        p.assign(p - lr * g)
"""
LARGEST = """
def largest(curvature):
    return 2 / curvature
"""


@pytest.mark.parametrize(
    ("part", "instead", "right", "status", "words"),
    [
        ("", "", 5, "right", ""),
        ("p - lr", "p + lr", 3, "not right", "after 1 step: 550 of 650 numbers differ"),
        ("lr * g", "g", 3, "not right", "after 1 step: 550 of 650 numbers differ"),
        ("p.assign(p - lr * g)", "p = p - lr * g", 3, "not done yet", "after 1 step"),
        ("- lr * g)", "- lr * g)\n        break", 3, "not right", "after 1 step: 10 of 650 numbers differ"),
        ("jt.grad(loss, parameters)", "jt.grad(loss)", 0, "not right", "stopped with ArgumentError"),
        ("2 / curvature", "1 / curvature", 2, "not right", "curvature 1.0: yours is 1.0, it should be 2.0"),
        ("2 / curvature", "2", 3, "not right", "curvature 4.0: yours is 2, it should be 0.5"),
        ("return 2", "2", 2, "not done yet", "in a valley of curvature 1.0"),
    ],
)
def test_a_step_by_hand_gets_what_it_deserves(part, instead, right, status, words):
    answer = DESCEND + LARGEST
    assert part in answer

    outcome = judged(
        text_of(handed_in(answer.replace(part, instead, 1), name="10_training", number=0), "10_training", 0)
    )

    assert (outcome.right, outcome.status) == (right, status), outcome
    assert words in outcome.words


def test_the_empty_cell_is_not_done_yet():
    outcome = judged(text_of({}, "10_training", 0))

    assert (outcome.right, outcome.of, outcome.status) == (0, 5, "not done yet")
