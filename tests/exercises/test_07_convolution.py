"""Notebook 07: right answers in other forms, keys that do not hold, made-up machines, what the notebook measures."""

import re
from dataclasses import replace

import numpy as np
import pytest

from jt_exercises.author.masters import masters
from jt_exercises.author.validate import one_verdict
from jt_exercises.convolution import transform
from jt_exercises.convolution.counted import Count
from jt_exercises.convolution.float16.exercise import error_in_half, in_half
from jt_exercises.convolution.problems import ALGORITHMS, Problem, fastest, seconds, suits
from jt_exercises.convolution.sums import correlate
from jt_exercises.exercise import find
from tests.story.test_course_answers import run, untouched

MASTERS = masters()
FFT = MASTERS["07.3"].solved.partition("    spectrum")[2].partition("\n\n\ncheck")[0]
HALF = MASTERS["07.4"].solved.partition("    d, g = d.")[2].partition("\n\n\ncheck")[0]
ALSO = [  # of which exercise, and what is written instead of what; no less right
    ("07.2", "[m1 + m2 + m3, m2 - m3 - m4]", "np.array([+v for v in (m1 + m2 + m3, m2 - m3 - m4)])"),
    ("07.3", f"    spectrum{FFT}", """    (h, w), (kh, kw) = image.shape, window.shape
    spectrum = np.fft.rfft2(image, (2 * h, 2 * w)) * np.fft.rfft2(window[::-1, ::-1], (2 * h, 2 * w))
    return np.fft.irfft2(spectrum)[kh - 1 : h, kw - 1 : w]"""),  # filled up with zeros
    ("07.3", f"    spectrum{FFT}", """    (h, w), (kh, kw) = image.shape, window.shape
    rows, taps = np.fft.fft(image), np.conj(np.fft.fft(window, w))
    found = [sum(rows[y + i] * taps[i] for i in range(kh)) for y in range(h - kh + 1)]
    return np.fft.ifft(found).real[:, : w - kw + 1]"""),  # row by row
    ("07.4", f"    d, g = d.{HALF}", """    half = np.float16
    y = half(np.einsum("ij,j", t.AT, half(np.einsum("ij,j", t.G, half(g))) * half(t.BT @ half(d))))
    return y.astype(float)"""),
    ("07.5", "astuple(problem)", "problem"),
    ("07.5", "astuple(problem)", "repr(problem)"),
    ("07.6", "Problem(), Problem(stride=2)", "Problem(stride=2, kernel=7), Problem(kernel=7)"),
    *(("07.6", "repaired = astuple", f"repaired = {key}") for key in (
        "repr", "lambda problem: problem", "lambda problem: frozenset(vars(problem).items())",
        "lambda p: (p.dtype, p.stride, p.kernel, p.size, p.channels, p.images)",
    )),
]  # fmt: skip
SIZES = "p.images, p.channels, p.size, p.kernel, p.stride"
KEYS = [  # keys that do not hold, and why
    ("lambda p: object()", "asked twice for"),
    ("lambda p: np.random.random()", "asked twice for"),
    (f"lambda p: (np.prod([{SIZES}]).item(), p.dtype)", "to both Problem("),
    (f"lambda p: ''.join(map(str, [{SIZES}, p.dtype]))", "to both Problem("),
    (f"lambda p: frozenset([{SIZES}, p.dtype])", "Problem("),
    ("lambda p: np.zeros(3)", "a dict takes no key such as array"),
]


@pytest.mark.parametrize(("number", "part", "instead"), ALSO)
def test_a_right_answer_in_another_form_passes(number, part, instead):
    text = MASTERS[number].solved
    assert text.count(part) == 1

    assert one_verdict(number, text.replace(part, instead)).passed


@pytest.mark.parametrize(("key", "words"), KEYS)
def test_a_key_is_the_same_for_equal_problems_and_for_no_others(key, words):
    text = "import numpy as np\n" + MASTERS["07.6"].solved

    found = one_verdict("07.6", text.replace("repaired = astuple", f"repaired = {key}"))

    assert (found.passed, found.right, found.of) == (False, 1, 2)
    assert words in found.words


@pytest.mark.parametrize("first", [3, [1], len, Problem(size=0), Problem(size=1.5), Problem(dtype=None)])
def test_what_is_no_problem_is_told(first):
    assert find("07.6").verdict(first, Problem(), repr).words.startswith("the pair: `first`")


def test_the_made_up_machine_has_no_algorithm_that_always_wins():
    base = Problem()
    others = [replace(base, **c) for c in ({"kernel": 7}, {"stride": 2}, {"channels": 4}, {"dtype": "float64"})]

    assert fastest(base) == "winograd"
    assert {fastest(p) for p in (base, *others)} == set(ALGORITHMS)
    for p in (base, *others):
        times = sorted(seconds(a, p) for a in ALGORITHMS if suits(a, p))
        assert times[1] > 1.05 * times[0]


@pytest.mark.parametrize("outputs", [2, 4, 6])
def test_a_transform_computes_the_convolution_and_loses_more_digits_the_larger_it_is(outputs):
    t, random = transform(outputs), np.random.default_rng(1)
    d, g = random.normal(size=outputs + 2), random.normal(size=3)
    right = correlate(d[None], g[None])[0]

    np.testing.assert_allclose(t.AT @ ((t.G @ g) * (t.BT @ d)), right, atol=1e-12)
    np.testing.assert_allclose(in_half(t, d, g), right, atol=0.1)


def test_errors_grow_with_the_tile():
    errors = [error_in_half(m) for m in (0, 2, 4, 6)]

    assert errors == sorted(errors)
    assert errors[-1] > 2 * errors[0]


def test_products_of_numbers_are_counted_and_constants_are_free():
    count = Count()
    a, (b, c) = count.numbers([3, [4, 5]])

    assert repr((a * b + 2 * c - a / 2) * 0.5) == f"{(12 + 10 - 1.5) / 2:g}"
    assert count.products == 1
    assert repr(1 - -a) == "-2" or repr(1 + a) == "4"
    assert [name for name in vars(a) if not name.startswith("_")] == []  # its value is shown to nobody


def test_the_notebook_with_right_answers_measures_what_it_claims():
    said = run("07_convolution", {}, solved=True)

    assert "the same numbers: True" in said
    spelled = float(re.search(r"all columns at once.* ([\d.]+) MB, columns and result", said)[1])
    built_in = float(re.search(r"panels.* ([\d.]+) MB, workspace and result", said)[1])
    assert spelled > 3 * built_in


def test_the_notebook_runs_with_nothing_filled_in_and_measures_what_it_claims():
    said = untouched("07_convolution")

    assert "your turn: return one reindex of the image, in `columns`" in said
    rows = re.findall(r"^\d by \d window +(.+)$", said, re.MULTILINE)
    assert len(rows) == 3
    assert len({name for row in rows for name in row.split()}) >= 2  # no algorithm wins everywhere
    assert float(re.search(r"new sizes take (\d+) times as long with benchmark as without", said)[1]) > 3
    assert float(re.search(r"known sizes take ([\d.]+) times as long with benchmark as without", said)[1]) < 1.5
    assert re.search(r"candidates were timed for 8 sizes", said)
