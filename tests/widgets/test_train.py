"""TrainPanel: the numbers are those of a plain loop; it can be stopped, stepped, interrupted and looked back into."""

import asyncio
import base64
import itertools
import json
import math
import re
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from jt_edu.lens import training_loop
from jt_edu.lens.loss_spikes import is_spike
from jt_edu.lens.train_monitor import MOST, dead_share
from jt_edu.lens.validation import measured
from jt_widgets.train import train_panel
from tests.widgets.live import finish
from tests.widgets.page import still

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((4, 16, 6)).astype(np.float32), RNG.integers(0, 3, (4, 16))


def batches():
    return [(jt.array(x), jt.array(y)) for x, y in zip(X, Y, strict=True)]


def network():
    jt.set_global_seed(3)
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))


def cross_entropy(net, x, y):
    return nn.cross_entropy_loss(net(x), y)


def panel_of(rule=jt.optim.Adam, loss=cross_entropy, given=None, **settings):
    net = network()
    options = {name: settings.pop(name) for name in ("lr", "momentum") if name in settings}
    return train_panel(net, rule(net.parameters(), **{"lr": 0.01, **options}), loss, given or batches(), **settings)


def plain_loop(rule, steps, **options):
    """What a loop written by hand finds out: loss, gradient norms, update / weight, by layer."""
    net = network()
    optimizer = rule(net.parameters(), **{"lr": 0.01, **options})
    rows = []
    for x, y in (batches() * steps)[:steps]:
        params = net.parameters()
        before = [p.numpy().copy() for p in params]
        loss = cross_entropy(net, x, y)
        optimizer.zero_grad()
        loss.backward()
        gradients = [p.grad.numpy().copy() for p in params]
        optimizer.step()
        moved = [p.numpy() - old for p, old in zip(params, before, strict=True)]
        ratio = [norm(moved[k : k + 2]) / norm(before[k : k + 2]) for k in (0, 2)]
        rows.append((loss.item(), [norm(gradients[k : k + 2]) for k in (0, 2)], ratio))
    return rows, [p.numpy() for p in net.parameters()]


def norm(arrays):
    return math.sqrt(sum(float((a.astype(np.float64) ** 2).sum()) for a in arrays))


def sent_by(panel):
    sent = []
    panel.send = sent.append
    return sent


# numbers


@pytest.mark.parametrize(
    ("rule", "options"),
    [(jt.optim.SGD, {"lr": 0.1}), (jt.optim.SGD, {"lr": 0.1, "momentum": 0.9}), (jt.optim.Adam, {})],
    ids=["SGD", "momentum", "Adam"],
)
def test_the_numbers_are_those_of_a_loop_written_by_hand(rule, options):
    panel = panel_of(rule, **options)

    rows = [panel.step() for _ in range(6)]

    wanted, params = plain_loop(rule, 6, **options)
    for row, (loss, gradient, ratio) in zip(rows, wanted, strict=True):
        np.testing.assert_allclose(row["loss"], loss, rtol=1e-5)
        np.testing.assert_allclose(row["gradient"], gradient, rtol=1e-4)
        np.testing.assert_allclose(row["ratio"], ratio, rtol=1e-3)
    for mine, other in zip(panel.training.params, params, strict=True):
        np.testing.assert_allclose(mine.numpy(), other, rtol=1e-4, atol=1e-6)
    assert panel.training.modules == ["0 Linear", "2 Linear"]


def test_dead_units_are_those_whose_output_is_zero_for_the_whole_batch():
    panel = panel_of()
    seen = []
    relu = panel.training.model[1]
    relu.register_forward_hook(lambda module, args, out: seen.append(out.numpy().copy()))

    row = panel.step()

    assert row["dead"] == [np.float32((seen[0].max(0) <= 0).mean())]
    assert panel.training.units == ["1 ReLU"]


def test_a_unit_of_a_picture_is_a_channel():
    out = np.zeros((2, 4, 3, 3), np.float32)
    out[1, 0, 2, 2] = out[0, 3, 0, 0] = 1.0

    assert dead_share(jt.array(out)).item() == 0.5


def test_a_parameter_that_no_gradient_reaches_counts_for_nothing():
    net = network()
    net[2].requires_grad_(False)
    panel = train_panel(net, jt.optim.SGD(net.parameters(), lr=0.1), cross_entropy, batches())

    row = panel.step()

    assert row["gradient"][1] == 0.0
    assert row["gradient"][0] > 0.0
    assert row["ratio"][1] is None


