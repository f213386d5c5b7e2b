"""A compiled step sees when another Var stands in the place of one that it found, also if it put that there itself."""

import copy
import pickle
import re
import weakref
from collections import deque
from functools import partial
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from jt_edu.base.context import rank_context
from jt_edu.capture.guards import alike, made_since

compiling = import_module("jt_edu.capture.compiled_step")  # the module: jt.compile is a function
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


class Total:
    """A learner's own object, whose methods the step calls."""

    shared = None

    def __init__(self):
        self.total = ones()

    def add(self, x):
        self.total = self.total * 2 + x
        return self.total.sum()

    __call__ = add

    @property
    def moved(self):
        return self.add(1)


def in_an_object_that_moves_itself(run):
    total = Total()
    return run(lambda x: total.add(x))


def in_an_object_that_is_called(run):
    total = Total()
    return run(lambda x: total(x) * 1)


def in_an_object_of_a_bound_method(run):
    add = Total().add
    return run(lambda x: add(x) * 1)


def behind_a_property(run):
    total = Total()
    return run(lambda x: (x + total.moved).sum())


def in_slots(run):
    class Slots:
        __slots__ = ("h",)

    state = Slots()
    state.h = ones()

    def step(x):
        state.h = state.h * 2 + x
        return state.h.sum()

    return run(step)


def in_a_class(run):
    Total.shared = ones()

    def step(x):
        Total.shared = Total.shared * 2 + x
        return Total.shared.sum()

    return run(step)


def in_a_deque(run):
    last = deque([ones()], maxlen=2)

    def step(x):
        last.append(last[-1] * 2 + x)
        return last[-1].sum()

    return run(step)


def at_a_function(run):
    def step(x):
        step.h = step.h * 2 + x
        return step.h.sum()

    step.h = ones()
    return run(step)


def in_a_helper_in_a_list(run):
    h = ones()

    def move(x):
        nonlocal h
        h = h * 2 + x
        return h.sum()

    helpers = [move]
    return run(lambda x: helpers[0](x))


def in_a_generator(run):
    def states():
        h = ones()
        while True:
            h = h * 2 + 1
            yield h

    found = states()
    return run(lambda x: (next(found) + x).sum())


def in_an_iterator_of_vars_that_were_there(run):
    found = iter([ones(k) for k in range(9)])
    return run(lambda x: (next(found) * x).sum())


def in_places_that_are_exchanged(run):
    class Pair:
        def __init__(self):
            self.a, self.b = ones(), ones(5)

        def turn(self):
            self.a, self.b = self.b, self.a
            return self.a

    pair = Pair()
    return run(lambda x: (pair.turn() * x).sum())


def in_an_attribute_of_a_module_that_the_step_sets(run):
    class Scale(nn.Module):
        def __init__(self):
            self.by = ones()

        def execute(self, x):
            return x * self.by

    scale = Scale()

    def step(x):
        scale.by = scale.by + x
        return scale(x).sum()

    return run(step)


def in_an_object_of_a_module(run):
    class Holder(nn.Module):
        def __init__(self):
            self.total = Total()

        def execute(self, x):
            return self.total.add(x)

    return run(Holder())


def in_a_learners_own_training(run):
    class Line:
        def __init__(self):
            self.w = ones(3)

        def train(self, x):
            loss = ((self.w * x - 1) ** 2).sum()
            self.w = self.w - 0.1 * jt.grad(loss, self.w)
            return loss

    line = Line()
    return run(lambda x: line.train(x))


PLACES = [
    in_a_dict, in_a_tuple_of_a_dict, in_a_list, in_a_closure, in_a_closure_of_a_helper, in_a_global_name,
    in_a_plain_object, in_the_object_of_a_method, in_a_partial_function, in_a_module, in_a_module_that_a_function_calls,
    in_an_object_that_moves_itself, in_an_object_that_is_called, in_an_object_of_a_bound_method, behind_a_property,
    in_slots, in_a_class, in_a_deque, at_a_function, in_a_helper_in_a_list, in_a_generator,
    in_an_iterator_of_vars_that_were_there, in_places_that_are_exchanged, in_an_object_of_a_module,
    in_an_attribute_of_a_module_that_the_step_sets, in_a_learners_own_training,
]  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_a_state_that_a_step_replaces_moves_on_as_it_does_without_compile(place):
    def five(step):
        return [step(ones(k)).item() for k in range(5)]

    assert place(lambda step: five(jt.compile(step))) == pytest.approx(place(five), rel=1e-5)


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


def test_a_var_that_is_kept_once_is_no_reason_to_capture_each_time():
    class Masked:
        def __init__(self):
            self.mask = None

        def __call__(self, x):
            if self.mask is None:
                self.mask = jt.ones(2) * 3
            return x * self.mask

    masked = Masked()
    step = jt.compile(lambda x: masked(x) + 1)

    assert [step(ones(k)).tolist()[0] for k in range(5)] == [1.0, 4.0, 7.0, 10.0, 13.0]
    assert "captured 2 times" in repr(step)


