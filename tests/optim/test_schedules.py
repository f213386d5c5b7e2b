"""Fifty rates (and momenta) of every schedule with every setting are those of PyTorch, or of a formula written out."""

import inspect
import math
import warnings

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import optim
from jt_edu.base.errors import ArgumentError, RangeError
from jt_edu.optim import lr_scheduler

pytestmark = pytest.mark.filterwarnings("ignore:.*lr_scheduler.*:UserWarning", "ignore:.*epoch parameter.*:UserWarning")


def wave(x):
    return 0.5 * (1 + math.sin(x))


# For each schedule: what all its cases share, and the settings that are tried, one by one.
SETTINGS = {
    "StepLR": ({"step_size": 3}, [{}, {"step_size": 4}, {"gamma": 0.5}]),
    "MultiStepLR": ({"milestones": [7, 2, 20]}, [{"milestones": [7, 2, 2]}, {"gamma": 0.5}]),
    "ExponentialLR": ({}, [{"gamma": 0.9}, {"gamma": 1.01}]),
    "ConstantLR": ({}, [{}, {"factor": 0.7}, {"total_iters": 9}]),
    "LinearLR": ({}, [{}, {"start_factor": 0.1}, {"end_factor": 0.5}, {"end_factor": 0.0}, {"total_iters": 30}]),
    "PolynomialLR": ({}, [{}, {"total_iters": 30}, {"power": 2.5, "total_iters": 40}]),
    "CosineAnnealingLR": ({"T_max": 10}, [{}, {"T_max": 7}, {"eta_min": 0.01}]),
    "CosineAnnealingWarmRestarts": ({"T_0": 5}, [{}, {"T_0": 4}, {"T_mult": 2}, {"T_mult": 3}, {"eta_min": 0.01}]),
    "LambdaLR": ({}, [{"lr_lambda": lambda e: 0.95**e}, {"lr_lambda": [lambda e: 0.9**e, lambda e: 1 / (1 + e)]}]),
    "MultiplicativeLR": ({}, [{"lr_lambda": wave}, {"lr_lambda": [lambda e: 0.9, lambda e: 1 / (1 + e)]}]),
    "OneCycleLR": ({"max_lr": 0.3}, [
        {"total_steps": 51}, {"epochs": 17, "steps_per_epoch": 5}, {"max_lr": 0.2, "total_steps": 51},
        {"max_lr": [0.2, 0.1], "total_steps": 51}, {"pct_start": 0.7, "total_steps": 51},
        {"anneal_strategy": "linear", "total_steps": 51}, {"cycle_momentum": False, "total_steps": 51},
        {"base_momentum": 0.5, "total_steps": 51}, {"max_momentum": [0.99, 0.9], "total_steps": 51},
        {"div_factor": 5.0, "total_steps": 51}, {"final_div_factor": 10.0, "total_steps": 51},
        {"three_phase": True, "total_steps": 51},
        {"three_phase": True, "anneal_strategy": "linear", "pct_start": 0.25, "total_steps": 60},
    ]),
    "CyclicLR": ({"base_lr": 0.1, "max_lr": 0.4, "step_size_up": 6}, [
        {}, {"base_lr": [0.2, 0.0]}, {"max_lr": 0.3}, {"step_size_up": 4}, {"step_size_down": 3},
        {"mode": "triangular2"}, {"mode": "exp_range", "gamma": 0.95}, {"scale_fn": lambda c: 1 / c},
        {"scale_fn": lambda step: 0.9**step, "scale_mode": "iterations"}, {"cycle_momentum": False},
        {"base_momentum": 0.6}, {"max_momentum": 0.95},
    ]),
}  # fmt: skip
CASES = {
    f"{name} {number}": (name, {**base, **case})
    for name, (base, cases) in SETTINGS.items()
    for number, case in enumerate(cases)
}


def ours(rule="SGD", **settings):
    groups = [{"params": [jt.zeros(1)], "lr": 0.5}, {"params": [jt.zeros(1)]}]
    return getattr(optim, rule)(groups, lr=0.2, **settings)


def theirs(torch, rule="SGD", **settings):
    groups = [
        {"params": [torch.nn.Parameter(torch.zeros(1))], "lr": 0.5},
        {"params": [torch.nn.Parameter(torch.zeros(1))]},
    ]
    optimizer = getattr(torch.optim, rule)(groups, lr=0.2, **settings)
    optimizer.step()
    return optimizer


