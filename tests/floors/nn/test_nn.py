"""Layers: the numbers of PyTorch, gradients of inputs and parameters included, and a walk that finds what is there."""

import copy
import math
import pickle
import zipfile

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from jt_edu.base.errors import ArgumentError, DtypeError, JtError, RangeError, ShapeError

pytestmark = pytest.mark.usefixtures("python_backend")


def numbers(state):
    return {name: np.array(value.numpy()) for name, value in state.items()}


def alike(torch, ours, theirs, *inputs, gradients=True):
    """The same outputs, gradients of inputs and parameters, and buffers afterwards; `ours` takes over their state."""
    theirs = theirs.double()
    theirs.zero_grad()
    ours.double()
    loaded = ours.load_state_dict({k: v.detach().numpy().copy() for k, v in theirs.state_dict().items()})
    assert loaded == ([], [])
    mine = [jt.array(x) for x in inputs]
    other = [torch.tensor(x, requires_grad=x.dtype.kind == "f") for x in inputs]
    out, expected = ours(*mine), theirs(*other)
    np.testing.assert_allclose(out.numpy(), expected.detach().numpy(), rtol=1e-6, atol=1e-6)
    if gradients:
        way = np.cos(np.arange(expected.numel())).reshape(tuple(expected.shape))
        (expected * torch.tensor(way)).sum().backward()
        floats = [(m, o) for m, o in zip(mine, other, strict=True) if o.requires_grad]
        params = dict(theirs.named_parameters())
        own = dict(ours.named_parameters())
        assert list(own) == list(params)
        asked = [m for m, _ in floats] + list(own.values())
        found = jt.grad((out * way).sum(), asked)
        for g, o in zip(found, [o for _, o in floats] + list(params.values()), strict=True):
            np.testing.assert_allclose(g.numpy(), o.grad.numpy(), rtol=1e-6, atol=1e-6)
    for name, value in theirs.state_dict().items():
        np.testing.assert_allclose(ours.state_dict()[name].numpy(), value.detach().numpy(), rtol=1e-6, atol=1e-6)


def test_linear_agrees_with_pytorch(torch, rng):
    for bias in (True, False):
        for shape in ((4, 3), (2, 4, 3), (3,)):
            alike(torch, nn.Linear(3, 2, bias=bias), torch.nn.Linear(3, 2, bias=bias), rng.normal(size=shape))


def test_flatten_and_identity_agree_with_pytorch(torch, rng):
    x = rng.normal(size=(2, 3, 4, 5))

    alike(torch, nn.Flatten(), torch.nn.Flatten(), x)
    alike(torch, nn.Flatten(0, 2), torch.nn.Flatten(0, 2), x)
    alike(torch, nn.Identity(3, size=4), torch.nn.Identity(), x)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"stride": 2},
        {"stride": (1, 2), "padding": (2, 1)},
        {"padding": 1, "dilation": 2},
        {"groups": 2},
        {"groups": 4, "bias": False, "padding": 1},
    ],
    ids=str,
)
def test_conv_agrees_with_pytorch(torch, rng, settings):
    x = rng.normal(size=(2, 4, 6, 5))

    alike(torch, nn.Conv(4, 8, (3, 2), **settings), torch.nn.Conv2d(4, 8, (3, 2), **settings), x)


@pytest.mark.parametrize(
    "settings", [{}, {"stride": 1}, {"padding": 1}, {"stride": 2, "ceil_mode": True}, {"kernel_size": (3, 2)}], ids=str
)
def test_pooling_agrees_with_pytorch(torch, rng, settings):
    settings = {"kernel_size": 3, **settings}
    x = rng.normal(size=(2, 3, 8, 7))

    alike(torch, nn.MaxPool2d(**settings), torch.nn.MaxPool2d(**settings), x)
    alike(torch, nn.Pool(**settings), torch.nn.MaxPool2d(**settings), x)
    for include in (True, False):
        theirs = torch.nn.AvgPool2d(**settings, count_include_pad=include)
        alike(torch, nn.AvgPool2d(**settings, count_include_pad=include), theirs, x)
        alike(torch, nn.Pool(**settings, op="mean", count_include_pad=include), theirs, x)


def test_pool_also_takes_the_smallest_and_the_sum():
    x = jt.array(np.arange(4.0).reshape(1, 1, 2, 2))

    assert nn.Pool(2, op="minimum")(x).item() == 0
    assert nn.Pool(2, op="add")(x).item() == 6
    with pytest.raises(ArgumentError, match="'median'"):
        nn.Pool(2, op="median")


@pytest.mark.parametrize("shape", [(5, 3), (4, 3, 2), (2, 3, 2, 2)])
@pytest.mark.parametrize("settings", [{}, {"eps": 0.5}, {"momentum": 0.7}, {"affine": False}], ids=str)
def test_batch_norm_agrees_with_pytorch_in_training_and_afterwards(torch, rng, shape, settings):
    theirs = [torch.nn.BatchNorm1d, torch.nn.BatchNorm1d, torch.nn.BatchNorm2d][len(shape) - 2](3, **settings)
    ours = nn.BatchNorm(3, **settings)
    if settings.get("affine", True):
        torch.nn.init.normal_(theirs.weight)
        torch.nn.init.normal_(theirs.bias)

    for _ in range(3):
        alike(torch, ours, theirs, rng.normal(2, 3, size=shape))
    alike(torch, ours.eval(), theirs.eval(), rng.normal(size=shape))


