"""Each check lets the right answer through, and refuses each wrong one with words about that mistake.

The answers stand in the file of their notebook:

    CHECKS    {exercise: its check}
    RIGHT     {exercise: the right answer}
    ALSO      (exercise, a part of the right answer, what may stand there as well)
    WRONG     (exercise, a part of the right answer, what is written instead of it, what the refusal says)
"""

import pytest

from tests.exercises import (
    test_03_fusion,
    test_04_kernels,
    test_05_roofline,
    test_07_convolution,
    test_09_neighbours,
    test_11_backbones,
)
from tests.exercises.answers import made

NOTEBOOKS = {
    "03": test_03_fusion,
    "04": test_04_kernels,
    "05": test_05_roofline,
    "07": test_07_convolution,
    "09": test_09_neighbours,
    "11": test_11_backbones,
}
RIGHT = [
    pytest.param(notebook.CHECKS[name], answer, id=f"{number}-{name}")
    for number, notebook in NOTEBOOKS.items()
    for name, answer in notebook.RIGHT.items()
]
ALSO = [
    pytest.param(notebook.CHECKS[name], notebook.RIGHT[name], part, instead, id=f"{number}-{name}-{place}")
    for number, notebook in NOTEBOOKS.items()
    for place, (name, part, instead) in enumerate(notebook.ALSO)
]
WRONG = [
    pytest.param(notebook.CHECKS[name], notebook.RIGHT[name], part, instead, words, id=f"{number}-{name}-{words}")
    for number, notebook in NOTEBOOKS.items()
    for name, part, instead, words in notebook.WRONG
]


@pytest.mark.parametrize(("check", "answer"), RIGHT)
def test_the_right_answer_passes(check, answer):
    verdict = check(made(answer))

    assert verdict.passed, verdict


@pytest.mark.parametrize(("check", "answer", "part", "instead"), ALSO)
def test_a_right_answer_in_another_form_passes(check, answer, part, instead):
    assert answer.count(part) == 1

    verdict = check(made(answer.replace(part, instead)))

    assert verdict.passed, verdict


@pytest.mark.parametrize(("check", "answer", "part", "instead", "words"), WRONG)
def test_a_wrong_answer_is_refused_with_words_about_its_mistake(check, answer, part, instead, words):
    assert answer.count(part) == 1

    verdict = check(made(answer.replace(part, instead)))

    assert verdict.passed is False, verdict
    assert words in verdict.words


@pytest.mark.parametrize(("check", "answer"), RIGHT)
def test_an_empty_answer_is_not_done_and_a_broken_one_is_told_why(check, answer):
    empty = check(lambda *_: None)
    broken = check(lambda *_: 1 / 0)

    assert (empty.passed, broken.passed) == (None, False)
    assert "stopped with ZeroDivisionError" in broken.words
