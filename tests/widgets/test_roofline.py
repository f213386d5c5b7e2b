"""Roofline: every number is the trace's or the machine's; what has no place is said; the page moves and is usable."""

import json
import math
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.draw import charts
from jt_edu.draw.chart import axis, captions, figure, letters, scale, ticks
from jt_edu.lens import roofline as roofline_of
from jt_widgets.roofline import roofline
from tests.floors import machines
from tests.frontend import FOLDER
from tests.widgets.page import still
from tests.widgets.records import changed, html_of

GOLDEN = json.loads((FOLDER / "golden" / "charts" / "axes.json").read_text(encoding="utf-8"))
DOT = ".jt-plot-dot[data-key]"
BUS = "globalThis[Symbol.for('jt_edu.bus')]"


@pytest.fixture(autouse=True)
def made_up(monkeypatch):
    """Round roofs, and a kernel call that takes no time."""
    monkeypatch.setattr(roofline_of, "machine", machines.made)
    monkeypatch.setattr(roofline_of, "empty_call", lambda: 0.0)
    monkeypatch.setattr(roofline_of, "BUDGET", 0.0)


@pytest.fixture
def wanted():
    """A matrix product, and a chain behind it."""
    rng = np.random.default_rng(0)
    x, w = (jt.array(rng.random(shape, np.float32)) for shape in ((64, 32), (32, 48)))
    return jt.relu(x @ w) * 2 + 1


def section_of(view):
    return view.recording.page["roofline"]


# charts


@pytest.mark.parametrize("case", GOLDEN["axes"], ids=lambda case: f"{case['kind']} {case['values']}")
def test_axes_are_those_of_the_browser(case):
    made = axis(case["kind"], case["values"])

    assert [made.start, made.end] == case["range"]
    assert {most: ticks(made, int(most)) for most in case["ticks"]} == case["ticks"]
    place = scale(made, 40.0, 640.0)
    spots = [place(v) for v in case["values"] if v is not None and (case["kind"] == "linear" or v > 0)]
    np.testing.assert_allclose(spots, case["places"], atol=1e-6)


def test_numbers_and_captions_are_those_of_the_browser():
    for number, words, short in GOLDEN["words"]:
        assert (figure(number), letters(number)) == (words, short)
    found = captions([tuple(mark) for mark in GOLDEN["captions"]["marks"]], tuple(GOLDEN["captions"]["box"]))
    assert [None if place is None else list(place) for place in found] == GOLDEN["captions"]["places"]


# numbers


def test_the_numbers_of_a_kernel_are_those_of_the_trace():
    x = jt.array(np.ones((50, 40), np.float32))
    with jt.trace() as t:
        (x * 2 + 1).sync()

    (kernel,) = section_of(roofline(t))["ways"]["fused"]

    (ran,) = t.kernels
    assert (kernel["ms"], kernel["bytes"], kernel["flops"]) == (ran.milliseconds, ran.bytes, ran.flops)
    assert kernel["nodes"] == list(ran.nodes)
    assert kernel["intensity"] == ran.flops / ran.bytes == 4000 / 16000
    assert math.isclose(kernel["speed"], ran.flops / (ran.milliseconds / 1e3))


def test_fused_kernels_are_those_of_the_explanation_and_unfused_ones_are_more(wanted):
    ways = section_of(roofline(wanted))["ways"]

    e = jt.explain(wanted)
    assert [(k["name"], k["bytes"], k["flops"]) for k in ways["fused"]] == [
        (k.name, k.bytes, k.flops) for k in e.kernels
    ]
    assert len(ways["unfused"]) > len(ways["fused"])
    assert sum(k["bytes"] for k in ways["unfused"]) > sum(k["bytes"] for k in ways["fused"])
    assert jt.flags.fuse


def test_a_kernel_that_ran_again_and_again_is_one_dot_at_its_best_time():
    x = jt.array(np.ones(1000, np.float32))
    with jt.trace() as t:
        for _ in range(5):
            (x * 2).sync()

    (kernel,) = section_of(roofline(t))["ways"]["fused"]

    assert kernel["times"] == 5
    assert kernel["ms"] == min(k.milliseconds for k in t.kernels)


