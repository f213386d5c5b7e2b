"""GraphView: what is folded and opens in place, search, portals, values, the learner's line; by hand and by key."""

import re

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from jt_edu.base.errors import ArgumentError
from jt_widgets import graph
from tests.floors.lens.test_fusion_passes import GRAPHS
from tests.widgets.page import still as at_rest

FACE = "[data-id='{}']"
FRAMES = "[...document.querySelectorAll('.jt-frame')].map(one => one.dataset.frame)"


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width)

    def execute(self, x):
        return x + self.second(self.first(x).relu())


def blocks(count=4):
    net = nn.Sequential(*[Block(6) for _ in range(count)])
    return net(jt.ones(5, 6)).sum()


def training_step():
    net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    loss = nn.cross_entropy_loss(net(jt.ones(5, 6)), jt.array([0, 1, 2, 1, 0]))
    return [loss, *jt.grad(loss, net.parameters())]


def far_readers():
    """A value that is needed far below: y is read by the last of twenty operators."""
    y = jt.array([[1.0, -2.0], [np.nan, 4.0]]).exp()
    z = y
    for _ in range(20):
        z = z.sin()
    return z + y


def boxes(page):
    """Screen rectangles of all boxes, by id."""
    return page.evaluate("""() => Object.fromEntries([...document.querySelectorAll(".jt-face")].map(one => {
        const {x, y, width, height} = one.getBoundingClientRect();
        return [one.dataset.id, [x, y, width, height]];
    }))""")


def sees(window, box):
    """Whether the window shows the whole width of the box, as far as it has room."""
    left, right = box["x"] - window["x"], window["x"] + window["width"] - box["x"] - box["width"]
    return left >= 0 and (right >= 0 or left == pytest.approx(20, abs=3))


def focused(page):
    return page.evaluate("document.activeElement.dataset.id ?? null")


def still(**more):
    """Options of a page on which nothing travels."""
    return {"reduced_motion": "reduce", **more}


# without a browser


def test_it_computes_the_values_when_it_is_asked_to():
    a = jt.array([1.0, 2.0])
    answer = (a * 3).sum()
    view = graph(answer, run=False)
    assert view.recording.page["values"] == {}

    reply = view.answer({"do": "values"})

    assert reply == {"values": 3}
    assert view.recording.page["values"][str(view.recording.page["graph"]["outputs"][0])]["max"] == 9.0
    assert "answer" in [node["name"] for node in view.recording.page["graph"]["nodes"]]


def test_it_computes_the_values_of_what_was_computed_and_has_no_history_any_more():
    a = jt.array([1.0, 2.0]).stop_grad()
    answer = (a * 3).sum()
    view = graph(answer, run=False)
    summary = view.summary
    answer.item()

    reply = view.answer({"do": "values"})

    assert reply == {"values": 3}
    assert view.summary == summary


def test_it_answers_nothing_else():
    with pytest.raises(ArgumentError, match="paint"):
        graph(jt.array([1.0]) + 1).answer({"do": "paint"})


def test_an_unknown_way_to_fold_is_refused():
    with pytest.raises(ArgumentError, match="'layer'"):
        graph(jt.array([1.0]) + 1, group="layer")


# in a browser


def test_modules_are_folded_where_there_are_some(page_of):
    view = graph(blocks())
    page = page_of(view)

    assert len(boxes(page)) < len(view.recording.page["graph"]["nodes"]) / 2
    assert page.get_by_role("button", name="Modules").get_attribute("aria-pressed") == "true"


def test_without_modules_the_kernels_are_shown(page_of):
    page = page_of(graph((jt.array([1.0, 2.0]) * 3).sum()))

    assert page.locator(".jt-frame").count() == 1
    assert page.get_by_role("button", name="Kernels").get_attribute("aria-pressed") == "true"


