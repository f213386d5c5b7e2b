"""Progress, cards and the board: what is kept beside the notebooks, and what a learner sees of it."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from jt_exercises import checking, prediction
from jt_exercises.author.masters import masters
from jt_exercises.card import Card
from jt_exercises.exercise import Exercise, find
from jt_exercises.prediction import predict
from jt_exercises.progress import Progress, Tried
from jt_exercises.progress_board import Board
from jt_exercises.verdict import RefusedError, Verdict, YourTurn, part

TRIES = ((False, 1), (True, 4), (None, 0))
NOT_RIGHT, RIGHT, OPEN = (Verdict("01.3 it", passed, "why", right, 4) for passed, right in TRIES)


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    """As in a notebook, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    for module in (checking, prediction):
        monkeypatch.setattr(module, "in_notebook", lambda: True)
    return tmp_path


@pytest.fixture
def shown(monkeypatch):
    """What is shown there, as text."""
    found = []
    for module in (checking, prediction):
        monkeypatch.setattr(module, "show", lambda what: found.append(repr(what)))
    return found


@pytest.fixture
def progress(tmp_path):
    return Progress(tmp_path / "progress.json")


def test_the_best_try_is_kept_and_failures_count_until_one_is_right(progress):
    assert progress.note("01.3", OPEN) == Tried()
    assert progress.note("01.3", NOT_RIGHT) == Tried(1, 1, 1, 4)
    assert progress.note("01.3", replace(NOT_RIGHT, right=3)) == Tried(2, 2, 3, 4)
    assert progress.note("01.3", NOT_RIGHT) == Tried(3, 3, 3, 4)
    assert progress.note("01.3", RIGHT) == Tried(4, 0, 4, 4)
    assert progress.note("01.3", NOT_RIGHT) == Tried(5, 1, 4, 4)

    assert Progress(progress.path).read() == {"01.3": Tried(5, 1, 4, 4)}
    assert [path.name for path in progress.path.parent.iterdir()] == ["progress.json"]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"01.3": 7}', '{"01.3": {"tries": "x"}}', "[" * 5000, '{"a": {"b": 1}}']
)
def test_a_file_that_cannot_be_read_is_put_aside_and_a_new_one_begins(progress, capsys, text):
    progress.path.write_text(text)

    assert progress.read() == {}

    assert progress.path.with_suffix(".unread.json").read_text() == text
    assert "cannot be read" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_to_is_told_and_nothing_stops(tmp_path, capsys):
    Progress(tmp_path / "nowhere" / "progress.json").note("01.3", RIGHT)

    assert "cannot be kept" in capsys.readouterr().err


def test_a_card_shows_both_results_and_escapes_what_a_learner_wrote():
    verdict = Verdict("01.3 it", False, "`<b>` is not `c`", 1, 4, np.array([1.0, 5.0]), np.array([2.0, 5.0]))

    html, text = Card(verdict, (("hint", "look <here>"),))._repr_html_(), repr(Card(verdict, (("hint", "look"),)))

    assert "<code>&lt;b&gt;</code> is not <code>c</code>" in html and "look &lt;here&gt;" in html
    assert html.count("font-weight:bold") == 2  # the number that differs, on both sides
    assert "parts right: 1 of 4" in text and "yours:     [1. 5.]" in text and text.endswith("hint: look")


@pytest.mark.parametrize(
    "value", [np.zeros((20, 20)), np.zeros((2, 2, 2)), np.zeros((0, 3)), np.array("text"), 3, [1, [2]]]
)
def test_a_card_shows_whatever_came(value):
    verdict = Verdict("01.3 it", False, "", 0, 1, "another" if isinstance(value, list) else value, np.ones((2, 2)))

    assert "should be" in Card(verdict)._repr_html_()
    assert "should be" in repr(Card(verdict))


def test_the_board_counts_points_by_parts_and_says_what_comes_next():
    some = [replace(find("01.3"), number=f"01.{k}", points=4) for k in (1, 2, 3)]

    board = Board(some, {"01.1": Tried(2, 0, 4, 4), "01.2": Tried(1, 1, 1, 4)})

    assert "✓ ✗ ○" in repr(board) and "5 of 12 points" in repr(board) and "next: 01.2" in repr(board)
    assert "All is solved" in Board(some[:1], {"01.1": Tried(1, 0, 4, 4)})._repr_html_()


def test_the_board_counts_predictions_once_there_are_some():
    some, guess = [find("01.3")], Tried(1, guess="3")

    board = Board(some, {"00.3": replace(guess, right=1), "00.4": guess, "01.2": replace(guess, guess="[1, 2]")})

    for shown in (repr(board), board._repr_html_()):
        assert "predictions: 1 of 3 right" in shown and "0 of 2 points" in shown
    for shown in (repr(Board(some, {"01.3": Tried(1)})), Board(some, {})._repr_html_()):
        assert "predictions" not in shown


