"""Click: how long does it take from a click in a view until what Python answered is drawn?

    click ──to Python──> busy ──in Python──> answer ──back──> page ──drawn──> next frame

Real JupyterLab, real Chromium, real clicks, one after the other; the kernel does nothing else, but for the last row.
The time of a click is the one that the browser gives the event, and it is over with the frame that shows the answer.
The kernel dates its messages, which tells where the time went.

    python -m tests.bench click [--quick] [--only NAME] [--out FOLDER]
"""

import re
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import nbformat

from tests.bench import machine, report

CLICKS, FEW = 40, 3  # of a row; of a quick run
GOAL = 150  # ms, for the median
PAUSE = 250  # ms between two clicks: a person is no quicker
WIDTHS = (46, 8, 11, 10, 10, 6, 6, 9, 7)
HEADS = ("click", "median", "quartiles", "to Python", "in Python", "back", "drawn", "goal", "")
FACTS = ("processor", "cores", "system", "Python")

CELLS = [
    """import numpy as np
import jt_edu as jt
import jt_widgets as see
from jt_edu import nn, optim

jt.set_global_seed(0)
x = jt.array(np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32))
y = jt.array(np.random.default_rng(1).integers(0, 10, 64))
net = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
deep = nn.Sequential(nn.Linear(64, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 16), nn.SiLU(), nn.Linear(16, 10))
loss, deeper = (nn.cross_entropy_loss(each(x), y) for each in (net, deep))
optimizer = optim.Adam(net.parameters())""",
    "graph = see.graph(loss, run=False)\nbare = graph.recording\ngraph",
    "see.kernel(deeper, *jt.grad(deeper, deep.parameters()))",
    "see.tape(loss)",
    """panel = see.train_panel(net, optimizer, lambda net, x, y: nn.cross_entropy_loss(net(x), y), [(x, y)])
for _ in range(20):
    panel.step()
panel""",
]
GRAPH, KERNELS, TAPE, TRAIN = range(4)
VIEWS = ".jp-OutputArea-output .jt-view"
READY = """count => {
    const views = [...document.querySelectorAll(".jp-OutputArea-output .jt-view")];
    return views.length === count && views.every(view => !view.hasAttribute("aria-busy"));
}"""
RUN = """code => { window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.requestExecute({code}); }"""

# `told` says what a view has answered, and nothing while it waits. Messages of the kernel are dated when they are made.
WATCH = """([place, told]) => {
    const view = document.querySelectorAll(".jp-OutputArea-output .jt-view")[place];
    const tell = eval(told), before = tell(view), found = window.clicked = {messages: []};
    const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
    const hear = (_, {msg, direction}) => {
        if (direction !== "recv") return;
        const what = msg.content.execution_state ?? msg.header.msg_type;
        found.messages.push([what, Date.parse(msg.header.date), Date.now()]);
    };
    kernel.anyMessage.connect(hear);
    addEventListener("click", event => {
        Object.assign(found, {at: event.timeStamp, date: Date.now() - performance.now() + event.timeStamp});
    }, {capture: true, once: true});
    const look = () => {
        if (found.at === undefined || !tell(view) || tell(view) === before) return requestAnimationFrame(look);
        kernel.anyMessage.disconnect(hear);
        Object.assign(found, {took: performance.now() - found.at, drawn: Date.now()});
    };
    requestAnimationFrame(look);
}"""
TOOK = "() => window.clicked.took !== undefined && window.clicked"


@dataclass(frozen=True)
class Question:
    """What is clicked, the k-th time, and how the view shows the answer."""

    name: str
    place: int  # of the view in the notebook
    target: Callable  # (view, k) -> what to click
    told: str
    before: Callable = lambda page, view: None
    goal: int | None = GOAL
    most: int = CLICKS


@dataclass(frozen=True)
class Times:
    """One click, in ms: all of it, and its four parts."""

    took: float
    parts: tuple[float, float, float, float]


