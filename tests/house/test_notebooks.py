"""The notebooks are what their text sources say, and nothing else: no outputs, no traces of who ran them."""

import re

import nbformat
import pytest

from tests.house.plan import ROOT
from tests.programs import program_at

FOLDER = ROOT / "notebooks"
MOST_CELLS = 25


build = program_at(FOLDER / "build.py")
PAIRS = build.pairs()
NAMES = [target.stem for _, target in PAIRS]


def cells_of(name):
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4).cells


def test_every_notebook_has_a_source_and_every_source_a_notebook():
    assert [path.stem for path in sorted(FOLDER.glob("*.ipynb"))] == NAMES
    assert "00_start_here" in NAMES


@pytest.mark.parametrize(("target", "text"), build.made().items(), ids=NAMES)
def test_a_notebook_is_what_its_source_says(target, text):
    assert target.read_text(encoding="utf-8") == text, "run: python notebooks/build.py"


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_says_how_long_it_takes_and_what_comes_before_it_and_links_to_its_neighbours(name):
    _, links, head = cells_of(name)[0].source.split("\n\n")[:3]
    place = NAMES.index(name)

    assert re.search(r"^\*.*\bhour\b.*(\bDo \[\d\d|You need).*\*$", head), head
    assert re.findall(r"\]\((\w+)\.ipynb\)", links) == NAMES[max(0, place - 1) : place] + NAMES[place + 1 : place + 2]


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_links_only_to_notebooks_that_are_there(name):
    words = "\n".join(cell.source for cell in cells_of(name) if cell.cell_type == "markdown")

    assert [link for link in re.findall(r"\]\(([^)#]+)\)", words) if not (FOLDER / link).exists()] == []


@pytest.mark.parametrize("name", NAMES)
def test_no_cell_shows_a_learner_what_was_said_to_a_linter(name):
    lines = [line for cell in cells_of(name) if cell.cell_type == "code" for line in cell.source.splitlines()]

    assert [line for line in lines if re.search(r"#\s*(noqa|fmt:|ruff:|type: *ignore|pragma)", line)] == []


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


def test_what_is_folded_away_stands_between_empty_lines():
    text = "# %% [markdown]\n# <details><summary>A hint</summary> Use `x`,\n# twice. </details><br>\n"

    (cell,) = nbformat.reads(build.notebook_text(text), as_version=4).cells

    assert cell.source == "<details><summary>A hint</summary>\n\nUse `x`,\ntwice.\n\n</details><br>"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("x = 1  # noqa: S102", "x = 1"),
        ("x = 1  # noqa: F401, S102 - for your answers", "x = 1  # for your answers"),
        ("x = 1  # noqa", "x = 1"),
        ("x = 1  # a remark", "x = 1  # a remark"),
    ],
)
def test_of_a_remark_for_the_linter_its_reason_is_left(line, shown):
    (cell,) = nbformat.reads(build.notebook_text(f"# %%\n{line}\n"), as_version=4).cells

    assert cell.source == shown


def test_a_notebook_that_is_not_up_to_date_is_noticed(tmp_path, monkeypatch, capsys):
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "00_x.py").write_text("# %% [markdown]\n# # 00 X\n", encoding="utf-8")
    monkeypatch.setattr(build, "FOLDER", tmp_path)

    assert build.main(["--check"]) == 1
    assert build.main([]) == 0
    assert build.main(["--check"]) == 0
    assert capsys.readouterr().out == "00_x.ipynb is not up to date\n00_x.ipynb written\n"