def test_what_has_no_array_of_its_own_says_why(page_of):
    view = graph((jt.array([[1.0, 2.0], [3.0, 4.0]]).transpose() * 2).sum(), group="none")
    page = page_of(view, **still())

    told = {}
    for node in view.recording.page["graph"]["nodes"]:
        if node["kernel"] is not None:
            page.locator(FACE.format(node["id"])).click()
            at_rest(page)
            told[node["kind"]] = page.locator(".jt-panel dt:text-is('array') + dd").inner_text()

    assert told["reindex"] == "none of its own: it says where to read"
    assert told["elementwise"] == "none: the next operator uses the number at once"
    assert told["reindex_reduce"] == "stored"


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_a_box_opens_in_its_place_and_closes_again(page_of, motion):
    page = page_of(graph(*training_step(), group="kernel", opened=[]), reduced_motion=motion)
    page.locator(".jt-body").focus()
    page.keyboard.press("+")
    before = boxes(page)
    top = page.locator(".jt-sheet").bounding_box()["y"]
    key = next(key for key, box in before.items() if not key.isdigit() and box[1] > top + 20)  # it is in sight
    page.locator(FACE.format(key)).dispatch_event("dblclick")
    at_rest(page)

    frame = page.locator(f".jt-frame[data-frame='{key}'] > rect").bounding_box()
    window = page.locator(".jt-sheet").bounding_box()
    assert frame["y"] == pytest.approx(before[key][1], abs=3)
    assert frame["x"] == pytest.approx(before[key][0], abs=3) or sees(window, frame)
    assert sees(window, page.locator(".jt-face:focus").bounding_box())  # a box inside of the frame
    page.keyboard.press("Backspace")
    at_rest(page)
    assert boxes(page).keys() == before.keys()


def test_the_panel_says_what_python_knows_of_a_node(page_of):
    y = jt.array([[1.0, -2.0], [np.nan, 4.0]]).exp()
    view = graph(y)
    value = view.recording.page["values"][str(y.node.id)]
    page = page_of(view)

    page.locator(FACE.format(y.node.id)).hover()
    at_rest(page)

    panel = page.locator(".jt-panel").inner_text()
    assert "y = exp (2, 2)" in panel
    assert f"{value['min']:.4g}" in panel
    assert f"{value['max']:.4g}" in panel
    assert "1 NaN" in panel
    assert "float32" in panel
    assert "16 B" in panel
    assert "jt.array([[1.0, -2.0], [np.nan, 4.0]]).exp()" in panel
    assert page.locator(".jt-panel canvas").count() == 1


def test_a_value_that_was_not_computed_is_said_to_be_so(page_of):
    y = jt.array([1.0, 2.0]) * 3
    page = page_of(graph(y, run=False))

    page.locator(FACE.format(y.node.id)).hover()

    assert "not computed" in page.locator(".jt-panel").inner_text()
    assert page.get_by_role("button", name="Compute values").count() == 0  # no Python behind a page


def test_a_click_selects_the_node_and_its_kernel_in_all_views(page_of):
    y = (jt.array([1.0, 2.0]) * 3).sum()
    view = graph(y)
    page = page_of(view)
    page.evaluate("""globalThis[Symbol.for("jt_edu.bus")].addEventListener("select:", event => {
        globalThis.heard = event.detail;})""")

    page.locator(FACE.format(y.node.id)).click()

    heard = page.evaluate("globalThis.heard")
    assert heard["nodes"] == [y.node.id]
    assert heard["kernel"] == view.recording.page["kernels"][0]["key"]
    assert page.locator(".jt-on > .jt-face").get_attribute("data-id") == str(y.node.id)


def test_a_closed_box_lights_up_for_a_node_inside_of_it(page_of):
    view = graph(blocks(), opened=[])
    inside = next(node["id"] for node in view.recording.page["graph"]["nodes"] if node["module"])
    page = page_of(view)

    page.evaluate(
        """id => globalThis[Symbol.for("jt_edu.bus")].dispatchEvent(new CustomEvent("select:",
        {detail: {nodes: [id], kernel: null, line: null, time: null, rank: null, from: "other"}}))""",
        inside,
    )

    assert page.locator(".jt-on > .jt-face").count() == 1


def test_a_search_counts_walks_and_hides(page_of):
    x = jt.array([1.0, 2.0])
    a = x.exp()
    b = x.cos()
    both = a + b
    last = both.cos()
    page = page_of(graph(last.sum(), group="none"), **still())
    page.locator(".jt-body").focus()

    page.keyboard.press("/")
    page.keyboard.type("ELEMENTWISE = x.")

    assert "2 matches" in page.locator(".jt-search").inner_text()
    assert page.locator(".jt-hit").count() == 2
    assert page.locator(".jt-dim").count() == len(boxes(page)) - 2
    page.keyboard.press("Enter")
    assert "1 of 2" in page.locator(".jt-search").inner_text()
    page.get_by_role("button", name="Hide others").click()
    assert page.locator(".jt-face:visible").count() == 2
    page.locator(".jt-search input").focus()
    page.keyboard.press("Escape")
    assert page.locator(".jt-hit, .jt-dim, .jt-gone").count() == 0