def test_the_optimizer_is_left_as_it_was():
    panel = panel_of()
    optimizer = panel.training.optimizer
    panel.step()

    assert "rule" not in vars(optimizer)
    assert all(set(state) == {"step", "mean", "square"} for state in optimizer.state)
    assert all("watched" not in group for group in optimizer.param_groups)
    optimizer.step(cross_entropy(panel.training.model, *batches()[0]))  # a step without the panel, planned apart
    assert panel.step()["gradient"][0] > 0.0


def test_an_optimizer_with_a_step_of_its_own_tells_only_the_loss():
    panel = panel_of(jt.optim.LBFGS, lr=0.1)

    row = panel.step()

    assert row["loss"] > 0.0
    assert (row["gradient"], row["ratio"]) == ([], [])
    assert "LBFGS moves parameters by itself" in " ".join(panel._now().page["notes"])


def test_the_scheduler_moves_the_learning_rate_that_is_shown():
    net = network()
    optimizer = jt.optim.SGD(net.parameters(), lr=0.4)
    panel = train_panel(
        net, optimizer, cross_entropy, batches(), scheduler=jt.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)
    )

    assert [panel.step()["lr"] for _ in range(3)] == [0.4, 0.2, 0.1]


def test_a_scheduler_that_asks_for_the_loss_is_told_it():
    net = network()
    optimizer = jt.optim.SGD(net.parameters(), lr=0.4)
    scheduler = jt.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, factor=0.5)
    panel = train_panel(net, optimizer, lambda net, x, y: net(x).mean() * 0 + 1, batches(), scheduler=scheduler)

    assert [panel.step()["lr"] for _ in range(4)] == [0.4, 0.4, 0.2, 0.1]


def test_a_step_counts_though_its_scheduler_raises():
    class Broken:
        def step(self):
            raise KeyError("mine")

    panel = panel_of(scheduler=Broken())

    with pytest.raises(KeyError, match="mine"):
        panel.step()

    assert (panel.training.done, len(panel.training.rows), list(panel.training.kept)) == (1, 1, [1])


# spikes


@pytest.mark.parametrize(
    ("loss", "before", "spike"),
    [
        (1.6, [1.0] * 20, True),
        (1.4, [1.0] * 20, False),  # 40 %
        (1.5, [1.0] * 7, False),  # too little is known
        (2.0, [1.0, 2.0, 0.5, 1.5] * 5, False),  # it jumps about anyway
        (0.1, [1.0] * 20, False),  # down is good
        (float("inf"), [], True),
        (3.1, [1.0] * 19 + [3.0], False),  # it stays up
        (3.0, [1.0] * 18 + [3.0, 3.1], False),
        (9.0, [1.0] * 19 + [3.0], True),  # it goes up further
        (float("nan"), [1.0] * 19 + [float("nan")], False),  # training has diverged, one step ago
        (float("inf"), ["nan"], False),
        (float("nan"), [float("nan"), 1.0], True),
        (3.1, [float("nan")] * 8, False),
        (-1.0, [-5.0] * 20, True),
        (-1.0, [-5.0] * 19 + [-1.1], False),  # it stays up
        (3, [1] * 20, True),
    ],
)
def test_what_a_spike_is(loss, before, spike):
    assert is_spike(loss, before) is spike


def test_a_loss_that_is_no_number_is_a_spike_and_travels():
    panel = panel_of(loss=lambda net, x, y: cross_entropy(net, x, y) * float("nan"))
    sent = sent_by(panel)

    row = panel.step()

    assert (row["loss"], row["spike"]) == ("nan", True)
    json.dumps(sent, allow_nan=False)
    assert "nan" in repr(panel)
    panel.picture_svg()


def test_of_a_training_that_diverges_the_first_step_is_the_spike_and_stays():
    factors = iter([1.0, *[float("nan")] * 6])
    panel = panel_of(loss=lambda net, x, y: cross_entropy(net, x, y) * next(factors), keep=2)

    spikes = [row["step"] for row in [panel.step() for _ in range(7)] if row["spike"]]

    assert spikes == [2]
    assert list(panel.training.kept) == [2, 6, 7]


