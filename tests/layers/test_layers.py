"""Every layer of this family, in every configuration that has an argument of its own, against PyTorch."""

import numpy as np
import pytest

import jt_edu as jt
from jt_edu import nn
from tests.layers.harness import agrees


def case(name, settings=(), shape=(2, 3), ours=None, **more):
    """(id, name of PyTorch's class, arguments, shape of x, name of ours, how to compare)."""
    words = settings if isinstance(settings, dict) else {}
    places = () if isinstance(settings, dict) else tuple(settings)
    label = f"{name}{places or ''}{words or ''}-{'x'.join(map(str, shape))}"
    return pytest.param(name, places, words, shape, ours or name, more, id=label)


LINEAR = [
    case("Linear", (3, 2), (4, 3)),
    case("Linear", (3, 2), (3,)),
    case("Linear", (3, 2), (2, 0, 3)),
    case("Linear", {"in_features": 3, "out_features": 2, "bias": False}, (2, 4, 3)),
    case("Identity", (3, 4), (2, 3)),
    case("Flatten", (), (2, 3, 4)),
    case("Flatten", (0, 1), (2, 3, 4)),
    case("Flatten", {"start_dim": 2, "end_dim": 3}, (2, 3, 4, 5)),
    case("Unflatten", (1, (2, 3)), (4, 6)),
    case("Unflatten", {"dim": -2, "unflattened_size": (3, -1)}, (2, 6, 5)),
]
NORMS = [
    case("BatchNorm1d", (3,), (5, 3)),
    case("BatchNorm1d", (3,), (4, 3, 2)),
    case("BatchNorm2d", (3,), (2, 3, 4, 5)),
    case("BatchNorm3d", (3,), (2, 3, 2, 3, 2)),
    case("BatchNorm2d", {"num_features": 3, "eps": 0.5}, (2, 3, 4, 5)),
    case("BatchNorm2d", {"num_features": 3, "momentum": 0.7}, (2, 3, 4, 5)),
    case("BatchNorm2d", {"num_features": 3, "momentum": None}, (2, 3, 4, 5), steps=3),
    case("BatchNorm2d", {"num_features": 3, "affine": False}, (2, 3, 4, 5)),
    case("BatchNorm2d", {"num_features": 3, "track_running_stats": False}, (2, 3, 4, 5)),
    case("BatchNorm1d", {"num_features": 3, "momentum": 0.0}, (5, 3)),
    case("LayerNorm", (4,), (2, 3, 4)),
    case("LayerNorm", ((3, 4),), (2, 3, 4)),
    case("LayerNorm", (4, 0.3), (2, 4)),
    case("LayerNorm", {"normalized_shape": 4, "elementwise_affine": False}, (2, 4)),
    case("LayerNorm", {"normalized_shape": 4, "bias": False}, (2, 4)),
    case("GroupNorm", (2, 4), (3, 4)),
    case("GroupNorm", (2, 4), (3, 4, 5)),
    case("GroupNorm", (1, 4, 0.2), (3, 4, 2, 2)),
    case("GroupNorm", {"num_groups": 4, "num_channels": 4, "affine": False}, (3, 4, 5)),
    case("InstanceNorm1d", (3,), (2, 3, 4)),
    case("InstanceNorm1d", (3,), (3, 4)),
    case("InstanceNorm2d", (3,), (2, 3, 4, 2)),
    case("InstanceNorm2d", (3,), (3, 4, 2)),
    case("InstanceNorm3d", (3,), (2, 3, 4, 2, 2)),
    case("InstanceNorm2d", {"num_features": 3, "eps": 0.4}, (2, 3, 4, 2)),
    case("InstanceNorm2d", {"num_features": 3, "affine": True}, (2, 3, 4, 2)),
    case("InstanceNorm2d", {"num_features": 3, "track_running_stats": True}, (2, 3, 4, 2)),
    case("InstanceNorm1d", {"num_features": 3, "track_running_stats": True, "affine": True}, (3, 4)),
    case("InstanceNorm2d", {"num_features": 3, "track_running_stats": True, "momentum": 0.6}, (2, 3, 4, 2)),
    case("InstanceNorm2d", {"num_features": 3, "track_running_stats": True, "momentum": None}, (2, 3, 4, 2)),
    case("LocalResponseNorm", (2,), (2, 5, 3)),
    case("LocalResponseNorm", (3, 0.5, 0.6, 2.0), (2, 5, 3, 2)),
    case("LocalResponseNorm", {"size": 7, "alpha": 2.0}, (2, 3, 2)),
    case("LocalResponseNorm", {"size": 2, "beta": 2.0}, (2, 3, 2)),
    case("LocalResponseNorm", {"size": 2, "k": 3.0}, (2, 3, 2)),
    case("RMSNorm", (4,), (2, 3, 4)),
    case("RMSNorm", ((3, 4),), (2, 3, 4)),
    case("RMSNorm", {"normalized_shape": 4, "eps": 0.3}, (2, 4)),
    case("RMSNorm", {"normalized_shape": 4, "elementwise_affine": False}, (2, 4)),
]
ACTIVATIONS = [
    *(case(name, (), (4, 5)) for name in (
        "ReLU ReLU6 LeakyReLU PReLU ELU SELU CELU GELU SiLU Mish Sigmoid LogSigmoid Hardswish "
        "Hardtanh Tanh Tanhshrink Softplus Softsign Softshrink Hardshrink").split()),
    case("Hardsigmoid", (), (4, 5), tolerance=1e-7),  # PyTorch multiplies by 1 / 6 as a float32
    case("ReLU", (), ()),
    case("LeakyReLU", {"negative_slope": 0.3}, (3, 4)),
    case("LeakyReLU", (0.3,), (3, 4)),
    case("PReLU", (3,), (2, 3, 4)),
    case("PReLU", {"num_parameters": 3, "init": 0.7}, (2, 3)),
    case("ELU", (0.5,), (3, 4)),
    case("CELU", (0.5,), (3, 4)),
    case("GELU", ("tanh",), (3, 4)),
    case("Softplus", {"beta": 3.0}, (3, 4)),
    case("Softplus", {"threshold": 0.5}, (3, 4)),
    case("Softshrink", (1.0,), (3, 4)),
    case("Hardshrink", (1.0,), (3, 4)),
    case("Hardtanh", (-0.5, 2.0), (3, 4)),
    case("Threshold", (0.3, -2.0), (3, 4)),
    case("GLU", (), (3, 4)),
    case("GLU", (0,), (4, 3)),
    case("Softmax", (-1,), (3, 4)),
    case("Softmax", {"dim": 0}, (3, 4)),
    case("Softmin", (-1,), (3, 4)),
    case("Softmin", (0,), (3, 4)),
    case("LogSoftmax", (-1,), (3, 4)),
    case("LogSoftmax", (1,), (3, 4, 2)),
    case("Softmax2d", (), (2, 3, 2, 2)),
    case("Softmax2d", (), (3, 2, 2)),
    case("RReLU", (), (3, 4), train=False),
    case("RReLU", (0.5, 0.75), (3, 4), train=False),
]  # fmt: skip
SILENT = [case(name, (0.7,), (2, 3, 4, 5), train=False) for name in ("Dropout", "Dropout2d", "AlphaDropout")]
SILENT += [case("FeatureAlphaDropout", (0.7,), (2, 3, 4), train=False)]
SILENT += [case("Dropout1d", (0.7,), (2, 3, 4), train=False), case("Dropout3d", (0.7,), (2, 3, 2, 2, 2), train=False)]
SILENT += [case(name, (0.0,), (2, 3, 4)) for name in ("Dropout", "Dropout1d", "AlphaDropout", "FeatureAlphaDropout")]


