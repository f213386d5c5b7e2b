"""FusionLens: the numbers of the passes, travelling between them, why an edge is fused, predicting; by hand, by key."""

import pytest

import jt_edu as jt
from jt_edu.base.errors import ArgumentError
from jt_widgets import fusion
from tests.widgets.page import frame_times, still
from tests.widgets.test_graph import training_step

CARD = ".jt-card:has([data-id='{}'])"


def softmax():
    x = jt.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    return jt.softmax(x, dim=1)


def figures(page):
    """What the counters say: the numbers in bold."""
    return page.locator(".jt-figure strong").all_inner_texts()


# without a browser


def test_the_text_says_what_every_pass_costs_and_why():
    lens = fusion(softmax())

    text = repr(lens)

    for step in lens.recording.page["passes"]:
        assert step["name"] in text
        assert step["why"] in text
    assert "subtract" in text  # and the table of the nodes


def test_nothing_runs():
    y = softmax()

    with jt.trace() as t:
        fusion(y)

    assert t.kernels == []


def test_something_other_than_a_var_is_refused():
    with pytest.raises(ArgumentError, match="int"):
        fusion(3)


# in a browser


@pytest.mark.parametrize("build", [lambda: [softmax()], training_step])
def test_the_counters_are_those_of_explain_at_the_last_pass(page_of, build):
    wanted = build()
    page = page_of(fusion(*wanted, **{"pass": 4}))
    e = jt.explain(*wanted)  # after the view has drawn the parameters, which are kernels before

    kernels, moved, _ = figures(page)
    assert kernels == str(len(e.kernels))
    number, unit = moved.split()
    assert float(number) * {"B": 1, "kB": 1000}[unit] == pytest.approx(e.bytes, rel=0.01)


def test_keys_walk_through_the_passes_and_every_node_arrives(page_of):
    page = page_of(fusion(softmax()), reduced_motion="reduce")
    page.locator(".jt-body").focus()

    seen = [figures(page)[0]]
    for _ in range(4):
        page.keyboard.press("]")
        seen.append(figures(page)[0])
    assert seen == ["6", "6", "6", "3", "1"]
    assert page.locator(".jt-frame:visible").count() == 1
    frame = page.locator(".jt-frame:visible rect").bounding_box()
    for face in page.locator(".jt-face:not(.jt-k-source)").all():
        box = face.bounding_box()
        assert frame["x"] <= box["x"]
        assert box["y"] + box["height"] <= frame["y"] + frame["height"]
    page.keyboard.press("[")
    assert figures(page)[0] == "3"


def test_nodes_travel_and_can_be_stopped_anywhere(page_of):
    page = page_of(fusion(softmax()))
    at = "() => [...document.querySelectorAll('.jt-card')].map(one => one.getAttribute('transform'))"
    slide = """t => {const slider = document.querySelector(".jt-passes input");
        slider.value = t; slider.dispatchEvent(new Event("input"));}"""

    places = []
    for point in (2, 2.5, 3):
        page.evaluate(slide, point)
        places.append(page.evaluate(at))

    assert places[0] != places[1] != places[2]
    page.evaluate(slide, 2)
    assert page.evaluate(at) == places[0]


def test_scrubbing_is_quick_with_three_hundred_boxes(page_of):
    x = jt.ones(4, 4)
    for _ in range(100):
        x = (x.sin() * jt.array([1.0, 2.0, 3.0, 4.0])).exp()
    page = page_of(fusion(x))
    assert page.locator(".jt-face").count() >= 300

    scrub = """async (from, to) => {
        const slider = document.querySelector(".jt-passes input");
        for (let k = from; k < to; k++) {
            slider.value = (k % 81) / 20;
            slider.dispatchEvent(new Event("input"));
            await new Promise(requestAnimationFrame);
        }
    }"""
    each = frame_times(page, scrub, moves=240)  # the first time, what stands still is made

    assert each < 1000 / 30, f"{each:.1f} ms of the page's thread for a step"


