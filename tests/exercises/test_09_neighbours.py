"""Notebook 09: its film, its grid, and what its cells print; each exercise is tested where all of them are."""

import re

import numpy as np
import pytest

import jt_edu as jt
from jt_exercises import neighbours
from jt_exercises.author.masters import masters
from jt_exercises.author.validate import one_verdict
from jt_exercises.exercise import find
from jt_exercises.neighbours.cases import cloud, nearest
from tests.house.test_notebooks import FOLDER
from tests.story.test_course_answers import run, untouched

MASTERS = masters()
TEXTS = "09.1", "09.2", "09.3", "09.4"
ALSO = [  # of which exercise, and what is written instead of what; no less right
    ("09.1", "(in0[i, a] - in1[j, a]) ** 2", "@in0(i, a) ** 2 - 2 * @in0(i, a) * @in1(j, a) + @in1(j, a) ** 2"),
    ("09.2", "while place > 0 and best[place - 1] > far", "while place and not best[place - 1] <= far"),
    ("09.3", "for a in prange", "for a in range"),
    ("09.3", "out[in1[i, r], a] += dout[i, r, a]", "@out(@in1(i, r), a) += @dout(i, r, a)"),
    ("09.5", "any(len(set(row)) < k for row in found.tolist())", "(np.diff(np.sort(found, 1)) == 0).any()"),
    ("09.5", "return np.allclose", "return np.True_ & np.allclose"),
]


@pytest.mark.parametrize(("number", "part", "instead"), ALSO)
def test_a_right_answer_in_another_form_passes(number, part, instead):
    assert MASTERS[number].solved.count(part) == 1

    found = one_verdict(number, MASTERS[number].solved.replace(part, instead))

    assert found.passed, found


@pytest.mark.parametrize(("number", "name"), [("09.2", "LIST"), ("09.3", "GATHER"), ("09.4", "LOOK")])
def test_a_statement_shows_the_text_of_the_course_as_it_is(number, name):
    statement = MASTERS[number].text.partition("# %%\n")[0].replace("\n# ", "\n")

    assert f"`neighbours.{name}`" in statement
    assert f"```python{getattr(neighbours, name)}```" in statement


@pytest.mark.parametrize("number", TEXTS)
def test_no_text_and_one_that_writes_nothing_are_not_done_and_a_number_is_refused(number):
    empty = "def insert(best, index, far, j):\n    pass\n" if number == "09.2" else "for i in range(3):\n    pass\n"

    assert [find(number).verdict(answer, here=True).passed for answer in (None, empty, 3)] == [None, None, False]


def test_a_film_ends_with_the_nearest_others_of_every_point_and_needs_no_script():
    points = cloud(1, 12, 2)

    film = neighbours.film(points, 3)

    others = nearest(points, points, 4)[:, 1:].tolist()
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


def test_the_notebook_with_right_answers_measures_what_it_claims():
    said = run("09_neighbours", {}, solved=True)

    assert "the same as jt.knn: True" in said
    assert "1 thread: 0 of 2000 rows are wrong" in said
    assert "nobody complains" in said
    assert float(re.search(r"the list +([\d.]+) times as fast", said)[1]) > 1
    assert float(re.search(r"the grid is (\d+) times as fast", said)[1]) > 2


def test_the_notebook_runs_with_nothing_filled_in_and_its_network_needs_neighbours():
    said = untouched("09_neighbours")

    assert "index 5 in line 4 of the body" in said
    alone, eight = (int(share) for share in re.findall(r"(\d+)% of the new clouds", said))
    assert eight > alone + 10


def test_debug_finds_the_seeded_race_and_nothing_once_each_query_has_a_list_of_its_own():
    source = (FOLDER / "source" / "09_neighbours.py").read_text(encoding="utf-8")
    spared = re.search(r'SPARED = """(.*?)"""', source, re.DOTALL)[1]
    mended = spared.replace("@out1(", "@out1(i, ").replace("out1_shape0", "out1_shape1").replace("(out1,", "(out1[i],")
    insert = re.search(r'INSERT = """(.*?)"""', MASTERS["09.2"].solved, re.DOTALL)[1]
    queries, points = cloud(1, 5, 2), cloud(2, 9, 2)

    def found(body, lists):
        inputs, kinds = [jt.array(queries), jt.array(points)], ["int32", "float32"]
        return jt.code([(5, 3), lists], kinds, inputs, body, cpu_header=insert, debug=True)[0].numpy()

    with pytest.raises(jt.KernelError, match=r"a race for element \d of out1: iteration 0 .* and iteration 1"):
        found(spared, (3,))
    np.testing.assert_array_equal(found(mended, (5, 3)), nearest(queries, points, 3))
