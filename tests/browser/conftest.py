"""One browser and one JupyterLab for all tests of this folder; each test gets a fresh profile."""

import os
import shutil
from pathlib import Path

import pytest

from tests.browser.page import open_notebook
from tests.browser.server import jupyterlab

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = Path(os.environ.get("JT_EDU_NOTEBOOKS", ROOT / "notebooks"))
ARTEFACTS = Path(os.environ.get("JT_EDU_ARTEFACTS", ROOT / ".pytest_cache" / "artefacts"))

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox",  # a container's superuser cannot have one; only our own pages are opened
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # whoever asks for a stranger gets no answer
]


@pytest.fixture(scope="session")
def chromium():
    """The system's Chromium, driven by Playwright."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip(f"no Chromium on this machine: none of {', '.join(PROGRAMS)} is on PATH")
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: python3 lab.py test")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, headless=True, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def lab(chromium, tmp_path_factory):
    """A running JupyterLab on a copy of the notebooks."""
    with jupyterlab(NOTEBOOKS, tmp_path_factory.mktemp("lab")) as running:
        yield running


@pytest.fixture
def open_page(chromium, lab):
    """A function: the name of a notebook -> the notebook, open and with a kernel that answers."""
    contexts = []

    def open_it(name, **options):
        context = chromium.new_context(viewport={"width": 1280, "height": 1600}, **options)
        contexts.append(context)
        return open_notebook(context, lab, name)

    yield open_it
    for context in contexts:
        context.close()


@pytest.fixture
def artefacts():
    """Where screenshots are kept, to be looked at after a run."""
    return ARTEFACTS
