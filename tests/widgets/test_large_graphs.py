"""Large graphs are seen whole: ResNet-18 at first sight, by its names, its map, a search, and in narrow windows."""

import pytest

import jt_edu as jt
from jt_edu import models, nn
from jt_widgets import graph
from tests.widgets.page import frame_times
from tests.widgets.page import still as at_rest

# What is written, in which size of letters, and whether the window shows all of it.
WORDS = """selector => {
    const window = document.querySelector(".jt-sheet").getBoundingClientRect();
    return [...document.querySelectorAll(selector)].filter(one => one.textContent).map(one => {
        const {left, top, right, bottom} = one.getBoundingClientRect();
        const inside = left >= window.left && top >= window.top && right <= window.right && bottom <= window.bottom;
        const size = parseFloat(getComputedStyle(one).fontSize) * one.getScreenCTM().a;
        return {text: one.textContent, size, inside, box: [left, top, right, bottom]};
    });
}"""
ZOOM = "document.querySelector('.jt-sheet svg > g').getScreenCTM().a"
PINCH = """([before, after]) => {
    const sheet = document.querySelector(".jt-sheet"), {left, top, width} = sheet.getBoundingClientRect();
    const say = (name, id, away) => sheet.dispatchEvent(new PointerEvent(name, {pointerId: id, pointerType: "touch",
        button: -1, clientX: left + width / 2 + away, clientY: top + 90, bubbles: true}));
    for (const [id, side] of [[11, -1], [12, 1]]) say("pointerdown", id, side * before / 2);
    for (const [id, side] of [[11, -1], [12, 1]]) say("pointermove", id, side * after / 2);
    for (const id of [11, 12]) say("pointerup", id, 0);
}"""
TOGGLE = """async (from, to) => {
    const press = at => document.querySelector(at).dispatchEvent(new MouseEvent("dblclick", {bubbles: true}));
    for (let k = from; k < to; k += 1) {
        press("[data-id='m:ResNet/layer2']");
        await new Promise(requestAnimationFrame);
        press("[data-frame='m:ResNet/layer2']");
        await new Promise(requestAnimationFrame);
    }
}"""
STAGES = {"layer1", "layer2", "layer3", "layer4"}


@pytest.fixture(scope="module")
def net():
    return models.resnet18(num_classes=10)


@pytest.fixture
def resnet(page_of, net):
    def open_it(width=1400, **state):
        x = jt.randn(1, 3, 64, 64)
        viewport = {"width": width, "height": 900}
        page = page_of(graph(net(x), run=False, **state), reduced_motion="reduce", viewport=viewport)
        page.locator(".jt-body").focus()
        return page

    return open_it


def names(page, selector):
    """The first words of what is written."""
    return {word["text"].split()[0] for word in page.evaluate(WORDS, selector)}


def seen_whole(page):
    faces = page.evaluate(
        WORDS.replace(".filter(one => one.textContent)", ""), ".jt-face > .b:first-child, .jt-frame > rect"
    )
    return page.locator(".jt-sheet").get_attribute("data-more") is None and all(face["inside"] for face in faces)


def test_the_whole_model_and_the_name_of_every_stage_are_seen_at_first_sight(resnet):
    page = resnet()

    titles = page.evaluate(WORDS, ".jt-face .v")
    assert seen_whole(page)
    assert titles[0]["text"].startswith("x"), "the input, and nothing of how it is made"
    assert {"conv1", "bn1", "fc", *STAGES} <= {title["text"].split()[0] for title in titles}
    assert all(title["size"] >= 10.99 for title in titles)
    bottom = page.locator(".jt-sheet").bounding_box()
    assert bottom["y"] + bottom["height"] <= 900, "without scrolling"


@pytest.mark.parametrize("width", [390, 700])
def test_a_narrow_window_shows_the_whole_model_too_and_a_graph_refits_when_its_window_changes(resnet, width):
    page = resnet()
    page.locator("[data-id='m:ResNet/layer1']").click()  # to look at a box is no reason to stay as it is

    page.set_viewport_size({"width": width, "height": 900})
    at_rest(page)

    assert seen_whole(page)
    assert names(page, ".jt-face .v") >= STAGES


def test_a_narrow_window_shows_a_whole_transformer_whose_long_names_are_those_of_repeats(page_of):
    layer = nn.TransformerEncoderLayer(16, 2, dim_feedforward=32, batch_first=True)
    net = nn.Sequential(nn.TransformerEncoder(layer, 3), nn.Linear(16, 10))
    view = graph(net(jt.randn(2, 6, 16)), run=False)

    page = page_of(view, reduced_motion="reduce", viewport={"width": 390, "height": 900})

    assert seen_whole(page)
    assert any(title.endswith("… × 3") for title in page.locator(".jt-face .v").all_text_contents())