def test_an_edge_says_its_rule_and_its_reason(page_of):
    y = softmax()
    lens = fusion(y, **{"pass": 4})
    edge = next(e for e in lens.recording.page["graph"]["edges"] if e["rule"] == "outer loops")
    page = page_of(lens)

    page.locator(CARD.format(edge["source"])).locator(".jt-face").dispatch_event("click")

    panel = page.locator(".jt-panel").inner_text()
    assert "outer loops" in panel
    assert edge["reason"] in panel


def test_without_a_choice_the_rules_are_listed_with_how_often_they_decide(page_of):
    lens = fusion(softmax())
    edges = lens.recording.page["graph"]["edges"]

    panel = page_of(lens).locator(".jt-panel").inner_text()

    for rule in {e["rule"] for e in edges}:
        assert f"{rule} {sum(e['rule'] == rule for e in edges)} edge" in panel


def test_predicting_by_keyboard_is_scored(page_of):
    lens = fusion(softmax())
    page = page_of(lens, reduced_motion="reduce")
    page.locator(".jt-body").focus()

    page.keyboard.press("p")
    page.keyboard.press("r")

    assert page.locator(".jt-panel .jt-name:visible").inner_text() == "0 of 8 pairs right"
    assert page.locator(".jt-panel li:visible").count() == 8
    assert "outer loops" in page.locator(".jt-panel").inner_text()


def test_a_loop_around_everything_is_right_for_one_kernel(page_of):
    page = page_of(fusion(softmax()), reduced_motion="reduce", viewport={"width": 1000, "height": 1400})
    page.locator(".jt-body").focus()
    page.keyboard.press("p")
    page.evaluate("document.querySelector('.jt-sheet').style.height = '1000px'")
    still(page)
    box = page.locator(".jt-sheet").bounding_box()
    left, top, right, low = box["x"] + 5, box["y"] + 5, box["x"] + box["width"] - 20, box["y"] + box["height"] - 20

    page.mouse.move(left, top)
    page.mouse.down()
    for x, y in [(right, top), (right, low), (left, low), (left, top + 8)]:
        page.mouse.move(x, y, steps=3)
    page.mouse.up()
    assert set(page.locator(".jt-badge text").all_text_contents()) == {"A"}
    page.get_by_role("button", name="Reveal").click()

    assert page.locator(".jt-panel .jt-name:visible").inner_text() == "8 of 8 pairs right"


def test_what_is_chosen_elsewhere_is_lit_here(page_of):
    lens = fusion(softmax())
    node = lens.recording.page["graph"]["nodes"][4]["id"]
    page = page_of(lens)

    page.evaluate(
        """id => globalThis[Symbol.for("jt_edu.bus")].dispatchEvent(new CustomEvent("select:",
        {detail: {nodes: [id], kernel: null, line: null, time: null, rank: null, from: "other"}}))""",
        node,
    )

    assert page.locator(".jt-card.jt-on [data-id]").get_attribute("data-id") == str(node)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_by_everyone(page_of, axe, geometry, scheme):
    page = page_of(fusion(*training_step()), color_scheme=scheme, reduced_motion="reduce")
    for number in range(5):
        page.locator(".jt-stop").nth(number).click()
        assert geometry(page) == []
    assert axe(page) == []


def test_the_table_says_the_same(page_of):
    lens = fusion(softmax())
    page = page_of(lens)
    page.locator(".jt-body").focus()

    page.keyboard.press("t")

    rows = page.locator(".jt-table tbody tr").all_inner_texts()
    assert [row.split("\t")[1] for row in rows] == [str(step["kernels"]) for step in lens.recording.page["passes"]]


def test_a_node_of_another_page_leaves_the_rules_alone(page_of):
    page = page_of(fusion(softmax()))

    page.evaluate("""globalThis[Symbol.for("jt_edu.bus")].dispatchEvent(new CustomEvent("select:",
        {detail: {nodes: [123456], kernel: null, line: null, time: null, from: "other"}}))""")

    assert page.locator(".jt-panel").inner_text().startswith("Rules")


def test_while_predicting_the_summary_does_not_tell_the_answer(page_of):
    page = page_of(fusion(softmax()))
    page.locator(".jt-body").focus()

    page.keyboard.press("p")
    assert not page.locator(".jt-summary").is_visible()
    page.keyboard.press("Escape")

    assert page.locator(".jt-summary").is_visible()


