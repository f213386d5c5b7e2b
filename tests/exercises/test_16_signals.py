"""Notebook 16: right answers in other forms, its slider, its two kernels, and what its cells print."""

import re
from itertools import pairwise

import numpy as np
import pytest

from jt_exercises import signals
from tests.exercises.forms import tells, verdict_of
from tests.story.test_course_answers import run, untouched

BANDS = "np.where((low <= frequency) & (frequency <= high), 1.0, 0.0)"
ALSO = [  # of which exercise, and what is written instead of what; no less right
    ("16.1", "np.arange(n // 2 + 1) * rate / n", "np.fft.rfftfreq(n, 1 / rate)"),
    ("16.1", BANDS, "(low <= frequency) & (frequency <= high)"),
    ("16.1", BANDS, "[float(low <= f <= high) for f in frequency]"),
    ("16.2", "np.concatenate([even + turned, even - turned])", "np.ravel([even + turned, even - turned])"),
    ("16.3", "r[i, i + 1 :] @ x[i + 1 :]", "sum(r[i, j] * x[j] for j in range(i + 1, len(b)))"),
    ("16.4", "jt.linalg.solve(jt.func.hessian(f)(x), jt", "jt.linalg.solve(jt.autograd.functional.hessian(f, x), jt"),
]  # fmt: skip


@pytest.mark.parametrize(("number", "part", "instead"), ALSO)
def test_a_right_answer_in_another_form_passes(number, part, instead):
    found = verdict_of(number, part, instead)

    assert found.passed, found


MISTAKES = [  # of which exercise, what is written instead of what, and what is said of it
    ("16.1", BANDS, "(low < frequency) & (frequency < high)", "themselves belong to the band"),
    ("16.1", BANDS, "(low < frequency) & (frequency <= high)", "the bin at exactly `low` belongs to the band"),
    ("16.2", "[even + turned, even - turned]", "[even + turned]", "that is the first half"),
    ("16.2", "return np", "np", "it returns None: is a `return` missing?"),
]  # fmt: skip


@pytest.mark.parametrize(("number", "part", "instead", "words"), MISTAKES)
def test_a_mistake_is_told_in_words(number, part, instead, words):
    tells(number, part, instead, words)


def test_a_slider_has_a_button_for_each_degree_tells_its_errors_and_needs_no_script():
    ways = {"by QR": ([0, 1, np.nan], 1e-7), "normal equations": ([0, 9, 1e30], np.inf)}
    fits = {degree: (10.0**degree, ways) for degree in (1, 2, 3)}

    pictures = [signals.slider([0, 1], [0, 1], [0, 0.5, 1], fits) for _ in range(2)]

    html = pictures[0].html
    assert (
        repr(pictures[0]).splitlines()[2]
        == "degree 3: cond(a) 1e+03, cond(aᵀa) 1e+06; error 1e-07 by QR, inf normal equations"
    )
    assert html.count('<input type="radio"') == html.count('<g class="g') == 3
    assert html.count("checked>") == 1
    assert not re.search('<script|nan[ ,]|inf[ ,"]', html.replace("inf normal", ""))
    assert len({re.search(r'name="(\w+)"', picture.html)[1] for picture in pictures}) == 2


def test_a_click_on_a_degree_shows_its_curves_and_no_others(chromium):
    fits = {degree: (10.0**degree, {"by QR": ([0, 1], 1e-7)}) for degree in (1, 2, 3)}
    page = chromium.new_page()
    page.set_content(signals.slider([0, 1], [0, 1], [0, 1], fits).html)

    page.locator("input").nth(1).click()
    shown = [page.locator(f".g{k}").is_visible() for k in range(3)]
    page.keyboard.press("ArrowRight")

    assert [shown, page.locator(".g2").is_visible()] == [[False, True, False], True]
    page.close()


def test_the_notebook_with_right_answers_measures_what_it_claims():
    said = run("16_signals", {}, solved=True)

    steps = {f"{surface} {way}": int(count) for surface, way, count in re.findall(r"(\w+), (\w+) +(\d+) steps", said)}
    assert steps["valley descent"] == 1000
    assert max(count for name, count in steps.items() if "descent" not in name) < 10
    assert re.search(r"wells, newton +\d+ steps, to \(-?0.000, -?0.000\)", said)  # the saddle
    assert re.search(r"wells, careful +\d+ steps, to \(1.000, 0.500\)", said)


def test_the_notebook_runs_with_nothing_filled_in_and_measures_what_it_claims():
    said = untouched("16_signals")

    first, last = re.search(r"the loss went from (\S+) to (\S+)", said).groups()
    assert float(last) < 1e-4 * float(first)
    assert "wrong with enough zeros: 0\n" in said
    assert "the same as jt.fft.fft: True" in said
    outside = [float(size) for size in re.findall(r"sweeps: (\S+) outside", said)]
    assert outside[0] > 1 and outside[-1] < 1e-8
    assert all(after < before for before, after in pairwise(outside))
    found, wanted = (
        [float(v) for v in row.split()] for row in re.findall(r"\[([\d. ]+)\]", said.split("on the diagonal")[1])[:2]
    )
    np.testing.assert_allclose(found, wanted, atol=1e-5)
