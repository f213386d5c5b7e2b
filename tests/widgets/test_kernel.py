"""KernelView: every line leads to its operators and to the learner's line, and back; edits are tried and installed."""

import base64
import gzip
import json
import re
import threading

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn, optim
from jt_edu.introspect.syntax import classes
from jt_edu.lens.kernel_edit import edited_kernels
from jt_widgets.kernel import MANY
from jt_widgets.kernel import kernel as kernel_view
from tests.chromium import LIMIT
from tests.widgets.page import still
from tests.widgets.records import changed, html_of

pytestmark = pytest.mark.usefixtures("nothing_stays_edited")

HEADER = re.compile(r"\s*(for|while|if|else|elif)\b")


class Net(nn.Module):
    """Two layers."""

    def __init__(self):
        self.first, self.second = nn.Linear(12, 9), nn.Linear(9, 4)

    def execute(self, x):
        """(n, 12) -> (n, 4)."""
        return self.second(jt.relu(self.first(x)))


@pytest.fixture
def y(rng):
    a, b = (jt.array(rng.standard_normal((30, 20)).astype("float32")) for _ in range(2))
    return ((a * 2).tanh() * b).sum(1)


@pytest.fixture
def view(y):
    return kernel_view(y)


def source_of(view, number=0):
    return view.recording.page["kernels"][number]["source"]


def twice(view):
    return source_of(view).replace("= tanh(", "= 2 * tanh(")


def ask(view, **message):
    return view._reply({"kernel": 0, **message})


# every line of every kernel


def complaints(source, lines, nodes, feeds):
    """Lines that lead to no operator or no line of the learner's, and nodes that no line leads to.

    `lines` are (number, node, where); `feeds` gives, for a node, those that are computed with it in one kernel.
    """
    at, found = {}, []
    for number, node, where in lines:
        at.setdefault(number, []).append((node, where))
    rows = source.splitlines()
    hand_written = [entry for number, entries in at.items() if rows[number - 1].startswith("def ") for entry in entries]
    for number, row in enumerate(rows, 1):
        below = [k for k in range(number + 1, len(rows) + 1) if HEADER.match(row) and _deeper(rows, number, k)]
        own = [entry for k in (number, *below) for entry in at.get(k, [])] or hand_written
        if row.strip() and not row.startswith(("from ", "import ", "def ")) and row.strip() != "pass":
            found += [f"{number}: {row} leads nowhere"] if not own else []
            found += [f"{number}: {row} has an operator that nobody asked for" for _, where in own if not where]
    lined = {node for _, node, _ in lines}
    return found + [f"node {n} has no line" for n in nodes if not _leads_to(n, lined, feeds)]


def _deeper(rows, number, k):
    depth = len(rows[number - 1]) - len(rows[number - 1].lstrip())
    between = [row for row in rows[number:k] if row.strip()]
    return all(len(row) - len(row.lstrip()) > depth for row in between)


def _leads_to(node, lined, feeds):
    waiting, seen = [node], set()
    while waiting:
        n = waiting.pop()
        if n in lined:
            return True
        waiting += [m for m in feeds.get(n, []) if m not in seen]
        seen.update(feeds.get(n, []))
    return False


def test_every_line_of_a_training_step_leads_to_operators_and_back(rng):
    model = Net()
    opt = optim.Adam(model.parameters(), 1e-2)
    x = jt.array(rng.standard_normal((16, 12)).astype("float32"))
    c = jt.array(rng.integers(0, 4, 16))

    with jt.trace() as t:
        opt.step(nn.cross_entropy_loss(model(x), c))

    feeds = {}
    for d in t.decisions:
        feeds.setdefault(d.source, []).append(d.target)
    assert len(t.kernels) > 8
    for k in t.kernels:
        lines = [(line.number, line.node, line.where) for line in k.lines]
        assert complaints(k.source, lines, k.nodes, feeds) == [], k.name
        assert all(line.op for line in k.lines)
        assert any("test_kernel.py" in line.where for line in k.lines), k.lines