def test_each_way_has_a_sentence_of_its_own(wanted):
    section = section_of(roofline(wanted))

    for way, kernels in section["ways"].items():
        assert section["summaries"][way].startswith(f"{len(kernels)} kernel")


def test_a_graph_that_would_need_too_much_memory_is_not_run_without_fusion(wanted, monkeypatch):
    monkeypatch.setattr(roofline_of, "LARGE", 1000)

    view = roofline(wanted)

    assert section_of(view)["ways"]["unfused"] is None
    assert "it was not run" in " ".join(view.recording.page["notes"])


def test_a_busy_machine_is_said(wanted, monkeypatch):
    monkeypatch.setattr(roofline_of, "machine", lambda: machines.made(disturbed=True))

    assert "roofs are lower bounds" in " ".join(roofline(wanted).recording.page["notes"])


def test_nothing_that_ran_is_an_error():
    with jt.trace() as t:
        pass
    with pytest.raises(jt.ArgumentError, match="none that ran"):
        roofline(t)
    with pytest.raises(jt.ArgumentError, match="int"):
        roofline(3)


def test_the_vars_stay_as_lazy_as_they_were(wanted):
    y = jt.ones(30) * 3

    roofline(y)

    assert y.node.pending


def test_the_picture_has_a_dot_for_each_kernel_and_both_roofs(wanted):
    view = roofline(wanted)
    svg = ET.fromstring(view.picture_svg())  # noqa: S314  it is ours

    words = "".join(svg.itertext())
    assert "memory 10 GB/s" in words
    assert "peak 100 Gflop/s" in words
    for kernel in section_of(view)["ways"]["fused"]:
        assert f"{kernel['name']}, {kernel['sentence']}" in words