def test_a_loss_is_compared_with_those_right_before_it_though_rows_were_thinned():
    factors = iter([9.0] * 20 + [1.0] * 20 + [3.0])
    panel = panel_of(loss=lambda net, x, y: net(x).mean() * 0 + next(factors))
    for _ in range(40):
        panel.step()
    panel.training.rows = panel.training.rows[:18] + panel.training.rows[-2:]

    assert panel.step()["spike"]


# the loop


def test_training_runs_in_an_async_cell_and_others_have_their_turn():
    panel, turns = panel_of(), []

    async def cell():
        other = asyncio.ensure_future(clicks())
        await panel.train(steps=40)
        other.cancel()

    async def clicks():
        while True:
            turns.append(panel.training.done)
            await asyncio.sleep(0)

    finish(cell())

    assert panel.training.done == 40
    assert len(set(turns)) > 30
    assert not panel.loop.running


@pytest.fixture
def restless(monkeypatch):
    """The loop never sleeps: it takes each turn that it is given. What stands still after many turns stands still."""
    monkeypatch.setattr(training_loop, "asyncio", SimpleNamespace(sleep=lambda _: asyncio.sleep(0)))


@pytest.mark.usefixtures("restless")
def test_a_click_pauses_a_step_makes_one_and_resume_goes_on():
    panel, seen = panel_of(), []

    async def cell():
        training = asyncio.ensure_future(panel.train(steps=30))
        await until(lambda: panel.training.done >= 5)
        panel.answer({"do": "pause"})
        stood = panel.training.done
        await turns()
        assert panel.training.done == stood
        seen.append(panel.answer({"do": "step"})["status"]["paused"])
        await until(lambda: panel.training.done == stood + 1)
        await turns()
        assert panel.training.done == stood + 1
        panel.answer({"do": "resume"})
        await training

    finish(cell())

    assert seen == [True]
    assert panel.training.done == 30


async def turns(count=100):
    """Others have their turn, so often."""
    for _ in range(count):
        await asyncio.sleep(0)


async def until(true):
    for _ in range(10_000):
        if true():
            return
        await turns(1)
    pytest.fail("it did not happen")


@pytest.mark.usefixtures("restless")
def test_a_click_from_another_thread_is_answered_while_training_runs():
    panel = panel_of()

    async def cell():
        training = asyncio.ensure_future(panel.train(steps=1000))
        await until(lambda: panel.training.done >= 3)
        clicks = threading.Thread(target=panel.answer, args=({"do": "pause"},))
        clicks.start()
        clicks.join()
        stood = panel.training.done
        await turns()
        assert panel.training.done == stood < 1000
        training.cancel()
        with pytest.raises(asyncio.CancelledError):
            await training

    finish(cell())

    assert not panel.loop.running


def test_an_interrupt_leaves_a_panel_that_can_go_on():
    calls = []

    def loss(net, x, y):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return cross_entropy(net, x, y)

    panel = panel_of(loss=loss)
    with pytest.raises(KeyboardInterrupt):
        finish(panel.train(steps=10))

    assert (panel.training.done, len(panel.training.rows), list(panel.training.kept)) == (3, 3, [1, 2, 3])
    assert panel.training.model[1]._hooks_after == ()  # no hook is left behind
    assert not panel.loop.running
    finish(panel.train(steps=2))
    assert [row["step"] for row in panel.training.rows] == [1, 2, 3, 4, 5]


def test_epochs_are_counted_by_the_batches():
    panel = panel_of()

    finish(panel.train(epochs=2))

    assert panel.training.done == 8
    assert [row["epoch"] for row in panel.training.rows] == [1] * 4 + [2] * 4


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda p: finish(p.train()), "steps=None, epochs=None"),
        (lambda p: finish(p.train(steps=0)), "steps=0"),
        (lambda p: finish(p.train(steps=1, epochs=1)), "steps=1, epochs=1"),
        (lambda p: p.answer({"do": "dance"}), "dance"),
        (lambda p: p.tape_at(99), "step 99"),
        (lambda p: train_panel(3, p.training.optimizer, cross_entropy, batches()), "int"),
        (lambda p: train_panel(p.training.model, None, cross_entropy, batches()), "NoneType"),
        (lambda p: train_panel(p.training.model, p.training.optimizer, 7, batches()), "int"),
        (lambda p: train_panel(p.training.model, p.training.optimizer, cross_entropy, 7), "int"),
        (
            lambda p: train_panel(p.training.model, p.training.optimizer, cross_entropy, []).step(),
            "no batch in epoch 1",
        ),
        (
            lambda p: train_panel(p.training.model, p.training.optimizer, lambda net, x, y: net(x), batches()).step(),
            "16",
        ),
        (lambda p: train_panel(p.training.model, p.training.optimizer, cross_entropy, batches(), keep=0), "keep=0"),
    ],
)
def test_a_wrong_call_is_told_what_is_wrong(wrong, words):
    with pytest.raises(jt.ArgumentError, match=words):
        wrong(panel_of())


