"""Steps that are replayed, compiled, or taken after loading a saved state are the same to the last bit."""

import copy
import math
import pickle

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import optim
from jt_edu.base.errors import ArgumentError, GradientError, JtError, ShapeError
from jt_edu.capture.step_cache import Replays
from tests.optim.rules import MAKERS, Problem

pytestmark = pytest.mark.usefixtures("python_backend")


def numbers(params, optimizer):
    states = [{k: v.tolist() if isinstance(v, jt.Var) else v for k, v in s.items()} for s in optimizer.state]
    return [p.tolist() for p in params], states


def begin(name):
    params = [jt.array(a.astype("float32")) for a in Problem().start]
    return params, MAKERS[name](params)


def go(params, optimizer, steps, rate=None):
    for k in range(steps):
        if rate is not None:
            optimizer.lr = rate / (k + 1)
        optimizer.step(Problem().loss(*params))
    return numbers(params, optimizer)


@pytest.mark.parametrize("name", MAKERS)
def test_replayed_steps_are_those_that_are_built_anew(monkeypatch, name):
    replayed = go(*begin(name), 7, rate=0.02)
    monkeypatch.setattr(Replays, "run", lambda *_: None)

    assert go(*begin(name), 7, rate=0.02) == replayed


@pytest.mark.parametrize("name", MAKERS)
def test_the_python_of_a_rule_runs_once(monkeypatch, name):
    params, optimizer = begin(name)
    runs = []
    rule = type(optimizer).rule
    monkeypatch.setattr(type(optimizer), "rule", lambda *given: runs.append(1) or rule(*given))

    go(params, optimizer, 4)

    assert len(runs) == len(params)


def test_rates_and_momenta_of_a_schedule_reach_steps_that_are_replayed(monkeypatch):
    def told():
        params, optimizer = begin("Adam {}")
        schedule, places = optim.OneCycleLR(optimizer, 0.1, total_steps=8), []
        for _ in range(7):
            optimizer.step(Problem().loss(*params))
            schedule.step()
            places.append([p.tolist() for p in params])
        return places

    runs, rule = [], optim.Adam.rule
    monkeypatch.setattr(optim.Adam, "rule", lambda *given: runs.append(1) or rule(*given))
    replayed = told()
    assert len(runs) == 2
    monkeypatch.setattr(Replays, "run", lambda *_: None)

    assert told() == replayed


@pytest.mark.parametrize("name", MAKERS)
def test_going_on_from_a_saved_state_is_bit_by_bit_the_same(name):
    params, optimizer = begin(name)
    go(params, optimizer, 4)
    saved, there = optimizer.state_dict(), [p.numpy().copy() for p in params]
    straight = go(params, optimizer, 6)
    _, again = begin(name)
    fresh = [p for group in again.param_groups for p in group["params"]]
    for p, a in zip(fresh, there, strict=True):
        p.update(a)
    again.lr = 99
    again.load_state_dict(saved)

    assert go(fresh, again, 6) == straight


@pytest.mark.parametrize("name", MAKERS)
def test_a_compiled_step_takes_the_same_steps(name):
    params, optimizer = begin(name)
    step = jt.compile(lambda: optimizer.step(Problem().loss(*params)))
    for _ in range(5):
        step()

    assert numbers(params, optimizer)[1][0]["step"] == 5
    plain = go(*begin(name), 5)
    for a, b in zip(params, plain[0], strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=2e-6)


def test_a_saved_state_stays_as_it_was():
    params, optimizer = begin("Adam {}")
    go(params, optimizer, 2)
    saved = optimizer.state_dict()
    before = saved["state"][0]["mean"].tolist()

    go(params, optimizer, 2)

    assert saved["state"][0]["mean"].tolist() == before
    assert saved["state"][0]["step"] == 2
    assert optimizer.state[0]["step"] == 4


def test_a_state_brings_its_settings_and_the_states_they_need():
    w, v = jt.array([1.0, 2.0]), jt.array([1.0, 2.0])
    first, second = optim.Adam([w], lr=0.1, amsgrad=True), optim.Adam([v], lr=0.3)
    first.step((w * w).sum())
    v.update(w.numpy())
    second.load_state_dict(first.state_dict())
    for optimizer, p in ((first, w), (second, v)):
        optimizer.step((p * p).sum())

    assert second.param_groups[0]["amsgrad"]
    assert (w.tolist(), second.lr) == (v.tolist(), 0.1)


