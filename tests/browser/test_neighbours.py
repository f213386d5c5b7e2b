"""The film of notebook 09 in JupyterLab, which would like to have the arrow keys for itself."""

ACTIVE = "number => {window.jupyterapp.shell.currentWidget.content.activeCellIndex = number}"
SHOWN = """() => [...document.querySelectorAll('.jtknn .g')]
    .filter(group => getComputedStyle(group).display !== 'none').map(group => group.classList[1])"""


def test_a_click_on_a_point_makes_it_the_query_and_the_arrow_keys_go_on_from_there(open_page, artefacts):
    notebook = open_page("09_neighbours.ipynb")
    for number in (1, 3):  # the imports, and the film
        notebook.page.evaluate(ACTIVE, number)
        notebook.execute("notebook:run-cell")
    points = notebook.page.locator(".jtknn input")
    points.first.wait_for()

    seen = [notebook.page.evaluate(SHOWN)]
    points.nth(7).click()
    seen.append(notebook.page.evaluate(SHOWN))
    notebook.page.keyboard.press("ArrowRight")
    seen.append(notebook.page.evaluate(SHOWN))

    notebook.screenshot(artefacts / "neighbours.png")
    assert seen == [["g0"], ["g7"], ["g8"]]
