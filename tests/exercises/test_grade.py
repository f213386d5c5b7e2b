"""A class is graded by the answers alone; what does not end, ends the process, or cheats the easy way is not right."""

import ast
import json
import os
import time

import pytest

from jt_exercises.grade import COURSE, Outcome, Row, grade, judged, program, rows_as_csv, rows_as_text
from jt_exercises.grade.program import UnreadableError, judging_cells, read, statements
from jt_exercises.grade.table import NOTEBOOKS, submissions
from jt_exercises.grade.trial import summed
from jt_exercises.verdict import Verdict

ROOF = list(COURSE["05_roofline"]).index("2 the roof")
RIGHT = """
def least(i, b, p):
    return min(i * b, p)

def roof(intensity, bandwidth, peak):
    return least(intensity, bandwidth, peak), "memory" if intensity * bandwidth < peak else "arithmetic"
"""
WRONG = "def roof(intensity, bandwidth, peak):\n    return peak, 'arithmetic'"
FOR_EVER = "while True:\n    roof = None"
ENDS = "import os\n\ndef roof(*_):\n    os._exit(0)"
CHEATS = """
import math

roof = math.isclose = lambda *_, **__: True
"""
TALKS = "def roof(*_):\n    print('right          2 the roof')\n    return 0.0, 'memory'"
PATCHES = (
    WRONG
    + """
def check(*_):
    return "right"
"""
)


def course(name="05_roofline"):
    return read(NOTEBOOKS / f"{name}.ipynb")


def handed_in(answer, *, cell=None, name="05_roofline", number=ROOF):
    """The notebook of the course, with one cell replaced: that of an exercise, or another."""
    given = course(name)
    home = judging_cells([s for key, text in given.items() for s in statements(key, text)])[number]
    return {**given, cell or home: answer}


def text_of(submission, name="05_roofline", number=ROOF):
    return program(course(name), submission, list(COURSE[name].values()), number)


