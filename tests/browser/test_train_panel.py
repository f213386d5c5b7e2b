"""Training in an async cell of JupyterLab: clicks are answered meanwhile, and after an interrupt it can go on."""

import re
import time

import nbformat

MAKE = """import jt_edu as jt, numpy as np
from jt_edu import nn
from jt_widgets.train import train_panel
net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10))
x, y = jt.array(np.random.rand(64, 32).astype("f4")), jt.array(np.random.randint(0, 10, 64))
optimizer = jt.optim.Adam(net.parameters())
panel = train_panel(net, optimizer, lambda net, x, y: nn.cross_entropy_loss(net(x), y), [(x, y)])"""
CELLS = [MAKE, "panel", "await panel.train(steps=1_000_000)"]
RUN = "() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }"
PANEL = ".jp-OutputArea-output .jt-view"
SECONDS = 5  # for a click to be answered, on a machine that is busy


def test_clicks_are_answered_while_a_cell_trains(open_page, lab, record_property):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(notebook, lab.folder / "notebooks" / "training.ipynb")
    opened = open_page("training.ipynb")
    page, panel = opened.page, opened.page.locator(PANEL)
    said = len(opened.complaints)

    page.evaluate(RUN)
    wait(page, lambda: step_of(panel) >= 5, 60)
    begin = time.monotonic()
    panel.get_by_role("button", name="Pause").click()
    panel.get_by_role("button", name="Go on").wait_for(timeout=SECONDS * 1000)
    record_property("train", f"a click was answered in {(time.monotonic() - begin) * 1e3:.0f} ms while a cell trained")

    stood = settled(page, panel)
    panel.get_by_role("button", name="Step one batch").click()
    wait(page, lambda: step_of(panel) == stood + 1, SECONDS)
    page.wait_for_timeout(300)
    assert step_of(panel) == stood + 1

    panel.get_by_role("button", name="Go on").click()
    wait(page, lambda: step_of(panel) > stood + 5, SECONDS)
    opened.execute("notebook:interrupt-kernel")
    wait(page, lambda: "not running" in panel.locator(".jt-plot-bar").inner_text(), 20)
    stood = settled(page, panel)
    panel.get_by_role("button", name="Step one batch").click()
    wait(page, lambda: step_of(panel) == stood + 1, SECONDS)
    assert opened.complaints[said:] == []
    assert opened.strangers == []


def step_of(panel):
    """The number of steps that the panel shows; -1 before it is drawn."""
    words = panel.locator(".jt-plot-bar").inner_text() if panel.locator(".jt-plot-bar").count() else ""
    found = re.search(r"step ([\d,]+) of", words)
    return int(found[1].replace(",", "")) if found else -1


def settled(page, panel):
    """The number of steps, once it has stopped to change."""
    page.wait_for_timeout(300)
    stood = step_of(panel)
    page.wait_for_timeout(500)
    assert step_of(panel) == stood
    return stood


def wait(page, true, seconds):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        page.wait_for_timeout(50)
