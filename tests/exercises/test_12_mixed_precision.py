"""Notebook 12: right answers in other forms, mistakes in words, its number line, and what its cells print."""

import re

import numpy as np
import pytest

from jt_exercises import precision
from jt_exercises.precision.probes import Half
from tests.exercises.forms import MASTERS, tells, verdict_of
from tests.story.test_course_answers import run, untouched

PAIRWISE = """if len(values) > 2:
        return kahan(values[::2]) + kahan(values[1::2])
    return sum(values)
"""
KAHAN = MASTERS["12.5"].solved.split('own dtype."""\n    ')[1].split("\n\n")[0]
ALSO = [  # of which exercise, and what is written instead of what; no less right
    ("12.1", "if abs(x) <= least / 2:", "if -least / 2 <= x <= least / 2:"),
    ("12.3", "not np.isfinite(gradients).all()", "not np.isfinite(gradients.sum())"),
    ("12.4", "weights.astype(np.float32)", "weights.astype(np.float64)"),
    ("12.5", KAHAN, PAIRWISE),
]


@pytest.mark.parametrize(("number", "part", "instead"), ALSO)
def test_a_right_answer_in_another_form_passes(number, part, instead):
    found = verdict_of(number, part, instead)

    assert found.passed, found


MISTAKES = [  # of which exercise, what is written instead of what, and what is said of it
    ("12.1", 'return "zero"', "return 0.0", 'fate returns "zero", "number" or "inf", not 0.0'),
    ("12.2", "return [", "return 3 or [", "policy returns a list of texts, not 3"),
    ("12.3", "(weights, scale * 2, 0) if", "weights if", "returns three things"),
    ("12.3", "lr * gradients / scale", "gradients / scale", "`lr` says how long a step is"),
    ("12.5", "small = value - lost", "small = np.float32(1)", "NameError"),
    ("12.5", "small = value - lost", "small = value + 'a'", "without other kinds of numbers"),
]


@pytest.mark.parametrize(("number", "part", "instead", "words"), MISTAKES)
def test_a_mistake_is_told_in_words(number, part, instead, words):
    tells(number, part, instead, words)


def test_a_half_computes_as_float16_and_lets_nobody_out():
    rng = np.random.default_rng(12)
    for a, b in rng.normal(size=(200, 2)).astype(np.float16):
        assert (Half(a) + Half(b)).value == a + b and (Half(a) - Half(b)).value == a - b
        assert (1 - Half(a)).value == 1 - a and (Half(a) < Half(b)) == (a < b) and abs(Half(a)).value == abs(a)
    for way in (float, int, np.float32):
        with pytest.raises(Exception, match="only float16 is allowed"):
            way(Half(1))


def test_a_number_line_counts_what_becomes_of_numbers_in_float16():
    rng = np.random.default_rng(12)
    values = 2.0 ** rng.uniform(-40, 20, 4000)

    rows = repr(precision.number_line({"a": values})).splitlines()

    for row, scale in zip(rows, (0, 4, 8, 12, 16, 20, 24, 28), strict=True):
        with np.errstate(over="ignore"):
            halves = (values * 2.0**scale).astype(np.float16)
        told = [int(part) for part in re.findall(r"(\d+)%", row.split(";")[0])]
        assert abs(told[0] - 100 * (halves == 0).mean()) < 1
        assert abs(told[3] - 100 * np.isinf(halves).mean()) < 1
        assert abs(sum(told) - 100) <= 2


def test_a_number_line_counts_inf_as_inf_and_leaves_out_zeros_and_nan():
    told = repr(precision.number_line({"a": [np.inf, -np.inf, np.nan, 0.0, 1.0, 2.0]})).splitlines()[0]

    assert told.startswith("times 2**0: 0% become 0, 0% lose digits, 50% stay, 50% become inf")


def test_a_click_on_a_scale_moves_the_numbers_and_no_script_is_needed(chromium):
    picture = precision.number_line({"first": [1e-9, 1e-8], "second": [1e-3]})
    page = chromium.new_page()
    page.set_content(picture.html)

    page.locator("input").nth(3).click()
    shown = [page.locator(f".g{k}").is_visible() for k in range(8)]
    text = page.locator(".g3").text_content()
    page.keyboard.press("ArrowLeft")

    assert shown == [k == 3 for k in range(8)]
    assert "0% become 0" in text and "33% stay" in text
    assert page.locator(".g2").is_visible() and "<script" not in picture.html
    page.close()


def test_the_notebook_measures_what_it_claims():
    said = untouched("12_mixed_precision")

    assert re.search(r"float16 .* 0\.0e\+00 +inf\n", said)
    losses = {
        name: float(loss)
        for name, loss in re.findall(r"^(float\S*(?:, scaled)?) +loss \S+ -> (\S+)", said, re.MULTILINE)
    }
    assert losses["float16, scaled"] < 1.25 * losses["float32"] and losses["float16"] > 1.4 * losses["float32"]
    left_out = re.search(r"steps left out: \[(.*)\]", said)[1].split(", ")
    assert left_out[:4] == ["0", "1", "2", "3"] and 8 < len(left_out) < 60
    assert re.findall(r"the weight in \S+ +(\S+)", said) == ["0.9000", "1.0000", "1.0000"]
    assert "the sum in float16: 256.0, by jt_edu: 409.5" in said
    levels = dict(re.findall(r"^(O\d) +loss (\S+)", said, re.MULTILINE))
    assert levels["O0"][:4] == levels["O1"][:4] == levels["O2"][:4] and float(levels["O3"]) > 1.1 * float(levels["O0"])
    sizes = {
        row[:2]: [int(kb) for kb in re.findall(r"(\d+) kB", row)]
        for row in re.findall(r"^O\d .*kB$", said, re.MULTILINE)
    }
    assert sizes["O3"][0] < sizes["O1"][0] < sizes["O2"][0] < 0.8 * sizes["O0"][0]
    assert sizes["O2"][1] > 1.3 * sizes["O0"][1]  # where weights are most of it, masters cost more than halves save
    stuck = [float(loss) for loss in re.findall(r"step +\d+ +loss (\S+)", said)]
    assert stuck[-1] > 0.99 * stuck[0]


def test_the_bug_is_mended_by_one_line():
    gap = "    optimizer.clip_grad_norm(1.0)\n"

    said = run("12_mixed_precision", {gap: f"    scaler.unscale_(optimizer)\n{gap}"})

    learned = [float(loss) for loss in re.findall(r"step +\d+ +loss (\S+)", said)]
    assert learned[-1] < 0.1 * learned[0]
