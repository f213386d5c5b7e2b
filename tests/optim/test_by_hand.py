"""Optimizers and schedules of one's own, in PyTorch's words and in Jittor's; and several optimizers at once."""

import copy
import pickle

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn, optim
from jt_edu.optim.lr_scheduler import LRScheduler, _LRScheduler

pytestmark = pytest.mark.usefixtures("python_backend")


def pytorchs(optimizer, zeros_like, no_grad):
    """The same text for both libraries: Adam without its corrections."""

    class Mine(optimizer):
        def __init__(self, params, lr=0.1, beta=0.9):
            super().__init__(params, {"lr": lr, "beta": beta})

        @no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    state = self.state[p]
                    if len(state) == 0:
                        state["step"] = 0
                        state["mean"] = zeros_like(p)
                    state["step"] += 1
                    state["mean"] = state["mean"] * group["beta"] + p.grad * (1 - group["beta"])
                    p -= group["lr"] * state["mean"] * state["step"]  # noqa: PLW2901 - as people write it

    return Mine


Mine = pytorchs(optim.Optimizer, jt.zeros_like, jt.no_grad)


def test_pytorchs_form_of_an_optimizer_does_what_it_does_there(torch):
    theirs, w = torch.tensor([1.0, -2.0], requires_grad=True), jt.array([1.0, -2.0])
    rule, ours = pytorchs(torch.optim.Optimizer, torch.zeros_like, torch.no_grad)([theirs]), Mine([w])

    for _ in range(3):
        for p, optimizer in ((theirs, rule), (w, ours)):
            optimizer.zero_grad()
            (p**3).sum().backward()
            optimizer.step()

    np.testing.assert_allclose(w.numpy(), theirs.detach().numpy(), rtol=1e-6)
    assert ours.state[w]["step"] == ours.state[0]["step"] == 3
    assert w in ours.state
    assert jt.ones(1) not in ours.state
    with pytest.raises(jt.ArgumentError, match="states of its parameters"):
        _ = ours.state[jt.ones(1)]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda rule: rule])
def test_its_state_is_saved_and_goes_on(copied):
    w, later = jt.array([1.0, 2.0]), jt.array([1.0, 2.0])
    rule, other = Mine([w]), Mine([later], lr=5.0)
    (w * w).sum().backward()
    rule.step()
    later.assign(w)

    other.load_state_dict(copied(rule).state_dict())
    for p, optimizer in ((w, rule), (later, other)):
        p.grad = jt.ones(2)
        optimizer.step()

    assert w.tolist() == later.tolist()
    assert (other.state[later]["step"], other.lr) == (2, 0.1)
    with pytest.raises(jt.ShapeError, match="groups of"):
        Mine([w, later]).load_state_dict(rule.state_dict())


class Walked(list):
    """Parameters that count how often somebody goes through all of them."""

    walks = 0

    def __iter__(self):
        Walked.walks += 1
        return super().__iter__()


@pytest.mark.parametrize("copied", [lambda rule: rule, copy.deepcopy, lambda rule: pickle.loads(pickle.dumps(rule))])  # noqa: S301
def test_the_state_of_a_parameter_is_found_without_a_walk_through_all_of_them(copied):
    params = [jt.ones(1) for _ in range(20)]
    rule = copied(optim.SGD(params, lr=0.1))
    group = rule.param_groups[0]
    group["params"] = Walked(group["params"])
    Walked.walks = 0

    for k in range(20):
        p = list.__getitem__(group["params"], k)
        assert p in rule.state
        rule.state[p]["mine"] = k

    assert [state["mine"] for state in rule.state] == list(range(20))
    assert Walked.walks <= 1


def test_states_are_found_when_groups_came_and_went():
    a, b, c = (jt.ones(1) for _ in range(3))
    rule = optim.SGD([a], lr=0.1)
    assert (a in rule.state, b in rule.state) == (True, False)

    rule.add_param_group({"params": [b, c]})
    for name, p in (("a", a), ("b", b), ("c", c)):
        rule.state[p]["is"] = name
    assert [state["is"] for state in rule.state] == ["a", "b", "c"]

    del rule.param_groups[0], rule.state[0]
    assert (rule.state[b]["is"], rule.state[c]["is"], a in rule.state) == ("b", "c", False)


