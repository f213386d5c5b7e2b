"""Nine views in one notebook of real JupyterLab: by hand, by key, asking Python, linked, and after saving.

The notebook is opened and run once. After each test: nothing was said in the console, nobody outside of this machine
was asked, and the notebook is what it was, so that no key went past a view.
"""

import pytest

from tests.browser.nine import CELLS, DRAWN, VIEW, VIEWS, drag, focus, lit, press, write
from tests.browser.page import open_notebook

LOSS = ".jt-face[aria-label^='loss =']"
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
    notebook.page.set_default_timeout(60_000)
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


def test_the_graph_computes_values_when_it_is_asked_and_shows_them_under_the_pointer(page, view):
    graph = view("graph")
    box = graph.locator(LOSS)
    focus(graph)
    press(graph, "End")  # into sight
    box.hover()
    assert "not computed" in graph.locator(".jt-panel").inner_text()

    graph.get_by_role("button", name="Compute values").click()
    graph.get_by_role("button", name="Compute values").wait_for(state="detached")
    focus(graph)
    press(graph, "End")
    box.hover()

    assert "mean" in graph.locator(".jt-panel").inner_text()
    assert graph.locator(".jt-panel canvas").count() == 1


def test_a_click_in_the_graph_shows_the_line_and_a_double_click_opens_a_box(page, view):
    graph = view("graph")
    focus(graph)
    press(graph, "End")
    graph.locator(LOSS).click()
    assert "loss = nn.cross_entropy_loss(net(x), y)" in graph.locator(".jt-panel").inner_text()
    assert graph.locator(".jt-on > .jt-face").count() == 1
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
    assert " of " in graph.locator(".jt-search").inner_text()
    assert graph.locator(".jt-hit").count() > 0
    press(graph, "Escape", "Home")
    first = page.evaluate(FOCUSED)
    press(graph, "ArrowDown")
    assert page.evaluate(FOCUSED) != first
    press(graph, "ArrowUp")
    assert page.evaluate(FOCUSED) == first
    press(graph, "g")
    assert graph.get_by_role("button", name="Kernels").get_attribute("aria-pressed") == "true"


# fusion


def stands_at(fusion, number):
    """Waits until the boxes have travelled there."""
    slider = fusion.locator(".jt-passes input").element_handle()
    fusion.page.wait_for_function("([slider, number]) => Number(slider.value) === number", arg=[slider, number])


def kernels_of(fusion):
    return int(fusion.locator(".jt-figure strong").first.inner_text())


def test_the_slider_of_fusion_scrubs_and_keys_step(page, view):
    fusion = view("fusion")
    drag(fusion.locator(".jt-passes input"), 0)
    stands_at(fusion, 0)
    alone = kernels_of(fusion)

    drag(fusion.locator(".jt-passes input"), 1)
    stands_at(fusion, 4)
    assert kernels_of(fusion) == 1 < alone
    focus(fusion)
    press(fusion, "[")
    stands_at(fusion, 3)
    assert kernels_of(fusion) > 1
    press(fusion, "]")


def test_an_edge_of_fusion_says_its_rule_and_a_prediction_is_scored(page, view):
    fusion = view("fusion")
    fusion.get_by_role("button", name="Fit").click()  # all of it, also what is below
    face = fusion.locator(".jt-face").filter(has_text="exp").first
    face.hover()
    face.click()
    assert "exp" in fusion.locator(".jt-panel").inner_text()
    assert lit(fusion) > 0
    fusion.get_by_role("button", name="Predict").click()
    press(fusion, "r")
    fusion.get_by_text("pairs right").wait_for()
    press(fusion, "Escape")


# kernel


def test_a_line_of_a_kernel_lights_up_under_the_pointer_and_by_key(page, view):
    kernel = view("kernel")
    line = kernel.locator(".jt-row").filter(has_text="tanh(").last

    line.hover()
    assert "jt-on" in line.get_attribute("class")
    assert "tanh" in kernel.locator(".jt-kernel-told").inner_text()
    line.click()
    focus(kernel)
    press(kernel, "ArrowDown")
    assert "jt-on" not in line.get_attribute("class")
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
    assert kernel.locator(".jt-kernel-wrong").count() == 1
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
    assert place.inner_text().startswith("step 2 ")
    assert loops.locator(".jt-row.jt-now").count() == 1
    drag(loops.locator("input[type=range]"), 1)
    count = place.inner_text().split()[-1]
    loops.get_by_text(f"step {count} of {count}").wait_for()
    focus(loops)
    press(loops, "[")
    assert place.inner_text() == f"step {int(count) - 1} of {count}"
    press(loops, "Home", "]", "]")
    assert place.inner_text() == f"step 3 of {count}"


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
    assert tape.locator(".jt-tape-cell.jt-tape-done").count() == cells.count()
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
    node = chosen.get_attribute("data-node")
    assert node == boxes.first.get_attribute("data-node")
    assert memory.locator(".jt-memory-panel li").count() > 0
    focus(memory)
    press(memory, "ArrowRight")
    assert chosen.get_attribute("data-node") != node
    peak = memory.locator("[data-peak]").get_attribute("data-peak")
    memory.get_by_role("button", name="Without fusion").click()
    assert int(memory.locator("[data-peak]").get_attribute("data-peak")) > int(peak)
    focus(memory)
    press(memory, "u")
    assert memory.locator("[data-peak]").get_attribute("data-peak") == peak


