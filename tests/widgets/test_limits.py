"""What views refuse, leave out and say of it; none of these tests opens a browser."""

import threading
from pathlib import Path

import numpy as np
import pytest

import jt_edu as jt
import jt_widgets as w
from jt_edu import nn
from jt_edu.lens import isolated_run, recording
from jt_edu.lens.gradcheck import difference
from jt_edu.lens.tape import record_tape
from jt_edu.runtime import trace_events
from jt_widgets.train import train_panel
from tests.widgets.live import finish

pytestmark = pytest.mark.usefixtures("python_backend")


def chain(length):
    y = jt.array([1.0, 2.0])
    for _ in range(length):
        y = y * 2.0
    return y.sum()


def stepped():
    """A loss after the optimizer's step, which forgot how it came about."""
    net = nn.Linear(2, 1)
    optimizer = jt.optim.SGD(net.parameters(), lr=0.1)
    loss = (net(jt.ones(3, 2)) ** 2).mean()
    optimizer.step(loss)
    return loss


def panel(**settings):
    net = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))
    batches = [(jt.ones(8, 2), jt.zeros(8, 1))]
    optimizer = jt.optim.SGD(net.parameters(), lr=0.1)
    return train_panel(net, optimizer, lambda net, x, y: ((net(x) - y) ** 2).mean(), batches, **settings)


# sizes


@pytest.mark.parametrize("view", [w.graph, w.tape, w.explore, w.kernel, w.fusion, w.memory, w.step_kernel, w.roofline])
def test_a_graph_that_no_view_draws_is_refused_at_once(view, monkeypatch):
    monkeypatch.setattr(isolated_run, "DRAWN", 10)

    with pytest.raises(jt.ArgumentError, match=r"This graph has \d+ nodes; a view draws at most 10\. Record a part"):
        view(chain(20))


def test_the_largest_graph_is_the_same_in_python_and_in_the_browser():
    fit = (Path(__file__).parents[2] / "widgets/frontend/src/fit.js").read_text()

    assert f"nodes: {isolated_run.DRAWN:_}," in fit


def test_of_a_large_graph_no_values_are_recorded(monkeypatch):
    monkeypatch.setattr(recording, "MANY", 10)

    page = jt.recording(chain(20)).page

    assert page["values"] == {}
    assert page["kernels"][0]["ran"]
    assert any("above 10 no values are recorded" in note for note in page["notes"])


def test_values_that_do_not_fit_together_are_left_out_largest_first(monkeypatch):
    x = jt.ones(1000).sync()
    y = (x[:10] * 2).exp().sum() + (x * 3).exp().sum()
    everything = jt.recording(y).page
    monkeypatch.setattr(trace_events, "SEEN_BYTES", 4000)

    page = jt.recording(y).page

    shapes = {row["id"]: row["shape"] for row in page["graph"]["nodes"] if str(row["id"]) in page["values"]}
    assert len(page["values"]) == len(everything["values"]) - 2
    assert list(shapes.values()).count([10]) >= 2
    assert any("2 values are not shown" in note for note in page["notes"])
    assert not any("not shown" in note for note in everything["notes"])


def test_a_value_with_too_many_elements_is_missed_in_words(monkeypatch):
    monkeypatch.setattr(trace_events, "SEEN", 5)

    notes = jt.recording((jt.ones(10).sync() * 2).exp().sum()).page["notes"]

    assert any("2 values are not shown" in note for note in notes)


@pytest.mark.parametrize(("dtype", "said"), [("float32", True), ("float64", False)])
def test_values_of_few_digits_are_said_to_be_of_another_run(dtype, said):
    x = jt.ones(10, dtype=dtype).sync()

    page = jt.recording((x * 2).exp().sum()).page

    assert any("last digits" in words for words in page["about"]) == said
    assert page["notes"] == []


# a history that is gone


def test_a_tape_of_a_loss_after_its_step_says_that_the_history_is_gone():
    with pytest.raises(jt.GradientError, match=r"a step forgets it; found .*build the loss again"):
        w.tape(stepped())


def test_explore_shows_what_is_left_after_a_step_and_says_why_there_is_no_tape():
    view = w.explore(stepped())

    assert "tape" not in view.recording.page
    assert any("There is no tape" in note and "build the loss again" in note for note in view.recording.page["notes"])


def test_step_kernel_after_a_step_says_what_to_do():
    with pytest.raises(jt.ArgumentError, match="build it again"):
        w.step_kernel(stepped())


# at the same time


def test_two_threads_make_tapes_of_one_computed_loss():
    net = nn.Sequential(*[nn.Linear(4, 4) for _ in range(6)])
    loss = net(jt.ones(2, 4)).sum()
    loss.sync()
    failed = []

    def many():
        try:
            for _ in range(5):
                with jt.flag_scope(backend="python"):
                    record_tape(loss)
        except Exception as error:  # noqa: BLE001
            failed.append(error)

    threads = [threading.Thread(target=many) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []
    assert loss.node.data is not None


def test_a_hook_is_named_where_a_gradient_does_not_agree():
    x = jt.array([1.0, 2.0])
    x.name = "x"
    x.register_hook(lambda dout: dout * 3)

    words = difference((x * x).sum(), x).words

    assert "does not agree" in words
    assert "a hook on the gradient of x may change it" in words


# training


def test_a_panel_keeps_as_many_tapes_as_steps():
    shown = panel(keep=2)
    for step in (1, 2, 3, 4):
        shown.step()
        shown.answer({"do": "tape", "step": step})

    assert list(shown.tapes) == [3, 4]


def test_who_asks_for_training_after_a_pause_gets_it():
    shown = panel()
    shown.pause()

    finish(shown.train(steps=2))

    assert shown.training.done == 2


# arguments


@pytest.mark.parametrize(
    ("call", "found"),
    [
        (lambda loss: w.tape(loss, 3), "3"),
        (lambda loss: w.step_kernel(loss, kernel="0"), "'0'"),
        (lambda loss: panel(keep="3"), "keep='3'"),
        (lambda loss: panel(scheduler=3), "3"),
        (lambda loss: w.graph(loss).save(None), "None"),
        (lambda loss: w.graph(loss, a=np.float32(1)), "a="),
        (lambda loss: w.graph(loss, a=float("nan")), "a=nan"),
    ],
)
def test_an_odd_argument_is_named(call, found):
    with pytest.raises(jt.ArgumentError, match=found):
        call(chain(1))


@pytest.mark.parametrize(
    ("given", "way_out"),
    [
        (lambda: [[jt.ones(2)]], r"Try: \*gradients"),
        (lambda: [nn.ReLU()], r"Try: model\(images\)"),
        (lambda: [np.ones(3)], r"Try: jt\.array"),
        (lambda: [3], r"Try: jt\.array"),
    ],
)
def test_what_is_no_var_is_refused_with_a_way_out(given, way_out):
    with pytest.raises(jt.ArgumentError, match=way_out):
        w.graph(*given())
