"""Training: a thousand steps need no more memory than ten, a plan keeps its word, and an idle parameter is named."""

import gc
import tracemalloc
import weakref
from itertools import pairwise

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import backends, nn, optim
from jt_edu.base.context import rank_context
from jt_edu.ir.node import Node


def network(seed):
    """A small network with everything that keeps state: running statistics, momentum, random masks."""
    jt.set_global_seed(seed)
    net = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm(16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 3))
    x = jt.array(np.random.default_rng(seed).normal(size=(12, 8)).astype("float32"))
    y = jt.array(np.arange(12) % 3)
    return net, optim.Adam(net.parameters(), lr=1e-3), x, y


def objects():
    """How many nodes and Vars there are."""
    gc.collect()
    return sum(type(o) in (Node, jt.Var) for o in gc.get_objects())


def test_a_thousand_steps_do_not_grow_memory(seed):
    net, optimizer, x, y = network(seed)
    losses = []

    def train(steps):
        for _ in range(steps):
            loss = nn.cross_entropy_loss(net(x), y)
            optimizer.step(loss)
            losses.append(loss)  # learners do this: it must not keep every graph alive
        losses[:] = losses[-5:]

    train(20)
    count, stats = objects(), jt.memory_stats()
    train(700)
    tracemalloc.start()
    try:
        held = []
        for _ in range(4):  # other threads of a test run allocate too, but not in each of three rounds
            train(75)
            gc.collect()
            held.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()

    assert abs(objects() - count) <= 10
    assert min(b - a for a, b in pairwise(held)) < 10_000  # one node kept for each step would be 20,000
    assert jt.memory_stats().in_use <= stats.in_use
    assert jt.memory_stats().kept <= stats.kept
    assert losses[-1].item() < 0.5


def test_the_way_of_pytorch_does_not_grow_memory_either(seed):
    net, optimizer, x, y = network(seed)
    x.stop_grad()  # as batches of a Dataset are; backward() would add up gradients of x, too

    def train(steps):
        for _ in range(steps):
            loss = nn.cross_entropy_loss(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    train(10)
    count = objects()
    train(100)

    assert abs(objects() - count) <= 10


def assigned(w, g):
    with jt.no_grad():
        w.assign(w - 0.01 * g)
    return w


def made_anew(w, g):
    with jt.no_grad():
        w = w - 0.01 * g
    w.start_grad()
    return w


def named_anew(w, g):
    return w - 0.01 * g


def updated(w, g):
    return w.update(w - 0.01 * g)


def with_momentum(put):
    """Descent with a velocity, where `put(old, new)` says how both go on."""
    v = jt.zeros(2)

    def step(w, g):
        nonlocal v
        v = put(v, 0.9 * v + g)
        return put(w, w - 0.01 * v)

    return step


WAYS = {
    "assigned": lambda: assigned, "made anew": lambda: made_anew, "named anew": lambda: named_anew,
    "updated": lambda: updated,
    "momentum, updated": lambda: with_momentum(jt.Var.update),
    "momentum, assigned": lambda: jt.no_grad()(with_momentum(jt.Var.assign)),
}  # fmt: skip


@pytest.mark.parametrize("made", WAYS.values(), ids=WAYS)
def test_a_step_of_descent_by_hand_costs_as_much_as_the_one_before_it(made):
    kernels, compiled = [], []
    with rank_context():  # nothing ran before
        x, y = jt.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), jt.array([1.0, 2.0, 3.0])
        w, way = jt.array([0.1, 0.2]), made()
        for _ in range(10):
            loss = (((x * w).sum(1) - y) ** 2).mean()
            w = way(w, jt.grad(loss, w))
            with jt.trace() as t:  # when w has moved on already
                loss.item()
            kernels.append(len(t.kernels))
            compiled.append(t.compiled)

    assert len({*kernels[5:]}) == 1, kernels
    assert not any(compiled[6:]), compiled


def test_the_predicted_peak_of_a_step_is_the_measured_one(seed, monkeypatch):
    """Measured: every array that the backend makes is counted until Python lets go of it, whatever the plan says."""
    backend = type(backends.get("python"))
    alive, most = [0], [0]

    def died(size):
        alive[0] -= size

    def counted(_self, shape, dtype):
        array = np.empty(shape, dtype)
        alive[0] += array.nbytes
        most[0] = max(most[0], alive[0])
        weakref.finalize(array, died, array.nbytes)
        return array

    monkeypatch.setattr(backend, "empty", counted)
    with jt.flag_scope(backend="python"):
        net, optimizer, x, y = network(seed)
        optimizer.step(nn.cross_entropy_loss(net(x), y))
        for _ in range(3):
            gc.collect()
            before = most[0] = alive[0]
            with jt.trace() as t:
                loss = nn.cross_entropy_loss(net(x), y)
                optimizer.step(loss)
            assert t.predicted_peak == t.peak == most[0] - before > 0
            del loss


def test_a_step_is_planned_and_compiled_once(seed):
    net, optimizer, x, y = network(seed)
    plans = jt.base.context.current().rank_state.setdefault("plans", {})
    with jt.trace():  # so that none of them is replayed; after the first, parameters are younger than the batch
        for _ in range(2):
            optimizer.step(nn.cross_entropy_loss(net(x), y))
    known = len(plans)

    with jt.trace() as t:
        for k in range(5):
            optimizer.lr = 0.01 / (k + 1)
            optimizer.step(nn.cross_entropy_loss(net(x), y))

    assert len(plans) == known
    assert t.compiled == 0


def test_an_idle_parameter_is_named(seed):
    class Both(nn.Module):
        def __init__(self, net):
            self.net, self.spare = net, nn.Linear(3, 3)

        def execute(self, x):
            return self.net(x)

    net, _, x, y = network(seed)
    net = Both(net)
    optimizer = optim.SGD(net.parameters(), lr=0.1)

    with pytest.warns(UserWarning, match=r"does not depend on spare\.weight, spare\.bias"):
        optimizer.step(nn.cross_entropy_loss(net(x), y))


def test_a_network_learns_the_same_from_the_same_seed(seed):
    def train():
        net, optimizer, x, y = network(seed)
        for _ in range(5):
            optimizer.step(nn.cross_entropy_loss(net(x), y))
        return [p.numpy().tobytes() for p in net.state_dict().values()]

    assert train() == train()