def picture(optimizer):
    """All that a schedule may have set."""
    return [(g["lr"], g["betas"][0] if "betas" in g else g.get("momentum", 0.0)) for g in optimizer.param_groups]


def same(mine, other):
    for a, b in zip(picture(mine), picture(other), strict=True):
        assert a == pytest.approx(b, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("case", CASES)
def test_fifty_epochs_have_the_rates_of_pytorch(torch, case):
    name, given = CASES[case]
    mine, other = ours(momentum=0.7), theirs(torch, momentum=0.7)
    schedule = getattr(optim, name)(mine, **given)
    peer = getattr(torch.optim.lr_scheduler, name)(other, **given)

    for _ in range(50):
        same(mine, other)
        assert schedule.get_last_lr() == [g["lr"] for g in mine.param_groups]
        schedule.step()
        peer.step()


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_is_tried_and_changes_the_rates(name):
    base, cases = SETTINGS[name]
    settings = set(inspect.signature(getattr(optim, name).__init__).parameters) - {"self", "optimizer", "last_epoch"}
    traces = set()
    for case in cases:
        optimizer = ours(momentum=0.7)
        schedule = getattr(optim, name)(optimizer, **{**base, **case})
        trace = [picture(optimizer)]
        for _ in range(40):
            schedule.step()
            trace.append(picture(optimizer))
        traces.add(repr(trace))

    assert {s for case in cases for s in case} == settings - (set(base) - {s for case in cases for s in case})
    assert len(traces) == len(cases)


@pytest.mark.parametrize("name", [n for n in SETTINGS if n not in ("OneCycleLR", "MultiplicativeLR")])
def test_a_schedule_that_starts_in_the_middle_has_the_rates_of_one_that_went_there(name):
    base, cases = SETTINGS[name]
    straight, middle = ours(momentum=0.7), ours(momentum=0.7)
    schedule = getattr(optim, name)(straight, **{**base, **cases[0]})
    for _ in range(8):
        schedule.step()

    again = getattr(optim, name)(middle, **{**base, **cases[0]}, last_epoch=7)

    assert again.last_epoch == schedule.last_epoch == 8
    same(middle, straight)
    for _ in range(5):
        schedule.step()
        again.step()
        same(middle, straight)


@pytest.mark.parametrize("case", CASES)
def test_a_schedule_goes_on_from_its_state(case):
    name, given = CASES[case]
    first, second = ours(momentum=0.7), ours(momentum=0.7)
    schedule, resumed = getattr(optim, name)(first, **given), getattr(optim, name)(second, **given)
    for _ in range(5):
        schedule.step()
    second.load_state_dict(first.state_dict())
    resumed.load_state_dict(schedule.state_dict())

    for _ in range(20):
        assert picture(first) == picture(second)
        schedule.step()
        resumed.step()


def test_a_state_holds_no_code():
    for name, given in CASES.values():
        state = getattr(optim, name)(ours(), **given).state_dict()
        assert not any(map(callable, state.values()))
        assert "optimizer" not in state


@pytest.mark.parametrize("rule", ["Adam", "AdamW", "NAdam", "RMSprop"])
def test_cycles_set_the_momentum_that_a_rule_has(torch, rule):
    settings = {"momentum": 0.7} if rule == "RMSprop" else {}
    mine, other = ours(rule, **settings), theirs(torch, rule, **settings)
    schedule = optim.OneCycleLR(mine, 0.1, total_steps=21)
    peer = torch.optim.lr_scheduler.OneCycleLR(other, 0.1, total_steps=21)

    for _ in range(20):
        same(mine, other)
        schedule.step()
        peer.step()


def test_one_cycle_ends():
    schedule = optim.OneCycleLR(ours(), 0.1, total_steps=4, anneal_strategy="linear")
    for _ in range(4):
        schedule.step()
    assert schedule.get_last_lr()[0] == pytest.approx(0.1 / 25 / 1e4)

    with pytest.raises(RangeError, match=r"4 steps.*step 5"):
        schedule.step()


def test_warm_restarts_take_fractions_of_epochs(torch):
    mine, other = ours(), theirs(torch)
    schedule = optim.CosineAnnealingWarmRestarts(mine, 3, T_mult=2)
    peer = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(other, 3, T_mult=2)

    for k in range(60):
        schedule.step(k / 4)
        peer.step(k / 4)
        same(mine, other)


@pytest.mark.parametrize("epoch", [0, 0.25, 2.5, 7.75])
@pytest.mark.parametrize("name", ["CosineAnnealingWarmRestarts", "LambdaLR"])
def test_schedules_go_on_from_a_fraction_of_an_epoch(torch, name, epoch):
    given = {"LambdaLR": {"lr_lambda": lambda k: 1 / (1 + k)}}.get(name, {"T_0": 3, "T_mult": 2})
    mine, other = ours(), theirs(torch)
    schedule, peer = getattr(optim, name)(mine, **given), getattr(torch.optim.lr_scheduler, name)(other, **given)

    for stop in (epoch, None, None, None, None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch would rather not be asked for an epoch
            schedule.step(stop)
            peer.step(stop)
        same(mine, other)


def test_rates_that_the_learner_changes_stay_changed_where_pytorch_keeps_them(torch):
    for name, given in (
        ("StepLR", {"step_size": 4}),
        ("LinearLR", {"total_iters": 20}),
        ("CosineAnnealingLR", {"T_max": 6}),
    ):
        mine, other = ours(), theirs(torch)
        schedule = getattr(optim, name)(mine, **given)
        peer = getattr(torch.optim.lr_scheduler, name)(other, **given)
        for k in range(20):
            if k == 3:
                for group in (*mine.param_groups, *other.param_groups):
                    group["lr"] *= 3
            schedule.step()
            peer.step()
            same(mine, other)


# ------------------------------------------------------------------------------------------- schedules of schedules

PARTS = [
    ("LinearLR", {"start_factor": 0.1, "total_iters": 6}),
    ("ExponentialLR", {"gamma": 0.9}),
    ("CosineAnnealingLR", {"T_max": 8, "eta_min": 0.02}),
    ("StepLR", {"step_size": 5}),
    ("MultiplicativeLR", {"lr_lambda": lambda e: 0.97}),
    ("ConstantLR", {"factor": 0.5, "total_iters": 4}),
    ("PolynomialLR", {"total_iters": 45}),
    ("MultiStepLR", {"milestones": [3, 9], "gamma": 0.5}),
]


def several(module, optimizer, which):
    return [getattr(module, PARTS[k][0])(optimizer, **PARTS[k][1]) for k in which]


@pytest.mark.parametrize(
    ("which", "milestones"),
    [([0, 1], [6]), ([0, 2], [7]), ([5, 1, 3], [4, 20]), ([0, 6], [3]), ([1, 4], [5]), ([7, 0, 2, 1], [10, 20, 30])],
)
def test_one_after_another_as_in_pytorch(torch, which, milestones):
    mine, other = ours(), theirs(torch)
    schedule = optim.SequentialLR(mine, several(optim, mine, which), milestones)
    peers = torch.optim.lr_scheduler
    peer = peers.SequentialLR(other, several(peers, other, which), milestones)

    for _ in range(50):
        same(mine, other)
        schedule.step()
        peer.step()


@pytest.mark.parametrize("which", [[5, 1], [0, 3], [1, 2], [2, 7], [0, 1, 4], [6, 0, 5], [3, 7, 2]])
def test_all_at_once_as_in_pytorch(torch, which):
    mine, other = ours(), theirs(torch)
    schedule = optim.ChainedScheduler(several(optim, mine, which))
    peers = torch.optim.lr_scheduler
    peer = peers.ChainedScheduler(several(peers, other, which))

    for _ in range(50):
        same(mine, other)
        assert schedule.get_last_lr() == [g["lr"] for g in mine.param_groups]
        schedule.step()
        peer.step()


def test_schedules_of_schedules_may_hold_each_other_and_go_on_from_their_states():
    def build():
        optimizer = ours()
        chain = optim.ChainedScheduler(several(optim, optimizer, [5, 1]), optimizer)
        inner = optim.SequentialLR(optimizer, [chain, *several(optim, optimizer, [2])], [4])
        return optimizer, optim.SequentialLR(optimizer, [inner, *several(optim, optimizer, [3])], [9])

    first, schedule = build()
    assert first.param_groups[0]["lr"] == pytest.approx(0.25)
    for _ in range(6):
        schedule.step()
    second, resumed = build()
    second.load_state_dict(first.state_dict())
    resumed.load_state_dict(schedule.state_dict())

    for _ in range(10):
        assert picture(first) == picture(second)
        schedule.step()
        resumed.step()


def test_a_sequence_may_start_in_the_middle():
    straight, middle = ours(), ours()
    schedule = optim.SequentialLR(straight, several(optim, straight, [0, 1]), [4])
    for _ in range(8):
        schedule.step()
    optim.SequentialLR(middle, several(optim, middle, [0, 1]), [4], last_epoch=7)

    same(middle, straight)


def test_states_of_others_are_refused():
    optimizer = ours()
    chain = optim.ChainedScheduler(several(optim, optimizer, [0, 1]))
    longer = optim.ChainedScheduler(several(optim, optimizer, [0, 1, 3]))

    with pytest.raises(ArgumentError, match="states of 3"):
        chain.load_state_dict(longer.state_dict())
    with pytest.raises(ArgumentError, match="step_size"):
        chain.load_state_dict(optim.StepLR(optimizer, 3).state_dict())
    with pytest.raises(ArgumentError, match="NoneType"):
        chain.load_state_dict(None)


# ---------------------------------------------------------------------------------------------------- cosine, warmed up


def warm(base, t, *, n=10, low=0.0, mul=1.0, decay=1.0, limit=1, warmup=0, start=0.0, prefix=False, k=1.0):
    """The formula, epoch by epoch."""
    if t < warmup:
        return start + t * (base - start) / warmup
    t = t - warmup if prefix else t
    cycle, length = 0, float(n)
    while t >= length:
        cycle, t, length = cycle + 1, t - length, length * mul
    if cycle >= limit:
        return low
    return low + 0.5 * (base * decay**cycle - low) * (1 + math.cos(math.pi * t**k / length**k))


SHORT = {
    "low": "lr_min", "mul": "cycle_mul", "decay": "cycle_decay", "limit": "cycle_limit", "warmup": "warmup_t",
    "start": "warmup_lr_init", "prefix": "warmup_prefix", "k": "k_decay", "n": "t_initial",
}  # fmt: skip
WARM = [
    {}, {"n": 7}, {"low": 0.05}, {"limit": 3}, {"limit": 3, "mul": 1.5}, {"limit": 4, "decay": 0.5}, {"warmup": 4},
    {"warmup": 4, "start": 0.01}, {"warmup": 4, "prefix": True}, {"k": 1.5},
    {"limit": 3, "mul": 2.0, "decay": 0.7, "warmup": 3, "start": 0.02, "prefix": True, "k": 0.8, "low": 0.01},
]  # fmt: skip


def warm_rates(case):
    optimizer = ours()
    given = {SHORT[name]: value for name, value in ({"n": 10} | case).items()}
    schedule = optim.CosineLR(optimizer, **given)
    for _ in range(50):
        yield [g["lr"] for g in optimizer.param_groups]
        schedule.step()


@pytest.mark.parametrize("case", WARM, ids=str)
def test_cosine_with_warm_up_and_cycles_follows_its_formula(case):
    for epoch, rates in enumerate(warm_rates(case)):
        assert rates == pytest.approx([warm(base, epoch, **case) for base in (0.5, 0.2)], rel=1e-12, abs=1e-15)


def test_every_setting_of_the_warm_cosine_counts():
    assert len({repr(list(warm_rates(case))) for case in WARM}) == len(WARM)
    assert {name for case in WARM for name in case} == set(SHORT)


def test_names_are_those_of_the_module_of_pytorch(torch):
    theirs = {n for n in dir(torch.optim.lr_scheduler) if n.endswith(("LR", "Restarts", "Scheduler", "Plateau"))}

    assert theirs - {"_LRScheduler"} <= set(lr_scheduler.__all__)
    assert jt.lr_scheduler is lr_scheduler
    assert lr_scheduler.StepLR is optim.StepLR
    assert optim.LRScheduler is optim.Schedule


def test_rprop_begins_with_the_rate_that_a_schedule_has_set_before_the_first_step():
    x = jt.array([1.0, -2.0])
    rule = optim.Rprop([x], lr=0.5)
    schedule = optim.lr_scheduler.LinearLR(rule, start_factor=0.1, total_iters=3)

    for _ in range(2):
        rule.step((x * x).sum())
        schedule.step()

    assert x.tolist() == pytest.approx([1 - 0.05 - 0.06, -2 + 0.05 + 0.06])


SPOILT = [("last_epoch", "x"), ("last_epoch", None), ("last_epoch", True), ("last_epoch", -5),
          ("last_epoch", float("nan")), ("base_lrs", None), ("base_lrs", [1.0]),
          ("base_lrs", ["fast"]), ("gamma", "x"), ("milestones", 5), ("milestones", [[1]])]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), SPOILT)
