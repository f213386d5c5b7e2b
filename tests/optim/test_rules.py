"""Fifty steps of every rule with every setting are those of PyTorch, or of the formula in its paper."""

import inspect

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import optim
from tests.optim.rules import CASES, MAKERS, SETTINGS, Problem

pytestmark = pytest.mark.usefixtures("python_backend")


@pytest.fixture
def double(torch):
    """PyTorch keeps its own counts in float64 too."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield torch
    torch.set_default_dtype(before)


def walk(make, steps):
    """The parameters after each step."""
    problem = Problem()
    params = [jt.array(a) for a in problem.start]
    optimizer = make(params)
    for _ in range(steps):
        optimizer.step(problem.loss(*params))
        yield [p.numpy().copy() for p in params]


@pytest.mark.parametrize("name", CASES)
def test_fifty_steps_are_those_of_pytorch(double, name):
    rule, given = CASES[name]
    problem = Problem()
    params = [double.tensor(a, requires_grad=True) for a in problem.start]
    peer = getattr(double.optim, rule)(params, **given)

    for ours in walk(MAKERS[name], 50):
        peer.zero_grad()
        problem.loss(*params, like=double.tensor).backward()
        peer.step()
        for mine, other in zip(ours, params, strict=True):
            np.testing.assert_allclose(mine, other.detach().numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("rule", SETTINGS)
def test_every_setting_is_tried_and_changes_the_way(rule):
    _, cases = SETTINGS[rule]
    tried = {name for case in cases for name in case}
    settings = set(inspect.signature(getattr(optim, rule).__init__).parameters) - {"self", "params"}

    ends = {np.concatenate([p.ravel() for p in list(walk(MAKERS[f"{rule} {c}"], 20))[-1]]).tobytes() for c in cases}

    assert tried == settings
    assert len(ends) == len(cases)


def lamb(problem, lr, betas, eps, weight_decay, steps):
    """The formula of the paper, written out."""
    params, means, squares = list(problem.start), [0.0, 0.0], [0.0, 0.0]
    for t in range(1, steps + 1):
        for k, g in enumerate(problem.gradients(*params)):
            means[k] = betas[0] * means[k] + (1 - betas[0]) * g
            squares[k] = betas[1] * squares[k] + (1 - betas[1]) * g**2
            r = means[k] / (1 - betas[0] ** t) / (np.sqrt(squares[k] / (1 - betas[1] ** t)) + eps)
            r = r + weight_decay * params[k]
            params[k] = params[k] - lr * np.linalg.norm(params[k]) / np.linalg.norm(r) * r
        yield list(params)


@pytest.mark.parametrize(
    "changed",
    [{}, {"lr": 0.05}, {"betas": (0.5, 0.6)}, {"eps": 0.5}, {"weight_decay": 0.0}, {"weight_decay": 0.5}],
    ids=str,
)
def test_lamb_follows_the_formula_of_its_paper(changed):
    given = {"lr": 0.02, "betas": (0.8, 0.9), "eps": 1e-3, "weight_decay": 0.1, **changed}
    expected = lamb(Problem(), steps=50, **given)

    for ours, other in zip(walk(lambda p: optim.LAMB(p, **given), 50), expected, strict=True):
        for a, b in zip(ours, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_lamb_moves_a_parameter_that_is_zero_and_can_go_uphill():
    still, w = jt.zeros(2), jt.array([1.0, 2.0])
    optim.LAMB([still, w], lr=0.5, weight_decay=0.0, maximize=True).step((still + w * w).sum())

    np.testing.assert_allclose(still.numpy(), [0.5, 0.5], rtol=1e-5)
    assert (w.numpy() > [1, 2]).all()


def lookahead(problem, alpha, k, steps, lr=0.01):
    """Plain descent, and slow weights beside it."""
    fast, slow = list(problem.start), list(problem.start)
    for t in range(1, steps + 1):
        fast = [p - lr * g for p, g in zip(fast, problem.gradients(*fast), strict=True)]
        if t % k == 0:
            slow = [s + alpha * (p - s) for s, p in zip(slow, fast, strict=True)]
            fast = list(slow)
        yield list(fast)


@pytest.mark.parametrize(("alpha", "k"), [(0.5, 6), (0.5, 5), (0.9, 5), (0.3, 1), (1.0, 2), (0.0, 4)])
def test_lookahead_follows_the_formula_of_its_paper(alpha, k):
    def make(params):
        return optim.Lookahead(optim.SGD(params, lr=0.01), alpha=alpha, k=k)

    for ours, other in zip(walk(make, 50), lookahead(Problem(), alpha, k, 50), strict=True):
        for a, b in zip(ours, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_lookahead_goes_on_with_what_the_other_one_knows():
    problem = Problem()
    params = [jt.array(a) for a in problem.start]
    first = optim.Adam(params, lr=0.1)
    for _ in range(3):
        first.step(problem.loss(*params))

    second = optim.Lookahead(first, k=2)

    assert [s["step"] for s in second.state] == [3, 3]
    np.testing.assert_array_equal(second.state[0]["mean"].numpy(), first.state[0]["mean"].numpy())
    np.testing.assert_array_equal(second.state[0]["slow"].numpy(), params[0].numpy())


def test_asgd_keeps_the_average_of_the_places_from_t0_on(double):
    problem = Problem()
    params = [jt.array(a) for a in problem.start]
    theirs = [double.tensor(a, requires_grad=True) for a in problem.start]
    ours, peer = optim.ASGD(params, t0=5.0), double.optim.ASGD(theirs, t0=5.0)
    for _ in range(20):
        ours.step(problem.loss(*params))
        peer.zero_grad()
        problem.loss(*theirs, like=double.tensor).backward()
        peer.step()

        for state, other in zip(ours.state, theirs, strict=True):
            np.testing.assert_allclose(state["average"].numpy(), peer.state[other]["ax"].numpy(), rtol=1e-12)


def test_asgd_feels_a_schedule_where_pytorch_does(double):
    problem = Problem()
    params = [jt.array(a) for a in problem.start]
    theirs = [double.tensor(a, requires_grad=True) for a in problem.start]
    settings = {"lr": 0.1, "lambd": 0.01, "t0": 2.0}
    ours, peer = optim.ASGD(params, **settings), double.optim.ASGD(theirs, **settings)
    mine, yours = optim.lr_scheduler.StepLR(ours, 2, 0.5), double.optim.lr_scheduler.StepLR(peer, 2, 0.5)
    for _ in range(8):
        ours.step(problem.loss(*params))
        peer.zero_grad()
        problem.loss(*theirs, like=double.tensor).backward()
        peer.step()
        mine.step(), yours.step()

        for p, other in zip(params, theirs, strict=True):
            np.testing.assert_allclose(p.numpy(), other.detach().numpy(), rtol=1e-9)


def test_rprop_stays_where_the_sign_turns_and_bounds_its_lengths():
    w = jt.array([1.0])
    optimizer = optim.Rprop([w], lr=0.75, etas=(0.5, 1.2), step_sizes=(0.4, 0.8))
    places = []
    for _ in range(4):
        optimizer.step((w * w).sum())
        places.append(round(w.item(), 4))

    assert places == [0.25, -0.55, -0.55, -0.15]  # 0.75, then 0.8 of at most; back over 0: stay; then 0.4 of at least


def test_what_is_kept_follows_the_settings():
    w = jt.ones(2)

    assert set(optim.SGD([w]).state[0]) == {"step"}
    assert set(optim.SGD([w], momentum=0.9).state[0]) == {"step", "velocity"}
    assert set(optim.Adam([w]).state[0]) == {"step", "mean", "square"}
    assert set(optim.Adam([w], amsgrad=True).state[0]) == {"step", "mean", "square", "largest"}
    assert set(optim.RMSprop([w]).state[0]) == {"step", "square"}
    assert set(optim.RMSprop([w], momentum=0.5, centered=True).state[0]) == {"step", "square", "velocity", "mean"}
    assert set(optim.NAdam([w]).state[0]) == {"step", "mean", "square", "mu_product"}


def test_a_setting_switched_on_later_begins_its_state():
    w = jt.array([1.0])
    optimizer = optim.Adam([w], lr=0.1)
    optimizer.step((w * w).sum())
    optimizer.param_groups[0]["amsgrad"] = True
    optimizer.step((w * w).sum())

    np.testing.assert_array_equal(optimizer.state[0]["largest"].numpy(), optimizer.state[0]["square"].numpy())


@pytest.mark.parametrize(
    "make",
    [
        lambda p: optim.Adam(p, lr=0.01, amsgrad=True, weight_decay=0.1),
        lambda p: optim.RAdam(p, lr=0.01, betas=(0.9, 0.9)),
        lambda p: optim.Rprop(p),
        lambda p: optim.RMSprop(p, centered=True, momentum=0.5),
        lambda p: optim.LAMB(p),
    ],
)
def test_numba_takes_the_same_steps(make):
    with jt.flag_scope(backend="numba"):
        compiled = list(walk(make, 8))[-1]

    for a, b in zip(compiled, list(walk(make, 8))[-1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: optim.Adam([jt.ones(1)], beta=0.9), r"^Adam\(params, lr=0.001, \*, betas=.*argument 'beta'$"),
        (lambda: optim.SGD([jt.ones(1)], 0.1, 0.9, 0.1), r"^SGD\(params, .*too many positional arguments$"),
        (lambda: optim.StepLR(optim.SGD([jt.ones(1)])), r"^StepLR\(optimizer, step_size, .*argument: 'step_size'$"),
        (lambda: optim.ReduceLROnPlateau(None, verbose=True), r"^ReduceLROnPlateau\(optimizer, .*argument 'verbose'$"),
    ],
)
def test_arguments_that_do_not_fit_are_told_in_the_name_of_the_class(call, says):
    with pytest.raises(TypeError, match=says):
        call()
