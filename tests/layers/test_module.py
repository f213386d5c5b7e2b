"""What every module can: find its parts, be hooked, take over a state, be copied and pickled."""

import copy
import gc
import pickle
import weakref
from typing import NamedTuple

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from jt_edu.base.errors import ArgumentError, GradientError, ShapeError
from jt_edu.nn.state_dict import StateError

pytestmark = pytest.mark.usefixtures("python_backend")


def net():
    return nn.Sequential({"first": nn.Linear(2, 3), "act": nn.ReLU(), "rest": nn.Sequential(nn.BatchNorm(3))})


# -------------------------------------------------------------------------------------------------- parts, by name


def test_parts_are_found_by_name():
    model = net()

    assert model.get_submodule("rest.0") is model.rest[0]
    assert model.get_submodule("") is model
    assert model.get_parameter("first.weight") is model.first.weight
    assert model.get_buffer("rest.0.running_var") is model.rest[0].running_var
    gets = {"module": model.get_submodule, "parameter": model.get_parameter, "buffer": model.get_buffer}
    for word, get in gets.items():
        with pytest.raises(ArgumentError, match=rf"the {word}s .*'first.nothing'"):
            get("first.nothing")


def test_parts_are_added_by_name():
    module = nn.Module()
    module.add_module("layer", nn.Linear(1, 1))
    module.register_module("none", None)
    module.register_parameter("scale", jt.ones(2))
    module.register_parameter("nothing", None)
    module.register_buffer("empty", None)

    assert [name for name, _ in module.named_parameters()] == ["scale", "layer.weight", "layer.bias"]
    assert [name for name, _ in module.named_children()] == ["layer"]
    assert module.nothing is module.none is module.empty is None


@pytest.mark.parametrize(
    ("add", "found"),
    [
        (lambda m: m.add_module("a.b", nn.ReLU()), "'a.b'"),
        (lambda m: m.add_module("a", jt.relu), "function relu"),
        (lambda m: m.register_parameter("_a", jt.ones(1)), "'_a'"),
        (lambda m: m.register_parameter("a", jt.array([1])), "int64"),
        (lambda m: m.register_parameter("a", 1.0), "1.0"),
        (lambda m: m.register_parameter("train", jt.ones(1)), "'train', which every module has"),
        (lambda m: m.register_buffer("execute", jt.ones(1)), "'execute'"),
    ],
)
def test_what_cannot_be_added_is_refused(add, found):
    with pytest.raises(ArgumentError, match=found):
        add(nn.Module())


def test_parameters_of_the_module_itself_stand_before_its_buffers_and_those_inside_behind():
    module = nn.Module()
    module.register_buffer("b", jt.ones(1))
    module.inner = nn.Linear(1, 1)
    module.p = jt.ones(1)

    assert list(module.state_dict()) == ["p", "b", "inner.weight", "inner.bias"]
    assert [name for name, _ in module.named_parameters(recurse=False)] == ["p"]
    assert module.parameters(recurse=False) == [module.p]
    assert [name for name, _ in net().named_buffers(recurse=False)] == []
    assert net().buffers(recurse=False) == []


def test_a_parameter_is_replaced_by_a_var_or_nothing_else():
    layer = nn.Linear(1, 2)
    layer.weight = jt.ones(2, 1)
    layer.bias = None

    assert layer.parameters() == [layer.weight]
    with pytest.raises(ArgumentError, match=r"Linear.weight is a Var.*ndarray"):
        layer.weight = np.ones((2, 1))
    assert layer.weight.tolist() == [[1.0], [1.0]]


def test_a_buffer_that_is_deleted_leaves_no_trace():
    module = nn.Module()
    module.register_buffer("a", jt.ones(1))
    del module.a
    module.a = jt.ones(1)

    assert [name for name, _ in module.named_parameters()] == ["a"]


