"""Nine views in one notebook of real JupyterLab: by hand, by key, asking Python, linked, and after saving.

What a hand or a key led to is expected, not looked at once: a view draws when the browser gives it a frame.

The notebook is opened and run once. After each test: nothing was said in the console, nobody outside of this machine
was asked, and the notebook is what it was, so that no key went past a view.
"""

import re

import pytest

from tests.browser.nine import CELLS, DRAWN, VIEW, VIEWS, drag, focus, lit, press, write
from tests.browser.page import expect, open_notebook

LOSS = ".jt-face[aria-label^='loss =']"
LIT = re.compile(r"\bjt-on\b")
FOCUSED = "() => document.activeElement.dataset.id ?? null"
COMMANDS = "a b m y 1 x c v d d 0 0 l o Shift+m Shift+l Shift+Enter Space Space".split()


@pytest.fixture(scope="module")
def opened(chromium, lab):
    """The notebook, run, with every view drawn."""
    context = chromium.new_context(viewport={"width": 1280, "height": 1000})
    notebook = open_notebook(context, lab, write(lab.folder))
    notebook.complaints.clear()  # what the host says while it starts
    notebook.run_all()
    assert notebook.errors() == []
    notebook.page.wait_for_function(DRAWN, arg=len(VIEWS))
    yield notebook
    context.close()


@pytest.fixture
def page(opened):
    """The page of the notebook; afterwards all is as it was."""
    yield opened.page
    assert opened.complaints == []
    assert opened.strangers == []
    assert [cell["source"] for cell in opened.code_cells()] == CELLS
    assert opened.not_run() == []


@pytest.fixture
def view(page):
    """A function: the name of a view -> it, in sight."""

    def find(name):
        found = page.locator(VIEW).nth(list(VIEWS).index(name))
        found.scroll_into_view_if_needed()
        return found

    return find


# graph


def find_loss(graph):
    """Open what holds the loss, and bring it into sight."""
    focus(graph)
    press(graph, "/", *"loss", "Enter", "Escape", "End")


def test_the_graph_computes_values_when_it_is_asked_and_shows_them_under_the_pointer(page, view):
    graph = view("graph")
    box = graph.locator(LOSS)
    find_loss(graph)
    box.hover()
    expect(graph.locator(".jt-panel")).to_contain_text("not computed")

    graph.get_by_role("button", name="Compute values").click()
    graph.get_by_role("button", name="Compute values").wait_for(state="detached")
    find_loss(graph)
    box.hover()

    expect(graph.locator(".jt-panel")).to_contain_text("mean")
    expect(graph.locator(".jt-panel canvas")).to_have_count(1)


def test_a_click_in_the_graph_shows_the_line_and_a_double_click_opens_a_box(page, view):
    graph = view("graph")
    find_loss(graph)
    graph.locator(LOSS).click()
    expect(graph.locator(".jt-panel")).to_contain_text("loss = nn.cross_entropy_loss(net(x), y)")
    expect(graph.locator(".jt-on > .jt-face")).to_have_count(1)
    graph.get_by_role("button", name="Close all").click()
    closed = graph.locator(".jt-face").filter(has_text=" ops ").first
    frame = f".jt-frame[data-frame='{closed.get_attribute('data-id')}']"
    closed.dblclick()
    graph.locator(frame).wait_for()


def test_the_graph_is_searched_and_walked_by_key(page, view):
    graph = view("graph")
    focus(graph)
    press(graph, "/")
    page.keyboard.type("select")
    press(graph, "Enter")
    expect(graph.locator(".jt-search")).to_contain_text(" of ")
    expect(graph.locator(".jt-hit")).not_to_have_count(0)
    press(graph, "Escape", "Home")
    first = page.wait_for_function(FOCUSED).json_value()
    press(graph, "ArrowDown")
    page.wait_for_function(f"first => ({FOCUSED})() !== first", arg=first)
    press(graph, "ArrowUp")
    page.wait_for_function(f"first => ({FOCUSED})() === first", arg=first)
    press(graph, "g")
    expect(graph.get_by_role("button", name="Kernels")).to_have_attribute("aria-pressed", "true")


# fusion


def stands_at(fusion, number):
    """Waits until the boxes have travelled there."""
    expect(fusion.locator(".jt-passes input")).to_have_value(str(number))


def kernels_of(fusion):
    """How many there are; to be expected."""
    return fusion.locator(".jt-figure strong").first


