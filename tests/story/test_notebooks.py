"""The notebooks run from the first cell to the last, and keep what they promise."""

import re

import pytest

import jt_widgets
from tests.headless import ROOT, execute

pytestmark = pytest.mark.slow

FOLDER = ROOT / "notebooks"
VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Runs a notebook with an empty kernel cache, as on a machine that never ran it; once for all tests here."""
    kept = {}

    def run(name):
        if name not in kept:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("JT_EDU_CACHE", str(tmp_path_factory.mktemp("kernels")))
                patch.setenv("IPYTHONDIR", str(tmp_path_factory.mktemp("ipython")))
                notebook, error = execute(FOLDER / f"{name}.ipynb")
            assert error is None, error
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

    text, explained = printed(notebook), "".join(shown(notebook, "text/plain"))
    assert "3 nodes were built, 0 kernels ran" in text
    assert "1 kernel ran: multiply_add" in text
    assert "allocated: [(4, 24)]" in text
    assert "# multiply: cell:2: y = a * b + 1" in text
    assert len(re.findall(r"kernels run: 1 +compiled: 0", text)) == 5
    assert "ShapeError: multiply needs shapes that fit" in text
    assert re.findall(r"it was (\d)", text) == ["1", "2", "0"]
    assert len(shown(notebook, "image/svg+xml")) == 1
    assert len(shown(notebook, VIEW)) == 3
    assert "kernel 0  sum_divide_subtract" in explained
    assert "cut    " in explained
    assert "whole array; BLAS multiplies stored matrices" in explained


def test_start_here_measures_that_fusion_pays(finished):
    text = printed(finished("00_start_here"))

    bytes_ratio, time_ratio = map(float, re.search(r"([\d.]+) times the bytes, ([\d.]+) times the time", text).groups())
    assert bytes_ratio == 6.0
    assert time_ratio > 1.5


def test_training_reads_97_of_100_digits_within_a_minute(finished):
    text = printed(finished("10_training"))

    accuracy = float(re.search(r"([\d.]+)% of \d+ held-out digits", text)[1])
    seconds = float(re.search(r"([\d.]+) s from the first cell to here", text)[1])
    assert accuracy >= 97
    assert seconds <= 60


def test_training_shows_its_progress_and_what_a_step_runs(finished):
    notebook = finished("10_training")

    text = printed(notebook)
    assert re.search(r"epoch 8/8  batch \d+/\d+  loss 0\.\d+  accuracy 0\.9\d+", text)
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


def test_the_gallery_shows_every_view(finished):
    notebook = finished("90_gallery")

    used = set(re.findall(r"\bsee\.(\w+)\(", "\n".join(cell.source for cell in notebook.cells)))
    views = {name for name in jt_widgets.__all__ if name[0].islower()}
    assert used | {"ranks"} == views  # what ranks said to each other is shown in 13_many_ranks
    assert len(shown(notebook, VIEW)) == len(used)