@pytest.mark.parametrize(
    ("theirs", "places", "words", "shape", "ours", "more"), [*LINEAR, *NORMS, *ACTIVATIONS, *SILENT]
)
def test_the_layer_is_pytorchs(torch, rng, theirs, places, words, shape, ours, more):
    agrees(
        torch, getattr(nn, ours)(*places, **words), getattr(torch.nn, theirs)(*places, **words),
        np.asarray(rng.normal(0, 2, size=shape)), **more,
    )  # fmt: skip


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("batch", [(), (4,), (2, 3)])
def test_bilinear_is_pytorchs(torch, rng, bias, batch):
    x, y = rng.normal(size=(*batch, 3)), rng.normal(size=(*batch, 4))

    agrees(torch, nn.Bilinear(3, 4, 2, bias=bias), torch.nn.Bilinear(3, 4, 2, bias=bias), x, y)


EMBEDDINGS = [
    {}, {"padding_idx": 2}, {"padding_idx": -1}, {"max_norm": 0.7}, {"max_norm": 1.5, "norm_type": 1.0},
    {"max_norm": 0.5, "norm_type": float("inf")}, {"scale_grad_by_freq": True},
    {"scale_grad_by_freq": True, "padding_idx": 1, "max_norm": 1.0},
]  # fmt: skip


