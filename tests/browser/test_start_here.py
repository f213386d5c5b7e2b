"""The first notebook, as a learner meets it."""


def test_start_here_runs_in_jupyterlab(open_page, artefacts):
    notebook = open_page("00_start_here.ipynb")

    notebook.run_all()
    notebook.screenshot(artefacts / "start_here.png")

    assert notebook.errors() == []
    assert notebook.not_run() == []
    assert notebook.pictures() >= 1, "no output shows the graph as a picture"
    assert any("for i0 in range" in text for text in notebook.texts()), "no output shows a generated kernel"
    assert notebook.strangers == [], "the page asked machines other than this one"