def test_a_generator_that_ends_is_told():
    panel = panel_of(given=(batch for batch in batches()))

    for _ in range(4):
        panel.step()
    with pytest.raises(jt.ArgumentError, match="no batch in epoch 2"):
        panel.step()


# looking back


def test_a_kept_step_can_be_computed_again_and_nothing_else_changes():
    panel = panel_of()
    rows = [panel.step() for _ in range(5)]
    now = [p.numpy().copy() for p in panel.training.params]

    with panel.training.at(2) as loss:
        again = loss.item()

    assert math.isclose(again, rows[1]["loss"], rel_tol=1e-6)
    for p, value in zip(panel.training.params, now, strict=True):
        np.testing.assert_array_equal(p.numpy(), value)


def test_dropout_and_running_statistics_are_as_they_were():
    jt.set_global_seed(5)
    net = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3))
    panel = train_panel(net, jt.optim.SGD(net.parameters(), lr=0.1), cross_entropy, batches())
    rows = [panel.step() for _ in range(4)]
    running = [b.numpy().copy() for b in net.buffers()]

    with panel.training.at(3) as loss:
        assert math.isclose(loss.item(), rows[2]["loss"], rel_tol=1e-5)

    for b, value in zip(net.buffers(), running, strict=True):
        np.testing.assert_array_equal(b.numpy(), value)
    assert panel.step()["step"] == 5


def test_the_tape_of_a_step_has_its_loss():
    panel = panel_of()
    rows = [panel.step() for _ in range(3)]

    view = panel.tape_at(2)

    page = view.recording.page
    assert math.isclose(page["values"][str(page["tape"]["loss"])]["mean"], rows[1]["loss"], rel_tol=1e-5)
    assert {leaf["name"] for leaf in page["tape"]["leaves"]} >= {"0.weight", "2.bias"}


def test_kept_steps_are_bounded_and_spikes_stay():
    panel = panel_of(keep=3)
    for step in range(1, 8):
        panel.step()
        if step == 2:
            panel.training.rows[-1]["spike"] = True

    assert list(panel.training.kept) == [2, 5, 6, 7]


def test_of_many_spikes_the_highest_stay():
    panel = panel_of(keep=2)
    for loss in (9.0, 3.0, "nan", 8.0, "nan", "inf", 1.0):
        panel.step()
        panel.training.rows[-1].update(spike=True, loss=loss)
    panel.step()

    assert [step for step in panel.training.kept if panel.training.rows[step - 1]["spike"]] == [3, 5]


def test_a_row_that_comes_while_others_are_told_is_told_next():
    panel = panel_of()
    sent, waiting = sent_by(panel), []

    class Rows(list):
        def __iter__(self):
            yield from super().__iter__()
            if waiting:
                waiting.pop()()

    panel.training.step()
    panel.training.rows = Rows(panel.training.rows)
    waiting.append(panel.training.step)
    panel.loop.pause()
    panel.loop.pause()

    assert [[row["step"] for row in news["rows"]] for news in sent] == [[1], [2]]


def test_kept_steps_are_bounded_by_their_bytes():
    one = panel_of()
    one.step()
    size = one.training.kept_bytes

    panel = panel_of(keep_bytes=2 * size + 10)
    for _ in range(5):
        panel.step()

    assert list(panel.training.kept) == [4, 5]
    assert panel.training.kept_bytes == 2 * size


def test_rows_are_thinned_evenly_what_stands_out_stays_and_it_is_said():
    panel = panel_of()
    first = panel.step()
    panel.training.rows = [{**first, "step": k, "loss": 9.0 if k == 5 else 1.0} for k in range(1, MOST + 1)]
    panel.training.done = MOST

    panel.step()

    steps = [row["step"] for row in panel.training.rows]
    assert len(steps) <= MOST // 2
    assert {1, 5, MOST + 1} <= set(steps)
    assert max(b - a for a, b in itertools.pairwise(steps)) <= 2 * 8
    assert "left out" in repr(panel)
    assert panel.loop.status()["thinned"] == 1