def test_depth_first_search_goes_in_and_comes_out():
    seen, model = [], net()
    go_in = lambda around, name, m, n: seen.append((len(around), name, n))  # noqa: E731
    model.dfs([], "net", go_in, lambda around, name, m, n: seen.append(name))

    assert seen == [
        (0, "net", 3), (1, "first", 0), "first", (1, "act", 0), "act", (1, "rest", 1), (2, "0", 0), "0", "rest", "net",
    ]  # fmt: skip
    seen.clear()
    model.dfs([], "net", lambda around, name, m, n: seen.append(name) or name != "rest")
    assert seen == ["net", "first", "act", "rest"]
    seen.clear()
    model.dfs([], "net", lambda around, name, m, n: seen.append(name), recurse=False)
    assert seen == ["net"]


# ----------------------------------------------------------------------------------------------------------- hooks


def test_hooks_may_stand_first_and_see_named_arguments():
    class Plus(nn.Module):
        def execute(self, x, more=0):
            return x + more

    module, seen = Plus(), []
    module.register_forward_hook(lambda m, args, out: seen.append("second"))
    module.register_forward_hook(lambda m, args, out: seen.append("first"), prepend=True)
    module.register_forward_hook(lambda m, args, named, out: out + named["more"], with_kwargs=True)
    module.register_forward_pre_hook(lambda m, args, named: (args, {"more": named["more"] * 10}), with_kwargs=True)
    module.register_forward_pre_hook(lambda m, args: (args[0] * 2,), prepend=True)

    assert module(1, more=3) == 2 + 30 + 30
    assert seen == ["first", "second"]


def numbers(gradients):
    return [None if g is None else g.tolist() for g in gradients]


def test_a_backward_hook_sees_what_comes_in_and_goes_out():
    module, x, seen = nn.LeakyReLU(0.5), jt.array([-1.0, 2.0]), []
    module.register_backward_hook(lambda m, gi, go: seen.append((m, numbers(gi), numbers(go))))

    found = jt.grad((module(x) * jt.array([3.0, 5.0])).sum(), x)

    assert seen == [(module, [[1.5, 5.0]], [[3.0, 5.0]])]
    assert found.tolist() == [1.5, 5.0]


def test_a_call_with_backward_hooks_keeps_nothing_alive():
    gc.collect()
    gc.disable()
    try:
        module = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
        module.register_backward_hook(lambda m, gi, go: (gi[0] * go[0].sum(),))
        x = jt.ones(1, 2)
        y = module(x)
        dx = jt.grad((y * y).sum(), x).sync()
        alive = [weakref.ref(module), weakref.ref(y.node), weakref.ref(x.node), weakref.ref(dx.node)]
        del module, x, y, dx

        assert [thing() for thing in alive] == [None] * 4
    finally:
        gc.enable()


def test_a_second_derivative_that_does_not_come_through_the_output_is_shown_to_no_backward_hook(torch):
    theirs, ours, seen = torch.nn.Tanh(), nn.Tanh(), []
    for layer in (theirs, ours):
        layer.register_full_backward_hook(lambda m, gi, go: seen.append(type(m)))
    given, x = torch.ones(1, 2, requires_grad=True), jt.ones(1, 2)

    for of_y in (lambda y: y.sum(), lambda y: (y**3).sum()):
        (dx,) = torch.autograd.grad(of_y(theirs(given)), given, create_graph=True)
        torch.autograd.grad((dx * dx).sum(), given)
        dx = jt.grad(of_y(ours(x)), x)
        jt.grad((dx * dx).sum(), x)

    assert seen.count(nn.Tanh) == seen.count(torch.nn.Tanh) == 3


def test_backward_hooks_replace_gradients():
    module, x = nn.Identity(), jt.array([1.0])
    module.register_output_backward_hook(lambda m, go: (go[0] * 2,))
    module.register_full_backward_hook(lambda m, gi, go: (gi[0] * 5 + go[0] * 100,))
    module.register_input_backward_hook(lambda m, gi: (gi[0] + 1,))

    assert jt.grad(module(x).sum(), x).tolist() == [2 * 5 + 2 * 100 + 1]


