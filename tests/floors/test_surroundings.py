"""A compiled step sees when another Var stands in the place of one that it found, also if it put that there itself."""

import copy
import pickle
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn

rate = None


def ones(times=1.0):
    return jt.array(np.full(2, times, np.float32))


def in_a_dict(run):
    state = {"h": ones()}

    def step(x):
        state["h"] = state["h"] * 2 + x
        return state["h"].sum()

    return run(step)


def in_a_tuple_of_a_dict(run):
    state = {"h": (ones(), ones(2))}

    def step(x):
        h, c = state["h"]
        state["h"] = (c, h + x)
        return (h * c).sum()

    return run(step)


def in_a_list(run):
    seen = []

    def step(x):
        seen.append(x * 2)
        return sum(seen[1:], seen[0]).sum()

    return run(step)


def in_a_closure(run):
    h = ones()

    def step(x):
        nonlocal h
        h = h * 2 + x
        return h.sum()

    return run(step)


def in_a_closure_of_a_helper(run):
    h = ones()

    def move(x):
        nonlocal h
        h = h * 2 + x

    def step(x):
        move(x)
        return h.sum()

    return run(step)


def in_a_global_name(run):
    global rate  # noqa: PLW0603
    rate = ones()

    def step(x):
        global rate  # noqa: PLW0603
        rate = rate + x
        return rate.sum()

    return run(step)


def in_a_plain_object(run):
    state = SimpleNamespace(h=ones())

    def step(x):
        state.h = state.h * 2 + x
        return state.h.sum()

    return run(step)


def in_the_object_of_a_method(run):
    class Trainer:
        def __init__(self):
            self.h = ones()

        def step(self, x):
            return self._move(x)

        def _move(self, x):
            self.h = self.h * 2 + x
            return self.h.sum()

    return run(Trainer().step)


def in_a_partial_function(run):
    def step(state, x):
        state["h"] = state["h"] * 2 + x
        return state["h"].sum()

    return run(partial(step, {"h": ones()}))


def in_a_module(run):
    class Cell(nn.Module):
        def __init__(self):
            self.h = ones()

        def execute(self, x):
            self.h = self.h * 2 + x
            return self.h.sum()

    return run(Cell())


def in_a_module_that_a_function_calls(run):
    class Cell(nn.Module):
        def __init__(self):
            self.state, self.calls = (ones(), ones()), 1

        def execute(self, x):
            self.calls += 1
            self.state = (self.state[1], self.state[0] + x * self.calls)
            return self.state[0].sum()

    cell = Cell()
    return run(lambda x: cell(x) * 2)


PLACES = [
    in_a_dict, in_a_tuple_of_a_dict, in_a_list, in_a_closure, in_a_closure_of_a_helper, in_a_global_name,
    in_a_plain_object, in_the_object_of_a_method, in_a_partial_function, in_a_module, in_a_module_that_a_function_calls,
]  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_a_state_that_a_step_replaces_moves_on_as_it_does_without_compile(place):
    def five(step):
        return [step(ones(k)).item() for k in range(5)]

    assert place(lambda step: five(jt.compile(step))) == place(five)


def test_a_state_that_is_begun_anew_is_set_by_the_next_step_again():
    state = {"h": None}

    def step(x):
        state["h"] = x if state["h"] is None else state["h"] + x
        return state["h"].sum()

    step, sums = jt.compile(step), []
    for k in range(6):
        if k % 3 == 0:
            state["h"] = None
        sums.append(step(ones()).item())

    assert sums == [2.0, 4.0, 6.0] * 2
    assert state["h"].tolist() == [3.0, 3.0]


def test_another_var_under_a_name_that_the_step_reads_is_read():
    w = ones()
    step, found = jt.compile(lambda x: (x * w).sum()), []

    for k in range(4):
        w = ones(k)
        found.append(step(ones()).item())

    assert found == [0.0, 2.0, 4.0, 6.0]


def test_a_var_more_in_a_list_or_in_another_place_of_a_dict_is_seen():
    chain, named = [ones(2)], {"weight": ones(3), "bias": None}

    @jt.compile
    def step(x):
        for w in chain:
            x = x * w
        x = x if named["weight"] is None else x * named["weight"]
        return (x if named["bias"] is None else x + named["bias"]).sum()

    first = step(ones()).item()
    chain.append(ones(2))
    second = step(ones()).item()
    named["weight"], named["bias"] = named["bias"], named["weight"]

    assert (first, second, step(ones()).item()) == (12.0, 24.0, 14.0)


