"""MemoryView: lifetimes of arrays against the trace, who keeps them alive, and the view in Chromium."""

import re

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.draw.lifetimes import lifetimes_svg
from jt_edu.lens.liveness import lifetimes
from jt_widgets import memory
from tests.widgets.records import html_of

pytestmark = pytest.mark.usefixtures("python_backend")

RNG = np.random.default_rng(3)
BOXES = ".jt-memory-array"


@pytest.fixture
def step():
    """A loss and the gradients of two matrices; `hidden` is held by a variable."""
    x, t = (jt.array(RNG.normal(size=s).astype("float32")).stop_grad() for s in ((8, 3), (8, 2)))
    w, v = (jt.array(RNG.normal(size=s).astype("float32")) for s in ((3, 5), (5, 2)))
    hidden = jt.tanh(x @ w)
    hidden.name = "hidden"
    loss = ((hidden @ v - t) ** 2).mean()
    loss.name = "loss"
    return [loss, *jt.grad(loss, [w, v])], hidden


def arrays(view):
    return view.recording.page["lifetimes"]["arrays"]


def test_each_array_lives_from_its_kernel_to_its_last_reader(step):
    page = memory(*step[0]).recording.page

    made = {i: k for k, kernel in enumerate(page["kernels"]) for i in kernel["stored"]}
    for one in page["lifetimes"]["arrays"]:
        assert one["from"] == made[one["node"]]
        readers = [k for k, kernel in enumerate(page["kernels"]) if one["node"] in kernel["reads"]]
        assert one["reads"] == readers
        assert one["stays"] or one["to"] == max(readers)


def test_bytes_are_those_of_the_trace_and_the_prediction_holds(step):
    page = memory(*step[0]).recording.page
    told, moves = page["lifetimes"], page["memory"]

    assert told["peak"] == page["peak"] == page["predicted_peak"] == max(told["alive"])
    for k, alive in enumerate(told["alive"]):
        there = [one["bytes"] for one in told["arrays"] if one["from"] <= k <= one["to"]]
        assert sum(there) == alive == max(move["alive"] for move in moves if move["kernel"] == k)
    assert {(one["node"], one["bytes"]) for one in told["arrays"]} == {
        (move["node"], move["bytes"]) for move in moves if move["action"] == "allocate"
    }


def test_no_two_arrays_are_in_one_place_at_one_time(step):
    told = arrays(memory(*step[0]))

    for k, one in enumerate(told):
        for other in told[:k]:
            apart = one["to"] < other["from"] or other["to"] < one["from"]
            below = one["offset"] + one["bytes"] <= other["offset"] or other["offset"] + other["bytes"] <= one["offset"]
            assert apart or below


def test_who_keeps_an_array_alive_is_said(step):
    wanted, hidden = step
    view = memory(*wanted)
    by_node = {one["node"]: one for one in arrays(view)}

    held = by_node[hidden.node.id]
    assert held["keepers"][0]["text"] == "your variable hidden holds it"
    assert {keeper["why"] for keeper in held["keepers"]} >= {"held", "saved"}
    assert [by_node[v.node.id]["keepers"][0]["text"] for v in wanted] == ["you asked for it"] * 3
    others = [one for one in arrays(view) if one["node"] not in {hidden.node.id, *(v.node.id for v in wanted)}]
    assert all(keeper["kernel"] in one["reads"] for one in others for keeper in one["keepers"])


def test_what_only_a_gradient_reads_is_called_saved():
    x = jt.array(RNG.normal(size=(6, 4)).astype("float32"))
    y = (x @ x.transpose()).exp()
    y_node = y.node.id
    loss = (y.sum() * 2).exp()
    del y
    told = {one["node"]: one for one in arrays(memory(loss, jt.grad(loss, x)))}

    texts = [keeper["text"] for one in told.values() for keeper in one["keepers"] if keeper["why"] == "saved"]

    assert texts, told
    assert all("saved for the gradient of" in text for text in texts)
    assert y_node not in told or told[y_node]["why"] == "saved"


def test_without_fusion_the_planned_peak_is_what_such_a_run_measures(step):
    told = memory(*step[0]).recording.page["lifetimes"]

    with jt.flag_scope(fuse=False):
        run = jt.recording(*step[0])

    assert told["unfused"]["peak"] == told["unfused"]["predicted_peak"] == run.page["peak"]
    assert len(told["unfused"]["alive"]) == len(run.page["kernels"])
    assert told["unfused"]["peak"] > told["peak"]


def test_a_trace_of_several_runs_shows_one_after_the_other(step):
    with jt.trace() as t:
        step[0][0].item()
        jt.sync(step[0][1:])

    told = memory(t).recording.page["lifetimes"]

    assert told["peak"] == t.peak
    assert len(told["alive"]) == len(t.kernels)
    assert len(told["starts"]) == 2
    assert all(one["to"] < told["starts"][1] for one in told["arrays"] if one["from"] < told["starts"][1])
    assert sum(move.action == "allocate" for move in t.memory) == len(told["arrays"])


def test_a_recording_is_shown_without_being_run_again(step):
    recording = jt.recording(*step[0])

    assert memory(recording).recording.page["memory"] is recording.page["memory"]


def test_nothing_that_ran_gives_an_empty_picture(page_of):
    with jt.trace() as t:
        pass
    view = memory(t)

    page = page_of(view)

    assert view.summary.startswith("No array was made")
    assert page.locator(BOXES).count() == 0


@pytest.mark.parametrize("what", [(), (3,), (None, jt.ones(2))])
def test_what_has_no_memory_is_refused(what):
    with pytest.raises(jt.ArgumentError, match="memory takes a trace, a recording, or Vars"):
        memory(*what)


