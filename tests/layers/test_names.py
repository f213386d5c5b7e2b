"""Names: classes are sisters, as in PyTorch, and words mean the same in the same places."""

import itertools

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn

FAMILIES = (
    "Conv", "ConvTranspose", "BatchNorm", "InstanceNorm", "MaxPool", "AvgPool", "LPPool", "MaxUnpool",
    "AdaptiveAvgPool", "AdaptiveMaxPool", "Dropout", "ConstantPad", "ZeroPad", "ReflectionPad", "ReplicationPad",
    "CircularPad",
)  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_layers_of_other_directions_are_no_kinds_of_each_other(family):
    kinds = [getattr(nn, f"{family}{d}d") for d in (1, 2, 3)]

    for one, other in itertools.permutations(kinds, 2):
        assert not issubclass(one, other)
    assert [k.__name__ for k in kinds] == [f"{family}{d}d" for d in (1, 2, 3)]


def test_other_kinds_are_apart_too():
    assert not issubclass(nn.Dropout2d, nn.Dropout)
    assert not issubclass(nn.AlphaDropout, nn.Dropout)
    assert not issubclass(nn.AdaptiveMaxPool2d, nn.AdaptiveAvgPool2d)


@pytest.mark.parametrize(
    ("name", "args"),
    [("Conv1d", (2, 4, 3)), ("Conv2d", (2, 4, 3)), ("Conv3d", (2, 4, 3)), ("ConvTranspose2d", (2, 4, 3)),
     ("BatchNorm1d", (2,)), ("BatchNorm2d", (2,)), ("BatchNorm3d", (2,)), ("InstanceNorm2d", (2,)),
     ("MaxPool2d", (2,)), ("AvgPool2d", (2,)), ("AdaptiveAvgPool2d", (1,)), ("ReLU", (True,))],
)  # fmt: skip
def test_layers_print_under_their_own_name(torch, name, args):
    assert repr(getattr(nn, name)(*args)).split("(")[0] == repr(getattr(torch.nn, name)(*args)).split("(")[0]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: nn.Conv2d(3, 8, kernel=3), "Conv2d takes no argument kernel. Try: kernel_size."),
        (lambda: nn.Linear(3, 8, biass=False), "Linear takes no argument biass. Try: bias."),
        (lambda: nn.LSTM(3, 8, num_layer=2), "LSTM takes no argument num_layer. Try: num_layers."),
        (lambda: nn.Linear(3, 8, xyzzy=1), "Linear takes no argument xyzzy. Try: in_features, out_features, bias."),
    ],
)
def test_a_word_that_a_layer_does_not_take_names_the_layer_and_the_word_that_was_meant(make, words):
    with pytest.raises(TypeError) as caught:
        make()

    assert str(caught.value) == words


def test_jittors_names_are_aliases():
    assert nn.Conv is nn.Conv2d
    assert nn.ConvTranspose is nn.ConvTranspose2d
    assert nn.InstanceNorm is nn.InstanceNorm2d
    assert all(issubclass(k, nn.BatchNorm) for k in (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d))


def test_batch_norm_takes_five_arguments_in_pytorchs_order(torch):
    ours = nn.BatchNorm1d(1, 1e-5, 0.1, True, False)
    theirs = torch.nn.BatchNorm1d(1, 1e-5, 0.1, True, False)

    assert ours(jt.array([[1.0], [3.0]])).numpy() == pytest.approx(
        theirs(torch.tensor([[1.0], [3.0]])).detach().numpy()
    )
    assert ours.running_mean is theirs.running_mean is None
    assert not nn.BatchNorm(1, is_train=False).is_train


@pytest.mark.parametrize("layer", [nn.Conv1d(2, 3, 2), nn.ConvTranspose1d(2, 3, 2, stride=2)])
def test_a_single_image_needs_no_batch(layer):
    x = jt.random((2, 5))

    assert layer(x).numpy() == pytest.approx(layer(x.unsqueeze(0)).numpy()[0])


def test_a_wish_to_work_in_place_is_heard(torch):
    for name in ("ReLU", "ReLU6", "SELU", "SiLU", "Mish", "Hardswish", "Hardsigmoid", "LeakyReLU", "ELU", "CELU",
                 "RReLU", "Hardtanh", "Dropout", "Dropout2d", "AlphaDropout"):  # fmt: skip
        getattr(torch.nn, name)(inplace=True)
        assert "inplace" not in repr(getattr(nn, name)(inplace=True))
        with pytest.raises(jt.ArgumentError, match="inplace='a'"):
            getattr(nn, name)(inplace="a")