def test_batch_norm_may_begin_outside_of_training():
    norm, x = nn.BatchNorm(2, is_train=False, eps=0.0), jt.array([[1.0, 2.0]])

    assert norm(x).tolist() == [[1.0, 2.0]]
    assert norm.running_mean.tolist() == [0.0, 0.0]


def test_batch_norms_of_so_many_axes_are_kinds_of_one():
    x = jt.random((2, 3, 4, 4))

    for kind, y in ((nn.BatchNorm1d, x[..., 0]), (nn.BatchNorm2d, x), (nn.BatchNorm3d, x.unsqueeze(2))):
        np.testing.assert_array_equal(kind(3)(y).numpy(), nn.BatchNorm(3)(y).numpy())


def test_running_statistics_do_not_pile_up_when_nobody_asks_for_them():
    norm = nn.BatchNorm(1, momentum=0.5)
    for _ in range(40):
        norm(jt.array([[1.0], [3.0]]))

    assert _pending_behind(norm.running_mean) < 300
    assert norm.running_mean.item() == pytest.approx(2.0)
    assert norm.running_var.item() == pytest.approx(2.0)


@pytest.mark.parametrize("reads", [False, True], ids=["nothing is read", "the mean is read"])
def test_the_count_of_batches_does_not_pile_up_when_nobody_asks_for_it(reads):
    norm = nn.BatchNorm(1)
    for _ in range(40):
        norm(jt.array([[1.0], [3.0]]))
        if reads:
            norm.running_mean.item()

    assert _pending_behind(norm.num_batches_tracked) < 30
    assert norm.num_batches_tracked.item() == 40


def _pending_behind(var):
    seen, waiting = set(), [var.node]
    while waiting:
        node = waiting.pop()
        if node not in seen and node.pending:
            seen.add(node)
            waiting.extend(node.inputs)
    return len(seen)


@pytest.mark.parametrize("settings", [{}, {"eps": 0.3}, {"elementwise_affine": False}], ids=str)
def test_layer_norm_agrees_with_pytorch(torch, rng, settings):
    for shape in (4, (3, 4)):
        theirs = torch.nn.LayerNorm(shape, **settings)
        if settings.get("elementwise_affine", True):
            torch.nn.init.normal_(theirs.weight)
            torch.nn.init.normal_(theirs.bias)
        alike(torch, nn.LayerNorm(shape, **settings), theirs, rng.normal(size=(2, 3, 4)))