def test_backward_hooks_agree_with_pytorch(torch, rng):
    x, w = rng.normal(size=(2, 3)), rng.normal(size=(2, 2))
    ours, theirs = nn.Linear(3, 2).double(), torch.nn.Linear(3, 2).double()
    ours.load_state_dict({k: v.detach().numpy() for k, v in theirs.state_dict().items()})
    mine, others = [], []
    ours.register_full_backward_pre_hook(lambda m, go: (go[0] * 3,))
    theirs.register_full_backward_pre_hook(lambda m, go: (go[0] * 3,))
    for layer, seen in ((ours, mine), (theirs, others)):
        layer.register_full_backward_hook(lambda m, gi, go, seen=seen: seen.extend([*gi, *go]))
        layer.register_full_backward_hook(lambda m, gi, go: (gi[0] * 2,))
    a, b = jt.array(x), torch.tensor(x, requires_grad=True)
    (theirs(b) * torch.tensor(w)).sum().backward()

    found = jt.grad((ours(a) * w).sum(), [a, *ours.parameters()])

    for g, e in zip([*found, *mine], [b.grad, *(p.grad for p in theirs.parameters()), *others], strict=True):
        np.testing.assert_allclose(g.numpy(), e.detach().numpy(), rtol=1e-9)


def test_the_first_layer_is_hooked_too_though_nobody_asks_for_the_gradient_of_its_input():
    layer, seen = nn.Linear(2, 1), []
    layer.register_backward_hook(lambda m, gi, go: seen.append((len(gi), numbers(go))))

    jt.grad(layer(jt.ones(1, 2)).sum(), layer.parameters())
    jt.grad(layer(jt.ones(1, 2).stop_grad()).sum(), layer.parameters())

    assert seen == [(1, [[[1.0]]]), (1, [[[1.0]]])]


def test_a_layer_of_whole_numbers_has_no_gradient_to_show_but_is_hooked():
    layer, seen = nn.Embedding(3, 2), []
    layer.register_backward_hook(lambda m, gi, go: seen.append((gi, numbers(go))))

    jt.grad(layer(jt.array([1])).sum(), layer.weight)

    assert seen == [((None,), [[[1.0, 1.0]]])]


def test_hooks_see_every_argument_every_output_and_every_call():
    class Swap(nn.Module):
        def execute(self, x, k, y):
            return y * k, x * 2

    module, x, y, seen = Swap(), jt.array([1.0]), jt.array([1.0]), []
    module.register_backward_hook(lambda m, gi, go: seen.append((numbers(gi), numbers(go))))
    a, b = module(x, 10, y)
    c, d = module(a, 3, b)

    assert jt.grad((c * 7 + d).sum(), [x, y])[0].tolist() == [2 * 3 * 7]
    assert seen == [([[2.0], None, [21.0]], [[7.0], [1.0]]), ([[42.0], None, [20.0]], [[2.0], [21.0]])]


def test_backward_hooks_are_removed_one_by_one_or_all():
    module, x, seen = nn.Identity(), jt.array([1.0]), []
    undo = module.register_backward_hook(lambda *_: seen.append(1))
    module.register_backward_hook(lambda *_: seen.append(2))
    module.register_backward_hook(lambda *_: seen.append(0), prepend=True)
    undo()
    jt.grad(module(x).sum(), x)
    assert seen == [0, 2]

    module.remove_backward_hook()
    module.register_input_backward_hook(lambda m, gi: seen.append("in"))
    module.register_output_backward_hook(lambda m, go: seen.append("out"))
    jt.grad(module(x).sum(), x)
    assert seen == [0, 2, "out", "in"]
    module.remove_input_backward_hook()
    module.remove_output_backward_hook()
    module.register_forward_hook(lambda *_: seen.append("after"))
    module.register_pre_forward_hook(lambda *_: seen.append("before"))
    module.remove_forward_hook()
    module.remove_pre_forward_hook()
    assert module(x) is x
    assert len(seen) == 4


