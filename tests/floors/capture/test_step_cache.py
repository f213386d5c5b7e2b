"""Replayed steps: a step that was planned for an earlier loss does exactly what building it anew would do."""

import copy
import warnings
import weakref

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn, optim
from jt_edu.capture.step_cache import Replays
from jt_edu.variable import autograd
from jt_edu.variable.subgraph_cache import template

pytestmark = pytest.mark.usefixtures("python_backend")


@pytest.fixture
def never(monkeypatch):
    """A function that switches replaying off."""
    return lambda: monkeypatch.setattr(Replays, "run", lambda *_: None)


def same_both_ways(never, story):
    """What a story tells: the same with replayed steps and with steps that are all built anew."""
    jt.set_global_seed(5)
    replayed = story()
    never()
    jt.set_global_seed(5)
    built = story()
    assert replayed == built
    return built


def network():
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(0.5), nn.Linear(4, 2))


def batch(k, n=6):
    rng = np.random.default_rng(k)
    return jt.array(rng.normal(size=(n, 3)).astype("float32")), jt.array(rng.integers(0, 2, n))


def numbers(model):
    return [v.numpy().tolist() for v in model.state_dict().values()]


MAKERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.1),
    "momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.5, weight_decay=0.01),
    "nesterov": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True),
    "adam": lambda p: optim.Adam(p, lr=0.1, weight_decay=0.1),
    "adamw": lambda p: optim.AdamW(p, lr=0.1),
}


@pytest.mark.parametrize("name", MAKERS)
def test_training_moves_everything_to_the_same_bits(never, name):
    def story():
        model, losses = network(), []
        optimizer = MAKERS[name](model.parameters())
        schedule = optim.StepLR(optimizer, 2, 0.5) if hasattr(optim, "StepLR") else None
        for k in range(6):
            x, labels = batch(k, 6 if k != 3 else 4)  # one batch is shorter
            loss = nn.cross_entropy_loss(model(x), labels)
            optimizer.step(loss)
            losses.append(loss.item())
            if schedule is not None:
                schedule.step()
        return losses, numbers(model), [{k: np.asarray(v).tolist() for k, v in s.items()} for s in optimizer.state]

    same_both_ways(never, story)


def test_the_rule_runs_as_python_once_for_each_structure(monkeypatch):
    runs = []
    rule = optim.SGD.rule
    monkeypatch.setattr(optim.SGD, "rule", lambda *args: runs.append(1) or rule(*args))
    w = jt.array([1.0, 2.0])
    optimizer = optim.SGD([w], lr=0.1)

    for n in (2, 2, 3, 2, 3):
        optimizer.step((w[:1] * jt.array(np.ones(n))).sum())

    assert len(runs) == 2


def test_settings_changed_between_steps_count_from_the_next_step_on(never):
    def story():
        w = jt.array([1.0, -2.0])
        optimizer = optim.SGD([w], lr=0.1, momentum=0.9)
        told = []
        for k in range(8):
            group = optimizer.param_groups[0]
            group["lr"] = 0.1 / (k + 1)
            group["weight_decay"] = 0.0 if k < 3 else 0.1 * k
            group["momentum"] = 0.0 if k in (4, 5) else 0.5
            group["nesterov"] = k == 7
            optimizer.step((w * w).sum())
            told.append(w.tolist())
        return told

    same_both_ways(never, story)


def test_a_setting_that_makes_no_sense_is_refused_in_a_later_step_too():
    w = jt.array([1.0])
    optimizer = optim.SGD([w], lr=0.1)
    for _ in range(2):
        optimizer.step((w * w).sum())
    before = w.tolist()
    optimizer.param_groups[0]["lr"] = -1.0

    with pytest.raises(jt.ArgumentError, match="-1"):
        optimizer.step((w * w).sum())

    assert w.tolist() == before


@pytest.mark.parametrize("cast", [lambda x: x, lambda x: x.double(), lambda x: x**1.5])
def test_numbers_that_differ_from_loss_to_loss_reach_the_gradient(never, cast):
    def story():
        w, told = jt.array([1.0, 2.0]), []
        optimizer = optim.SGD([w], lr=0.1)
        for k in (1.0, 3.0, -2.0):
            optimizer.step((cast(w * w) * k + cast(w * w + 1) ** (k + 0.25)).sum())
            told.append(w.tolist())
        return told

    same_both_ways(never, story)


