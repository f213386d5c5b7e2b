"""The gallery as a learner meets it: every view of the notebook is drawn, and none of them complains."""

VIEWS = ".jp-OutputArea-output .jt-view"
DRAWN = """count => {
    const views = [...document.querySelectorAll(".jp-OutputArea-output .jt-view")];
    return views.length >= count && views.every(one => !one.hasAttribute("aria-busy"));
}"""


def test_every_view_of_the_gallery_is_drawn_in_jupyterlab(open_page, artefacts):
    notebook = open_page("90_gallery.ipynb")
    said = len(notebook.complaints)
    shown = sum(cell["source"].count("see.") for cell in notebook.code_cells()) - 2  # a saved page, and a snapshot

    notebook.run_all()
    notebook.page.wait_for_function(DRAWN, arg=shown)

    views = notebook.page.locator(VIEWS)
    assert notebook.errors() == []
    assert notebook.not_run() == []
    for k in range(views.count()):
        views.nth(k).scroll_into_view_if_needed()
        one = views.nth(k).element_handle()
        assert views.nth(k).locator(".jt-trouble").count() == 0, views.nth(k).inner_text()
        notebook.page.wait_for_function("view => view.getBoundingClientRect().height > 100", arg=one)
        views.nth(k).screenshot(path=artefacts / f"gallery_{k}.png")
    assert notebook.complaints[said:] == []
    assert notebook.strangers == []
