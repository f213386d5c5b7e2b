"""A notebook in a browser: open it, run it, read what a learner sees.

A test waits for the very state that it is about, with Playwright's `expect` or with `until`, never for a time.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tests.chromium import LIMIT, PATIENT

try:
    from playwright.sync_api import expect  # the tests beside import it from here
except ImportError:  # then these tests are skipped, and this file must still be importable
    expect = None

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from playwright.sync_api import BrowserContext, Page

    from tests.browser.server import Lab

LOCAL = {"127.0.0.1", "localhost", ""}  # "" is data: and blob:

# Run-all before the kernel answers would open a dialogue, and nothing would run.
OPEN = """async () => {
    const app = window.jupyterapp;
    await app.restored;
    const current = () => app.shell.currentWidget;
    while (!(current() && current().sessionContext && current().content.widgets)) {
        await new Promise(wake => setTimeout(wake, 50));
    }
    await current().context.ready;
    await current().sessionContext.ready;
    await current().sessionContext.session.kernel.info;
}"""
RUN_ALL = "() => window.jupyterapp.commands.execute('notebook:run-all-cells')"
# Playwright waits for a promise as long as it takes; this one gives up.
WITHIN = """seconds => Promise.race([
    (%s)(),
    new Promise((_, refuse) => setTimeout(() => refuse(new Error(`not done within ${seconds} s`)), 1000 * seconds)),
])"""
PICTURES = """() => {
    const drawn = document.querySelectorAll(".jp-OutputArea-output :is(svg, img[src^='data:image/svg+xml'])");
    return [...drawn].map(one => one.getBoundingClientRect()).filter(box => box.width * box.height > 0).length;
}"""
COMMAND = "async ([name, given]) => { await window.jupyterapp.commands.execute(name, given); }"
SCROLL = "number => window.jupyterapp.shell.currentWidget.content.scrollToItem(number)"
CELLS = "() => window.jupyterapp.shell.currentWidget.content.model.toJSON().cells"


@dataclass
class NotebookPage:
    """One notebook, open in JupyterLab or in Notebook 7.

    `strangers` are the addresses outside of this machine that were asked for, `complaints` the errors of the console,
    `sent` what was said to kernels.
    """

    page: Page
    sent: list[bytes] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def run_all(self, seconds: float = 2 * LIMIT) -> None:
        """Run every cell and wait for the last one. JupyterLab stops at an error, which `errors` then tells."""
        self.page.evaluate(WITHIN % RUN_ALL, seconds)

    def code_cells(self) -> list[dict]:
        """The code cells as nbformat has them, outputs included, empty ones left out."""
        return [cell for cell in self.page.evaluate(CELLS) if cell["cell_type"] == "code" and _text(cell["source"])]

    def not_run(self) -> list[str]:
        return [_text(cell["source"]) for cell in self.code_cells() if cell["execution_count"] is None]

    def errors(self) -> list[str]:
        every = (output for cell in self.code_cells() for output in cell["outputs"])
        return [f"{one['ename']}: {one['evalue']}" for one in every if one["output_type"] == "error"]

    def texts(self) -> list[str]:
        """Every output as text: what was printed, and the plain or HTML form of what was shown."""
        every = [output for cell in self.code_cells() for output in cell["outputs"]]
        shown = [_text(form) for one in every for name, form in one.get("data", {}).items() if name.startswith("text/")]
        return [_text(one["text"]) for one in every if "text" in one] + shown

    def pictures(self) -> int:
        """Pictures that are drawn as SVG in an output, in the page itself or as an image. Waits for the first."""
        self.page.wait_for_function(PICTURES)
        return self.page.evaluate(PICTURES)

    def until(self, true: Callable[[], object], words: str) -> None:
        """Wait until that is true, while the page goes on; `words` say what is waited for."""
        deadline = time.monotonic() + LIMIT
        while not true():
            assert time.monotonic() < deadline, f"not within {LIMIT} s: {words}"
            self.page.wait_for_timeout(50)

    def told(self, words: str) -> None:
        """Wait until a kernel was sent these words: what a view remembers goes there a moment later."""
        self.until(lambda: any(words.encode() in frame for frame in self.sent), f"a kernel is told {words}")

    def execute(self, command: str, arguments: dict | None = None) -> None:
        """Run one of JupyterLab's own commands."""
        self.page.evaluate(COMMAND, [command, arguments or {}])

    def look_at(self, number: int) -> None:
        """Scroll to a cell."""
        self.page.evaluate(SCROLL, number)

    def screenshot(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=path)


def open_notebook(context: BrowserContext, lab: Lab, name: str, *, classic: bool = False) -> NotebookPage:
    """Open notebooks/NAME, in Notebook 7 if it is `classic`, and wait until its kernel answers."""
    if not (lab.folder / "notebooks" / name).exists():
        raise FileNotFoundError(f"notebooks/{name} does not exist; a page for it would wait for ever")
    notebook = NotebookPage(context.new_page())

    def listen(address: str) -> None:
        if urlsplit(address).hostname not in LOCAL | {None}:
            notebook.strangers.append(address)

    def keep(frame: str | bytes) -> None:
        notebook.sent.append(frame.encode() if isinstance(frame, str) else frame)

    context.on("request", lambda request: listen(request.url))
    notebook.page.on("websocket", lambda socket: listen(socket.url))
    notebook.page.on("websocket", lambda socket: socket.on("framesent", keep))
    notebook.page.on("pageerror", lambda error: notebook.complaints.append(str(error)))
    notebook.page.on("console", lambda said: said.type == "error" and notebook.complaints.append(said.text))
    notebook.page.set_default_timeout(1000 * LIMIT)
    notebook.page.add_init_script(PATIENT)
    notebook.page.goto(lab.address(f"notebooks/{name}", classic=classic))
    notebook.page.wait_for_function("() => window.jupyterapp !== undefined")
    notebook.page.evaluate(WITHIN % OPEN, LIMIT)
    return notebook


def _text(lines: str | list[str]) -> str:
    return lines if isinstance(lines, str) else "".join(lines)