def test_what_the_learner_still_holds_is_computed_and_can_be_differentiated(never):
    def story():
        w, x, told = jt.array([[1.0, 2.0]]), jt.array([[1.0], [3.0]]), []
        optimizer = optim.SGD([w], lr=0.1)
        for k in range(4):
            before = w.numpy().copy()
            scores = x @ w
            other = scores * 2
            optimizer.step((scores * scores).sum())
            told += [scores.tolist(), other.tolist(), jt.grad(scores.sum(), x).tolist(), before.tolist(), k]
        return told

    same_both_ways(never, story)


LOOKS = {
    "the answers": lambda hidden, out: out.argmax(1).numpy(),
    "a picture of the answers": lambda hidden, out: repr(out),
    "a value inside": lambda hidden, out: hidden.numpy(),
    "first a value inside, then the answers": lambda hidden, out: (hidden.numpy(), out.numpy()),
    "the mean of the answers": lambda hidden, out: out.mean().item(),
    "nothing": lambda hidden, out: None,
}


@pytest.mark.parametrize("every", [1, 2])
@pytest.mark.parametrize("look", LOOKS)
def test_what_was_looked_at_before_the_step_is_differentiated_through(never, look, every):
    def story():
        start, end = network(), nn.Sequential(nn.LayerNorm(2), nn.GELU(), nn.Linear(2, 2))
        optimizer, losses = optim.SGD([*start.parameters(), *end.parameters()], lr=0.5, momentum=0.5), []
        for k in range(6):
            x, t = batch(k)
            hidden = start(x)
            out = end(hidden)
            if k % every == 0:
                LOOKS[look](hidden, out)
            loss = nn.cross_entropy_loss(out, t)
            optimizer.step(loss)
            losses.append(loss.item())
        return losses, numbers(start), numbers(end)

    told = same_both_ways(never, story)

    assert len(set(told[0])) == 6


def test_a_looked_at_value_without_a_gradient_of_its_own_is_a_leaf_as_any_other(never):
    def story():
        w, told = jt.array([1.0, 2.0]), []
        optimizer = optim.SGD([w], lr=0.1)
        for k in range(4):
            x = (jt.array([1.0, 3.0]) * k).detach() + 1
            x.numpy()
            with jt.no_grad():
                y = w * x
            y.numpy()
            optimizer.step((w * x * y).sum())
            told.append(w.tolist())
        return told

    same_both_ways(never, story)


def test_two_functions_that_end_alike_are_not_taken_for_each_other_behind_a_value_that_was_looked_at(never):
    twice, square = template(lambda x: x * 2 + x), template(lambda x: x * x + x)

    def story():
        w, told = jt.array([3.0]), []
        optimizer = optim.SGD([w], lr=0.1)
        for k in range(8):
            y = (twice if k % 2 else square)(w)
            y.numpy()
            optimizer.step(y.sum())
            told.append(w.item())
        return told

    same_both_ways(never, story)


def test_what_a_looked_at_value_was_computed_from_may_change_places(never):
    def story():
        w, v, told = jt.array([3.0]), jt.array([2.0]), []
        optimizer = optim.SGD([w, v], lr=0.1)
        for k in range(6):
            y = w - v if k % 2 else v - w
            y.numpy()
            optimizer.step((w * 2 + v * 3 + y * 2 * 2).sum())
            told.append((w.item(), v.item()))
        return told

    same_both_ways(never, story)


def test_what_is_still_held_can_be_differentiated_through_what_nobody_holds(never):
    def story():
        w, x, told = jt.array([[1.0, 2.0]]), jt.array([[1.0], [3.0]]), []
        optimizer = optim.SGD([w], lr=0.01)
        for _ in range(4):
            held = ((x @ w).sin() * 2).exp() * 3
            optimizer.step((held * held).sum())
            told += [held.tolist(), jt.grad(held.sum(), x).tolist()]
        return told

    same_both_ways(never, story)


def test_a_gradient_of_ones_own_behind_a_value_that_was_looked_at_is_asked_in_every_step():
    class Own(jt.Function):
        def execute(self, x):
            self.x = x
            return x * x

        def grad(self, dout):
            return dout * 2 * self.x

    w = jt.array([1.0])
    optimizer = optim.SGD([w], lr=0.25)
    for k in (1.0, 2.0, 3.0):
        before = w.item()
        y = Own()(w * k)
        y.numpy()
        optimizer.step(y.sum())
        assert w.item() == before - 0.25 * 2 * k * k * before