def test_a_pass_that_changes_nothing_says_so(page_of):
    view = fusion(softmax())
    view.recording.page["passes"][1]["groups"] = view.recording.page["passes"][0]["groups"]
    view.show_again(view.recording)
    page = page_of(view, hash="pass=1")

    assert page.locator(".jt-why").inner_text().endswith("Here it changes nothing.")


def test_every_button_has_a_key_in_its_title_or_is_in_the_panel(page_of):
    page = page_of(fusion(softmax()))
    page.locator(".jt-body").focus()
    page.keyboard.press("p")

    loose = ".jt-view .jt-button:not(.jt-link)"
    titles = {one.inner_text(): one.get_attribute("title") for one in page.locator(loose).all()}
    assert [words for words, title in titles.items() if not (title or "").endswith(")")] == []


def test_the_panel_is_walked_by_key(page_of):
    page = page_of(fusion(softmax()))
    page.locator(".jt-body").focus()

    page.keyboard.press("e")

    assert "edge" in page.evaluate("document.activeElement.textContent")
    assert page.locator("[data-line].jt-on").count() > 0


INSIDE = """() => {
    const sheet = document.querySelector(".jt-sheet").getBoundingClientRect();
    const cards = [...document.querySelectorAll(".jt-flying .jt-card")].filter((card) => card.checkVisibility());
    return cards.every((card) => {
        const box = card.getBoundingClientRect();
        return box.left >= sheet.left && box.right <= sheet.right;
    });
}"""


def normalized():
    """Wide: two branches, one of them of a matrix product."""
    x, w = jt.ones((64, 32)), jt.ones((32, 16))
    normal = (x - x.mean(1, keepdims=True)) / (x.std(1, keepdims=True) + 1e-5)
    hidden = (normal @ w + 1).relu()
    return (hidden * hidden).sum(1)


@pytest.mark.parametrize("wide", [700, 860, 1300])
def test_it_opens_with_every_box_inside_from_left_to_right_and_slider_and_graph_in_sight_together(page_of, wide):
    page = page_of(fusion(normalized()), viewport={"width": wide, "height": 760}, reduced_motion="reduce")

    assert page.evaluate(INSIDE)
    assert page.evaluate("() => !/[←→]/.test(document.querySelector('.jt-sheet').dataset.more ?? '')")
    sheet, slider = page.locator(".jt-sheet").bounding_box(), page.locator(".jt-passes").bounding_box()
    assert 0 < slider["y"] < sheet["y"] + 250 < 760


def test_buttons_make_it_larger_and_smaller_and_fit_it_again(page_of):
    page = page_of(fusion(normalized()), reduced_motion="reduce")
    place = lambda: page.locator(".jt-sheet svg > g").last.get_attribute("transform")  # noqa: E731
    first = place()

    page.get_by_role("button", name="+", exact=True).click()
    page.get_by_role("button", name="+", exact=True).click()
    larger = place()
    page.get_by_role("button", name="−").click()
    assert len({first, larger, place()}) == 3
    page.get_by_role("button", name="Fit").click()  # all of it
    assert len({first, larger, place()}) == 3
    page.get_by_role("button", name="Fit").click()  # again: the width
    assert place() == first


def test_fit_shows_all_of_a_long_graph_at_every_pass_and_names_stand_over_boxes_without_words(page_of):
    x = jt.ones((4, 4))
    for _ in range(12):
        x = (x @ x).exp().sum(1, keepdims=True) + x
    page = page_of(fusion(x), viewport={"width": 1300, "height": 900}, reduced_motion="reduce")
    sheet = page.locator(".jt-sheet")
    assert sheet.get_attribute("data-more")

    page.get_by_role("button", name="Fit").click()

    assert sheet.get_attribute("data-more") is None
    assert page.evaluate("document.querySelector('.jt-sheet svg > g').getScreenCTM().a") < 0.3
    first = page.locator(".jt-names text").all_text_contents()
    page.keyboard.press("]")
    assert 0 < len(first) != len(page.locator(".jt-names text").all_text_contents()) > 0
