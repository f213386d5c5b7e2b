"""A view, alive in JupyterLab and in Notebook 7: it draws, asks Python, keeps its keys, and survives being closed."""

import nbformat
import pytest

from tests.browser.page import expect, open_notebook

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
LATER = "() => new Promise(done => setTimeout(() => requestAnimationFrame(() => setTimeout(done, 20)), 20))"
PAPER = "() => getComputedStyle(document.querySelector('.jp-OutputArea-output .jt-view')).backgroundColor"


@pytest.fixture
def notebook_of(lab):
    """A function: the name of a new notebook in the folder of the running JupyterLab -> this name."""
    return lambda name: write(lab, name)


def write(lab, name):
    """A notebook of the cells above; its name."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(notebook, lab.folder / "notebooks" / name)
    return name


@pytest.fixture(scope="module")
def kept(chromium, lab):
    """A notebook, run and saved with its views; a page of it."""
    context = chromium.new_context(viewport={"width": 1280, "height": 1600})
    page = open_notebook(context, lab, write(lab, "kept.ipynb"))
    page.run_all()
    page.page.wait_for_selector(LINE)
    page.execute("docmanager:save")
    yield page
    context.close()


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
        notebook.page.evaluate(LATER)
        notebook.page.wait_for_function(IN_THE_VIEW)  # or this key took the focus away
        assert notebook.page.locator(".jp-Notebook-cell").count() == len(CELLS), f"{key} reached the notebook"
    assert [cell["source"] for cell in notebook.code_cells()] == CELLS
    assert notebook.not_run() == []


def show_in_the_dark(notebook):
    """The view's paper in light and in dark."""
    light = notebook.page.evaluate(PAPER)
    notebook.execute("apputils:change-theme", {"theme": "JupyterLab Dark"})
    notebook.page.wait_for_function("() => document.body.dataset.jpThemeLight === 'false'")
    expect(notebook.page.locator(VIEW).first).not_to_have_css("background-color", light)
    return light, notebook.page.evaluate(PAPER)


def test_a_view_lives_in_jupyterlab_and_is_there_again_after_saving(open_page, notebook_of, lab, artefacts):
    name = notebook_of("views.ipynb")
    notebook = open_page(name)
    use(notebook)
    notebook.screenshot(artefacts / "view_in_lab.png")
    light, dark = show_in_the_dark(notebook)
    notebook.screenshot(artefacts / "view_in_dark_lab.png")
    notebook.execute("apputils:change-theme", {"theme": "JupyterLab Light"})
    notebook.told('"tab":"asm"')
    notebook.execute("docmanager:save")

    again = open_page(name)  # its kernel runs on
    again.page.wait_for_selector(f"{VIEW} [role=tab]")

    assert (light, dark) == ("rgb(255, 255, 255)", "rgb(17, 17, 17)")
    assert (lab.folder / "notebooks" / name).stat().st_size < 2 * 200_000  # a view, and a snapshot
    expect(again.page.locator(VIEW).get_by_role("tab", name="Assembly")).to_have_attribute("aria-selected", "true")
    expect(again.page.frame_locator("iframe").locator("tbody tr")).to_have_count(6)
    assert again.strangers == []


def test_a_view_lives_in_notebook_7(open_page, notebook_of, artefacts):
    notebook = open_page(notebook_of("seven.ipynb"), classic=True)

    use(notebook)
    notebook.screenshot(artefacts / "view_in_notebook.png")

    assert "/notebooks/notebooks/" in notebook.page.url


@pytest.mark.usefixtures("kept")
def test_a_notebook_from_a_stranger_shows_picture_and_table(open_page, lab, artefacts):
    given = nbformat.read(lab.folder / "notebooks" / "kept.ipynb", as_version=4)
    given.cells[0].source += "  # changed: no longer what was signed here"
    nbformat.write(given, lab.folder / "notebooks" / "stranger.ipynb")

    stranger = open_page("stranger.ipynb")
    shown = stranger.page.locator(".jp-OutputArea-output").last
    shown.locator("img").wait_for()
    shown.locator("img").evaluate("image => image.decode()")
    stranger.screenshot(artefacts / "view_of_a_stranger.png")

    assert shown.locator("img").bounding_box()["width"] > 100
    expect(shown).to_contain_text("multiply")
    assert stranger.page.locator("iframe").count() == 0
    assert stranger.strangers == []


def test_a_saved_notebook_shows_its_views_again_without_a_kernel(kept, open_page, lab, artefacts):
    kept.execute("kernelmenu:shutdown")

    again = open_page("kept.ipynb")  # a new kernel, which knows nothing
    said = len(again.complaints)
    again.page.wait_for_selector(LINE)
    again.screenshot(artefacts / "view_without_kernel.png")

    expect(again.page.locator(VIEW).get_by_role("tab", name="Assembly")).to_have_count(1)
    assert again.complaints[said:] == []
    assert (
        lab.folder / "notebooks" / "kept.ipynb"
    ).stat().st_size < 2 * 200_000  # a view with its state, and a snapshot