def test_a_hook_behind_a_value_that_was_looked_at_is_called_in_every_step():
    w, seen = jt.array([1.0]), []
    optimizer = optim.SGD([w], lr=0.25)
    for _ in range(4):
        h = w * 3
        h.register_hook(lambda d: seen.append(1) or d * 0)
        y = h * 2
        y.numpy()
        optimizer.step(y.sum())
    assert (w.item(), len(seen)) == (1.0, 4)


def test_losses_that_stay_in_a_list_keep_their_numbers():
    w = jt.array([1.0])
    optimizer = optim.SGD([w], lr=0.25)
    losses = []
    for _ in range(3):
        losses.append((w * w).sum())
        optimizer.step(losses[-1])
    assert [round(loss.item(), 6) for loss in losses] == [1.0, 0.25, 0.0625]


def test_a_parameter_that_is_stopped_stays_from_then_on(never):
    def story():
        a, b, told = jt.array([1.0]), jt.array([2.0]), []
        optimizer = optim.SGD([a, b], lr=0.1)
        for k in range(5):
            b.requires_grad = k not in (2, 3)
            optimizer.step((a * a * b * b).sum())
            told.append((a.item(), b.item()))
        return told

    told = same_both_ways(never, story)

    assert told[1][1] == told[2][1] == told[3][1]


def test_gradients_collected_before_are_added(never):
    def story():
        w, told = jt.array([1.0]), []
        optimizer = optim.SGD([w], lr=0.1)
        for k in range(5):
            if k in (2, 4):
                optimizer.backward((w * 3).sum())
            optimizer.step((w * w).sum())
            told.append(w.item())
        return told

    same_both_ways(never, story)


def test_a_hook_on_a_parameter_or_a_value_inside_is_called_in_every_step():
    w, seen = jt.array([1.0]), []
    optimizer = optim.SGD([w], lr=0.1)
    for k in range(4):
        y = w * w
        if k >= 2:
            y.register_hook(lambda d: seen.append(1) or d * 0)
        before = w.item()
        optimizer.step(y.sum())
        assert (w.item() == before) == (k >= 2)
    assert len(seen) == 2


def test_a_gradient_of_ones_own_is_asked_in_every_step():
    asked = []

    class Own(jt.Function):
        def execute(self, x):
            return x * x

        def grad(self, dout):
            asked.append(1)
            return dout * len(asked)

    w = jt.array([8.0])
    optimizer = optim.SGD([w], lr=1.0)
    told = []
    for _ in range(3):
        optimizer.step(Own()(w).sum())
        told.append(w.item())
    assert told == [7.0, 5.0, 2.0]


def test_a_rule_of_ones_own_runs_in_every_step_unless_it_says_otherwise():
    class Halving(optim.SGD):
        def rule(self, p, g, state, factor):
            self.now = getattr(self, "now", 1.0) / 2
            return p - g * self.now, {}

    w = jt.array([0.0])
    optimizer = Halving([w], lr=1.0)
    for _ in range(3):
        optimizer.step(w.sum())
    assert w.item() == -(0.5 + 0.25 + 0.125)


def test_retain_graph_keeps_the_graph_for_a_second_optimizer():
    a, b = jt.array([1.0]), jt.array([2.0])
    first, second = optim.SGD([a], lr=0.5), optim.SGD([b], lr=0.5)
    for _ in range(2):
        loss = (a * b).sum()
        first.step(loss, retain_graph=True)
        second.step(loss)
    assert (a.item(), b.item()) == (-0.75, 1.5)  # 1 - 2/2, 2 - 1/2; then 0 - 1.5/2, 1.5 - 0/2


def test_a_trace_sees_the_gradients_of_every_step():
    w = jt.array([1.0])
    optimizer = optim.SGD([w], lr=0.1)
    for _ in range(3):
        with jt.trace() as t:
            optimizer.step((w * w).sum())
        assert len(t.built) > 6


def test_loading_a_state_in_between_is_where_the_next_step_starts(never):
    def story():
        w, told = jt.array([1.0]), []
        optimizer = optim.Adam([w], lr=0.1)
        saved = None
        for k in range(6):
            if k == 2:
                saved = optimizer.state_dict()
            if k == 4:
                optimizer.load_state_dict(saved)
            optimizer.step((w * w).sum())
            told.append(w.item())
        return told

    same_both_ways(never, story)


