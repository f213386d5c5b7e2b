"""Notebook 09: answers right and wrong, which are handed to its checks, and the words of its checks."""

import re

import numpy as np
import pytest

import jt_edu as jt
from jt_exercises import neighbours
from jt_exercises.neighbours.cases import INSERT, cloud
from tests.exercises.answers import filled
from tests.house.test_notebooks import FOLDER
from tests.story.test_course_answers import verdicts

NEAREST = """
for i in prange(out_shape0):
    far = np.zeros(in1_shape0)
    for j in range(in1_shape0):
        for a in range(in1_shape1):
            far[j] += (@in0(i, a) - @in1(j, a)) ** 2
    for r in range(out_shape1):
        j = np.argmin(far)
        @out(i, r) = j
        far[j] = np.inf
"""
BACK = """
for a in prange(out_shape1):
    for j in range(out_shape0):
        @out(j, a) = 0
    for i in range(in1_shape0):
        for r in range(in1_shape1):
            @out(@in1(i, r), a) += @dout(i, r, a)
"""
RINGS = """
side = int(data["side"])
for i in prange(out_shape0):
    best = np.full(out_shape1, np.inf)
    out[i] = -1
    row, column = min(int(@in0(i, 0) * side), side - 1), min(int(@in0(i, 1) * side), side - 1)
    for ring in range(side):
        if best[-1] <= ((ring - 1) / side) ** 2:
            break
        for y in range(max(0, row - ring), min(side, row + ring + 1)):
            for x in range(max(0, column - ring), min(side, column + ring + 1)):
                if max(abs(y - row), abs(x - column)) == ring:
                    look(best, out[i], in0[i], in1, in2, in3, y * side + x)
"""
AGREES = """
import numpy as np


def agrees(queries, points, found):
    k, far = found.shape[1], ((queries[:, None] - points) ** 2).sum(2)
    if found.min() < 0 or found.max() >= len(points):
        return False
    if any(len(set(row)) < k for row in found.tolist()):
        return False
    return np.allclose(np.take_along_axis(far, found, 1), np.sort(far, 1)[:, :k])
"""
TEXTS = {"nearest": NEAREST, "insert": INSERT, "back": BACK, "rings": RINGS}
CHECKS = {
    "nearest": neighbours.check_nearest,
    "insert": neighbours.check_insert,
    "back": neighbours.check_back,
    "rings": neighbours.check_rings,
    "agrees": neighbours.check_agrees,
}
RIGHT = {"agrees": AGREES}
DISTANCE = "(@in0(i, a) - @in1(j, a)) ** 2"
SHIFT = "best[place], index[place] = best[place - 1], index[place - 1]"
STORE = "    best[place], index[place] = far, j"
FOUND, LEAST = "np.take_along_axis(far, found, 1)", "np.sort(far, 1)[:, :k]"
WRONG_TEXTS = [  # of which exercise, what is written instead of what, and what the refusal says
    ("nearest", "prange(out_shape0)", "range(out_shape0)", "one thread does it all"),
    ("nearest", "in1_shape1", "2", "only 2 of 3 axes count: loop over all of them"),
    ("nearest", f"+= {DISTANCE}", f"= {DISTANCE}", "only the last axis counts: add up all of them"),
    ("nearest", DISTANCE, "@in0(i, a) - @in1(j, a)", "differences of different signs cancel: square them"),
    ("nearest", DISTANCE, "abs(@in0(i, a) - @in1(j, a))", "not taken without their sign"),
    ("nearest", "argmin", "argmax", "point"),
    ("nearest", "far[j] = np.inf", "pass", "a point is named more than once"),
    ("nearest", "@out(i, r) = j", "@out(i, r) = far[j]", "is it the number of a point that is written"),
    ("nearest", "@out(i, r) = j", "@out(i, r) = j + 1", "the points have the numbers from 0 on"),
    ("nearest", "@out(i, r) = j", "@out(i, out_shape1 - 1 - r) = j", "the nearest comes first. Their squared"),
    ("nearest", "    for r in", "    far[np.argmin(far)] = np.inf\n    for r in", "the nearest one is left out"),
    ("nearest", "range(in1_shape0):", "range(in0_shape0):", "has the 3 nearest"),
    ("nearest", "range(out_shape1)", "range(out_shape1 - 1)", "every element of out is written"),
    ("nearest", "range(out_shape1)", "range(out_shape1 + 1)", "IndexError: index 3 is out of bounds"),
    ("nearest", "@out(i, r) = j", "@out(0, r) = j", "a race for element 0 of out: iteration 0 writes it in line 8"),
    ("nearest", "np.argmin(far)", "np.nearest(far)", "AttributeError"),
    ("nearest", "np.argmin(far)", "argmin(far)", "`argmin` is not defined"),
    ("nearest", "    for r in range(out_shape1):", "    r = 0\n    while r < out_shape1:", "it has not come to an end"),
    ("nearest", "far = np", "@in0(i, 0) = np", "in0 is an input, which is only read"),
    ("nearest", "prange(out_shape0):", "prange(out_shape0)", "expected ':'"),
    ("insert", "    while", "    if far > best[0]:\n        return\n    while", "so it belongs into the list"),
    ("insert", "best[place - 1] > far", "best[place - 1] < far", "The list stays in order, the nearest first"),
    ("insert", SHIFT, "best[place] = best[place - 1]", "number of a point moves and stands where its distance does"),
    ("insert", SHIFT, "pass", "move back by one place"),
    ("insert", "best[place], index[place] = far, j", "best[place] = far", "Each number of a point moves"),
    ("insert", STORE, "    best[place], index[place] = far + 1, j", "Where is it?"),
    ("insert", "place > 0 and ", "", "in `while best[place - 1] > far:`: IndexError"),
    ("insert", "place -= 1", "pass", "it has not come to an end"),
    ("insert", "len(best) - 1", "len(best)", "IndexError"),
    ("insert", "insert(best", "insertion(best", "the text defines `def insert(best, index, far, j):`"),
    ("back", "+=", "=", "is named 4 times, and gradients add"),
    ("back", "    for j in range(out_shape0):\n        @out(j, a) = 0\n", "", "which nobody has written before"),
    ("back", "range(out_shape0)", "range(in1_shape0)", "nobody has written before"),
    ("back", "    for i in range(in1_shape0):\n", "    for i in range(0):\n", "out[0, 0] is 0, and should be"),
    ("back", "@out(j, a) = 0", "@out(j, a) = 1", "out[0, 0] is"),
    ("back", "@dout(i, r, a)", "@dout(i, r, 0)", "the sum of dout[i, r, 1] over all (i, r) where in1[i, r] is 0"),
    ("back", "@dout(i, r, a)", "@dout(i, r)", "in `out[in1[i, r], a] += dout[i, r]`"),
    ("rings", " == ring", " <= ring", "so a cell was looked at more than once"),
    ("rings", "((ring - 1) / side) ** 2", "(ring / side) ** 2", "A full list is not the end"),
    ("rings", "((ring - 1) / side) ** 2", "((ring - 1) / side)", "A full list is not the end"),
    ("rings", "best[-1] <= ((ring - 1) / side) ** 2", "best[-1] < np.inf", "A full list is not the end"),
    ("rings", "out[i] = -1", "pass", "nobody has written before"),
    ("rings", "range(side):\n        if", "range(1):\n        if", "it stopped before the list was full"),
    ("rings", "row + ring + 1)", "row + ring)", "has the"),
    ("rings", "min(side, row + ring + 1)", "row + ring + 1", "IndexError"),
    ("rings", "((ring - 1) / side) ** 2", "(max(0, ring - 5) / side) ** 2", "Stop before a ring if its points"),
    ("rings", "y * side + x", "x * side + y", "has the"),
]  # fmt: skip
WRONG = [
    ("agrees", "found.min() < 0 or ", "", "there is no point -1, though NumPy finds one"),
    ("agrees", " or found.max() >= len(points)", "", "stopped with IndexError"),
    ("agrees", "len(set(row)) < k", "False", "point 0 is named twice"),
    ("agrees", f"np.allclose({FOUND}, {LEAST})", "(found == np.argsort(far, 1)[:, :k]).all()", "either will do"),
    ("agrees", f"np.allclose({FOUND}, {LEAST})", f"({FOUND} == {LEAST}).all()", "compare distances with np.allclose"),
    ("agrees", FOUND, f"np.sort({FOUND}, 1)", "the nearest comes first"),
    ("agrees", "[:, :k])", "[:, 1 : k + 1])", "these are the nearest, the point itself first"),
    ("agrees", "return np.allclose", "return 1 or np.allclose", "agrees returns True or False, not 1"),
    ("agrees", "return np.allclose", "return True or np.allclose", "point 1 is nearer than point 2"),
]  # fmt: skip
ALSO = [
    ("agrees", "any(len(set(row)) < k for row in found.tolist())", "(np.diff(np.sort(found, 1)) == 0).any()"),
    ("agrees", "return np.allclose", "return not not np.allclose"),
]
ALSO_TEXTS = [  # of which exercise, and what is written instead of what; no less right
    ("nearest", "(@in0(i, a) - @in1(j, a)) ** 2", "in0[i, a] ** 2 - 2 * in0[i, a] * in1[j, a] + in1[j, a] ** 2"),
    ("insert", "while place > 0 and best[place - 1] > far", "while place and not best[place - 1] <= far"),
    ("back", "prange", "range"),
    ("rings", "((ring - 1) / side) ** 2", "(max(0, ring - 2) / side) ** 2"),
]