def test_a_spoilt_state_of_a_schedule_is_refused_by_name(name, value):
    optimizer = ours()
    schedule = optim.MultiStepLR(optimizer, [1, 3])
    chain = optim.ChainedScheduler([optim.StepLR(optimizer, 2), schedule])
    kept = chain.state_dict()
    spoilt = {
        **kept,
        "schedulers": [{**kept["schedulers"][0], "last_epoch": 9}, {**kept["schedulers"][1], name: value}],
    }

    for part, state in ((schedule, spoilt["schedulers"][1]), (chain, spoilt)):
        with pytest.raises(ArgumentError, match=f"MultiStepLR continues from a state like its own; found {name}="):
            part.load_state_dict(state)

    assert chain.state_dict() == kept


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (optim.ReduceLROnPlateau, "mode"),
        (optim.ReduceLROnPlateau, "threshold_mode"),
        (lambda o: optim.OneCycleLR(o, 1.0, 5, cycle_momentum=False), "anneal_strategy"),
    ],
)
def test_a_state_with_a_word_that_nobody_could_have_given_is_refused(make, name):
    schedule = make(ours())
    kept = schedule.state_dict()

    with pytest.raises(ArgumentError, match=f"from a state like its own; found {name}='zzz'"):
        schedule.load_state_dict({**kept, name: "zzz"})

    assert schedule.state_dict() == kept
    schedule.load_state_dict(kept)