def test_every_line_of_a_page_leads_to_its_nodes_and_back(rng):
    model = Net()
    x = jt.array(rng.standard_normal((16, 12)).astype("float32"))
    c = jt.array(rng.integers(0, 4, 16))
    loss = nn.cross_entropy_loss(model(x), c)

    page = kernel_view(loss, *jt.grad(loss, model.parameters())).recording.page

    ids = {node["id"] for node in page["graph"]["nodes"]}
    feeds = {}
    for edge in page["graph"]["edges"]:
        feeds.setdefault(edge["source"], []).extend([edge["target"]] * edge["fused"])
    for k in page["kernels"]:
        nodes = [n["id"] for n in page["graph"]["nodes"] if n["kernel"] == k["id"]]
        lines = [(line["number"], line["node"], line["where"]) for line in k["lines"]]
        assert complaints(k["source"], lines, nodes, feeds) == [], k["name"]
        assert {node for _, node, _ in lines} <= ids


def test_the_walk_notices_a_line_that_leads_nowhere():
    source = "def kernel(lo, hi):\n    for i in range(3):\n        a = 1\n    b = 2\n"

    assert complaints(source, [(3, 7, "x"), (4, 8, "")], [7, 8, 9], {}) == [
        "4:     b = 2 has an operator that nobody asked for", "node 9 has no line",
    ]  # fmt: skip
    assert complaints(source, [(4, 8, "x")], [], {})[0] == "2:     for i in range(3): leads nowhere"
    assert complaints(source, [(3, 7, "x"), (4, 8, "x")], [9], {9: [7]}) == []


# Python's half


def test_the_numbers_are_those_of_the_recording(view):
    (row,) = view.recording.page["kernels"]
    (ran,) = view.recording.trace.kernels

    assert (row["ms"], row["bytes"], row["source"]) == (ran.milliseconds, ran.bytes, ran.source)
    assert not row["edited"]


def test_the_text_form_lists_every_kernel(view):
    assert repr(view).startswith("# kernel 0 multiply_tanh_")
    assert "# tanh: test_kernel.py" in repr(view)


def test_machine_code_is_told(view):
    reply = ask(view, do="machine")["reply"]

    assert reply["asm"].startswith("kernel:")
    assert reply["llvm"].startswith("define")
    assert all({"line", "width", "arithmetic"} == set(v) for v in reply["vectors"])
    assert bool(reply["ptx"]) != bool(reply["no_ptx"])


def test_an_edit_that_agrees_is_put_into_the_graph(view, y):
    document, before = view.document, y.numpy()
    text = source_of(view).replace("= tanh(t0)", "= tanh(t0 + 0 * t0)")

    reply = ask(view, do="try", text=text)["reply"]

    assert reply["agrees"]
    assert reply["installed"]
    assert view.document != document
    assert source_of(view) == text
    assert view.recording.page["kernels"][0]["edited"]
    assert view.recording.page["code"]["edits"]["0"]["record"]["outputs"][0]["agrees"]
    np.testing.assert_allclose(y.numpy(), before, rtol=1e-5)

    ask(view, do="revert")
    assert source_of(view) != text
    assert edited_kernels() == []


def test_an_edit_that_differs_waits_until_it_is_wanted_all_the_same(view):
    tried = ask(view, do="try", text=twice(view))["reply"]
    assert not tried["agrees"]
    assert not tried["installed"]
    assert edited_kernels() == []

    again = ask(view, do="try", text=twice(view), anyway=True)["reply"]

    assert again["installed"]
    assert again["record"] == tried["record"]  # it was not tried a second time


def test_an_edit_that_fails_changes_nothing(view):
    document = view.document

    reply = ask(view, do="try", text=source_of(view).replace("tanh(t0)", "tanh(t9)"))["reply"]

    assert reply["record"] is None
    assert source_of(view).splitlines()[reply["line"] - 1].strip() == "t1 = tanh(t0)"
    assert "t9" in reply["error"]
    assert view.document == document


