"""Derived gradients: a copy is the graph that the rules would have built, and where somebody has a say they run."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.base.context import current
from jt_edu.ir.meta_ops import Elementwise
from jt_edu.ir.node import inputs_first
from jt_edu.variable import autograd

SIGHTS = 4  # of one structure: seen, written down, copied, copied


@pytest.fixture(autouse=True)
def _python_backend():
    with jt.flag_scope(backend="python"):
        current().rank_state.pop("derived", None)
        yield


def copies():
    """How many gradients can be copied."""
    memory = current().rank_state["derived"]
    return sum(found is not None for found in memory.known.values())


def described(dx, x):
    """Every node behind a gradient: its operator, its inputs, and what it is a gradient of."""
    nodes = inputs_first([dx.node])
    place = {n.id: k for k, n in enumerate(nodes)}
    return [
        (n.op, [place[i.id] for i in n.inputs], n.shape, n.dtype, n.tracked, place.get(n.twin), n.line,
         n.data if n.op.kind == "source" and n is not x.node else None)
        for n in nodes
    ]  # fmt: skip


def loss_of(x):
    return ((x * x + 1).log() * x.exp()).sum() / (x * 3).max()


@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_the_copied_gradient_is_the_one_that_the_rules_build(rng, shape):
    for _ in range(SIGHTS):
        x = jt.array(rng.random(shape))
        loss = loss_of(x)
        copied, built = jt.grad(loss, x), autograd.gradients(loss, [x])[0]
    assert copies() == 1
    assert described(copied, x) == described(built, x)


def test_numbers_and_gradients_of_both_orders_are_those_of_each_call():
    for k in range(1, 2 * SIGHTS):
        x = jt.array([float(k)])
        dx = jt.grad((x * x * x).sum(), x)
        assert (dx.item(), jt.grad(dx.sum(), x).item()) == (3.0 * k * k, 6.0 * k)
    assert copies() == 2


def times(rule):
    """x * k for a number k, with a gradient of its own."""
    op = Elementwise("times", "{0} * {1}", "same", (rule,))
    return lambda x, k: x.apply(op, k)


def test_numbers_of_the_graph_are_told_apart():
    scaled = times(lambda o, d, x, k: (d.cast("float64") * k.cast("float64")).cast("float32"))
    for _ in range(SIGHTS):
        for k in (2.0, 3.0, -0.0, 0.0):
            x = jt.array([1.0])
            found = jt.grad(scaled(x, k).sum(), x).item()
            assert (found, np.signbit(found)) == (k, np.signbit(k))


def test_a_rule_that_brings_numbers_from_elsewhere_is_asked_each_time():
    outside = {}
    scaled = times(lambda o, d, x, k: d * jt.array([outside["now"]]))
    for k in range(SIGHTS):
        outside["now"], x = float(k), jt.array([1.0])
        assert jt.grad(scaled(x, 1.0).sum(), x).item() == k


def test_targets_and_seeds_are_told_apart():
    for _ in range(SIGHTS):
        x, y = jt.array([2.0]), jt.array([5.0])
        loss = (x * y).sum()
        assert jt.grad(loss, x).item() == 5.0
        assert jt.grad(loss, y).item() == 2.0
        assert [g.item() for g in jt.grad(loss, [y, x])] == [2.0, 5.0]
        assert jt.vjp(x * y, [x], jt.array([10.0]))[0].item() == 50.0
        assert jt.vjp(x * y, [x], y)[0].item() == 25.0


def test_a_target_without_a_path_is_none_or_an_error_each_time():
    for _ in range(SIGHTS):
        x, y = jt.array([2.0]), jt.array([5.0])
        loss = (x * x).sum()
        assert jt.grad(loss, [y], allow_unused=True) == [None]
        with pytest.raises(jt.base.errors.GradientError, match="not computed from"):
            jt.grad(loss, [y])


def test_what_takes_no_part_is_told_apart():
    for _ in range(SIGHTS):
        x, y = jt.array([2.0]), jt.array([5.0])
        assert jt.grad((x * y).sum(), x).requires_grad
        assert not jt.grad((x * y.detach()).sum(), x).requires_grad
        loss = (x * y).sum()
        with jt.no_grad():
            assert not jt.grad(loss, x).requires_grad


def test_hooks_and_functions_are_asked_each_time():
    asked = []

    class Tripled(jt.Function):
        def execute(self, x):
            return x * 1

        def grad(self, dout):
            asked.append("function")
            return dout * 3

    for _ in range(SIGHTS):
        x = jt.array([1.0])
        y = x * 2
        y.register_hook(lambda d: asked.append("hook") or d * 10)
        assert jt.grad((y * 1).sum(), x).item() == 20.0
        assert jt.grad(Tripled()(x).sum(), x).item() == 3.0
    assert asked == ["hook", "function"] * SIGHTS


def test_a_parameter_has_no_history_before_its_last_update():
    w = jt.array([1.0])
    for _ in range(2 * SIGHTS):  # nothing runs before the end
        w.update(w - jt.grad((w * w).sum(), w) * 0.25)
    assert w.item() == 0.5 ** (2 * SIGHTS)
    assert copies() == 1


def test_a_structure_that_comes_once_is_not_kept():
    for n in range(1, 6):
        x = jt.ones(n)
        jt.grad((x * x).sum(), x)
    assert copies() == 0
