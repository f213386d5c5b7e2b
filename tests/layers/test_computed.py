"""Parameters that are computed: parametrize, prune, and a module as a function of its parameters."""

import copy
import pickle
import threading

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn, optim
from jt_edu.func import functional_call
from jt_edu.nn.utils import parametrize, prune

pytestmark = pytest.mark.usefixtures("python_backend")


class Symmetric(nn.Module):
    def execute(self, x):
        return x.triu() + x.triu(1).transpose(0, 1)


class Doubled(nn.Module):
    def execute(self, x):
        return x * 2

    def right_inverse(self, y):
        return y / 2


class Halves(nn.Module):
    def execute(self, a, b):
        return a + b

    def right_inverse(self, y):
        return y / 2, y / 2


class Longer(nn.Module):
    def execute(self, x):
        return jt.concat([x, x])


# ---------------------------------------------------------------------------------------------------------- parametrize


def test_a_parametrized_weight_is_what_it_is_computed_from_whenever_it_is_asked_for():
    layer = nn.Linear(3, 3)
    rule = optim.SGD(layer.parameters(), lr=0.1)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    before = layer.weight.numpy()

    rule.step((layer(jt.ones(2, 3)) ** 2).sum())

    assert not np.allclose(layer.weight.numpy(), before)
    np.testing.assert_allclose(layer.weight.numpy(), layer.weight.numpy().T)
    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original"]
    assert isinstance(layer, nn.Linear)
    assert (parametrize.is_parametrized(layer), parametrize.is_parametrized(layer, "bias")) == (True, False)


def test_states_are_those_of_pytorch(torch, rng):
    from_torch = torch.nn.utils.parametrize

    class TorchDoubled(torch.nn.Module):
        def forward(self, x):
            return x * 2

        def right_inverse(self, y):
            return y / 2

    theirs, ours = torch.nn.Linear(3, 2), nn.Linear(3, 2)
    ours.load_state_dict({name: v.numpy() for name, v in theirs.state_dict().items()})
    for lib, layer, kind in ((from_torch, theirs, TorchDoubled), (parametrize, ours, Doubled)):
        lib.register_parametrization(layer, "weight", kind())
        lib.register_parametrization(layer, "weight", kind())

    assert set(ours.state_dict()) == set(theirs.state_dict())
    for name, v in theirs.state_dict().items():
        np.testing.assert_allclose(ours.state_dict()[name].numpy(), v.numpy(), rtol=1e-6)
    np.testing.assert_allclose(ours.weight.numpy(), theirs.weight.detach().numpy(), rtol=1e-6)


def test_a_weight_with_an_inverse_can_be_assigned_to():
    layer = nn.Linear(2, 2)
    parametrize.register_parametrization(layer, "weight", Doubled())
    parametrize.register_parametrization(layer, "bias", Halves())

    layer.weight, layer.bias = jt.ones(2, 2), jt.array([4.0, 6.0])

    assert layer.weight.tolist() == [[1.0, 1.0]] * 2
    assert layer.parametrizations.weight.original.tolist() == [[0.5, 0.5]] * 2
    assert (layer.parametrizations.bias.original1.tolist(), layer.bias.tolist()) == ([2.0, 3.0], [4.0, 6.0])
    parametrize.register_parametrization(layer, "weight", Symmetric())
    with pytest.raises(jt.ArgumentError, match="right_inverse; found Symmetric without one"):
        layer.weight = jt.ones(2, 2)


def test_a_weight_without_an_inverse_cannot_be_assigned_to():
    layer = nn.Linear(2, 2)
    before = layer.weight.tolist()
    parametrize.register_parametrization(layer, "weight", nn.Identity())

    with pytest.raises(jt.ArgumentError, match="right_inverse; found Identity without one"):
        layer.weight = jt.ones(2, 2)
    assert layer.weight.tolist() == before