def test_other_views_are_answered_during_a_trial(view, monkeypatch):
    begun, go_on = threading.Event(), threading.Event()

    def slow(*_):
        begun.set()
        go_on.wait(LIMIT)
        raise jt.ArgumentError("a trial", "that took long")

    monkeypatch.setattr(jt, "edit_kernel", slow)
    other = kernel_view(jt.array([1.0, 2.0]) * 3)
    replies = []
    trial = threading.Thread(target=lambda: replies.append(ask(view, do="try", text="x")))
    trial.start()
    assert begun.wait(LIMIT)
    answers = []
    asking = threading.Thread(target=lambda: answers.append(ask(other, do="dance")))
    asking.start()
    asking.join(LIMIT / 2)  # half of what the trial waits: who waits for the trial is answered too late
    answered = len(answers)
    go_on.set()
    trial.join()
    asking.join()

    assert answered == 1
    assert "that took long" in replies[0]["error"]


def test_the_page_says_how_long_a_trial_may_take(y):
    assert kernel_view(y, seconds=3).recording.page["code"]["seconds"] == 3

    with pytest.raises(jt.ArgumentError, match="found 0"):
        kernel_view(y, seconds=0)


def test_machine_code_is_asked_for_under_either_name(view):
    assert ask(view, do="assembly") == ask(view, do="machine")


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"do": "machine", "kernel": 7}, "a kernel from 0 to 0; found 7"),
        ({"do": "machine", "kernel": "0"}, "found '0'"),
        ({"do": "dance"}, "a kernel is asked for 'machine', 'try' or 'revert'; found 'dance'"),
        ({"do": "try", "text": 7}, "one function `def kernel(...)` is expected; found 0"),
    ],
)
def test_questions_that_make_no_sense_are_answered(view, message, words):
    assert words in json.dumps(ask(view, **message))


def test_where_nothing_would_run_there_is_no_kernel_to_ask_for():
    view = kernel_view(jt.array([1.0, 2.0]))

    assert "nothing would run, so there is no kernel" in ask(view, do="machine")["error"]


def test_a_saved_page_has_the_machine_code_of_some_kernels(rng):
    x = jt.array(rng.random((6, 6)).astype("float32"))
    y = x
    for _ in range(MANY + 2):
        y = (y @ x).tanh()

    view = kernel_view(y)
    html = view._page()
    packed = re.search(r'id="jt-document">([^<]*)<', html)[1]
    page = json.loads(gzip.decompress(base64.b64decode(packed)))

    assert len(html) < 400_000
    assert len(page["kernels"]) > MANY
    assert list(page["code"]["machine"]) == [str(k) for k in range(MANY)]
    for kernel, made in zip(page["kernels"], page["code"]["machine"].values(), strict=False):
        assert made["asm"].startswith("kernel:"), kernel["name"]
        assert made["llvm"].startswith("define"), kernel["name"]


# in Chromium

ROWS = ".jt-code .jt-row"


@pytest.mark.browser
def test_a_line_its_operators_and_the_learners_line_light_up_together(page_of, view):
    page = page_of(view)
    line = next(k for k, row in enumerate(source_of(view).splitlines(), 1) if "tanh(" in row and "=" in row)

    page.hover(f"{ROWS}[data-line='{line}']")
    assert _lit(page) == [line]
    told = page.locator(".jt-kernel-told").inner_text()
    assert told.startswith(f"Line {line}: tanh ← test_kernel.py:")

    page.hover(".jt-kernel-where >> nth=-1")  # of all lines below it
    lines = {entry["number"] for entry in view.recording.page["kernels"][0]["lines"]}
    assert lines <= set(_lit(page))


def _lit(page):
    return page.eval_on_selector_all(f"{ROWS}.jt-on", "rows => rows.map(row => Number(row.dataset.line))")


@pytest.mark.browser
def test_a_node_that_is_selected_elsewhere_lights_up_its_lines(page_of, view):
    page = page_of(view)
    node = next(n for n in view.recording.page["graph"]["nodes"] if n["op"] == "tanh")

    select_elsewhere(page, node["id"])

    lines = view.recording.page["kernels"][0]["lines"]
    assert _lit(page) == sorted({entry["number"] for entry in lines if entry["node"] == node["id"]})


