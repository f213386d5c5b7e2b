"""Optimizers: the steps of PyTorch, one by one; all of a step or nothing; the same steps from a saved state."""

import math
import sys
import warnings

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn, optim
from jt_edu.base.errors import ArgumentError, DtypeError, GradientError, ShapeError

pytestmark = pytest.mark.usefixtures("python_backend")


def problem(rng):
    """Two parameters, and a loss of them that is not too simple."""
    start = [rng.normal(size=(2, 3)), rng.normal(size=3)]
    goal = rng.normal(size=(2, 3))

    def loss(w, b):
        return ((w * w + b - goal) ** 2).sum() + (w * b).sum()

    return start, goal, loss


def traces(torch, rng, build, steps=50):
    """Parameters after each step, ours and PyTorch's; `build(module, params)` makes an optimizer."""
    start, goal, _ = problem(rng)
    ours, theirs = [jt.array(a) for a in start], [torch.tensor(a, requires_grad=True) for a in start]
    mine, other = build(optim, ours), build(torch.optim, theirs)
    for _ in range(steps):
        mine.step(((ours[0] * ours[0] + ours[1] - goal) ** 2).sum() + (ours[0] * ours[1]).sum())
        other.zero_grad()
        w, b = theirs
        (((w * w + b - torch.tensor(goal)) ** 2).sum() + (w * b).sum()).backward()
        other.step()
        yield ours, [t.detach().numpy() for t in theirs]


RULES = {
    "sgd": lambda o, p: o.SGD(p, lr=0.01),
    "sgd momentum": lambda o, p: o.SGD(p, lr=0.01, momentum=0.9),
    "sgd weight decay": lambda o, p: o.SGD(p, lr=0.01, weight_decay=0.1),
    "sgd dampening": lambda o, p: o.SGD(p, lr=0.01, momentum=0.9, dampening=0.3),
    "sgd nesterov": lambda o, p: o.SGD(p, lr=0.01, momentum=0.8, nesterov=True, weight_decay=0.01),
    "adam": lambda o, p: o.Adam(p, lr=0.02),
    "adam default": lambda o, p: o.Adam(p),
    "adam betas": lambda o, p: o.Adam(p, lr=0.02, betas=(0.5, 0.7)),
    "adam eps": lambda o, p: o.Adam(p, lr=0.02, eps=0.3),
    "adam weight decay": lambda o, p: o.Adam(p, lr=0.02, weight_decay=0.2),
    "adamw": lambda o, p: o.AdamW(p, lr=0.02),
    "adamw weight decay": lambda o, p: o.AdamW(p, lr=0.02, weight_decay=0.5, betas=(0.8, 0.9), eps=1e-3),
    "groups": lambda o, p: o.SGD([{"params": [p[0]], "lr": 0.02}, {"params": [p[1]], "momentum": 0.5}], lr=0.01),
    "adam groups": lambda o, p: o.Adam([{"params": p[:1], "betas": (0.3, 0.4)}, {"params": p[1:], "lr": 0.1}], lr=0.01),
}


@pytest.mark.parametrize("name", RULES)
def test_fifty_steps_are_those_of_pytorch(torch, rng, name):
    for ours, theirs in traces(torch, rng, RULES[name]):
        for mine, other in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(mine.numpy(), other, rtol=1e-6, atol=1e-6)


def test_every_setting_changes_the_way(rng):
    start, _, loss = problem(rng)

    def end(build):
        params = [jt.array(a) for a in start]
        optimizer = build(optim, params)
        for _ in range(3):
            optimizer.step(loss(*params))
        return tuple(np.concatenate([p.numpy().ravel() for p in params]).tolist())

    assert len({end(build) for name, build in RULES.items() if name != "adam default"}) == len(RULES) - 1


# --------------------------------------------------------------------------------------------------------- schedules

SCHEDULES = {
    "step": lambda s, o: s.StepLR(o, 3),
    "step gamma": lambda s, o: s.StepLR(o, 4, gamma=0.5),
    "milestones": lambda s, o: s.MultiStepLR(o, [7, 2, 2], gamma=0.5),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.9),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 10),
    "cosine eta_min": lambda s, o: s.CosineAnnealingLR(o, 7, eta_min=0.01),
    "lambda": lambda s, o: s.LambdaLR(o, lambda e: 0.95**e),
    "lambdas": lambda s, o: s.LambdaLR(o, [lambda e: 0.9**e, lambda e: 1 / (1 + e)]),
}


