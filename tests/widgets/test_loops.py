"""LoopStepper: what the page shows at a step is what the kernel did at that step."""

import doctest
import gzip
import json

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.ir.index_expr import both
from jt_edu.lens import windows
from jt_widgets import loops as module
from jt_widgets.loops import step_kernel
from tests.widgets.page import still, stop_clock

NOW = ".jt-code .jt-row.jt-now"


@pytest.fixture
def y(rng):
    a = jt.array(rng.random((6, 40)).astype("float32"))
    b = jt.array(rng.random(40).astype("float32"))
    return (a * b).sum(1)


@pytest.fixture
def view(y):
    return step_kernel(y)


def test_the_document_stays_small(rng):
    x = jt.array(rng.random((500, 600)).astype("float32"))
    view = step_kernel(x @ x.transpose(1, 0))

    assert len(view.document) + len(view.blocks) < 200_000
    assert "the first 2,000 steps of about" in view.summary


def test_the_page_and_the_recording_agree(view):
    page = json.loads(gzip.decompress(view.document))
    loops = page["loops"]
    numbers = np.frombuffer(gzip.decompress(view.blocks), "<f4")

    assert loops["steps"] == len(view.steps.moments)
    for array, watch in zip(loops["arrays"], view.steps.arrays, strict=True):
        at, count = array["block"]
        shown = numbers[at : at + count]
        assert count == (watch.first.size if watch.role == "in" else 0)
        np.testing.assert_array_equal(shown, watch.first.ravel()[:count])


def test_the_text_form_tells_the_first_steps(view):
    text = repr(view)

    assert text.startswith("Kernel multiply_sum: all ")
    assert "reads a0[0, 0] = " in text
    assert "step 1, line 5: i0 = 0" in text


def test_the_example_runs():
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [({"kernel": 5}, "found 5"), ({"steps": 0}, "one step or more; found 0"), ({"kernel": -1}, "found -1")],
)
def test_what_cannot_be_stepped_through_is_refused(y, options, message):
    with pytest.raises(jt.ArgumentError, match=message):
        step_kernel(y, **options)


@pytest.mark.browser
def test_stepping_forward_and_back_shows_each_step(page_of, view):
    page = page_of(view)
    page.keyboard.press("Tab")

    for number in (1, 2, 3, 4, 5, 6, 5, 4, 3):
        step = view.steps.moments[number]
        page.keyboard.press("]" if int(page.locator("input[type=range]").input_value()) < number else "[")
        assert page.locator(NOW).get_attribute("data-line") == str(step.line)
        assert page.locator(".jt-loops-place").inner_text() == f"step {number + 1} of {len(view.steps.moments):,}"
        marks = page.locator(".jt-loops-grids .jt-loops-read, .jt-loops-grids .jt-loops-written").count()
        assert marks == len(step.touches)
        assert page.locator(".jt-loops-changed").count() == len(step.changes)


@pytest.mark.browser
def test_accumulators_and_cells_are_those_of_the_kernel(page_of, view, y):
    page = page_of(view, hash=f"step={len(view.steps.moments) - 1}")

    cells = page.eval_on_selector_all(
        ".jt-loops-values tbody tr", "rows => rows.map(r => [...r.cells].map(c => c.innerText))"
    )
    values = {name: value for name, value, _ in cells}
    last = dict(change for row in view.steps.moments for change in row.changes)
    assert float(values["s0"]) == pytest.approx(last["s0"], rel=1e-3)
    grids = page.locator(".jt-loops-grid")
    out = [k for k, a in enumerate(view.steps.arrays) if a.role == "out"]
    shown = [float(t) for t in grids.nth(out[0]).locator("tbody td").all_inner_texts()]
    np.testing.assert_allclose(shown, y.numpy(), rtol=5e-3)


@pytest.mark.browser
def test_a_large_array_shows_the_part_that_is_touched(page_of, view):
    page = page_of(view, hash="step=150")
    reads = [t for t in view.steps.moments[150].touches or view.steps.moments[149].touches if not t.write]
    place = (reads or [t for row in view.steps.moments[:150] for t in row.touches if t.array == 0])[-1].place

    heads = page.locator(".jt-loops-grid").first.locator("thead th").all_inner_texts()

    assert len(heads) == 10
    assert str(place % 40) in heads


@pytest.mark.browser
def test_up_and_down_stay_at_a_line_and_home_and_end_go_far(page_of, view):
    page = page_of(view)
    page.keyboard.press("Tab")
    for _ in range(6):
        page.keyboard.press("]")
    line = page.locator(NOW).get_attribute("data-line")

    page.keyboard.press("ArrowDown")
    assert page.locator(NOW).get_attribute("data-line") == line
    page.keyboard.press("End")
    assert page.locator("input[type=range]").input_value() == str(len(view.steps.moments) - 1)
    page.keyboard.press("Home")
    assert page.locator("input[type=range]").input_value() == "0"


