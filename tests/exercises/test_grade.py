"""A class is graded by the answers alone, in a sandbox; a batch that was stopped goes on, and bad files are told."""

import ast
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
import zipfile
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from jt_edu.lab import notebooks
from jt_exercises.author.masters import masters
from jt_exercises.exercise import find
from jt_exercises.grade import Batch, Outcome, Row, batch, report, rows_as_csv, rows_as_text
from jt_exercises.grade.__main__ import main
from jt_exercises.grade.handed_in import Submission, handed_in
from jt_exercises.grade.program import UnreadableError, program, read, statements, tasks
from jt_exercises.process import COPY
from tests.patience import until

NAME = "01_autograd_by_hand"
NAMES = [path.stem for path in sorted(notebooks().glob("[0-9]*.ipynb"))]
pytestmark = pytest.mark.skipif(not COPY, reason="processes are not copied here")


def course():
    return batch.course(NAME)


def solved(**instead):
    """The notebook with its solutions; `instead`: a number, and (what stands there, what a learner wrote)."""
    cells = dict(batch.solutions(NAME))
    for number, (text, wrong) in instead.items():
        (cell,) = (t.cell for t in tasks(course()) if t.number == f"01.{number[1:]}")
        assert text in cells[cell]
        cells[cell] = cells[cell].replace(text, wrong)
    return cells


def as_bytes(cells):
    code = [{"cell_type": "code", "id": key, "source": text.splitlines(True)} for key, text in cells.items()]
    return json.dumps({"cells": code, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


def write(path, cells):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(as_bytes(cells))


def graded(folder, **more):
    found = Batch(folder, only="01_", seed=5, seconds=20, **more)
    list(found)
    return found


# what is taken of a notebook


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_asks_for_the_exercises_of_its_number_and_binds_their_answers(name):
    cells = batch.course(name)
    given = [s for cell, text in cells.items() for s in statements(cell, text)]

    for task in tasks(cells):
        assert find(task.number)
        assert name.startswith(task.number.partition(".")[0])
        assert task.names <= set().union(*(s.binds for s in given if s.cell == task.cell)), task


def test_every_exercise_of_an_author_is_asked_for_by_a_notebook():
    assert {t.number for name in NAMES for t in tasks(batch.course(name))} == set(masters())


def test_of_a_cell_what_only_ipython_understands_is_left_out_and_questions_in_comments_are_not():
    text = "%matplotlib inline\n!ls\n?jt.sum\njt.sum?\njt.sum??\na = 1  # is it?\nb = '?'  # or ?"

    assert [ast.unparse(s.node) for s in statements("c", text)] == ["a = 1", "b = '?'"]


def test_of_a_submission_only_the_answers_are_taken_and_what_they_need():
    helper = "def slope(f):\n    return f\n\n\njt = None\nprint('hello')\n\n\ndef backward"
    came = {k: t.replace("node.grad * local", "slope(node.grad) * local") for k, t in solved().items()}
    came = {k: t.replace("def backward(", f"{helper}(") for k, t in came.items()}

    text = program(course(), came, "01.3")

    assert "before.grad += slope(node.grad) * local" in text and "def slope" in text
    assert "hello" not in text and "jt = None" not in text and "check(" not in text
    assert text.rstrip().endswith("answers = (backward,)")


def test_helpers_are_seen_by_answers_alone():
    cells = {"a": "def least(x):\n    return x", "b": 'def f(x):\n    raise YourTurn("")\n\n\ncheck("01.3", f)'}
    came = {**cells, "b": "def least(x):\n    return -x\n\n\ndef f(x):\n    return least(x)"}

    text = program(cells, came, "01.3")
    space = {}

    def take(text, names):
        own = {**space}
        exec(text, own)  # noqa: S102 - as child.py does it
        space.update({name: own[name] for name in names})

    space["take"] = take
    exec(text, space)  # noqa: S102
    assert space["f"](3) == -3
    assert space["least"](3) == 3  # the course keeps its own


def test_an_answer_that_moved_to_another_cell_is_found_and_the_last_one_counts():
    (home,) = (t.cell for t in tasks(course()) if t.number == "01.3")
    wrong = "def backward(y, order):\n    return 1"
    came = {**course(), "one": wrong, "two": solved()[home]}
    came.pop(home)

    assert "before.grad += node.grad * local" in program(course(), came, "01.3")


def test_a_cell_that_is_no_python_is_told_and_others_are_read_all_the_same():
    came = solved(e3=("def backward(y, order):", "def backward(y:"))

    with pytest.raises(UnreadableError, match="no Python"):
        program(course(), came, "01.3")
    assert "def unbroadcast" in program(course(), came, "01.6")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"[" * 100_000, "is no notebook"),
        (b'{"cells": [["code"]]}', "is no notebook"),
        (b'{"cells": [{"cell_type": "code", "source": 7}]}', "is no notebook"),
        (b"\xff\xfe{}", "is no notebook"),
        (b"PK\x03\x04", "is no notebook"),
        (as_bytes({"a": f"x = {'-' * 100_000}1"}), "no Python"),
        (as_bytes({"a": f"x = {'1 + ' * 20_000}1"}), "no Python"),
        (as_bytes({"a": "x = 1\n" * 6_000}), "more than 2,000 statements"),
        (as_bytes({"a": "#" * (2 << 20)}), "more than 1 MB of Python"),
        (as_bytes({"a": "\n" * 900_000}), ""),
    ],
    ids=["brackets", "list", "number", "utf-16", "zip", "minus", "plus", "long", "large", "blank"],
)
def test_a_file_that_is_hostile_is_told_in_time(data, words):
    begin = time.process_time()

    with pytest.raises(UnreadableError, match=words) if words else nullcontext():
        program(course(), read(Submission("eve", NAME, "eve.ipynb", data)), "01.3")
    assert time.process_time() - begin < 30