def test_a_search_finds_what_is_inside_of_closed_boxes(page_of):
    page = page_of(graph(blocks(), opened=[]), **still())
    page.locator(".jt-body").focus()

    page.keyboard.press("/")
    page.keyboard.type("relu")

    assert "4 matches" in page.locator(".jt-search").inner_text()
    assert page.locator(".jt-hit").count() >= 1
    for k in range(1, 5):
        page.keyboard.press("Enter")
        assert f"{k} of 4" in page.locator(".jt-search").inner_text()
        assert page.locator(".jt-panel").inner_text().startswith("relu "), "the boxes that hold it are open"
    assert {"m:Sequential", "m:Sequential/3"} <= set(page.evaluate(FRAMES))


def test_arrows_follow_the_edges(page_of):
    x = jt.array([1.0, 2.0])
    y = x.sin()
    z = y.sum()
    page = page_of(graph(z, group="none"), **still())
    page.locator(".jt-body").focus()

    walked = []
    for key in ["Home", "ArrowDown", "ArrowDown", "ArrowUp", "End"]:
        page.keyboard.press(key)
        walked.append(focused(page))

    assert walked == [str(v.node.id) for v in (x, y, z, y, z)]


def test_boxes_are_no_tab_stops_since_arrows_lead_from_one_to_the_next(page_of):
    page = page_of(graph(blocks()))
    page.locator(".jt-body").focus()

    assert page.locator(".jt-body [data-box='card']").count() > 1
    assert page.locator(".jt-body [tabindex='0']").count() == 0


def test_a_portal_leads_to_the_other_end_and_back_and_shows_the_way(page_of):
    z = far_readers()
    page = page_of(graph(z, group="none"), **still())
    card = ".jt-card:has([data-id='{}']) .jt-k-portal"
    chip = page.locator(card.format(z.node.id))

    chip.dispatch_event("pointerover")
    assert page.locator(".jt-ghost").get_attribute("d").startswith("M")
    chip.dispatch_event("click")

    y = focused(page)
    assert y in {str(node.id) for node in z.node.inputs}
    page.locator(card.format(y)).dispatch_event("click")
    assert focused(page) == str(z.node.id)


def test_a_drag_moves_the_sheet_and_leaves_clicks_alone(page_of):
    page = page_of(graph(blocks()), **still())
    before = boxes(page)
    box = page.locator(".jt-sheet").bounding_box()
    x, y = box["x"] + 8, box["y"] + box["height"] - 40

    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 30, y - 20, steps=4)
    page.mouse.up()

    for key, (left, top, *_) in boxes(page).items():
        assert (left, top) == pytest.approx((before[key][0] + 30, before[key][1] - 20), abs=0.6)


def test_the_wheel_is_left_to_the_page_until_it_is_meant_for_the_sheet(page_of):
    page = page_of(graph(blocks()), **still())
    zoom = "document.querySelector('.jt-sheet svg > g').getAttribute('transform')"
    page.locator(".jt-sheet").hover()
    page.evaluate("() => { window.turns = 0; addEventListener('wheel', () => { window.turns += 1; }); }")
    before = page.evaluate(zoom)

    page.mouse.wheel(0, 100)
    page.wait_for_function("() => window.turns === 1")
    at_rest(page)
    assert page.evaluate(zoom) == before
    page.keyboard.down("Control")
    page.mouse.wheel(0, -100)
    page.wait_for_function("() => window.turns === 2")
    page.keyboard.up("Control")
    at_rest(page)
    assert page.evaluate(zoom) != before


@pytest.mark.parametrize("factor", [1.0, 0.8, 0.6, 0.4, 0.3])
def test_no_text_is_too_small_at_any_zoom(page_of, geometry, factor):
    page = page_of(graph(*training_step(), group="kernel"), **still(viewport={"width": 1600, "height": 900}))
    page.locator(".jt-body").focus()
    while page.evaluate("document.querySelector('.jt-sheet svg > g').getScreenCTM().a") > factor + 0.001:
        page.keyboard.press("-")

    assert geometry(page) == []


