"""What users of PyTorch write without looking: its names, its keywords, its arguments of layers and optimisers."""

import inspect
import math
from functools import partial

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn, optim
from jt_edu.nn import functional
from tests.misuse.test_odd_values import GOOD

pytestmark = pytest.mark.usefixtures("python_backend")


def test_numbers_have_their_names():
    assert (jt.pi, jt.e, jt.inf, jt.newaxis) == (math.pi, math.e, math.inf, None)
    assert math.isnan(jt.nan)
    assert jt.arange(3)[:, jt.newaxis].shape == (3, 1)


def test_other_names_are_the_same_functions():
    assert jt.manual_seed is jt.set_global_seed
    assert jt.cross_entropy is jt.cross_entropy_loss is functional.cross_entropy


@pytest.mark.parametrize(
    "make",
    [
        lambda **words: jt.array([1.0, 2.0], **words),
        lambda **words: jt.tensor([1.0, 2.0], **words),
        lambda **words: jt.as_tensor([1.0, 2.0], **words),
        lambda **words: jt.array64([1.0, 2.0], **words),
        lambda **words: jt.full((2,), 1.0, **words),
        lambda **words: jt.arange(2.0, **words),
        lambda **words: jt.eye(2, **words),
        lambda **words: jt.normal(0.0, 1.0, (2,), **words),
        lambda **words: jt.randint(0, 2, (2,), "float32", **words),
        lambda **words: jt.randint_like(jt.ones(2), 2, **words),
        lambda **words: jt.full_like(jt.ones(2), 3.0, **words),
        lambda **words: jt.randperm(2, "float32", **words),
        *(partial(getattr(jt, name), 1, 2, 2) for name in ("linspace", "logspace", "geomspace")),
        *(partial(getattr(jt, name), 2) for name in ("zeros", "ones", "empty", "rand", "randn")),
        *(partial(getattr(jt, f"{name}_like"), jt.ones(2)) for name in ("zeros", "ones", "empty", "rand", "randn")),
    ],
)
def test_what_makes_a_var_is_told_where_it_lies_and_whether_it_has_gradients(make):
    assert make(device="cpu", requires_grad=True).requires_grad
    assert not make(requires_grad=False).requires_grad
    with jt.no_grad():
        assert make(requires_grad=True).requires_grad
    with pytest.raises(jt.ArgumentError, match="takes a device that is there; found device='cuda:0'"):
        make(device="cuda:0")


@pytest.mark.parametrize("make", [jt.as_tensor, lambda x, **words: jt.full(x.shape, x, **words)])
@pytest.mark.parametrize("wish", [True, False])
def test_what_is_asked_of_a_new_var_leaves_the_one_that_it_is_made_of(make, wish):
    x = jt.ones(2)
    x.requires_grad = not wish

    assert make(x, requires_grad=wish).requires_grad is wish
    assert x.requires_grad is not wish


def test_a_var_of_whole_numbers_has_no_gradients_whatever_is_asked():
    with pytest.raises(jt.DtypeError, match=r"only floats have gradients; found dtype int64. Try: x.float\(\)"):
        jt.tensor([1, 2], requires_grad=True)


@pytest.mark.parametrize(
    ("made", "value"),
    [
        (lambda: jt.zeros(size=(2, 3)), [[0, 0, 0], [0, 0, 0]]),
        (lambda: jt.randint(4, 5, size=(2, 3)), [[4, 4, 4], [4, 4, 4]]),
        (lambda: jt.full(size=(2,), fill_value=7), [7, 7]),
        (lambda: jt.full_like(jt.ones(3), fill_value=7), [7, 7, 7]),
        (lambda: jt.rand(size=(2, 3)) * 0, [[0, 0, 0], [0, 0, 0]]),
    ],
)
def test_a_shape_may_be_called_size_and_a_value_fill_value(made, value):
    assert made().tolist() == value


def test_a_shape_is_given_once():
    with pytest.raises(TypeError):
        jt.zeros(3, size=(2,))


IN_PLACE = (
    "relu relu6 hardtanh leaky_relu hardsigmoid hardswish elu celu selu silu mish rrelu "
    "threshold dropout dropout1d dropout2d dropout3d alpha_dropout feature_alpha_dropout"
).split()