def select_elsewhere(page, node, key=None):
    page.evaluate(
        """([id, kernel]) => {
            const hub = globalThis[Symbol.for("jt_edu.bus")];
            const detail = {nodes: [id], kernel, line: null, time: null, rank: null, from: "test"};
            hub.dispatchEvent(new CustomEvent("select:", {detail}));
        }""",
        [node, key],
    )


@pytest.fixture
def twins(rng):
    """Kernels, some of them with the same source."""
    x = jt.array(rng.random((6, 6)).astype("float32"))
    return kernel_view((((x @ x).tanh() @ x).tanh() @ x).tanh())


@pytest.mark.browser
def test_of_two_kernels_with_one_source_the_one_that_computes_the_node_is_gone_to(page_of, twins):
    kernels = twins.recording.page["kernels"]
    keys = [kernel["key"] for kernel in kernels]
    last = max(k for k, key in enumerate(keys) if keys.count(key) > 1)
    page = page_of(twins)

    select_elsewhere(page, kernels[last]["lines"][-1]["node"], keys[last])

    assert page.locator(".jt-kernel-item.jt-now").inner_text().startswith(f"{last} ")
    assert page.locator(".jt-kernel-item.jt-on").count() == 1
    first = _lit(page)[0]
    assert page.locator(f"{ROWS}[data-line='{first}']").is_visible()
    page.locator(".jt-kernel-item").first.click()  # who chooses another one is not taken back
    assert page.locator(".jt-kernel-item.jt-now").inner_text().startswith("0 ")


@pytest.mark.browser
def test_a_selection_scrolls_the_listing_and_never_the_notebook(live, twins):
    page = live(twins, viewport={"width": 1000, "height": 500})
    page.evaluate("() => document.querySelector('main').prepend(document.createElement('hr'))")
    page.evaluate("() => { document.querySelector('hr').style.marginBottom = '2000px' }")
    kernels = twins.recording.page["kernels"]

    select_elsewhere(page, kernels[-1]["lines"][-1]["node"])
    page.wait_for_selector(f"{ROWS}.jt-on")
    still(page)

    assert page.evaluate("scrollY") == 0
    body = page.locator(".jt-kernel-pane").bounding_box()
    row = page.locator(f"{ROWS}.jt-on").first.bounding_box()
    assert body["y"] <= row["y"] <= body["y"] + body["height"] - row["height"]


@pytest.mark.browser
def test_where_nothing_runs_keys_do_nothing(page_of):
    page = page_of(kernel_view(jt.array([1.0, 2.0])))
    page.keyboard.press("Tab")

    for key in ("3", "]", "e", "r", "w", "ArrowDown"):
        page.keyboard.press(key)

    assert "there is no kernel" in page.locator(".jt-kernel-pane").inner_text()


@pytest.mark.browser
def test_a_key_selects_all_that_your_line_asked_for(page_of, view):
    page = page_of(view)
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    for _ in source_of(view).splitlines():
        page.keyboard.press("ArrowDown")

    page.keyboard.press("w")

    lines = {entry["number"] for entry in view.recording.page["kernels"][0]["lines"]}
    assert lines <= set(_lit(page))


@pytest.mark.browser
def test_keys_and_tabs(page_of, rng):
    x = jt.array(rng.random((20, 20)).astype("float32"))
    view = kernel_view((x @ x).tanh().sum())
    page = page_of(view)
    page.keyboard.press("Tab")

    page.keyboard.press("]")
    assert page.locator(".jt-kernel-item.jt-now").inner_text().startswith("1 ")
    page.keyboard.press("3")
    page.wait_for_selector(".jt-kernel-wide")
    assert "bits at once" in page.locator(".jt-kernel-wide").first.inner_text()
    page.keyboard.press("2")
    page.locator(ROWS).first.filter(has_text="define").wait_for()
    page.keyboard.press("4")
    page.locator(".jt-kernel-pane").filter(has_text=re.compile("GPU|PTX")).wait_for()
    page.keyboard.press("1")
    page.locator(".jt-code").get_by_text("def kernel").wait_for()
    page.keyboard.press("ArrowDown")
    assert _lit(page) == [1]
    page.keyboard.press("t")
    assert page.locator(".jt-table tbody tr").count() > 5


