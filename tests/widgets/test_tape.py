"""TapeScrubber: the steps of a gradient, the numbers on its page, the check of a gradient, and the view in Chromium."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.lens.gradcheck import difference
from jt_edu.lens.gradient_rules import local_rules
from jt_edu.lens.tape import record_tape
from jt_widgets import step_kernel, tape
from tests.widgets.page import frame_times, still, stop_clock
from tests.widgets.records import html_of

pytestmark = pytest.mark.usefixtures("python_backend")

RNG = np.random.default_rng(7)
CELLS = ".jt-tape-cell"
NOW = ".jt-tape-cell.jt-now"


class Network:
    """h = relu(x W + b); y = h V + sum(h) / 10; loss = mean((y - t)^2): h is read twice, and so is y - t."""

    def __init__(self):
        self.x, self.t = (stopped(RNG.normal(size=s)) for s in ((4, 3), (4, 2)))
        self.w, self.v = (jt.array(RNG.normal(size=s).astype("float32")) for s in ((3, 5), (5, 2)))
        self.b = jt.array(np.zeros(5, "float32"))
        self.leaves = [self.w, self.b, self.v]
        for name in ("w", "b", "v"):
            getattr(self, name).name = name
        h = jt.nn.relu(self.x @ self.w + self.b)
        y = h @ self.v + h.sum() * 0.1
        self.h = h
        self.loss = ((y - self.t) ** 2).mean()


def stopped(numbers):
    return jt.array(np.asarray(numbers, "float32")).stop_grad()


def numbers(recording, node):
    """The cells of a value, which must be all of it."""
    value = recording.page["values"][str(node)]
    assert value["exact"]
    begin, count = value["block"]
    return np.frombuffer(recording.blocks, "<f4")[begin : begin + count]


def steps(page, phase):
    return [step for step in page["tape"]["steps"] if step["phase"] == phase]


# the steps


def test_forward_steps_come_first_and_each_gradient_step_stands_beside_its_twin():
    net = Network()

    page = record_tape(net.loss, net.leaves).page

    order = [step["phase"] for step in page["tape"]["steps"]]
    assert order == sorted(order, reverse=True)
    rows = {step["node"]: step["row"] for step in steps(page, "forward")}
    inside = {i: step["row"] for step in reversed(steps(page, "forward")) for i in step["through"]}
    assert [step["row"] for step in steps(page, "forward")] == list(range(page["tape"]["rows"]))
    assert all(step["row"] == (rows | inside)[step["twin"]] for step in steps(page, "backward"))
    back = [step["row"] for step in steps(page, "backward")]
    assert back == sorted(back, reverse=True)  # time runs up the right side


def test_views_and_the_products_of_a_matmul_are_no_steps_of_their_own():
    net = Network()

    page = record_tape(net.loss, net.leaves).page

    ops = [step["op"] for step in steps(page, "forward")]
    first, second = ["matmul", "add", "relu"], ["matmul", "sum", "multiply", "add"]
    assert ops == [*first, *second, "subtract", "multiply", "sum", "divide"]
    kinds = {row["id"]: row["kind"] for row in page["graph"]["nodes"]}
    assert not any(kinds[step["node"]] in {"reindex", "source", "constant"} for step in page["tape"]["steps"])


def test_values_and_gradients_on_the_page_are_those_of_the_framework():
    net = Network()
    wanted = [g.numpy() for g in jt.grad(net.loss, net.leaves)]

    recording = record_tape(net.loss, net.leaves)

    for leaf, gradient in zip(recording.page["tape"]["leaves"], wanted, strict=True):
        np.testing.assert_array_equal(numbers(recording, leaf["gradient"]), gradient.reshape(-1))
        value = recording.page["values"][str(leaf["gradient"])]
        assert (value["min"], value["max"]) == (gradient.min(), gradient.max())
        assert value["mean"] == pytest.approx(gradient.mean(), rel=1e-6)
    loss = recording.page["values"][str(recording.page["tape"]["loss"])]
    assert loss["mean"] == net.loss.item()


def test_contributions_of_a_fan_out_add_up_to_the_gradient():
    net = Network()

    recording = record_tape(net.loss, net.leaves)

    sums = [step for step in recording.page["tape"]["steps"] if "adds" in step]
    nodes = {row["id"]: row for row in recording.page["graph"]["nodes"]}
    readers = [[nodes[part["reader"]]["op"] for part in step["adds"]["parts"]] for step in sums]
    assert readers == [["multiply", "multiply"], ["sum", "broadcast"]]
    stored = [step for step in sums if all(str(p["node"]) in recording.page["values"] for p in step["adds"]["parts"])]
    assert stored
    for step in stored:
        parts = [numbers(recording, part["node"]) for part in step["adds"]["parts"]]
        np.testing.assert_allclose(sum(parts), numbers(recording, step["node"]), rtol=1e-6)
    assert [step["adds"]["of"] for step in sums] == [2, 2]


def test_three_readers_are_added_one_after_the_other():
    x = jt.array([1.0, 2.0])
    y = x * 2
    loss = (y.exp() + y.sin() + y * 3).sum()

    recording = record_tape(loss, x)

    sums = [step["adds"] for step in recording.page["tape"]["steps"] if "adds" in step]
    assert [(len(one["parts"]), one["of"]) for one in sums] == [(2, 3), (3, 3)]
    nodes = {row["id"]: row["op"] for row in recording.page["graph"]["nodes"]}
    found = {nodes[part["reader"]]: numbers(recording, part["node"]) for part in sums[1]["parts"]}
    doubled = x.numpy() * 2
    assert found.keys() == {"exp", "sin", "multiply"}
    for reader, wanted in (("exp", np.exp(doubled)), ("sin", np.cos(doubled)), ("multiply", np.full(2, 3))):
        np.testing.assert_allclose(found[reader], wanted, rtol=1e-6)


def test_saved_activations_are_what_backward_steps_read_of_the_forward_pass():
    net = Network()

    tape_ = record_tape(net.loss, net.leaves).page["tape"]

    number = {step["node"]: k for k, step in enumerate(tape_["steps"])}
    kept = {one["node"]: one for one in tape_["kept"]}
    assert [tape_["steps"][number[node]]["op"] for node in kept] == ["relu", "subtract"]
    for node, one in kept.items():
        readers = [k for k, step in enumerate(tape_["steps"]) if node in step.get("saved", ())]
        assert (one["step"], one["until"]) == (number[node], max(readers))
        assert tape_["steps"][one["step"]]["until"] >= one["until"]


def test_bytes_that_are_alive_are_counted_from_the_steps():
    net = Network()

    page = record_tape(net.loss, net.leaves).page

    tape_ = page["tape"]
    for k, step in enumerate(tape_["steps"]):
        there = [s for j, s in enumerate(tape_["steps"]) if j <= k <= s["until"]]
        assert step["alive"] == sum(s["bytes"] for s in there)
    assert tape_["peak"]["bytes"] == max(step["alive"] for step in tape_["steps"])
    assert max(tape_["kernel_alive"]) == page["peak"] == page["predicted_peak"]


def test_nothing_that_the_learner_has_changes():
    net = Network()
    held = (net.loss.node, net.h.node, *(leaf.node for leaf in net.leaves))
    before = [(n.data, n.inputs, n.name, n.tracked) for n in held]
    run = jt.explain(net.loss).text

    tape(net.loss, net.leaves)

    assert [(n.data, n.inputs, n.name, n.tracked) for n in held] == before
    assert jt.explain(net.loss).text == run
    assert net.loss.node.pending
    assert all(leaf.grad is None for leaf in net.leaves)


def test_what_was_computed_already_is_shown_as_it_would_be_computed_again():
    net = Network()
    pending = [step["op"] for step in record_tape(net.loss, net.leaves).page["tape"]["steps"]]
    value, kept = net.loss.item(), net.h.numpy().copy()

    recording = record_tape(net.loss, net.leaves)

    assert [step["op"] for step in recording.page["tape"]["steps"]] == pending
    assert recording.page["values"][str(net.loss.node.id)]["mean"] == value
    np.testing.assert_array_equal(net.h.node.data, kept)
    assert len(jt.grad(net.loss, net.leaves)) == 3


def test_every_leaf_with_a_gradient_is_taken_where_none_is_named():
    net = Network()

    leaves = tape(net.loss).recording.page["tape"]["leaves"]

    assert {leaf["name"] for leaf in leaves} == {"w", "b", "v"}


def test_a_gradient_of_a_gradient_has_a_tape_too():
    x = jt.array([0.5, 1.0])
    slope = jt.grad((x * x * x).sum(), x)

    recording = record_tape(slope.sum(), x)

    np.testing.assert_allclose(numbers(recording, recording.page["tape"]["leaves"][0]["gradient"]), [3.0, 6.0])
    assert len(steps(recording.page, "forward")) == recording.page["tape"]["rows"] > 3


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: tape(3.0), jt.ArgumentError, "float"),
        (lambda: tape(jt.ones(3) * 2), jt.GradientError, r"\(3,\)"),
        (lambda: tape(stopped([1.0]).sum()), jt.GradientError, "requires_grad"),
        (lambda: tape(jt.ones(3).sum(), []), jt.ArgumentError, r"\[\]"),
        (lambda: tape(jt.ones(3).sum(), ["w"]), jt.ArgumentError, "w"),
        (lambda: tape(jt.ones(3).sum(), jt.array([1.0])), jt.GradientError, "not computed from"),
    ],
)
def test_what_cannot_be_taped_says_why(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_an_operator_with_a_gradient_of_its_own_is_a_step():
    class Twice(jt.Function):
        def execute(self, x):
            return x * 2

        def grad(self, dout):
            return dout * 2

    x = jt.array([1.0, 2.0])

    page = record_tape(Twice.apply(x).exp().sum(), x).page

    assert [step["op"] for step in steps(page, "forward")] == ["multiply", "exp", "sum"]
    assert any("Twice.grad" in rule for rules in page["tape"]["rules"].values() for rule in rules)


def deep(rows):
    x = jt.array([1.0, 2.0])
    y = x
    for _ in range(rows):
        y = (y * 1.01).sin()
    return y.sum(), x


def test_a_long_tape_is_shown_in_groups_that_hold_all_rows():
    loss, x = deep(100)

    tape_ = record_tape(loss, x).page["tape"]

    assert tape_["rows"] == 201
    ends = [0, *(group["to"] for group in tape_["groups"])]
    assert [group["from"] for group in tape_["groups"]] == ends[:-1]
    assert ends[-1] == 201
    assert max(group["to"] - group["from"] for group in tape_["groups"]) <= 150


# the rules


@pytest.mark.parametrize(
    ("make", "rules"),
    [
        (lambda x, y: x * y, ["dx = dout * y", "dy = dout * x"]),
        (lambda x, y: x / y, ["dx = dout / y", "dy = -dout * (out / y)"]),
        (lambda x, y: jt.tanh(x), ["dx = dout * (1 - out * out)"]),
        (lambda x, y: x.sum(), ["dx[i] = dout"]),
        (lambda x, y: x.reshape(2, 1), ["dx = dout.reshape(x.shape)"]),
    ],
)
def test_local_rules_are_the_source_of_the_framework(make, rules):
    assert local_rules(make(jt.array([1.0, 2.0]), jt.array([3.0, 4.0])).node) == rules


def test_a_rule_that_is_no_lambda_is_told_by_its_first_sentence():
    (rule,) = local_rules(jt.floor(jt.array([1.5])).node)

    assert rule.startswith("dx: the gradient of a staircase: 0")


# finite differences


def test_a_right_gradient_agrees_with_finite_differences():
    net = Network()

    for leaf in net.leaves:
        found = difference(net.loss, leaf)
        wanted = jt.grad(net.loss, leaf).numpy()
        assert found.agrees, found.words
        assert found.checked == leaf.size
        assert found.gradient == wanted[found.at]
        assert found.error <= 1e-5 * found.scale
    assert net.loss.node.pending


def test_a_wrong_gradient_is_found_and_its_place_named():
    class Wrong(jt.Function):
        def execute(self, x):
            return x * x

        def grad(self, dout):
            return dout * jt.array([2.0, 4.0, 7.0])  # 6 would be right

    x = jt.array([1.0, 2.0, 3.0])

    found = difference(Wrong.apply(x).sum(), x)

    assert not found.agrees
    assert (found.at, found.gradient, round(found.difference, 4)) == ((2,), 7.0, 6.0)
    assert "does not agree" in found.words
    assert "at [2]" in found.words


def test_of_a_large_leaf_some_elements_are_looked_at():
    x = jt.array(RNG.normal(size=(30, 30)).astype("float32"))

    found = difference((x * x).sum(), x)

    assert (found.checked, found.elements) == (32, 900)
    assert "32 of 900" in found.words


def test_a_kink_is_called_one():
    x = jt.array([0.0])

    found = difference(jt.nn.relu(x).sum(), x)

    assert found.kink
    assert (found.gradient, round(found.difference, 3)) == (0.0, 0.5)


def test_half_precision_is_checked_in_float64():
    x = jt.array([0.5, 1.5], dtype="float16")

    assert difference((x * x).float().sum(), x).agrees


def asked(view, message):
    """What the handler sends back."""
    sent = []
    view.send = lambda content, buffers=None: sent.append(content)
    view._hear(None, {"id": 1, "ask": message}, [])
    return sent[0]


def test_the_button_asks_python():
    net = Network()
    view = tape(net.loss, net.leaves)

    reply = asked(view, {"do": "check", "leaf": net.v.node.id})["reply"]

    assert reply["agrees"] is True
    assert reply["checked"] == 10
    assert "agrees with finite differences" in reply["words"]


def test_the_check_is_of_the_numbers_that_were_recorded():
    net = Network()
    view = tape(net.loss, net.leaves)
    net.v.update(net.v * 100)
    net.loss.item()

    reply = asked(view, {"do": "check", "leaf": view.recording.page["tape"]["leaves"][2]["node"]})["reply"]

    shown = view.recording.page["values"][str(view.recording.page["tape"]["leaves"][2]["gradient"])]
    assert reply["agrees"]
    assert shown["min"] <= reply["gradient"] <= shown["max"]


@pytest.mark.parametrize("message", [{}, {"do": "check"}, {"do": "check", "leaf": -1}, {"do": "check", "leaf": "x"}])
def test_a_question_that_makes_no_sense_is_answered_with_an_error(message):
    view = tape(Network().loss)

    assert "check the gradient of one of its leaves" in asked(view, message)["error"]


def test_the_text_form_tells_each_row():
    net = Network()

    lines = repr(tape(net.loss, net.leaves)).splitlines()

    assert lines[0] == "11 steps forward to the loss, 13 back to the gradients of w, b, v."
    assert len(lines) == 2 + 11
    assert "dw" in lines[2]


# in a browser


@pytest.fixture
def network():
    return Network()


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)
    still(page)


@pytest.fixture
def opened(page_of, network):
    """A function: options -> (view, page with the focus in the view)."""

    def open_it(**options):
        view = tape(network.loss, network.leaves)
        page = page_of(view, **options)
        page.locator(".jt-body").focus()
        press(page)
        return view, page

    return open_it


def short(number):
    return f"{number:.4g}"


def test_each_step_shows_what_it_computed(opened):
    view, page = opened()
    tape_, values = view.recording.page["tape"], view.recording.page["values"]

    for k, step in enumerate(tape_["steps"]):
        press(page, *(["Home"] if k == 0 else ["]"]))
        value = values[str(step["node"])]
        assert page.locator(NOW).get_attribute("data-node") == str(step["node"])
        shown = {
            name: page.locator(f".jt-tape-large [data-stat={name}]").inner_text() for name in ("min", "mean", "max")
        }
        assert {name: float(text.replace(",", "")) for name, text in shown.items()} == {
            name: pytest.approx(value[name], rel=6e-4) for name in shown
        }
        assert page.locator("[data-alive]").get_attribute("data-alive") == str(step["alive"])
        assert page.locator(f"{CELLS}.jt-tape-done").count() == k + 1


def test_a_gradient_step_shows_its_saved_activations_and_what_is_added(opened):
    view, page = opened()
    tape_ = view.recording.page["tape"]
    adds = next(k for k, step in enumerate(tape_["steps"]) if "adds" in step)
    reads = next(k for k, step in enumerate(tape_["steps"]) if step.get("saved"))

    page.locator(f"{CELLS}[data-step='{adds}']").click()
    press(page)
    parts = tape_["steps"][adds]["adds"]["parts"]
    shown = page.locator(".jt-tape-adds li").evaluate_all("all => all.map(one => one.dataset.part)")
    assert shown == [str(part["node"]) for part in parts]

    page.locator(f"{CELLS}[data-step='{reads}']").click()
    press(page)
    assert page.locator(".jt-tape-threads path").count() == len(tape_["steps"][reads]["saved"])
    assert page.get_by_text("Saved activations it reads").count() == 1


def test_a_gradient_step_tells_the_one_rule_that_it_follows(opened):
    view, page = opened()
    tape_ = view.recording.page["tape"]
    ruled = [k for k, step in enumerate(tape_["steps"]) if step.get("rule")]

    for k in ruled:
        page.locator(f"{CELLS}[data-step='{k}']").click()
        press(page)
        assert page.locator(".jt-tape-panel pre").inner_text() == "\n".join(tape_["steps"][k]["rule"])

    assert len(ruled) >= 2
    assert page.get_by_text("Gradient with respect to what matmul reads").count() == 1
    assert "dout: the gradient of that" in page.locator(".jt-tape-panel").inner_text()


def test_keys_lead_through_the_tape(opened):
    _, page = opened()
    now = lambda: int(page.locator(NOW).get_attribute("data-step"))  # noqa: E731
    loss = now()

    press(page, "ArrowRight")
    assert page.locator(NOW).get_attribute("class").count("jt-tape-backward") == 1
    press(page, "ArrowLeft")
    assert now() == loss
    press(page, "ArrowUp", "[")
    assert now() == loss - 2
    press(page, "End")
    assert now() == page.locator(CELLS).count() - 1
    assert page.locator(f"{CELLS}.jt-tape-done").count() == page.locator(CELLS).count()


def test_the_slider_scrubs_and_the_address_remembers(opened, page_of):
    _, page = opened()

    page.locator(".jt-tape-track input").fill("3")
    page.wait_for_function("() => location.hash.includes('time=3')")
    still(page)

    assert page.locator(NOW).get_attribute("data-step") == "3"


def test_two_moments_can_be_compared(opened):
    view, page = opened()
    press(page, "Home", "z", "End")

    table = page.locator(".jt-tape-frozen")

    alive = [view.recording.page["tape"]["steps"][k]["alive"] for k in (0, -1)]
    assert "Frozen at step 1" in table.inner_text()
    assert [f"{size} B" in table.inner_text() for size in alive] == [True, True]
    press(page, "z")
    assert table.count() == 0


def test_play_moves_on_and_stops_at_a_press(opened):
    _, page = opened()
    press(page, "Home")
    stop_clock(page)
    page.keyboard.press(" ")
    page.clock.run_for(2_000)
    assert int(page.locator(NOW).get_attribute("data-step")) > 1

    page.keyboard.press(" ")
    page.clock.run_for(100)
    now = page.locator(NOW).get_attribute("data-step")
    page.clock.run_for(10_000)
    assert page.locator(NOW).get_attribute("data-step") == now


def test_who_asked_for_less_motion_gets_single_steps(opened):
    _, page = opened(reduced_motion="reduce")
    press(page, "Home")
    stop_clock(page)
    page.keyboard.press(" ")
    page.clock.run_for(10_000)

    assert page.locator(NOW).get_attribute("data-step") == "1"


def test_without_a_kernel_the_check_says_so(opened):
    _, page = opened()
    assert page.get_by_role("button", name="Check").is_disabled()
    assert "it needs a running notebook" in page.locator(".jt-tape-check").inner_text()

    press(page, "g")

    page.wait_for_selector(".jt-tape-answer:not(:empty)")
    assert "needs a running kernel" in page.locator(".jt-tape-answer").inner_text()


def test_a_selection_from_elsewhere_lights_up_its_step(opened):
    view, page = opened()
    node = view.recording.page["tape"]["steps"][4]["node"]

    page.evaluate(
        """node => globalThis[Symbol.for("jt_edu.bus")].dispatchEvent(new CustomEvent("select:", {detail:
           {nodes: [node], kernel: null, line: null, time: null, rank: null, from: "other"}}))""",
        node,
    )

    assert page.locator(f"{CELLS}.jt-on").evaluate_all("all => all.map(one => one.dataset.node)") == [str(node)]
    assert page.locator(NOW).get_attribute("data-node") == str(node)
    assert page.locator(NOW).is_visible()


def test_the_table_has_a_row_for_each_step(opened):
    view, page = opened()

    press(page, "t")

    assert page.locator(".jt-table tbody tr").count() == len(view.recording.page["tape"]["steps"])


@pytest.mark.parametrize(
    "look", [{}, {"color_scheme": "dark"}, {"forced_colors": "active"}, {"viewport": {"width": 560, "height": 700}}]
)
@pytest.mark.parametrize("keys", [[], ["End"], ["Home", "z", "]"], ["t"]])
def test_anyone_can_use_it(opened, axe, geometry, look, keys):
    _, page = opened(**look)
    press(page, *keys)

    assert axe(page) == []
    assert geometry(page) == []


def test_groups_open_and_close(page_of, axe, geometry):
    loss, x = deep(100)
    page = page_of(tape(loss, x))

    assert page.locator(CELLS).count() == 0
    page.locator("button.jt-tape-group").first.click()
    assert page.locator(CELLS).count() > 0
    assert "groups of 201 rows" in page.locator(".jt-tape-note").inner_text()
    assert axe(page) == []
    assert geometry(page) == []
    page.locator("button.jt-tape-group").first.click()
    assert page.locator(CELLS).count() == 0


def test_numbers_that_are_not_finite_are_marked(page_of):
    x = jt.array([0.0, 1.0])
    page = page_of(tape((x.log() * 0).sum(), x))

    assert page.locator(".jt-tape-mean em").count() > 0


SCRUB = """async (from, to) => {
    const slider = document.querySelector(".jt-tape-track input");
    const frame = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
    for (let k = from; k < to; k += 1) {
        slider.value = String(k);
        slider.dispatchEvent(new Event("input", {bubbles: true}));
        await frame();
    }
}"""


def test_scrubbing_three_hundred_steps_keeps_thirty_frames_a_second(page_of):
    loss, x = deep(70)
    page = page_of(tape(loss, x))
    assert 280 <= page.locator(CELLS).count() <= 360

    each = frame_times(page, SCRUB, moves=280)

    assert each < 1000 / 30, f"{each:.1f} ms of the page's thread for a step"


@pytest.mark.parametrize(
    "broken", [None, {}, {"steps": 3}, {"steps": [{"node": -5}], "groups": [], "passing": [], "kept": [], "leaves": []}]
)
def test_a_page_without_a_tape_gives_one_clear_sentence(page_of, network, broken):
    recording = tape(network.loss, network.leaves).recording.with_page(tape=broken)

    page = page_of(html_of(recording.page, recording.blocks, "tape"))

    assert "tape" in page.get_by_role("alert").inner_text().lower()


def test_a_sum_of_very_many_parts_names_the_last_of_them():
    x = jt.array([1.0, 2.0])
    y = x
    for k in range(200):
        y = y + x * float(k)

    with jt.flag_scope(backend="python"):
        view = tape(y.sum(), [x], run=False)
    sums = [step["adds"] for step in view.recording.page["tape"]["steps"] if "adds" in step]

    assert max(len(one["parts"]) for one in sums) == 20
    assert [one["done"] for one in sums][-1] == sums[-1]["of"] > 200
    assert len(view.document) < 200_000


def test_a_step_can_be_linked_to_and_a_link_that_names_none_leads_to_the_nearest(page_of, network):
    view = tape(network.loss, network.leaves)
    last = len(view.recording.page["tape"]["steps"]) - 1

    for link, step in (("1.5", "2"), ("-5", "0"), ("99999", f"{last}"), ("1e999", f"{last}")):
        page = page_of(view, hash=f"time={link}")
        assert page.locator(NOW).get_attribute("data-step") == step
    page_of(view, hash="time=NaN").locator(NOW).wait_for()


def test_the_buttons_are_those_of_the_stepper(opened, page_of):
    _, page = opened()
    other = page_of(step_kernel((jt.ones(3) * 2).sum()))

    bars = [one.locator(".jt-bar button").all_inner_texts()[:3] for one in (page, other)]

    assert bars == [["‹ Back", "Step ›", "▶ Play"]] * 2


def test_a_single_number_is_no_large_square(opened):
    _, page = opened()

    wide = page.locator(".jt-tape-large canvas").evaluate("one => one.style.width")  # of the loss

    assert int(wide.removesuffix("px")) <= 30