def test_a_hooked_module_still_has_second_derivatives():
    module, x = nn.Tanh(), jt.array(np.array([0.3]))
    plain = jt.grad(jt.grad(module(x).sum(), x).sum(), x).item()
    module.register_backward_hook(lambda m, gi, go: None)

    assert jt.grad(jt.grad(module(x).sum(), x).sum(), x).item() == pytest.approx(plain)


class Pair(NamedTuple):
    """What a module answers, under names."""

    first: object
    second: object


@pytest.mark.parametrize("register", ["backward", "input_backward", "output_backward"])
def test_a_hooked_module_may_answer_a_named_tuple(register):
    class Both(nn.Module):
        def execute(self, x):
            return Pair(x * 2, x * 3)

    module, x = Both(), jt.array([1.0])
    getattr(module, f"register_{register}_hook")(lambda m, *gradients: None)

    answer = module(x)

    assert type(answer) is Pair
    assert jt.grad((answer.first + answer.second * 10).sum(), x).tolist() == [32.0]


def test_a_hook_that_answers_nonsense_is_told():
    module, x = nn.Identity(), jt.array([1.0])
    module.register_backward_hook(lambda m, gi, go: (gi[0], gi[0]))

    with pytest.raises(GradientError, match="2 for 1"):
        jt.grad(module(x).sum(), x)


# ----------------------------------------------------------------------------------------------------------- states


def test_a_state_may_have_a_prefix():
    assert list(nn.Linear(1, 1).state_dict(prefix="net.")) == ["net.weight", "net.bias"]
    assert nn.Linear(1, 1).state_dict("a.")["a.bias"].name == "a.bias"


def test_a_state_is_cut_off_from_the_gradients_unless_its_vars_are_kept():
    layer = nn.Sequential(nn.Linear(1, 1), nn.BatchNorm(1))

    cut, kept = layer.state_dict(), layer.state_dict("net.", keep_vars=True)

    assert [f"net.{name}" for name in cut] == list(kept)
    assert not any(var.requires_grad for var in cut.values())
    assert kept["net.0.weight"] is layer[0].weight
    assert kept["net.1.running_mean"] is layer[1].running_mean
    layer[0].weight.assign([[7.0]])
    assert (kept["net.0.weight"].item(), cut["0.weight"].item() == 7.0) == (7.0, False)
    assert layer[0].weight.name != "net.0.weight"


@pytest.mark.parametrize(
    ("state", "strict", "kind", "words"),
    [
        ({"w": [1.0], "weight": [[1.0]], "bias": [1.0]}, True, StateError, "unexpected w. Try: strict=False"),
        ({"weight": [[1.0]]}, True, StateError, "missing bias. Try: strict=False"),
        ({"weight": [1.0]}, True, StateError, r"missing bias; weight of shape \(1,\) for \(1, 1\)\.$"),
        ({"weight": [1.0], "bias": [1.0]}, True, ShapeError, r"found weight of shape \(1,\) for \(1, 1\)\.$"),
        ({"weight": [1.0], "w": [1.0]}, False, ShapeError, r"found weight of shape \(1,\) for \(1, 1\)\.$"),
    ],
)
def test_what_is_wrong_with_a_state_is_told_and_strict_false_only_where_it_helps(state, strict, kind, words):
    with pytest.raises(ShapeError, match=words) as caught:
        nn.Linear(1, 1).load_state_dict(state, strict)

    assert type(caught.value) is kind


def test_hooks_change_a_state_before_it_is_loaded_and_hear_about_it_afterwards():
    model, heard = nn.Sequential(nn.Linear(1, 1)), []

    def rename(module, state, prefix):
        state[prefix + "weight"] = state.pop(prefix + "kernel")

    undo = model[0].register_load_state_dict_pre_hook(rename)
    model.register_load_state_dict_post_hook(lambda module, loaded: heard.append(loaded))
    given = {"0.kernel": np.array([[5.0]]), "0.bias": np.array([6.0])}
    model.load_state_dict(given)

    assert [model[0].weight.item(), model[0].bias.item()] == [5.0, 6.0]
    assert list(given) == ["0.kernel", "0.bias"]
    assert heard == [([], [])]
    assert heard[0].missing_keys == heard[0].unexpected_keys == []
    undo()
    with pytest.raises(ShapeError, match=r"unexpected 0\.kernel"):
        model.load_state_dict(given)
    with pytest.raises(ArgumentError, match="a hook is a function"):
        model.register_load_state_dict_pre_hook(3)