ACTIVATIONS = {
    "relu": (nn.ReLU, lambda t: t.nn.ReLU()),
    "leaky": (nn.LeakyReLU, lambda t: t.nn.LeakyReLU()),
    "leaky 0.3": (lambda: nn.LeakyReLU(0.3), lambda t: t.nn.LeakyReLU(0.3)),
    "sigmoid": (nn.Sigmoid, lambda t: t.nn.Sigmoid()),
    "tanh": (nn.Tanh, lambda t: t.nn.Tanh()),
    "gelu": (nn.GELU, lambda t: t.nn.GELU()),
    "gelu tanh": (lambda: nn.GELU("tanh"), lambda t: t.nn.GELU("tanh")),
    "silu": (nn.SiLU, lambda t: t.nn.SiLU()),
    "softplus": (nn.Softplus, lambda t: t.nn.Softplus()),
    "softplus 3": (lambda: nn.Softplus(3.0), lambda t: t.nn.Softplus(3.0)),
    "softplus low threshold": (lambda: nn.Softplus(1.0, 0.5), lambda t: t.nn.Softplus(1.0, 0.5)),
    "softmax": (nn.Softmax, lambda t: t.nn.Softmax(dim=-1)),
    "softmax 0": (lambda: nn.Softmax(0), lambda t: t.nn.Softmax(dim=0)),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_agree_with_pytorch(torch, rng, name):
    ours, theirs = ACTIVATIONS[name]

    alike(torch, ours(), theirs(torch), rng.normal(0, 3, size=(3, 4)))


def test_embedding_agrees_with_pytorch(torch, rng):
    positions = rng.integers(0, 5, size=(3, 2))

    alike(torch, nn.Embedding(5, 4), torch.nn.Embedding(5, 4), positions)
    alike(torch, nn.Embedding(5, 4, padding_idx=2), torch.nn.Embedding(5, 4, padding_idx=2), positions)
    assert nn.Embedding(5, 4, padding_idx=-1).weight.numpy()[4].tolist() == [0.0] * 4
    with pytest.raises(RangeError):
        nn.Embedding(5, 4)(jt.array([5])).sync()
    with pytest.raises(ArgumentError, match="padding_idx=5"):
        nn.Embedding(5, 4, padding_idx=5)


# ------------------------------------------------------------------------------------------------------------ losses


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("settings", [{}, {"weight": True}, {"ignore_index": 1}, {"label_smoothing": 0.2}], ids=str)
def test_cross_entropy_agrees_with_pytorch(torch, rng, reduction, settings):
    settings = {**settings, "reduction": reduction}
    target = rng.integers(0, 4, size=6)
    target[0] = 1
    x = rng.normal(size=(6, 4))
    w = rng.uniform(0.5, 2, size=4)
    if settings.pop("weight", None):
        ours, theirs = nn.CrossEntropyLoss(weight=w, **settings), torch.nn.CrossEntropyLoss(torch.tensor(w), **settings)
    else:
        ours, theirs = nn.CrossEntropyLoss(**settings), torch.nn.CrossEntropyLoss(**settings)

    alike(torch, ours, theirs, x, target)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_square_and_absolute_losses_agree_with_pytorch(torch, rng, reduction):
    x, y = rng.normal(size=(2, 3)), rng.normal(size=(2, 3))

    alike(torch, nn.MSELoss(reduction), torch.nn.MSELoss(reduction=reduction), x, y)
    alike(torch, nn.L1Loss(reduction), torch.nn.L1Loss(reduction=reduction), x, y)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_binary_losses_agree_with_pytorch(torch, rng, reduction):
    p, y, s = rng.uniform(0.01, 0.99, size=(4, 3)), rng.uniform(size=(4, 3)), rng.normal(0, 4, size=(4, 3))
    w, pos = rng.uniform(0.5, 2, size=3), rng.uniform(0.5, 3, size=3)
    theirs, tensor = torch.nn, torch.tensor

    alike(torch, nn.BCELoss(reduction=reduction), theirs.BCELoss(reduction=reduction), p, y, gradients=False)
    alike(torch, nn.BCELoss(w, reduction), theirs.BCELoss(tensor(w), reduction=reduction), p, y, gradients=False)
    for ours, other in [
        (nn.BCEWithLogitsLoss(reduction=reduction), theirs.BCEWithLogitsLoss(reduction=reduction)),
        (nn.BCEWithLogitsLoss(w, reduction=reduction), theirs.BCEWithLogitsLoss(tensor(w), reduction=reduction)),
        (
            nn.BCEWithLogitsLoss(pos_weight=pos, reduction=reduction),
            theirs.BCEWithLogitsLoss(pos_weight=tensor(pos), reduction=reduction),
        ),
    ]:
        alike(torch, ours, other, s, y)


def test_the_gradient_of_bce_agrees_with_pytorch_inside(torch, rng):
    p, y = rng.uniform(0.01, 0.99, size=5), rng.integers(0, 2, size=5).astype(float)
    ours, theirs = jt.array(p), torch.tensor(p, requires_grad=True)
    torch.nn.functional.binary_cross_entropy(theirs, torch.tensor(y)).backward()

    np.testing.assert_allclose(jt.grad(nn.bce_loss(ours, jt.array(y)), ours).numpy(), theirs.grad.numpy(), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bce_of_a_certain_but_wrong_answer_is_a_hundred_and_its_gradient_no_nan(dtype):
    p = jt.array(np.array([0.0, 1.0, 0.0, 1.0], dtype))
    loss = nn.bce_loss(p, jt.array(np.array([1.0, 0.0, 0.0, 1.0], dtype)), reduction="none")

    assert loss.tolist() == [100.0, 100.0, 0.0, 0.0]
    assert np.isfinite(jt.grad(loss.sum(), p).numpy()).all()


def test_scores_of_any_size_have_a_loss():
    x = jt.array([-1000.0, 1000.0, 1000.0])

    loss = nn.binary_cross_entropy_with_logits(x, jt.array([1.0, 0.0, 1.0]), reduction="none")

    assert loss.tolist() == [1000, 1000, 0]


@pytest.mark.parametrize("loss", [nn.mse_loss, nn.l1_loss, nn.bce_loss, nn.binary_cross_entropy_with_logits])
def test_losses_refuse_shapes_that_differ_and_reductions_they_do_not_know(loss):
    with pytest.raises(ShapeError, match=r"\(2,\) and \(2, 1\)"):
        loss(jt.ones(2), jt.ones(2, 1))
    with pytest.raises(ArgumentError, match="'average'"):
        loss(jt.ones(2), jt.ones(2), reduction="average")
    with pytest.raises(DtypeError, match="int64"):
        loss(jt.array([1, 2]), jt.array([1.0, 2.0]))


def test_loss_modules_check_what_they_are_made_with():
    with pytest.raises(ArgumentError, match="'average'"):
        nn.MSELoss("average")
    with pytest.raises(ArgumentError, match="label_smoothing"):
        nn.CrossEntropyLoss(label_smoothing=2)
    with pytest.raises(ShapeError, match="broadcast to the shape of the loss"):
        nn.BCELoss(jt.ones(4, 2))(jt.full((2,), 0.5), jt.ones(2))


# ----------------------------------------------------------------------------------------------------------- dropout


def test_dropout_forgets_with_its_probability_and_keeps_the_mean(seed):
    jt.set_global_seed(seed)
    x = jt.ones(4000)

    y = nn.Dropout(0.25)(x).numpy()

    assert set(np.unique(y)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs((y == 0).mean() - 0.25) < 0.05


def test_dropout_draws_anew_at_each_call_and_again_with_the_same_seed(seed):
    layer, x = nn.Dropout(), jt.ones(100)
    jt.set_global_seed(seed)
    first, second = layer(x).numpy(), layer(x).numpy()
    jt.set_global_seed(seed)

    assert (first != second).any()
    assert (layer(x).numpy() == first).all()


def test_the_gradient_of_dropout_goes_where_the_numbers_went(seed):
    jt.set_global_seed(seed)
    x = jt.array(np.arange(1.0, 21.0))
    y = nn.Dropout(0.5)(x)

    np.testing.assert_array_equal(jt.grad(y.sum(), x).numpy() * x.numpy(), y.numpy())


def test_dropout_is_nothing_when_not_training_or_without_probability():
    x = jt.ones(9)

    assert nn.Dropout(0.9).eval()(x) is x
    assert nn.dropout(x, 0.9, is_train=False) is x
    assert nn.Dropout(0.0)(x) is x
    assert nn.Dropout(1.0)(jt.array([np.inf, 1.0])).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("p", [-0.1, 1.5, "half", True, math.nan])
def test_dropout_refuses_what_is_no_probability(p):
    with pytest.raises(ArgumentError, match="Dropout takes p as a number from 0 to 1"):
        nn.Dropout(p)


# -------------------------------------------------------------------------------------------------- initial numbers


def test_layers_start_with_the_spread_of_pytorch(torch, seed):
    jt.set_global_seed(seed)
    torch.manual_seed(seed)
    for ours, theirs in [
        (nn.Linear(50, 40), torch.nn.Linear(50, 40)),
        (nn.Conv(6, 20, 5, groups=2), torch.nn.Conv2d(6, 20, 5, groups=2)),
    ]:
        for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
            assert np.abs(mine.numpy()).max() <= 1 / math.sqrt(50 if mine.shape[0] == 40 else 75)
            if mine.size > 100:
                assert mine.numpy().std() == pytest.approx(float(other.detach().std()), rel=0.1)


@pytest.mark.parametrize(
    ("name", "arguments", "std"),
    [
        ("kaiming_uniform_", {}, math.sqrt(2 / 60)),
        ("kaiming_uniform_", {"a": math.sqrt(5)}, math.sqrt(2 / 6 / 60)),
        ("kaiming_uniform_", {"mode": "fan_out", "nonlinearity": "linear"}, math.sqrt(1 / 120)),
        ("kaiming_normal_", {"nonlinearity": "relu"}, math.sqrt(2 / 60)),
        ("kaiming_normal_", {"mode": "fan_out", "nonlinearity": "tanh"}, 5 / 3 / math.sqrt(120)),
        ("xavier_uniform_", {"gain": 3.0}, 3 * math.sqrt(2 / 180)),
        ("xavier_gauss_", {}, math.sqrt(2 / 180)),
        ("gauss_", {"std": 2.0}, 2.0),
        ("uniform_", {"low": -1.0, "high": 2.0}, 3 / math.sqrt(12)),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_initial_numbers_have_the_stated_spread(seed, name, arguments, std, dtype):
    jt.set_global_seed(seed)
    w = jt.zeros((30, 15, 2, 2), dtype=dtype)

    answer = getattr(nn.init, name)(w, **arguments)

    assert answer is w
    assert w.dtype == dtype
    assert w.requires_grad
    assert w.numpy().std() == pytest.approx(std, rel=0.08)
    assert w.numpy().mean() == pytest.approx(0.5 if name == "uniform_" else 0, abs=std / 5)


def test_gauss_has_a_mean_and_constants_are_constant():
    assert nn.init.gauss_(jt.zeros(3), 4.0, 0.0).tolist() == [4, 4, 4]
    assert nn.init.constant_(jt.zeros(2), 7).tolist() == [7, 7]
    assert nn.init.zero_(jt.ones(2)).tolist() == [0, 0]
    assert nn.init.one_(jt.zeros(2)).tolist() == [1, 1]
    assert nn.init.zero_(jt.array([1, 2])).dtype == "int64"


def test_truncated_normal_numbers_stay_inside_and_are_normal_there(torch, seed):
    jt.set_global_seed(seed)
    w = nn.init.trunc_normal_(jt.zeros(4000), mean=1.0, std=2.0, a=-1.0, b=2.0).numpy()
    other = torch.nn.init.trunc_normal_(torch.zeros(4000), 1.0, 2.0, -1.0, 2.0).numpy()

    assert w.min() >= -1
    assert w.max() <= 2
    assert w.mean() == pytest.approx(other.mean(), abs=0.06)
    assert w.std() == pytest.approx(other.std(), abs=0.06)


def test_gains_are_those_of_pytorch(torch):
    for name in ("linear", "conv2d", "sigmoid", "tanh", "relu", "leaky_relu", "selu"):
        assert nn.init.calculate_gain(name) == pytest.approx(torch.nn.init.calculate_gain(name))
    assert nn.init.calculate_gain("leaky_relu", 0.5) == pytest.approx(torch.nn.init.calculate_gain("leaky_relu", 0.5))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: nn.init.kaiming_uniform_(jt.zeros(3)),
        lambda: nn.init.kaiming_uniform_(jt.zeros(3, 3), mode="fan"),
        lambda: nn.init.calculate_gain("magic"),
        lambda: nn.init.uniform_(jt.zeros(3), 2, 1),
        lambda: nn.init.gauss_(jt.zeros(3), 0, -1),
        lambda: nn.init.gauss_(jt.array([1, 2])),
        lambda: nn.init.trunc_normal_(jt.zeros(3), a=2, b=1),
        lambda: nn.init.zero_(np.zeros(3)),
        lambda: nn.Linear(0, 2),
        lambda: nn.Linear(2, 2.5),
        lambda: nn.Conv(3, 4, 3, groups=2),
        lambda: nn.BatchNorm(3, momentum=2),
        lambda: nn.BatchNorm(3, eps=-1),
        lambda: nn.LayerNorm(()),
        lambda: nn.Softplus(0),
        lambda: nn.GELU("fast"),
        lambda: nn.BatchNorm(3)(jt.ones(2, 4)),
        lambda: nn.BatchNorm(3)(jt.ones(1, 3)),
        lambda: nn.BatchNorm(3)(jt.ones((2, 3), dtype="int64")),
        lambda: nn.LayerNorm(3)(jt.ones(2, 4)),
        lambda: nn.Linear(3, 2)(jt.ones(2, 4)),
    ],
)
def test_what_makes_no_sense_is_refused(wrong):
    with pytest.raises(JtError, match="found"):
        wrong()


# ----------------------------------------------------------------------------------------------------------- modules


class Block(nn.Module):
    def __init__(self):
        self.scale = jt.array([2.0])
        self.parts = [nn.Linear(2, 2), {"a": jt.array([1.0]), "b": (jt.array([3.0]),)}]
        self.steps = jt.array([5])
        self._secret = jt.array([9.0])
        self.register_buffer("seen", jt.array([4.0]))
        self.register_buffer("mask", jt.array([1.0]), persistent=False)
        self.number = 3

    def forward(self, x):
        return self.parts[0](x) * self.scale


def test_the_walk_finds_parameters_wherever_they_stand():
    block = Block()

    assert [name for name, _ in block.named_parameters()] == [
        "scale", "parts.1.a", "parts.1.b.0", "parts.0.weight", "parts.0.bias",
    ]  # fmt: skip
    assert [p.name for p in block.parameters()] == [name for name, _ in block.named_parameters()]
    assert [name for name, _ in block.named_buffers()] == ["steps", "seen", "mask"]
    assert len(block.buffers()) == 3
    assert sorted(block.state_dict()) == sorted([*(n for n, _ in block.named_parameters()), "steps", "seen"])
    assert [name for name, _ in block.named_modules()] == ["", "parts.0"]
    assert [name for name, _ in block.named_modules("net")] == ["net", "net.parts.0"]
    assert block.children() == [block.parts[0]]
    assert dict(block.named_parameters("net"))["net.scale"] is block.scale


def test_shared_parameters_are_found_once_and_saved_under_each_name():
    net = nn.Module()
    net.first, net.second = nn.Linear(2, 2), nn.Linear(2, 2)
    net.second.weight = net.first.weight
    net.third = net.first

    assert [name for name, _ in net.named_parameters()] == ["first.weight", "first.bias", "second.bias"]
    assert len(net.modules()) == 3
    assert "second.weight" in net.state_dict()
    assert "third.bias" in net.state_dict()


def test_a_module_inside_itself_is_no_trap():
    net = nn.Module()
    net.inner = nn.Linear(1, 1)
    net.inner.outer = net
    net.row = []
    net.row.append(net.row)

    assert [name for name, _ in net.named_parameters()] == ["inner.weight", "inner.bias"]
    assert len(net.state_dict()) == 2


def test_execute_and_forward_are_two_names_of_one_thing():
    class Execute(nn.Module):
        def execute(self, x, plus=0):
            return x * 2 + plus

    class Nothing(nn.Module):
        pass

    assert Execute()(3, plus=1) == Execute().forward(3, plus=1) == 7
    assert Block().execute(jt.ones(1, 2)).shape == (1, 2)
    with pytest.raises(ArgumentError, match="Nothing must say what it computes"):
        Nothing()(1)


def test_training_and_using_reach_every_module():
    net = nn.Sequential(nn.Dropout(), nn.Sequential(nn.BatchNorm(2)))

    assert net.eval() is net
    assert not any(m.is_training() or m.training or m.is_train for m in net.modules())
    assert all(m.is_train for m in net.train().modules())
    assert not net.train(mode=False).training
    net.training = True
    assert net.is_train


def test_apply_visits_inner_modules_first():
    seen = []
    net = nn.Sequential(nn.Linear(1, 1), nn.ReLU())

    assert net.apply(seen.append) is net
    assert set(map(id, seen)) == set(map(id, net.modules()))
    assert seen[-1] is net


def test_a_stopped_parameter_is_still_a_parameter_and_is_saved():
    net = nn.Linear(2, 1)
    net.requires_grad_(wanted=False)

    assert not any(p.requires_grad for p in net.parameters())
    assert list(net.state_dict()) == ["weight", "bias"]
    assert all(p.requires_grad for p in net.requires_grad_().parameters())


def test_dtypes_change_in_place_and_buffers_with_them():
    net = nn.BatchNorm(2)
    weight = net.weight

    for change, dtype in (("double", "float64"), ("half", "float16"), ("bfloat16", "bfloat16"), ("float", "float32"),
                          ("float64", "float64"), ("float16", "float16"), ("float32", "float32")):  # fmt: skip
        assert getattr(net, change)() is net
        assert {v.dtype for v in [*net.parameters(), *net.buffers()] if v.dtype.is_float} == {dtype}
    assert net.num_batches_tracked.dtype == "int64"
    assert net.weight is weight
    assert weight.requires_grad
    assert not net.running_mean.requires_grad
    with pytest.raises(DtypeError, match="int32"):
        net.cast("int32")


def test_zero_grad_forgets():
    net = nn.Linear(2, 1)
    net(jt.ones(1, 2)).sum().backward()
    assert all(p.grad is not None for p in net.parameters())

    net.zero_grad()

    assert all(p.grad is None for p in net.parameters())


def test_parameter_makes_a_var_of_its_own():
    x = jt.array([1.0])
    p = nn.Parameter(x, requires_grad=False)

    assert not p.requires_grad
    assert p.numpy() is not x.numpy()
    assert nn.Parameter(np.ones(2)).dtype == "float64"
    with pytest.raises(DtypeError, match="holds floats"):
        nn.Parameter([1, 2])


@pytest.mark.parametrize("name", ["", "_x", "a.b", 3])
def test_a_buffer_needs_a_name_that_an_attribute_may_have(name):
    with pytest.raises(ArgumentError, match="name of an attribute"):
        nn.Module().register_buffer(name, jt.ones(1))


# ------------------------------------------------------------------------------------------------------------- hooks


def test_hooks_see_and_replace_what_goes_in_and_comes_out():
    net, seen = nn.Identity(), []
    first = net.register_pre_forward_hook(lambda module, args: seen.append((module, args)))
    second = net.register_forward_pre_hook(lambda module, args: args[0] + 1)
    third = net.register_forward_hook(lambda module, args, out: out * 10)
    fourth = net.register_forward_hook(lambda module, args, out: seen.append(out))

    assert net(1) == 20
    assert seen == [(net, (1,)), 20]
    for remove in (first, second, third, fourth):
        remove()
        remove()
    assert net(1) == 1


def test_one_function_hooked_twice_is_removed_once():
    net = nn.Identity()
    hook = lambda module, args, out: out + 1  # noqa: E731
    remove = net.register_forward_hook(hook)
    net.register_forward_hook(hook)
    remove()

    assert net(0) == 1


def test_an_error_in_a_hook_leaves_the_module_usable():
    net = nn.Linear(1, 1)

    def fail(*_):
        raise ZeroDivisionError

    for register in (net.register_forward_hook, net.register_pre_forward_hook):
        remove = register(fail)
        with pytest.raises(ZeroDivisionError):
            net(jt.ones(1, 1))
        remove()
    assert net(jt.ones(1, 1)).shape == (1, 1)
    with pytest.raises(ArgumentError, match="a hook is a function"):
        net.register_forward_hook(3)


# ----------------------------------------------------------------------------------------------------- saving, loading


def test_state_names_are_those_of_pytorch(torch):
    def build(n, conv, norm):
        return n.Sequential(conv(1, 2, 3), norm(2), n.ReLU(), n.Sequential(n.Flatten(), n.Linear(8, 3)))

    ours = list(build(nn, nn.Conv2d, nn.BatchNorm2d).state_dict())
    theirs = list(build(torch.nn, torch.nn.Conv2d, torch.nn.BatchNorm2d).state_dict())

    assert ours == theirs


def test_a_state_is_a_snapshot():
    net = nn.Linear(1, 1)
    state = net.state_dict()
    before = state["weight"].item()
    net.weight.update(net.weight + 1)

    assert state["weight"].item() == before
    net.load_state_dict(state)
    assert net.weight.item() == before
    net.weight.update(net.weight + 1)
    assert state["weight"].item() == before


def test_one_error_names_everything_that_does_not_fit_and_nothing_is_loaded():
    net = nn.Linear(2, 1)
    before = numbers(net.state_dict())

    with pytest.raises(ShapeError, match=r"missing bias; unexpected extra; weight of shape \(3,\) for \(1, 2\)"):
        net.load_state_dict({"weight": jt.ones(3), "extra": jt.ones(1)})
    with pytest.raises(ShapeError, match=r"weight of shape"):
        net.load_state_dict({"weight": jt.ones(3), "bias": jt.ones(1)}, strict=False)
    with pytest.raises(ShapeError, match=r"complex"):
        net.load_state_dict({"weight": np.ones((1, 2), complex), "bias": np.ones(1)})
    with pytest.raises(ArgumentError, match="names and arrays"):
        net.load_state_dict([1])
    assert str(numbers(net.state_dict())) == str(before)


def test_what_fits_is_loaded_if_asked_for_and_the_rest_is_told():
    net = nn.Linear(2, 1)
    loaded = net.load_parameters({"bias": np.array([5.0]), "extra": [1.0]}, strict=False)

    assert loaded.missing == ["weight"]
    assert loaded.unexpected == ["extra"]
    assert net.bias.tolist() == [5.0]
    assert net.bias.dtype == "float32"
    assert net.bias.requires_grad


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_saving_and_loading_is_exact(tmp_path, dtype):
    net, other = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm(2)), nn.Sequential(nn.Linear(3, 2), nn.BatchNorm(2))
    net.cast(dtype)
    other.cast(dtype)

    net.save(tmp_path / "net.npz")
    assert other.load(tmp_path / "net.npz") == ([], [])

    for name, value in numbers(net.state_dict()).items():
        np.testing.assert_array_equal(numbers(other.state_dict())[name], value)
    assert {p.dtype for p in other.parameters()} == {dtype}
    assert sorted(np.load(tmp_path / "net.npz", allow_pickle=False)) == sorted(net.state_dict())
    assert [p.name for p in tmp_path.iterdir()] == ["net.npz"]


def test_a_file_of_numpy_can_be_loaded_and_a_parameter_may_be_called_file(tmp_path):
    np.savez(tmp_path / "a.npz", weight=np.ones((1, 2)), bias=np.zeros(1))
    net, odd = nn.Linear(2, 1), nn.Module()
    net.load(tmp_path / "a.npz")
    odd.file = jt.array([3.0])
    odd.save(tmp_path / "b.npz")
    odd.file.update(jt.zeros(1))
    odd.load(str(tmp_path / "b.npz"))

    assert net.weight.tolist() == [[1.0, 1.0]]
    assert odd.file.item() == 3


def test_a_file_that_would_run_code_is_refused(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("code of the file ran",))

    np.savez(tmp_path / "bomb.npz", weight=np.array([Bomb()], object))
    (tmp_path / "pickle").write_bytes(pickle.dumps([1]))
    with zipfile.ZipFile(tmp_path / "odd.zip", "w") as archive:
        archive.writestr("weight.npy", b"not an array")

    for name in ("bomb.npz", "pickle", "odd.zip"):
        with pytest.raises(ArgumentError, match=name):
            nn.Linear(1, 1).load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        nn.Linear(1, 1).load(tmp_path / "nowhere")


def test_a_save_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    net = nn.Linear(1, 1)
    net.save(tmp_path / "a.npz")
    before = (tmp_path / "a.npz").read_bytes()
    monkeypatch.setattr(np.lib.format, "write_array", lambda *a, **k: (_ for _ in ()).throw(OSError("disk full")))

    with pytest.raises(OSError, match="disk full"):
        net.save(tmp_path / "a.npz")

    assert (tmp_path / "a.npz").read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


def test_a_deep_copy_learns_on_its_own():
    net = nn.Linear(1, 1)
    twin = copy.deepcopy(net)
    twin.weight.update(twin.weight + 1)

    assert twin.weight.item() == pytest.approx(net.weight.item() + 1)
    assert twin.weight.requires_grad


# ------------------------------------------------------------------------------------------ rows, and how they print


def test_sequential_is_made_of_modules_functions_lists_and_dicts():
    linear = nn.Linear(2, 2)

    for parts in ((linear, jt.relu), ([linear, jt.relu],), ({"a": linear, "b": jt.relu},)):
        net = nn.Sequential(*parts)
        assert net(jt.ones(1, 2)).tolist() == jt.relu(linear(jt.ones(1, 2))).tolist()
        assert len(net.parameters()) == 2
    assert list(nn.Sequential({"a": linear}).state_dict()) == ["a.weight", "a.bias"]
    with pytest.raises(ArgumentError, match="modules and functions"):
        nn.Sequential(3)


def test_a_row_can_be_read_and_changed_like_a_list():
    a, b, c = nn.ReLU(), nn.Tanh(), nn.Sigmoid()
    row = nn.ModuleList([a])
    row.append(b).extend([c])

    assert [row[0], row[-1], row["1"]] == [a, c, b]
    assert list(row[1:]) == [b, c]
    assert isinstance(row[1:], nn.ModuleList)
    row[0] = c
    del row[1]
    row.insert(1, a)
    assert list(row) == row.values() == [c, a, c]
    assert row.keys() == ["0", "1", "2"]
    row.add_module("last", b)
    assert row.items()[-1] == ("last", b)
    assert row.layers["last"] is b
    assert len(row) == 4
    del row["last"]
    assert row.keys() == ["0", "1", "2"]
    with pytest.raises(RangeError, match="3 modules"):
        row[3]
    with pytest.raises(ArgumentError, match="made of modules"):
        row.append(jt.relu)
    with pytest.raises(ArgumentError, match="without dots"):
        row.add_module("a.b", a)


def test_modules_print_as_in_pytorch(torch):
    ours = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.Dropout(0.1), nn.Flatten()), nn.Softmax(dim=1))
    theirs = torch.nn.Sequential(
        torch.nn.Linear(2, 3), torch.nn.Sequential(torch.nn.Dropout(0.1), torch.nn.Flatten()), torch.nn.Softmax(dim=1)
    )

    assert repr(ours) == repr(theirs).replace("p=0.1, inplace=False", "p=0.1")


