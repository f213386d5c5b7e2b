"""Convolutions as functions and as layers: drawn configurations beside PyTorch's, and who multiplies.

A configuration is drawn from a seed, which is the name of the test case and is printed when it fails. Numbers are
float64; forward, and the gradients by input, weight and bias.
"""

import re

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from tests.parity.inputs import expect_same
from tests.parity.judges import by_differences, expect_equal, our_orders, torch_orders

pytestmark = pytest.mark.usefixtures("python_backend", "quiet")

WAYS = {1: 12, 2: 32, 3: 20}  # directions: how many configurations
TRANSPOSED = {1: 12, 2: 16, 3: 12}


# ------------------------------------------------------------------------------------------------ drawn configurations


def drawn(seed, ways):
    """Numbers for every argument, and images in which the window fits."""
    rng = np.random.default_rng(seed)

    def numbers(low, high):
        found = tuple(int(n) for n in rng.integers(low, high, ways))
        return found[0] if rng.integers(3) == 0 else found

    def each(value):
        return value if isinstance(value, tuple) else (value,) * ways

    kernel = each(numbers(1, 4 if ways < 3 else 3))
    options = {"stride": numbers(1, 4), "padding": numbers(0, 3), "dilation": numbers(1, 3),
               "groups": int(rng.choice([1, 1, 2, 3]))}  # fmt: skip
    spans = [d * (k - 1) + 1 for d, k in zip(each(options["dilation"]), kernel, strict=True)]
    least = [max(1, s - 2 * p) for s, p in zip(spans, each(options["padding"]), strict=True)]
    lengths = tuple(int(n + rng.integers(0, 3)) for n in least)
    groups = options["groups"]
    ins, outs = groups * int(rng.integers(1, 3)), groups * int(rng.integers(1, 3))
    batch = int(rng.integers(1, 3))
    return rng, options, kernel, (batch, ins, *lengths), outs


def compare(torch, ours, theirs, arrays, what, rng):
    """Values, and the gradients by all inputs of a weighted sum."""
    xs, ts = [jt.array(a) for a in arrays], [torch.tensor(a, requires_grad=True) for a in arrays]
    y, wanted = ours(*xs), theirs(*ts)

    expect_same(y, wanted.detach().numpy(), loose=64, what=what)
    weights = rng.normal(size=tuple(wanted.shape))
    grads = torch.autograd.grad((wanted * torch.tensor(weights)).sum(), ts)
    for a, b, name in zip(jt.grad((y * weights).sum(), xs), grads, ("input", "weight", "bias"), strict=False):
        expect_same(a, b.numpy(), loose=256, what=f"{what}, gradient by the {name}")


