"""The system's Chromium, driven by Playwright: one for all tests of a worker."""

import shutil

import pytest

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
    if program() is None:
        pytest.skip(f"no Chromium on this machine: none of {', '.join(PROGRAMS)} is on PATH")
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: python3 lab.py test")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program(), headless=True, args=FLAGS)
        yield browser
        browser.close()


def program():
    """Where the system's Chromium is, or None."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)