def test_a_name_of_an_attribute_is_no_global_name_and_a_result_in_an_object_is_nothing_that_a_step_reads():
    global rate  # noqa: PLW0603

    class Trainer:
        def __init__(self):
            self.w, self.last, self.rate = ones(), None, 2.0

        def step(self, x):
            self.w.update(self.w + x)
            return self.w.sum() * self.rate

    trainer = Trainer()
    step = jt.compile(trainer.step)
    for _ in range(4):
        rate = trainer.last = step(ones())

    assert rate.item() == 20.0
    assert "captured once" in repr(step)


def test_a_list_of_numbers_may_grow_without_a_new_capture():
    calls = []
    step = jt.compile(lambda x: calls.append(1) or x * 2)

    for _ in range(3):
        step(ones())

    assert len(calls) == 1


def test_an_argument_that_takes_no_part_in_gradients_or_has_a_hook_is_another_kind_of_argument():
    step = jt.compile(lambda x: jt.grad((x * x).sum(), x) if x.requires_grad else x * 0)
    plain, stopped, hooked = ones(), ones().stop_grad(), ones()
    hooked.register_hook(lambda g: g * 10)

    answers = [step(x).tolist()[0] for x in (plain, stopped, hooked) * 2]

    assert answers == [2.0, 0.0, 20.0] * 2


def test_a_step_that_was_captured_is_refused_inside_another_one_too():
    inner = jt.compile(lambda x: x + 1)
    inner(ones())
    outer = jt.compile(lambda x: inner(x * 2))

    with pytest.raises(jt.ArgumentError, match="a compiled step inside another one"):
        outer(ones())

    assert inner(ones()).tolist() == [2.0, 2.0]


class Doubler(nn.Module):
    """A module that compiles a method of its own."""

    def __init__(self):
        self.w = ones(2)
        self.step = jt.compile(self._times)

    def _times(self, x):
        return x * self.w

    def execute(self, x):
        return self.step(x)


def through_pickle(module):
    return pickle.loads(pickle.dumps(module))  # noqa: S301 - our own


@pytest.mark.parametrize("twin", [copy.deepcopy, through_pickle])
def test_a_copy_of_a_module_with_a_compiled_method_reads_its_own_parameters(twin):
    module = Doubler()
    module(ones())

    other = twin(module)
    other.w.update(other.w * 5)

    assert (other(ones()).tolist(), module(ones()).tolist()) == ([10.0, 10.0], [2.0, 2.0])


@pytest.mark.parametrize("dtype", ["float64", "float16", "int64"])
def test_what_a_hook_answers_is_of_the_dtype_of_the_gradient(dtype):
    x = ones(3)
    x.register_hook(lambda g: g.cast(dtype))

    g = jt.grad((x * x).sum(), x)
    (x * x).sum().backward()

    assert (str(g.dtype), str(x.grad.dtype), g.tolist()) == ("float32", "float32", [6.0, 6.0])


def test_another_module_and_optimizer_under_the_same_names_are_trained():
    def fresh():
        net = jt.nn.Linear(2, 1)
        return net, jt.optim.SGD(net.parameters(), lr=0.1)

    held = {}
    net, rule = fresh()
    held["net"] = net

    @jt.compile
    def step(x):
        loss = (net(x) ** 2).mean() + (held["net"](x) * 0).sum()
        rule.step(loss)
        return loss

    x, first = jt.ones(3, 2), net
    step(x), step(x)
    kept = first.weight.numpy()
    net, rule = fresh()
    held["net"] = net
    before = net.weight.numpy()
    step(x), step(x)

    assert first.weight.tolist() == kept.tolist()
    assert net.weight.tolist() != before.tolist()


def test_a_helper_that_was_written_anew_is_the_one_that_is_called():
    def scaled(x):
        return x * 2

    @jt.compile
    def step(x):
        return scaled(x)

    assert [step(jt.ones(1)).item(), step(jt.ones(1)).item()] == [2, 2]

    def scaled(x):  # noqa: F811  as a cell that is run a second time
        return x * 3

    assert [step(jt.ones(1)).item(), step(jt.ones(1)).item()] == [3, 3]