# what is sent


def test_only_new_rows_are_sent():
    panel = panel_of()
    sent = sent_by(panel)

    for _ in range(3):
        panel.step()

    assert [[row["step"] for row in message["rows"]] for message in sent] == [[1], [2], [3]]
    assert sent[-1]["rows"][0] == panel.training.rows[-1]
    assert sent[-1]["status"]["done"] == 3


def test_in_an_async_cell_rows_are_gathered_and_none_is_lost(monkeypatch):
    ticks = itertools.count()
    clock = SimpleNamespace(monotonic=lambda: next(ticks) / 100, perf_counter=lambda: 0.0)  # some 10 ms for a step
    monkeypatch.setattr(training_loop, "time", clock)
    panel = panel_of()
    sent = sent_by(panel)

    finish(panel.train(steps=50))

    assert [row["step"] for message in sent if "rows" in message for row in message["rows"]] == list(range(1, 51))
    assert 5 <= len(sent) <= 2 + 10  # one at the begin, one at the end, and in between not more than one for 5 steps


def test_the_document_holds_the_whole_history_when_it_is_saved(tmp_path):
    panel = panel_of()
    before = panel.document
    for _ in range(3):
        panel.step()
    assert panel.document == before

    panel.save(tmp_path / "page.html")

    assert [row["step"] for row in panel.recording.page["train"]["rows"]] == [1, 2, 3]
    assert "3 steps of training" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_the_document_is_brought_up_to_date_by_what_shows_it_and_by_nothing_else(tmp_path):
    panel = panel_of()
    panel.step()
    first = panel.document

    told = panel.summary
    untouched = panel.document
    panel.refresh()
    refreshed = panel.document
    panel.step()
    panel.save(tmp_path / "panel.html")
    saved = panel.document
    panel.step()
    shown = panel.snapshot().html

    assert base64.b64encode(panel.document).decode() in shown
    assert told == "Sequential, trained by Adam."
    assert untouched is first
    assert len({first, refreshed, saved, panel.document}) == 4


def test_the_text_has_the_last_numbers():
    panel = panel_of()
    assert repr(panel) == "No step of training yet."

    panel.step()

    assert "1 step of training, loss" in repr(panel)
    assert "0 Linear" in repr(panel)
    assert "of its units are dead" in repr(panel)


# pages


@pytest.fixture
def trained():
    """Thirty steps, with a spike that is kept."""
    panel = panel_of(keep=12)
    for _ in range(30):
        if panel.training.done == 22:
            weight = panel.training.model[0].weight
            weight.update(weight * 20)
        panel.step()
    return panel


def test_the_page_shows_the_rows(page_of, trained):
    page = page_of(trained)
    rows = trained.training.rows
    assert sum(row["spike"] for row in rows) >= 1

    page.locator(".jt-body").focus()
    page.keyboard.press("End")
    assert page.locator(".jt-plot-detail").inner_text().startswith("Step 30 loss ")
    page.keyboard.press("[")
    spike = next(row for row in reversed(rows[:-1]) if row["spike"])
    assert page.locator(".jt-plot-detail strong").inner_text() == f"Step {spike['step']}"
    assert "A spike is a loss that" in page.locator(".jt-plot-detail").inner_text()
    cells = [cell.inner_text() for cell in page.locator(".jt-plot-layers td").all()]
    assert [float(cells[1]), float(cells[4])] == [pytest.approx(value, rel=1e-3) for value in spike["gradient"]]
    assert page.locator(".jt-plot-spike").count() == sum(row["spike"] for row in rows)
    assert page.locator(".jt-plot-kept").count() == len(trained.training.kept)

    page.keyboard.press("t")
    table = [row.locator("td").all_inner_texts() for row in page.locator(".jt-table tbody tr").all()]
    assert [int(row[0]) for row in table] == list(range(1, 31))
    assert [float(row[2].replace(",", "")) for row in table] == [row["loss"] for row in rows]
    assert [float(row[6].replace(",", "")) for row in table] == [row["gradient"][0] for row in rows]


def test_a_saved_page_cannot_train(page_of, trained):
    page = page_of(trained)

    assert page.get_by_role("button", name="Step one batch").is_disabled()
    assert page.get_by_role("button", name="Pause").is_disabled()


def test_keys_that_train_do_nothing_on_a_saved_page(page_of, trained):
    page = page_of(trained)
    page.locator(".jt-body").focus()

    page.keyboard.press("Space")
    page.keyboard.press("s")
    still(page)

    assert page.locator(".jt-plot-bar [role=status]").inner_text() == ""