def _named(name):
    return lambda view, _: view.get_by_role("button", name=re.compile(name))


def _leaf(view, k):
    """Each gradient in turn."""
    choice = view.get_by_label("which gradient is checked")
    choice.select_option(index=k % choice.locator("option").count())
    return view.get_by_role("button", name="Check")


def _forget_values(page, view):
    page.evaluate(RUN, "graph.show_again(bare)")
    view.get_by_role("button", name="Compute values").wait_for()


def _close_tape(page, view):
    if view.get_by_role("button", name="Close").is_visible():
        view.get_by_role("button", name="Close").click()


def _show_assembly(page, view):
    """Of the first kernel; those of the others are asked for."""
    tab = view.get_by_role("tab", name="Assembly")
    if tab.get_attribute("aria-selected") == "false":
        tab.click()
        view.locator(".jt-kernel-pane .jt-row").first.wait_for()


def _clear_check(page, view):
    view.locator(".jt-tape-answer").evaluate("answer => answer.replaceChildren()")


def _train(page, view):
    """A cell that trains meanwhile, and does not end."""
    if "not running" in view.locator(".jt-plot-bar").inner_text():
        page.evaluate(RUN, "await panel.train(steps=100_000_000)")
        page.wait_for_timeout(2000)


CHECKED = """view => {
    const words = view.querySelector(".jt-tape-answer").textContent;
    return words.includes("finite") ? words : "";
}"""
STEP = """view => view.querySelector(".jt-plot-bar").innerText.match(/step [\\d,]+/)?.[0]"""
VALUES = """view => {
    const asks = [...view.querySelectorAll("button")].some(one => one.innerText === "Compute values");
    return asks ? "" : "computed";
}"""
OPENED = """view => view.querySelector(".jt-plot-inner .jt-tape") ? "open" : "" """
MACHINE = """view => {
    const lines = view.querySelector(".jt-kernel-pane .jt-row");
    return lines && view.querySelector(".jt-kernel-item.jt-now").innerText;
}"""
PAUSED = """view => [...view.querySelectorAll("button")].find(one => /Pause|Go on/.test(one.innerText)).innerText"""

QUESTIONS = (
    Question("graph: compute the values", GRAPH, _named("Compute values"), VALUES, _forget_values),
    Question("tape: check a gradient", TAPE, _leaf, CHECKED, _clear_check),
    Question("training: one batch", TRAIN, _named("Step one batch"), STEP),
    Question("training: open a step as a tape", TRAIN, _named("Open it as a tape"), OPENED, _close_tape),
    Question(
        "kernels: assembly, each kernel for the first time", KERNELS,
        lambda view, k: view.locator(".jt-kernel-item").nth(k + 1), MACHINE, _show_assembly, goal=None, most=11,
    ),
    Question("training: pause and go on, while a cell trains", TRAIN, _named("Pause|Go on"), PAUSED, _train),
)  # fmt: skip


def bench(only: Sequence[str], out: Path | None, *, quick: bool) -> int:
    """Measure the questions, print a line for each, and write the page's part if all of them were asked in full."""
    wanted = [one for one in QUESTIONS if not only or any(name in one.name for name in only)]
    rows, loads = [], [machine.load()]
    print(_line(HEADS), flush=True)
    with _notebook() as page:
        for question in wanted:
            times = [_click(page, question, k) for k in range(FEW if quick else question.most + 1)]
            rows.append(_cells(question, times[1:]))  # the first click warms up
            print(_line(rows[-1]), flush=True)
    loads.append(machine.load())
    print(f"\nload {loads}")
    if out:
        _write(out, rows, loads)
    return 0