def test_later_steps_change_no_state_that_was_saved():
    schedule = optim.MultiStepLR(ours(), [1, 3])
    saved = schedule.state_dict()

    schedule.base_lrs[0] = 99
    schedule.milestones.append(7)
    assert (saved["base_lrs"][0], saved["milestones"]) == (0.5, [1, 3])

    schedule.load_state_dict(saved)
    schedule.milestones.append(7)
    assert saved["milestones"] == [1, 3]


MADE = {
    "StepLR": lambda o: optim.StepLR(o, 1, gamma=0.5),
    "MultiplicativeLR": lambda o: optim.MultiplicativeLR(o, lambda epoch: 0.5),
    "LambdaLR": lambda o: optim.LambdaLR(o, lambda epoch: 0.5**epoch),
    "CosineAnnealingLR": lambda o: optim.CosineAnnealingLR(o, 2, eta_min=0.0),
    "CyclicLR": lambda o: optim.CyclicLR(o, 0.25, 0.25, 1, cycle_momentum=False),
    "OneCycleLR": lambda o: optim.OneCycleLR(o, 0.5, 3, cycle_momentum=False),
}


@pytest.mark.parametrize("name", MADE)
def test_a_group_that_comes_later_keeps_its_rate(name):
    optimizer = optim.SGD([jt.zeros(1)], lr=0.5)
    schedule = MADE[name](optimizer)
    optimizer.add_param_group({"params": [jt.zeros(1)], "lr": 0.125})

    before = optimizer.lr
    schedule.step()

    assert optimizer.lr != before or name == "CyclicLR"
    assert optimizer.param_groups[1]["lr"] == 0.125