def test_parametrizations_are_removed_one_way_or_the_other():
    layer = nn.Linear(2, 2)
    w = layer.weight
    parametrize.register_parametrization(layer, "weight", Doubled(), unsafe=True)
    parametrize.register_parametrization(layer, "bias", Halves())
    value = layer.weight.numpy()

    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer).__name__ == "ParametrizedLinear"
    parametrize.remove_parametrizations(layer, "bias")

    np.testing.assert_array_equal(layer.weight.numpy(), value)
    assert (type(layer), list(layer.state_dict())) == (nn.Linear, ["weight", "bias"])
    w = layer.weight
    parametrize.register_parametrization(layer, "weight", nn.Tanh())
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    assert layer.weight is w


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])  # noqa: S301
def test_a_copy_of_a_parametrized_module_has_originals_of_its_own(copied):
    net = nn.Sequential(nn.Linear(2, 2))
    parametrize.register_parametrization(net[0], "weight", Symmetric())

    twin = copied(net)
    net[0].parametrizations.weight.original.update(jt.zeros(2, 2))

    assert (twin[0].weight.numpy().any(), net[0].weight.numpy().any()) == (True, False)
    twin.load_state_dict(net.state_dict())
    assert twin[0].weight.tolist() == [[0.0, 0.0]] * 2


def test_a_buffer_stays_a_buffer_and_a_cached_weight_is_computed_once():
    norm = nn.BatchNorm(2)
    parametrize.register_parametrization(norm, "running_var", Doubled())
    layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Symmetric())

    assert [name for name, _ in norm.named_buffers() if "var" in name] == ["parametrizations.running_var.original"]
    assert layer.weight is not layer.weight
    with parametrize.cached(), parametrize.cached():
        assert layer.weight is layer.weight
    assert layer.weight is not layer.weight


def test_a_cached_weight_is_never_that_of_another_module():
    right = []

    with parametrize.cached():
        for _ in range(30):
            layer = parametrize.register_parametrization(nn.Linear(2, 2), "weight", Doubled(), unsafe=True)
            right.append(layer.weight.tolist() == (layer.parametrizations.weight.original * 2).tolist())
            del layer

    assert all(right)


def test_a_cached_weight_is_computed_anew_when_it_was_assigned_to_or_goes_through_another_function():
    layer = parametrize.register_parametrization(nn.Linear(1, 1), "weight", Doubled())

    with parametrize.cached():
        seen = [layer.weight.shape]
        layer.weight = jt.array([[6.0]])
        seen.append(layer.weight.item())
        parametrize.register_parametrization(layer, "weight", Doubled())
        seen.append(layer.weight.item())
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
        parametrize.register_parametrization(layer, "weight", nn.Identity())
        seen.append(layer.weight.item())

    assert seen == [(1, 1), 6.0, 12.0, 3.0]


def test_a_weight_that_was_cached_without_gradients_has_them_where_they_are_recorded():
    layer = parametrize.register_parametrization(nn.Linear(1, 1, bias=False), "weight", Doubled())

    with parametrize.cached():
        with jt.no_grad():
            layer(jt.ones(1, 1))
        dw = jt.grad(layer(jt.ones(1, 1)).sum(), layer.parametrizations.weight.original)

    assert dw.item() == 2.0


def test_each_thread_has_a_cache_of_its_own_that_ends_with_its_scope():
    layer = parametrize.register_parametrization(nn.Linear(1, 1), "weight", Doubled())
    begun, left, same = threading.Event(), threading.Event(), []

    def other():
        with parametrize.cached():
            begun.set()
            left.wait(10)
            same.append(layer.weight is layer.weight)
        same.append(layer.weight is layer.weight)

    thread = threading.Thread(target=other)
    with parametrize.cached():
        thread.start()
        begun.wait(10)
    same.append(layer.weight is layer.weight)
    left.set()
    thread.join()

    assert same == [False, True, False]
    assert layer.weight is not layer.weight


FUNCTIONS = {"no inverse": nn.Tanh, "an inverse": Doubled, "two parts": Halves}


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_a_frozen_weight_stays_frozen_while_it_is_parametrized_and_afterwards(kind):
    layer = nn.Linear(2, 2)
    layer.weight.requires_grad = False
    parametrize.register_parametrization(layer, "weight", FUNCTIONS[kind]())
    value = layer.weight.numpy()

    for _ in range(2):
        optim.SGD(layer.parameters(), lr=1.0).step((layer(jt.ones(1, 2)) ** 2).sum())
        np.testing.assert_array_equal(layer.weight.numpy(), value)
        if parametrize.is_parametrized(layer):
            parametrize.remove_parametrizations(layer, "weight")
    assert (layer.weight.requires_grad, layer.bias.requires_grad) == (False, True)