def test_open_all_and_close_all_show_boxes_among_kernels(page_of):
    view = graph(*training_step(), group="kernel")
    page = page_of(view, **still())
    page.locator(".jt-body").focus()
    window = page.locator(".jt-sheet").bounding_box()

    def shown():
        return [box for box in boxes(page).values() if box[0] > window["x"] and box[0] < window["x"] + window["width"]]

    first = len(boxes(page))
    page.keyboard.press("c")
    closed = len(boxes(page))
    page.keyboard.press("o")

    assert closed < first == len(boxes(page))
    assert len(shown()) > 5


def test_words_are_whole_after_a_fit(page_of):
    page = page_of(graph(*training_step(), group="kernel"), **still(viewport={"width": 1100, "height": 860}))

    page.get_by_role("button", name="Fit").click()

    assert page.evaluate("document.querySelector('.jt-sheet svg > g').getScreenCTM().a") < 0.59
    page.get_by_role("button", name="Fit").click()
    assert page.evaluate("document.querySelector('.jt-sheet svg > g').getScreenCTM().a") == pytest.approx(
        0.6, abs=0.001
    )
    assert all(page.locator(".jt-frame .h").all_text_contents())
    assert "permute_broadcast_broadcast_multiply" not in page.locator(".jt-face .v").all_text_contents()
    assert "broadcast" in page.locator(".jt-face .v").all_text_contents()


def test_a_search_does_not_look_at_the_names_of_kernels(page_of):
    x = jt.array([1.0, 2.0])
    y = x.exp().cos()
    page = page_of(graph(y, group="none"), **still())
    page.locator(".jt-body").focus()

    page.keyboard.press("/")
    page.keyboard.type("exp_cos")

    assert "0 matches" in page.locator(".jt-search").inner_text()
    assert page.locator(".jt-dim, .jt-gone, .jt-quiet").count() == 0  # nothing was found: nothing steps back
    assert not page.get_by_role("button", name="Hide others").is_visible()


def test_every_button_has_a_key_in_its_title_or_is_in_the_panel(page_of):
    page = page_of(graph(blocks()), **still())

    for button in page.locator(".jt-view button:not(.jt-panel button)").all():
        assert re.search(r"\(\S+\)$", button.get_attribute("title")), button.inner_text()


def test_the_panel_is_walked_by_key(page_of):
    page = page_of(graph(*training_step(), group="none"), **still())
    page.locator(".jt-body").focus()
    page.keyboard.press("End")
    here = focused(page)

    page.keyboard.press("e")
    assert page.evaluate("document.activeElement.closest('.jt-panel') !== null")
    page.keyboard.press("Escape")
    at_rest(page)

    assert focused(page) == here


def test_a_line_of_the_learner_is_said_to_be_one_of_the_cell(page_of):
    view = graph((jt.array([1.0, 2.0]) * 3).sum())
    for node in view.recording.page["graph"]["nodes"]:
        node["where"] = "cell:7: y = a * 3"
    view.show_again(view.recording)
    page = page_of(view, **still())
    page.locator(".jt-face").first.click()

    assert "line 7 of the cell" in page.locator(".jt-panel").inner_text()
    assert "cell:7" not in page.locator(".jt-panel").inner_text()


def test_what_is_too_large_to_draw_is_refused_with_the_numbers(page_of):
    x = jt.array([1.0, 2.0])
    for _ in range(1600):
        x = x.sin()
    page = page_of(graph(x, run=False), **still())
    page.locator(".jt-body").focus()
    shown = []
    while shown[-2:-1] != shown[-1:] or not shown:
        page.keyboard.press("o")
        shown.append(len(boxes(page)))

    assert len(shown) > 2, "as many boxes as have room are opened, then no more"
    said = page.locator(".jt-body").inner_text()
    assert f"1,500 elements is the most. Showing {shown[-1]} boxes for 1,601 nodes." in said


def test_of_a_long_graph_without_boxes_the_beginning_is_shown(page_of):
    x = jt.array([1.0, 2.0])
    for _ in range(1600):
        x = x.sin()

    page = page_of(graph(x, run=False, group="none"), **still())

    assert len(boxes(page)) == 500
    assert "Showing 500 of 1,601 boxes, inputs first." in page.locator(".jt-body").inner_text()