def test_a_spike_that_a_log_scale_has_no_place_for_stands_at_its_foot(page_of, trained):
    trained.training.rows[9].update(loss=-1.0, spike=True)
    page = page_of(trained)
    page.locator(".jt-body").focus()

    page.keyboard.press("l")
    still(page)

    marks = page.locator(".jt-plot-spike")
    assert marks.count() >= 2
    assert all(re.fullmatch(r"[Mmlz\d. -]+", mark.get_attribute("d")) for mark in marks.all())


def test_a_click_on_the_curve_goes_to_the_nearest_step(page_of, trained):
    page = page_of(trained)
    axis = page.locator(".jt-plot .jt-plot-axis").first.bounding_box()

    page.mouse.click(axis["x"] + axis["width"] * 15 / 30, axis["y"] + 20)
    still(page)

    assert page.locator(".jt-plot-detail strong").inner_text() == "Step 15"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_legible_and_accessible(page_of, axe, geometry, trained, scheme):
    page = page_of(trained, color_scheme=scheme)

    assert axe(page) == []
    assert geometry(page) == []


def test_a_page_of_a_training_that_has_not_begun_says_how_to_begin(page_of, axe):
    page = page_of(panel_of())

    assert "No step yet" in page.locator(".jt-body").inner_text()
    assert axe(page) == []


def test_a_live_panel_steps_shows_the_row_and_opens_a_tape(live, trained):
    page = live(trained, viewport={"width": 1000, "height": 1400})
    page.get_by_text("step 30 of 30").wait_for()

    page.get_by_role("button", name="Step one batch").click()
    page.get_by_text("step 31 of 31").wait_for()
    page.locator(".jt-plot-detail strong", has_text="Step 31").wait_for()  # drawn with the next frame
    still(page)

    page.locator(".jt-plot-spike:not(.jt-plot-gone)").last.click()
    page.locator(".jt-plot-inner .jt-tape").wait_for()
    spike = next(row["step"] for row in reversed(trained.training.rows) if row["spike"])
    assert page.locator(".jt-plot-inner p").first.inner_text() == f"Step {spike}: forward and backward Close"
    page.get_by_role("button", name="Close").click()
    page.locator(".jt-plot-inner").wait_for(state="hidden")


def test_one_click_makes_one_step_and_a_held_key_no_more(live, trained):
    page = live(trained)
    one = page.get_by_role("button", name="Step one batch")
    for number in (31, 32, 33):
        one.click()
        page.get_by_text(f"step {number} of {number}").wait_for()
        still(page)
    page.locator(".jt-body").focus()
    for _ in range(3):
        page.keyboard.down("s")  # the first one counts, the others are repeats
        page.get_by_text("step 34 of 34").wait_for()
        still(page)
    page.keyboard.up("s")
    assert trained.training.done == 34


def test_the_button_that_has_focus_keeps_it_when_a_step_comes(live, trained):
    page = live(trained)
    page.get_by_role("button", name="Open it as a tape").focus()

    page.keyboard.press("s")
    page.locator(".jt-plot-detail strong", has_text="Step 31").wait_for()
    still(page)

    assert page.evaluate("document.activeElement.textContent") == "Open it as a tape"


def test_the_last_tape_that_was_asked_for_is_opened_once(live, trained):
    page = live(trained)
    page.locator(".jt-body").focus()

    for key in ("End", "Enter", "ArrowLeft", "Enter", "Enter"):
        page.keyboard.press(key)
    page.locator(".jt-plot-inner .jt-tape").wait_for()
    still(page)

    assert page.locator(".jt-plot-inner > p").all_inner_texts() == ["Step 29: forward and backward Close"]
    assert page.locator(".jt-plot-inner .jt-tape").count() == 1


def test_a_damaged_tape_is_refused_in_words(live, trained, monkeypatch):
    answer = trained.answer
    damage = lambda message: answer(message) | ({"document": "AAAA"} if message["do"] == "tape" else {})  # noqa: E731
    monkeypatch.setattr(trained, "answer", damage)
    page = live(trained)
    page.get_by_role("button", name="Open it as a tape").click()

    page.locator(".jt-plot-bar [role=status]", has_text="damaged").wait_for()

    assert not page.locator(".jt-plot-inner").is_visible()


