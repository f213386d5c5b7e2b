"""The exercises inside of the notebooks: right answers are called right, wrong ones are not, empty ones neither."""

import ast
import asyncio
import contextlib
import io
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from unittest import mock

import matplotlib as mpl
import matplotlib.pyplot as plt
import pytest

import jt_edu as jt
from jt_edu.backends import thread_pool
from jt_edu.base.source_text import remember
from jt_exercises import exercise
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
                here = remember(body, f"cell {number} of {name}")  # a kernel's text is read
                code = compile(body, here, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
                if (awaiting := eval(code, space)) is not None:  # noqa: S307 - cells of our own
                    with ThreadPoolExecutor(1) as beside:  # a browser's test has left a loop that runs in this thread
                        beside.submit(asyncio.run, awaiting).result()
            if last and last in body:
                break
    plt.close("all")
    return said.getvalue()


@cache
def untouched(name):
    """What they print when nothing is filled in; run once for all tests here."""
    return run(name, {})


def verdicts(said):
    """How often each verdict is given of an exercise."""
    return Counter(re.findall(r"^(right|not right|not done yet) +\d", said, re.MULTILINE))


def open_guesses(said):
    """The predictions that wait for a guess, and tell nothing yet."""
    assert not re.search(r"^[✓✗] \S+: you guessed", said, re.MULTILINE)
    return re.findall(r"^○ (\S+): your turn: put your guess in place of the dots", said, re.MULTILINE)


@pytest.fixture(autouse=True)
def _seeded():
    before = thread_pool.threads()
    jt.set_global_seed(0)
    yield
    thread_pool.set_num_threads(before)


NAMES = {path.stem.partition("_")[0]: path.stem for path in (FOLDER / "source").glob("*.py")}
ROOMS = [*exercise.ROOMS]
REPAIRED = {  # what is to be repaired where there is no check, how, and what is said then
    "01": ("watched = jt.array(hidden.numpy())", "watched = hidden", r"a gradient arrives: \[\["),
    "02": ("(7, 3), lambda i, k: (i + k,)", "(7, 3), lambda i, k: (i + k - 1,)", r"^right$"),
    "05": ("    x + y  # <--", "    (x + y).sync()", r"times the bandwidth of this machine$"),
    "06": ("c[i, j] = total", "c[i, j] += total", r"(n = \d+ +as a @ b\n){4}"),
    "17": ("cfg.TRAIN.LABEL", "cfg.MODEL.LABEL", r"smoothing 0.0 .* (\S+)\nsmoothing 0.1 .* (?!\1)\d"),
}


@pytest.mark.parametrize("number", ROOMS)
def test_right_answers_are_called_right(number):
    line, repair, words = REPAIRED.get(number, ("", "", ""))

    said = run(NAMES[number], {line: repair} if line else {}, solved=True)

    assert verdicts(said) == {"right": len(exercise.of_room(number))}, said
    assert re.search(words, said, re.MULTILINE), said


@pytest.mark.parametrize("number", ROOMS)
def test_an_empty_page_is_not_done_yet(number):
    said = untouched(NAMES[number])

    assert verdicts(said) == {"not done yet": len(exercise.of_room(number))}, said
    source = (FOLDER / "source" / f"{NAMES[number]}.py").read_text(encoding="utf-8")
    assert open_guesses(said) == re.findall(r'predict\("([\w.]+)"', source)


def test_autograd_by_hand_finds_the_same_in_both_ways_and_says_where_no_gradient_arrives():
    said = untouched("01_autograd_by_hand")

    assert "dy/da 10.0   dy/db -24.0\nfrom short_grad: 10.0 -24.0\n" in said
    assert "GradientError" in said


def test_meta_operators_measures_that_a_product_spelled_out_is_a_product():
    said = untouched("02_meta_operators")

    assert "not symmetric about the 6" in said
    assert said.count("1 kernel: BLAS") == 2
    assert said.count(" 1.0 MB at most") == 2
    assert "500.0 MB, to store all" in said
    assert "built: [" in said and "('scatter', 'reindex_reduce')" in said
    assert "how often each is read: [1. 2. 3. 3. 2. 1.]" in said


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