@pytest.mark.parametrize("kind", ["no inverse", "an inverse"])
def test_an_optimizer_that_held_the_weight_before_trains_it_parametrized_and_afterwards(kind):
    layer = nn.Linear(2, 2)
    w, rule = layer.weight, optim.SGD(layer.parameters(), lr=0.1)

    parametrize.register_parametrization(layer, "weight", FUNCTIONS[kind]())

    assert layer.parametrizations.weight.original is w
    for _ in range(2):
        before = layer.weight.numpy()
        rule.step((layer(jt.ones(1, 2)) ** 2).sum())
        assert not np.allclose(layer.weight.numpy(), before)
        if parametrize.is_parametrized(layer):
            parametrize.remove_parametrizations(layer, "weight")
    assert layer.weight is w


def test_a_compiled_step_trains_the_originals():
    layer = parametrize.register_parametrization(nn.Linear(2, 2, bias=False), "weight", Symmetric())
    rule = optim.SGD(layer.parameters(), lr=0.01)

    @jt.compile
    def step(x):
        loss = (layer(x) ** 2).sum()
        rule.step(loss)
        return loss

    losses = [step(jt.ones(1, 2)).item() for _ in range(3)]
    assert losses == sorted(losses, reverse=True)
    assert "captured once" in repr(step)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda m: parametrize.register_parametrization(m, "weight", Longer()), r"keeps .*shape \(2, 2\).*unsafe=True"),
        (lambda m: parametrize.register_parametrization(m, "w", Symmetric()), "'w' of a Linear"),
        (lambda m: parametrize.register_parametrization(m, "weight", jt.sin), "function sin"),
        (lambda m: parametrize.remove_parametrizations(m, "weight"), "a Linear where it is not"),
    ],
)
def test_what_cannot_be_parametrized_is_told_and_the_layer_is_as_it_was(ask, words):
    layer = nn.Linear(2, 2)

    with pytest.raises(jt.JtError, match=words):
        ask(layer)

    assert (type(layer), list(layer.state_dict())) == (nn.Linear, ["weight", "bias"])


# ---------------------------------------------------------------------------------------------------------------- prune

WAYS = {
    "a share of the smallest": lambda p, m: p.l1_unstructured(m, "weight", 0.3),
    "twice": lambda p, m: [p.l1_unstructured(m, "weight", k) for k in (5, 0.5)],
    "rows": lambda p, m: p.ln_structured(m, "weight", 0.5, 2, 0),
    "columns, rows, numbers": lambda p, m: [
        p.ln_structured(m, "weight", 1, 1, 1), p.ln_structured(m, "weight", 1, float("inf"), -2),
        p.l1_unstructured(m, "weight", 0.25),
    ],
    "removed": lambda p, m: [p.l1_unstructured(m, "weight", 0.3), p.remove(m, "weight")],
    "nothing, then two": lambda p, m: [p.identity(m, "bias"), p.l1_unstructured(m, "bias", 2)],
    "two at once": lambda p, m: p.global_unstructured(
        [(m, "weight"), (m, "bias")], pruning_method=p.L1Unstructured, amount=0.4
    ),
    "two, one of them pruned": lambda p, m: [
        p.l1_unstructured(m, "weight", 6),
        p.global_unstructured([(m, "weight"), (m, "bias")], pruning_method=p.L1Unstructured, amount=9),
    ],
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_what_is_pruned_is_pytorchs(torch, way):
    import torch.nn.utils.prune as from_torch  # noqa: PLC0415

    theirs, ours = torch.nn.Linear(4, 6), nn.Linear(4, 6)
    ours.load_state_dict({name: v.numpy() for name, v in theirs.state_dict().items()})

    WAYS[way](from_torch, theirs)
    WAYS[way](prune, ours)

    assert set(ours.state_dict()) == set(theirs.state_dict())
    for name, v in theirs.state_dict().items():
        np.testing.assert_array_equal(ours.state_dict()[name].numpy(), v.numpy(), err_msg=name)
    np.testing.assert_array_equal(ours.weight.numpy(), theirs.weight.detach().numpy())
    assert prune.is_pruned(ours) == from_torch.is_pruned(theirs)


def test_what_is_pruned_at_random_is_as_much_as_was_asked_for_and_seeded():
    def masks():
        jt.set_global_seed(3)
        layer = nn.Linear(4, 6)
        prune.random_unstructured(layer, "weight", 0.25)
        prune.random_structured(layer, "weight", 2, 0)
        prune.global_unstructured([(layer, "bias")], prune.RandomUnstructured, amount=1)
        return layer.weight_mask.numpy(), layer.bias_mask.numpy()

    weight, bias = masks()

    assert ((weight == 0).all(1).sum(), bias.sum()) == (2, 5)
    np.testing.assert_array_equal(masks()[0], weight)


def test_pruned_numbers_stay_0_while_the_others_are_trained_and_copies_know_it():
    layer = prune.l1_unstructured(nn.Linear(3, 3), "weight", 4)
    rule, zeros = optim.SGD(layer.parameters(), lr=0.1), layer.weight.numpy() == 0

    rule.step((layer(jt.ones(1, 3)) ** 2).sum())
    twins = [layer, copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))]  # noqa: S301 - bytes of its own

    for twin in twins:
        twin(jt.ones(1, 3))
        np.testing.assert_array_equal(twin.weight.numpy() == 0, zeros)
    scores = jt.array(np.arange(9.0).reshape(3, 3))
    other = prune.l1_unstructured(nn.Linear(3, 3), "weight", 2, importance_scores=scores)
    assert other.weight_mask.tolist() == [[0.0, 0.0, 1.0], [1.0] * 3, [1.0] * 3]


