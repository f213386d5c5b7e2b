"""Shares for several (simulated) devices of one process: comm, the functions beside their gradients, DataParallel."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

import jt_edu as jt
from jt_edu.distributed.device_functions import Broadcast, Gather, ReduceAddCoalesced, Scatter
from jt_edu.nn.parallel import comm, data_parallel, gather, parallel_apply, replicate, scatter, scatter_kwargs

pytestmark = pytest.mark.usefixtures("python_backend")

TWO, THREE = ["cpu:0", "cpu:1"], ["cpu:0", "cpu:1", "cpu:2"]


class Pair(NamedTuple):
    left: object
    right: object


@dataclass
class Box:
    x: object
    word: str


def random(*shape, seed=0):
    return jt.array(np.asarray(np.random.RandomState(seed).randn(*shape)))


# comm


def test_broadcast_gives_each_device_the_same_numbers():
    x = random(2, 3)

    copies = comm.broadcast(x, THREE)

    assert len(copies) == 3 and all(np.array_equal(c.numpy(), x.numpy()) for c in copies)


@pytest.mark.parametrize("size", [1, 8, 40, 10 << 20])
def test_coalesced_copies_and_sums_are_those_of_each_var_whatever_the_buffer(size):
    xs = [random(2, 3), jt.array(np.float32([1, 2])), jt.array(5.0), random(4)]

    rows = comm.broadcast_coalesced(xs, TWO, size)
    sums = comm.reduce_add_coalesced(rows, "cpu:0", size)

    for x, total, a in zip(xs, sums, rows[1], strict=True):
        assert a.shape == x.shape and a.dtype == x.dtype and np.array_equal(a.numpy(), x.numpy())
        np.testing.assert_array_equal(total.numpy(), 2 * x.numpy())


@pytest.mark.parametrize(("size", "joined"), [(1, set()), (8, set()), (16, {4}), (24, {6, 4}), (40, {10})])
def test_buffers_hold_as_many_bytes_as_they_are_told(size, joined):
    xs = [jt.zeros(2) for _ in range(5)]  # 8 bytes each

    with jt.trace() as seen:
        comm.broadcast_coalesced(xs, TWO, size)

    assert {b.shape[0] for b in seen.built if b.op == "slide"} == joined  # numbers in buffers of several Vars


def test_copies_are_vars_of_their_own():
    x = jt.ones(2)

    copies = comm.broadcast(x, TWO)
    copies[0].update(jt.zeros(2))

    assert x.tolist() == copies[1].tolist() == [1.0, 1.0]


def test_reduce_add_is_a_sum():
    xs = [random(3, 2, seed=k) for k in range(3)]

    np.testing.assert_allclose(comm.reduce_add(xs, "cpu:1").numpy(), sum(x.numpy() for x in xs), atol=1e-15)


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("devices", [TWO, THREE, [f"cpu:{k}" for k in range(7)]])
def test_scatter_cuts_as_pytorch_chunks(dim, devices):
    torch = pytest.importorskip("torch")
    x = random(5, 4, 3)

    found = comm.scatter(x, devices, dim=dim)

    wanted = torch.tensor(x.numpy()).chunk(len(devices), dim)
    assert [f.shape for f in found] == [tuple(w.shape) for w in wanted]
    assert all(np.array_equal(f.numpy(), w.numpy()) for f, w in zip(found, wanted, strict=True))
    assert np.array_equal(comm.gather(found, dim, "cpu:0").numpy(), x.numpy())


def test_scatter_cuts_into_the_lengths_that_it_is_told():
    assert [x.shape for x in comm.scatter(jt.zeros(2, 5), TWO, [1, 4], dim=1)] == [(2, 1), (2, 4)]


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda: comm.broadcast(jt.ones(1), []), jt.ArgumentError, "at least one"),
    (lambda: comm.broadcast(jt.ones(1), "cpu"), jt.ArgumentError, "list of devices"),
    (lambda: comm.broadcast(jt.ones(1), ["cuda:0"]), jt.ArgumentError, "cuda:0"),
    (lambda: comm.broadcast(jt.ones(1), ["cpu:x"]), jt.ArgumentError, "cpu:x"),
    (lambda: comm.broadcast(jt.ones(1), [-1]), jt.ArgumentError, "-1"),
    (lambda: comm.broadcast_coalesced([jt.ones(1)], TWO, 0), jt.ArgumentError, "buffer_size"),
    (lambda: comm.reduce_add([]), jt.ArgumentError, "at least one"),
    (lambda: comm.reduce_add([jt.ones(1)], "moon"), jt.ArgumentError, "moon"),
    (lambda: comm.reduce_add([jt.ones(1), jt.ones(2)]), jt.ShapeError, r"\(2,\) beside \(1,\)"),
    (lambda: comm.reduce_add([jt.ones(1), jt.ones(1).double()]), jt.DtypeError, "float64 beside float32"),
    (lambda: comm.reduce_add_coalesced([[jt.ones(1)], []]), jt.ArgumentError, "the same length"),
    (lambda: comm.reduce_add_coalesced([[jt.ones(1, 2)], [jt.ones(2, 1)]]), jt.ShapeError, r"\(2, 1\) beside"),
    (lambda: comm.scatter(jt.ones(1)), jt.ArgumentError, "neither"),
    (lambda: comm.scatter(jt.array(1.0), TWO), jt.ShapeError, "shape \\(\\)"),
    (lambda: comm.scatter(jt.ones(3), TWO, [3]), jt.ArgumentError, "for each device"),
    (lambda: comm.scatter(jt.ones(3), TWO, [1, 1]), jt.ShapeError, "add up"),
    (lambda: comm.gather([]), jt.ArgumentError, "at least one"),
    (lambda: gather([], "cpu:0"), jt.ArgumentError, "at least one"),
    (lambda: gather([jt.ones(1), 3], "cpu:0"), jt.ArgumentError, "Var, int"),
    (lambda: gather(["a", "b"], "cpu:0"), jt.ArgumentError, "same everywhere"),
    (lambda: gather([{"a": 1}, {"b": 1}], "cpu:0"), jt.ArgumentError, "'a'.*'b'"),
    (lambda: ReduceAddCoalesced.apply("cpu:0", 2, jt.ones(1)), jt.ArgumentError, "1 Vars"),
    (lambda: replicate(3, TWO), jt.ArgumentError, "module"),
    (lambda: jt.nn.parallel.DataParallel(3), jt.ArgumentError, "module"),
    (lambda: jt.nn.parallel.DataParallel(jt.nn.ReLU(), dim=None), jt.ArgumentError, "dim as a whole number"),
    (lambda: parallel_apply([jt.nn.ReLU()], []), jt.ArgumentError, "1 module, 0 inputs"),
    (lambda: jt.nn.parallel.Scatter, AttributeError, r"Try: jt.nn.parallel.scatter "),
])  # fmt: skip
def test_calls_that_make_no_sense_are_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


# functions: <A x, y> = <x, A' y>


def adjoint(function, xs):
    """Both sides of the law, for a linear function of some Vars."""
    outs = function(*xs)
    outs = outs if isinstance(outs, tuple) else (outs,)
    ys = [random(*o.shape, seed=50 + k) for k, o in enumerate(outs)]
    left = sum((o * y).sum() for o, y in zip(outs, ys, strict=True))
    back = jt.grad(left, xs)
    right = sum(float((x.numpy() * b.numpy()).sum()) for x, b in zip(xs, back, strict=True))
    return left.item(), right


FUNCTIONS = {
    "Broadcast": (lambda *xs: Broadcast.apply(THREE, *xs), [(2, 3), (), (4,)]),
    "ReduceAddCoalesced": (lambda *xs: ReduceAddCoalesced.apply("cpu:0", 2, *xs), [(2, 3), (4,)] * 3),
    "Scatter": (lambda x: Scatter.apply(TWO, None, 0, x), [(5, 2)]),
    "Scatter by lengths": (lambda x: Scatter.apply(THREE, [1, 3, 1], 1, x), [(2, 5)]),
    "Gather": (lambda *xs: Gather.apply("cpu:0", 1, *xs), [(2, 1), (2, 3)]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_and_its_gradient_are_adjoint(name):
    function, shapes = FUNCTIONS[name]

    left, right = adjoint(function, [random(*s, seed=k) for k, s in enumerate(shapes)])

    assert abs(left - right) < 1e-10 and abs(left) > 1e-3


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_of_functions_have_gradients(name):
    function, shapes = FUNCTIONS[name]
    xs = [random(*s, seed=k) for k, s in enumerate(shapes)]

    outs = function(*xs)
    loss = sum((o * o * o).sum() for o in (outs if isinstance(outs, tuple) else (outs,)))
    first = jt.grad(loss, xs)
    second = jt.grad(sum((g * g).sum() for g in first), xs)

    assert all(s is not None and np.abs(s.numpy()).max() > 0 for s in second)


def test_numbers_are_gathered_to_a_vector_with_a_warning():
    xs = [jt.array(1.0), jt.array(2.0)]

    with pytest.warns(UserWarning, match="vector"):
        y = Gather.apply("cpu:0", 0, *xs)

    assert y.tolist() == [1.0, 2.0]
    assert [g.item() for g in jt.grad((y * jt.array([3.0, 4.0])).sum(), xs)] == [3.0, 4.0]


# nested structures


NESTED = [
    random(6, 2),
    (random(6, 2), "word"),
    [random(6), [random(6, 1), 3]],
    {"x": random(6), "more": {"y": random(6, 2)}},
    OrderedDict(b=random(6), a=None),
    Pair(random(6), (random(6, 3), 2.5)),
    Box(random(6), "word"),
    (),
]


def same(a, b):
    if isinstance(a, jt.Var):
        return np.array_equal(a.numpy(), b.numpy())
    if isinstance(a, dict):
        return type(a) is type(b) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, Box):
        return isinstance(b, Box) and same(a.x, b.x) and a.word == b.word
    return a == b


@pytest.mark.parametrize("value", NESTED, ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("devices", [TWO, THREE])
def test_what_is_scattered_and_gathered_is_what_it_was(value, devices):
    shares = scatter(value, devices)

    assert len(shares) == len(devices)
    assert same(gather(shares, "cpu:0"), value)


def test_the_axis_that_is_cut_may_be_another_one():
    shares = scatter({"x": jt.zeros(2, 5)}, TWO, dim=1)

    assert [s["x"].shape for s in shares] == [(2, 3), (2, 2)]
    assert gather(shares, "cpu:0", dim=1)["x"].shape == (2, 5)


def test_there_are_fewer_shares_than_devices_if_there_are_fewer_rows():
    assert len(scatter((jt.zeros(2), "x"), THREE)) == 2


@pytest.mark.parametrize(("inputs", "kwargs", "wanted"), [
    ((), {"x": 1}, [(), (), ()]),
    ((jt.zeros(3),), None, [1, 1, 1]),
    ((jt.zeros(2),), {"x": jt.zeros(3)}, [1, 1, 0]),
])  # fmt: skip
def test_arguments_that_are_short_of_shares_are_filled_up(inputs, kwargs, wanted):
    shares, words = scatter_kwargs(inputs, kwargs, THREE)

    assert len(shares) == len(words) == 3 and all(isinstance(w, dict) for w in words)
    assert [len(s) for s in shares] == [len(w) if isinstance(w, tuple) else w for w in wanted]
    assert [len(w) for w in words] == [len(kwargs or {})] * 3


# replicas


class Shared(jt.nn.Module):
    """One layer in two places, one Var under two names, a list and a buffer."""

    def __init__(self):
        self.a = jt.nn.Linear(3, 3)
        self.again = self.a
        self.scale = jt.ones(3).double()
        self.other = self.scale
        self.rest = [jt.nn.Linear(3, 3), {"x": jt.nn.Linear(3, 3)}]
        self.norm = jt.nn.BatchNorm1d(3)

    def execute(self, x):
        return self.norm(self.rest[1]["x"](self.rest[0](self.again(self.a(x)) * self.scale + self.other)))


def test_replicas_have_the_structure_of_the_network_and_vars_of_their_own():
    net = Shared().double()

    copies = replicate(net, TWO)

    for one in copies:
        assert one is not net and one.a is one.again is not net.a and one.scale is one.other is not net.scale
        assert one.rest[0] is not net.rest[0] and list(one.state_dict()) == list(net.state_dict())
        assert all(same(a, b) for a, b in zip(one.parameters(), net.parameters(), strict=True))
    assert copies[0].norm.running_mean is net.norm.running_mean is not copies[1].norm.running_mean
    assert net.a.weight.requires_grad and len(net.parameters()) == 9


def test_gradients_flow_back_from_all_replicas():
    net = Shared().double()
    net.norm.is_train = False
    a, b = replicate(net, TWO)
    x, y = random(4, 3), random(2, 3, seed=1)

    found = jt.grad((a(x) ** 2).sum() + (b(y) ** 2).sum(), net.parameters())

    wanted = jt.grad((net(x) ** 2).sum() + (net(y) ** 2).sum(), net.parameters())
    for f, w in zip(found, wanted, strict=True):
        np.testing.assert_allclose(f.numpy(), w.numpy(), rtol=1e-10, atol=1e-10)


def test_detached_replicas_let_no_gradient_through():
    layer = jt.nn.Linear(2, 2)

    one = replicate(layer, ["cpu:0"], detach=True)[0]

    assert not one.weight.requires_grad and same(one.weight, layer.weight)
    assert jt.grad((one(jt.ones(1, 2)) + layer(jt.ones(1, 2))).sum(), layer.weight).tolist() == [[1.0, 1.0]] * 2


def test_a_module_without_parameters_has_replicas_too():
    assert [m(jt.array([-1.0])).item() for m in replicate(jt.nn.ReLU(), TWO)] == [0.0, 0.0]


# DataParallel


class Takes(jt.nn.Module):
    def __init__(self):
        self.layer = jt.nn.Linear(4, 3)

    def execute(self, x, scale, shift=None):
        y = self.layer(x["x"]) * scale
        return {"y": y if shift is None else y + shift, "kept": (scale, None)}


@pytest.mark.parametrize("rows", [1, 2, 5, 6])
@pytest.mark.parametrize("devices", [None, ["cpu:0"], TWO, THREE])
def test_a_parallel_module_is_that_of_one_device(rows, devices):
    net = Takes().double()
    x, shift = {"x": random(rows, 4)}, random(rows, 3, seed=2)

    y = jt.nn.parallel.DataParallel(net, devices, "cpu:0", 0)(x, 2.0, shift=shift)

    wanted = net(x, 2.0, shift)
    np.testing.assert_allclose(y["y"].numpy(), wanted["y"].numpy(), rtol=0, atol=1e-10)
    assert y["kept"] == (2.0, None)
    found = jt.grad((y["y"] ** 2).mean(), net.parameters())
    for f, w in zip(found, jt.grad((wanted["y"] ** 2).mean(), net.parameters()), strict=True):
        np.testing.assert_allclose(f.numpy(), w.numpy(), rtol=0, atol=1e-10)


def test_a_parallel_module_is_trained_like_any_other():
    net = jt.nn.parallel.DataParallel(jt.nn.Linear(2, 1), TWO)
    opt = jt.optim.SGD(net.parameters(), lr=0.1)
    losses = []
    for _ in range(5):
        loss = ((net(jt.ones(4, 2)) - 3.0) ** 2).mean()
        opt.step(loss)
        losses.append(loss.item())

    assert losses == sorted(losses, reverse=True) and losses[-1] < 0.1 * losses[0]


def test_running_statistics_move_with_the_first_device():
    net = jt.nn.BatchNorm1d(2)

    jt.nn.parallel.DataParallel(net, TWO)(jt.array([[1.0, 1.0], [3.0, 3.0], [50.0, 50.0], [52.0, 52.0]])).sync()

    np.testing.assert_allclose(net.running_mean.numpy(), [0.2, 0.2], rtol=1e-6)


def test_another_axis_may_hold_the_batch():
    y = data_parallel(jt.nn.Tanh(), jt.ones(2, 5), TWO, dim=1)

    assert y.shape == (2, 5)


def test_a_call_without_arguments_is_one_call():
    class Constant(jt.nn.Module):
        def execute(self):
            return jt.ones(2)

    assert data_parallel(Constant(), None, TWO).shape == (2,)


def test_an_error_tells_on_which_device_it_happened():
    with pytest.raises(jt.ShapeError, match="replica 1 on cpu:1"):
        parallel_apply([jt.nn.Linear(1, 1), jt.nn.Linear(2, 1)], [jt.ones(1, 1), jt.ones(1, 1)], devices=TWO)