@pytest.mark.parametrize("settings", EMBEDDINGS, ids=str)
@pytest.mark.parametrize("shape", [(3, 4), (7,), ()])
def test_embedding_is_pytorchs(torch, rng, settings, shape):
    x = np.array(rng.integers(0, 5, size=shape))

    agrees(torch, nn.Embedding(5, 4, **settings), torch.nn.Embedding(5, 4, **settings), x)


BAGS = [
    {}, {"mode": "sum"}, {"mode": "max"}, {"padding_idx": 1}, {"padding_idx": 1, "mode": "sum"},
    {"padding_idx": 1, "mode": "max"}, {"max_norm": 0.6}, {"max_norm": 0.9, "norm_type": 1.0},
]  # fmt: skip


@pytest.mark.parametrize("settings", BAGS, ids=str)
def test_bags_of_equal_length_are_pytorchs(torch, rng, settings):
    x = np.array([[0, 1, 2], [3, 3, 1], [1, 1, 1], [4, 0, 4]])

    agrees(torch, nn.EmbeddingBag(5, 4, **settings), torch.nn.EmbeddingBag(5, 4, **settings), x)


@pytest.mark.parametrize("settings", BAGS, ids=str)
def test_bags_with_offsets_are_pytorchs(torch, rng, settings):
    x, offsets = np.array([0, 1, 2, 3, 3, 1, 4]), np.array([0, 3, 3, 5])

    agrees(torch, nn.EmbeddingBag(5, 4, **settings), torch.nn.EmbeddingBag(5, 4, **settings), x, offsets)


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_gradients_of_bags_are_divided_by_how_often_a_word_occurs(rng, mode):
    x, weight = np.array([[0, 1, 2], [3, 3, 1], [1, 1, 1]]), jt.array(rng.normal(size=(5, 2)))
    plain, scaled = (
        jt.grad(nn.embedding_bag(jt.array(x), weight, mode=mode, scale_grad_by_freq=s).sum(), weight).numpy()
        for s in (False, True)
    )

    np.testing.assert_allclose(scaled * np.array([[1], [5], [1], [2], [1]]), plain)


def test_bags_with_weights_and_with_a_last_offset_are_pytorchs(torch, rng):
    x, offsets, weights = np.array([0, 1, 2, 3, 3, 1, 4]), np.array([0, 3, 3, 7]), rng.normal(size=7)
    last = {"include_last_offset": True, "mode": "sum"}

    agrees(torch, nn.EmbeddingBag(5, 4, mode="sum"), torch.nn.EmbeddingBag(5, 4, mode="sum"), x, offsets, weights)
    agrees(torch, nn.EmbeddingBag(5, 4, **last), torch.nn.EmbeddingBag(5, 4, **last), x, offsets, weights)


