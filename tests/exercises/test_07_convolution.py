"""Notebook 07: answers right and wrong, which `test_answers` hands to its checks, and the words of its checks."""

import re
from dataclasses import replace

import numpy as np
import pytest

from jt_exercises import convolution
from jt_exercises.convolution.checks import _correlate, in_half
from jt_exercises.convolution.counted import Count
from jt_exercises.convolution.problems import ALGORITHMS, Problem, fastest, seconds, suits
from tests.exercises.answers import filled, made
from tests.story.test_course_answers import verdicts

COLUMNS = """
def columns(image, kh, kw, stride, padding):
    (n, c, h, w), s, p = image.shape, stride, padding
    shape = (n, c, kh, kw, (h + 2 * p - kh) // s + 1, (w + 2 * p - kw) // s + 1)
    return image.reindex(shape, lambda n, c, i, j, y, x: (n, c, y * s + i - p, x * s + j - p))
"""
WINOGRAD = """
def winograd(d, g):
    m1 = (d[0] - d[2]) * g[0]
    m2 = (d[1] + d[2]) * ((g[0] + g[1] + g[2]) / 2)
    m3 = (d[2] - d[1]) * ((g[0] - g[1] + g[2]) / 2)
    m4 = (d[1] - d[3]) * g[2]
    return [m1 + m2 + m3, m2 - m3 - m4]
"""
WINOGRAD_2D = """
import numpy as np


def winograd_2d(d, g):
    AT = np.array([[1, 1, 1, 0], [0, 1, -1, -1]])
    G = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]])
    BT = np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]])
    d, g = np.array(d), np.array(g)
    return AT @ ((G @ g @ G.T) * (BT @ d @ BT.T)) @ AT.T
"""
FFT = """
import numpy as np


def fft_conv(image, window):
    spectrum = np.fft.fft2(image) * np.conj(np.fft.fft2(window, image.shape))
    (h, w), (kh, kw) = image.shape, window.shape
    return np.fft.ifft2(spectrum).real[: h - kh + 1, : w - kw + 1]
"""
HALF = """
import numpy as np


def half(t, d, g):
    d, g = d.astype(np.float16), g.astype(np.float16)
    taps = (t.G @ g).astype(np.float16)
    inputs = (t.BT @ d).astype(np.float16)
    products = (taps * inputs).astype(np.float16)
    return (t.AT @ products).astype(np.float16)
"""
CHOOSE = """
from dataclasses import astuple


def choose(problem, candidates, run, clock, table):
    key = astuple(problem)
    if key in table:
        return table[key]
    least = {}
    for name in candidates:
        try:
            run(name, problem)
        except ValueError:
            continue
        least[name] = float("inf")
    for _ in range(20):
        for name in least:
            begin = clock()
            run(name, problem)
            least[name] = min(least[name], clock() - begin)
    table[key] = min(least, key=least.get)
    return table[key]
"""
REPAIRED = """
from dataclasses import astuple


def repaired(problem):
    return astuple(problem)
"""
PAIR = ("first = second = None", "first, second = check.Problem(), check.Problem(stride=2)")
RIGHT = {
    "columns": COLUMNS, "one": WINOGRAD, "two": WINOGRAD_2D, "fft": FFT, "half": HALF, "choose": CHOOSE,
    "repaired": REPAIRED,
}  # fmt: skip
CHECKS = {
    "columns": convolution.check_columns,
    "one": lambda one: convolution.check_winograd(one, made(WINOGRAD_2D)),
    "two": lambda two: convolution.check_winograd(made(WINOGRAD), two),
    "fft": convolution.check_fft,
    "half": convolution.check_half,
    "choose": convolution.check_choose,
    "repaired": lambda repaired: convolution.check_broken_key(Problem(), Problem(stride=2), repaired),
}
COLD = """    if problem not in table:
        first = {}
        for name in candidates:
            begin = clock()
            try:
                run(name, problem)
            except ValueError:
                continue
            first[name] = clock() - begin
        table[problem] = min(first, key=first.get)
    return table[problem]
"""  # one run each, compiling
LOOPS = """    (h, w), (kh, kw) = image.shape, window.shape
    found = np.zeros((h - kh + 1, w - kw + 1))
    for i in range(kh):
        for j in range(kw):
            found += window[i, j] * image[i : i + h - kh + 1, j : j + w - kw + 1]
    return found
"""
VIEWS = """    views = np.lib.stride_tricks.sliding_window_view(image, window.shape)
    return np.tensordot(views, window, 2)
"""
LEAST = "min(least[name], clock() - begin)"
WRONG = [  # of which exercise, what is written instead of what, and what the refusal says
    ("columns", "y * s + i - p", "y * s + i", "of (0, 1) sees row 0 * 1 + 0 - 1"),
    ("columns", "y * s + i - p", "y + i - p", "sees row 1 * 2 + 0 - 0"),
    ("columns", "x * s + j - p", "x * s + i - p", "column 0 * 1 + 1 - 0"),
    ("columns", "(h + 2 * p - kh) // s + 1", "(h - kh) // s + 1", "and should have"),
    ("columns", "(n, c, kh, kw, (h", "(n, c, kw, kh, (h", "and should have (2, 3, 3, 2, 3, 5)"),
    ("columns", "x * s + j - p))", "x * s + j - p)).numpy()", "and not of type ndarray"),
    ("columns", "x * s + j - p))", "x * s + j - p)) * 1", "one reindex of the image, and nothing else"),
    ("one", "m2 - m3 - m4", "m2 + m3 - m4", "winograd(d=[1, 2, 3, 4], g=[1, 0, 0]) is"),
    ("one", "(g[0] - g[1] + g[2]) / 2", "(g[0] - g[1] + g[2])", "and should be"),
    ("one", "[m1 + m2 + m3, m2 - m3 - m4]", "[sum(d[k + i] * g[i] for i in range(3)) for k in range(2)]",
     "right, with 10 products of two numbers; 4 will do, of 6"),
    ("one", "[m1 + m2 + m3, m2 - m3 - m4]", "m1 + m2 + m3", "returns"),
    ("two", " @ AT.T", "", "returns"),
    ("two", "(BT @ d @ BT.T)", "(BT @ d @ BT)", "and should be"),
    ("two", "AT @ ((G @ g @ G.T) * (BT @ d @ BT.T)) @ AT.T",
     "[[sum(d[y + i, x + j] * g[i, j] for i in range(3) for j in range(3)) for x in (0, 1)] for y in (0, 1)]",
     "right, with 36 products of two numbers; 16 will do"),
    ("fft", "np.conj(np.fft.fft2(window, image.shape))", "np.fft.fft2(window, image.shape)",
     "upside down: a product of FFTs flips it; take the conjugate of its FFT. The first places are those where"),
    ("fft", "spectrum = np", "spectrum = 2 * np", "wrong numbers"),
    ("fft", "np.fft.ifft2(spectrum).real[: h - kh + 1, : w - kw + 1]",
     "np.fft.ifft2(np.fft.fft2(image) * np.fft.fft2(window, image.shape)).real[kh - 1 :, kw - 1 :]", "upside down"),
    ("fft", "[: h - kh + 1, : w - kw + 1]", "[kh - 1 :, kw - 1 :]", "the places are shifted"),
    ("fft", "[: h - kh + 1, : w - kw + 1]", "", "there are (1, 3) places, not (1, 4)"),
    ("fft", ".real", "", "the answer is complex"),
    ("fft", FFT[FFT.index("    spectrum") :], LOOPS, "right numbers, but no transform"),
    ("fft", FFT[FFT.index("    spectrum") :], VIEWS, "those places stay exact whose window sees none of them"),
    ("half", "(t.G @ g).astype(np.float16)", "t.G @ g", "F(2, 3) is wrong by"),
    ("half", "    d, g = d.astype(np.float16), g.astype(np.float16)\n", "",
     "only the steps are rounded: d and g come in float64"),
    ("half", "return (t.AT @ products)", "return (t.AT.T @ (t.AT @ products))", "F(2, 3) has 2 outputs"),
    ("half", HALF[HALF.index("    d, g") : HALF.index("    ret")], "    products = (t.G @ g) * (t.BT @ d)\n", "cast"),
    ("choose", "astuple(problem)", "astuple(problem)[:-1]", "was never measured, and nothing ran"),
    ("choose", "astuple(problem)", "astuple(problem)[1:]", "was never measured, and nothing ran"),
    ("choose", "    if key in table:\n        return table[key]\n", "", "keep the answer in `table`"),
    ("choose", "range(20)", "range(0)", "the first run compiles"),
    ("choose", CHOOSE[CHOOSE.index("    key =") :], COLD, "after 1 round: the first run compiles"),
    ("choose", CHOOSE[CHOOSE.index("    key =") :], "    return candidates[0]\n",
     "dtype='float32'), and `run` was never called: measure, and then choose"),
    ("choose", "astuple(problem)", "list(astuple(problem))", "unhashable type: 'list'"),
    ("choose", LEAST, "clock() - begin", "others are disturbed, so the least of many counts"),
    ("choose", "            continue\n        least[name]", "            pass\n        least[name]", "ValueError"),
    ("choose", "return table[key]\n    least", "return 'best'\n    least", "choose returns one of"),
    ("repaired", "astuple(problem)", "astuple(problem)[:-1]", "by their dtype"),
    ("repaired", "astuple(problem)", "list(astuple(problem))", "a dict takes no key such as [1, 64, 56"),
    ("repaired", "astuple(problem)", "astuple(problem)[1:]", "does not tell problems apart by their images"),
]  # fmt: skip
ALSO = [  # of which exercise, and what is written instead of what; no less right
    ("fft", FFT[FFT.index("    spectrum") :], """    (h, w), (kh, kw) = image.shape, window.shape
    spectrum = np.fft.rfft2(image, (2 * h, 2 * w)) * np.fft.rfft2(window[::-1, ::-1], (2 * h, 2 * w))
    return np.fft.irfft2(spectrum)[kh - 1 : h, kw - 1 : w]
"""),  # filled up with zeros
    ("fft", FFT[FFT.index("    spectrum") :], """    (h, w), (kh, kw) = image.shape, window.shape
    rows, taps = np.fft.fft(image), np.conj(np.fft.fft(window, w))
    found = [sum(rows[y + i] * taps[i] for i in range(kh)) for y in range(h - kh + 1)]
    return np.fft.ifft(found).real[:, : w - kw + 1]
"""),  # row by row
    ("fft", FFT[FFT.index("    spectrum") :], """    sizes = image.shape
    turn = [np.exp(-2j * np.pi * np.outer(range(n), range(n)) / n) for n in sizes]
    filled, (h, w) = np.zeros(image.shape), image.shape
    filled[: window.shape[0], : window.shape[1]] = window
    product = (turn[0] @ image @ turn[1]) * np.conj(turn[0] @ filled @ turn[1])
    around = np.conj(turn[0]) @ product @ np.conj(turn[1]) / image.size
    return around.real[: h - window.shape[0] + 1, : w - window.shape[1] + 1]
"""),  # a transform of one's own
    ("half", HALF[HALF.index("    d, g") :], """    half = np.float16
    y = half(t.AT @ (half(t.G @ half(g)) * half(t.BT @ half(d))))
    return y.astype(float)
"""),
    ("choose", "astuple(problem)", "problem"),
    ("choose", "astuple(problem)", "repr(problem)"),
    ("repaired", "astuple(problem)", "problem"),
    ("repaired", "astuple(problem)", "frozenset(vars(problem).items())"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second", "passed", "words"),
    [
        (Problem(), Problem(stride=2), True, "the tuner answers winograd, which cannot compute"),
        (Problem(stride=2, kernel=7), Problem(kernel=7), True, "answers"),
        (Problem(), Problem(images=2), False, "the broken key tells them apart"),
        (Problem(), Problem(), False, "these are the same problem"),
        (Problem(channels=4), Problem(channels=4, stride=2), False, "direct is good for both"),
        (None, Problem(), None, ""),
    ],
)
def test_a_pair_must_fool_the_broken_key(first, second, passed, words):
    verdict = convolution.check_broken_key(first, second, made(REPAIRED))

    assert verdict.passed is passed
    assert words in verdict.words


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
    t, random = convolution.winograd(outputs), np.random.default_rng(1)
    d, g = random.normal(size=outputs + 2), random.normal(size=3)
    right = _correlate(d[None], g[None])[0]

    np.testing.assert_allclose(t.AT @ ((t.G @ g) * (t.BT @ d)), right, atol=1e-12)
    np.testing.assert_allclose(in_half(t, d, g), right, atol=0.1)


def test_errors_grow_with_the_tile():
    errors = [convolution.error_in_half(m) for m in (0, 2, 4, 6)]

    assert errors == sorted(errors)
    assert errors[-1] > 2 * errors[0]


def test_products_of_numbers_are_counted_and_constants_are_free():
    count = Count()
    a, (b, c) = count.numbers([3, [4, 5]])

    assert repr((a * b + 2 * c - a / 2) * 0.5) == f"{(12 + 10 - 1.5) / 2:g}"
    assert count.products == 1
    assert repr(1 - -a) == "-2" or repr(1 + a) == "4"


def test_the_notebook_says_right_to_right_answers():
    repaired = ("    return check.key(problem)\n", "    return astuple(problem)\n")

    said = filled("07_convolution", COLUMNS, WINOGRAD, WINOGRAD_2D, FFT, HALF, CHOOSE, PAIR, repaired)

    assert verdicts(said) == {"right": 6, "not right": 0, "not done yet": 0, "another shape": 0}, said
    assert "the same numbers: True" in said
    spelled = float(re.search(r"all columns at once.* ([\d.]+) MB, columns and result", said)[1])
    built_in = float(re.search(r"panels.* ([\d.]+) MB, workspace and result", said)[1])
    assert spelled > 3 * built_in


def test_the_notebook_runs_with_nothing_filled_in_and_measures_what_it_claims():
    said = filled("07_convolution")

    assert verdicts(said) == {"right": 0, "not right": 0, "not done yet": 6, "another shape": 0}, said
    rows = re.findall(r"^\d by \d window +(.+)$", said, re.MULTILINE)
    assert len(rows) == 3
    assert len({name for row in rows for name in row.split()}) >= 2  # no algorithm wins everywhere
    assert float(re.search(r"new sizes take (\d+) times as long with benchmark as without", said)[1]) > 3
    assert float(re.search(r"known sizes take ([\d.]+) times as long with benchmark as without", said)[1]) < 1.5
    assert re.search(r"candidates were timed for 8 sizes", said)