def test_what_a_pointer_is_on_stays_until_it_is_up(live, trained):
    page = live(trained, viewport={"width": 1000, "height": 1400})
    spike = page.locator(".jt-plot-spike:not(.jt-plot-gone)").last.bounding_box()
    page.mouse.move(spike["x"] + spike["width"] / 2, spike["y"] + spike["height"] / 2)
    page.mouse.down()
    page.keyboard.press("s")
    still(page)  # a new row has come, and all is drawn again but for the pointer
    assert trained.training.done == 31
    page.mouse.up()
    page.locator(".jt-plot-inner .jt-tape").wait_for()


def test_a_module_is_chosen_by_keys(page_of, trained):
    page = page_of(trained)
    page.locator(".jt-body").focus()
    shown = page.locator("tr.jt-plot-shown").count()

    page.keyboard.press("ArrowDown")
    page.keyboard.press("m")
    still(page)

    assert page.locator("tr.jt-plot-shown").count() == shown - 1
    assert page.locator("tr.jt-plot-here").count() == 1


def test_what_python_refuses_is_said_in_the_view(live, trained):
    trained.training.batches, trained.training._left = [], iter(())

    page = live(trained)
    page.get_by_role("button", name="Step one batch").click()

    page.get_by_text("no batch in epoch").wait_for()


# As while an output is out of sight.
BLIND = "() => { window.ResizeObserver = class { observe() {} disconnect() {} } }"


def test_charts_that_were_made_narrow_out_of_sight_are_whole_when_they_come_into_sight(live, trained):
    page = live(trained, before=BLIND, viewport={"width": 1000, "height": 900})
    wide = "document.querySelector('.jt-plot')?.clientWidth"
    page.evaluate("() => { document.querySelector('main').style.cssText = 'width: 280px; margin-top: 4000px' }")
    page.locator(".jt-body").focus()
    for key in ("m", "ArrowDown", "m"):
        page.keyboard.press(key)
    still(page)  # drawn again, narrow
    narrow = page.evaluate(wide)

    page.evaluate("() => { document.querySelector('main').style.width = '900px' }")
    page.evaluate("() => scrollTo(0, 0)")
    still(page)
    page.evaluate("() => document.querySelector('.jt-plot').scrollIntoView()")

    page.wait_for_function(f"() => {wide} > 800")
    assert narrow <= 300


@pytest.mark.parametrize("width", [900, 1280])
def test_all_charts_stand_in_a_notebook_without_a_scroll_bar(live, trained, width):
    page = live(trained)
    page.set_viewport_size({"width": width, "height": 800})
    still(page)

    shown, high = page.locator(".jt-body").evaluate("body => [body.clientHeight, body.scrollHeight]")

    assert shown == high > 620


# validation, and how the loss is drawn


def right(net, x, y):
    return (net(x).argmax(1) == y).float().mean()


def test_validation_is_measured_after_each_epoch_and_at_the_end_in_eval_mode():
    modes = []

    def loss(net, x, y):
        modes.append(net.is_train)
        return cross_entropy(net, x, y)

    panel = panel_of(loss=loss, validation=batches()[:2], accuracy=right)
    sent = sent_by(panel)

    finish(panel.train(steps=6))

    checks = panel.training.checks
    assert [check["step"] for check in checks] == [4, 6]
    assert modes == [True] * 4 + [False] * 2 + [True] * 2 + [False] * 2
    assert panel.training.model.is_train
    with jt.no_grad():
        net, x, y = panel.training.model, jt.array(np.concatenate(X[:2])), jt.array(np.concatenate(Y[:2]))
        assert checks[-1]["loss"] == pytest.approx(cross_entropy(net, x, y).item(), rel=1e-5)
        assert checks[-1]["accuracy"] == pytest.approx(right(net, x, y).item())
    assert sent[-1]["checks"] == checks
    assert panel.recording.page["train"]["checks"] == checks
    assert "validation" in panel.picture_svg()
    assert "Validation after step 6: loss " in repr(panel)


