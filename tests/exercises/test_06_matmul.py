"""Notebook 06: matrices that write down who reads them, the film, and what the notebook measures."""

import re
from xml.etree import ElementTree as ET

import numba
import numpy as np
import pytest

from jt_exercises import matmul
from jt_exercises.exercise import find
from jt_exercises.matmul.memory import watch
from jt_exercises.verdict import NotDoneError, RefusedError
from tests.story.test_course_answers import untouched


def test_a_watched_matrix_counts_numbers_and_not_views():
    def work(a, b, c):
        row, other = c[0, 1:], b[1:, 2]
        row[0] = a[0, 0] + other[0]
        c[0][0] = len(row)

    seen = watch(work, 2, 3, 3)

    assert [(name, place, written) for name, place, written in seen.log] == [
        ("a", 0, False), ("b", 5, False), ("c", 1, True), ("c", 0, True),
    ]  # fmt: skip
    assert seen.found[0, 0] == 2


@pytest.mark.parametrize(
    ("work", "words"),
    [
        (lambda a, b, c: a[2, 0], "a[2, 0] is outside of the shape (2, 3)"),
        (lambda a, b, c: b[0, -1], "b[0, -1] is outside"),
        (lambda a, b, c: c[0, 1:][2], "c[2] is outside of the shape (2,)"),
        (lambda a, b, c: a[0, 0, 0], "`a` has 2 axes here, and you index 3"),
        (lambda a, b, c: np.dot(a, b), "this is about your own loops"),
        (lambda a, b, c: c.__setitem__((0, slice(None)), 1.0), "this is about your own loops"),
    ],
)
def test_a_watched_matrix_says_what_a_compiled_kernel_would_not(work, words):
    with pytest.raises(RefusedError, match=re.escape(words)):
        watch(work, 2, 3, 3)


def test_a_film_shows_every_miss_and_leaves_out_what_cannot_run():
    def nothing_yet(*_):
        raise NotImplementedError

    film = matmul.film({"ijk": matmul.ijk, "ikj": matmul.ikj, "mine": nothing_yet, "empty": lambda *_: None})

    assert repr(film).splitlines()[:2] == ["ijk: 2048 accesses, 560 misses", "ikj: 2048 accesses, 160 misses"]
    tree = ET.fromstring(film.html)  # noqa: S314 - our own
    boxes = [r for r in tree.iter("{http://www.w3.org/2000/svg}rect") if r.get("stroke")]
    fetched = sum(a.get("values").count("#e69f00") for r in boxes for a in r)
    assert len(boxes) == 2 * 3 * 16
    assert fetched == 560 + 160
    assert all(len(a.get("values").split(";")) == len(a.get("keyTimes").split(";")) for r in boxes for a in r)
    assert len(film.html) < 150_000
    assert "<script" not in film.html


def test_a_film_that_is_over_says_how_often_each_line_was_fetched_and_fits_into_a_narrow_page():
    svg = "{http://www.w3.org/2000/svg}"
    film = matmul.film({"ijk": matmul.ijk, "few": lambda a, b, c: c.__setitem__((0, 0), a[0, 0] * b[0, 0])})

    tree = ET.fromstring(film.html)  # noqa: S314 - our own
    counts = [int(t.text) for t in tree.iter(f"{svg}text") if t.get("class") == "n"]
    colours = [r.get("fill") for r in tree.iter(f"{svg}rect") if r.get("stroke")]
    shades = sorted({(count, colour) for count, colour in zip(counts, colours, strict=True)})
    assert sum(counts) == 560 + 3
    assert [count for count, _ in shades] == [0, 1, 2, 32]  # one colour for each count
    assert len({colour for _, colour in shades}) == 4
    assert int(tree.get("width")) <= 480
    assert "max-width:100%;height:auto" in tree.get("style")


def test_a_film_of_nothing_is_a_sentence():
    def nothing_yet(*_):
        raise NotDoneError

    assert repr(matmul.film({"mine": nothing_yet, "empty": lambda *_: None})) == "mine: \nempty: 0 accesses, 0 misses"


def test_what_numba_compiled_already_is_judged_like_plain_python():
    found = find("06.5").verdict(numba.njit(matmul.ikj))

    assert found.passed, found


def test_the_notebook_runs_with_nothing_filled_in_and_measures_what_it_claims():
    said = untouched("06_matmul")

    assert all(float(times) > 1.3 for times in re.findall(r"takes ([\d.]+) times as long", said)), said
    relative = {
        name: float(times) for name, times in re.findall(r"^(.+?) +([\d.]+) times the best", said, re.MULTILINE)
    }
    assert relative["tiles of 16"] > 1.2
    assert relative["jt_edu"] < 1
    assert re.findall(r"n = (\d+) +wrong", said) == ["17", "40"]
    assert "the same numbers: True" in said
