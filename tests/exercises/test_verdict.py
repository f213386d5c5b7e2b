"""Verdicts: whatever a learner hands over, a check answers in a line or two, and the notebook goes on."""

from functools import partial

import pytest

from jt_exercises.exercise import find
from jt_exercises.verdict import NotDoneError, RefusedError, Verdict, ask, judged


def twice(function):
    return judged("0 twice", partial(_twice, function))


def _twice(function):
    found = ask(function, 2)
    if found != 4:
        raise RefusedError(f"twice 2 is 4, not {found}")
    return "well done"


def test_a_verdict_is_right_or_not_right_or_not_done_yet():
    assert repr(twice(lambda x: 2 * x)) == "right          0 twice: well done"
    assert repr(twice(lambda x: x)) == "not right      0 twice: twice 2 is 4, not 2"


def test_who_forgot_a_return_is_told():
    assert repr(twice(lambda x: None)) == "not done yet   0 twice: it returns None: is a `return` missing?"


def test_a_long_verdict_is_broken_between_words_and_loses_none():
    words = "10 are asked for. " * 12 + "You were asked about\n    a = " + "Value(...), " * 9 + "\n" + "x" * 100

    rows = repr(Verdict("5 ten times as fast", False, words)).split("\n")

    assert " ".join(rows).split() == f"not right 5 ten times as fast: {words}".split()
    assert [row for row in rows if len(row) > 76] == ["x" * 100]
    assert sum(row.startswith("    a = Value(...), Value") for row in rows) == 1


def test_what_a_function_of_the_learners_raises_is_told():
    def mine(x):
        return x + "1"

    assert twice(mine) == Verdict("0 twice", False, f"mine(2) stopped with TypeError: {_says(mine)}")
    assert "this exercise takes a function, not 'four'" in twice("four").words


def _says(function):
    with pytest.raises(TypeError) as caught:
        function(2)
    return str(caught.value)


def test_a_stub_may_also_raise():
    def stub(x):
        raise NotImplementedError

    assert twice(stub).passed is None


def test_a_check_that_cannot_judge_now_says_why():
    def busy():
        raise NotDoneError("the machine is too busy to tell")

    assert repr(judged("0 busy", busy)) == "not done yet   0 busy: the machine is too busy to tell"


def test_a_check_says_which_answers_it_takes():
    found = find("16.1").verdict(lambda *_: None)

    assert found.passed is None
    assert found.words == 'check("16.1", gains, filtered) takes 2 answers; it was given 1'