@pytest.mark.parametrize("name", IN_PLACE)
def test_the_wish_to_compute_in_place_changes_nothing(name):
    function, x = getattr(functional, name), jt.array([[[-1.0, 2.0]]])
    x, more = x.unsqueeze(0) if name == "dropout3d" else x, (0.0, 1.0) if name == "threshold" else ()

    function(x, *more, inplace=True).sync()

    assert x.flatten().tolist() == [-1.0, 2.0]
    with pytest.raises(jt.ArgumentError, match=f"{name} takes inplace as True or False; found inplace='a'"):
        function(x, *more, inplace="a")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: nn.Conv2d(3),
            r"Conv2d\(in_channels, out_channels, kernel_size, .*\): missing.*'out_channels'",
        ),
        (lambda: nn.MaxPool2d(), r"MaxPool2d\(kernel_size, .*\): missing a required argument: 'kernel_size'"),
        (lambda: nn.BatchNorm1d(), r"BatchNorm1d\(num_features, .*\): missing"),
        (
            lambda: nn.MSELoss(jt.ones(2), jt.ones(2)),
            r"MSELoss\(reduction='mean'\): too many.*Try: MSELoss\(\.\.\.\)",
        ),
        (
            lambda: nn.MSELoss()(jt.ones(2)),
            r"MSELoss\(\.\.\.\)\(output, target\): missing.*'target'",
        ),
        (lambda: nn.Conv2d(1, 1, 1)(jt.ones(1, 1, 2, 2), 1), r"Conv2d\(\.\.\.\)\(x\): too many positional arguments"),
        (lambda: nn.Dropout2d(0.5)(), r"Dropout2d\(\.\.\.\)\(x\): missing a required argument: 'x'"),
    ],
)
def test_arguments_that_do_not_fit_are_told_in_the_name_of_the_layer(call, words):
    with pytest.raises(TypeError, match=f"^{words}"):
        call()


def test_a_type_error_from_inside_a_layer_is_told_as_it_is():
    class Odd(nn.Module):
        def execute(self, x):
            return x + len(3)

    with pytest.raises(TypeError, match=r"^object of type 'int' has no len\(\)"):
        Odd()(jt.ones(2))


def test_a_generator_begins_again_from_a_manual_seed():
    generator = jt.Generator(1)

    first = jt.random((3,), generator=generator.manual_seed(7)).tolist()

    assert first == jt.random((3,), generator=jt.Generator(7)).tolist()


WORDS = {"x": "input", "output": "input", "log_probabilities": "input", "x1": "input1"}
NAMED = {
    name: (call, WORDS[first])
    for name, call in GOOD[functional].items()
    for first in [next(iter(inspect.signature(getattr(functional, name)).parameters))]
    if first in WORDS and name != "dropout"
}


@pytest.mark.parametrize("name", NAMED)
def test_functions_take_what_goes_in_as_input(name):
    function, (call, word) = getattr(functional, name), NAMED[name]
    others = dict(zip(list(inspect.signature(function).parameters)[1:], call[1:], strict=False))

    found, wanted = function(**{word: call[0]}, **others), function(*call)

    np.testing.assert_array_equal(found.numpy(), wanted.numpy())


def test_pad_takes_its_widths_as_pad():
    x = jt.ones(2, 3)

    assert functional.pad(input=x, pad=(1, 2)).shape == functional.pad(x, (1, 2)).shape == (2, 6)


def test_an_argument_under_two_names_is_refused():
    with pytest.raises(jt.ArgumentError, match=r"output=.*, input="):
        functional.mse_loss(jt.ones(2), jt.ones(2), input=jt.ones(2))


def test_losses_take_input_and_target():
    x, y = jt.array([1.0, 2.0]), jt.array([1.0, 4.0])

    assert nn.MSELoss()(input=x, target=y).item() == 2.0
    assert (
        nn.CosineEmbeddingLoss()(input1=x.reshape(1, 2), input2=x.reshape(1, 2), target=jt.array([1.0])).item() < 1e-6
    )


# ----------------------------------------------------------------------------------------------------- device, dtype

LAYERS = {
    "Linear": lambda **w: nn.Linear(2, 3, **w),
    "LSTM": lambda **w: nn.LSTM(2, 3, **w),
    "GRUCell": lambda **w: nn.GRUCell(2, 3, **w),
    "Bilinear": lambda **w: nn.Bilinear(2, 3, 4, **w),
    "Conv1d": lambda **w: nn.Conv1d(2, 3, 1, **w),
    "Conv2d": lambda **w: nn.Conv2d(2, 3, 1, **w),
    "ConvTranspose2d": lambda **w: nn.ConvTranspose2d(2, 3, 1, **w),
    "BatchNorm2d": lambda **w: nn.BatchNorm2d(2, **w),
    "InstanceNorm2d": lambda **w: nn.InstanceNorm2d(2, affine=True, **w),
    "LayerNorm": lambda **w: nn.LayerNorm(2, **w),
    "RMSNorm": lambda **w: nn.RMSNorm(2, **w),
    "GroupNorm": lambda **w: nn.GroupNorm(1, 2, **w),
    "Embedding": lambda **w: nn.Embedding(2, 3, **w),
    "EmbeddingBag": lambda **w: nn.EmbeddingBag(2, 3, **w),
    "PReLU": lambda **w: nn.PReLU(2, **w),
    "AdaptiveLogSoftmaxWithLoss": lambda **w: nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2], **w),
    "MultiheadAttention": lambda **w: nn.MultiheadAttention(4, 2, **w),
    "TransformerEncoderLayer": lambda **w: nn.TransformerEncoderLayer(4, 2, 8, **w),
    "TransformerDecoderLayer": lambda **w: nn.TransformerDecoderLayer(4, 2, 8, **w),
    "Transformer": lambda **w: nn.Transformer(4, 2, 1, 1, 8, **w),
}


@pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)
def test_layers_are_made_with_a_dtype_and_a_device(make):
    plain, double = make(), make(dtype=jt.float64, device="cpu")

    assert {p.dtype for p in plain.parameters()} == {"float32"}
    assert {p.dtype for p in double.parameters()} == {"float64"}
    assert {b.dtype for b in double.buffers()} <= {"float64", "int64"}
    assert all(p.requires_grad for p in double.parameters())
    assert {"device", "dtype"} <= set(inspect.signature(type(double)).parameters)


@pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS)
def test_a_layer_elsewhere_or_of_whole_numbers_is_refused(make):
    with pytest.raises(jt.ArgumentError, match="device='cuda:1'"):
        make(device="cuda:1")
    with pytest.raises(jt.DtypeError, match="int32"):
        make(dtype="int32")


def test_modules_and_vars_stay_where_they_are():
    layer = nn.Linear(2, 3).to("cpu").to("float64")

    assert layer.weight.dtype == "float64"
    for elsewhere in (layer.to, jt.ones(2).to):
        with pytest.raises(jt.ArgumentError, match="device='cuda'"):
            elsewhere("cuda")


# ------------------------------------------------------------------------------------------------------- optimisers


def test_an_optimiser_refuses_what_was_computed_from_another_var():
    w = jt.array([1.0, 2.0])

    with pytest.raises(jt.ArgumentError, match=r"multiply of a Var of shape \(2,\)[\s\S]*test_torch_words.py"):
        optim.SGD([w * 2], lr=0.1)
    with pytest.raises(jt.ArgumentError, match="is add"):
        optim.SGD([w], lr=0.1).add_param_group({"params": [w + 1]})


def test_an_optimiser_takes_what_was_computed_from_nothing_that_is_held():
    for p in (jt.randn(3) * 0.1, jt.array([1.0, 2.0]) * 2, (jt.array([1.0]) * 2).detach().start_grad()):
        before = p.numpy(copy=True)

        optim.SGD([p], lr=0.1).step((p * p).sum())

        np.testing.assert_allclose(p.numpy(), 0.8 * before, rtol=1e-6)


def test_a_loss_that_was_built_before_its_optimiser_can_be_stepped():
    layer = nn.Linear(2, 1)
    loss = (layer(jt.ones(3, 2)) ** 2).mean()
    before = layer.weight.numpy(copy=True)

    optim.SGD(layer.parameters(), lr=0.1).step(loss)

    assert (layer.weight.numpy() != before).all()


def test_a_parameter_that_was_assigned_stays_one():
    layer = nn.Linear(2, 3)
    layer.weight *= 0.5
    layer.bias.assign(layer.bias * 0)

    optim.SGD(layer.parameters(), lr=0.1).step((layer(jt.ones(1, 2)) ** 2).sum())

    assert (layer.bias.numpy() != 0).any()


# --------------------------------------------------------------------------------------------------- single images


@pytest.mark.parametrize("ways", [1, 2, 3])
def test_convolutions_take_a_single_image(torch, ways, rng):
    image, weight = rng.normal(size=(4, *(5,) * ways)), rng.normal(size=(6, 2, *(2,) * ways))
    back = rng.normal(size=(4, 3, *(2,) * ways))
    settings = {"stride": 2, "padding": 1, "groups": 2}
    for name, w in ((f"conv{ways}d", weight), (f"conv_transpose{ways}d", back)):
        ours = getattr(functional, name)(jt.array(image), jt.array(w), jt.ones(6, dtype="float64"), **settings)
        theirs = getattr(torch.nn.functional, name)(
            torch.tensor(image), torch.tensor(w), torch.ones(6, dtype=torch.float64), **settings
        )

        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), 1e-12, 1e-12)


def test_a_convolution_of_a_plane_without_channels_is_refused():
    for convolve in (functional.conv2d, functional.conv_transpose2d):
        with pytest.raises(jt.ShapeError, match=r"\(c, h, w\).*\(5, 5\)"):
            convolve(jt.ones(5, 5), jt.ones(1, 1, 2, 2))


def test_the_grid_of_nearest_pixels_has_a_gradient_of_zero(torch, rng):
    image, grid = rng.normal(size=(1, 1, 4, 4)), rng.uniform(-1.2, 1.2, (1, 3, 3, 2))
    x, g = jt.array(image), jt.array(grid)
    tx, tg = (torch.tensor(a, requires_grad=True) for a in (image, grid))

    dx, dg = jt.grad(functional.grid_sample(x, g, "nearest").sum(), [x, g])
    torch.nn.functional.grid_sample(tx, tg, "nearest", align_corners=False).sum().backward()

    np.testing.assert_array_equal(dg.numpy(), tg.grad.numpy())
    np.testing.assert_array_equal(dg.numpy(), np.zeros_like(grid))
    np.testing.assert_allclose(dx.numpy(), tx.grad.numpy())


def test_nearest_pixels_at_no_place_have_no_gradient_either():
    x, g = jt.ones(1, 1, 2, 2), jt.array(np.full((1, 1, 1, 2), np.nan))

    np.testing.assert_array_equal(jt.grad(functional.grid_sample(x, g, "nearest").sum(), g).numpy(), np.zeros(g.shape))