# roofline


def test_a_dot_of_the_roofline_tells_under_the_pointer_and_by_key(page, view):
    roofline = view("roofline")
    dot, told = roofline.locator(".jt-plot-dot[data-key]").first, roofline.locator(".jt-plot-detail")

    dot.hover()
    assert dot.get_attribute("data-name") in told.inner_text()
    dot.click()
    assert lit(roofline) == 1
    focus(roofline)
    press(roofline, "ArrowRight")
    right = told.inner_text()
    press(roofline, "ArrowLeft")
    assert told.inner_text() != right
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
    assert train.locator(".jt-plot-inner .jt-tape").count() == 0


def test_the_curve_is_walked_by_click_and_by_key(page, view):
    train = view("train")
    step = train.locator(".jt-plot-detail strong")
    axis = train.locator(".jt-plot .jt-plot-axis").first.bounding_box()

    page.mouse.click(axis["x"] + axis["width"] / 2, axis["y"] + 20)
    chosen = int(step.inner_text().removeprefix("Step "))
    focus(train)
    press(train, "ArrowRight")

    assert int(step.inner_text().removeprefix("Step ")) == chosen + 1


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
    assert panes["tape"].locator(".jt-tape-cell.jt-on").get_attribute("data-node") == node
    assert lit(panes["kernel"]) > 0
    assert [lit(view(name)) > 0 for name in ("graph", "tape")] == [True, True]

    panes["kernel"].locator(".jt-row").filter(has_text=" = ").last.click()
    assert panes["graph"].locator(f".jt-on > [data-id='{node}']").count() == 0
    assert lit(panes["graph"]) > 0
    assert lit(panes["tape"]) > 0

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
        page.wait_for_timeout(20)

    assert page.evaluate("() => document.activeElement.closest('.jt-view') !== null")


@pytest.mark.parametrize("name", VIEWS)
def test_table_and_help_open_by_click_and_by_key(page, view, name):
    shown = view(name)

    shown.get_by_role("button", name="Table", exact=True).click()
    assert shown.locator(".jt-table tbody tr").count() > 1
    shown.get_by_role("button", name="Table", exact=True).click()
    focus(shown)
    press(shown, "t")
    assert shown.locator(".jt-table caption").is_visible()
    press(shown, "t", "?")
    assert "the same as a table" in shown.locator(".jt-help").inner_text()
    press(shown, "Escape")
    assert not shown.locator(".jt-help").is_visible()


# afterwards


@pytest.mark.parametrize("kernel", ["that runs on", "that knows nothing"])
def test_a_saved_notebook_shows_every_view_as_it_was_left(opened, page, view, open_page, kernel):
    drag(view("loops").locator("input[type=range]"), 0.5)
    place = view("loops").locator(".jt-loops-place").text_content()
    focus(view("tape"))
    press(view("tape"), "Home", "]", "]")
    view("tape").locator(".jt-tape-cell.jt-now[data-step='2']").wait_for()
    page.wait_for_timeout(500)  # what a view remembers goes to the model a moment later
    opened.execute("docmanager:save")
    if kernel == "that knows nothing":
        opened.execute("kernelmenu:shutdown")

    again = open_page("nine.ipynb")
    said = len(again.complaints)
    again.page.wait_for_function(DRAWN, arg=len(VIEWS))
    found = dict(zip(VIEWS, again.page.locator(VIEW).all(), strict=True))

    assert [name for name, one in found.items() if one.locator(".jt-trouble").count()] == []
    assert found["loops"].locator(".jt-loops-place").text_content() == place
    assert found["tape"].locator(".jt-tape-cell.jt-now").get_attribute("data-step") == "2"
    focus(found["tape"])
    press(found["tape"], "]")
    found["tape"].locator(".jt-tape-cell.jt-now[data-step='3']").wait_for()
    if kernel == "that runs on":
        found["tape"].get_by_role("button", name="Check").click()
        found["tape"].locator(".jt-tape-answer").get_by_text("agrees with finite differences").wait_for()
    assert again.complaints[said:] == []
    assert again.strangers == []