# ----------------------------------------------------------------------------------------------- gradients and closures


def test_zero_grad_forgets_or_sets_to_0():
    w, idle = jt.array([1.0, 2.0]), jt.array([1.0])
    optimizer = optim.SGD([w, idle])
    (w * w).sum().backward()
    optimizer.zero_grad(set_to_none=False)
    assert (w.grad.tolist(), idle.grad) == ([0, 0], None)

    optimizer.zero_grad()
    assert w.grad is None


def test_gradients_are_cut_off_at_a_value():
    w = jt.array([1.0, -4.0, 0.25])
    optimizer = optim.SGD([w], lr=1.0)
    optimizer.backward((w * w).sum())

    optimizer.clip_grad_value(1.5)

    assert w.grad.tolist() == [1.5, -1.5, 0.5]
    optimizer.zero_grad()
    with pytest.raises(GradientError, match="0 gradients"):
        optimizer.clip_grad_value(1.0)


@pytest.mark.parametrize("backward", [True, False])
def test_a_function_may_compute_the_loss(backward):
    w, other = jt.array([1.0]), jt.array([1.0])
    ours, plain = optim.Adam([w], lr=0.1), optim.Adam([other], lr=0.1)

    def closure():
        loss = ((w - 3) ** 2).sum()
        if backward:
            ours.zero_grad()
            loss.backward()
        return loss

    for _ in range(4):
        plain.step(((other - 3) ** 2).sum())
        expected = ((w - 3) ** 2).sum().item()
        assert ours.step(closure).item() == pytest.approx(expected)

    assert w.item() == pytest.approx(other.item(), rel=1e-6)


def test_a_function_must_return_the_loss():
    with pytest.raises(ArgumentError, match="NoneType"):
        optim.SGD([jt.ones(1)]).step(lambda: None)


# ------------------------------------------------------------------------------------------------------------- L-BFGS


def rosenbrock(w):
    return (100 * (w[1:] - w[:-1] ** 2) ** 2 + (1 - w[:-1]) ** 2).sum()


def valley(w):
    return ((w - 1) ** 2).sum() + (w**4).sum() * 0.3 + (w[1:] * w[:-1]).sum()


LBFGS = [
    (rosenbrock, {"line_search_fn": "strong_wolfe"}),
    (rosenbrock, {"line_search_fn": "strong_wolfe", "max_iter": 4}),
    (rosenbrock, {"line_search_fn": "strong_wolfe", "history_size": 2}),
    (rosenbrock, {"line_search_fn": "strong_wolfe", "lr": 0.1}),
    *((rosenbrock, {"line_search_fn": "strong_wolfe", "max_eval": most}) for most in (4, 9)),
    (rosenbrock, {"line_search_fn": "strong_wolfe", "tolerance_grad": 5.0}),
    (rosenbrock, {"line_search_fn": "strong_wolfe", "tolerance_change": 0.05}),
    (rosenbrock, {"lr": 1e-3, "max_iter": 5}),
    (valley, {"lr": 0.5, "max_iter": 5}),
    (valley, {"lr": 0.5, "max_iter": 3, "history_size": 1}),
    (valley, {"lr": 0.7, "tolerance_change": 1e-2}),
    (valley, {"lr": 0.3, "max_eval": 3}),
]


def lbfgs_trace(f, given, steps):
    w, calls = jt.array(np.array([-1.2, 1.0, 0.3])), []
    optimizer = optim.LBFGS([w], **given)
    for _ in range(steps):
        loss = optimizer.step(lambda: calls.append(1) or f(w))
        yield w.numpy().copy(), loss.item(), len(calls)


@pytest.mark.parametrize(("f", "given"), LBFGS, ids=[f"{f.__name__} {given}" for f, given in LBFGS])
def test_lbfgs_takes_the_steps_of_pytorch_and_as_many_losses(torch, f, given):
    x, calls = torch.tensor([-1.2, 1.0, 0.3], dtype=torch.float64, requires_grad=True), []
    peer = torch.optim.LBFGS([x], **given)

    def closure():
        calls.append(1)
        peer.zero_grad()
        loss = f(x)
        loss.backward()
        return loss

    for place, loss, count in lbfgs_trace(f, given, 10):
        expected = peer.step(closure)
        np.testing.assert_allclose(place, x.detach().numpy(), rtol=1e-6, atol=1e-9)
        assert loss == pytest.approx(float(expected.detach()), rel=1e-6, abs=1e-12)
        assert count == len(calls)


