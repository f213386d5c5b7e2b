"""Nothing is cut: in a cell a view is as high as what it shows, and no part of one scrolls inside of another."""

import numpy as np
import pytest

import jt_edu as jt
import jt_widgets as see
from jt_edu import nn
from jt_edu.mpi.simulator.threads import run_ranks
from jt_widgets.ranks import ranks
from tests.widgets.live import finish
from tests.widgets.page import still

BARS = """() => {
    const bars = [...document.querySelectorAll(".jt-view, .jt-view *")].filter(one => one.checkVisibility() &&
        one.scrollHeight > one.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(one).overflowY));
    const root = document.documentElement;
    const page = document.body.matches(".jt-page") && root.scrollHeight > root.clientHeight + 1;
    return bars.map(one => [one.className, page || bars.some(other => other !== one && other.contains(one))]);
}"""


def network():
    """The loss of a small network of images, with more than twelve kernels."""
    net = nn.Sequential(
        nn.Conv(1, 4, 3),
        nn.BatchNorm(4),
        nn.ReLU(),
        nn.Pool(2),
        nn.Conv(4, 4, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16, 3),
    )
    return jt.cross_entropy_loss(net(jt.randn(2, 1, 10, 10)), jt.array([0, 2]))


def reduced():
    def work(comm):
        comm.compute(5000 * comm.rank)
        comm.Allreduce(np.ones(500, np.float32), np.empty(500, np.float32), algorithm="ring")

    return ranks(run_ranks(4, work).record)


def trained():
    net = nn.Sequential(*(nn.Linear(2, 2) for _ in range(20)))
    optimizer = jt.optim.SGD(net.parameters(), lr=0.1)
    panel = see.train_panel(net, optimizer, lambda net, x: (net(x) ** 2).mean(), [(jt.ones(3, 2),)])
    finish(panel.train(steps=2))
    return panel


VIEWS = {
    "ranks": reduced,
    "train": trained,
    "explore": lambda: see.explore(network(), run=False),
    "kernel": lambda: see.kernel(network(), run=False),
    "tape": lambda: see.tape(network(), run=False),
    "fusion": lambda: see.fusion(network()),
    "memory": lambda: see.memory(jt.ones((8, 8)).exp().sum()),
    "roofline": lambda: see.roofline(jt.ones((8, 8)).exp().sum()),
    "loops": lambda: see.step_kernel(jt.ones((4, 8)).exp().sum(1)),
}
BOUNDED = {"explore": "jt-kernel-pane", "kernel": "jt-kernel-list", "tape": "jt-body"}  # what scrolls in a cell


@pytest.fixture(autouse=True)
def plain_python():
    with jt.flag_scope(backend="python"):
        yield


@pytest.mark.parametrize("wide", [900, 1400])
@pytest.mark.parametrize("name", VIEWS)
def test_no_scroller_is_inside_of_a_scroller_and_in_a_cell_little_scrolls(page_of, live, name, wide):
    view = VIEWS[name]()
    look = {"viewport": {"width": wide, "height": 900}, "reduced_motion": "reduce"}

    page, cell = page_of(view, **look), live(view, **look)
    still(cell)

    assert [one for one, nested in page.evaluate(BARS) if nested] == []
    bars = cell.evaluate(BARS)
    assert [one for one, nested in bars if nested] == []
    assert {one.split()[-1] for one, _ in bars} <= {BOUNDED.get(name), "jt-body" if name == "explore" else None}
