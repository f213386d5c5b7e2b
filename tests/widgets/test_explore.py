"""Explore: three panes of one computation, each with keys and a table of its own; a selection shows in all of them."""

import numpy as np
import pytest

import jt_edu as jt
from jt_widgets.explore import explore

PANE = ".jt-explore-pane-{} .jt-body"
ON = ".jt-explore-pane-{} .jt-on"


@pytest.fixture
def view():
    w = jt.array([1.0, 2.0])
    loss = ((w * 3).exp() + w).sum()
    return explore(loss)


@pytest.fixture
def page(page_of, view):
    return page_of(view, reduced_motion="reduce")


def test_three_panes_stand_on_one_page(page):
    titles = page.locator(".jt-explore-pane-title").all_inner_texts()

    assert titles == ["Op graph", "Kernels", "Forward and backward"]


def test_without_gradients_there_is_no_tape(page_of):
    page = page_of(explore(jt.array([1, 2]) * 3))

    assert page.locator(".jt-explore-pane-title").all_inner_texts() == ["Op graph", "Kernels"]


def test_a_box_of_the_graph_lights_up_in_the_other_panes(page, view):
    node = next(n for n in view.recording.page["graph"]["nodes"] if n["op"] == "exp")

    page.locator(PANE.format("graph")).focus()
    page.keyboard.press("g")  # operators
    page.locator(f".jt-explore-pane-graph [data-id='{node['id']}']").click()

    assert page.locator(ON.format("graph")).count() == 1
    assert page.locator(ON.format("kernel")).count() > 0
    assert page.locator(ON.format("tape")).count() > 0


def test_the_help_card_has_the_keys_of_every_pane(page):
    page.locator(PANE.format("graph")).focus()

    page.keyboard.press("?")

    card = page.locator(".jt-help").inner_text()
    for words in ("Op graph", "inputs above, users below", "Kernels", "Forward and backward", "the same as a table"):
        assert words in card
    page.keyboard.press("Escape")
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
