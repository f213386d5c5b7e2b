"""The exercises inside of the notebooks: right answers are called right, wrong ones are not, empty ones neither."""

import ast
import asyncio
import contextlib
import io
import re
from functools import cache
from unittest import mock

import matplotlib as mpl
import pytest

import jt_edu as jt
from jt_exercises.author.masters import expanded
from tests.house.test_notebooks import FOLDER, build

mpl.use("Agg")


def run(name, answers, solved=False, last=None):
    """What the cells of a notebook print when its gaps are filled; those for ranks are left out.

    `last`: words of the cell after which it ends.
    """
    text = expanded((FOLDER / "source" / f"{name}.py").read_text(encoding="utf-8"), solved)
    for gap, answer in answers.items():
        assert text.count(gap) == 1, f"{gap!r} is there {text.count(gap)} times"
        text = text.replace(gap, answer)
    space, said = {"__name__": "a notebook", "display": lambda *_: None, "ranks": mock.MagicMock()}, io.StringIO()
    with contextlib.redirect_stdout(said):
        for number, (kind, body) in enumerate(build.cells(text), 1):
            if kind == "code" and not body.startswith("%%"):
                code = compile(body, f"cell {number}", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
                if (awaiting := eval(code, space)) is not None:  # noqa: S307 - cells of our own
                    asyncio.run(awaiting)
            if last and last in body:
                break
    return said.getvalue()


@cache
def untouched(name):
    """What they print when nothing is filled in; run once for all tests here."""
    return run(name, {})


def verdicts(said):
    """How often each verdict stands at the beginning of a line."""
    words = ("right", "not right", "not done yet", "another shape")
    return {word: sum(line.startswith(word) for line in said.splitlines()) for word in words}


def open_guesses(said):
    """The predictions that wait for a guess, and tell nothing yet."""
    assert "you guessed" not in said
    return re.findall(r"^○ (\S+): your turn: put your guess in place of the dots", said, re.MULTILINE)


@pytest.fixture(autouse=True)
def _seeded():
    jt.set_global_seed(0)


REPAIRED = {"watched = jt.array(hidden.numpy())": "watched = hidden"}


def test_autograd_by_hand_says_right_to_right_answers():
    found = verdicts(said := run("01_autograd_by_hand", REPAIRED, solved=True))

    assert found == {"right": 5, "not right": 0, "not done yet": 0, "another shape": 0}, said
    assert "a gradient arrives: [[" in said


def test_autograd_by_hand_says_nothing_of_the_kind_to_an_empty_page():
    found = verdicts(said := untouched("01_autograd_by_hand"))

    assert (found["right"], found["not done yet"]) == (0, 5), said
    assert open_guesses(said) == ["01.2"]
    assert "push finds 3; the judge finds 2.000000" in said
    assert "dy/da 10.0   dy/db -24.0\nfrom short_grad: 10.0 -24.0\n" in said
    assert "GradientError" in said


SHIFTED = {"signal.reindex((7, 3), lambda i, k: (i + k,))": "signal.reindex((7, 3), lambda i, k: (i + k - 1,))"}


def test_meta_operators_says_right_to_right_answers():
    found = verdicts(said := run("02_meta_operators", SHIFTED, solved=True))

    assert found == {"right": 5 + 1, "not right": 0, "not done yet": 0, "another shape": 0}, said


def test_meta_operators_says_nothing_of_the_kind_to_an_empty_page():
    found = verdicts(said := untouched("02_meta_operators"))

    assert found == {"right": 0, "not right": 0, "not done yet": 5, "another shape": 0}, said
    assert open_guesses(said) == ["02.4b"]
    assert "not symmetric about the 6" in said


def test_meta_operators_measures_that_a_product_spelled_out_is_a_product():
    said = untouched("02_meta_operators")

    assert said.count("1 kernel: BLAS") == 2
    assert said.count(" 1.0 MB at most") == 2
    assert "500.0 MB it would take" in said
    assert "built: [" in said and "('scatter', 'reindex_reduce')" in said
    assert "how often each is read: [1. 2. 3. 3. 2. 1.]" in said


@pytest.mark.parametrize(("name", "exercises"), [("13_many_ranks", 3), ("13b_training_together", 5)])
def test_pages_of_ranks_say_right_to_right_answers_and_your_turn_on_an_empty_page(name, exercises):
    solved, empty = verdicts(run(name, {}, solved=True)), verdicts(untouched(name))

    assert solved == {"right": exercises, "not right": 0, "not done yet": 0, "another shape": 0}
    assert empty == {"right": 0, "not right": 0, "not done yet": exercises, "another shape": 0}


def test_many_ranks_measures_what_it_claims():
    said = untouched("13_many_ranks")

    assert re.findall(r"it is: (\w+)", said) == ["hang", "luck", "works", "luck", "hang", "works"]
    assert len(re.findall(r"\([\d.]+, [+-]\d+%\)", said)) == 2 * 2 * 3  # measured, on two and on four ranks


def test_training_together_measures_what_it_claims():
    said = untouched("13b_training_together")

    assert all(float(away) < 1e-5 for away in re.findall(r"differs by ([\d.e-]+) at most", said))
    assert float(re.search(r"on 4 ranks, it differs by ([\d.e-]+)", said)[1]) > 1e-2
    rows = re.findall(r"^ +(\d+) +([\d.]+e[-+]\d+) +([\d.]+e[-+]\d+)$", said, re.MULTILINE)
    assert [int(mean) for mean, *_ in rows] == [0, 10, 100, 1000, 10_000]
    assert all(float(ours) < 1e-4 for *_, ours in rows)
    assert float(rows[-1][1]) > 1  # not one digit is right
    alone, four = re.findall(r"(\d) rank\(s\), last loss ([\d.]+)", said)
    assert (alone[0], four[0]) == ("1", "4")
    assert alone[1] == four[1]
    took = re.findall(r"layers: +(\d+) us; each waited for at once: +(\d+) us", said)
    early, late = ([int(us) for us in column] for column in zip(*took, strict=True))
    assert early == sorted(early) and late == sorted(late, reverse=True), said
    assert early[-1] == late[-1]  # one bucket has nothing to hide behind