@pytest.mark.browser
def test_play_plays_and_with_reduced_motion_makes_one_step(page_of, view):
    page = page_of(view)
    step = page.locator("input[type=range]")
    stop_clock(page)
    page.keyboard.press("Space")
    page.clock.run_for(2_000)
    assert int(now := step.input_value()) >= 2
    page.keyboard.press("Space")
    assert "Play" in page.locator(".jt-loops-bar").inner_text()
    page.clock.run_for(10_000)
    assert step.input_value() == now

    calm = page_of(view, reduced_motion="reduce")
    stop_clock(calm)
    calm.keyboard.press("Space")
    calm.clock.run_for(10_000)
    assert calm.locator("input[type=range]").input_value() == "1"


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_anyone_can_use_it(page_of, axe, geometry, view, scheme):
    page = page_of(view, color_scheme=scheme, hash="step=9")

    assert axe(page) == []
    assert geometry(page) == []


@pytest.mark.browser
def test_a_page_without_steps_says_so(page_of, y):
    view = step_kernel(y)
    view.show_again(jt.recording(y))

    page = page_of(view)

    assert "use jt_widgets.step_kernel" in page.locator(".jt-trouble").inner_text()


@pytest.mark.parametrize(
    ("make", "shown"),
    [
        (lambda: jt.array(np.array([1 + 2j, 3j], "complex64")) * 2, "2+4j"),
        (lambda: jt.argsort(jt.array([3.0, 1.0, 2.0])), "array (3,)"),
    ],
    ids=["complex", "array"],
)
def test_numbers_that_are_words_are_drawn(page_of, make, shown):
    with jt.flag_scope(backend="python"):
        view = step_kernel(make().sum())
    numbers = view.recording.page["loops"]["numbers"]
    words = next(k for k, moment in enumerate(view.steps.moments) if shown in [v for _, v in moment.changes])

    page = page_of(view, hash=f"step={words + 0.4}")

    assert shown in numbers
    told = page.inner_text(".jt-view")
    assert "damaged" not in told
    assert shown in told


@pytest.mark.browser
@pytest.mark.parametrize(("link", "place"), [("1.5", 3), ("-5", 1), ("1e999", None), ("NaN", 1)])
def test_a_link_that_names_no_step_leads_to_the_nearest(page_of, view, link, place):
    page = page_of(view, hash=f"step={link}")

    shown = page.locator(".jt-loops-place").inner_text()

    assert shown.startswith(f"step {place or len(view.steps.moments)} of")


# a window over an image


def image_of(*shape):
    return jt.array(np.arange(np.prod(shape)).reshape(shape).astype("float32"))


def slid(image, where):
    """The sums over windows of 2 by 2, written with reindex."""
    return image.reindex((5, 5, 2, 2), where).reindex_reduce("add", (5, 5), lambda y, x, i, j: (y, x))


def sums(window):
    """What the points of a window give, by place."""
    points = np.array(window["points"]).reshape(-1, 5)
    pixels = np.array(window["image"]["values"]).reshape(window["image"]["shape"])
    weights = window["weights"] and np.array(window["weights"]["values"])
    terms = [[] for _ in range(np.prod(window["out"]))]
    for place, channel, y, x, weight in points:
        inside = 0 <= y < pixels.shape[1] and 0 <= x < pixels.shape[2]
        pixel = pixels[channel, y, x] if inside else 0.0 if window["reducer"] == "add" else -np.inf
        terms[place].append(pixel * (weights[weight] if weights is not None else 1))
    return np.array([sum(one) if window["reducer"] == "add" else max(one) for one in terms])


@pytest.mark.parametrize(
    "how",
    [{}, {"stride": 2}, {"padding": 1}, {"dilation": 2}, {"stride": (2, 1), "padding": (0, 2), "dilation": (1, 2)}],
)
def test_the_window_of_a_convolution_is_what_it_sums_up(rng, how):
    image, weights = image_of(1, 2, 6, 7), jt.array(rng.integers(-2, 3, (3, 2, 3, 2)).astype("float32"))
    y = jt.conv2d(image, weights, **how)

    window = step_kernel(y, steps=10).steps.window

    np.testing.assert_allclose(sums(window), y.numpy().ravel())
    for name, usual in (("stride", 1), ("padding", 0), ("dilation", 1)):
        given = how.get(name, usual)
        assert window[name] == list(given if isinstance(given, tuple) else (given, given))


def test_the_windows_of_pooling_and_of_a_convolution_written_with_reindex():
    image = image_of(1, 1, 5, 6)
    pooled = jt.max_pool2d(image, 3, 2, padding=1)
    plane, taps, shape = image_of(5, 6), image_of(2, 3), (4, 4, 2, 3)
    seen = plane.reindex(shape, lambda y, x, i, j: (y + i, x + j)) * taps.reindex(shape, lambda y, x, i, j: (i, j))
    own = seen.reindex_reduce("add", (4, 4), lambda y, x, i, j: (y, x))

    window, mine = step_kernel(pooled).steps.window, step_kernel(own).steps.window

    np.testing.assert_allclose(sums(window), pooled.numpy().ravel())
    assert (window["reducer"], window["weights"]) == ("maximum", None)
    np.testing.assert_allclose(sums(mine), own.numpy().ravel())


