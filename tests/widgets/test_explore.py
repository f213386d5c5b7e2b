"""Explore: three panes of one computation, each with keys and a table of its own; a selection shows in all of them.

The graph is on the left; kernels and tape share the right side, so that what a click lights up is in sight.
"""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from jt_widgets.explore import explore
from tests.widgets.page import still

PANE = ".jt-explore-pane-{} .jt-body"
ON = ".jt-explore-pane-{} .jt-on"
TITLES = ".jt-explore-pane > .jt-name"
BARS = """() => [...document.querySelectorAll(".jt-view, .jt-view *")].filter((one) =>
    one.checkVisibility() && one.scrollHeight > one.clientHeight + 1 &&
    /auto|scroll/.test(getComputedStyle(one).overflowY)).map((one) => one.className)"""


@pytest.fixture
def view():
    w = jt.array([1.0, 2.0])
    loss = ((w * 3).exp() + w).sum()
    return explore(loss)


@pytest.fixture
def page(page_of, view):
    return page_of(view, reduced_motion="reduce")


def titles(page):
    return page.locator(TITLES).all_text_contents()


def test_three_panes_stand_on_one_page(page):
    assert titles(page) == ["Op graph", "Kernels", "Forward and backward"]


def test_without_gradients_there_is_no_tape(page_of):
    page = page_of(explore(jt.array([1, 2]) * 3))

    assert titles(page) == ["Op graph", "Kernels"]


# what was asked for, and what it costs


def test_it_begins_with_the_loss_and_the_lines_that_asked_for_it(page):
    assert page.locator(".jt-explore-answer").inner_text().startswith("loss = ")
    line = page.locator(".jt-explore-line")
    assert "loss = ((w * 3).exp() + w).sum()" in line.inner_text()
    assert line.locator("code .jt-m").inner_text() == "3"  # in the colours of an editor
    assert "operators, 1 kernel" in line.inner_text()
    above = line.bounding_box()
    assert all(above["y"] + above["height"] <= box["y"] for box in boxes(page) if box)

    line.click()
    still(page)
    for pane in ("graph", "kernel", "tape"):
        assert page.locator(ON.format(pane)).count() > 0


def test_of_many_lines_the_costly_ones_are_shown_and_a_button_shows_all(page_of):
    x = jt.ones((512, 512))
    y = x + 1
    y = y * 2
    y = y - 3
    y = (y @ x).exp()
    y = (y @ x).tanh()
    y = (y @ x).relu()
    page = page_of(explore(y.sum()))
    lines = page.locator(".jt-explore-line:visible")

    few = lines.all_inner_texts()
    page.get_by_role("button", name="All 7 lines").click()

    assert len(few) <= 4
    assert sum("@" in text for text in few) == 3
    assert lines.count() > 4


def test_of_lines_that_cost_the_same_the_first_are_shown(page_of):
    y = jt.ones((64, 64))
    y = y + 1
    y = y * 2
    y = y - 3
    y = y.exp()
    y = y.tanh()
    page = page_of(explore(y))

    assert page.locator(".jt-explore-line:visible").count() == 4


def test_inputs_alone_are_no_line_of_the_model(view):
    assert [one["text"] for one in view.recording.page["asked"]] == ["loss = ((w * 3).exp() + w).sum()"]


@pytest.fixture
def costs():
    """A small kernel that runs first, and a large one."""
    small, large = jt.ones((2, 2)), jt.ones((300, 300))
    return explore(small.cumsum(0).sum() + (large @ large).sum(), run=False)


def test_kernels_come_costliest_first_and_keys_follow_that_order(page_of, costs):
    page = page_of(costs, viewport={"width": 1000, "height": 800})
    told = costs.recording.page["kernels"]
    price = {one["id"]: max(one["bytes"], one["flops"] / 4) for one in told}
    shown = page.locator(".jt-kernel-choice option").all_inner_texts()

    order = [int(words.split()[0]) for words in shown]
    assert order == sorted(price, key=lambda one: (-price[one], one))
    assert order != sorted(order)
    choice = page.locator(".jt-kernel-choice")
    assert choice.input_value() == f"{order[0]}"
    assert "operations" in shown[0]
    assert "not run" not in "".join(shown)

    page.locator(".jt-kernel-pane").focus()
    page.keyboard.press("]")
    assert choice.input_value() == f"{order[1]}"