def test_the_address_brings_the_same_boxes_back(page_of):
    view = graph(blocks())
    page = page_of(view, **still())
    page.locator(".jt-body").focus()
    page.keyboard.press("g")
    before = boxes(page).keys()
    at_rest(page)  # the address is written a moment later

    again = page_of(view, hash=page.evaluate("location.hash.slice(1)"), **still())

    assert boxes(again).keys() == before


@pytest.mark.parametrize("build", GRAPHS)
def test_nothing_overlaps_and_words_fit_on_twenty_graphs(page_of, geometry, build):
    page = page_of(graph(*build(), run=False, shapes=True), **still(viewport={"width": 1400, "height": 900}))

    for _ in range(3):
        page.evaluate("document.querySelector('.jt-sheet svg > g').getBoundingClientRect()")
        page.locator(".jt-bar button", has_text="Fit").click()
        assert geometry(page) == []
        page.locator(".jt-body").focus()
        page.keyboard.press("g")


def test_shapes_stand_on_the_lines_when_they_are_asked_for(page_of):
    y = jt.array([[1.0, 2.0]]).exp()
    page = page_of(graph(y.sum(), group="none"), **still())
    labels = page.locator(".jt-sheet text.m")
    before = labels.all_text_contents()
    page.locator(".jt-body").focus()

    page.keyboard.press("s")

    assert before == []
    assert "(1, 2) float32 · 8 B" in labels.all_text_contents()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("group", ["module", "kernel", "none"])
def test_it_can_be_read_by_everyone(page_of, axe, geometry, scheme, group):
    page = page_of(graph(*training_step(), group=group), **still(color_scheme=scheme))

    assert geometry(page) == []
    assert axe(page) == []


def test_the_table_has_a_row_for_each_node(page_of):
    view = graph(*training_step())
    page = page_of(view)
    page.locator(".jt-body").focus()

    page.keyboard.press("t")

    assert page.locator(".jt-table tbody tr").count() == len(view.recording.page["graph"]["nodes"])


def test_a_graph_that_goes_on_below_says_so_and_fit_shows_all(page_of):
    page = page_of(graph(*training_step(), group="none"), **still(viewport={"width": 1100, "height": 760}))
    more = lambda: page.locator(".jt-sheet").get_attribute("data-more")  # noqa: E731
    assert "↓" in more()
    assert page.locator(".jt-map").is_visible()

    page.get_by_role("button", name="Fit").click()

    assert more() is None
    assert not page.locator(".jt-map").is_visible()
    page.get_by_role("button", name="+", exact=True).click()
    page.get_by_role("button", name="+", exact=True).click()
    assert "↓" in more()
    assert "↑" in more()


@pytest.mark.parametrize("high", [600, 720, 900])
def test_a_graph_of_28_nodes_opens_as_a_whole_in_a_short_window_too_and_its_names_are_legible(page_of, high):
    x = jt.array([1.0, 2.0])
    for _ in range(7):
        x = x.exp().sum() * x
    page = page_of(graph(x, group="none", run=False), **still(viewport={"width": 1100, "height": high}))

    assert page.locator(".jt-sheet").get_attribute("data-more") is None
    assert set(page.locator(".jt-face .v").all_text_contents()) >= {"exp", "sum", "multiply"}
    assert page.evaluate("document.querySelector('.jt-sheet svg > g').getScreenCTM().a") >= 0.3


def test_the_legend_says_what_each_outline_means_and_a_line_looks_unlike_a_module(page_of):
    page = page_of(graph(blocks()), **still())

    words = page.locator(".jt-kinds li").all_inner_texts()
    shapes = page.locator(".jt-kinds svg").evaluate_all("all => all.map(one => one.innerHTML)")

    assert all(len(each.split()) > 2 for each in words), words
    assert len(set(shapes)) == len(shapes)


def test_the_legend_colors_its_dtype_as_a_graph_does(page_of):
    page = page_of(graph(jt.ones(3).float16() * 2, run=False), **still())

    fills = page.locator(".jt-d-float16").evaluate_all("all => all.map(one => getComputedStyle(one).fill)")

    assert len(fills) > 1
    assert len(set(fills)) == 1
    assert fills[0] != "rgb(0, 0, 0)"
