"""One JupyterLab for all tests of this folder; each test gets a fresh profile of the browser."""

import os
from pathlib import Path

import pytest

from tests.browser.page import open_notebook
from tests.browser.server import jupyterlab

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = Path(os.environ.get("JT_EDU_NOTEBOOKS", ROOT / "notebooks"))
ARTEFACTS = Path(os.environ.get("JT_EDU_ARTEFACTS", ROOT / ".pytest_cache" / "artefacts"))


@pytest.fixture(scope="session")
def lab(chromium, tmp_path_factory):
    """A running JupyterLab on a copy of the notebooks."""
    with jupyterlab(NOTEBOOKS, tmp_path_factory.mktemp("lab")) as running:
        yield running


@pytest.fixture
def open_page(chromium, lab):
    """A function: the name of a notebook -> the notebook, open and with a kernel that answers.

    `classic` opens it in Notebook 7.
    """
    contexts = []

    def open_it(name, *, classic=False, **options):
        context = chromium.new_context(viewport={"width": 1280, "height": 1600}, **options)
        contexts.append(context)
        return open_notebook(context, lab, name, classic=classic)

    yield open_it
    for context in contexts:
        context.close()


@pytest.fixture
def artefacts():
    """Where screenshots are kept, to be looked at after a run."""
    return ARTEFACTS
