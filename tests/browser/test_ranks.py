"""Ranks in a real JupyterLab: what would hang under a plain MPI is explained at once, and the notebook goes on."""

import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from tests.browser.page import expect
from tests.ranks.zoo import HANGS

RUN = "notebook:run-cell-and-select-next"
TOLD = ".jp-OutputArea-output"
DONE = """number => {
    const cells = window.jupyterapp.shell.currentWidget.content.model.toJSON().cells;
    return cells[number].execution_count !== null;
}"""
START = "import jt_widgets\nimport numpy as np"
FOR_EVER = "%%ranks 2\nopen('forever', 'w').close()\nwhile True:\n    pass"
AFTER = "%%ranks 3\nprint('rank', rank, 'has', comm.allreduce(rank))"


def notebook_of(lab, name, cells):
    """A notebook of these cells, beside those of the course."""
    made = new_notebook(cells=[new_code_cell(text, id=f"cell-{k}") for k, text in enumerate(cells)])
    made.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    nbformat.write(made, lab.folder / "notebooks" / name)
    return name


@pytest.fixture
def run_next(lab, open_page):
    """A function: runs the next cell of a notebook, and waits for its end; its page is `.notebook`."""

    def run(number):
        run.notebook.execute(RUN)
        run.notebook.page.wait_for_function(DONE, arg=number)

    def open_it(name, cells):
        run.notebook = open_page(notebook_of(lab, name, cells))
        return run

    return open_it


def test_six_programs_that_hang_under_a_plain_mpi_are_explained_and_the_notebook_is_usable(run_next, artefacts):
    cells = [START, AFTER]
    for animal in HANGS:
        cells += [f"%%ranks {animal.ranks}\n{animal.code}", AFTER]
    run = run_next("hangs.ipynb", cells)
    run(0)
    run(1)

    for k, animal in enumerate(HANGS):
        run(2 + 2 * k)  # it ends by itself
        told = run.notebook.code_cells()[2 + 2 * k]["outputs"]
        words = "".join(one["data"]["text/plain"] for one in told if "data" in one)
        assert all(said in words for said in animal.says), words
        assert re.search(r"at cell \d+:\d+: ", words)
        assert [one["output_type"] for one in told if one["output_type"] == "error"] == ["error"]

        run(3 + 2 * k)
        (after,) = run.notebook.code_cells()[3 + 2 * k]["outputs"]
        assert "rank 1 has 3" in after["data"]["text/plain"]
    run.notebook.screenshot(artefacts / "ranks_hangs.png")
    assert len(run.notebook.errors()) == len(HANGS)


def test_columns_stand_side_by_side_and_long_ones_scroll(run_next, artefacts):
    text = "%%ranks 4\nfor k in range(60):\n    print('line', k, 'of rank', rank)\nrank"
    run = run_next("columns.ipynb", [START, text])
    run(0)
    run(1)

    heads = run.notebook.page.locator(f"{TOLD} th")
    bodies = run.notebook.page.locator(f"{TOLD} td > div")
    expect(heads).to_have_text([f"rank {k}" for k in range(4)])
    places = [heads.nth(k).bounding_box() for k in range(4)]
    assert len({round(place["y"]) for place in places}) == 1
    assert [place["x"] for place in places] == sorted({place["x"] for place in places})
    for k in range(4):
        expect(bodies.nth(k)).to_contain_text(f"line 59 of rank {k}")
        high, seen = bodies.nth(k).evaluate("e => [e.scrollHeight, e.clientHeight]")
        assert seen < 400 < high
    run.notebook.screenshot(artefacts / "ranks_columns.png")


def test_an_error_stops_run_all_and_an_interrupt_ends_a_cell(run_next, lab):
    run = run_next("stops.ipynb", [START, "%%ranks 2\n1 / rank", "after = 1", FOR_EVER, AFTER])
    run.notebook.run_all()

    assert len(run.notebook.errors()) == 1
    assert "after = 1" in run.notebook.not_run()

    notebook = run.notebook
    notebook.page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 3; }")
    notebook.page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-cell-and-select-next'); }")
    begun = lab.folder / "notebooks" / "forever"
    notebook.until(begun.exists, "a rank is in its loop, and nobody else has a turn")
    notebook.execute("notebook:interrupt-kernel")
    notebook.page.wait_for_function(DONE, arg=3)
    assert any("KeyboardInterrupt" in error for error in notebook.errors())

    run(4)
    (after,) = notebook.code_cells()[4]["outputs"]
    assert "rank 1 has 3" in after["data"]["text/plain"]


def test_many_ranks_runs_in_jupyterlab_with_its_views(open_page, artefacts):
    notebook = open_page("13_many_ranks.ipynb")
    said = len(notebook.complaints)

    notebook.run_all()
    notebook.page.wait_for_function(
        "() => document.querySelectorAll('.jp-OutputArea-output .jt-view:not([aria-busy])').length >= 3"
    )

    assert notebook.errors() == []
    assert notebook.not_run() == []
    assert notebook.complaints[said:] == []
    assert notebook.strangers == []
    notebook.screenshot(artefacts / "many_ranks.png")