def test_layers_say_what_they_are():
    assert repr(nn.Conv(4, 6, 3, padding=1, groups=2, bias=False)) == (
        "Conv2d(4, 6, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), groups=2, bias=False)"
    )
    assert repr(nn.Conv(1, 2, 3, dilation=2)) == "Conv2d(1, 2, kernel_size=(3, 3), stride=(1, 1), dilation=(2, 2))"
    assert repr(nn.BatchNorm(2)) == "BatchNorm(2, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)"
    assert repr(nn.LayerNorm(2)) == "LayerNorm((2,), eps=1e-05, elementwise_affine=True)"
    assert repr(nn.Embedding(3, 4, padding_idx=0)) == "Embedding(3, 4, padding_idx=0)"
    assert repr(nn.LeakyReLU(0.2)) == "LeakyReLU(scale=0.2)"
    assert repr(nn.GELU("tanh")) == "GELU(approximate='tanh')"
    assert repr(nn.Softplus()) == "Softplus(beta=1.0, threshold=20.0)"
    assert repr(nn.MSELoss("sum")) == "MSELoss(reduction='sum')"
    assert repr(nn.ReLU()) == "ReLU()"


def test_a_small_network_gives_the_same_numbers_when_compiled(seed):
    jt.set_global_seed(seed)
    head = nn.Sequential(nn.Pool(2), nn.Flatten(), nn.Linear(8, 3))
    net = nn.Sequential(nn.Conv(1, 2, 3, padding=1), nn.BatchNorm(2), nn.ReLU(), head)
    x = jt.array(np.random.default_rng(seed).normal(size=(4, 1, 4, 4)).astype("float32"))
    slow = net(x).numpy().copy()

    with jt.flag_scope(backend="numba"):
        np.testing.assert_allclose(net(x).numpy(), slow, rtol=1e-5, atol=1e-6)