def test_the_largest_dot_lies_inside_the_frame_and_has_its_name_beside_it():
    """A long kernel far below both roofs, with a name that is as long as any: it stood on the lower axis."""
    times = {"name": "multiply_exp_divide", "ms": 30.0, "bytes": 10_000_000, "flops": 610_000}
    kernel = {**times, "times": 1, **roofline_of.judged(times, machines.made(), call=0.001)}
    section = {"machine": machines.made().as_dict(), "ways": {"fused": [kernel], "unfused": None}}

    x, y = charts.roofline_axes(section)
    svg = ET.fromstring(charts.roofline("one kernel", section))  # noqa: S314  it is ours

    bottom = scale(y, 360 - 40, 26)
    assert bottom(kernel["speed"]) + charts.LARGE < 360 - 40
    assert x.start < kernel["intensity"] < x.end
    assert kernel["name"] in [text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")]


def test_advice_about_threads_is_given_where_there_are_several():
    slow = {"ms": 1.0, "bytes": 100_000, "flops": 10_000}

    said = [roofline_of.judged(slow, machines.made(threads=n), call=0.001)["sentence"] for n in (1, 2)]

    assert ["one thread" in words for words in said] == [False, True]


def test_the_text_names_each_kernel_and_its_verdict(wanted):
    view = roofline(wanted)

    assert view.summary in repr(view)
    assert all(kernel["sentence"] in repr(view) for kernel in section_of(view)["ways"]["fused"])


# pages


def test_the_page_shows_the_numbers_of_the_document(page_of, wanted):
    view = roofline(wanted)
    page = page_of(view)
    kernels = sorted(section_of(view)["ways"]["fused"], key=lambda k: -k["ms"])

    page.locator(".jt-body").focus()
    told = []
    for _ in kernels:
        page.keyboard.press("ArrowDown")
        told.append(page.locator(".jt-plot-detail").inner_text())

    for words, kernel in zip(told, kernels, strict=True):
        assert words.startswith(f"{kernel['name']} {kernel['sentence']}")
        assert f"{kernel['flops']:,} operations" in words
    page.keyboard.press("t")
    rows = [row.locator("td").all_inner_texts() for row in page.locator(".jt-table tbody tr").all()]
    assert [(r[0], r[3], r[4], r[-1]) for r in rows] == [
        (k["name"], f"{k['bytes']:,}", f"{k['flops']:,}", k["sentence"]) for k in section_of(view)["ways"]["fused"]
    ]


def test_a_dot_stands_where_its_numbers_say(page_of, wanted):
    """Read back from the picture: the roofs' corner is at (10 flop/byte, 100 Gflop/s)."""
    view = roofline(wanted)
    page = page_of(view)
    found = page.evaluate(
        """() => {
            const corners = document.querySelector(".jt-plot-roof").getAttribute("d").match(/[\\d.]+ [\\d.]+/g);
            const dots = [...document.querySelectorAll(".jt-plot-dot[data-key]")].map(dot =>
                [dot.dataset.name, ...dot.getAttribute("d").match(/^M([\\d.]+) ([\\d.]+)/).slice(1).map(Number)]);
            return [corners.map(pair => pair.split(" ").map(Number)), dots];
        }"""
    )
    (_, (ridge_x, ridge_y), _), dots = found
    ticks = {t.text_content(): t.bounding_box() for t in page.locator(".jt-plot-tick").all()}
    middle = {words: box["x"] + box["width"] / 2 for words, box in ticks.items()}
    decade = abs(middle["10"] - middle["1"])
    kernels = {k["name"]: k for k in section_of(view)["ways"]["fused"]}

    for name, x, y in dots:
        across, up = math.log10(kernels[name]["intensity"] / 10), math.log10(kernels[name]["speed"] / 1e11)
        assert abs(x - ridge_x - across * decade) < 3
        assert y > ridge_y - 1 or up > 0
        assert (y - ridge_y) * up <= 1  # lower on the screen is slower


@pytest.mark.parametrize("motion", ["reduce", "no-preference"])
def test_the_switch_shows_each_operator_alone_and_comes_back(page_of, wanted, motion):
    view = roofline(wanted)
    ways = section_of(view)["ways"]
    page = page_of(view, reduced_motion=motion)
    assert page.locator(DOT).count() == sum(k["has_place"] for k in ways["fused"])

    page.get_by_role("button", name="Each operator alone").click()
    if motion == "reduce":
        assert page.locator(".jt-plot-caption").count() > 0  # no journey: names are there at once
    still(page)
    assert page.locator(".jt-plot-caption").count() > 0
    assert page.locator(DOT).count() == sum(k["has_place"] for k in ways["unfused"])

    page.locator(".jt-body").focus()
    page.keyboard.press("u")
    still(page)
    assert page.locator(".jt-plot-caption").count() > 0
    assert page.locator(DOT).count() == sum(k["has_place"] for k in ways["fused"])
    assert page.locator("[aria-pressed=true]").inner_text() == "Fused"


def test_a_click_selects_the_kernel_and_a_selection_lights_its_dot(page_of, wanted):
    view = roofline(wanted)
    page = page_of(view)
    first = max(section_of(view)["ways"]["fused"], key=lambda k: k["ms"])
    last = min(section_of(view)["ways"]["fused"], key=lambda k: k["ms"])
    page.evaluate(f"() => {BUS}.addEventListener('select:', event => window.chosen = event.detail)")

    page.locator(".jt-body").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.evaluate("chosen.kernel") == first["key"]
    assert page.evaluate("chosen.nodes") == first["nodes"]
    assert page.locator(f"{DOT}.jt-on").get_attribute("data-name") == first["name"]

    page.evaluate(
        f"""nodes => {BUS}.dispatchEvent(new CustomEvent("select:",
            {{detail: {{nodes, kernel: null, line: null, time: null, rank: null, from: "elsewhere"}}}}))""",
        last["nodes"][-1:],
    )
    assert page.locator(f"{DOT}.jt-on").get_attribute("data-name") == last["name"]


def test_a_pointer_that_rests_on_a_dot_does_not_take_back_what_a_key_chose(page_of, wanted):
    page = page_of(roofline(wanted), reduced_motion="reduce")
    told = page.locator(".jt-plot-detail")
    page.locator(DOT).first.hover()
    still(page)
    pointed = told.inner_text()
    page.locator(".jt-body").focus()

    page.keyboard.press("u")
    page.keyboard.press("u")  # the dots are drawn anew, one of them under the pointer
    page.mouse.wheel(0, 0)  # the browser looks what is under it
    still(page)

    assert told.inner_text() == "Point at a dot, or press ← and →."
    page.locator(DOT).last.hover()
    still(page)
    assert told.inner_text() not in (pointed, "Point at a dot, or press ← and →.")


def test_a_trace_has_no_other_way(page_of):
    with jt.trace() as t:
        (jt.ones(1000).sync() * 2).sync()
    page = page_of(roofline(t))

    assert page.get_by_role("button", name="Each operator alone").is_disabled()


def test_kernels_without_a_place_are_listed(page_of, wanted, monkeypatch):
    monkeypatch.setattr(roofline_of, "empty_call", lambda: 1e6)

    page = page_of(roofline(wanted))

    assert page.locator(DOT).count() == 0
    assert "too short to say" in page.locator(".jt-plot-left-out").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("way", ["fused", "unfused"])
def test_the_page_is_legible_and_accessible(page_of, axe, geometry, wanted, scheme, way):
    view = roofline(wanted)
    view.state = {"way": way}
    page = page_of(view, color_scheme=scheme)

    assert axe(page) == []
    assert geometry(page) == []
    assert captions_apart(page) == []


def test_captions_cover_no_dot_and_no_other_caption(page_of, wanted):
    view = roofline(wanted)
    view.state = {"way": "unfused"}

    assert captions_apart(page_of(view, viewport={"width": 520, "height": 800})) == []


def test_the_headline_is_that_of_the_way_which_is_shown(page_of, wanted):
    view = roofline(wanted)
    summaries = section_of(view)["summaries"]
    page = page_of(view)
    head, plot = page.locator(".jt-bar .jt-soft"), page.locator(".jt-plot")
    assert (head.inner_text(), plot.get_attribute("aria-label")) == ("", summaries["fused"])

    page.get_by_role("button", name="Each operator alone").click()
    still(page)

    assert (head.inner_text(), plot.get_attribute("aria-label")) == (summaries["unfused"], summaries["unfused"])
    page.get_by_role("button", name="Fused").click()
    still(page)
    assert head.inner_text() == ""


def test_of_two_dots_in_one_place_the_name_of_the_chosen_one_is_shown_first(page_of, wanted):
    def together(page):
        ways = page["roofline"]["ways"]
        one = {**ways["fused"][0], "has_place": True, "bound": "memory", "ms": 1.0, "times": 1}
        one |= {"intensity": 0.5, "speed": 1e8}  # far below the roofs
        ways["fused"] = [{**one, "key": name, "name": name} for name in ("first", "second")]

    view = roofline(wanted)
    page = page_of(html_of(changed(view.recording, together), view.recording.blocks, view="roofline"))
    page.locator(".jt-body").focus()

    named = {}
    for key, name in [("ArrowDown", "first"), ("ArrowDown", "second"), ("ArrowUp", "first")]:
        page.keyboard.press(key)
        assert page.locator(f"{DOT}.jt-plot-here").get_attribute("data-name") == name
        caption = page.locator(".jt-plot-caption").first
        named[caption.text_content()] = [caption.get_attribute(place) for place in ("x", "y", "text-anchor")]

    assert list(named) == ["first", "second"]
    assert named["first"] == named["second"]  # each has the best place while it is the chosen one


def test_a_live_view_is_drawn_as_the_page_is(live, wanted):
    assert live(roofline(wanted)).locator(DOT).count() == 2


def captions_apart(page):
    """Captions that cover one another or a dot's middle."""
    return page.evaluate(
        """() => {
            const boxes = [...document.querySelectorAll(".jt-plot-caption")].map(one => one.getBoundingClientRect());
            const dots = [...document.querySelectorAll("[data-key]")].map(one => one.getBoundingClientRect());
            const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
                Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
            return boxes.flatMap((box, k) => [...boxes.slice(k + 1), ...dots].filter(other => over(box, other)))
                .map(box => `${box.x} ${box.y}`);
        }"""
    )
