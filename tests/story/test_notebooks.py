"""The notebooks run from the first cell to the last, and keep what they promise."""

import os
import re

import pytest

import jt_edu as jt
import jt_widgets
from jt_exercises.timing import ratio
from tests.headless import ROOT, execute
from tests.story.test_course_answers import open_guesses

FOLDER = ROOT / "notebooks"
VIEW = "application/vnd.jupyter.widget-view+json"


COLD = ("00_start_here", "10_training")  # what a new machine compiles is a part of what is shown or measured there


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A function: runs a notebook, once for all tests here.

    Those named in COLD find an empty kernel cache, as on a new machine; the others what any test has compiled before.
    """
    kept = {}

    def run(name):
        if name not in kept:
            with pytest.MonkeyPatch.context() as patch:
                if name in COLD:
                    patch.setenv("JT_EDU_CACHE", str(tmp_path_factory.mktemp("kernels")))
                patch.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
                before = os.times()
                notebook, error = execute(FOLDER / f"{name}.ipynb")
            assert error is None, error
            after = os.times()
            notebook.cpu_seconds = sum(after[2:4]) - sum(before[2:4])  # of the kernel, which has ended
            kept[name] = notebook
        return kept[name]

    return run


def outputs(notebook):
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def printed(notebook):
    return "".join(output.get("text", "") for output in outputs(notebook))


def shown(notebook, kind):
    return [output["data"][kind] for output in outputs(notebook) if kind in output.get("data", {})]


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("[0-9][0-9]*_*.ipynb")))
def test_a_notebook_runs_and_warns_of_nothing(finished, name):
    notebook = finished(name)

    assert [o["text"] for o in outputs(notebook) if o.get("name") == "stderr"] == []


def test_start_here_shows_what_its_words_say(finished):
    notebook = finished("00_start_here")

    text, explained = printed(notebook), "\n".join(shown(notebook, "text/plain"))
    assert "3 nodes were built, 0 kernels ran" in text
    assert "1 kernel ran: multiply_add" in text
    assert "allocated: [(4, 24)]" in text
    assert re.search(r"# multiply: cell \d+:2: y = a \* b \+ 1", text)
    assert len(re.findall(r"kernels run: 1 +compiled: 0", text)) == 5
    assert "ShapeError: multiply needs shapes that fit" in text
    assert re.findall(r"it was (\d)", text) == ["1", "2", "0"]
    assert open_guesses(explained) == ["00.3", "00.4"]
    assert len(shown(notebook, "image/svg+xml")) == 1
    assert len(shown(notebook, VIEW)) == 3
    assert "kernel 0  sum_divide_subtract" in explained
    assert "cut    " in explained
    assert "whole array; BLAS multiplies stored matrices" in explained


def test_start_here_ends_with_six_questions_and_no_source_of_the_framework(finished):
    outputs = finished("00_start_here").cells[-2].outputs  # one text, which comes in pieces when the machine is busy
    end = "".join(output["text"] for output in outputs).splitlines()

    assert [line[:3] for line in end if not line.startswith("   ")] == [f"{number}  " for number in range(1, 7)]
    assert len(end) == 12


def test_start_here_measures_that_fusion_pays(finished):
    text = printed(finished("00_start_here"))

    assert re.search(r"6\.0 times the bytes, [\d.]+ times the time, on this machine, now", text)


def test_fusion_pays_in_the_expression_of_start_here():
    """In CPU time of one thread: what others do meanwhile takes the notebook's time, and not this one."""
    threads = jt.get_num_threads()
    jt.set_num_threads(1)
    x = jt.rand(4_000_000).sync()

    def run(fuse):
        with jt.flag_scope(fuse=fuse):
            (((x * 2 + 1) * x - 3) * x).sync()

    try:
        assert ratio(lambda: run(fuse=False), lambda: run(fuse=True)) > 1.5
    finally:
        jt.set_num_threads(threads)


def test_kernels_shows_what_its_words_say(finished):
    notebook = finished("04_kernels")

    text = printed(notebook)
    assert len(shown(notebook, VIEW)) == 3
    assert re.search(r"t0 = a0\[at\(i0\), i1\] \* a1\[i1\]  # multiply: cell \d+:2: scaled = x \* w \+ 1", text)
    assert re.search(r"without `at` it takes [\d.]+ times as long; the same numbers: True", text)
    assert text.count("The edited kernel does not run: line 6: ") == 2
    assert "installed: [1. 3. 5.]\nreverted:  [3. 5. 7.]" in text


def test_training_reads_97_of_100_digits_within_a_minute_of_work(finished, record_property):
    notebook = finished("10_training")

    text = printed(notebook)
    seconds = re.search(r"([\d.]+) s from the first cell to here", text)[1]
    said = f"10_training took {seconds} s to its exam, {notebook.cpu_seconds:.0f} s of CPU time in all"
    record_property("house", said)
    assert float(re.search(r"([\d.]+)% of \d+ held-out digits", text)[1]) >= 97
    assert notebook.cpu_seconds <= 60, said


def test_training_shows_its_progress_and_what_a_step_runs(finished):
    notebook = finished("10_training")

    text = printed(notebook)
    assert re.search(r"epoch 8/8  batch \d+/\d+  loss 0\.\d+  accuracy 0\.9\d+", text)
    assert open_guesses("\n".join(shown(notebook, "text/plain"))) == ["10.7"]
    assert len(shown(notebook, "image/png")) == 4
    assert len(shown(notebook, VIEW)) == 2
    assert re.search(r"\d{3} nodes were built, \d{2} kernels ran", text)


def test_a_batch_is_learnt_by_heart_where_nothing_is_missing_and_not_where_a_line_is(finished):
    losses = [float(number) for number in re.findall(r"step +\d+   loss ([\d.]+)", printed(finished("10_training")))]

    good, bad = losses[:5], losses[5:]
    assert 2.2 < good[0] < 2.4
    assert good[-1] < 0.05
    assert bad[-1] > 0.5


def test_many_ranks_shows_what_its_words_say(finished):
    notebook = finished("13_many_ranks")

    text, columns = printed(notebook), "\n".join(shown(notebook, "text/plain"))
    assert "ranks 0-3\n    total 10   seen 4\nThis works here, and would not under mpirun" in columns
    assert "tally.seen, changed by ranks 0-3" in columns
    assert ("ranks 0-3\n    total 10   seen 1" in columns) or "mpirun" in text  # or there is none here
    assert "a circle: 0 -> 1 -> 0" in columns
    assert columns.count("rank 2 last, 20 µs later") == 3
    assert len(shown(notebook, VIEW)) == 3


ELSEWHERE = {"ranks": "13_many_ranks", "gpu_grid": "08_gpu_threads", "form": "17_experiments"}  # what stands where
SHOWN_BY = {"form": ".to_widgets()"}


def test_the_gallery_shows_every_view(finished):
    notebook = finished("90_gallery")

    used = set(re.findall(r"\bsee\.(\w+)\(", "\n".join(cell.source for cell in notebook.cells)))
    views = {name for name in jt_widgets.__all__ if name[0].islower()}
    for name, where in ELSEWHERE.items():
        source = (FOLDER / "source" / f"{where}.py").read_text(encoding="utf-8")
        assert f"see.{name}(" in source or SHOWN_BY.get(name, "%%" + name) in source
    assert used | ELSEWHERE.keys() == views
    assert len(shown(notebook, VIEW)) == len(used)