COMPUTED = {
    "identity": (prune.identity, prune.remove),
    "a mask": (lambda m, name: prune.custom_from_mask(m, name, jt.array([[1, 0], [0, 1]])), prune.remove),
    "the smallest, twice": (
        lambda m, name: prune.l1_unstructured(prune.l1_unstructured(m, name, 1), name, 1), prune.remove,
    ),
    "weight norm": (nn.utils.weight_norm, nn.utils.remove_weight_norm),
    "spectral norm": (nn.utils.spectral_norm, nn.utils.remove_spectral_norm),
}  # fmt: skip


@pytest.mark.parametrize("trained", [True, False])
@pytest.mark.parametrize("way", COMPUTED)
def test_a_weight_that_is_computed_no_more_is_the_very_parameter_that_it_was(way, trained):
    layer, (begin, end) = nn.Linear(2, 2), COMPUTED[way]
    w = layer.weight
    w.requires_grad = trained
    rule = optim.SGD(layer.parameters(), lr=0.1)

    value = begin(layer, "weight").weight.numpy()
    movable = [p.requires_grad for name, p in layer.named_parameters() if name != "bias"]
    end(layer, "weight")

    assert layer.weight is w
    assert [*movable, w.requires_grad] == [trained] * (len(movable) + 1)
    np.testing.assert_allclose(w.numpy(), value, rtol=1e-6)
    assert list(layer.state_dict()) == ["bias", "weight"]
    rule.step((layer(jt.ones(1, 2)) ** 2).sum())
    assert np.allclose(w.numpy(), value) != trained


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda m: prune.l1_unstructured(m, "weight", 10), "pruning removes at most what is left, 9"),
        (lambda m: prune.l1_unstructured(m, "w", 1), "a parameter 'w'"),
        (lambda m: prune.l1_unstructured(m, "weight", 1.5), "amount=1.5"),
        (lambda m: prune.l1_unstructured(m, "weight", True), "amount=True"),
        (lambda m: prune.l1_unstructured(m, "weight", 1, importance_scores=[1.0]), "one for each number"),
        (lambda m: prune.ln_structured(m, "weight", 1, 2, 5), "dim=5"),
        (lambda m: prune.remove(m, "bias"), "without it"),
        (lambda m: prune.custom_from_mask(m, "bias", [1, 2, 0]), "0 or 1 at each place"),
        (lambda m: prune.global_unstructured([(m, "bias")], "l1", amount=1), "prune.L1Unstructured"),
        (lambda m: prune.is_prunned(m), "is_pruned"),
    ],
)
def test_what_cannot_be_pruned_is_told(ask, words):
    with pytest.raises(jt.JtError, match=words):
        ask(nn.Linear(3, 3))


