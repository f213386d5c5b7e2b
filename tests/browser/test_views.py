"""A view, alive in JupyterLab and in Notebook 7: it draws, asks Python, keeps its keys, and survives being closed."""

import nbformat
import pytest

CELLS = [
    "import jt_edu as jt\nfrom jt_widgets import View, kernel",
    "a, c = jt.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), jt.array([10.0, 20.0, 30.0])\ny = (a * a + c).sum()",
    "kernel(y)",
    "View(jt.recording(y)).snapshot()",
]
VIEW = ".jp-OutputArea-output .jt-view"
LINE = f"{VIEW} .jt-row"
KEYS = ["b", "m", "Shift+m", "ArrowDown", "t", "Escape", "?", "Escape", "Enter", "0", "0", "x"]
IN_THE_VIEW = "() => document.activeElement.closest('.jt-view') !== null"
PAPER = "() => getComputedStyle(document.querySelector('.jp-OutputArea-output .jt-view')).backgroundColor"


@pytest.fixture
def notebook_of(lab):
    """A function: cells -> the name of a new notebook in the folder of the running JupyterLab."""

    def make(cells, name):
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
        nbformat.write(notebook, lab.folder / "notebooks" / name)
        return name

    return make


def use(notebook):
    """Run all cells, ask Python, press keys. What the host said before is not the views' fault."""
    said = len(notebook.complaints)
    notebook.run_all()
    assert notebook.errors() == []
    assert notebook.not_run() == []
    notebook.page.wait_for_selector(LINE)
    notebook.page.locator(VIEW).get_by_role("tab", name="Assembly").click()  # this tab asks Python
    notebook.page.locator(VIEW).get_by_text("ret", exact=False).first.wait_for()
    press_keys(notebook)
    assert notebook.complaints[said:] == []
    assert notebook.strangers == []


def press_keys(notebook):
    """Keys that would add, turn, merge or cut cells, if the view let them go. After each one all is as it was."""
    notebook.page.locator(f"{VIEW} .jt-body").focus()
    for part in (None, ".jt-title", ".jt-summary"):  # a click on the head of a view gives it the focus, too
        if part:
            notebook.page.locator(f"{VIEW} {part}").click()
        press_each(notebook, KEYS if part is None else KEYS[:4])


def press_each(notebook, keys):
    """The same, wherever the focus is in the view."""
    for key in keys:
        notebook.page.keyboard.press(key)
        notebook.page.wait_for_timeout(50)
        assert notebook.page.evaluate(IN_THE_VIEW), f"{key} took the focus away"
        assert notebook.page.locator(".jp-Notebook-cell").count() == len(CELLS), f"{key} reached the notebook"
    assert [cell["source"] for cell in notebook.code_cells()] == CELLS
    assert notebook.not_run() == []


def show_in_the_dark(notebook):
    """The view's paper in light and in dark."""
    light = notebook.page.evaluate(PAPER)
    notebook.execute("apputils:change-theme", {"theme": "JupyterLab Dark"})
    notebook.page.wait_for_function("() => document.body.dataset.jpThemeLight === 'false'")
    return light, notebook.page.evaluate(PAPER)


def test_a_view_lives_in_jupyterlab_and_is_there_again_after_saving(open_page, notebook_of, lab, artefacts):
    name = notebook_of(CELLS, "views.ipynb")
    notebook = open_page(name)
    use(notebook)
    notebook.screenshot(artefacts / "view_in_lab.png")
    light, dark = show_in_the_dark(notebook)
    notebook.screenshot(artefacts / "view_in_dark_lab.png")
    notebook.execute("apputils:change-theme", {"theme": "JupyterLab Light"})
    notebook.execute("docmanager:save")

    again = open_page(name)  # its kernel runs on
    again.page.wait_for_selector(f"{VIEW} [role=tab]")

    assert (light, dark) == ("rgb(255, 255, 255)", "rgb(17, 17, 17)")
    assert (lab.folder / "notebooks" / name).stat().st_size < 2 * 200_000  # a view, and a snapshot
    assert again.page.locator(VIEW).get_by_role("tab", name="Assembly").get_attribute("aria-selected") == "true"
    assert again.page.frame_locator("iframe").locator("tbody tr").count() == 6
    assert again.strangers == []


def test_a_view_lives_in_notebook_7(open_page, notebook_of, artefacts):
    notebook = open_page(notebook_of(CELLS, "seven.ipynb"), classic=True)

    use(notebook)
    notebook.screenshot(artefacts / "view_in_notebook.png")

    assert "/notebooks/notebooks/" in notebook.page.url


def test_a_notebook_from_a_stranger_shows_picture_and_table(open_page, notebook_of, lab, artefacts):
    name = notebook_of(CELLS, "given.ipynb")
    notebook = open_page(name)
    notebook.run_all()
    notebook.execute("docmanager:save")
    given = nbformat.read(lab.folder / "notebooks" / name, as_version=4)
    given.cells[0].source += "  # changed: no longer what was signed here"
    nbformat.write(given, lab.folder / "notebooks" / "stranger.ipynb")

    stranger = open_page("stranger.ipynb")
    shown = stranger.page.locator(".jp-OutputArea-output").last
    shown.locator("img").wait_for()
    stranger.screenshot(artefacts / "view_of_a_stranger.png")

    assert shown.locator("img").bounding_box()["width"] > 100
    assert "multiply" in shown.inner_text()
    assert stranger.page.locator("iframe").count() == 0
    assert stranger.strangers == []


def test_a_saved_notebook_shows_its_views_again_without_a_kernel(open_page, notebook_of, lab, artefacts):
    name = notebook_of(CELLS, "kept.ipynb")
    notebook = open_page(name)
    notebook.run_all()
    notebook.page.wait_for_selector(LINE)
    notebook.execute("docmanager:save")
    notebook.execute("kernelmenu:shutdown")

    again = open_page(name)  # a new kernel, which knows nothing
    said = len(again.complaints)
    again.page.wait_for_selector(LINE)
    again.screenshot(artefacts / "view_without_kernel.png")

    assert again.page.locator(VIEW).get_by_role("tab", name="Assembly").count() == 1
    assert again.complaints[said:] == []
    assert (lab.folder / "notebooks" / name).stat().st_size < 2 * 200_000  # a view with its state, and a snapshot