def test_on_several_ranks_steps_go_on_from_a_file(tmp_path):
    """The first step copies the states it was given, and the messages of the loss must not go out with them."""

    def train(net, adam, steps):
        losses = []
        for k in steps:
            loss = (net(jt.array(np.random.default_rng(k).random((4, 2)).astype("float32"))) ** 2).mean()
            adam.step(loss)
            losses.append(loss.item())
        return losses

    def made():
        jt.set_global_seed(0)
        net = jt.nn.Sequential(jt.nn.Linear(2, 3), jt.nn.BatchNorm1d(3), jt.nn.Linear(3, 1))
        return net, optim.Adam(net.parameters(), lr=0.1)

    net, adam = made()
    train(net, adam, range(2))
    jt.save({"net": net.state_dict(), "adam": adam.state_dict()}, tmp_path / "state.npz")

    def program():
        net, adam = made()
        state = jt.load(tmp_path / "state.npz")
        net.load_state_dict(state["net"])
        adam.load_state_dict(state["adam"])
        return train(net, adam, range(2, 5))

    alone = train(net, adam, range(2, 5))
    for losses in jt.simulate(2)(program):
        assert losses == pytest.approx(alone, rel=1e-5)


def test_an_error_in_a_later_step_names_the_line_of_that_step():
    w = jt.array([[1.0], [2.0]])
    optimizer = optim.SGD([w], lr=0.1)

    def step(k):
        optimizer.step(w[jt.array(k)].sum())

    step([0, 1])
    step([1, 1])
    before = w.tolist()
    with pytest.raises(jt.RangeError, match="index 7") as error:
        step([1, 7])

    assert "w[jt.array(k)]" in str(error.value)
    assert w.tolist() == before and optimizer.state[0]["step"] == 2


# ------------------------------------------------------------------------------------------ backward(), then step()


GIVEN = {
    "a loss": lambda loss: loss.backward(),
    "a loss that was printed": lambda loss: (repr(loss), loss.backward()),
    "a gradient": lambda loss: loss.backward(jt.array(0.5)),
    "two losses": lambda loss: ((loss * 2).backward(), (loss * loss).backward()),
}


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("forget", [True, False])
@pytest.mark.parametrize("name", MAKERS)
def test_gradients_that_add_up_are_the_same_bits(never, name, forget, given):
    def story():
        model, told = network(), []
        optimizer = MAKERS[name](model.parameters())
        for k in range(6):
            x, t = batch(k, 6 if k != 4 else 3)
            if forget:
                optimizer.zero_grad(set_to_none=k % 2 == 0)
            if k == 3:
                optimizer.param_groups[0]["lr"] = 0.02
            loss = nn.cross_entropy_loss(model(x), t)
            GIVEN[given](loss)
            told += [loss.item(), *(p.grad.tolist() for p in model.parameters()), x.grad.tolist()]
            optimizer.step()
            told.append(numbers(model))
        return told

    same_both_ways(never, story)


def test_gradients_are_built_once_for_each_structure(monkeypatch):
    built = []
    found = autograd.gradients
    monkeypatch.setattr(autograd, "gradients", lambda *given: built.append(1) or found(*given))
    model = nn.Sequential(network(), nn.Tanh())  # no other test has the gradient of this one
    optimizer = optim.Adam(model.parameters())
    for k in range(5):
        optimizer.zero_grad()
        x, t = batch(k)
        nn.cross_entropy_loss(model(x), t).backward()
        optimizer.step()

    assert 1 <= len(built) <= 2


def test_the_rule_is_asked_once_for_gradients_of_the_same_structure(monkeypatch):
    asked = []
    rule = optim.SGD.rule
    monkeypatch.setattr(optim.SGD, "rule", lambda *given: asked.append(1) or rule(*given))
    w = jt.array([1.0])
    optimizer = optim.SGD([w], lr=0.25)
    for _ in range(4):
        (w * 2).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    assert (w.item(), len(asked)) == (-1.0, 1)


def test_a_gradient_that_is_a_number_is_an_array_for_each_leaf():
    a, b = jt.array(2.0), jt.array(3.0)
    for k in range(4):
        (a + b).backward()
        a.backward()

        assert (a.grad.item(), b.grad.item()) == (2.0 * (k + 1), k + 1.0)


def test_replayed_gradients_keep_no_batch_alive():
    w = jt.array([[1.0, 2.0]])
    gone = []
    for k in range(3):
        x = jt.array([[1.0 + k], [3.0]])
        gone.append(weakref.ref(x))
        (x @ w).sum().backward()
        del x

    assert [ref() for ref in gone] == [None] * 3


def test_leaves_that_come_and_go_get_their_own_gradients():
    w, v = jt.array([1.0, 2.0]), jt.array([3.0, 4.0])
    for k in range(6):
        w.grad = v.grad = None
        v.requires_grad = k % 2 == 0
        (w * v * (k + 1.0)).sum().backward()

        assert w.grad.tolist() == [3.0 * (k + 1), 4.0 * (k + 1)]
        assert (v.grad is None) == (k % 2 == 1)