def test_the_slider_of_fusion_scrubs_and_keys_step(page, view):
    fusion = view("fusion")
    drag(fusion.locator(".jt-passes input"), 0)
    stands_at(fusion, 0)
    expect(kernels_of(fusion)).to_have_text("6")

    drag(fusion.locator(".jt-passes input"), 1)
    stands_at(fusion, 4)
    expect(kernels_of(fusion)).to_have_text("1")
    focus(fusion)
    press(fusion, "[")
    stands_at(fusion, 3)
    expect(kernels_of(fusion)).to_have_text("3")
    press(fusion, "]")
    stands_at(fusion, 4)


def test_an_arrow_on_the_slider_of_fusion_is_one_pass(page, view):
    fusion = view("fusion")
    slider = fusion.locator(".jt-passes input")
    slider.press("Home")
    stands_at(fusion, 0)
    slider.press("ArrowRight")
    stands_at(fusion, 1)
    slider.press("ArrowLeft")
    stands_at(fusion, 0)


def test_an_edge_of_fusion_says_its_rule_and_a_prediction_is_scored(page, view):
    fusion = view("fusion")
    fusion.get_by_role("button", name="Fit").click()  # all of it, also what is below
    face = fusion.locator(".jt-face").filter(has_text="exp").first
    face.hover()
    face.click()
    expect(fusion.locator(".jt-panel")).to_contain_text("exp")
    expect(lit(fusion)).not_to_have_count(0)
    fusion.get_by_role("button", name="Predict").click()
    press(fusion, "r")
    fusion.get_by_text("pairs right").wait_for()
    press(fusion, "Escape")


# kernel


def test_a_line_of_a_kernel_lights_up_under_the_pointer_and_by_key(page, view):
    kernel = view("kernel")
    line = kernel.locator(".jt-row").filter(has_text="tanh(").last

    line.hover()
    expect(line).to_have_class(LIT)
    expect(kernel.locator(".jt-kernel-told")).to_contain_text("tanh")
    line.click()
    focus(kernel)
    press(kernel, "ArrowDown")
    expect(line).not_to_have_class(LIT)
    press(kernel, "3")
    kernel.get_by_text("ret", exact=False).first.wait_for()
    press(kernel, "1")
    line.wait_for()


def test_a_kernel_is_edited_run_and_reverted(page, view):
    kernel = view("kernel")
    text = kernel.locator(".jt-code .jt-text").all_inner_texts()
    focus(kernel)

    press(kernel, "e")
    kernel.locator("textarea").fill("\n".join(text).replace("tanh(", "tan(("))
    press(kernel, "Control+Enter")
    kernel.locator(".jt-trouble").get_by_text("SyntaxError").wait_for()
    expect(kernel.locator(".jt-kernel-wrong")).to_have_count(1)
    kernel.locator("textarea").fill("\n".join(text).replace("tanh(t", "tanh(0 + t"))
    kernel.get_by_role("button", name="Run").click()
    kernel.locator(".jt-code").get_by_text("tanh(0 + t").wait_for()
    kernel.get_by_role("button", name="Revert").click()
    kernel.get_by_text("tanh(0 + t").wait_for(state="detached")


# loops


def test_a_kernel_is_stepped_through_by_button_slider_and_key(page, view):
    loops = view("loops")
    place = loops.locator(".jt-loops-place")
    focus(loops)
    press(loops, "Home")

    loops.get_by_role("button", name="Step").click()
    expect(place).to_have_text(re.compile("^step 2 "))
    expect(loops.locator(".jt-row.jt-now")).to_have_count(1)
    drag(loops.locator("input[type=range]"), 1)
    count = place.inner_text().split()[-1]
    expect(place).to_have_text(f"step {count} of {count}")
    focus(loops)
    press(loops, "[")
    expect(place).to_have_text(f"step {int(count) - 1} of {count}")
    press(loops, "Home", "]", "]")
    expect(place).to_have_text(f"step 3 of {count}")


# tape


def test_the_tape_is_scrubbed_by_slider_click_and_key(page, view):
    tape = view("tape")
    cells = tape.locator(".jt-tape-cell[data-step]")
    now = lambda step: tape.locator(f".jt-tape-cell.jt-now[data-step='{step}']")  # noqa: E731

    drag(tape.locator(".jt-tape-track input"), 0)
    now(0).wait_for()
    cells.nth(2).hover()
    cells.nth(2).click()
    now(cells.nth(2).get_attribute("data-step")).wait_for()
    focus(tape)
    press(tape, "End")
    now(cells.count() - 1).wait_for()
    expect(tape.locator(".jt-tape-cell.jt-tape-done")).to_have_count(cells.count())
    press(tape, "[")
    now(cells.count() - 2).wait_for()