@pytest.mark.parametrize("name", TEXTS)
def test_the_right_text_passes(name):
    verdict = CHECKS[name](TEXTS[name])

    assert verdict.passed, verdict


@pytest.mark.parametrize(("name", "part", "instead"), ALSO_TEXTS)
def test_a_right_text_in_another_form_passes(name, part, instead):
    assert TEXTS[name].count(part) == 1

    verdict = CHECKS[name](TEXTS[name].replace(part, instead))

    assert verdict.passed, verdict


@pytest.mark.parametrize(("name", "part", "instead", "words"), WRONG_TEXTS)
def test_a_wrong_text_is_refused_with_words_about_its_mistake(name, part, instead, words):
    assert TEXTS[name].count(part) == 1

    verdict = CHECKS[name](TEXTS[name].replace(part, instead))

    assert verdict.passed is False, verdict
    assert words in verdict.words


@pytest.mark.parametrize("name", TEXTS)
def test_no_text_and_one_that_writes_nothing_are_not_done_and_a_number_is_refused(name):
    empty = "def insert(best, index, far, j):\n    pass\n" if name == "insert" else "for i in range(3):\n    pass\n"

    assert [CHECKS[name](answer).passed for answer in (None, empty, 3)] == [None, None, False]


def test_looking_into_all_cells_is_where_the_exercise_begins_and_not_its_end():
    verdict = neighbours.check_rings(RINGS.replace("best[-1] <= ((ring - 1) / side) ** 2", "False"))

    assert (verdict.passed, verdict.words) == (
        None, "right indices, but for each query it looks at all 240 points: when may it stop?"
    )  # fmt: skip