@contextmanager
def _notebook() -> Iterator:
    """The page of a notebook whose cells have run, and whose views are drawn."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  it may be absent, and then nothing else ends

    from tests.browser.page import open_notebook  # noqa: PLC0415
    from tests.browser.server import jupyterlab  # noqa: PLC0415
    from tests.chromium import FLAGS, program  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="jt_edu-click-") as folder, sync_playwright() as driver:
        notebooks = Path(folder) / "notebooks"
        notebooks.mkdir()
        cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS]
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
        nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), notebooks / "click.ipynb")
        browser = driver.chromium.launch(executable_path=program(), headless=True, args=FLAGS)
        with jupyterlab(notebooks, Path(folder)) as lab:
            opened = open_notebook(browser.new_context(viewport={"width": 1280, "height": 1600}), lab, "click.ipynb")
            opened.run_all()
            opened.page.wait_for_function(READY, arg=len(CELLS) - 1)
            yield opened.page
            browser.close()


def _click(page, question: Question, k: int) -> Times:
    view = page.locator(VIEWS).nth(question.place)
    question.before(page, view)
    target = question.target(view, k)
    target.hover()  # and scrolled to, before the clock runs
    page.wait_for_timeout(PAUSE)
    page.evaluate(WATCH, [question.place, question.told])
    target.click()
    return _times(page.wait_for_function(TOOK).json_value())


def _times(found: dict) -> Times:
    """The parts of a click, from the dates of the first message that says busy, and of the last one that answers."""
    begun = next((made for what, made, _ in found["messages"] if what == "busy"), found["date"])
    made, came = next(
        ((made, came) for what, made, came in reversed(found["messages"]) if what == "comm_msg"), (begun, begun)
    )
    parts = (begun - found["date"], made - begun, came - made, found["drawn"] - came)
    return Times(found["took"], parts)


def _cells(question: Question, times: Sequence[Times]) -> list[str]:
    took = [one.took for one in times]
    low, middle, high = statistics.quantiles(took, n=4, method="inclusive")
    parts = [f"{statistics.median(part):.0f}" for part in zip(*(one.parts for one in times), strict=True)]
    goal = "" if question.goal is None else f"≤ {question.goal} ms"
    verdict = "" if question.goal is None else "met" if middle <= question.goal else "missed"
    return [f"{question.name}", f"{middle:.0f} ms", f"{low:.0f} … {high:.0f}", *parts, goal, verdict]


def _line(texts: Sequence[str]) -> str:
    first, *rest = (text.rjust(width) for text, width in zip(texts, WIDTHS, strict=True))
    return "  ".join([first.strip().ljust(WIDTHS[0]), *rest]).rstrip()


SECTION = """<!-- click -->
## click

How long it takes from a click in a view, in JupyterLab, until the answer of Python is drawn.

{table}

* **median**, **quartiles**: of {clicks} real clicks, from the time that the browser gives the event to the frame that
  shows the answer. A first click, which warms up, does not count.
* **to Python**, **in Python**, **back**, **drawn**: medians in ms, by the dates of the kernel's messages.
* The kernel does nothing else, but in the last row. To show assembly a kernel is compiled once more: that is numba's
  time, has no goal, and is spent once for each of {kernels} kernels; meanwhile the view says so.
* A trial of an edited kernel takes seconds, in a process of its own, and is not measured here.

### The machine: click

{machine}

{load}
<!-- end of click -->
"""


def _write(folder: Path, rows: Sequence[Sequence[str]], loads: Sequence[float | None]) -> None:
    page = folder / "performance.md"
    folder.mkdir(parents=True, exist_ok=True)
    facts = machine.describe()
    text = SECTION.format(
        table=report.table([HEADS, [":--", *["--:"] * 6, ":--", ":--"], *rows]), clicks=CLICKS,
        kernels=min(one.most for one in QUESTIONS),
        machine="\n".join(f"* {name}: {facts[name]}" for name in FACTS), load=report.load_of(loads),
    )  # fmt: skip
    page.write_text(report.page(page.read_text("utf-8") if page.exists() else "", "click", text), "utf-8")
    print(f"written: {page}")