def two_optimizers(torch, **settings):
    def groups(make):
        return [{"params": [make()], "lr": 0.5, **settings}, {"params": [make()], **settings}]

    theirs = torch.optim.SGD(groups(lambda: torch.nn.Parameter(torch.zeros(1))), lr=0.2)
    theirs.step()
    return optim.SGD(groups(lambda: jt.zeros(1)), lr=0.2), theirs


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.filterwarnings("ignore:.*lr_scheduler:UserWarning")
def test_fifty_epochs_have_the_rates_of_pytorch(torch, name):
    ours, theirs = two_optimizers(torch)
    mine, other = SCHEDULES[name](optim, ours), SCHEDULES[name](torch.optim.lr_scheduler, theirs)

    for _ in range(50):
        assert mine.get_last_lr() == pytest.approx(other.get_last_lr(), rel=1e-6, abs=1e-9)
        assert [g["lr"] for g in ours.param_groups] == mine.get_last_lr()
        mine.step()
        other.step()


@pytest.mark.filterwarnings("ignore:.*lr_scheduler:UserWarning")
def test_a_schedule_may_start_in_the_middle(torch):
    ours, theirs = two_optimizers(torch, initial_lr=0.8)
    mine, other = optim.StepLR(ours, 3, last_epoch=7), torch.optim.lr_scheduler.StepLR(theirs, 3, last_epoch=7)
    other_lr = [0.8 * 0.1 ** (8 // 3)] * 2

    assert mine.last_epoch == other.last_epoch == 8
    assert mine.get_last_lr() == pytest.approx(other_lr)


PLATEAUS = [
    {},
    {"mode": "max"},
    {"patience": 0},
    {"patience": 2, "factor": 0.5},
    {"patience": 1, "threshold": 0.3},
    {"patience": 1, "threshold": 0.3, "threshold_mode": "abs"},
    {"patience": 1, "threshold": 0.3, "threshold_mode": "abs", "mode": "max"},
    {"patience": 0, "threshold": 0.1, "mode": "max"},
    {"patience": 1, "cooldown": 3},
    {"patience": 0, "min_lr": 0.05},
    {"patience": 0, "min_lr": [0.1, 0.001]},
    {"patience": 0, "factor": 0.9, "eps": 0.02},
]


@pytest.mark.parametrize("settings", PLATEAUS, ids=str)
@pytest.mark.filterwarnings("ignore:.*lr_scheduler:UserWarning")
def test_a_plateau_lowers_the_rate_as_in_pytorch(torch, rng, settings):
    ours, theirs = two_optimizers(torch)
    mine = optim.ReduceLROnPlateau(ours, **settings)
    other = torch.optim.lr_scheduler.ReduceLROnPlateau(theirs, **settings)

    for epoch in range(50):
        metric = math.cos(epoch / 5) + rng.uniform(0, 0.3)
        mine.step(metric)
        other.step(metric)
        assert mine.get_last_lr() == pytest.approx([g["lr"] for g in theirs.param_groups], rel=1e-6)


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_goes_on_from_its_state(name):
    def build():
        optimizer = optim.SGD([{"params": [jt.zeros(1)], "lr": 0.5}, {"params": [jt.zeros(1)]}], lr=0.2)
        return optimizer, SCHEDULES[name](optim, optimizer)

    optimizer, schedule = build()
    for _ in range(5):
        schedule.step()
    again, resumed = build()
    again.load_state_dict(optimizer.state_dict())
    resumed.load_state_dict(schedule.state_dict())

    for _ in range(5):
        assert resumed.get_last_lr() == schedule.get_last_lr()
        schedule.step()
        resumed.step()


def test_a_plateau_goes_on_from_its_state():
    optimizer = optim.SGD([jt.zeros(1)], lr=1.0)
    first = optim.ReduceLROnPlateau(optimizer, patience=2)
    first.step(jt.array([3.0]))
    first.step(3.0)
    second = optim.ReduceLROnPlateau(optimizer, patience=2)
    second.load_state_dict(first.state_dict())

    assert (second.best, second.num_bad_epochs) == (3.0, 1)
    with pytest.raises(ArgumentError, match="its own state"):
        optim.StepLR(optimizer, 1).load_state_dict(first.state_dict())


@pytest.mark.parametrize(
    "wrong",
    [
        lambda o: optim.StepLR(o, 0),
        lambda o: optim.StepLR(o, 2, gamma="x"),
        lambda o: optim.StepLR(3, 2),
        lambda o: optim.CosineAnnealingLR(o, 0),
        lambda o: optim.LambdaLR(o, [lambda e: 1, lambda e: 1]),
        lambda o: optim.LambdaLR(o, 0.5),
        lambda o: optim.ReduceLROnPlateau(o, mode="low"),
        lambda o: optim.ReduceLROnPlateau(o, threshold_mode="some"),
        lambda o: optim.ReduceLROnPlateau(o, factor=1.0),
        lambda o: optim.ReduceLROnPlateau(o, min_lr=[1, 2]),
        lambda o: optim.ReduceLROnPlateau(None),
    ],
)
def test_schedules_refuse_what_makes_no_sense(wrong):
    with pytest.raises(ArgumentError, match="found"):
        wrong(optim.SGD([jt.zeros(1)], lr=0.1))


# ------------------------------------------------------------------------------------------------ ways to take a step


def test_the_way_of_jittor_and_the_way_of_pytorch_lead_to_the_same_place(rng):
    start, _, loss = problem(rng)
    one, two, three = ([jt.array(a) for a in start] for _ in range(3))
    first, second, third = (optim.SGD(p, lr=0.01, momentum=0.9) for p in (one, two, three))

    for _ in range(5):
        first.step(loss(*one))
        second.zero_grad()
        loss(*two).backward()
        second.step()
        third.backward(loss(*three))
        third.step()

    for a, b, c in zip(one, two, three, strict=True):
        np.testing.assert_array_equal(a.numpy(), b.numpy())
        np.testing.assert_array_equal(a.numpy(), c.numpy())


def test_backward_adds_up_and_the_step_uses_the_sum():
    w = jt.array([1.0])
    optimizer = optim.SGD([w], lr=0.1)
    optimizer.backward((w * 2).sum())
    optimizer.backward((w * 3).sum())
    assert w.grad.item() == 5

    optimizer.step((w * 5).sum())

    assert w.item() == pytest.approx(0.0)
    assert w.grad is None


def test_gradients_of_the_optimizer_are_forgotten_after_a_step_those_of_the_learner_stay():
    w = jt.array([1.0])
    optimizer = optim.SGD([w], lr=0.1)
    optimizer.backward((w * 2).sum())
    optimizer.step()
    assert w.grad is None

    (w * 2).sum().backward()
    optimizer.step()
    assert w.grad.item() == 2
    assert not w.grad.node.inputs
    (w * 2).sum().backward()
    assert w.grad.item() == 4
    optimizer.zero_grad()
    assert w.grad is None


def test_zeros_in_the_place_of_a_gradient_take_part_in_none():
    w = jt.array([1.0])
    (w * w).sum().backward()

    optim.SGD([w], lr=0.1).zero_grad(set_to_none=False)

    assert (w.grad.tolist(), w.grad.requires_grad) == ([0.0], False)


def test_an_initial_value_that_is_still_a_formula_becomes_a_parameter():
    w = jt.randn(3) * 0.1
    optimizer = optim.SGD([w], lr=0.1)
    before = w.numpy().copy()
    (w * w).sum().backward()
    optimizer.step()

    np.testing.assert_allclose(w.numpy(), before * 0.8, rtol=1e-6)


def test_the_learning_rate_can_be_changed_at_any_time_without_another_plan():
    w = jt.array([1.0])
    optimizer = optim.Adam([w], lr=0.1)
    for _ in range(2):
        optimizer.step((w * w).sum())
    plans = len(jt.base.context.current().rank_state["plans"])

    for rate in (0.05, 0.2, np.float32(0.3), 1):
        optimizer.lr = rate
        before = w.item()
        optimizer.step((w * w).sum())
        assert optimizer.lr == rate
        assert w.item() != before
    assert len(jt.base.context.current().rank_state["plans"]) == plans


def test_setting_the_learning_rate_sets_that_of_every_group_and_0_stops():
    a, b = jt.array([1.0]), jt.array([1.0])
    optimizer = optim.SGD([{"params": [a], "lr": 0.5}, {"params": b}], lr=0.1)
    assert optimizer.lr == 0.5
    optimizer.lr = 0

    optimizer.step((a * b).sum())

    assert [g["lr"] for g in optimizer.param_groups] == [0, 0]
    assert (a.item(), b.item()) == (1, 1)


@pytest.mark.parametrize(("max_norm", "norm_type"), [(1.0, 2), (0.5, 1), (0.3, math.inf), (100.0, 2), (1.0, 3.5)])
def test_clipping_is_that_of_pytorch(torch, rng, max_norm, norm_type):
    start, goal, loss = problem(rng)
    ours, theirs = [jt.array(a) for a in start], [torch.tensor(a, requires_grad=True) for a in start]
    optimizer = optim.SGD(ours, lr=0.1)
    optimizer.backward(loss(*ours))
    w, b = theirs
    (((w * w + b - torch.tensor(goal)) ** 2).sum() + (w * b).sum()).backward()

    total = optimizer.clip_grad_norm(max_norm, norm_type)
    expected = torch.nn.utils.clip_grad_norm_(theirs, max_norm, norm_type)

    assert total.item() == pytest.approx(float(expected), rel=1e-6)
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine.grad.numpy(), other.grad.numpy(), rtol=1e-6, atol=1e-9)


def test_clipping_needs_gradients_and_sensible_numbers():
    optimizer = optim.SGD([jt.ones(1)], lr=0.1)

    with pytest.raises(GradientError, match="0 gradients"):
        optimizer.clip_grad_norm(1.0)
    with pytest.raises(ArgumentError, match="max_norm"):
        optimizer.clip_grad_norm(-1)
    with pytest.raises(ArgumentError, match="norm_type"):
        optimizer.clip_grad_norm(1.0, -2)


def test_one_step_is_one_run_and_computes_the_loss_too():
    w = jt.array(np.ones((3, 3)))
    optimizer = optim.Adam([w], lr=0.1)
    x = jt.array(np.ones((2, 3)))
    with jt.trace() as t:
        loss = ((x @ w) ** 2).sum()
        optimizer.step(loss)

    assert not loss.node.pending
    assert sum("product" in k.name or "matmul" in k.name for k in t.kernels) <= 2
    ran = len(t.kernels)
    with jt.trace() as t:
        loss.item()
        w.numpy()
        [v.numpy() for state in optimizer.state for v in state.values() if isinstance(v, jt.Var)]
    assert (len(t.kernels), ran > 0) == (0, True)


def test_running_statistics_are_computed_in_the_same_run():
    norm = nn.BatchNorm(2)
    optimizer = optim.SGD(norm.parameters(), lr=0.1)
    optimizer.step((norm(jt.array([[1.0, 2.0], [3.0, 5.0]])) ** 2).sum())

    assert not norm.running_mean.node.pending
    assert not norm.running_var.node.pending
    np.testing.assert_allclose(norm.running_mean.numpy(), [0.2, 0.35], rtol=1e-6)


def test_a_list_of_losses_keeps_no_graph_unless_asked_to():
    w, x = jt.array([1.0]), jt.array([2.0])
    optimizer = optim.SGD([w], lr=0.1)
    loss = (w * x).sum()
    optimizer.step(loss)
    assert not loss.node.inputs
    with pytest.raises(GradientError, match="retain_graph=True"):
        optimizer.step(loss)

    kept = (w * x).sum()
    optimizer.step(kept, retain_graph=True)
    assert jt.grad(kept, x).item() == pytest.approx(0.8)
    kept = (w * x).sum()
    optimizer.backward(kept, retain_graph=True)
    optimizer.backward(kept)
    assert w.grad.item() == 4


# ------------------------------------------------------------------------------------- what the loss does not reach


def test_a_parameter_that_the_loss_does_not_reach_is_named_once_and_left_alone():
    net = nn.Module()
    net.used, net.idle = jt.array([1.0]), jt.array([7.0])
    optimizer = optim.Adam(net.parameters(), lr=0.1)

    with pytest.warns(UserWarning, match="does not depend on idle") as caught:
        optimizer.step((net.used * 2).sum())
    assert len(caught) == 1
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.step((net.used * 2).sum())
    assert net.idle.item() == 7
    assert [s["step"] for s in optimizer.state] == [2, 0]


def test_the_way_of_pytorch_warns_as_well():
    a, b = jt.array([1.0]), jt.array([7.0])
    b.name = "b"
    optimizer = optim.SGD([a, b], lr=0.1)
    (a * 2).sum().backward()

    with pytest.warns(UserWarning, match="does not depend on b"):
        optimizer.step()


def test_a_stopped_parameter_is_left_alone_without_a_word():
    a, b = jt.array([1.0]), jt.array([7.0])
    b.stop_grad()
    optimizer = optim.SGD([a, b], lr=0.1, weight_decay=0.5)
    optimizer.step((a * b).sum())

    assert b.item() == 7
    b.start_grad()
    optimizer.step((a * b).sum())
    assert b.item() != 7


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: optim.SGD([], lr=0.1), ArgumentError, "an empty list"),
        (lambda: optim.SGD([{"params": []}], lr=0.1), ArgumentError, "an empty list"),
        (lambda: optim.SGD(nn.Linear(1, 1), lr=0.1), ArgumentError, r"found Linear. Try: model.parameters\(\)"),
        (lambda: optim.SGD(jt.ones(1), lr=0.1), ArgumentError, "found Var"),
        (lambda: optim.SGD([np.ones(1)], lr=0.1), ArgumentError, "ndarray"),
        (lambda: optim.SGD([jt.array([1])], lr=0.1), DtypeError, "int64"),
        (lambda: optim.SGD([{"lr": 0.1}], lr=0.1), ArgumentError, "params"),
        (lambda: optim.SGD([{"params": [jt.ones(1)], "rate": 0.1}], lr=0.1), ArgumentError, "rate"),
        (lambda: optim.SGD([jt.ones(1)], lr=-0.1), ArgumentError, "lr"),
        (lambda: optim.SGD([jt.ones(1)], lr="0.1"), ArgumentError, "'0.1'"),
        (lambda: optim.SGD([jt.ones(1)], lr=math.nan), ArgumentError, "nan"),
        (lambda: optim.SGD([jt.ones(1)], lr=0.1, momentum=-1), ArgumentError, "momentum"),
        (lambda: optim.SGD([jt.ones(1)], lr=0.1, weight_decay=-1), ArgumentError, "weight_decay"),
        (lambda: optim.SGD([jt.ones(1)], lr=0.1, dampening=-1), ArgumentError, "dampening"),
        (lambda: optim.SGD([jt.ones(1)], lr=0.1, nesterov=True), ArgumentError, "nesterov"),
        (lambda: optim.Adam([jt.ones(1)], betas=(0.9, 1.0)), ArgumentError, "betas"),
        (lambda: optim.Adam([jt.ones(1)], betas=0.9), ArgumentError, "betas"),
        (lambda: optim.Adam([jt.ones(1)], eps=-1), ArgumentError, "eps"),
        (lambda: optim.SGD([jt.ones(1)], lr=0.1).step(), GradientError, "none in 1 parameter"),
        (lambda: optim.SGD([jt.ones(1)], lr=0.1).step(3.0), ArgumentError, "float"),
        (lambda: optim.SGD([jt.ones(1)], lr=0.1).step(jt.ones(1).sum()), GradientError, "was not computed from"),
        (lambda: optim.SGD([jt.ones(1).stop_grad()], lr=0.1).step(jt.ones(1).sum()), GradientError, "stop_grad"),
        (lambda: optim.Optimizer([jt.ones(1)], lr=0.1).backward(3), ArgumentError, "int"),
    ],
)
def test_what_makes_no_sense_is_refused(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_a_parameter_in_two_places_is_refused():
    p = jt.ones(1)

    with pytest.raises(ArgumentError, match="two places"):
        optim.SGD([p, p], lr=0.1)
    with pytest.raises(ArgumentError, match="two places"):
        optim.SGD([p], lr=0.1).add_param_group({"params": [p]})


def test_a_rule_must_be_written():
    p = jt.ones(1)

    with pytest.raises(ArgumentError, match="Optimizer must say how a parameter is updated"):
        optim.Optimizer([p], lr=0.1).step(p.sum())


def test_parameters_may_come_with_names_and_be_added_later():
    net = nn.Linear(2, 1)
    optimizer = optim.SGD(net.named_parameters(), lr=0.1)
    extra = jt.array([1.0])
    optimizer.add_param_group({"params": [extra], "lr": 0.5})

    optimizer.step((net(jt.ones(1, 2)) * extra).sum())

    assert len(optimizer.param_groups) == 2
    assert extra.item() != 1
    assert repr(optimizer) == (
        "SGD(3 parameters, lr=0.1, momentum=0.0, weight_decay=0.0, dampening=0.0, nesterov=False, maximize=False)"
    )


# ----------------------------------------------------------------------------------------------- going on, and stopping

GO_ON = {name: RULES[name] for name in ("sgd nesterov", "sgd dampening", "adamw weight decay", "groups")}


@pytest.mark.parametrize("name", GO_ON)
def test_going_on_from_a_saved_state_is_bit_by_bit_the_same(rng, name):
    start, _, loss = problem(rng)
    params = [jt.array(a.astype("float32")) for a in start]
    optimizer = RULES[name](optim, params)
    for _ in range(4):
        optimizer.step(loss(*params))
    saved, there = optimizer.state_dict(), [p.numpy().copy() for p in params]

    def go_on(params, optimizer):
        for _ in range(6):
            optimizer.step(loss(*params))
        return [p.numpy().tobytes() for p in params]

    straight = go_on(params, optimizer)
    fresh = [jt.array(a) for a in there]
    again = RULES[name](optim, fresh)
    again.lr = 99
    again.load_state_dict(saved)

    assert go_on(fresh, again) == straight


def test_a_state_of_others_is_refused_with_reasons_and_changes_nothing():
    a, b = optim.Adam([jt.ones(2)], lr=0.3), optim.Adam([jt.ones(3)], lr=0.1)

    with pytest.raises(ShapeError, match=r"mean of parameter 0, of shape \(3,\) for \(2,\)"):
        a.load_state_dict(b.state_dict())
    with pytest.raises(ShapeError, match=r"settings .*'momentum'"):
        a.load_state_dict(optim.SGD([jt.ones(2)], lr=0.1).state_dict())
    other = optim.Adam([jt.ones(2)]).state_dict()
    del other["state"][0]["mean"]
    with pytest.raises(ShapeError, match=r"parameter 0 with .*'square', 'step'. for .*'mean'"):
        a.load_state_dict(other)
    other = optim.Adam([jt.ones(2)]).state_dict()
    other["param_groups"][0]["lr"] = -3
    with pytest.raises(ArgumentError, match="-3"):
        a.load_state_dict(other)
    with pytest.raises(ShapeError, match="groups of"):
        a.load_state_dict(optim.Adam([jt.ones(2), jt.ones(2)]).state_dict())
    with pytest.raises(ArgumentError, match="state_dict returned"):
        a.load_state_dict({})
    assert a.lr == 0.3


class Interrupter:
    """Raises KeyboardInterrupt at the n-th line that runs inside of jt_edu/optim."""

    def __init__(self, at):
        self.left = at

    def __call__(self, frame, event, arg):
        return self.line if "/jt_edu/optim/" in frame.f_code.co_filename.replace("\\", "/") else None

    def line(self, frame, event, arg):
        if event == "line":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self.line


def test_an_interrupt_at_any_line_leaves_all_parameters_moved_or_none(rng):
    start, _, loss = problem(rng)

    def fresh():
        params = [jt.array(a) for a in start]
        optimizer = optim.Adam(params, lr=0.1)
        optimizer.step(loss(*params))
        return params, optimizer

    def picture(params, optimizer):
        states = [v.tolist() if isinstance(v, jt.Var) else v for s in optimizer.state for v in s.values()]
        return repr(([p.tolist() for p in params], states))

    params, optimizer = fresh()
    before = picture(params, optimizer)
    optimizer.step(loss(*params))
    after = picture(params, optimizer)
    seen, at, trace = [], 0, sys.gettrace()
    while True:
        at += 1
        params, optimizer = fresh()
        value = loss(*params)
        try:
            sys.settrace(Interrupter(at))
            optimizer.step(value)
            break
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(trace)
        seen.append(picture(params, optimizer))
        assert seen[-1] in (before, after)

    assert len(seen) > 50
    assert {before, after} == set(seen)


def test_an_interrupt_while_kernels_run_moves_nothing(monkeypatch):
    w = jt.array([1.0, 2.0])
    optimizer = optim.SGD([w], lr=0.1, momentum=0.9)
    optimizer.step((w * w).sum())
    before, velocity = w.tolist(), optimizer.state[0]["velocity"].tolist()
    real, calls = jt.runtime.execute.run_step, []

    def interrupted(*args):
        calls.append(args)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(jt.runtime.execute, "run_step", interrupted)
    with pytest.raises(KeyboardInterrupt), jt.flag_scope(fuse=False):
        optimizer.step((w * w).sum())
    monkeypatch.undo()

    assert w.tolist() == before
    assert optimizer.state[0]["velocity"].tolist() == velocity
    assert optimizer.state[0]["step"] == 1
    optimizer.step((w * w).sum())
    assert w.tolist() != before


def test_a_compiled_step_counts_and_reads_the_rate_at_each_replay(rng):
    start, _, loss = problem(rng)
    for build in (RULES["adam"], RULES["sgd dampening"], RULES["adamw weight decay"]):
        one, two = ([jt.array(a) for a in start] for _ in range(2))
        plain, other = build(optim, one), build(optim, two)
        compiled = jt.compile(lambda params=two, o=other: o.step(loss(*params)))
        for k in range(6):
            plain.lr = other.lr = 0.01 / (k + 1)
            plain.step(loss(*one))
            compiled()
        for a, b in zip(one, two, strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)
        assert [s["step"] for s in other.state] == [6, 6]


def test_half_precision_parameters_keep_their_dtype():
    w = jt.array(np.ones(3, np.float16))
    optimizer = optim.Adam([w], lr=0.5)
    optimizer.step((w * w).sum())

    assert w.dtype == optimizer.state[0]["mean"].dtype == "float16"
    assert w.tolist() == pytest.approx([0.5] * 3, abs=1e-2)


def test_numba_takes_the_same_steps(rng):
    start, _, loss = problem(rng)

    def run(backend):
        with jt.flag_scope(backend=backend):
            params = [jt.array(a) for a in start]
            optimizer = optim.AdamW(params, lr=0.02)
            for _ in range(5):
                optimizer.step(loss(*params))
            return np.concatenate([p.numpy().ravel() for p in params])

    np.testing.assert_allclose(run("numba"), run("python"), rtol=1e-9)

    np.testing.assert_allclose(run("numba"), run("python"), rtol=1e-9)


@pytest.mark.parametrize("change", ["assign", "brackets", "in place", "update"])
def test_a_parameter_that_is_changed_without_gradients_is_trained_on(change):
    w, other = jt.array([1.0, 2.0]), jt.array([1.0])
    sgd = optim.SGD([w, other], lr=0.1)
    with jt.no_grad():
        if change == "assign":
            w.assign(w * 2)
        elif change == "brackets":
            w[0] = 2.0
        elif change == "in place":
            w -= 0.5 * w
        else:
            w.update(w * 2)
    before = w.numpy().copy()

    sgd.step((w * w).sum() + (other * other).sum())

    np.testing.assert_allclose(w.numpy(), before * 0.8, rtol=1e-6)


def test_a_loss_whose_gradients_are_in_grad_is_not_given_to_step():
    w = jt.array([1.0])
    optimizer = optim.SGD([w], lr=0.1)
    loss, other = (w * w).sum(), (w * 2).sum()
    loss.backward()

    with pytest.raises(GradientError, match=r"found loss\.backward\(\) before.*Try: step\(\), or no backward"):
        optimizer.step(loss)
    assert (w.tolist(), w.grad.tolist()) == ([1.0], [2.0])
    optimizer.step(other)  # another loss is added, as in Jittor
    np.testing.assert_allclose(w.numpy(), [0.6], rtol=1e-6)

    again = (w * w).sum()
    again.backward()
    optimizer.zero_grad()
    optimizer.step(again)
    np.testing.assert_allclose(w.numpy(), [0.48], rtol=1e-6)
