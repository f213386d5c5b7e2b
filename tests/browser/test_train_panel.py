"""Training in an async cell of JupyterLab: clicks are answered meanwhile, and after an interrupt it can go on."""

import re
import time

import nbformat

from tests.browser.page import expect

MAKE = """import jt_edu as jt, numpy as np
from jt_edu import nn
from jt_widgets.train import train_panel
net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 10))
x, y = jt.array(np.random.rand(64, 32).astype("f4")), jt.array(np.random.randint(0, 10, 64))
optimizer = jt.optim.Adam(net.parameters())
def loss(net, x, y):
    with open("begun", "a") as file:
        file.write(".")
    return nn.cross_entropy_loss(net(x), y)
panel = train_panel(net, optimizer, loss, [(x, y)])"""
CELLS = [MAKE, "panel", "await panel.train(steps=1_000_000)"]
RUN = "() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }"
PANEL = ".jp-OutputArea-output .jt-view"


def test_clicks_are_answered_while_a_cell_trains(open_page, lab, record_property):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(notebook, lab.folder / "notebooks" / "training.ipynb")
    begun = lambda: (lab.folder / "notebooks" / "begun").stat().st_size  # noqa: E731
    opened = open_page("training.ipynb")
    panel, said = opened.page.locator(PANEL), len(opened.complaints)
    step = panel.get_by_role("button", name="Step one batch")

    opened.page.evaluate(RUN)
    opened.until(lambda: step_of(panel) >= 5, "five steps")
    begin = time.monotonic()
    panel.get_by_role("button", name="Pause").click()
    panel.get_by_role("button", name="Go on").wait_for()
    record_property("train", f"a click was answered in {(time.monotonic() - begin) * 1e3:.0f} ms while a cell trained")

    opened.until(lambda: step_of(panel) == begun(), "the step under way has ended, and is shown")
    stood = begun()
    step.click()
    opened.until(lambda: step_of(panel) == begun() > stood, "a step")
    assert step_of(panel) == stood + 1

    panel.get_by_role("button", name="Go on").click()
    opened.until(lambda: step_of(panel) > stood + 5, "some more steps")
    opened.execute("notebook:interrupt-kernel")
    expect(panel.locator(".jt-plot-bar")).to_contain_text("stopped")
    stood = step_of(panel)
    told = opened.page.locator(".jp-Cell", has_text="await panel.train").locator(".jp-OutputArea-output")
    expect(told.last).to_have_text(f"Stopped at step {stood} of 1000000; train(...) goes on.")  # below a bar, if any
    assert "Traceback" not in " ".join(told.all_inner_texts())
    step.click()
    opened.until(lambda: step_of(panel) > stood, "a step")
    assert step_of(panel) == stood + 1
    assert opened.complaints[said:] == []
    assert opened.strangers == []


def step_of(panel):
    """The number of steps that the panel shows; -1 before it is drawn."""
    words = panel.locator(".jt-plot-bar").inner_text() if panel.locator(".jt-plot-bar").count() else ""
    found = re.search(r"step ([\d,]+) of", words)
    return int(found[1].replace(",", "")) if found else -1