def test_an_array_that_nobody_reads_is_given_back_at_once():
    moves = [("allocate", 1, 8, 8, 0), ("free", 1, 8, 0, 0)]
    told = [dict(zip(("action", "node", "bytes", "alive", "kernel"), move, strict=True)) for move in moves]

    found = lifetimes(told, [{"name": "k", "nodes": [1], "stored": [1], "reads": []}], {}, set())

    assert found["arrays"][0]["why"] == "unread"
    assert (found["alive"], found["peak"]) == ([8], 8)


def test_the_text_form_has_a_line_for_each_array(step):
    view = memory(*step[0])

    assert len(repr(view).splitlines()) == 2 + len(arrays(view))
    assert "your variable hidden holds it" in repr(view)


def test_the_picture_has_a_box_for_each_array(step):
    view = memory(*step[0])

    svg = view.picture_svg()

    assert svg.count("<g class=") >= len(arrays(view))
    assert f"in kernel {view.recording.page['lifetimes']['peak_kernel']}" in svg


def test_the_picture_tells_without_colours_who_keeps_an_array():
    keepers = ("wanted", "held", "stays", "saved", "read", "unread")
    boxes = [
        {"node": k, "bytes": 4, "from": k, "to": k, "offset": 0, "stays": False, "why": why, "keepers": []}
        for k, why in enumerate(keepers)
    ]
    found = {"arrays": boxes, "alive": [4] * 6, "peak": 4, "peak_kernel": 0, "height": 4}

    svg = lifetimes_svg(found, {}, "six arrays")

    outlines = {why: re.search(rf" \.{why} rect{{[^}}]*(stroke-width:[^}}]*)}}", svg)[1] for why in keepers}
    assert len(set(outlines.values())) == 6, outlines
    assert [svg.count(f'<g class="{why}">') for why in keepers] == [2] * 6  # its box, and its entry in the legend


# in a browser


def test_boxes_and_peak_are_those_of_the_trace(page_of, step):
    view = memory(*step[0])
    page = page_of(view)
    told = view.recording.page["lifetimes"]

    shown = page.locator(BOXES).evaluate_all(
        "all => all.map(one => [Number(one.dataset.node), Number(one.dataset.bytes)])"
    )

    assert [tuple(one) for one in shown] == [(one["node"], one["bytes"]) for one in told["arrays"]]
    assert page.locator("[data-peak]").get_attribute("data-peak") == str(view.recording.page["peak"])
    alive = page.locator("[data-alive]").evaluate_all("all => all.map(one => Number(one.dataset.alive))")
    assert alive == told["alive"]


def test_a_click_says_who_keeps_the_array_alive_and_selects_it_everywhere(page_of, step):
    view = memory(*step[0])
    page = page_of(view)
    page.evaluate(
        """() => globalThis[Symbol.for("jt_edu.bus")].addEventListener("select:", e => window.heard = e.detail)"""
    )
    one = next(k for k, lived in enumerate(arrays(view)) if lived["node"] == step[1].node.id)

    page.locator(BOXES).nth(one).click(force=True)

    assert page.locator(".jt-memory-panel li").all_inner_texts() == [k["text"] for k in arrays(view)[one]["keepers"]]
    heard = page.evaluate("() => window.heard")
    assert heard["nodes"] == [step[1].node.id]
    assert heard["kernel"] == view.recording.page["kernels"][arrays(view)[one]["from"]]["key"]
    assert page.locator(f"{BOXES}.jt-on").count() == 1


def test_keys_walk_over_the_arrays(page_of, step):
    view = memory(*step[0])
    page = page_of(view)
    chosen = lambda: int(page.locator(".jt-memory-chosen").get_attribute("data-bytes"))  # noqa: E731
    page.locator(".jt-body").focus()

    for _ in arrays(view):
        page.keyboard.press("ArrowUp")
    assert chosen() == max(one["bytes"] for one in arrays(view))
    for _ in arrays(view):
        page.keyboard.press("ArrowDown")
    assert chosen() == min(one["bytes"] for one in arrays(view))
    for _ in arrays(view):
        page.keyboard.press("ArrowLeft")
    assert chosen() == arrays(view)[0]["bytes"]


def test_fusion_can_be_switched_off(page_of, step):
    view = memory(*step[0])
    page = page_of(view)
    page.locator(".jt-body").focus()

    page.keyboard.press("u")

    unfused = view.recording.page["lifetimes"]["unfused"]
    assert page.locator("[data-peak]").get_attribute("data-peak") == str(unfused["peak"])
    assert page.locator(BOXES).count() == len(unfused["arrays"])
    page.keyboard.press("u")
    assert page.locator("[data-peak]").get_attribute("data-peak") == str(view.recording.page["peak"])


LOOKS = [{}, {"color_scheme": "dark"}, {"forced_colors": "active"}, {"viewport": {"width": 560, "height": 700}}]


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("keys", [[], ["u"], ["t"]])
def test_anyone_can_use_it(page_of, step, axe, geometry, look, keys):
    page = page_of(memory(*step[0]), **look)
    page.locator(".jt-body").focus()
    for key in keys:
        page.keyboard.press(key)

    assert axe(page) == []
    assert geometry(page) == []


@pytest.mark.parametrize(
    ("broken", "said"),
    [(None, "no lifetimes of arrays"), ({}, "damaged"), ({"arrays": 3, "alive": []}, "damaged")],
)
def test_a_page_without_lifetimes_gives_one_clear_sentence(page_of, step, broken, said):
    recording = memory(*step[0]).recording.with_page(lifetimes=broken)

    page = page_of(html_of(recording.page, recording.blocks, "memory"))

    assert said in page.get_by_role("alert").inner_text()