def test_a_tape_that_holds_itself_is_nothing_that_a_step_keeps():
    class Twice(jt.Function):
        def execute(self, x):
            self.x = x
            return x * 2

        def grad(self, dout):
            return dout * 2 + self.x * 0

    w = ones()
    step = jt.compile(lambda x: w.update(w - jt.grad((Twice.apply(w) * x).sum(), w)))
    for _ in range(3):
        step(ones())

    assert w.tolist() == [-5.0, -5.0]
    assert repr(step).endswith("captured once")


def test_the_parameters_of_a_plain_object_are_watched_and_a_step_with_them_is_replayed():
    class Layer:
        def __init__(self):
            self.w = ones()

        def __call__(self, x):
            return self._times(x)

        def _times(self, x):
            return x * self.w

    class Network:
        def __init__(self):
            self.layers = [Layer(), Layer()]

        def predict(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    net = Network()
    step = jt.compile(lambda x: net.predict(x).sum())

    assert [step(ones()).item(), step(ones()).item()] == [2.0, 2.0]
    assert repr(step).endswith("captured once")
    net.layers[1].w = ones(5)
    assert step(ones()).item() == 10.0


def test_print_says_why_a_step_is_not_replayed():
    log, found = [], iter([ones(k) for k in range(9)])
    keeps = jt.compile(lambda x: log.append([x * 2]) or x)
    passes = jt.compile(lambda x: x * next(found))
    keeps(ones()), passes(ones())

    assert "not replayed, since the step keeps a Var that it makes" in repr(keeps).replace(
        "puts another Var in the place of one", "keeps a Var that it makes"
    )
    assert "not replayed, since the step puts another Var in the place of one" in repr(passes)


def test_what_is_captured_at_each_call_is_seldom_searched_and_replayed_when_it_settles(monkeypatch):
    searched = []
    monkeypatch.setattr(compiling, "made_since", lambda *asked: searched.append(1) or made_since(*asked))
    step = jt.compile(lambda x, k: (x * k).max())

    found = [step(ones(), float(k)).item() for k in range(8 * compiling.MANY)]
    before = len(searched)
    settled = [step(ones(), -1.0).item() for _ in range(4 * compiling.MANY)]
    count = re.findall(r"captured (\d+) times", repr(step))

    assert (found, set(settled)) == ([float(k) for k in range(8 * compiling.MANY)], {-1.0})
    assert compiling.MANY <= before <= compiling.MANY + 8
    assert int(count[0]) <= 9 * compiling.MANY + 1


def test_what_takes_part_in_gradients_is_seen_of_vars_that_no_kernel_reads():
    w, v = ones(), ones(3)
    rule = jt.optim.SGD([w, v], lr=1.0)
    step = jt.compile(lambda x: rule.step((w * x).sum() + (v * x).sum()))

    v.requires_grad = False
    step(ones())
    v.requires_grad = True
    step(ones())
    v.register_hook(lambda g: g * 10)
    step(ones())

    assert (w.tolist(), v.tolist()) == ([-2.0, -2.0], [-8.0, -8.0])


def test_ranks_capture_for_themselves_and_may_wait_for_each_other_in_a_replay():
    step = jt.compile(lambda x: x.mpi_all_reduce() * 2)

    def program():
        return [step(ones(jt.mpi.world_rank() + 1)).tolist()[0] for _ in range(3)]

    assert list(jt.simulate(2)(program)) == [[6.0] * 3] * 2


def test_each_rank_draws_its_own_numbers_in_a_compiled_step():
    step = jt.compile(lambda x: x * jt.rand(2))

    def drawn():
        with rank_context():
            jt.set_global_seed(7)
            return [step(ones()).tolist() for _ in range(2)]

    assert drawn() == drawn()


def test_a_plain_value_is_the_same_one_down_to_its_sign_and_nan_is_itself():
    assert not alike((0.0,), (-0.0,))
    assert alike((float("nan"), (1, "a")), (float("nan"), (1, "a")))
    assert not alike((1,), (True,))


def test_batches_that_are_counted_are_no_reason_for_a_new_capture():
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm(4))
    rule = jt.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    calls = []
    step = jt.compile(lambda x: calls.append(1) or rule.step(net(x).sum()))

    for _ in range(4):
        step(np.ones((5, 3), np.float32))

    assert len(calls) == 1


def test_forward_passes_that_wait_do_not_stop_a_capture():
    net = nn.BatchNorm(2)
    for _ in range(8):  # as many as wait for a training step
        net(jt.ones(3, 2))
    step = jt.compile(lambda x: net(x).sum())

    assert np.isfinite(step(np.eye(3, 2, dtype=np.float32)).item())
    assert net.num_batches_tracked.item() == 9


def test_vars_that_ranks_hand_out_are_used_outside():
    w = ones(2)

    def program():
        for _ in range(5):
            ones()
        return w * 3

    first, second = jt.simulate(2)(program)

    assert (first * second).sum().item() == 72.0
    assert jt.grad((first * second).sum(), w).tolist() == [36.0, 36.0]


def test_a_weak_proxy_of_something_that_is_gone_is_no_hindrance():
    other = Total()
    proxies = [weakref.proxy(other)]
    del other

    step = jt.compile(lambda x: x * 2)

    assert step(ones()).tolist() == [2.0, 2.0]
    assert len(proxies) == 1