def test_a_state_without_the_number_of_batches_is_complete():
    norm = nn.BatchNorm(2)
    norm(jt.array([[1.0, 2.0], [3.0, 4.0]]))
    state = {name: value for name, value in norm.state_dict().items() if name != "num_batches_tracked"}

    assert norm.load_state_dict(state) == ([], [])
    assert norm.num_batches_tracked.item() == 1
    assert nn.Sequential(nn.BatchNorm(2)).load_state_dict({"0." + name: v for name, v in state.items()}) == ([], [])


def test_a_module_survives_pickling_and_copying_with_its_parameters_shared_as_before():
    model = net()
    model.tied = nn.Linear(2, 3)
    model.tied.weight = model.first.weight
    model.first.bias.requires_grad = False
    model.rest[0].half()
    model.eval()

    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):  # noqa: S301 - bytes of its own
        assert str(twin) == str(model)
        assert [p.tolist() for p in twin.state_dict().values()] == [p.tolist() for p in model.state_dict().values()]
        assert [p.dtype for p in twin.state_dict().values()] == [p.dtype for p in model.state_dict().values()]
        assert [name for name, _ in twin.named_buffers()] == [name for name, _ in model.named_buffers()]
        assert [p.requires_grad for p in twin.parameters()] == [p.requires_grad for p in model.parameters()]
        assert twin.tied.weight is twin.first.weight is not model.first.weight
        assert not twin.rest[0].is_train


def see(module, args, out):
    return out + 1


def test_hooks_are_copied_and_pickled_with_the_module():
    module = nn.Identity()
    module.register_forward_hook(see)

    assert copy.deepcopy(module)(1) == pickle.loads(pickle.dumps(module))(1) == 2  # noqa: S301 - bytes of its own


def test_a_hook_that_is_always_called_hears_of_a_call_that_fails(torch):
    def said(layer, x):
        seen = []
        layer.register_forward_hook(lambda *_: seen.append("sometimes"))
        layer.register_forward_hook(lambda module, args, out: 1 / 0, always_call=True)
        layer.register_forward_hook(
            lambda module, args, named, out: seen.append(out), always_call=True, with_kwargs=True
        )
        failing = pytest.raises((RuntimeError, jt.ShapeError))
        with pytest.warns(UserWarning, match="division by zero") as warned, failing:
            layer(x)
        assert not isinstance(layer, nn.Module) or warned[0].filename == __file__
        return seen

    ours = said(nn.Linear(2, 2), jt.ones(1, 3))

    assert ours == said(torch.nn.Linear(2, 2), torch.ones(1, 3)) == [None]


def test_a_hook_that_is_always_called_hears_of_a_hook_before_it_that_fails_and_is_told_once(torch):
    def said(layer, x):
        seen = []
        layer.register_forward_hook(lambda module, args, out: seen.append("before"), always_call=True)
        layer.register_forward_hook(lambda module, args, out: 1 / 0, always_call=True)
        layer.register_forward_hook(lambda *_: seen.append("sometimes"))
        layer.register_forward_hook(lambda module, args, out: seen.append(out.tolist()), always_call=True)
        with pytest.raises(ZeroDivisionError):
            layer(x)
        return seen

    ours = said(nn.ReLU(), jt.ones(1))

    assert ours == said(torch.nn.ReLU(), torch.ones(1)) == ["before", [1.0]]


def test_a_call_that_succeeds_is_heard_of_once():
    layer, seen = nn.ReLU(), []
    layer.register_forward_hook(lambda *_: seen.append("always"), always_call=True)

    layer(jt.ones(1))

    assert seen == ["always"]
