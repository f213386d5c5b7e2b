"""Notebook 06: answers right and wrong, which `test_answers` hands to its checks, and the words of its checks."""

import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from jt_exercises import matmul
from jt_exercises.matmul.memory import watch
from jt_exercises.verdict import NotDoneError, RefusedError
from tests.exercises.answers import filled
from tests.story.test_course_answers import verdicts

TILED = '''
def tiled(a, b, c, t):
    """A tile of each."""
    (n, m), p = a.shape, b.shape[1]
    for i0 in range(0, n, t):
        for k0 in range(0, m, t):
            for j0 in range(0, p, t):
                for i in range(i0, min(i0 + t, n)):
                    for k in range(k0, min(k0 + t, m)):
                        for j in range(j0, min(j0 + t, p)):
                            c[i, j] += a[i, k] * b[k, j]
'''
BLOCKED = '''
def blocked(a, b, c):
    """Sixteen sums."""
    (n, m), p = a.shape, b.shape[1]
    for i in range(0, n, 4):
        for j in range(0, p, 4):
            s = [0.0] * 16
            for k in range(m):
                x = [a[i + r, k] for r in range(4)]
                y = [b[k, j + q] for q in range(4)]
                for r in range(4):
                    for q in range(4):
                        s[4 * r + q] += x[r] * y[q]
            for r in range(4):
                for q in range(4):
                    c[i + r, j + q] = s[4 * r + q]
'''
FAST = '''
def fast(a, b, c):
    """Row by row."""
    for i in range(c.shape[0]):
        for k in range(a.shape[1]):
            for j in range(c.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
'''
TUNE = """
def tune(candidates, run, clock):
    least = {}
    for t in candidates:
        try:
            run(t)
        except ValueError:
            continue
        least[t] = float("inf")
    for _ in range(20):
        for t in least:
            begin = clock()
            run(t)
            least[t] = min(least[t], clock() - begin)
    return min(least, key=least.get)
"""
CHECKS = {
    "tiled": matmul.check_tiled,
    "edges": matmul.check_edges,
    "blocked": matmul.check_blocked,
    "fast": matmul.check_fast,
    "tune": matmul.check_tune,
}
RIGHT = {"tiled": TILED, "edges": TILED, "blocked": BLOCKED, "fast": FAST, "tune": TUNE}
TURNS = TUNE[TUNE.index("    for _ in range(20)") : TUNE.index("    return min")]
BLOCKS = """    for t in least:
        for _ in range(20):
            begin = clock()
            run(t)
            least[t] = min(least[t], clock() - begin)
"""
COLD = """    first = {}
    for t in candidates:
        begin = clock()
        try:
            run(t)
        except ValueError:
            continue
        first[t] = clock() - begin
    return min(first, key=first.get)
"""  # one run each, compiling
SLICES = "fast(a, b, c):\n    c[:] = 0\n"
WRONG = [  # of which exercise, what is written instead of what, and what the refusal says
    ("tiled", "range(j0, min(j0 + t, p))", "range(p)", "c[0, 0] is"),
    ("tiled", "for k0 in range(0, m, t)", "for k0 in range(0, m, m)", "c[0, 0] is"),
    ("tiled", "    (n, m)", "    t = a.shape[0]\n    (n, m)", "the three loops over tiles are outermost"),
    ("tiled", "+= a[i, k]", "= a[i, k]", "c[0, 0] is"),
    ("tiled", "a[i, k] * b[k, j]", "a[i, k] * b[j, k]", "for a of (24, 24) and b of (24, 24), c[0, 0] is"),
    ("tiled", "a[i, k] * b[k, j]", "a[i] * b[:, j]", "this is about your own loops"),
    ("edges", "min(i0 + t, n)", "i0 + t", "c[1, 0] is outside: the shape there is (1, 1)"),
    ("edges", "min(k0 + t, m)", "k0 + t", "a[0, 1] is outside"),
    ("edges", "min(j0 + t, p)", "j0 + t", "c[0, 1] is outside"),
    ("edges", "(n, m), p = a.shape, b.shape[1]", "n = m = p = a.shape[0]", "is outside: the shape there is (5, 4)"),
    ("edges", "range(0, n, t)", "range(0, n - t + 1, t)", "c[0, 0] is 0 instead of"),
    ("edges", "range(j0, min(j0 + t, p))", "range(j0 - 1, min(j0 + t, p) - 1)", "c[0, -1] is outside"),
    ("blocked", "[b[k, j + q] for q in range(4)]", "[b[k, j + q] for q in range(4) for _ in 'abcd'][::4]", "1.2"),
    ("blocked", "s[4 * r + q] += x[r] * y[q]", "s[4 * r + q] += a[i + r, k] * b[k, j + q]", "read 4 of a and 4 of b"),
    ("blocked", "s = [0.0] * 16\n", "s = [0.0] * 16\n            c[i, j] = 0.0\n", "keep the 16 sums in variables"),
    ("blocked", "s = [0.0] * 16\n            for k", "for k", "NameError"),
    ("blocked", "s[4 * r + q] += x", "s[4 * r + q] -= x", "instead of"),
    ("blocked", "c[i + r, j + q] = s[4 * r + q]", "c[i + r, j + r] = s[4 * r + q]", "instead of"),
    ("fast", FAST[FAST.index("    for i") :], "    a @ b\n    c[0, 0] = 1\n", "this is about your own loops"),
    ("fast", "        for k in range(a.shape[1]):\n            for j in range(c.shape[1]):",
     "        for j in range(c.shape[1]):\n            for k in range(a.shape[1]):", "along rows of b and c"),
    ("fast", "range(c.shape[0])", "range(16)", "compiled, on 512 by 512, it is wrong by"),
    ("fast", "    for i in", "    s = [{}]\n    for i in", "numba cannot compile it"),
    ("tune", "range(20)", "range(1)", "the first run of each compiles"),
    ("tune", "range(20)", "range(1000)", "a tuner must not take longer than it saves"),
    ("tune", "min(least[t], clock() - begin)", "(least[t] if least[t] < 9 else 0) + clock() - begin", "the least time"),
    ("tune", TURNS, BLOCKS, "let the candidates take turns"),
    ("tune", "        try:\n            run(t)\n        except ValueError:\n            continue\n", "        run(t)\n",
     "stopped with ValueError: a tile of 512 does not fit"),
    ("tune", "return min(least, key=least.get)", "return min(least.values())", "tune returns one of"),
    ("tune", "return min(", "return max(", "longer than"),
    ("tune", TUNE[TUNE.index("    least = {}") :], COLD, "Each ran once, and the first run of each compiles"),
    ("tune", "            continue\n", "            return t\n",
     "512 cannot run: run(512) raises ValueError, and that is no time"),
    ("tune", TUNE[TUNE.index("    least = {}") :], "    return candidates[-1]\n", "`run` was never called"),
    ("tune", "    return min(", "    t = 256\n    return t or min(", "256 was chosen, which takes"),
]  # fmt: skip
ALSO = [  # of which exercise, and what is written instead of what; no less right
    ("tune", TUNE[TUNE.index("    for _ in range(20)") :], """    times = {t: [] for t in least}
    for _ in range(30):
        for t in least:
            begin = clock()
            run(t)
            times[t].append(clock() - begin)
    return min(times, key=lambda t: min(times[t]))
"""),
    ("fast", "                c[i, j] += a[i, k] * b[k, j]", "                c[i, j] = c[i, j] + b[k, j] * a[i, k]"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("guess", "passed", "words"),
    [
        (("j", "k", "i"), True, "j innermost: 1,872 misses"),
        (("k", "j", "i"), False, "j is better innermost than k"),
        (("i", "k", "j"), False, "a and c both go down a column"),
        (("j", "i", "k"), False, "k is better innermost than i"),
        (("j", "j", "i"), False, "each once"),
        (("ijk", "ikj", "jki"), False, "'i', 'j' and 'k'"),
        ((None, None, None), None, ""),
    ],
)
def test_a_ranking_is_compared_with_the_misses(guess, passed, words):
    verdict = matmul.check_order(list(guess))

    assert verdict.passed is passed
    assert words in verdict.words


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
        (lambda a, b, c: a[2, 0], "a[2, 0] is outside: the shape there is (2, 3)"),
        (lambda a, b, c: b[0, -1], "b[0, -1] is outside"),
        (lambda a, b, c: c[0, 1:][2], "c[2] is outside: the shape there is (2,)"),
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
    tree = ET.fromstring(film.svg)  # noqa: S314 - our own
    boxes = [r for r in tree.iter("{http://www.w3.org/2000/svg}rect") if r.get("stroke")]
    fetched = sum(a.get("values").count("#e69f00") for r in boxes for a in r)
    assert len(boxes) == 2 * 3 * 16
    assert fetched == 560 + 160
    assert all(len(a.get("values").split(";")) == len(a.get("keyTimes").split(";")) for r in boxes for a in r)
    assert len(film.svg) < 150_000
    assert "<script" not in film.svg


def test_a_film_that_is_over_says_how_often_each_line_was_fetched_and_fits_into_a_narrow_page():
    svg = "{http://www.w3.org/2000/svg}"
    film = matmul.film({"ijk": matmul.ijk, "few": lambda a, b, c: c.__setitem__((0, 0), a[0, 0] * b[0, 0])})

    tree = ET.fromstring(film.svg)  # noqa: S314 - our own
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


def test_the_notebook_says_right_to_right_answers():
    ranked = ("best_first = [None, None, None]", 'best_first = ["j", "k", "i"]')

    said = filled("06_matmul", ranked, TILED, BLOCKED, FAST, TUNE, ("c[i, j] = total", "c[i, j] += total"))

    assert verdicts(said) == {"right": 6, "not right": 0, "not done yet": 0, "another shape": 0}, said
    assert re.findall(r"n = (\d+) +as a @ b", said) == ["8", "16", "17", "40"]


def test_the_notebook_runs_with_nothing_filled_in_and_measures_what_it_claims():
    said = filled("06_matmul")

    assert verdicts(said) == {"right": 0, "not right": 0, "not done yet": 6, "another shape": 0}, said
    assert all(float(times) > 1.3 for times in re.findall(r"takes ([\d.]+) times as long", said)), said
    relative = {
        name: float(times) for name, times in re.findall(r"^(.+?) +([\d.]+) times the best", said, re.MULTILINE)
    }
    assert relative["tiles of 16"] > 1.2
    assert relative["jt_edu"] < 1
    assert re.findall(r"n = (\d+) +wrong", said) == ["17", "40"]
    assert "the same numbers: True" in said