def test_hooks_are_removed_in_three_ways():
    layer, seen = nn.ReLU(), []
    handles = [layer.register_forward_hook(lambda *args, k=k: seen.append(k)) for k in range(3)]
    handles[0].remove()
    handles[1]()
    with handles[2] as handle:
        layer(jt.ones(1))
    layer(jt.ones(1))
    handle.remove()

    assert seen == [2]


def test_words_of_pytorch_for_starts_and_towers():
    assert nn.init.constant_(jt.zeros(1), val=3).item() == nn.init.constant_(jt.zeros(1), 3).item() == 3
    drawn = nn.init.uniform_(jt.zeros(99), a=4, b=5).numpy()
    assert 4 <= drawn.min() < drawn.max() <= 5
    layer = nn.TransformerEncoderLayer(4, 2, 3)
    assert len(nn.TransformerEncoder(encoder_layer=layer, num_layers=2).layers) == 2
    assert len(nn.ParameterList(values=[jt.ones(1)])) == len(nn.ModuleDict(modules={"a": layer})) == 1


def test_numbers_of_numpy_are_numbers():
    layer = nn.Linear(np.prod([2, 3]), np.int64(2))
    assert layer(jt.ones(1, 6)).shape == (1, 2)
    assert nn.Dropout(np.float32(0.5)).p == 0.5
    assert nn.LayerNorm(np.int64(2), eps=np.float32(0.5)).eps == 0.5
    assert nn.Embedding(3, 2, padding_idx=np.int64(-1)).padding_idx == 2


def test_nobody_to_clip_is_no_mistake(torch):
    assert nn.utils.clip_grad_norm_([], 1.0).item() == torch.nn.utils.clip_grad_norm_([], 1.0).item() == 0


def test_pinned_memory_is_a_wish():
    assert [b.tolist() for b in jt.data.DataLoader([1, 2], 2, pin_memory=True)] == [[1, 2]]


def test_gradients_are_forgotten_in_two_ways():
    layer = nn.Linear(1, 1, bias=False)
    layer(jt.ones(1, 1)).sum().backward()

    layer.zero_grad(set_to_none=False)
    assert layer.weight.grad.tolist() == [[0]]
    layer.zero_grad()
    assert layer.weight.grad is None


def test_a_module_goes_to_a_dtype():
    assert str(nn.Linear(1, 1).to("cpu", "float64").weight.dtype) == "float64"
    with pytest.raises(jt.JtError, match="cuda"):
        nn.Linear(1, 1).to("cuda")


@pytest.mark.parametrize(
    "words",
    [
        ((), {"dtype": jt.float64}), ((), {"dtype": "float64", "device": "cpu"}), (("cpu", jt.float64), {}),
        (("cpu:0",), {"dtype": jt.float64}), ((jt.ones(1, dtype="float64"),), {}), ((jt.float64, None), {}),
    ],
    ids=str,
)  # fmt: skip
def test_modules_go_where_vars_go_in_the_same_words(words):
    args, named = words
    layer = nn.BatchNorm(2)

    assert layer.to(*args, **named) is layer
    assert {str(var.dtype) for var in (layer.weight, layer.running_mean, jt.ones(1).to(*args, **named))} == {"float64"}


def test_a_module_that_cannot_go_there_stays_as_it_is():
    layer = nn.Linear(1, 1)

    with pytest.raises(jt.ArgumentError, match=r"device='cuda:0', and no GPU. Try: 'cpu'"):
        layer.to(dtype="float64", device="cuda:0")
    with pytest.raises(jt.DtypeError, match="int32"):
        layer.to(dtype="int32")
    assert layer.to(device="cpu").weight.dtype == "float32"


class Block(nn.Linear):
    """A layer whose `__init__` hands on what it is told to."""

    def __init__(self, n, **settings):
        super().__init__(*n, **settings)


class Wide(nn.MaxPool2d):
    """A layer with the `__init__` of the one before."""


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Block(()), r"Linear\(in_features, .*missing a required argument: 'in_features'"),
        (lambda: Block((2, 2), biass=True), r"Linear takes no argument biass. Try: bias"),
        (Wide, r"Wide\(kernel_size, .*missing a required argument: 'kernel_size'"),
    ],
)
def test_arguments_that_do_not_fit_are_told_of_the_class_that_takes_them(make, says):
    with pytest.raises(TypeError, match=f"^{says}"):
        make()