@pytest.mark.parametrize("most", [1, 5, 40])
def test_a_line_search_that_never_ends_by_itself_looks_as_often_as_it_may(most):
    w, calls = jt.array64([1.0, 2.0]), []

    optim.LBFGS([w], line_search_fn="strong_wolfe", max_eval=most).step(lambda: calls.append(1) or w.sum())

    assert len(calls) == most + 1  # as in PyTorch, which looks once before it counts
    assert np.isfinite(w.numpy()).all()


def test_every_setting_of_lbfgs_changes_its_way():
    for f in (rosenbrock, valley):
        given = [case for g, case in LBFGS if g is f]
        ends = {(*place, count) for case in given for place, _, count in list(lbfgs_trace(f, case, 3))[-1:]}
        assert len(ends) == len(given)


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs_goes_on_from_its_state_bit_by_bit(search):
    def fresh(start):
        w = [jt.array(np.array(start[:2])), jt.array(np.array(start[2:]))]
        return w, optim.LBFGS(w, lr=0.5, max_iter=3, history_size=4, line_search_fn=search)

    def go(w, optimizer):
        for _ in range(3):
            optimizer.step(lambda: valley(jt.concat(w, 0)))
        return [p.tolist() for p in w]

    w, optimizer = fresh([-1.2, 1.0, 0.3])
    go(w, optimizer)
    saved, there = optimizer.state_dict(), [*w[0].tolist(), *w[1].tolist()]
    straight = go(w, optimizer)
    again, resumed = fresh(there)
    resumed.load_state_dict(saved)

    assert go(again, resumed) == straight
    assert resumed.state[0]["step"] == optimizer.state[0]["step"]
    with pytest.raises(ShapeError, match="4 numbers"):
        optim.LBFGS([jt.zeros(4)]).load_state_dict(saved)


def test_an_error_in_the_loss_leaves_lbfgs_where_it_was():
    w = jt.array([1.0, 2.0])
    optimizer, calls = optim.LBFGS([w], line_search_fn="strong_wolfe"), []

    def loss():
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return rosenbrock(w)

    with pytest.raises(KeyboardInterrupt):
        optimizer.step(loss)

    assert w.tolist() == [1.0, 2.0]
    assert optimizer.state[0]["step"] == 0
    optimizer.step(loss)
    assert w.tolist() != [1.0, 2.0]


def test_lbfgs_finds_the_bottom_of_a_curved_valley_by_the_gradients_of_the_learner():
    w = jt.array(np.array([-1.2, 1.0]))
    optimizer = optim.LBFGS([w], line_search_fn="strong_wolfe", max_iter=60)

    def closure():
        optimizer.zero_grad()
        loss = rosenbrock(w)
        loss.backward()
        return loss

    optimizer.step(closure)

    np.testing.assert_allclose(w.numpy(), [1, 1], atol=1e-4)


def test_a_loss_that_is_nan_far_away_does_not_lead_lbfgs_there():
    w = jt.array(np.array([1.0]))
    optimizer = optim.LBFGS([w], lr=100.0, line_search_fn="strong_wolfe")
    optimizer.step(lambda: (w - jt.log(w)).sum() + (w * w).sum())

    assert math.isfinite(w.item())
    assert w.item() == pytest.approx(0.5, abs=1e-4)


def test_a_state_dict_survives_pickle():
    params, optimizer = begin("RMSprop {}")
    go(params, optimizer, 2)
    plain = {
        k: {n: v.numpy() if isinstance(v, jt.Var) else v for n, v in s.items()} for k, s in enumerate(optimizer.state)
    }

    back = pickle.loads(pickle.dumps(plain))  # noqa: S301  our own bytes

    np.testing.assert_array_equal(back[0]["square"], optimizer.state[0]["square"].numpy())