def test_parameters_of_a_layer_that_is_made_under_no_grad_take_part_and_running_statistics_do_not():
    with jt.no_grad():
        layers = [jt.nn.Linear(2, 3), jt.nn.BatchNorm1d(3), jt.nn.LSTM(3, 2), jt.nn.MultiheadAttention(4, 2)]

    assert all(p.requires_grad for layer in layers for p in layer.parameters())
    assert not layers[1].running_mean.requires_grad


def test_a_missing_folder_is_named_when_a_file_is_to_be_written(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"found no folder '.*gone'\. Try: Path"):
        nn.Linear(2, 2).save(tmp_path / "gone" / "net.npz")


class Hidden(nn.Module):
    def __init__(self):
        self._fc, self._drop, self._all = nn.Linear(2, 1), nn.Dropout(0.5), nn.ModuleList([nn.Linear(1, 1)])
        self._scale, self._list = jt.ones(1), [nn.Linear(1, 1)]

    def execute(self, x):
        return self._all[0](self._fc(self._drop(x)))


def test_a_module_is_a_member_under_any_name():
    net = Hidden()
    names = ["_fc.weight", "_fc.bias", "_all.0.weight", "_all.0.bias"]

    assert [name for name, _ in net.named_parameters()] == list(net.state_dict()) == names
    before = net._fc.weight.tolist()
    jt.optim.SGD(net.parameters(), 0.1).step((net.eval()(jt.ones(1, 2)) - 9).sum() ** 2)
    assert not net._drop.is_train and net._fc.weight.tolist() != before
    assert "(_drop): Dropout" in repr(net) and "_list" not in repr(net)
    net.add_module("_more", nn.Linear(1, 1))
    assert [name for name, _ in net.named_children()] == ["_fc", "_drop", "_all", "_more"]
    with pytest.raises(ArgumentError, match="without a leading underscore"):
        net.register_parameter("_one", jt.ones(1))