def test_a_film_ends_with_the_nearest_others_of_every_point_and_needs_no_script():
    points = cloud(1, 12, 2)

    film = neighbours.film(points, 3)

    others = neighbours.nearest(points, points, 4)[:, 1:].tolist()
    assert repr(film).splitlines() == [f"{q}: {', '.join(map(str, row))}" for q, row in enumerate(others)]
    assert film._repr_html_().count('<input type="radio"') == film.html.count("the query itself") == 12
    assert film.html.count("checked>") == 1
    assert "<script" not in film.html
    assert len(neighbours.film(cloud(1, 20, 2)).html) < 150_000


def test_two_films_on_a_page_are_picked_apart():
    names = [set(re.findall(r'name="(\w+)"', neighbours.film(cloud(1, 3, 2), 1).html)) for _ in range(2)]

    assert [len(each) for each in names] == [1, 1]
    assert names[0] != names[1]


def test_a_grid_holds_each_point_once_and_in_its_cell():
    points = cloud(2, 50, 2)

    order, begins = neighbours.grid(points, 4)

    assert sorted(order.tolist()) == list(range(50))
    for cell in range(16):
        inside = points[order[begins[cell] : begins[cell + 1]]]
        assert np.array_equal((inside * 4).astype(int), np.full_like(inside, [cell // 4, cell % 4], dtype=int))


def test_the_notebook_says_right_to_right_answers():
    source, texts = (FOLDER / "source" / "09_neighbours.py").read_text(encoding="utf-8"), []
    for name, text in TEXTS.items():
        (gap,) = re.findall(rf'^{name.upper()} = """.*?"""', source, re.MULTILINE | re.DOTALL)
        texts.append((gap, f'{name.upper()} = """{text}"""'))

    said = filled("09_neighbours", *texts, AGREES)

    assert verdicts(said) == {"right": 5, "not right": 0, "not done yet": 0, "another shape": 0}, said
    assert "the same as jt.knn: True" in said
    assert "1 thread: 0 of 2000 rows are wrong" in said
    assert "nobody complains" in said
    assert float(re.search(r"the list +([\d.]+) times as fast", said)[1]) > 1
    assert float(re.search(r"the grid is (\d+) times as fast", said)[1]) > 2


def test_the_notebook_runs_with_nothing_filled_in_and_its_network_needs_neighbours():
    said = filled("09_neighbours")

    assert verdicts(said) == {"right": 0, "not right": 0, "not done yet": 5, "another shape": 0}, said
    assert "index 5 in line 4 of the body" in said
    alone, eight = (int(share) for share in re.findall(r"(\d+)% of the new clouds", said))
    assert eight > alone + 10


def test_debug_finds_the_seeded_race_and_nothing_once_each_query_has_a_list_of_its_own():
    source = (FOLDER / "source" / "09_neighbours.py").read_text(encoding="utf-8")
    spared = re.search(r'SPARED = """(.*?)"""', source, re.DOTALL)[1]
    mended = spared.replace("@out1(", "@out1(i, ").replace("out1_shape0", "out1_shape1").replace("(out1,", "(out1[i],")
    queries, points = cloud(1, 5, 2), cloud(2, 9, 2)

    def found(body, lists):
        inputs, kinds = [jt.array(queries), jt.array(points)], ["int32", "float32"]
        return jt.code([(5, 3), lists], kinds, inputs, body, cpu_header=INSERT, debug=True)[0].numpy()

    with pytest.raises(jt.KernelError, match=r"a race for element \d of out1: iteration 0 .* and iteration 1"):
        found(spared, (3,))
    np.testing.assert_array_equal(found(mended, (5, 3)), neighbours.nearest(queries, points, 3))