@pytest.mark.browser
def test_a_page_says_that_editing_needs_python(page_of, view):
    page = page_of(view)

    assert page.get_by_role("button", name="Edit").is_disabled()
    assert "it needs a running notebook" in page.locator(".jt-kernel-foot").inner_text()
    page.keyboard.press("Tab")
    page.keyboard.press("e")
    assert page.locator("textarea").count() == 0


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("tab", ["source", "asm"])
def test_anyone_can_use_it(page_of, axe, geometry, y, scheme, tab):
    page = page_of(kernel_view(y, tab=tab), color_scheme=scheme)

    assert axe(page) == []
    assert geometry(page) == []


AT_COMPILE = """() => new MutationObserver(() => {
    const told = [...document.querySelectorAll("[role=status]")].some((one) => one.innerText.startsWith("Compiling"));
    if (told) window.marksAtCompile ??= document.querySelectorAll(".jt-kernel-wrong").length;
}).observe(document.querySelector(".jt-view"), {childList: true, subtree: true})"""


@pytest.mark.browser
def test_edit_run_and_revert_by_keyboard(live, axe, view):
    page = live(view)
    page.focus(".jt-body")

    page.keyboard.press("e")
    page.wait_for_selector("textarea:focus")
    page.fill("textarea", twice(view).replace("tanh(", "tan(("))
    page.keyboard.press("Control+Enter")
    page.locator(".jt-kernel-foot .jt-trouble").filter(has_text="SyntaxError").wait_for()
    still(page)
    assert page.locator(".jt-kernel-wrong").count() == 1
    assert axe(page) == []

    page.fill("textarea", twice(view))
    page.evaluate(AT_COMPILE)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".jt-kernel-result")
    assert page.evaluate("window.marksAtCompile") == 0  # the old error is not that of this text
    assert "It computes something else." in page.locator(".jt-kernel-result").inner_text()
    assert edited_kernels() == []
    page.get_by_role("button", name="Run it in the graph all the same").click()
    page.wait_for_selector("text=Runs in the graph, and computes something else.")
    assert len(edited_kernels()) == 1
    page.locator(".jt-code").filter(has_text="2 * tanh(").wait_for()

    page.focus(".jt-body")
    page.keyboard.press("r")
    page.locator(".jt-code").filter(has_text="tanh(").filter(has_not_text="2 * tanh(").wait_for()
    assert edited_kernels() == []


def test_a_view_hears_of_what_another_one_edited_and_reverted(tmp_path):
    with jt.flag_scope(backend="python"):
        y = (jt.array([1.0, 2.0]) * 3).sum()
        before, editor = kernel_view(y, seconds=60), kernel_view(y, seconds=60)
        text = editor.recording.page["kernels"][0]["source"].replace("s0 = s0 + ", "s0 = s0 - ")
        ask = {"do": "try", "kernel": 0, "text": text}
        editor.answer(ask)
        editor.answer({**ask, "anyway": True})
        told = repr(before)
        before.answer({"do": "revert", "kernel": 0})
        editor.save(tmp_path / "page.html")

    assert ", edited" in told
    assert ", edited" not in repr(editor)
    assert editor.recording.page["kernels"][0]["edited"] is False
    assert editor.recording.page["code"]["edits"]["0"]["installed"] is False


@pytest.mark.browser
@pytest.mark.parametrize("wide", [400, 830, 1200])
def test_your_lines_are_whole_whatever_the_width(page_of, view, wide):
    page = page_of(view, viewport={"width": wide, "height": 800})

    for line in page.locator(".jt-kernel-where").all():
        assert "test_kernel.py:" in line.inner_text()
        assert line.evaluate("one => one.scrollWidth <= one.clientWidth + 1")
    pane = page.locator(".jt-kernel-pane")
    assert page.locator(".jt-kernel-where").count() > 0
    assert pane.evaluate("one => one.scrollWidth <= one.clientWidth + 1")  # no bar below