@pytest.mark.parametrize(("ways", "seed"), [(w, s) for w, count in WAYS.items() for s in range(count)])
def test_a_drawn_convolution_is_pytorchs(torch, ways, seed):
    rng, options, kernel, image, outs = drawn(seed, ways)
    arrays = [rng.normal(size=image), rng.normal(size=(outs, image[1] // options["groups"], *kernel))]
    arrays += [rng.normal(size=outs)] if rng.integers(4) else []
    name = f"conv{ways}d"

    compare(
        torch, lambda *xs: getattr(jt, name)(*xs, **options),
        lambda *xs: getattr(torch.nn.functional, name)(*xs, **options), arrays,
        f"{name} of seed {seed}: image {image}, weight {arrays[1].shape}, {options}", rng,
    )  # fmt: skip


@pytest.mark.parametrize(("ways", "seed"), [(w, s) for w, count in TRANSPOSED.items() for s in range(count)])
def test_a_drawn_transposed_convolution_is_pytorchs(torch, ways, seed):
    rng, options, kernel, image, outs = drawn(seed + 1000, ways)
    steps, spread = (np.broadcast_to(options[name], ways) for name in ("stride", "dilation"))
    more = tuple(int(rng.integers(0, max(s, d))) for s, d in zip(steps, spread, strict=True))
    options |= {"output_padding": more}
    image = (
        *image[:2],
        *(n + 2 * p for n, p in zip(image[2:], np.broadcast_to(options["padding"], ways), strict=True)),
    )
    arrays = [rng.normal(size=image), rng.normal(size=(image[1], outs // options["groups"], *kernel))]
    arrays += [rng.normal(size=outs)] if rng.integers(4) else []
    name = f"conv_transpose{ways}d"

    compare(
        torch, lambda *xs: getattr(jt, name)(*xs, **options),
        lambda *xs: getattr(torch.nn.functional, name)(*xs, **options), arrays,
        f"{name} of seed {seed}: image {image}, weight {arrays[1].shape}, {options}", rng,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_drawn_windows_and_the_image_that_is_folded_from_them_are_pytorchs(torch, seed):
    rng, options, kernel, image, _ = drawn(seed + 2000, 2)
    options = {name: options[name] for name in ("stride", "padding", "dilation")} | {"kernel_size": kernel}
    f = torch.nn.functional
    x = rng.normal(size=image)
    columns = rng.normal(size=f.unfold(torch.tensor(x), **options).shape)
    what = f"seed {seed}: image {image}, {options}"

    compare(torch, lambda a: nn.unfold(a, **options), lambda a: f.unfold(a, **options), [x], what, rng)
    options |= {"output_size": image[2:]}
    compare(torch, lambda a: nn.fold(a, **options), lambda a: f.fold(a, **options), [columns], what, rng)


TINY = (
    ("conv2d", (1, 1, 3, 3), (2, 1, 2, 2), {"padding": 1, "stride": 2}),
    ("conv2d", (2, 2, 2, 2), (2, 1, 2, 1), {"groups": 2}),
    ("conv1d", (1, 2, 4), (1, 2, 2), {"dilation": 2}),
    ("conv_transpose2d", (1, 1, 2, 2), (1, 2, 2, 2), {"stride": 2, "padding": 1, "output_padding": 1}),
    ("conv_transpose1d", (1, 2, 2), (2, 1, 2), {"groups": 2}),
)


@pytest.mark.parametrize(("name", "image", "weight", "options"), TINY, ids=lambda v: v if isinstance(v, str) else "")
def test_a_convolution_can_be_differentiated_twice(torch, name, image, weight, options):
    rng = np.random.default_rng(3)
    arrays = [rng.normal(size=image), rng.normal(size=weight)]

    def squares(library, *xs):
        y = getattr(library, name)(*xs, **options)
        return y * y

    found = our_orders(lambda *xs: squares(jt, *xs), arrays)

    expect_equal(found, torch_orders(torch, lambda *xs: squares(torch.nn.functional, *xs), arrays), 1e-9, name)
    expect_equal(found, by_differences(lambda *xs: squares(jt, *xs), arrays), 2e-5, name)


def test_whole_numbers_and_halves_are_convolved_too():
    image, window = np.arange(9).reshape(1, 1, 3, 3), np.ones((1, 1, 2, 2), int)

    for dtype in ("int64", "float16", "bfloat16", "float32", "complex64"):
        y = jt.conv2d(jt.array(image, dtype), jt.array(window, dtype))

        assert (str(y.dtype), y.tolist()) == (dtype, [[[[8, 12], [20, 24]]]])


def test_the_image_of_a_transposed_convolution_is_what_the_gradient_of_a_convolution_by_its_input_is():
    rng = np.random.default_rng(0)
    x, w, y = (jt.array(rng.normal(size=s)) for s in ((1, 2, 5, 4), (3, 2, 2, 3), (1, 3, 2, 2)))

    gradient = jt.grad((jt.conv2d(x, w, stride=(2, 1)) * y).sum(), x)

    np.testing.assert_allclose(
        gradient.numpy(),
        jt.conv_transpose2d(y, w, stride=(2, 1), output_padding=(1, 0)).numpy(),
        rtol=1e-12,
        atol=1e-12,
    )


# ---------------------------------------------------------------------------------------------------- who multiplies


def products(*wanted):
    """How many matrix products BLAS does for some Vars."""
    return sum(k.source.count("np.dot(") for k in jt.explain(*wanted).kernels if "BLAS" in k.calls)


def convolutions(*wanted):
    """The kernels that are algorithms for convolutions."""
    return [k.name for k in jt.explain(*wanted).kernels if k.kind == "convolution"]


@pytest.mark.parametrize(
    ("sentence", "image", "weight", "options"),
    [
        ("three by three", (2, 3, 5, 5), (4, 3, 3, 3), {}),
        ("one by one of a batch", (2, 3, 4, 4), (4, 3, 1, 1), {}),
        ("one by one of one image", (1, 3, 4, 4), (4, 3, 1, 1), {}),
        ("steps of two", (2, 3, 5, 5), (4, 3, 3, 3), {"stride": 2, "padding": 1}),
        ("wide groups", (2, 8, 4, 4), (8, 4, 2, 2), {"groups": 2}),
        ("depthwise", (2, 3, 4, 4), (3, 1, 2, 2), {"groups": 3}),
    ],
)
def test_a_convolution_and_both_its_gradients_are_recognised(sentence, image, weight, options):
    rng = np.random.default_rng(0)
    x, w = (jt.array(rng.normal(size=s)) for s in (image, weight))
    y = jt.conv2d(x, w, **options)
    assert len(convolutions(y)) == 1, sentence

    found = jt.grad((y.sync() * rng.normal(size=y.shape)).sum(), [x, w])

    assert len(convolutions(*found)) == 2, sentence


@pytest.mark.parametrize(
    ("text", "shapes", "count"),
    [
        ("ij,jk->ik", ((3, 4), (4, 5)), 1),
        ("ij,kj->ki", ((3, 4), (5, 4)), 1),
        ("bhid,bhjd->bhij", ((2, 3, 4, 5), (2, 3, 4, 5)), 1),
        ("ibhd,jbhd->bhij", ((4, 2, 3, 5), (4, 2, 3, 5)), 1),
        ("a...b,b...c->a...c", ((2, 3, 4), (4, 3, 5)), 1),
        ("ij,j->i", ((3, 4), (4,)), 1),
        ("ij,jj->i", ((3, 4), (4, 4)), 1),
        ("ab,bc,cd->ad", ((3, 4), (4, 5), (5, 2)), 2),
        ("ea,fb,abcd,gc,hd->efgh", ((2, 2), (2, 3), (2, 3, 2, 4), (3, 2), (2, 4)), 4),
    ],
)
def test_the_matrix_products_inside_of_an_einsum_are_multiplied_by_blas(text, shapes, count):
    rng = np.random.default_rng(0)

    assert products(jt.einsum(text, *(rng.normal(size=s) for s in shapes))) == count


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3, 4), (4, 5)),
        ((2, 3, 4), (4, 5)),
        ((3, 4), (2, 4, 5)),
        ((2, 1, 3, 4), (3, 4, 5)),
        ((4,), (2, 4, 5)),
        ((3, 4), (4,)),
    ],
    ids=str,
)
def test_a_matrix_product_of_any_ranks_is_multiplied_by_blas_and_so_are_its_gradients(left, right):
    rng = np.random.default_rng(0)
    x, y = (jt.array(rng.normal(size=s)) for s in (left, right))
    out = x @ y
    assert products(out) == 1

    weights = jt.array(rng.normal(size=out.shape))
    if min(x.ndim, y.ndim) > 1:
        assert products(*jt.grad((out.sync() * weights).sum(), [x, y])) == 2


def test_an_einsum_of_many_multiplies_the_cheap_pair_first():
    """A vector at the end: from right to left there are only products with vectors, 2 * 40 * 40 multiplications."""
    a, b, v = jt.ones((40, 40)), jt.ones((40, 40)), jt.ones(40)

    assert jt.explain(jt.einsum("ij,jk,k->i", a, b, v)).flops < 20_000
    assert jt.explain(jt.multi_dot([a, b, v])).flops < 20_000
    assert jt.explain((a @ b) @ v).flops > 100_000


# ------------------------------------------------------------------------------------------------------------- layers

LAYERS = tuple(
    (name, shape, arguments)
    for name, shape, arguments in (
        ("Conv1d", (2, 4, 7), ({}, {"stride": 2, "padding": 1}, {"groups": 2, "bias": False}, {"padding": "same"})),
        ("Conv2d", (2, 4, 6, 5), (
            {}, {"stride": (1, 2), "padding": (2, 1)}, {"padding": 1, "dilation": 2}, {"groups": 4, "bias": False},
            {"padding": "same", "dilation": 2}, {"padding": "valid"}, {"padding": "same", "kernel_size": (2, 4)},
        )),
        ("Conv3d", (1, 4, 3, 4, 3), ({}, {"stride": 2, "padding": 1}, {"groups": 2, "padding": "same"})),
        ("ConvTranspose1d", (2, 4, 5), ({}, {"stride": 2, "padding": 1, "output_padding": 1}, {"groups": 2})),
        ("ConvTranspose2d", (1, 4, 3, 4), (
            {}, {"stride": (1, 2), "padding": (1, 0), "output_padding": (0, 1)}, {"dilation": 2, "bias": False},
            {"groups": 2, "stride": 2},
        )),
        ("ConvTranspose3d", (1, 4, 2, 2, 3), ({}, {"stride": 2, "output_padding": 1}, {"groups": 4, "padding": 1})),
    )
)  # fmt: skip
BORDERS = [
    (name, shape, ({"padding_mode": mode, "padding": padding},))
    for name, shape in (("Conv1d", (1, 2, 6)), ("Conv2d", (1, 2, 5, 6)), ("Conv3d", (1, 2, 4, 5, 4)))
    for mode in ("reflect", "replicate", "circular")
    for padding in (2, "same", (1, 0, 2)[: len(shape) - 2])
]
CASES = [(name, shape, options) for name, shape, many in (*LAYERS, *BORDERS) for options in many]


def twins(torch, name, channels, options):
    """Our layer and PyTorch's with the same parameters."""
    options = {"kernel_size": 3} | options
    theirs, ours = (getattr(library, name)(channels, 4, **options) for library in (torch.nn, nn))
    ours.load_state_dict({key: value.numpy() for key, value in theirs.state_dict().items()})
    return ours, theirs


@pytest.mark.filterwarnings("ignore:Using padding='same'")  # PyTorch copies where the window is even
@pytest.mark.parametrize(("name", "shape", "options"), CASES, ids=lambda v: str(v))
def test_a_layer_is_pytorchs_with_the_same_parameters_and_prints_as_it_does(torch, name, shape, options):
    ours, theirs = twins(torch, name, shape[1], options)
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    y, wanted = ours(jt.array(x)), theirs(torch.tensor(x))

    np.testing.assert_allclose(y.numpy(), wanted.detach().numpy(), rtol=1e-5, atol=1e-5)
    grads = torch.autograd.grad((wanted * wanted).sum(), list(theirs.parameters()))
    for a, b in zip(jt.grad((y * y).sum(), ours.parameters()), grads, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-4)
    assert repr(ours) == repr(theirs)


@pytest.mark.parametrize("name", [name for name, _, _ in LAYERS])
def test_a_layer_has_pytorchs_names_shapes_and_beginning(torch, name):
    ours, theirs = getattr(nn, name)(4, 6, 3, groups=2), getattr(torch.nn, name)(4, 6, 3, groups=2)

    assert {k: v.shape for k, v in ours.state_dict().items()} == {
        k: tuple(v.shape) for k, v in theirs.state_dict().items()
    }
    for seed in range(3):
        torch.manual_seed(seed)
        jt.set_global_seed(seed)
        mine, other = getattr(nn, name)(8, 16, 3), getattr(torch.nn, name)(8, 16, 3)
        for key, value in other.state_dict().items():
            bound = float(1 / np.sqrt(other.weight.shape[1] * 3 ** (other.weight.ndim - 2)))
            a = getattr(mine, key).numpy()
            assert abs(a).max() <= bound * (1 + 1e-6)
            if key == "weight":
                assert abs(a).max() > 0.9 * bound
                assert a.std() == pytest.approx(float(value.std()), rel=0.15)


def test_a_layer_of_two_directions_has_the_names_of_jittor_and_of_pytorch():
    assert nn.Conv2d is nn.Conv
    assert nn.ConvTranspose2d is nn.ConvTranspose
    assert jt.conv_transpose is jt.conv_transpose2d


def test_every_number_of_a_layer_may_be_one_or_one_for_each_direction():
    layer = nn.Conv3d(1, 1, (1, 2, 3), (1, 2, 1), (0, 1, 2), (1, 1, 2))

    assert (layer.kernel_size, layer.stride, layer.padding, layer.dilation) == (
        (1, 2, 3), (1, 2, 1), (0, 1, 2), (1, 1, 2)
    )  # fmt: skip
    assert nn.Conv1d(1, 1, 3).kernel_size == (3,)


def test_a_transposed_layer_makes_the_size_it_is_asked_for(torch):
    ours, theirs = twins(torch, "ConvTranspose2d", 2, {"stride": 2, "padding": 1})
    x = np.random.default_rng(0).normal(size=(1, 2, 3, 4)).astype(np.float32)

    for size in ((5, 7), (6, 7), (5, 8), (6, 8)):
        wanted = theirs(torch.tensor(x), output_size=size).detach().numpy()

        np.testing.assert_allclose(ours(jt.array(x), output_size=size).numpy(), wanted, rtol=1e-5, atol=1e-5)


def test_unfold_and_fold_as_layers_are_pytorchs_and_print_as_they_do(torch):
    options = {"kernel_size": (2, 3), "dilation": (1, 2), "padding": 1, "stride": (2, 1)}
    ours, theirs = nn.Unfold(**options), torch.nn.Unfold(**options)
    x = np.random.default_rng(0).normal(size=(2, 3, 5, 6))
    columns = theirs(torch.tensor(x))

    expect_same(ours(jt.array(x)), columns.numpy())
    assert repr(ours) == repr(theirs)
    back, wanted = nn.Fold((5, 6), **options), torch.nn.Fold((5, 6), **options)
    expect_same(back(jt.array(columns.numpy())), wanted(columns).numpy(), loose=4)
    assert repr(back) == repr(wanted)


def test_unfold_and_fold_take_one_image_without_a_batch(torch):
    x = np.random.default_rng(0).normal(size=(3, 5, 6))
    columns = torch.nn.functional.unfold(torch.tensor(x), 2)

    expect_same(jt.nn.functional.unfold(jt.array(x), 2), columns.numpy())
    back = jt.nn.functional.fold(jt.array(columns.numpy()), (5, 6), 2)
    expect_same(back, torch.nn.functional.fold(columns, (5, 6), 2).numpy(), loose=4)
    with pytest.raises(jt.ShapeError, match=r"found shape \(4, 5\)"):
        jt.nn.functional.fold(jt.ones(4, 5), 3, 2)


def test_a_layer_that_learns_learns():
    """One window that must become another: x is blurred, and the layer is told what came out."""
    jt.set_global_seed(0)
    rng = np.random.default_rng(0)
    x, blur = rng.normal(size=(4, 1, 5, 5)).astype(np.float32), np.full((1, 1, 2, 2), 0.25, np.float32)
    layer, target = nn.Conv(1, 1, 2, bias=False), jt.conv2d(x, blur)
    optimizer = jt.optim.SGD(layer.parameters(), 0.5)

    for _ in range(40):
        away = layer(x) - target
        optimizer.step((away * away).mean())

    np.testing.assert_allclose(layer.weight.numpy(), blur, atol=1e-3)


def test_another_size_of_image_compiles_nothing():
    def built(n, c, o, h):
        x, w = jt.array(np.ones((n, c, h, h), np.float32)), jt.array(np.ones((o, c, 3, 3), np.float32))
        y = jt.conv2d(x, w, stride=2, padding=1)
        return y, *jt.grad((y * y).sum(), [x, w])

    jt.sync(list(built(2, 3, 4, 6)))
    with jt.trace() as t:
        jt.sync(list(built(3, 2, 5, 8)))

    assert t.compiled == 0


def test_a_message_names_the_function_that_was_called():
    for ways in (1, 2, 3):
        for name in (f"conv{ways}d", f"conv_transpose{ways}d"):
            with pytest.raises(jt.ShapeError, match=re.escape(name)):
                getattr(jt, name)(jt.ones(3), jt.ones(3))


def test_other_weights_bring_their_own_channels():
    layer = nn.Conv2d(3, 2, 1)

    layer.weight = nn.Parameter(jt.ones(2, 1, 1, 1))

    assert layer(jt.ones(1, 1, 2, 2)).shape == (1, 2, 2, 2)