@pytest.mark.parametrize("offsets", [[0, 0, 3, 5], [0, 3, 3], [0, 6]], ids=str)
@pytest.mark.parametrize("settings", [{"mode": "sum"}, {"mode": "mean"}, {"mode": "max"}, {"padding_idx": 3}], ids=str)
def test_words_from_the_last_offset_on_are_in_no_bag(torch, rng, settings, offsets):
    x, table, weight = np.array([0, 1, 2, 3, 4, 1]), rng.normal(size=(5, 2)), rng.normal(size=(len(offsets) - 1, 2))
    ours, theirs = jt.array(table), torch.tensor(table, requires_grad=True)
    words = torch.tensor(x[: offsets[-1]])  # PyTorch cuts in some of its kernels only, and not in its gradients

    found = nn.embedding_bag(jt.array(x), ours, jt.array(offsets), include_last_offset=True, **settings)
    expected = torch.nn.functional.embedding_bag(words, theirs, torch.tensor(offsets[:-1]), **settings)
    (expected * torch.tensor(weight)).sum().backward()

    np.testing.assert_allclose(found.numpy(), expected.detach().numpy(), rtol=1e-12)
    np.testing.assert_allclose(jt.grad((found * weight).sum(), ours).numpy(), theirs.grad.numpy(), rtol=1e-12)


def test_the_last_bag_ends_where_it_does_in_pytorch(torch):
    words, table, offsets = np.arange(6), np.arange(1.0, 13.0, dtype="float32").reshape(6, 2), np.array([0, 0, 3, 5])
    settings = {"mode": "sum", "include_last_offset": True}

    found = nn.embedding_bag(*map(jt.array, (words, table, offsets)), **settings)
    expected = torch.nn.functional.embedding_bag(*map(torch.tensor, (words, table, offsets)), **settings)

    assert found.tolist() == expected.tolist()
    assert found.tolist() == [[0, 0], [1 + 3 + 5, 2 + 4 + 6], [7 + 9, 8 + 10]]


def test_a_word_in_no_bag_has_a_weight_that_counts_nothing():
    weights = jt.array([1.0, 2.0, 3.0])
    bags = nn.embedding_bag(
        jt.array([0, 1, 1]), jt.ones(2, 1), jt.array([0, 2]), mode="sum", per_sample_weights=weights,
        include_last_offset=True,
    )  # fmt: skip

    assert bags.tolist() == [[3.0]]
    assert jt.grad(bags.sum(), weights).tolist() == [1.0, 1.0, 0.0]


@pytest.mark.parametrize("kind", [nn.Embedding, nn.EmbeddingBag])
def test_a_table_that_is_there_is_taken_over_and_frozen_unless_told_otherwise(kind):
    given = np.arange(6.0).reshape(3, 2)
    frozen, free = kind.from_pretrained(given, padding_idx=1), kind.from_pretrained(jt.array(given), freeze=False)

    assert frozen.weight.tolist() == free.weight.tolist() == given.tolist()
    assert (frozen.weight.requires_grad, free.weight.requires_grad) == (False, True)
    assert (frozen.padding_idx, free.padding_idx) == (1, None)


def test_rows_counted_from_the_back_are_the_same_rows():
    weight, x = jt.array([[1.0], [2.0], [3.0]]), jt.array([-1, 2, 0])
    loss = nn.embedding(x, weight, padding_idx=2).sum()

    assert nn.embedding(x, weight).tolist() == [[3.0], [3.0], [1.0]]
    assert jt.grad(loss, weight).tolist() == [[1.0], [0.0], [0.0]]
    scaled = nn.embedding(x, weight, scale_grad_by_freq=True).sum()
    assert jt.grad(scaled, weight).tolist() == [[1.0], [0.0], [1.0]]