def test_complex_parameters_stay_complex_when_a_module_becomes_another_float():
    class Wave(nn.Module):
        def __init__(self):
            self.w, self.b = jt.array([1 + 2j]), jt.ones(1)

    assert [p.dtype for p in Wave().double().parameters()] == ["complex64", "float64"]
    assert Wave().half().w.tolist() == [1 + 2j]
    assert [p.dtype for p in Wave().cast("complex128").parameters()] == ["complex128", "complex128"]


def test_a_buffer_leaves_the_gradients_of_the_var_it_was_made_of_alone():
    w, still = jt.ones(2), jt.ones(2).stop_grad()
    net = nn.Module()
    net.register_buffer("b", w)
    net.register_buffer("c", still)

    assert w.requires_grad and not net.b.requires_grad and net.c is still


def test_what_is_written_into_an_answer_does_not_reach_the_argument():
    square, whole, x = jt.ones(2, 2), jt.array([1, 2]), jt.array([1.0, 2.0])
    made = [
        (x, x.view("float32")), (whole, jt.nan_to_num(whole)), (x, jt.round(x, 400)), (x, jt.diff(x, 0)),
        (square, jt.matrix_power(square, 1)), (x, jt.cartesian_prod(x)), (square, jt.multi_dot([square])),
    ]  # fmt: skip

    for given, answer in made:
        before = given.tolist()
        answer[0] = 9
        assert given.tolist() == before != answer.tolist()


def test_numbers_alone_have_one_dtype_in_whatever_order_they_stand():
    yes = jt.array([True])

    assert {jt.where(yes, 1, 2.5).dtype, jt.where(yes, 2.5, 1).dtype, jt.add(1, 2.5).dtype, jt.add(2.5, 1).dtype} == {
        "float32"
    }
    assert (jt.where(yes, 1, 2).dtype, jt.where(yes, np.float64(1), 2.5).dtype) == ("int64", "float64")
    assert (jt.where(yes, 1, jt.ones(1)).dtype, jt.add(1, jt.array([2])).dtype) == ("float32", "int64")