def test_jittors_form_moves_by_the_gradients_of_a_loss():
    class Descent(optim.Optimizer):
        def __init__(self, params, lr):
            super().__init__(params, lr)

        def step(self, loss=None, retain_graph=False):
            self.pre_step(loss, retain_graph)
            for group in self.param_groups:
                for p, g in zip(group["params"], group["grads"], strict=True):
                    p.update(p - g * group.get("lr", self.lr))
            self.post_step()

    w, unused = jt.array([1.0, 2.0]), jt.array([5.0])
    rule = Descent([w, unused], 0.25)
    with pytest.warns(UserWarning, match="does not depend on"):
        rule.step((w * w).sum())

    assert (w.tolist(), unused.tolist(), w.grad, "grads" in rule.param_groups[0]) == ([0.5, 1.0], [5.0], None, False)


def test_a_rate_may_be_an_attribute_before_the_groups_are_there():
    class Early(optim.SGD):
        def __init__(self, params, lr):
            self.lr = lr
            assert self.lr == lr
            super().__init__(params, lr=lr / 2)

    assert Early([jt.ones(1)], 0.5).lr == 0.25


def test_settings_that_are_none_name_the_way():
    with pytest.raises(jt.ArgumentError, match=r"Try: super\(\).__init__\(params, dict\(lr=lr\)\)"):
        optim.Optimizer([jt.ones(1)], "fast")
    w = jt.ones(1)
    with pytest.raises(jt.ArgumentError, match=r"def rule.*or a step of your own"):
        optim.Optimizer([w], lr=0.1).step(w.sum())


# ------------------------------------------------------------------------------------------------------------ schedules


def schedules(base):
    class Closed(base):
        def __init__(self, optimizer, gamma, last_epoch=-1):
            self.gamma = gamma
            super().__init__(optimizer, last_epoch)

        def get_lr(self):
            return [rate * self.gamma**self.last_epoch for rate in self.base_lrs]

    class Chained(base):
        def get_lr(self):
            if self.last_epoch == 0:
                return [group["lr"] for group in self.optimizer.param_groups]
            return [group["lr"] * 0.5 for group in self.optimizer.param_groups]

    return lambda o: Closed(o, 0.1), Chained


@pytest.mark.filterwarnings("ignore:.*lr_scheduler.step.*")
@pytest.mark.parametrize("base", [LRScheduler, _LRScheduler])
@pytest.mark.parametrize("which", [0, 1])
def test_a_schedule_with_get_lr_does_what_it_does_in_pytorch(torch, which, base):
    ours = optim.SGD([{"params": [jt.ones(1)], "lr": 1.0}, {"params": [jt.ones(1)]}], lr=0.5)
    theirs = torch.optim.SGD([{"params": [torch.ones(1)], "lr": 1.0}, {"params": [torch.ones(1)]}], lr=0.5)
    mine = schedules(base)[which](ours)
    other = schedules(torch.optim.lr_scheduler.LRScheduler)[which](theirs)

    for _ in range(3):
        assert mine.get_last_lr() == pytest.approx(other.get_last_lr())
        mine.step()
        other.step()


def test_a_get_lr_that_answers_something_else_is_refused_and_so_is_none_at_all():
    class Bad(LRScheduler):
        def get_lr(self):
            return 0.1

    rule = optim.SGD([jt.ones(1)], lr=0.1)
    with pytest.raises(jt.ArgumentError, match=r"a list with the rate of each of 1 group; found 0\.1"):
        Bad(rule)
    with pytest.raises(jt.ArgumentError, match=r"def rate\(self, base, epoch\), or def get_lr\(self\)"):
        LRScheduler(rule)


# ------------------------------------------------------------------------------------------------- several of them


