"""A notebook with each of the nine views, and the hands that use them."""

import nbformat

SETUP = """import numpy as np
import jt_edu as jt
import jt_widgets as see
from jt_edu import nn, optim

jt.set_global_seed(0)
rng = np.random.default_rng(0)
x, y = jt.array(rng.normal(size=(8, 6)).astype(np.float32)), jt.array(rng.integers(0, 3, 8))
net = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))
loss = nn.cross_entropy_loss(net(x), y)
gradients = jt.grad(loss, net.parameters())
other = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))
panel = see.train_panel(
    other, optim.SGD(other.parameters(), lr=0.1), lambda net, x, y: nn.cross_entropy_loss(net(x), y), [(x, y)]
)
for _ in range(6):
    panel.step()"""
VIEWS = {
    "graph": "see.graph(loss, run=False)",
    "fusion": "see.fusion(jt.softmax(x, dim=1))",
    "kernel": "see.kernel((x * 2 + 1).tanh().sum(1))",
    "loops": "see.step_kernel((x * 3).sum())",
    "tape": "see.tape(loss)",
    "memory": "see.memory(loss, *gradients)",
    "roofline": "see.roofline(jt.ones(500, 500).exp().sum(1), jt.ones(300, 900).tanh() * 2)",
    "train": "panel",
    "explore": "see.explore(loss)",
}
CELLS = [SETUP, *VIEWS.values()]
VIEW = ".jp-OutputArea-output .jt-view"
# Every view is there, and none of them is busy.
DRAWN = """count => {
    const views = [...document.querySelectorAll(".jp-OutputArea-output .jt-view")];
    return views.length === count && views.every(view => !view.hasAttribute("aria-busy"));
}"""


def write(folder):
    """The notebook, in the folder of a running JupyterLab; its name."""
    cells = [nbformat.v4.new_code_cell(cell) for cell in CELLS]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=kernel), folder / "notebooks" / "nine.ipynb")
    return "nine.ipynb"


# Where a slider is, once two frames in a row have found it there: it moves when a pointer leaves what stands above it.
PLACE = """async slider => {
    const place = () => JSON.stringify(slider.getBoundingClientRect());
    for (let was = ""; was !== place(); await new Promise(requestAnimationFrame)) was = place();
    return JSON.parse(place());
}"""


def focus(view):
    """Into the view, as a click on its title does."""
    view.locator(".jt-title").click()
    view.locator(".jt-body").first.focus()


def press(view, *keys):
    for key in keys:
        view.page.keyboard.press(key)


def drag(slider, share):
    """Pull a slider with the mouse, so far."""
    slider.hover()
    box, page = slider.evaluate(PLACE), slider.page
    low = float(slider.get_attribute("min") or 0)
    at = (float(slider.input_value()) - low) / (float(slider.get_attribute("max")) - low)
    middle, inside = box["y"] + box["height"] / 2, box["width"] - 16  # a thumb is 16 wide
    page.mouse.move(box["x"] + 8 + at * inside, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 8 + share * inside, middle, steps=6)
    page.mouse.up()


def lit(view):
    """What of it is lit; to be expected."""
    return view.locator(".jt-on")