def test_a_plateau_leaves_the_rate_of_a_group_that_comes_later():
    optimizer = optim.SGD([jt.zeros(1)], lr=0.5)
    schedule = optim.ReduceLROnPlateau(optimizer, patience=0, factor=0.5)
    optimizer.add_param_group({"params": [jt.zeros(1)], "lr": 0.125})

    for _ in range(2):
        schedule.step(1.0)

    assert schedule.get_last_lr() == [0.25, 0.125]


def chained(optimizer):
    return optim.ChainedScheduler([optim.StepLR(optimizer, 1), optim.ExponentialLR(optimizer, 0.5)])


def sequential(optimizer):
    return optim.SequentialLR(optimizer, [optim.StepLR(optimizer, 1), optim.ExponentialLR(optimizer, 0.5)], [2])


@pytest.mark.parametrize("made", [chained, sequential, MADE["StepLR"]])
@pytest.mark.parametrize("epoch", [-5, "x", math.inf])
def test_an_epoch_that_is_none_changes_nothing(made, epoch):
    optimizer = optim.SGD([jt.zeros(1)], lr=0.5)
    schedule = made(optimizer)
    schedule.step()
    state, rates = schedule.state_dict(), schedule.get_last_lr()

    with pytest.raises(ArgumentError, match=f"{type(schedule).__name__}.step takes epoch as a finite number from 0"):
        schedule.step(epoch)

    assert (schedule.state_dict(), schedule.get_last_lr()) == (state, rates)


def test_last_epoch_may_be_a_number_of_numpys():
    optimizer = ours()

    assert optim.StepLR(optimizer, 1, last_epoch=np.int64(3)).last_epoch == 4
