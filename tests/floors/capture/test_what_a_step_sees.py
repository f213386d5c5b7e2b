"""What may change between two calls of a compiled step is seen by its replay, or captured anew, or refused."""

import sys
from typing import Any, NamedTuple

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn


class Pair(NamedTuple):
    """Two parts of a state."""

    h: Any
    c: Any


captured, compiling = (
    sys.modules["jt_edu.capture.recorded_step"],
    sys.modules["jt_edu.capture.compiled_step"],
)  # jt.compile is the function


def ones(*shape, times=1.0):
    return np.full(shape, times, np.float32)


@pytest.mark.parametrize(
    "put", [lambda a, b: (a, b), lambda a, b: [a, b], lambda a, b: Pair(a, b), lambda a, b: ((a,), {"b": [b]})],
    ids=["tuple", "list", "namedtuple", "nested"],
)  # fmt: skip
@pytest.mark.parametrize("kind", [jt.array, np.asarray], ids=["Var", "array"])
def test_arrays_inside_of_an_argument_are_read_at_each_replay(put, kind):
    def flat(p):
        return [x for part in p for x in flat(part)] if isinstance(p, (tuple, list)) else [p]

    @jt.compile
    def step(pair):
        a, b = flat([list(p.values()) if isinstance(p, dict) else p for p in pair])
        return a * 2 + b

    answers = [step(put(kind(ones(2, times=k)), kind(ones(2)))).tolist() for k in (0, 1, 2)]

    assert answers == [[1.0, 1.0], [3.0, 3.0], [5.0, 5.0]]


def test_a_state_that_goes_through_a_step_moves():
    jt.set_global_seed(0)
    cell, x = nn.LSTMCell(2, 3), ones(1, 2)
    plain, compiled = [(jt.zeros((1, 3)), jt.zeros((1, 3)))] * 2
    step = jt.compile(lambda x, state: cell(x, state))

    for _ in range(3):
        plain, compiled = cell(jt.array(x), plain), step(x, compiled)

    np.testing.assert_allclose(compiled[0].numpy(), plain[0].numpy(), rtol=1e-6)


def test_a_replay_moves_a_var_inside_of_a_tuple():
    w = jt.array([1.0])
    step = jt.compile(lambda given: given[0].update(given[0] + 1))

    for _ in range(3):
        step((w, 5))

    assert w.tolist() == [4.0]


@pytest.mark.parametrize("order", ["before", "after"])
def test_a_copy_of_a_parameter_does_not_take_its_place(order):
    w, last = jt.array([1.0]), jt.zeros(1)

    @jt.compile
    def step(x):
        if order == "before":
            last.assign(w)
        w.update(w + x)
        if order == "after":
            last.assign(w)

    seen = []
    for _ in range(4):
        step(ones(1))
        seen.append((w.item(), last.item()))

    assert seen == [(k + 2.0, k + 1.0 if order == "before" else k + 2.0) for k in range(4)]


def test_two_vars_that_change_places_do_so_at_each_replay():
    a, b = jt.array([1.0]), jt.array([2.0])

    @jt.compile
    def step():
        kept = a.clone()
        a.assign(b)
        b.assign(kept)

    seen = []
    for _ in range(3):
        step()
        seen.append((a.item(), b.item()))

    assert seen == [(2.0, 1.0), (1.0, 2.0), (2.0, 1.0)]


def test_a_var_that_was_copied_outside_is_read_where_it_is():
    w, copy = jt.array([1.0]), jt.zeros(1)
    copy.assign(w)
    step = jt.compile(lambda: w * 10 + copy)
    step()
    w.update(w + 1)

    assert step().tolist() == [21.0]


def test_another_seed_gives_other_numbers():
    step = jt.compile(lambda x: x * 0 + jt.rand(3))
    answers = []
    for seed in (1, 1, 5):
        jt.set_global_seed(seed)
        answers.append(step(ones(3)).tolist())
    jt.set_global_seed(5)

    assert answers[0] == answers[1]
    assert answers[2] == jt.rand(3).tolist()


def test_a_var_that_is_given_and_found_is_refused_and_nothing_has_moved():
    w = jt.array([1.0])

    @jt.compile
    def step(x):
        w.update(w + 1)
        return x * 1

    assert step(jt.array([5.0])).tolist() == [5.0]
    with pytest.raises(jt.ArgumentError, match="finds by itself"):
        step(w)
    assert w.tolist() == [2.0]
    with pytest.raises(jt.ArgumentError, match="finds by itself"):
        jt.compile(step.step)(w)
    assert w.tolist() == [2.0]


@pytest.mark.parametrize("view", [lambda x: x, lambda x: x.reshape(-1), lambda x: {"a": x}])
def test_an_answer_does_not_share_the_memory_of_an_argument(view):
    step, given = jt.compile(view), ones(2, 2)
    for _ in range(3):
        given[:] = 1.0
        answer = step(given)
        given += 100

        assert np.all((answer["a"] if isinstance(answer, dict) else answer).numpy() == 1.0)


def net():
    jt.set_global_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.0), nn.Linear(4, 2))