def test_what_outlines_mean_is_there_when_it_is_asked_for_and_takes_no_room_before(page):
    meanings, sheet = page.locator(".jt-kinds"), page.locator(".jt-explore .jt-sheet")
    before = sheet.bounding_box()
    assert not meanings.is_visible()

    page.get_by_role("button", name="Legend").click()
    assert meanings.is_visible()
    assert sheet.bounding_box() == before
    page.locator(PANE.format("graph")).focus()
    page.keyboard.press("Escape")
    assert not meanings.is_visible()
    page.keyboard.press("l")
    assert meanings.is_visible()


def boxes(page):
    return [page.locator(PANE.format(name)).bounding_box() for name in ("graph", "kernel", "tape")]


@pytest.fixture
def cell(live, view):
    """A function: the view in a cell of a notebook, that many pixels wide, in a window of 1280 x 900."""

    def drawn(wide, shown=view):
        page = live(shown, viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
        page.add_style_tag(content=f"main {{ width: {wide}px }} body {{ min-height: 3000px }}")
        still(page)
        return page

    return drawn


@pytest.mark.parametrize("wide", [830, 960])
def test_in_a_cell_of_a_usual_window_the_kernels_stand_beside_the_graph_and_all_of_it_is_in_sight(cell, wide):
    page = cell(wide)

    graph, kernel, tape = boxes(page)
    assert graph["x"] + graph["width"] <= kernel["x"]
    assert abs(graph["y"] - kernel["y"]) < 60  # below the tabs
    assert tape is None  # behind its tab
    bottom = max(box["y"] + box["height"] for box in (graph, kernel))
    assert bottom - page.locator(".jt-view").bounding_box()["y"] < 860

    page.get_by_role("tab", name="Forward and backward").click()
    still(page)
    graph, kernel, tape = boxes(page)
    assert kernel is None
    assert graph["x"] + graph["width"] <= tape["x"]


def test_a_key_brings_the_tape_in_front_and_is_a_letter_where_one_writes(page):
    page.locator(PANE.format("graph")).focus()

    page.keyboard.press("p")
    still(page)
    assert page.locator(PANE.format("tape")).is_visible()
    assert page.evaluate("document.activeElement.closest('.jt-explore-pane-tape') !== null")
    page.keyboard.press("p")
    still(page)
    assert page.locator(PANE.format("kernel")).is_visible()

    page.get_by_role("searchbox").fill("")
    page.get_by_role("searchbox").type("p")
    assert page.get_by_role("searchbox").input_value() == "p"
    assert page.locator(PANE.format("kernel")).is_visible()


def test_in_a_wide_window_all_three_stand_beside_each_other(page_of, view):
    page = page_of(view, viewport={"width": 1700, "height": 900})

    graph, kernel, tape = boxes(page)

    assert graph["x"] + graph["width"] <= kernel["x"] <= kernel["x"] + kernel["width"] <= tape["x"]


def test_in_a_narrow_cell_nothing_is_beside_anything_and_the_page_scrolls(cell):
    page = cell(600)

    graph, kernel, _ = boxes(page)

    assert graph["y"] + graph["height"] <= kernel["y"]
    assert kernel["width"] > 500


@pytest.fixture
def shared():
    """Two modules that share a Linear layer, and have another one of the same name each."""

    class Two(nn.Module):
        def __init__(self):
            layer = nn.Linear(8, 8)
            self.one = nn.Sequential(layer, nn.ReLU(), nn.Linear(8, 8))
            self.two = nn.Sequential(layer, nn.ReLU(), nn.Linear(8, 4))

        def execute(self, x):
            return self.two(self.one(x))

    return explore((Two()(jt.ones((4, 8))) ** 2).sum())


def test_no_more_than_one_scroll_bar_is_in_sight(cell, shared):
    page = cell(830, shared)

    for tab in ("Kernels", "Forward and backward"):
        page.get_by_role("tab", name=tab).click()
        still(page)
        assert len(page.evaluate(BARS)) <= 1, page.evaluate(BARS)


def test_what_scrolls_can_be_scrolled_by_keys(page_of, shared, axe):
    page = page_of(shared, viewport={"width": 1000, "height": 800}, reduced_motion="reduce")

    for tab in ("Kernels", "Forward and backward"):
        page.get_by_role("tab", name=tab).click()
        assert axe(page) == []


@pytest.mark.parametrize("wide", [700, 1000])
def test_a_long_name_stays_in_its_cell_and_as_much_of_it_as_the_page_has_is_in_a_title(page_of, geometry, wide):
    x = jt.array([1.0, 2.0, 3.0])
    x.name = "N" * 130
    page = page_of(explore((x * x).sum()), reduced_motion="reduce", viewport={"width": wide, "height": 800})

    page.get_by_role("tab", name="Forward and backward").click()
    still(page)  # rows get their height when they are in sight

    assert geometry(page) == []
    cell = page.locator(".jt-tape-backward[title*='NNN']").last
    assert "N" * 39 in cell.get_attribute("title")
    assert cell.evaluate("one => one.parentElement.scrollWidth <= one.parentElement.clientWidth + 1")


def test_a_box_of_the_graph_lights_up_in_the_other_panes(page, view):
    node = next(n for n in view.recording.page["graph"]["nodes"] if n["op"] == "exp")

    page.locator(PANE.format("graph")).focus()
    page.keyboard.press("g")  # operators
    page.locator(f".jt-explore-pane-graph [data-id='{node['id']}']").click()
    still(page)

    assert page.locator(ON.format("graph")).count() == 1
    assert page.locator(ON.format("kernel")).count() > 0
    assert page.locator(ON.format("tape")).count() > 0
    lit = page.locator(ON.format("kernel")).first
    row, pane = lit.bounding_box(), page.locator(PANE.format("kernel")).bounding_box()
    assert pane["y"] <= row["y"] < pane["y"] + pane["height"]  # in sight, without scrolling


def test_the_help_card_has_the_keys_of_every_pane(page):
    page.locator(PANE.format("graph")).focus()

    page.keyboard.press("?")

    card = page.locator(".jt-help").inner_text()
    for words in ("Op graph", "inputs above, users below", "Kernels", "Forward and backward", "the same as a table"):
        assert words in card
    page.keyboard.press("Escape")
    still(page)
    assert page.evaluate("document.activeElement.closest('.jt-explore-pane-graph') !== null")


@pytest.mark.parametrize("way", ["key", "button"])
@pytest.mark.parametrize(("name", "title"), [("graph", "Op graph"), ("kernel", "Kernels")])
def test_the_table_is_that_of_the_pane_that_had_the_focus(page, way, name, title):
    page.locator(PANE.format(name)).focus()

    if way == "key":
        page.keyboard.press("t")
    else:
        page.get_by_role("button", name="Table").click()

    assert page.locator("caption").inner_text() == f"{title} as a table"


def test_anyone_can_use_it(page_of, view, axe, geometry):
    for scheme in ("light", "dark"):
        page = page_of(view, color_scheme=scheme, reduced_motion="reduce")
        assert axe(page) == []
        assert geometry(page) == []


def test_a_complex_scalar_is_shown_without_a_tape_and_says_why():
    x = jt.array(np.array([1 + 2j, 3j], "complex64"))
    x.requires_grad = True

    page = explore((x * 2).sum()).recording.page

    assert "tape" not in page
    assert "There is no tape: a gradient starts from a real number. Try: loss.abs()." in page["notes"]