# ------------------------------------------------------------------------------------------------------ functional_call


@pytest.mark.parametrize("training", [True, False])
def test_a_module_is_called_with_other_parameters_and_keeps_its_own(torch, rng, training):
    theirs = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 1))
    ours = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    ours.load_state_dict({name: v.numpy() for name, v in theirs.state_dict().items()})
    x = rng.normal(size=(4, 2)).astype("float32")
    others = {name: rng.normal(size=p.shape).astype("float32") for name, p in ours.named_parameters()}
    mean, before = np.ones(3, "float32"), {name: v.numpy().copy() for name, v in ours.state_dict().items()}
    theirs.train(training), ours.train(training)

    given = {name: torch.tensor(a, requires_grad=True) for name, a in others.items()}
    running = torch.tensor(mean)
    wanted = torch.func.functional_call(theirs, ({**given}, {"1.running_mean": running}), (torch.tensor(x),))
    slopes = torch.autograd.grad(wanted.sin().sum(), list(given.values()))
    params, kept = {name: jt.array(a) for name, a in others.items()}, jt.array(mean).stop_grad()
    answer = functional_call(ours, [params, {"1.running_mean": kept}], jt.array(x))
    gradients = jt.grad(answer.sin().sum(), list(params.values()))

    np.testing.assert_allclose(answer.numpy(), wanted.detach().numpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(kept.numpy(), running.numpy(), rtol=1e-4)
    for a, b in zip(gradients, slopes, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(ours[1].running_mean.numpy(), before["1.running_mean"])
    for name, p in ours.named_parameters():
        np.testing.assert_array_equal(p.numpy(), before[name])


class Tied(nn.Module):
    def __init__(self):
        self.first = nn.Linear(2, 2, bias=False)
        self.second = nn.Linear(2, 2, bias=False)
        self.second.weight = self.first.weight

    def execute(self, x, by=1):
        return self.second(self.first(x)) * by


def test_a_weight_under_two_names_is_replaced_under_both():
    w, net = jt.array([[2.0, 0.0], [0.0, 2.0]]), Tied()

    assert functional_call(net, {"second.weight": w}, (jt.ones(1, 2),), {"by": 3}).tolist() == [[12.0, 12.0]]
    assert functional_call(net, {"second.weight": w, "first.weight": w}, jt.ones(1, 2)).tolist() == [[4.0, 4.0]]
    with pytest.raises(jt.ArgumentError, match="tie_weights=False"):
        functional_call(net, {"second.weight": w}, jt.ones(1, 2), tie_weights=False)
    with pytest.raises(jt.ArgumentError, match="replaced by one"):
        functional_call(net, {"second.weight": w, "first.weight": w * 2}, jt.ones(1, 2))


def test_a_call_that_fails_leaves_the_module_as_it_was():
    net, w = nn.Linear(2, 1), jt.ones(1, 2)
    mine = net.weight

    with pytest.raises(jt.JtError):
        functional_call(net, {"weight": w}, jt.ones(3, 3))

    assert net.weight is mine
    assert (mine.node is not w.node, mine.node.holders, w.node.holders) == (True, 1, 1)


def test_a_compiled_function_of_parameters_is_captured_once():
    net = nn.Linear(2, 1, bias=False)
    step = jt.compile(lambda w, x: functional_call(net, {"weight": w}, x).sum())

    assert [step(jt.full((1, 2), float(k)), jt.ones(1, 2)).item() for k in (1, 2, 3)] == [2.0, 4.0, 6.0]
    assert "captured once" in repr(step)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda m, x: functional_call(m, {"w": x}, x), r"weight, bias; found 'w'"),
        (lambda m, x: functional_call(m, {"bias": x}, x, strict=True), "found no weight"),
        (lambda m, x: functional_call(jt.sin, {}, x), "takes a module"),
        (lambda m, x: functional_call(m, [x], x), "names and Vars"),
    ],
)
def test_functional_call_says_what_it_takes(ask, words):
    with pytest.raises(jt.ArgumentError, match=words):
        ask(nn.Linear(2, 1), jt.ones(1))
