"""Tab reaches every control, each has a name and shows that it has the focus; a page hears the keys of its one view."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.mpi.simulator.threads import run_ranks
from jt_widgets import explore, fusion, graph, kernel, memory, ranks, roofline, tape
from jt_widgets.loops import step_kernel
from jt_widgets.train import train_panel
from tests.widgets.page import still

# Marks of pictures (cards, cells, arrays) are no controls of the frame: arrows lead from one to the next.
CONTROLS = """() => {
    const all = document.querySelectorAll(".jt-view :is(button, select, input, textarea, a[href])");
    return [...all].filter(one => one.checkVisibility({checkVisibilityCSS: true}) && !one.disabled && !one.matches(
        ".jt-tape-cell, .jt-tape-group, .jt-memory-array")).map(one => (one.dataset.here = "") || one).length;
}"""
FOCUSED = """() => {
    const one = document.activeElement, style = getComputedStyle(one);
    const name = one.getAttribute("aria-label") ?? one.innerText.trim();
    const seen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
    const [known, again] = [one.dataset.here !== undefined, one.dataset.been !== undefined];
    one.dataset.been = "";
    return [one === document.body, known && !again, name, seen];
}"""


def panel():
    net, batch = jt.nn.Linear(3, 2), (jt.ones(4, 3), jt.zeros(4, 2))
    optimizer = jt.optim.SGD(net.parameters(), lr=0.1)
    made = train_panel(net, optimizer, lambda net, x, y: ((net(x) - y) ** 2).mean(), [batch])
    made.step()
    return made


def loss():
    w = jt.array(np.ones((4, 3), np.float32))
    return ((jt.ones(5, 4) @ w).tanh() ** 2).mean()


VIEWS = {
    "kernel": lambda: kernel(loss()),
    "loops": lambda: step_kernel(loss()),
    "tape": lambda: tape(loss()),
    "memory": lambda: memory(loss()),
    "roofline": lambda: roofline(loss()),
    "train": panel,
    "ranks": lambda: ranks(run_ranks(2, lambda comm: comm.allreduce(1)).record),
    "graph": lambda: graph(loss()),
    "fusion": lambda: fusion(loss()),
    "explore": lambda: explore(loss()),
}


@pytest.mark.browser
@pytest.mark.parametrize("name", VIEWS)
def test_tab_reaches_every_control_which_has_a_name_and_shows_the_focus(page_of, name):
    page = page_of(VIEWS[name](), reduced_motion="reduce")
    wanted, reached = page.evaluate(CONTROLS), 0

    for _ in range(wanted + 12):
        page.keyboard.press("Tab")
        outside, new, words, seen = page.evaluate(FOCUSED)
        reached += new
        assert outside or (words and seen), (words, seen)

    assert wanted >= 2
    assert reached == wanted


STEPS = {"loops": "ArrowRight", "tape": "ArrowRight", "memory": "ArrowRight", "train": "Home", "ranks": "ArrowRight"}


@pytest.mark.browser
@pytest.mark.parametrize("name", STEPS)
def test_on_a_page_the_keys_of_its_view_work_before_anything_was_clicked(page_of, name):
    page = page_of(VIEWS[name](), reduced_motion="reduce")
    assert page.evaluate("document.activeElement === document.body")
    before = page.locator(".jt-body").inner_text(), page.url

    page.keyboard.press(STEPS[name])
    still(page)
    other = "([text, url]) => document.querySelector('.jt-body').innerText !== text || location.href !== url"
    page.wait_for_function(other, arg=list(before))


@pytest.mark.browser
def test_a_key_on_a_button_or_a_slider_is_for_that_one(page_of):
    page = page_of(tape(loss()), reduced_motion="reduce")
    words = page.locator(".jt-tape-words")

    page.get_by_role("button", name="Step").focus()
    page.keyboard.press("Space")  # elsewhere it plays
    still(page)
    first = words.inner_text()
    page.get_by_role("slider", name="step").focus()
    page.keyboard.press("ArrowRight")
    still(page)

    assert page.get_by_role("button", name="Play").count() == 1
    assert words.inner_text() != first