def test_rather_than_to_cut_names_of_layers_a_graph_goes_on_below(page_of):
    net = nn.Sequential(*(part for _ in range(4) for part in (nn.Conv(1, 1, 3, padding=1), nn.ReLU())))
    x = net(jt.randn(1, 1, 8, 8))

    page = page_of(graph(x, *jt.grad(x.sum(), net.parameters()), run=False, fold=False), reduced_motion="reduce")

    titles = [word["text"] for word in page.evaluate(WORDS, ".jt-face .v") if word["inside"]]
    layers = [title for title in titles if title[:1].isdigit()]
    assert "1 ReLU" in layers
    assert [title for title in layers if " " not in title] == []


def test_to_open_a_block_takes_the_page_at_most_150_ms_of_work(resnet):
    page = resnet()

    assert frame_times(page, TOGGLE, moves=16) < 150  # to close it again is counted, too
    assert page.locator("[data-id='m:ResNet/layer2']").count() == 1


def test_a_search_for_conv_visits_each_convolution_and_opens_what_holds_it(resnet, net):
    page = resnet()
    page.keyboard.press("/")
    page.keyboard.type("conv")
    layers = [f"ResNet/{name}".replace(".", "/") for name, one in net.named_modules() if isinstance(one, nn.Conv)]

    assert page.locator(".jt-search .jt-soft").inner_text() == f"{len(layers)} matches"
    visited = []
    for _ in layers:
        page.keyboard.press("Enter")
        visited.append(page.evaluate("document.querySelector('.jt-on .jt-face').dataset.id"))
    assert visited == [f"m:{layer}" for layer in layers]
    assert page.locator(".jt-search .jt-soft").inner_text() == f"{len(layers)} of {len(layers)}"
    page.keyboard.press("ArrowUp")
    assert page.locator(".jt-search .jt-soft").inner_text() == f"{len(layers) - 1} of {len(layers)}"


def test_what_a_search_leads_to_can_be_read_however_small_the_graph_was(resnet):
    page = resnet()
    for _ in range(3):
        page.keyboard.press("o")
    page.get_by_role("button", name="Fit").click()
    page.keyboard.press("/")
    page.keyboard.type("layer3/1 conv2")
    page.keyboard.press("Enter")

    [on] = [word for word in page.evaluate(WORDS, ".jt-on .v") if word["text"].startswith("window")]
    assert on["inside"]
    assert on["size"] >= 10.99


def test_boxes_are_opened_one_level_at_a_time(resnet):
    page = resnet()
    count = lambda: page.locator(".jt-frame").count()  # noqa: E731

    assert count() == 1
    page.keyboard.press("o")
    first = count()
    assert page.locator("[data-id^='i:']").count() == 1, "what makes the input comes last"
    assert page.locator("[data-id='r:m:ResNet/layer1/0']").count() == 1, "blocks that are alike stay folded"
    page.keyboard.press("o")
    assert 1 < first < count()


def test_fit_shows_all_however_large_and_the_names_of_layers_stay_legible(resnet):
    page = resnet()
    for _ in range(3):
        page.keyboard.press("o")
    page.get_by_role("button", name="Fit").click()
    at_rest(page)

    written = page.evaluate(WORDS, ".jt-names text")
    assert page.evaluate(ZOOM) < 0.3
    assert seen_whole(page)
    assert all(word["size"] >= 10.99 for word in written)
    assert {word["text"].split()[0] for word in written} >= STAGES
    assert page.locator(".jt-face .v").all_text_contents() == [""] * page.locator(".jt-face .v").count()
    for k, one in enumerate(written):
        for other in written[k + 1 :]:
            (a, b), (c, d) = (one["box"][:2], one["box"][2:]), (other["box"][:2], other["box"][2:])
            assert b[0] <= c[0] or d[0] <= a[0] or b[1] <= c[1] or d[1] <= a[1], (one["text"], other["text"])
    page.get_by_role("button", name="Fit").click()
    assert page.evaluate(ZOOM) >= 0.6 - 1e-3, "asked for once more, what can be read"
    assert page.locator(".jt-names text").count() == 0


def test_a_press_on_the_map_moves_the_window_there(resnet):
    page = resnet(opened=["m:ResNet", "m:ResNet/layer1", "m:ResNet/layer2", "m:ResNet/layer3", "m:ResNet/layer4"])
    for _ in range(2):
        page.keyboard.press("+")
    chart = page.locator(".jt-map svg").bounding_box()

    page.mouse.click(chart["x"] + chart["width"] / 2, chart["y"] + chart["height"] - 3)
    at_rest(page)

    shown = {word["text"].split()[0] for word in page.evaluate(WORDS, ".jt-face .v") if word["inside"]}
    assert "fc" in shown
    assert "conv1" not in shown


def test_two_fingers_zoom(resnet):
    page = resnet()
    before = page.evaluate(ZOOM)

    page.evaluate(PINCH, [100, 150])
    assert page.evaluate(ZOOM) == pytest.approx(1.5 * before, rel=1e-3)
    page.evaluate(PINCH, [150, 75])
    assert page.evaluate(ZOOM) == pytest.approx(0.75 * before, rel=1e-3)