FUNCTIONS = [
    ("layer_norm", lambda f, x, w, b: f.layer_norm(x, (4,), w, b, 0.1), (2, 4), 4),
    ("rms_norm", lambda f, x, w, b: f.rms_norm(x, (4,), w, 0.1) + b, (2, 4), 4),
    ("group_norm", lambda f, x, w, b: f.group_norm(x, 2, w, b, 0.1), (2, 4, 3), 4),
    ("local_response_norm", lambda f, x, w, b: f.local_response_norm(x, 2, 0.3, 0.5, 2.0) * w * b, (2, 3, 1), 1),
    ("bilinear", lambda f, x, w, b: f.bilinear(x, x, w.reshape(1, 1, 4).expand(2, 4, 4) + b[0], b[:2]), (3, 4), 4),
    ("linear", lambda f, x, w, b: f.linear(x, w.reshape(1, 4), b[:1]), (3, 4), 4),
]


@pytest.mark.parametrize(("name", "call", "shape", "width"), FUNCTIONS, ids=[f[0] for f in FUNCTIONS])
def test_the_function_is_pytorchs(torch, rng, name, call, shape, width):
    arrays = [rng.normal(size=shape), rng.normal(size=width), rng.normal(size=width)]
    mine, other = [jt.array(a) for a in arrays], [torch.tensor(a, requires_grad=True) for a in arrays]
    with jt.flag_scope(backend="python"):
        out, expected = call(nn, *mine), call(torch.nn.functional, *other)

        np.testing.assert_allclose(out.numpy(), expected.detach().numpy(), rtol=1e-9)
        way = np.cos(np.arange(expected.numel())).reshape(expected.shape)
        wanted = torch.autograd.grad((expected * torch.tensor(way)).sum(), other)
        for g, e in zip(jt.grad((out * way).sum(), mine), wanted, strict=True):
            np.testing.assert_allclose(g.numpy(), e.numpy(), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", ["batch_norm", "instance_norm"])
def test_norms_with_running_statistics_as_functions(torch, rng, name, training):
    arrays = [rng.normal(size=(3, 2, 4)), rng.normal(size=2), rng.uniform(1, 2, size=2), *rng.normal(size=(2, 2))]
    mine, other = [jt.array(a) for a in arrays], [torch.tensor(a) for a in arrays]
    with jt.flag_scope(backend="python"):
        out = getattr(nn, name)(*mine, training, 0.3, 0.2)
        expected = getattr(torch.nn.functional, name)(*other, training, 0.3, 0.2)

        for a, b in zip((out, *mine), (expected, *other), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9)


@pytest.mark.parametrize("layer", ["BatchNorm2d", "GroupNorm", "LayerNorm", "RMSNorm"])
def test_norms_compile_and_give_the_same_numbers(layer, rng):
    made = nn.GroupNorm(2, 4) if layer == "GroupNorm" else getattr(nn, layer)(4)
    x = jt.array(rng.normal(size=(3, 4, 2, 4)).astype("float32"))
    with jt.flag_scope(backend="python"):
        slow = made(x).numpy().copy()

    np.testing.assert_allclose(made(x).numpy(), slow, rtol=1e-4, atol=1e-6)


def test_rms_norm_takes_its_smallest_step_from_the_dtype(torch):
    for dtype in ("float32", "float64"):
        x = np.full((1, 2), 1e-5, dtype)
        ours, theirs = nn.rms_norm(jt.array(x), (2,)), torch.nn.functional.rms_norm(torch.tensor(x), (2,))
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5)


def test_a_number_outside_of_the_table_raises():
    for make in (lambda: nn.Embedding(3, 2)(jt.array([3])), lambda: nn.EmbeddingBag(3, 2)(jt.array([[3]]))):
        with pytest.raises(jt.RangeError, match="3"):
            make().sync()