# whose notebooks they are


def test_learners_are_folders_files_and_archives_and_what_cannot_be_read_is_told(tmp_path):
    write(tmp_path / "ada" / "week 2" / f"{NAME}.ipynb", course())
    write(tmp_path / f"bob_{NAME} (1).ipynb", course())
    write(tmp_path / "ada" / ".ipynb_checkpoints" / f"{NAME}-checkpoint.ipynb", {})
    write(tmp_path / "notes.ipynb", {})
    (tmp_path / "eve").mkdir()
    (tmp_path / "eve" / f"{NAME}.ipynb").symlink_to(tmp_path / "ada" / "week 2" / f"{NAME}.ipynb")
    with (tmp_path / f"fay_{NAME}.ipynb").open("w") as file:
        file.truncate(200 << 20)  # a file with a hole: it takes no room
    with zipfile.ZipFile(tmp_path / "cleo.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"../../{NAME}.ipynb", as_bytes(course()))
        archive.writestr(f"bomb/{NAME}.ipynb", b"0" * (100 << 20))
    (tmp_path / "dan.zip").write_bytes(b"PK")

    found, remarks = handed_in(tmp_path, [NAME])

    assert [s.learner for s in found] == ["ada", "bob", "cleo", "fay"]
    assert "larger than 64 MB" in found[3].unread
    told = "\n".join(remarks)
    for words in ("notes.ipynb is called like no", "is a link", "dan.zip is no archive", "cleo handed in"):
        assert words in told
    assert sorted(p.name for p in tmp_path.parent.glob("*.ipynb")) == []


def test_of_two_files_the_newer_one_counts(tmp_path):
    for age, name in enumerate((f"ada/{NAME}.ipynb", f"ada/{NAME} (1).ipynb")):
        write(tmp_path / name, {})
        os.utime(tmp_path / name, (1000 + age, 1000 + age))

    (found,), (remark,) = handed_in(tmp_path, [NAME])

    assert found.source == f"ada/{NAME} (1).ipynb"
    assert remark.startswith(f"ada handed in {NAME} twice")


# a class


def test_a_class_becomes_a_table_a_spreadsheet_and_pages(tmp_path, capsys):
    write(tmp_path / "ada" / f"{NAME}.ipynb", solved())
    write(tmp_path / "bob" / f"{NAME}.ipynb", course())
    write(tmp_path / f"<b>cleo_{NAME}.ipynb", solved(e3=("before.grad += node", "before.grad = node")))
    loop = ("    for node in", "    while True: pass\n    for node in")
    write(tmp_path / "dan" / f"{NAME}.ipynb", solved(e3=loop))
    (tmp_path / f"eve_{NAME}.ipynb").write_text("{}")

    assert main([str(tmp_path), "--only", "01", "--seconds", "10", "--seed", "3"]) == 0

    words, csv = " ".join(capsys.readouterr().out.split()), (tmp_path / "grades.csv").read_text()
    assert "ada 1 1 1 1 1 11 of 11" in words and "eve ! ! ! ! ! 0 of 11" in words
    assert "bob - - - - - 0 of 11" in words  # what is right in the empty notebook earns nothing
    assert "cleo 1/4 1 1 1 1 9.5 of 11" in words
    assert "dan ! 1 1 1 1 9 of 11" in words  # a loop that never ends costs that exercise
    assert 'ada,01_autograd_by_hand,"01.3 backward, in order",2,2,4,4,right,' in csv
    assert "two paths lead to `b`" in csv and "did not end within 10 s" in csv
    assert "is no notebook" in csv
    results = json.loads((tmp_path / "grades" / "dan" / "results.json").read_text())
    assert (results["score"], len(results["tests"])) == (9, 5)
    assert {t["status"] for t in results["tests"]} == {"passed", "failed"}
    assert results["extra_data"]["seed"] == 3
    page = (tmp_path / "grades" / "class.html").read_text()
    assert "<b>cleo" not in page and "&lt;b&gt;cleo" in page
    (cleo,) = (tmp_path / "grades").glob("*cleo*/feedback.html")
    assert "two paths lead to <code>b</code>" in cleo.read_text()


def test_a_notebook_that_a_learner_did_not_hand_in_counts_as_nothing():
    found = Batch.__new__(Batch)
    found.notebooks = [NAME]
    found.found = {("ada", "another"): []}

    assert {row.outcome.status for row in found.rows} == {"not handed in"}


def test_a_part_of_an_exercise_earns_a_part_of_its_points():
    row = Row("ada", NAME, "01.3", "backward", 2, Outcome(1, 4, "not right"))

    assert row.score == 0.5
    assert "0.5,2,1,4,not right" in rows_as_csv([row])
    assert "1/4" in rows_as_text([row])


def test_a_spreadsheet_gets_no_formulas_and_a_folder_stays_below_ours():
    row = Row("=HYPERLINK(1)", NAME, "01.3", "backward", 2, Outcome(0, 1, "not right", "-1\nis\tnot"))

    assert "'=HYPERLINK(1)" in rows_as_csv([row]) and "'-1 is not" in rows_as_csv([row])
    assert "/" not in report.folder_of("../../x") and report.folder_of("..").strip(".")
    assert report.folder_of("a/b") != report.folder_of("a_b") == "a_b"


def test_where_a_solution_does_not_earn_full_marks_nobody_is_graded(tmp_path, monkeypatch, capsys):
    write(tmp_path / "ada" / f"{NAME}.ipynb", solved())
    wrong = solved(e6=("return", "return 1 +"))
    monkeypatch.setattr(batch, "solutions", lambda name: wrong)

    assert main([str(tmp_path), "--only", "01"]) == 2
    assert "Nobody was graded. 01.6 cannot be graded on this machine: its solution is" in capsys.readouterr().err
    assert not (tmp_path / "grades.csv").exists()


def test_a_batch_that_was_stopped_goes_on_with_the_same_scores_and_leaves_no_process(tmp_path):
    for k in range(4):
        wrong = {"e3": ("before.grad += node", f"before.grad += {k} * node")}
        write(tmp_path / f"learner {k}" / f"{NAME}.ipynb", solved(**wrong))
    whole = rows_as_csv(graded(tmp_path, jobs=2).rows)
    for path in (tmp_path / "grades" / "state").iterdir():
        path.unlink()
    command = [sys.executable, "-m", "jt_exercises.grade", str(tmp_path), "--only", "01", "--seed", "5"]
    (tmp_path / "temporary").mkdir()
    process = subprocess.Popen(
        [*command, "--seconds", "20"], stderr=subprocess.DEVNULL, start_new_session=True,
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
    )  # fmt: skip
    while not (done := list((tmp_path / "grades" / "state").glob("*.json"))) and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)

    assert process.wait(60) == 130
    assert 0 < len(done) < 4
    until(lambda: not [p for p in Path("/proc").glob("[0-9]*") if str(tmp_path).encode() in _environment(p)])
    kept = {path: path.stat().st_mtime_ns for path in done}
    assert rows_as_csv(graded(tmp_path, jobs=2).rows) == whole
    assert {path: path.stat().st_mtime_ns for path in done} == kept  # they were not graded again


def _environment(process):
    try:
        return (process / "environ").read_bytes()
    except OSError:
        return b""


def test_another_seed_gives_other_cases(tmp_path):
    state = Batch(tmp_path, seed=1)
    s = Submission("ada", NAME, "", b"x")

    assert state._state(s) != replace(state, seed=2)._state(s)
    assert Batch(tmp_path).seed == Batch(tmp_path).seed  # a secret one is kept


def test_an_empty_folder_and_words_that_mean_nothing_are_told(tmp_path, capsys):
    assert main([str(tmp_path)]) == 1
    assert "There is no notebook of the course below" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([str(tmp_path), "--sandbox", "none"])


def test_judges_that_are_ended_cost_nobody_anything(tmp_path):
    for name in ("ada", "bob"):
        write(tmp_path / name / f"{NAME}.ipynb", solved())
    found = Batch(tmp_path, only="01_", seed=5, seconds=20, jobs=1)

    for rows in found:
        for judge in multiprocessing.active_children():
            os.kill(judge.pid, signal.SIGKILL)
        assert {row.outcome.status for row in rows} == {"right"}
    assert len(found.found) == 2