@pytest.mark.parametrize("rule", [optim.SGD, optim.Adam])
def test_a_second_step_of_one_loss_says_that_the_first_let_go_of_the_graph(rule):
    a, b = jt.array([2.0]), jt.array([3.0])
    loss = a * b
    rule([a], lr=0.1).step(loss)

    for ask in (optim.SGD([b], lr=0.1).step, optim.SGD([b], lr=0.1).backward):
        with pytest.raises(jt.GradientError, match=r"has let go of.*retain_graph=True in the earlier step"):
            ask(loss)
    for ask in (lambda: jt.grad(loss, b), loss.backward):
        with pytest.raises(jt.GradientError, match="let go of"):
            ask()
    assert (b.tolist(), b.grad) == ([3.0], None)


def test_a_loss_that_is_kept_moves_both():
    a, b = jt.array([2.0]), jt.array([3.0])
    loss = a * b

    optim.SGD([a], lr=0.1).step(loss, retain_graph=True)
    optim.SGD([b], lr=0.1).step(loss)

    assert (a.item(), b.item()) == (pytest.approx(1.7), pytest.approx(2.8))


def test_two_networks_that_play_against_each_other_are_trained_as_in_pytorchs_lessons(torch, rng):
    def trained(lib, nets, rules, array):
        (G, D), (g_rule, d_rule), bce = nets, rules, lib.nn.BCEWithLogitsLoss()
        ones, zeros = array(np.ones((4, 1))), array(np.zeros((4, 1)))
        for k in range(3):
            noise, real = array(draws[k][0]), array(draws[k][1])
            d_rule.zero_grad()
            bce(D(real), ones).backward()
            fake = G(noise)
            bce(D(fake.detach()), zeros).backward()
            d_rule.step()
            g_rule.zero_grad()
            bce(D(fake), ones).backward()
            g_rule.step()
            g_rule.zero_grad()  # the other order: the generator first
            fake = G(noise)
            bce(D(fake), ones).backward()
            g_rule.step()
            d_rule.zero_grad()
            ((bce(D(real), ones) + bce(D(fake.detach()), zeros)) / 2).backward()
            d_rule.step()

    draws = [(rng.normal(size=(4, 2)), rng.normal(size=(4, 3))) for _ in range(3)]
    theirs = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)
    ours = nn.Linear(2, 3), nn.Linear(3, 1)
    for a, b in zip(ours, theirs, strict=True):
        a.load_state_dict({name: p.detach().numpy().copy() for name, p in b.named_parameters()})
    trained(torch, theirs, [torch.optim.Adam(n.parameters(), 0.1) for n in theirs], lambda a: torch.tensor(a).float())
    trained(jt, ours, [optim.Adam(n.parameters(), 0.1) for n in ours], lambda a: jt.array(a, dtype="float32"))

    for a, b in zip(ours, theirs, strict=True):
        for name, p in b.named_parameters():
            np.testing.assert_allclose(a.get_parameter(name).numpy(), p.detach().numpy(), rtol=1e-4, atol=1e-5)


def test_the_first_step_ignores_the_dampening_as_in_pytorch(torch):
    w, theirs = jt.array([1.0]), torch.ones(1, requires_grad=True)
    settings = {"lr": 0.1, "momentum": 0.9, "dampening": 0.5}
    rule, other = optim.SGD([w], **settings), torch.optim.SGD([theirs], **settings)

    for _ in range(3):
        rule.step((w * w).sum())
        other.zero_grad()
        (theirs * theirs).sum().backward()
        other.step()
        assert w.item() == pytest.approx(theirs.item())


# ------------------------------------------------------------------------------------------------- means of networks