def test_a_hook_and_a_function_are_asked_by_every_backward():
    w, seen = jt.array([1.0]), []
    for _ in range(4):
        y = w * 3
        y.register_hook(lambda d: seen.append(1) or d * 2)
        y.sum().backward()

    assert (w.grad.item(), len(seen)) == (24.0, 4)


def test_which_leaves_have_a_gradient_already_counts():
    w, v = jt.array([1.0]), jt.array([2.0])
    for k in range(6):
        w.grad, v.grad = (jt.array([10.0]), None) if k % 2 else (None, jt.array([100.0]))
        (w * v).sum().backward()

        assert (w.grad.item(), v.grad.item()) == ((12.0, 1.0) if k % 2 else (2.0, 101.0))


def test_which_parameters_have_a_gradient_counts():
    w, v = jt.array([0.0]), jt.array([0.0])
    optimizer = optim.SGD([w, v], lr=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a parameter without a gradient it is told once
        for k in range(6):
            w.grad, v.grad = (jt.array([1.0]), None) if k % 2 else (None, jt.array([10.0]))
            optimizer.step()

    assert (w.item(), v.item()) == (-3.0, -30.0)


def test_each_backward_starts_from_the_gradient_that_it_is_given():
    for k in (1.0, 2.0, 3.0, 4.0):
        w = jt.array([1.0, 2.0])
        (w * 3).backward(jt.array([k, -k]))

        assert w.grad.tolist() == [3 * k, -3 * k]


@pytest.mark.parametrize("build", [lambda x: x, lambda x: x + 1, lambda x: x - jt.array([3.0, 4.0]), jt.Var])
def test_a_gradient_that_is_the_one_it_started_from_arrives(build):
    for k in (1.0, 2.0, 3.0):
        x = jt.array([1.0, 2.0])
        build(x).backward(jt.array([5.0, k]))

        assert x.grad.tolist() == [5.0, k]


def test_leaves_that_share_a_gradient_are_told_from_those_that_do_not():
    def told(third):
        a, b, c = (jt.array([v]) for v in (1.0, 2.0, 3.0))
        shared = jt.array([1.0]), jt.array([2.0])
        a.grad, b.grad, c.grad = *shared, shared[third]
        optimizer = optim.SGD([a, b, c], lr=1.0)
        (a * 10 + b * 100 + c * 1000).sum().backward()
        gradients = [v.grad.item() for v in (a, b, c)]
        a.grad, b.grad, c.grad = *shared, shared[third]
        optimizer.step()
        return gradients

    assert [told(k) for k in (0, 0, 1, 1)] == [[11, 102, 1001]] * 2 + [[11, 102, 1002]] * 2


def test_parameters_that_share_a_gradient_are_told_from_those_that_do_not():
    a, b, c = (jt.array([0.0]) for _ in range(3))
    optimizer = optim.SGD([a, b, c], lr=1.0)
    for k in range(6):
        shared = jt.array([1.0]), jt.array([10.0])
        a.grad, b.grad, c.grad = *shared, shared[k % 2]
        optimizer.step()

    assert [v.item() for v in (a, b, c)] == [-6.0, -60.0, -33.0]


def test_another_group_state_or_parameter_is_the_one_that_moves(never):
    def story():
        w, v, told = jt.array([1.0]), jt.array([1.0]), []
        optimizer = optim.SGD([w], lr=0.1, momentum=0.5)
        for k in range(8):
            if k == 3:
                optimizer.param_groups[0] = {**optimizer.param_groups[0], "lr": 0.25}
            if k == 5:
                name = next(name for name, value in optimizer.state[0].items() if isinstance(value, jt.Var))
                optimizer.state[0][name] = jt.zeros([1])
            if k == 7:
                optimizer.param_groups[0]["params"][0] = v
            optimizer.step((w * w * v).sum())
            told.append((w.item(), v.item()))
        return told

    told = same_both_ways(never, story)

    assert told[-1][1] != 1.0


def test_an_optimizer_that_has_stepped_can_be_copied_and_goes_on_alone():
    w = jt.array([1.0])
    optimizer = optim.SGD([w], lr=0.25)
    for _ in range(3):
        optimizer.step((w * 2).sum())
    other = copy.deepcopy(optimizer)
    mine = other.param_groups[0]["params"][0]

    other.step((mine * 2).sum())

    assert (w.item(), mine.item()) == (-0.5, -1.0)
