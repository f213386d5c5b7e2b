"""Lazy layers: they learn from their first input how many numbers come in."""

import copy
import pickle

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn, optim
from jt_edu.nn import lazy

pytestmark = pytest.mark.usefixtures("python_backend")

SHAPES = {
    "Linear": (2, 3),
    **{f"{kind}{d}d": (2, 3, *(4,) * d) for kind in ("Conv", "ConvTranspose", "InstanceNorm") for d in (1, 2, 3)},
    **{f"BatchNorm{d}d": (2, 3, *(4,) * d) for d in (1, 2, 3)},
}
FIRST = {"Linear": (5,), **{f"{kind}{d}d": (6, 3) for kind in ("Conv", "ConvTranspose") for d in (1, 2, 3)}}


@pytest.mark.parametrize("name", SHAPES)
def test_a_lazy_layer_becomes_what_pytorchs_becomes(torch, rng, name):
    theirs, ours = (getattr(where.nn, f"Lazy{name}")(*FIRST.get(name, ())) for where in (torch, jt))
    x = rng.normal(size=SHAPES[name]).astype("float32")

    wanted = theirs(torch.tensor(x))
    answer = ours(jt.array(x))

    assert type(ours) is getattr(nn, name)
    assert type(theirs).__name__ == name
    assert answer.shape == tuple(wanted.shape)
    shapes = {key: tuple(v.shape) for key, v in theirs.state_dict().items()}
    assert {key: v.shape for key, v in ours.state_dict().items()} == shapes
    ours.load_state_dict({key: v.numpy() for key, v in theirs.state_dict().items()})
    np.testing.assert_allclose(
        ours.eval()(jt.array(x)).numpy(), theirs.eval()(torch.tensor(x)).detach().numpy(), rtol=1e-4, atol=1e-5
    )


def test_every_lazy_layer_has_a_test():
    assert {f"Lazy{name}" for name in SHAPES} == {name for name in dir(nn) if name.startswith("Lazy")}
    assert all(issubclass(getattr(nn, f"Lazy{name}"), lazy.Lazy) for name in SHAPES)


def test_a_network_of_them_is_trained_once_it_was_called():
    net = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.ReLU(), nn.Flatten(), nn.LazyLinear(2))
    heard = []
    net[0].register_forward_hook(lambda module, *_: heard.append(type(module).__name__))
    net[1].eval()

    net(jt.ones(1, 1, 4, 4))

    assert ([p.shape for p in net.parameters()][-2:], heard, net[1].is_train) == ([(2, 16), (2,)], ["Conv2d"], False)
    optim.SGD(net.parameters(), lr=0.1).step(net(jt.ones(2, 1, 4, 4)).sum())


@pytest.mark.parametrize(
    "ask",
    [
        lambda net: net.parameters(), lambda net: list(net.named_buffers()), lambda net: net.state_dict(),
        lambda net: optim.SGD(net.parameters(), lr=0.1), lambda net: net.half(), lambda net: net.zero_grad(),
        lambda net: net.load_state_dict({}),
    ],
)  # fmt: skip
def test_before_the_first_call_nobody_gets_a_part_of_the_parameters(ask):
    net = nn.Sequential(nn.Linear(2, 3), nn.LazyLinear(2))

    with pytest.raises(jt.ArgumentError, match=r"found 1, a LazyLinear, which has not been called yet. Try: net\(x\)"):
        ask(net)


def test_before_the_first_call_it_can_be_shown_copied_and_told_the_mode():
    net = nn.Sequential(nn.LazyConv2d(4, kernel_size=3), nn.LazyLinear(2, bias=False))
    twins = [copy.deepcopy(net), pickle.loads(pickle.dumps(net))]  # noqa: S301 - bytes of its own

    assert [repr(twin[0]) for twin in twins] == ["LazyConv2d(out_channels=4, kernel_size=3)"] * 2
    assert len(net.eval().modules()) == 3
    before = jt.memory_stats().weights
    twins[0][1](jt.ones(1, 7)).sync()
    assert (type(twins[0][1]), type(net[1])) == (nn.Linear, nn.LazyLinear)
    assert jt.memory_stats().weights - before == twins[0][1].weight.numpy().nbytes


@pytest.mark.parametrize(
    ("ask", "kind", "words"),
    [
        (lambda: nn.LazyLinear(), TypeError, r"LazyLinear\(out_features, bias=True"),
        (lambda: nn.LazyLinear(2, biass=True), TypeError, "biass"),
        (lambda: nn.LazyConv2d(4, 3)(jt.ones(2, 2)), jt.ShapeError, r"in_channels from axis -3.*found shape \(2, 2\)"),
        (lambda: nn.LazyLinear(-1)(jt.ones(2, 2)), jt.ArgumentError, "out_features=-1"),
    ],
)
def test_what_fits_no_layer_is_told(ask, kind, words):
    with pytest.raises(kind, match=words):
        ask()


def test_a_first_input_that_does_not_fit_leaves_it_as_it_was():
    layer = nn.LazyConv2d(4, 3, groups=2)

    with pytest.raises(jt.JtError):
        layer(jt.ones(1, 3, 5, 5))

    assert layer(jt.ones(1, 2, 5, 5)).shape == (1, 4, 3, 3)