@pytest.mark.parametrize("kind", ["mean", "recent", "recent one by one", "with buffers"])
def test_averages_of_a_network_are_pytorchs(torch, rng, kind):
    def averaged(lib, net):
        utils = lib.optim.swa_utils
        return utils.AveragedModel(net, **{
            "mean": {},
            "recent": {"multi_avg_fn": utils.get_ema_multi_avg_fn(0.9)},
            "recent one by one": {"avg_fn": utils.get_ema_avg_fn(0.9)},
            "with buffers": {"use_buffers": True},
        }[kind])  # fmt: skip

    def trained(lib, net, array):
        means, rule = averaged(lib, net), lib.optim.SGD(net.parameters(), lr=0.1)
        for batch in batches:
            rule.zero_grad()
            (net(array(batch)) ** 2).mean().backward()
            rule.step()
            means.update_parameters(net)
        before = {name: v.numpy().copy() for name, v in means.state_dict().items()}
        means.eval()
        lib.optim.swa_utils.update_bn([(array(batch), 1) for batch in batches], means)
        return [before, {name: v.numpy() for name, v in means.state_dict().items()}, means.training]

    batches = [rng.normal(size=(5, 2)).astype("float32") for _ in range(3)]
    theirs = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    ours = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    ours.load_state_dict({name: v.detach().numpy().copy() for name, v in theirs.state_dict().items()})

    *found, mode = trained(jt, ours, jt.array)
    *wanted, _ = trained(torch, theirs, torch.tensor)

    assert mode is False
    for a, b in zip(found, wanted, strict=True):
        assert a.keys() == b.keys()
        for name in [n for n in b if (kind, n) != ("with buffers", "module.1.num_batches_tracked")]:  # ours is copied
            numbers = b[name]
            np.testing.assert_allclose(a[name], numbers, rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.filterwarnings("ignore:.*lr_scheduler.step.*")
@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("epochs", [0, 1, 4])
def test_the_rate_goes_to_that_of_the_averages_as_in_pytorch(torch, strategy, epochs):
    def rates(lib, one):
        rule = lib.optim.SGD([{"params": [one()], "lr": 1.0}, {"params": [one()]}], lr=0.5)
        schedule = lib.optim.swa_utils.SWALR(rule, [0.1, 0.2], epochs, strategy)
        found = []
        for _ in range(6):
            found.append([group["lr"] for group in rule.param_groups])
            schedule.step()
        return found

    wanted = rates(torch, lambda: torch.ones(1, requires_grad=True))
    np.testing.assert_allclose(rates(jt, lambda: jt.ones(1)), wanted)


def test_averages_are_copied_and_pickled():
    means = optim.swa_utils.AveragedModel(nn.Linear(1, 1), multi_avg_fn=optim.swa_utils.get_ema_multi_avg_fn(0.5))

    twins = [copy.deepcopy(means), pickle.loads(pickle.dumps(means))]  # noqa: S301 - bytes of its own

    assert [list(twin.state_dict()) for twin in twins] == [list(means.state_dict())] * 2


def plain_norm():
    """Batch norm with its two parameters, and no buffers."""
    return nn.BatchNorm1d(2, track_running_stats=False)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda s: s.AveragedModel(3), "a copy of a module; found int"),
        (lambda s: s.AveragedModel(nn.Linear(1, 1), avg_fn=max, multi_avg_fn=max), "computed in one way"),
        (lambda s: s.AveragedModel(nn.Linear(1, 1)).update_parameters(nn.Linear(2, 1)), "networks of the same kind"),
        (lambda s: s.AveragedModel(nn.Linear(1, 1), device="cuda"), "cuda"),
        (lambda s: s.AveragedModel(plain_norm()).update_parameters(nn.BatchNorm(2)), "found 3 buffers for 0"),
        (lambda s: s.AveragedModel(nn.BatchNorm(2)).update_parameters(plain_norm()), "found 0 buffers for 3"),
        (
            lambda s: s.AveragedModel(nn.Linear(1, 1)).update_parameters(nn.Linear(2, 1)),
            r"found parameters of shape \(1, 2\) for \(1, 1\)",
        ),
        (lambda s: s.get_ema_avg_fn(2), "decay=2"),
        (lambda s: s.SWALR(optim.SGD([jt.ones(1)], lr=1.0), [1.0, 2.0]), "one for each of 1 group"),
    ],
)
def test_averages_say_what_they_take(make, words):
    with pytest.raises(jt.JtError, match=words):
        make(optim.swa_utils)