@pytest.mark.parametrize(
    ("rule", "setting", "value"),
    [(optim.SGD, "momentum", 0.9), (optim.Adam, "amsgrad", True), (optim.RMSprop, "centered", True)],
)
def test_a_setting_that_was_switched_on_after_the_last_step_is_saved_with_the_state_that_it_needs(rule, setting, value):
    a = jt.ones(2)
    one = rule([a], lr=0.1)
    one.step((a * a).sum())
    one.param_groups[0][setting] = value

    b = jt.array(a.numpy())
    other = rule([b], lr=0.1)
    other.load_state_dict(one.state_dict())
    for _ in range(2):
        one.step((a * a).sum())
        other.step((b * b).sum())

    assert b.tolist() == a.tolist()
    assert numbers([b], other) == numbers([a], one)


# --------------------------------------------------------------------------------------------------- spoilt states


def stepped(make):
    w = [jt.ones(2)]
    optimizer = make(w)
    optimizer.step(lambda: ((w[0] - 3) ** 2).sum())
    return optimizer


SPOILT = [
    # (rule, what is spoilt, by what, what the error says)
    (optim.Adam, ("state",), None, "dict of dicts as state; found None"),
    (optim.Adam, ("state",), [1], r"found \[1\]"),
    (optim.Adam, ("state", 0), None, "found {0: None}"),
    (optim.Adam, ("state", 7), {}, "parameters 7 for 1 of them"),
    (optim.Adam, ("state", 0, "step"), "x", "step='x' of parameter 0"),
    (optim.Adam, ("state", 0, "mean"), "x", "mean='x' of parameter 0"),
    (optim.Adam, ("state", 0, "mean"), jt.ones(2) * 1j, "mean of parameter 0, of dtype complex64 for float32"),
    (optim.Adam, ("param_groups",), None, "param_groups; found None"),
    (optim.Adam, ("param_groups", 0), 5, r"found \[5\]"),
    (optim.Adam, ("param_groups", 0, "params"), 5, "list of dicts with params"),
    (optim.Adam, ("param_groups", 0, "betas"), 3, "found 3"),
    (optim.LBFGS, ("memory",), None, "scale; found None"),
    (optim.LBFGS, ("memory",), {}, "scale; found {}"),
    (optim.LBFGS, ("memory", "more"), 1, "scale; found {'directions'"),
    *((optim.LBFGS, ("memory", name), None, f"2 numbers.*{name}=None") for name in
      ("directions", "way", "t", "gradient", "moves", "changes", "growth", "scale")),
    (optim.LBFGS, ("memory", "moves"), (), r"moves=\(\), changes=.*growth="),
    (optim.LBFGS, ("memory", "changes"), (jt.ones(3),), r"changes=a tuple of a Var of shape \(3,\)"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "path", "value", "says"), SPOILT, ids=[f"{r[0].__name__} {r[1:3]}" for r in SPOILT])
def test_a_spoilt_state_is_refused_with_a_reason_and_changes_nothing(make, path, value, says):
    saved, optimizer = copy.deepcopy(stepped(make).state_dict()), stepped(make)
    before = repr(optimizer.state_dict())
    *outer, last = path
    inner = saved
    for key in outer:
        inner = inner[key]
    inner[last] = value

    with pytest.raises(JtError, match=says):
        optimizer.load_state_dict(saved)

    assert repr(optimizer.state_dict()) == before


@pytest.mark.parametrize("step", [-5, float("nan"), float("inf")])
def test_a_state_that_no_step_can_have_left_is_refused(step):
    w = jt.ones(2)
    opt = optim.Adam([w], lr=0.1)
    opt.step((w * w).sum())
    saved = opt.state_dict()
    saved["state"][0]["step"] = step

    with pytest.raises(jt.ShapeError, match=f"step={step} of parameter 0"):
        opt.load_state_dict(saved)
    assert opt.state[0]["step"] == 1


def test_a_number_in_place_of_a_var_is_told():
    w = jt.ones(2)
    opt = optim.Adam([w], lr=0.1)
    opt.step((w * w).sum())
    saved = opt.state_dict()
    saved["state"][0]["mean"] = 0.5

    with pytest.raises(jt.ShapeError, match=r"one number for each of \['mean', 'step'\], instead of \['step'\]"):
        opt.load_state_dict(saved)


def test_a_state_that_settings_do_not_need_any_more_goes_along():
    def made():
        w = jt.array([1.0, 2.0])
        return w, optim.SGD([w], lr=0.1, momentum=0.9)

    w, opt = made()
    opt.step((w * w).sum())
    opt.param_groups[0]["momentum"] = 0
    _, other = made()
    other.load_state_dict(opt.state_dict())
    assert other.param_groups[0]["momentum"] == 0
