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
LIMIT = 120  # seconds that anything may take: a machine that stands still for a while fails no test

# A page gives up on nobody: timers of ten seconds and more wait as long as the tests do, and so does anywidget, which
# lets a model go that was not there within two seconds.
PATIENT = """(() => {
    const [wait, give] = [window.setTimeout.bind(window), AbortSignal.timeout.bind(AbortSignal)];
    window.setTimeout = (hear, ms = 0, ...given) => wait(hear, ms < 10_000 ? ms : 30 * ms, ...given);
    AbortSignal.timeout = ms => give(60 * ms);
})()"""


@pytest.fixture(scope="session")
def chromium():
    """The system's Chromium, driven by Playwright."""
    if program() is None:
        pytest.skip(f"no Chromium on this machine: none of {', '.join(PROGRAMS)} is on PATH")
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: python3 lab.py test")
    playwright.expect.set_options(timeout=1000 * LIMIT)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program(), headless=True, args=FLAGS, timeout=1000 * LIMIT)
        yield browser
        browser.close()


def program():
    """Where the system's Chromium is, or None."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)