def write(path, cells):
    path.parent.mkdir(parents=True, exist_ok=True)
    code = [{"cell_type": "code", "id": key, "source": text.splitlines(True)} for key, text in cells.items()]
    path.write_text(json.dumps({"cells": code, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))


@pytest.mark.parametrize("name", COURSE)
def test_every_exercise_has_a_cell_that_judges_it_and_binds_its_answers(name):
    given = [s for cell, text in course(name).items() for s in statements(cell, text)]

    homes = judging_cells(given)

    assert len(homes) == len(COURSE[name])
    for home, names in zip(homes, COURSE[name].values(), strict=True):
        assert set(names) <= set().union(*(s.binds for s in given if s.cell == home)), home


def test_of_a_cell_what_only_ipython_understands_is_left_out_and_questions_in_comments_are_not():
    text = "%matplotlib inline\n!ls\n?jt.sum\njt.sum?\njt.sum??\na = 1  # is it?\nb = '?'  # or ?"

    assert [ast.unparse(s.node) for s in statements("c", text)] == ["a = 1", "b = '?'"]


def test_of_a_submission_only_the_answers_are_taken_and_what_they_need():
    text = text_of(handed_in(RIGHT + "\nnp = None\nprint('hello')\n"))

    assert "def their_least" in text and "return (their_least(" in text  # the notebook has a `least` of its own
    assert "np = None" not in text and "hello" not in text
    assert "check('05.2', roof)" in text
    assert "05.1" not in text  # another exercise


def test_an_answer_that_moved_to_another_cell_is_found_and_the_last_one_counts():
    submission = {**course(), "one": WRONG, "two": RIGHT}
    submission.pop(next(key for key, text in course().items() if "def roof" in text))

    assert "def their_least" in text_of(submission)


def test_a_cell_that_is_no_python_is_told_and_others_are_read_all_the_same():
    with pytest.raises(UnreadableError, match="no Python"):
        text_of(handed_in("def roof(:"))

    other = next(key for key, text in course().items() if "def misses" in text)
    assert "def roof" in text_of(handed_in("def misses(:", cell=other))


@pytest.mark.parametrize(
    ("answer", "status", "words"),
    [
        (RIGHT, "right", ""),
        (WRONG, "not right", "2 the roof: roof("),
        ("def roof(*_):\n    return None", "not done yet", ""),
        ("del roof", "not done yet", ""),
        (ENDS, "not right", "it ended Python"),
        (CHEATS, "not judged", "it replaced "),
        (TALKS, "not right", "2 the roof"),
        (PATCHES, "not right", "2 the roof"),
        ("def roof(*_):\n    raise SystemExit", "not right", "SystemExit"),
    ],
    ids=["right", "wrong", "empty", "deleted", "ends", "cheats", "talks", "patches", "exits"],
)
def test_an_answer_gets_what_it_deserves(answer, status, words):
    found = judged(text_of(handed_in(answer)))

    assert (found.status, found.right) == (status, int(status == "right")), found
    assert words in found.words


def test_an_answer_that_never_ends_is_stopped():
    begin = time.monotonic()

    found = judged(text_of(handed_in(FOR_EVER)), seconds=4)

    assert found == Outcome(0, 1, "stopped", "it did not end within 4 s")
    assert time.monotonic() - begin < 60


def test_a_part_counts_as_a_part_and_what_was_not_reached_as_wrong():
    said = [Verdict("a", True), Verdict("b", False, "no"), Verdict("c", None)]

    assert summed(said) == Outcome(1, 3, "not right", "b: no")
    assert summed(said[:1], "stopped with ValueError: x") == Outcome(1, 2, "not right", "stopped with ValueError: x")
    assert summed([said[2]]) == Outcome(0, 1, "not done yet")
    assert summed([]).status == "not judged"


def test_a_class_becomes_a_table_and_a_spreadsheet(tmp_path):
    write(tmp_path / "ada" / "week 2" / "05_roofline.ipynb", handed_in(RIGHT))
    (tmp_path / "bob_05_roofline.ipynb").write_text("{}")

    rows = [r for r in grade(tmp_path, "05_") if r.exercise == "2 the roof"]
    text, table = rows_as_text(rows), rows_as_csv(rows)

    assert [(row.learner, row.outcome.status) for row in rows] == [("ada", "right"), ("bob", "not judged")]
    assert "ada           1" in text and "bob           !" in text
    assert "ada,05_roofline,2 the roof,1.0,1,1,right," in table
    assert "bob_05_roofline.ipynb is no notebook" in table


def test_what_is_right_in_the_empty_notebook_earns_nothing(tmp_path):
    given = course("01_autograd_by_hand")
    write(tmp_path / "cleo" / "01_autograd_by_hand.ipynb", given)

    (row,) = (row for row in grade(tmp_path, "01_") if row.exercise.startswith("5"))

    assert (row.outcome.right, row.outcome.of, row.outcome.status) == (0, 4, "not done yet")


BATCH_NORM = """raise YourTurn('give d["variance"], d["square"], d["centred"], d["mean"] and d["x"] their gradients')"""


@pytest.mark.parametrize(("name", "exercise", "gap", "answer", "right", "of"), [
    ("01_autograd_by_hand", "5 one rule for each operator", 'raise YourTurn("return two gradients: of x, and of y")',
     "return dout / y, None", 1, 4),
    ("01_autograd_by_hand", "9 through batch norm", BATCH_NORM,
     'd["variance"] = d["scale"] * -0.5 * (variance + 1e-5) ** -1.5', 1, 5),
    ("02_meta_operators", "2 views", 'raise YourTurn("return one reindex, with one counter")',
     "return x.reindex((min(h, w),), lambda i: (i, i))", 1, 6),
    ("02_meta_operators", "7 gradients", 'raise YourTurn("return one reindex")',
     "return dout.reindex((6,), lambda i: (i // 2,))", 1, 3),
])  # fmt: skip
def test_who_answers_a_part_earns_that_part(name, exercise, gap, answer, right, of):
    given = course(name)
    (cell,) = (key for key, text in given.items() if gap in text)
    number = list(COURSE[name]).index(exercise)

    found = judged(text_of(handed_in(given[cell].replace(gap, answer), cell=cell, name=name), name, number))

    assert (found.right, found.of, found.status) == (right, of, "not done yet"), found


def test_of_two_files_the_newer_one_counts_and_checkpoints_do_not(tmp_path):
    for age, name in enumerate(("ada/05_roofline.ipynb", "ada/05_roofline (1).ipynb")):
        write(tmp_path / name, {})
        os.utime(tmp_path / name, (1000 + age, 1000 + age))
    write(tmp_path / "ada" / ".ipynb_checkpoints" / "05_roofline-checkpoint.ipynb", {})

    assert submissions(tmp_path) == {("ada", "05_roofline"): tmp_path / "ada" / "05_roofline (1).ipynb"}


def test_a_spreadsheet_gets_no_formulas():
    row = Row("=HYPERLINK(1)", "05_roofline", "2 the roof", Outcome(0, 1, "not right", "-1\nis\tnot"))

    assert "'=HYPERLINK(1)" in rows_as_csv([row]) and "'-1 is not" in rows_as_csv([row])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[" * 100_000, "is no notebook"),
        ('{"cells": [["code"]]}', "is no notebook"),
        ('{"cells": [{"cell_type": "code", "source": 7}]}', "is no notebook"),
        (json.dumps({"cells": [{"cell_type": "code", "source": f"x = {'-' * 100_000}1"}]}), "no Python"),
        (json.dumps({"cells": [{"cell_type": "code", "source": f"roof = {'1 + ' * 20_000}1"}]}), "no Python"),
        (None, "larger than 64 MB"),
    ],
)
def test_a_file_that_is_hostile_is_told_and_the_class_is_graded_all_the_same(tmp_path, content, words):
    write(tmp_path / "ada" / "05_roofline.ipynb", handed_in(RIGHT))
    with (tmp_path / "eve_05_roofline.ipynb").open("w") as file:
        file.write(content or "")
        file.truncate(len(content) if content else 100 << 20)  # a file with a hole: it takes no room

    rows = {(row.learner, row.exercise): row.outcome for row in grade(tmp_path)}

    assert rows["ada", "2 the roof"].status == "right"
    assert words in rows["eve", "2 the roof"].words