def change_eps(net, opt):
    net[1].eps = 10.0


def change_dropout(net, opt):
    net[2].p = 0.9


def stop_a_layer(net, opt):
    net[0].weight.requires_grad = False


def replace_a_layer(net, opt):
    net[2] = nn.Tanh()


def append_a_layer(net, opt):
    net.append(nn.Tanh())


def hook_on_a_weight(net, opt):
    net[0].weight.register_hook(lambda g: g * 10)


def decay(net, opt):
    opt.param_groups[0]["weight_decay"] = 0.5


def uphill(net, opt):
    opt.param_groups[0]["maximize"] = True


def nesterov(net, opt):
    opt.param_groups[0]["momentum"] = 0.9
    opt.param_groups[0]["nesterov"] = True


CHANGES = [change_eps, change_dropout, stop_a_layer, replace_a_layer, append_a_layer, hook_on_a_weight, decay, uphill,
           nesterov]  # fmt: skip


def trained(change, compiled):
    """Weights after three steps with a change before the third."""
    model = net()
    opt = jt.optim.SGD(model.parameters(), lr=0.1)
    x, y = jt.array(np.arange(15).reshape(5, 3) / 10, "float32"), jt.array(ones(5, 2))

    def step(x, y):
        loss = ((model(x) - y) ** 2).mean()
        opt.step(loss)
        return loss

    run = jt.compile(step) if compiled else step
    jt.set_global_seed(1)
    for k in range(4):
        if k == 2:
            change(model, opt)
        run(x, y)
    return [p.numpy(copy=True) for p in model.parameters()]


@pytest.mark.parametrize("change", CHANGES, ids=[c.__name__ for c in CHANGES])
def test_a_change_between_two_steps_is_seen(change):
    with jt.flag_scope(backend="numba"):
        plain, compiled, unchanged = trained(change, False), trained(change, True), trained(lambda *_: None, True)

    for a, b in zip(plain, compiled, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)
    assert any(np.abs(a - b).max() > 1e-4 for a, b in zip(unchanged, compiled, strict=True)), "the change has an effect"


def test_a_step_in_which_nothing_changes_is_captured_once():
    model = net()
    opt = jt.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    step = jt.compile(lambda x: opt.step((model(x) ** 2).mean()))

    for _ in range(5):
        opt.lr *= 0.9
        step(ones(5, 3))

    assert "captured once" in repr(step)


def test_an_interrupt_while_a_replay_moves_its_vars_leaves_none_behind(monkeypatch):
    a, b, p = jt.array([0.0]), jt.array([0.0]), jt.array([1.0])
    opt = jt.optim.Adam([p])

    @jt.compile
    def step(x):
        a.update(a + x)
        opt.step((p * p).sum())
        b.update(b + x)

    step(ones(1))
    real, calls = captured.move, []

    def interrupted(var, array):
        calls.append(var)
        if len(calls) == 3:
            raise KeyboardInterrupt
        real(var, array)

    monkeypatch.setattr(captured, "move", interrupted)
    with pytest.raises(KeyboardInterrupt):
        step(ones(1))

    assert (a.item(), b.item(), opt.state[0]["step"]) == (2.0, 2.0, 2)
    step(ones(1))
    assert (a.item(), b.item(), opt.state[0]["step"]) == (3.0, 3.0, 3)


def test_with_and_without_gradients_are_two_captures():
    w = jt.array([2.0])
    step = jt.compile(lambda x: jt.grad((w * x).sum(), w))
    assert step(ones(1, times=3.0)).tolist() == [3.0]

    with jt.no_grad(), pytest.raises(jt.GradientError):
        step(ones(1))


def test_captures_of_many_numbers_are_not_kept_for_ever():
    step = jt.compile(lambda x, k: x * k)

    for k in range(300):
        assert step(ones(1), k).item() == k
    assert len(step.replays) == compiling.KINDS


@pytest.mark.parametrize("wrong", [None, 3, "step"])
def test_what_is_no_function_is_not_compiled(wrong):
    with pytest.raises(jt.ArgumentError, match="takes a function"):
        jt.compile(wrong)


def test_an_answer_may_be_a_named_tuple():
    step = jt.compile(lambda x: Pair(x + 1, [x * 2]))

    for _ in range(2):
        answer = step(ones(1))
        assert (type(answer), answer.h.item(), answer.c[0].item()) == (Pair, 2.0, 2.0)


@pytest.mark.parametrize("read", ["the first", "the second"])
@pytest.mark.parametrize("moved", ["the first", "the second"])
def test_two_handles_on_one_value_are_told_apart(read, moved):
    first = jt.array(ones(2))
    handles = {"the first": first, "the second": jt.Var(first)}
    x, asked = jt.array(ones(2, times=3)), handles[read]
    step = jt.compile(lambda x: x * asked)
    for _ in range(3):
        assert step(x).tolist() == [3, 3]

    handles[moved].assign(ones(2, times=5))

    assert step(x).tolist() == ([15, 15] if read == moved else [3, 3])


def sgd(w):
    return jt.optim.SGD([w], lr=0.125)