def test_a_batch_counts_as_often_as_it_has_examples():
    found = measured(jt.nn.Linear(2, 1), lambda net, x, y: jt.array(y), [(jt.ones(3, 2), 1.0), (jt.ones(1, 2), 5.0)])

    assert found == {"loss": 2.0, "accuracy": None}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"validation": 3}, "validation yields batches; found int"),
        ({"validation": (b for b in [])}, "found generator. Try: a DataLoader or a list, which begin anew"),
        ({"scheduler": 3}, r"a scheduler has a method step\(\), or step\(loss\); found 3"),
        ({"scheduler": SimpleNamespace(step=lambda a, b: None)}, "a scheduler has a method step"),
        ({"accuracy": right}, "accuracy is a function for the batches of validation"),
        ({"validation": [], "accuracy": 5}, "accuracy is a function for the batches of validation"),
    ],
)
def test_what_validation_cannot_take_is_said(settings, words):
    with pytest.raises(jt.ArgumentError, match=words):
        panel_of(**settings)


def test_validation_over_nothing_is_an_error_that_says_so():
    with pytest.raises(jt.ArgumentError, match="validation yields batches; found none"):
        finish(panel_of(validation=[]).train(steps=1))


def test_a_small_jump_near_zero_is_no_spike_and_a_large_one_is():
    low = [0.001] * 20

    assert is_spike(0.003, low)  # all that is known is its neighbours
    assert not is_spike(0.003, low, 2.3)
    assert is_spike(0.1, low, 2.3)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, asyncio.CancelledError])
def test_an_interrupt_says_at_which_step_training_stopped_and_not_where_the_code_was(stop):
    calls = []

    def loss(net, x, y):
        calls.append(1)
        if len(calls) == 4:
            raise stop
        return cross_entropy(net, x, y)

    panel = panel_of(loss=loss)
    with pytest.raises(stop) as caught:
        finish(panel.train(steps=10))

    assert caught.value._render_traceback_() == ["Stopped at step 3 of 10; train(...) goes on."]


@pytest.fixture
def checked():
    panel = panel_of(validation=batches()[:1], accuracy=right)
    finish(panel.train(steps=12))
    return panel


def heights(page, line):
    """The places from top to bottom of a line in the chart of the loss."""
    path = page.locator(".jt-plot").first.locator(f".jt-plot-line.jt-plot-s{line}").get_attribute("d")
    return [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", path)]


def test_validation_and_accuracy_are_drawn(page_of, checked):
    page = page_of(checked)

    assert len(heights(page, 1)) == len(checked.training.checks) == 3
    assert "validation" in page.locator(".jt-plot-legend").first.inner_text()
    assert page.locator("svg[aria-label^='accuracy over']").count() == 1


def test_the_loss_can_be_smoothed_and_both_lines_are_seen(page_of, checked):
    page = page_of(checked)
    before = heights(page, 0)

    slider = page.get_by_role("slider", name="smoothing of the loss")
    slider.focus()
    page.keyboard.press("End")
    still(page)

    jumps = lambda line: sum(abs(a - b) for a, b in itertools.pairwise(line))  # noqa: E731
    assert heights(page, 9) == before
    assert jumps(heights(page, 0)) < jumps(before) / 2
    assert page.locator(".jt-plot-detail strong").inner_text() == "Step 12"  # the key moved the slider alone


def test_the_loss_has_a_log_scale_if_one_wants(page_of, checked):
    page = page_of(checked)
    ticks = lambda: page.locator(".jt-plot").first.locator(".jt-plot-tick").all_text_contents()  # noqa: E731
    linear = ticks()
    assert linear[0] == "0"

    page.locator(".jt-body").focus()
    page.keyboard.press("l")
    still(page)

    assert page.get_by_role("button", name="Log scale").get_attribute("aria-pressed") == "true"
    assert ticks() != linear


def test_of_many_modules_those_with_a_line_are_listed_until_all_are_asked_for(page_of):
    net = jt.nn.Sequential(*(jt.nn.Linear(2, 2) for _ in range(20)))
    panel = train_panel(
        net, jt.optim.SGD(net.parameters(), 0.1), lambda net, x: (net(x) ** 2).mean(), [(jt.ones(3, 2),)]
    )
    panel.step()
    page = page_of(panel)
    rows = page.locator(".jt-plot-layers tbody tr:visible")
    assert rows.count() == 6

    page.get_by_role("button", name="All 20 modules").click()
    assert rows.count() == 20


def test_gradients_of_zero_have_no_place_on_a_log_scale_and_spoil_no_picture():
    panel = panel_of(loss=lambda net, x, y: cross_entropy(net, x, y) * 0.0)
    panel.step()
    panel.step()

    assert panel.training.rows[-1]["gradient"] == [0.0, 0.0]
    assert "gradient norm" in panel.picture_svg()