def test_hints_open_with_tries_and_when_they_are_asked_for(notebook, shown):
    def open_gap(y, order):
        raise YourTurn("walk")

    checking.check("01.3", open_gap, here=True)
    assert "hint" not in shown[-1]
    for number in ("1", "2", "3", "3"):
        checking.check("01.3", lambda y, order: setattr(order[0], "grad", 7.0), here=True)
        assert f"hint {number} of 3" in shown[-1]
    checking.hint("01.3")
    assert "hint 1 of 3" in shown[-1] and "hint 3 of 3" in shown[-1]
    assert json.loads((notebook / "progress.json").read_text())["01.3"]["failed"] == 4


def test_outside_of_a_notebook_nothing_is_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    checking.check("01.3", lambda y, order: 1 / 0)

    assert "ZeroDivisionError" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_solved_is_what_was_right_when_it_was_last_tried(monkeypatch, capsys):
    monkeypatch.setattr(checking, "heard", [])
    found = [checking.solved("01.7")]
    for places in ([-1.5, 2.0], [2.0]):
        checking.check("01.7", places)
        found.append(checking.solved("01.7"))

    assert found == [False, True, False]
    assert not checking.solved("01.7", "01.3")


def test_an_exercise_that_is_not_there_is_told_with_those_that_are():
    with pytest.raises(ValueError, match=r"no exercise '01.4'. There are: 01.3, 01.5"):
        find("01.4")
    with pytest.raises(ValueError, match=r"There are: 01\.…"):
        find("99.1")


def test_a_part_that_is_not_right_does_not_silence_the_next():
    def judge():
        for name in ("one", "two", "three"):
            with part(name):
                if name == "one":
                    raise RefusedError("no")
        return "all"

    found = Exercise("00.1", "it", judge).verdict(here=True)

    assert (found.passed, found.right, found.of, found.words) == (False, 2, 3, "one: no")


def test_a_check_that_never_calls_its_answer_is_an_error_of_its_author():
    careless = Exercise("00.1", "it", lambda answer: "well done")

    with pytest.raises(AssertionError, match="without calling it"):
        careless.verdict(lambda: None, here=True)
    assert careless.verdict(3, here=True).passed


def test_a_guess_is_locked_and_compared_and_nothing_runs_before_it(notebook, shown):
    runs = []

    def run():
        runs.append(1)
        return 6

    predict("00.1", ..., run)
    assert runs == [] and "your turn" in shown[-1]
    predict("00.1", 2, run)
    assert "you guessed 2: it is 6" in shown[-1]
    predict("00.1", 6, run)
    assert "you guessed 2, and that is kept (now you say 6): it is 6" in shown[-1]
    assert json.loads((notebook / "progress.json").read_text())["00.1"]["guess"] == "2"


@pytest.mark.parametrize(
    ("guess", "found", "factor", "right"),
    [
        (3, 3.0, 1, True), (3, 4, 1, False), (3, 5.9, 2, True), (3, 6.1, 2, False), (12, 6, 2, True), (0, 0, 2, True),
        (0, 1, 2, False), ("One kernel ", "one kernel", 1, True), ("1", 2, 1, False),
        ([1, 2], np.array([1, 2]), 1, True),
        ([1, 2], [1], 1, False), ((4, 8), [2, 4], 2, True), (True, 1, 1, True), (-1, 1, 2, False),
    ],
)  # fmt: skip
def test_a_guess_is_right_as_a_learner_would_say(guess, found, factor, right, capsys):
    predict("00.1", guess, lambda: found, factor)

    assert capsys.readouterr().out.startswith("✓" if right else "✗")


def test_what_is_no_guess_is_told():
    with pytest.raises(ValueError, match="a guess is a number, a text, or a list of these"):
        predict("00.1", object(), lambda: 1)


def test_a_solution_opens_after_two_tries_that_failed(notebook, shown, monkeypatch):
    monkeypatch.setattr(checking, "heard", [])
    checking.solution("01.6")
    assert "opens after 2 tries" in shown[-1] and "dout.sum" not in shown[-1]
    for _ in range(2):
        checking.check("01.6", lambda dout, shape: dout)
    checking.solution("01.6")
    assert "dout = dout.sum(0)" in shown[-1]


def test_a_pass_tells_what_it_cost(capsys):
    exec(compile(masters()["01.6"].solved, "a solution", "exec"), {})  # noqa: S102 - its last line is a check

    assert re.search(r"cost: 6 calls of your answer took \d+ ms", capsys.readouterr().out)