def adam(w):
    return jt.optim.Adam([w], lr=0.125)


def adds(w, x, optimizer):
    (w * w * x).sum().backward()


def adds_by_the_optimizer(w, x, optimizer):
    optimizer.backward((w * w * x).sum())


def steps(w, x, optimizer):
    optimizer.step((w * x).sum())


def all_three(w, x, optimizer):
    optimizer.zero_grad()
    (w * w * x).sum().backward()
    optimizer.step()


def only_the_last(w, x, optimizer):
    optimizer.step()


@pytest.mark.parametrize("rule", [sgd, adam])
@pytest.mark.parametrize("inside", [adds, adds_by_the_optimizer, steps, all_three, only_the_last])
def test_gradients_in_grad_travel_into_a_step_and_out_of_it(rule, inside):
    told = []
    for way in (lambda f: f, jt.compile):
        w = jt.array(ones(2))
        optimizer = rule(w)
        step, rows = way(lambda x, w=w, o=optimizer: inside(w, x, o)), []
        for k in range(8):
            if k in (2, 5) or inside is only_the_last:
                (w * jt.array(ones(2, times=k + 1.0))).sum().backward()
            step(jt.array(ones(2, times=k - 2.0)))
            rows.append((w.tolist(), None if w.grad is None else w.grad.tolist()))
            if k == 3:
                optimizer.zero_grad()
            if k == 6 and w.grad is not None:
                optimizer.step()
        told.append(rows)

    lazily, compiled = told
    for one, other in zip(lazily, compiled, strict=True):
        np.testing.assert_allclose(one[0], other[0], rtol=1e-5)
        assert (one[1] is None) == (other[1] is None)
        np.testing.assert_allclose(one[1] or 0, other[1] or 0, rtol=1e-5)


def test_the_gradient_of_an_argument_is_found_in_the_argument():
    step = jt.compile(lambda x: (x * x).sum().backward())
    for k in range(4):
        x = jt.array(ones(2, times=k))

        step(x)

        assert x.grad.tolist() == [2.0 * k] * 2
    assert repr(step).endswith("captured once")


def test_a_step_that_fails_leaves_gradients_as_they_were():
    w = jt.array(ones(2))
    (w * 3).sum().backward()

    def step():
        w.grad = None
        raise KeyError("later")

    with pytest.raises(KeyError):
        jt.compile(step)()

    assert w.grad.tolist() == [3, 3]


def test_gradients_add_up_in_an_argument():
    step = jt.compile(lambda x: (x * x).sum().backward())
    x, told = jt.array(ones(1, times=3)), []
    for k in range(6):
        if k == 4:
            x.grad = None
        step(x)
        told.append(x.grad.item())

    assert told == [6, 12, 18, 24, 6, 12]


def test_a_gradient_of_an_argument_that_a_step_forgets_is_forgotten():
    def forget(x):
        x.grad = None
        return x * 2

    step = jt.compile(forget)
    for _ in range(4):
        x = jt.array(ones(1))
        x.grad = jt.array(ones(1))

        assert step(x).item() == 2
        assert x.grad is None


def test_a_gradient_of_another_dtype_is_captured_anew():
    w = jt.array(ones(1))
    step = jt.compile(lambda: w.grad * 2)
    for dtype in ("float32", "float32", "float64", "float64"):
        w.grad = jt.array(np.full(1, 7, dtype))

        found = step()

        assert (found.item(), str(found.dtype)) == (14, dtype)


class ReadsAWeight(nn.Module):
    """Never calls the layer inside of a layer whose weight it reads."""

    def __init__(self):
        self.inner = nn.Sequential(nn.Linear(2, 2, bias=False))

    def execute(self, x):
        return x @ self.inner[0].weight


def test_a_weight_of_a_module_that_is_never_called_is_read_at_each_replay():
    net = ReadsAWeight()
    net.inner[0].weight.assign(jt.ones(2, 2))
    step = jt.compile(net)

    first = [step(jt.ones(1, 2)).tolist() for _ in range(2)]
    net.inner[0].weight.update(jt.ones(2, 2) * 2)
    moved = step(jt.ones(1, 2)).tolist()
    net.inner[0].weight = jt.ones(2, 2) * 3
    another = step(jt.ones(1, 2)).tolist()

    assert (first, moved, another) == ([[[2.0, 2.0]]] * 2, [[4.0, 4.0]], [[6.0, 6.0]])
    assert repr(step).endswith("captured 2 times")  # at first, and with another Var


@pytest.mark.parametrize("name", ["vit_tiny_patch16_224", "swin_tiny_patch4_window7_224", "mixer_s16_224"])
def test_a_network_that_reads_weights_of_its_layers_is_captured_once(name):
    size = {"img_size": 56 if name.startswith("swin") else 32}
    net, x = jt.zoo.create_model(name, **size).eval(), jt.ones(1, 3, *[size["img_size"]] * 2)
    step = jt.compile(net)

    with jt.no_grad():
        for _ in range(3):
            step(x).sync()

    assert [captures.count for captures in step.ranks.values()] == [1]