def test_the_tape_checks_a_gradient_when_it_is_asked(page, view):
    tape = view("tape")

    tape.get_by_role("button", name="Check").click()

    tape.locator(".jt-tape-answer").get_by_text("agrees with finite differences").wait_for()


# memory


def test_an_array_in_memory_is_chosen_by_click_and_by_key(page, view):
    memory = view("memory")
    boxes, chosen = memory.locator("[data-node][data-bytes]"), memory.locator(".jt-memory-chosen")

    boxes.first.hover()
    boxes.first.click()
    node = boxes.first.get_attribute("data-node")
    expect(chosen).to_have_attribute("data-node", node)
    expect(memory.locator(".jt-memory-panel li")).not_to_have_count(0)
    focus(memory)
    press(memory, "ArrowRight")
    expect(chosen).not_to_have_attribute("data-node", node)
    peak = memory.locator("[data-peak]")
    fused = peak.get_attribute("data-peak")
    memory.get_by_role("button", name="Without fusion").click()
    expect(peak).not_to_have_attribute("data-peak", fused)
    assert int(peak.get_attribute("data-peak")) > int(fused)
    focus(memory)
    press(memory, "u")
    expect(peak).to_have_attribute("data-peak", fused)


# roofline


def test_a_dot_of_the_roofline_tells_under_the_pointer_and_by_key(page, view):
    roofline = view("roofline")
    dot, told = roofline.locator(".jt-plot-dot[data-key]").first, roofline.locator(".jt-plot-detail")

    dot.hover()
    expect(told).to_contain_text(dot.get_attribute("data-name"))
    dot.click()
    expect(lit(roofline)).to_have_count(1)
    roofline.page.mouse.move(0, 0)  # a pointer that rests on a dot asks for it again when the page moves
    focus(roofline)
    here = roofline.locator(".jt-plot-here")
    dots = roofline.locator(".jt-plot-dot[data-key]").all()
    right = max(dots, key=lambda one: one.bounding_box()["x"]).get_attribute("data-name")
    press(roofline, "ArrowRight", "ArrowRight")  # to the last of the two
    expect(here).to_have_attribute("data-name", right)  # a page that is busy hears the second key later
    expect(told).to_contain_text(right)
    press(roofline, "ArrowLeft")
    expect(here).not_to_have_attribute("data-name", right)
    expect(told).not_to_contain_text(right)
    press(roofline, "u")
    roofline.locator("[aria-pressed=true]").get_by_text("Each operator alone").wait_for()
    roofline.get_by_role("button", name="Fused").click()


# training


def test_the_panel_makes_a_step_and_opens_one_as_a_tape(page, view):
    train = view("train")
    done = train.locator(".jt-plot-bar")

    train.get_by_role("button", name="Step one batch").click()
    done.get_by_text("step 7 of 7").wait_for()
    focus(train)
    press(train, "s")
    done.get_by_text("step 8 of 8").wait_for()
    train.get_by_role("button", name="Open it as a tape").click()
    train.locator(".jt-plot-inner .jt-tape").wait_for()
    train.locator(".jt-plot-inner").get_by_role("button", name="Check").click()
    train.locator(".jt-tape-answer").get_by_text("agrees with finite differences").wait_for()
    train.get_by_role("button", name="Close").click()
    expect(train.locator(".jt-plot-inner .jt-tape")).to_have_count(0)


def test_the_curve_is_walked_by_click_and_by_key(page, view):
    train = view("train")
    step, plot = train.locator(".jt-plot-detail strong"), train.locator(".jt-plot").first
    focus(train)
    press(train, "End")
    last = step.inner_text()

    plot.click(position={"x": plot.bounding_box()["width"] / 2, "y": 40})  # wherever it stands by now
    expect(step).not_to_have_text(last)
    chosen = int(step.inner_text().removeprefix("Step "))
    focus(train)
    press(train, "ArrowRight")

    expect(step).to_have_text(f"Step {chosen + 1}")


# explore, and the views beside it


