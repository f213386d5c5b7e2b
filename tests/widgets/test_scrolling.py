"""Nothing is cut: all is inside of its view, a view in a cell is as high as what it shows, and no part of one scrolls
inside of another.
"""

import numpy as np
import pytest

import jt_edu as jt
import jt_widgets as see
from jt_edu import nn
from jt_edu.mpi.simulator.threads import run_ranks
from jt_widgets.ranks import ranks
from tests.widgets.live import finish
from tests.widgets.page import still

pytestmark = pytest.mark.usefixtures("python_backend")

BARS = """() => {
    const bars = [...document.querySelectorAll(".jt-view, .jt-view *")].filter(one => one.checkVisibility() &&
        one.scrollHeight > one.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(one).overflowY));
    const root = document.documentElement;
    const page = document.body.matches(".jt-page") && root.scrollHeight > root.clientHeight + 1;
    return bars.map(one => [one.className, page || bars.some(other => other !== one && other.contains(one))]);
}"""

# What hides a part of what it holds, unless it ends in "…" and its title says the whole; what reaches beyond the view;
# what leaves its picture. A sheet is a window over a graph, which says where there is more.
CUT = """() => {
    const found = new Set(), root = document.documentElement;
    const say = (one, words) => found.add(`${one.tagName} ${one.getAttribute("class")} ${words}: ${one.textContent}`);
    if (root.scrollWidth > root.clientWidth) say(root, "is wider than the window");
    for (const view of document.querySelectorAll(".jt-view")) for (const one of view.querySelectorAll("*")) {
        if (!one.checkVisibility({checkVisibilityCSS: true, checkOpacity: true}) || one.closest(".jt-say")) continue;
        const style = getComputedStyle(one), box = one.getBoundingClientRect();
        const hides = one instanceof HTMLElement && one.clientWidth && /hidden|clip/.test(style.overflow);
        const more = one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1;
        const dots = style.textOverflow === "ellipsis" || style.webkitLineClamp !== "none";
        if (hides && more && !(dots && one.closest("[title]"))) say(one, "is cut");
        let holder = one.parentElement;
        while (holder !== view && getComputedStyle(holder).overflowX === "visible") holder = holder.parentElement;
        if (holder === view && box.right > view.getBoundingClientRect().right + 1) say(one, "reaches beyond the view");
        const picture = one.matches("text") && one.textContent && !one.closest(".jt-sheet") && one.closest("svg");
        const {left, right, top, bottom} = picture ? picture.getBoundingClientRect() : box;
        if (box.left < left - 1 || box.right > right + 1 || box.top < top - 1 || box.bottom > bottom + 1)
            say(one, "leaves its picture");
    }
    return [...found];
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
    "graph": lambda: see.graph(network(), run=False),
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


@pytest.mark.parametrize("wide", [900, 1400])
@pytest.mark.parametrize("name", VIEWS)
def test_nothing_is_cut_no_scroller_is_inside_of_a_scroller_and_in_a_cell_little_scrolls(page_of, live, name, wide):
    view = VIEWS[name]()
    look = {"viewport": {"width": wide, "height": 900}, "reduced_motion": "reduce"}

    page, cell = page_of(view, **look), live(view, **look)
    still(cell)

    assert page.evaluate(CUT) == cell.evaluate(CUT) == []
    assert [one for one, nested in page.evaluate(BARS) if nested] == []
    bars = cell.evaluate(BARS)
    assert [one for one, nested in bars if nested] == []
    assert {one.split()[-1] for one, _ in bars} <= {BOUNDED.get(name), "jt-body" if name == "explore" else None}


@pytest.mark.parametrize("wide", [900, 1400])
@pytest.mark.parametrize("name", ["explore", "kernel"])
def test_nothing_is_cut_behind_any_tab_nor_in_the_editor_nor_in_the_table(page_of, live, name, wide):
    look = {"viewport": {"width": wide, "height": 900}, "reduced_motion": "reduce"}
    page, cell = page_of(VIEWS[name](), **look), live(see.kernel(network()), **look)

    tabs = page.get_by_role("tab")
    for k in reversed(range(tabs.count())):  # the first ones hide the others
        tabs.nth(k).click()
        still(page)
        assert page.evaluate(CUT) == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Table").click()
    assert page.evaluate(CUT) == []
    cell.get_by_role("button", name="Edit").click()
    still(cell)
    assert cell.evaluate(CUT) == []


@pytest.mark.parametrize("name", ["ranks", "roofline"])
def test_in_a_narrow_window_no_line_of_a_legend_parts_a_picture_from_its_words(page_of, name):
    page = page_of(VIEWS[name](), viewport={"width": 390, "height": 900}, reduced_motion="reduce")

    beside = page.locator(".jt-plot-legend").first.evaluate(
        """legend => [...legend.querySelectorAll("svg, canvas, em")].map(picture => {
            const words = document.createRange(), {top, bottom} = picture.getBoundingClientRect();
            words.selectNode(picture.nextSibling);
            const {top: above, bottom: below} = words.getClientRects()[0];
            return Math.max(top, above) < Math.min(bottom, below);
        })"""
    )

    assert len(beside) >= 2
    assert all(beside)


def test_panels_of_the_ranks_share_all_of_a_wide_window(page_of):
    page = page_of(reduced(), viewport={"width": 1400, "height": 900}, reduced_motion="reduce")

    panels = page.locator(".jt-ranks-panels").first
    left, right = panels.bounding_box(), panels.locator("> *").last.bounding_box()
    assert left["x"] + left["width"] - (right["x"] + right["width"]) < 20
