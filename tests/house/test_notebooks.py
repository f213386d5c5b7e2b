"""The notebooks are what their text sources say, and nothing else: no outputs, no traces of who ran them."""

import importlib.util

import nbformat
import pytest

from tests.house.plan import ROOT

FOLDER = ROOT / "notebooks"
MOST_CELLS = 25


def load_builder():
    """notebooks/build.py is a program beside the notebooks, not a module of a package."""
    spec = importlib.util.spec_from_file_location("build_notebooks", FOLDER / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


build = load_builder()
PAIRS = build.pairs()
NAMES = [target.stem for _, target in PAIRS]


def test_every_notebook_has_a_source_and_every_source_a_notebook():
    assert [path.stem for path in sorted(FOLDER.glob("*.ipynb"))] == NAMES
    assert "00_start_here" in NAMES


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=NAMES)
def test_a_notebook_is_what_its_source_says(source, target):
    made = build.notebook_text(source.read_text(encoding="utf-8"))

    assert target.read_text(encoding="utf-8") == made, "run: python notebooks/build.py"


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=NAMES)
def test_a_notebook_is_short_and_has_no_outputs(source, target):
    notebook = nbformat.read(target, as_version=4)

    assert len(notebook.cells) <= MOST_CELLS
    assert [cell.id for cell in notebook.cells if cell.get("outputs") or cell.get("execution_count")] == []
    assert notebook.cells[0].source.startswith(f"# {target.stem.partition('_')[0]} ")


def test_building_twice_gives_the_same_bytes():
    text = "# %% [markdown]\n# # Title\n#\n# Words.\n\n# %%\nx = 1\n\n\ndef f():\n    return x\n"

    assert build.notebook_text(text) == build.notebook_text(text)


def test_cells_are_cut_where_the_source_says():
    text = "# %% [markdown]\n# # Title\n#\n#     code\n\n# %%\n# a comment\nx = 1\n\n"

    assert list(build.cells(text)) == [("markdown", "# Title\n\n    code"), ("code", "# a comment\nx = 1")]


def test_a_magic_is_a_comment_in_the_source_and_a_magic_in_the_notebook():
    text = "# %%\n# %%ranks 4\n# a comment\nx = rank\n"

    assert list(build.cells(text)) == [("code", "%%ranks 4\n# a comment\nx = rank")]


def test_a_notebook_that_is_not_up_to_date_is_noticed(tmp_path, monkeypatch, capsys):
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "00_x.py").write_text("# %%\nx = 1\n", encoding="utf-8")
    monkeypatch.setattr(build, "FOLDER", tmp_path)

    assert build.main(["--check"]) == 1
    assert build.main([]) == 0
    assert build.main(["--check"]) == 0
    assert capsys.readouterr().out == "00_x.ipynb is not up to date\n00_x.ipynb written\n"