@pytest.mark.browser
def test_a_long_list_of_kernels_can_be_scrolled_by_keys_and_a_short_one_is_no_tab_stop(page_of, view, axe, rng):
    x = jt.array(rng.random((4, 4)).astype("float32"))
    for k in range(20):
        x = (x @ x).tanh() * float(k + 1)
    page = page_of(kernel_view(x.sum()), viewport={"width": 1000, "height": 700})

    page.wait_for_function("() => document.querySelector('.jt-kernel-list').tabIndex === 0")
    assert axe(page) == []
    page.locator(".jt-kernel-list").focus()
    page.keyboard.press("PageDown")
    page.wait_for_function("() => document.querySelector('.jt-kernel-list').scrollTop > 100")
    assert page_of(view).locator(".jt-kernel-list[tabindex]").count() == 0


@pytest.mark.browser
@pytest.mark.parametrize(
    ("ms", "runs", "words", "title"),
    [
        (0.0136, 5, "13.6 µs (least of 5)", "the least of 5 runs, warm"),
        (0.0136, 1, "13.6 µs (first run)", "one run, the first: cold caches"),
        (None, 0, "432 operations", ""),
    ],
)
def test_a_time_says_of_how_many_runs_it_is(page_of, twins, ms, runs, words, title):
    page_ = changed(twins.recording, lambda p: p["kernels"][0].update(ms=ms, runs=runs))
    page = page_of(html_of(page_, twins.recording.blocks, view="kernel"))
    told = page.locator(".jt-kernel-item .jt-soft").first

    assert told.inner_text().startswith(f"{words}, ")
    assert told.get_attribute("title").startswith(title)


@pytest.mark.browser
def test_in_a_narrow_place_the_kernels_are_a_choice(page_of, twins):
    page = page_of(twins, viewport={"width": 560, "height": 800})

    assert not page.locator(".jt-kernel-list").is_visible()
    page.locator(".jt-kernel-choice").select_option("1")

    shown = [row.rstrip() for row in page.locator(f"{ROWS} .jt-text").all_text_contents()]
    assert shown == [row.rstrip() for row in twins.recording.page["kernels"][1]["source"].splitlines()]


# what is folded


@pytest.fixture
def documented(page_of):
    """A page with a kernel that begins with a docstring, and is long."""
    text = '"""What it does.\n\nHow it does it.\n"""\n\n\ndef kernel(lo, hi, a0, out0):\n' + "    x = 1\n" * 120
    view = kernel_view(jt.array([1.0, 2.0]) * 3)
    edit = lambda page: page["kernels"][0].update(source=text, classes=classes(text))  # noqa: E731
    return page_of(html_of(changed(view.recording, edit), view.recording.blocks, "kernel"))


def test_a_docstring_is_one_line_until_it_is_unfolded(documented):
    rows = documented.locator(".jt-code .jt-row")
    assert rows.nth(0).inner_text().strip().endswith("… 3 more lines")
    assert not rows.nth(2).is_visible()

    rows.nth(0).get_by_role("button").click()
    assert rows.nth(2).is_visible()
    assert rows.nth(2).locator(".jt-s").inner_text() == "How it does it."
    rows.nth(0).get_by_role("button", name="fold").click()
    assert not rows.nth(2).is_visible()


def test_of_a_long_source_the_beginning_is_shown_and_a_button_shows_all(documented):
    rows = documented.locator(".jt-code .jt-row")
    assert documented.locator(".jt-code .jt-row:visible").count() == 80

    documented.locator(".jt-fold").last.click()
    assert rows.last.is_visible()


def test_arrows_step_over_what_is_folded(documented):
    documented.locator(".jt-kernel-pane").focus()
    for _ in range(2):
        documented.keyboard.press("ArrowDown")

    assert documented.locator(".jt-kernel-told").inner_text().startswith("Line 5")