def test_a_selection_crosses_the_panes_of_explore_and_all_other_views(page, view):
    explore = view("explore")
    panes = {name: explore.locator(f".jt-explore-pane-{name}") for name in ("graph", "kernel", "tape")}
    panes["graph"].get_by_role("button", name="Operators").click()
    panes["graph"].locator(".jt-search input").fill("exp")
    panes["graph"].locator(".jt-hit").first.wait_for()
    press(explore, "Enter")  # brings it into sight
    panes["graph"].locator(".jt-hit .jt-face").first.click()
    node = panes["graph"].locator(".jt-on > .jt-face").get_attribute("data-id")
    expect(panes["tape"].locator(".jt-tape-cell.jt-on")).to_have_attribute("data-node", node)
    for other in (panes["kernel"], view("graph"), view("tape")):
        expect(lit(other)).not_to_have_count(0)

    panes["kernel"].locator(".jt-row").filter(has_text=" = ").last.click()
    expect(panes["graph"].locator(f".jt-on > [data-id='{node}']")).to_have_count(0)
    for other in (panes["graph"], panes["tape"]):
        expect(lit(other)).not_to_have_count(0)

    explore.get_by_role("tab", name="Forward and backward").click()
    first = panes["tape"].locator(".jt-tape-cell[data-step]").first
    node = first.get_attribute("data-node")
    first.click()
    panes["tape"].locator(f".jt-tape-cell.jt-now[data-node='{node}']").wait_for()  # a frame later
    panes["graph"].locator(f".jt-on > [data-id='{node}']").wait_for()


# every view


@pytest.mark.parametrize("name", VIEWS)
def test_keys_of_the_notebook_stay_in_a_view(page, view, name):
    focus(view(name))

    for key in COMMANDS:
        press(view(name), key)

    page.wait_for_function("() => document.activeElement.closest('.jt-view') !== null")


@pytest.mark.parametrize("name", VIEWS)
def test_table_and_help_open_by_click_and_by_key(page, view, name):
    shown = view(name)

    shown.get_by_role("button", name="Table", exact=True).click()
    shown.locator(".jt-table tbody tr").nth(1).wait_for()
    shown.get_by_role("button", name="Table", exact=True).click()
    focus(shown)
    press(shown, "t")
    expect(shown.locator(".jt-table caption")).to_be_visible()
    press(shown, "t", "?")
    expect(shown.locator(".jt-help")).to_contain_text("the same as a table")
    press(shown, "Escape")
    expect(shown.locator(".jt-help")).to_be_hidden()


# afterwards


@pytest.mark.parametrize("kernel", ["that runs on", "that knows nothing"])
def test_a_saved_notebook_shows_every_view_as_it_was_left(opened, page, view, open_page, kernel):
    drag(view("loops").locator("input[type=range]"), 0.5)
    place = view("loops").locator(".jt-loops-place").text_content()
    moment = view("loops").locator("input[type=range]").input_value()
    focus(view("tape"))
    press(view("tape"), "Home", "]", "]")
    view("tape").locator(".jt-tape-cell.jt-now[data-step='2']").wait_for()
    opened.told(f'"step":{moment}')
    opened.told('"time":2')
    opened.execute("docmanager:save")
    if kernel == "that knows nothing":
        opened.execute("kernelmenu:shutdown")

    again = open_page("nine.ipynb")
    said = len(again.complaints)
    for number in range(len(VIEWS)):
        again.look_at(number + 1)  # a browser may leave undrawn what nobody sees
        expect(again.page.locator(".jp-CodeCell").nth(number + 1).locator(".jt-view:not([aria-busy])")).to_be_visible()
    found = dict(zip(VIEWS, again.page.locator(VIEW).all(), strict=True))

    assert [name for name, one in found.items() if one.locator(".jt-trouble").count()] == []
    expect(found["loops"].locator(".jt-loops-place")).to_have_text(place)
    expect(found["tape"].locator(".jt-tape-cell.jt-now")).to_have_attribute("data-step", "2")
    focus(found["tape"])
    press(found["tape"], "]")
    found["tape"].locator(".jt-tape-cell.jt-now[data-step='3']").wait_for()
    if kernel == "that runs on":
        found["tape"].get_by_role("button", name="Check").click()
        found["tape"].locator(".jt-tape-answer").get_by_text("agrees with finite differences").wait_for()
    assert again.complaints[said:] == []
    assert again.strangers == []