@pytest.mark.parametrize(
    "make",
    [
        lambda a: a @ a.transpose(), lambda a: a.sum(1), lambda a: a.exp().sum(0), lambda a: a * 2,
        lambda a: image_of(2, 3, 4).max(0), lambda a: (image_of(2, 3, 4) * image_of(2, 3, 4)).sum(2),
        lambda a: a.mean(1, keepdims=True), lambda a: a.softmax(1), lambda a: jt.nn.LayerNorm(5)(a),
        lambda a: (a * image_of(5)).sum(1, keepdims=True),
        lambda a: jt.conv2d(image_of(1, 8, 40, 40), image_of(8, 8, 3, 3)),  # too large to be drawn
        lambda a: jt.conv2d(image_of(1, 1, 9, 9), image_of(1, 1, 2, 2), padding=500, dilation=1000),
        lambda a: slid(image_of(300, 300), lambda y, x, i, j: (y + i, x + j)),  # as is the image behind it
    ],
)  # fmt: skip
def test_what_does_not_slide_or_is_too_large_has_no_window(make):
    assert step_kernel(make(image_of(4, 5)), steps=5).steps.window is None


def test_a_page_has_the_image_that_is_looked_at_and_none_of_those_beside_it():
    y = slid(image_of(600, 6, 6), lambda y, x, i, j: (599, y + i, x + j))

    window = step_kernel(y, steps=10).steps.window

    assert window["image"]["shape"] == [1, 6, 6]
    np.testing.assert_allclose(sums(window), y.numpy().ravel())


def test_an_index_may_be_made_of_two_conditions():
    y = slid(image_of(6, 6), lambda y, x, i, j: (y + i, x + j * both(y < 9, x < 9)))

    np.testing.assert_allclose(sums(step_kernel(y, steps=10).steps.window), y.numpy().ravel())


@pytest.mark.parametrize(("view", "found"), [
    (lambda: image_of(36).reshape(6, 6), True), (lambda: image_of(6, 6).transpose(), True),
    (lambda: image_of(640_000).reshape(800, 800), False), (lambda: image_of(800, 800).transpose(), False),
])  # fmt: skip
def test_the_view_under_a_cast_is_read_unless_it_is_large(view, found, monkeypatch):
    shapes, indices = [], np.indices
    monkeypatch.setattr(np, "indices", lambda shape: shapes.append(shape) or indices(shape))
    y = slid(view().double(), lambda y, x, i, j: (y + i, x + j))

    window = windows.find([y.node], lambda node: node.data)

    assert (window is not None) == found
    assert max(map(np.prod, shapes)) <= 100
    if found:
        np.testing.assert_allclose(sums(window), y.numpy().ravel())


@pytest.fixture
def sliding(page_of):
    image = image_of(1, 1, 4, 5)
    weights = jt.array(np.array([[[[1, 2], [3, -4]]]], np.float32))
    return page_of(step_kernel(jt.conv2d(image, weights, stride=2, padding=1)), reduced_motion="reduce")


def framed_numbers(page):
    return page.locator(".jt-loops-window table").first.locator(".jt-loops-read").all_inner_texts()


def test_pointing_at_a_place_frames_what_it_sees_and_writes_the_sum_out(sliding):
    place = sliding.locator(".jt-loops-window [data-place='4']")

    place.hover()
    still(sliding)

    assert framed_numbers(sliding) == ["6", "7", "11", "12"]
    told = sliding.locator(".jt-loops-window + p").inner_text()
    assert told == "place (1, 1) = 6 × 1 + 7 × 2 + 11 × 3 + 12 × (-4) = 5"
    assert place.inner_text() == "5"
    assert sliding.locator(".jt-loops-window caption").all_inner_texts() == ["image", "× weights", "= sum"]
    assert sliding.locator(".jt-loops-window .jt-loops-outside").count() == 6 * 6 - 4 * 5


def test_arrows_move_the_place_and_padding_counts_as_zero(sliding):
    sliding.locator(".jt-loops-window [tabindex='0']").focus()
    assert framed_numbers(sliding) == ["0", "0", "0", "0"]

    sliding.keyboard.press("ArrowDown")
    sliding.keyboard.press("ArrowRight")
    still(sliding)

    assert framed_numbers(sliding) == ["6", "7", "11", "12"]
    assert sliding.evaluate("document.activeElement.dataset.place") == "4"
    assert "step 1 of" in sliding.locator(".jt-loops-place").inner_text()  # the kernel stays where it is


def test_stepping_moves_the_window_to_the_place_that_was_written(sliding):
    sliding.locator(".jt-loops-source").focus()
    sliding.keyboard.press("End")
    still(sliding)

    assert sliding.locator(".jt-loops-window .jt-loops-written").get_attribute("data-place") == "8"


def test_anyone_can_use_the_window(sliding, axe, geometry):
    assert axe(sliding) == []
    assert geometry(sliding) == []
