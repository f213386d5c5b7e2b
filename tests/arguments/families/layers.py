"""Layers: what each setting changes in outputs, gradients and state, beside PyTorch's layer of the same name."""

import numpy as np

import jt_edu as jt
from jt_edu import nn
from tests.arguments.inputs import X, few, some
from tests.arguments.rows import Given, Row, as_module, as_torch, layer, refuses, shows

SHAPES = {1: (2, 4, 7), 2: (2, 4, 7, 6), 3: (1, 4, 5, 4, 5)}
IMAGES = {d: some(*shape) for d, shape in SHAPES.items()}
WORDS = few(2, 5)
TWICE = np.array([[0, 1, 2], [2, 0, 1]])  # PyTorch divides all rows of a bag by how often the first word occurs


def of_directions(family):
    """(nn.Conv1d, 1) and so on."""
    return [(getattr(nn, f"{family}{d}d"), d) for d in (1, 2, 3)]


# ------------------------------------------------------------------------------------------------- what all layers take


def placed(kind, *args) -> list[Row]:
    """`device`: there is one; `dtype`: of the parameters."""
    return [
        *refuses(kind, "device", "cuda", lambda **k: kind(*args, **k)),
        *shows(
            kind, "dtype", "float16", lambda **k: {str(p.dtype) for p in kind(*args, **k).parameters()}, {"float16"}
        ),
    ]


PLACED = {
    nn.Linear: (3, 2), nn.Bilinear: (3, 2, 2), nn.Embedding: (4, 3), nn.EmbeddingBag: (4, 3), nn.PReLU: (),
    nn.AdaptiveLogSoftmaxWithLoss: (4, 6, [2]),
    nn.LayerNorm: (4,), nn.GroupNorm: (2, 4), nn.RMSNorm: (4,), nn.BatchNorm: (4,),
    **{kind: (4, 2, 3) for f in ("Conv", "ConvTranspose") for kind, _ in of_directions(f)},
    **{kind: (4,) for kind, _ in of_directions("BatchNorm")},
    nn.RNN: (4, 3), nn.GRU: (4, 3), nn.LSTM: (4, 3), nn.RNNCell: (4, 3), nn.GRUCell: (4, 3), nn.LSTMCell: (4, 3),
    nn.MultiheadAttention: (4, 2), nn.TransformerEncoderLayer: (4, 2, 5), nn.TransformerDecoderLayer: (4, 2, 5),
    nn.Transformer: (4, 2, 1, 1, 5),
}  # fmt: skip


def affine_instances(kind) -> list[Row]:
    """Instance norms have parameters only when they are asked for."""
    return [
        *refuses(kind, "device", "cuda", lambda **k: kind(4, affine=True, **k)),
        *shows(kind, "dtype", "float16", lambda **k: str(kind(4, affine=True, **k).weight.dtype), "float16"),
    ]


# ----------------------------------------------------------------------------------------------- convolutions and norms


def convolution(kind, directions) -> list[Row]:
    tries = {
        "stride": 2,
        "padding": 1,
        "dilation": 2,
        "groups": 2,
        "bias": False,
        "padding_mode": Given("circular", padding=1),
    }
    return layer(kind, 4, 6, 2, on=[IMAGES[directions]], **tries)


def transposed(kind, directions) -> list[Row]:
    tries = {"stride": 2, "padding": 1, "dilation": 2, "groups": 2, "bias": False, "output_padding": Given(1, stride=2)}
    return [
        *layer(kind, 4, 6, 2, on=[IMAGES[directions]], twin=f"ConvTranspose{directions}d", **tries),
        *refuses(kind, "padding_mode", "circular", lambda **k: kind(4, 6, 2, **k)),
    ]


def batch_norm(kind, directions) -> list[Row]:
    tries = {"eps": 0.5, "momentum": 0.3, "affine": False, "track_running_stats": False}
    return [
        *layer(kind, 4, on=[IMAGES[directions]], twin=f"BatchNorm{directions}d", **tries),
        *shows(kind, "is_train", False, lambda **k: kind(4, **k).is_train, False),
        *shows(kind, "sync", False, lambda **k: _alike_on_two_ranks(kind, IMAGES[directions], k), False),
    ]


def _alike_on_two_ranks(kind, x, given) -> bool:
    """Whether two ranks with different batches come to the same statistics."""

    def job():
        norm = kind(4, **given)
        norm(jt.array(x * (jt.rank + 1)))
        return norm.running_mean.numpy()

    with jt.flag_scope(backend="python"):
        one, other = jt.simulate(2)(job)
    return bool(np.allclose(one, other))


def instance_norm(kind, directions) -> list[Row]:
    tries = {"eps": 0.5, "affine": True, "track_running_stats": True, "momentum": Given(0.3, track_running_stats=True)}
    return layer(kind, 4, on=[IMAGES[directions]], twin=f"InstanceNorm{directions}d", **tries)


# ---------------------------------------------------------------------------------------------------------------- pools


def pools(directions) -> list[Row]:
    image = IMAGES[directions]
    most, mean, power, undone, areas = (
        getattr(nn, f"{name}{directions}d") for name in ("MaxPool", "AvgPool", "LPPool", "MaxUnpool", "AdaptiveMaxPool")
    )
    ceil = {"ceil_mode": Given(True, stride=3)}
    tries = {"stride": 1, "padding": 1, **ceil}
    small = (1, 1, *(2,) * directions)
    places = np.arange(2**directions).reshape(small)
    return [
        *with_sizes(most, image, 2, **tries, dilation=Given(2, stride=1), return_indices=True),
        *with_sizes(mean, image, 2, **tries, count_include_pad=Given(False, padding=1)),
        *(with_sizes(mean, image, 2, divisor_override=3) if directions > 1 else []),
        *with_sizes(power, np.abs(image), 3.0, 2, stride=1, **ceil),
        *with_sizes(undone, some(*small), 2, inputs=[places], stride=3, padding=Given(1, stride=4)),
        *with_sizes(areas, image, 3, return_indices=True),
    ]


def with_sizes(kind, x, *sizes, inputs=(), **options) -> list[Row]:
    """Rows of a layer that learns nothing and is made with sizes."""
    name = kind.__name__
    return as_torch(
        lambda *xs, **k: kind(*sizes, **k)(*xs),
        x,
        *inputs,
        twin=lambda torch, *xs, **k: getattr(torch.nn, name)(*sizes, **k)(*xs),
        whose=kind,
        **options,
    )


# ---------------------------------------------------------------------------------------------------------- activations

IMAGE = IMAGES[2]
ACTIVATIONS = [
    *as_module(nn.CELU, X, alpha=0.3),
    *as_module(nn.ELU, X, alpha=0.3),
    *as_module(nn.GELU, X, approximate="tanh"),
    *as_module(nn.GLU, X[:2], dim=0),
    *as_module(nn.Hardshrink, X, lambd=0.2),
    *as_module(nn.Softshrink, X, lambd=0.2),
    *as_module(nn.Hardtanh, X, min_val=-0.2, max_val=0.3),
    *as_module(nn.LeakyReLU, X, words={"scale": "negative_slope"}, scale=0.4),
    *as_module(nn.LeakyReLU, X, negative_slope=0.4),
    *as_module(nn.Softplus, X, beta=2.0, threshold=0.1),
    *as_module(nn.Softmax, X, dim=0),
    *as_module(nn.Softmin, X, dim=0),
    *as_module(nn.LogSoftmax, X, dim=0),
    *as_torch(lambda x, **k: nn.RReLU(**k).eval()(x), X, whose=nn.RReLU, lower=0.2, upper=0.9,
              twin=lambda torch, x, **k: torch.nn.RReLU(**k).eval()(x)),
    *layer(nn.PReLU, on=[X], num_parameters=4),
    *(row for word in ("init", "init_") for row in shows(
        nn.PReLU, word, 0.7, lambda word=word, **k: nn.PReLU(**k).weight, np.array([0.7], "float32"))),
    *as_module(nn.Flatten, IMAGES[2], start_dim=2, end_dim=2),
]  # fmt: skip

ROWS = [
    *(row for kind, args in PLACED.items() for row in placed(kind, *args)),
    *(row for kind, _ in of_directions("InstanceNorm") for row in affine_instances(kind)),
    *(row for kind, d in of_directions("Conv") for row in convolution(kind, d)),
    *(row for kind, d in of_directions("ConvTranspose") for row in transposed(kind, d)),
    *(row for kind, d in (*of_directions("BatchNorm"), (nn.BatchNorm, 2)) for row in batch_norm(kind, d)),
    *(row for kind, d in of_directions("InstanceNorm") for row in instance_norm(kind, d)),
    *(row for directions in (1, 2, 3) for row in pools(directions)),
    *ACTIVATIONS,
    *layer(nn.Linear, 4, 3, on=[X], bias=False),
    *layer(nn.Bilinear, 4, 4, 3, on=[X, X], bias=False),
    *layer(nn.LayerNorm, 4, on=[X], eps=0.5, elementwise_affine=False, bias=False),
    *layer(nn.GroupNorm, 2, 4, on=[IMAGE], eps=0.5, affine=False),
    *layer(nn.RMSNorm, 4, on=[X], eps=0.5, elementwise_affine=False),
    *with_sizes(nn.LocalResponseNorm, IMAGE, 3, alpha=0.5, beta=2.0, k=3.0),
    *layer(nn.Embedding, 4, 3, on=[WORDS], padding_idx=1, max_norm=0.7, scale_grad_by_freq=True),
    *layer(nn.Embedding, 4, 3, on=[WORDS], norm_type=Given(1.0, max_norm=0.7)),
    *layer(nn.EmbeddingBag, 4, 3, on=[WORDS], padding_idx=1, max_norm=0.7, norm_type=Given(1.0, max_norm=0.7),
           mode="sum"),
    *layer(nn.EmbeddingBag, 4, 3, on=[TWICE], scale_grad_by_freq=Given(True, mode="sum")),
    *layer(nn.EmbeddingBag, 4, 3, on=[WORDS[0], np.array([0, 2, 5])], include_last_offset=True),
    *layer(nn.AdaptiveLogSoftmaxWithLoss, 4, 6, [1, 3], on=[X, np.array([0, 2, 5])], div_value=Given(2.0),
           head_bias=Given(True, div_value=2.0)),
    *with_sizes(nn.Unfold, IMAGE, 2, dilation=2, padding=1, stride=2),
    *with_sizes(nn.Fold, some(1, 8, 4), (4, 4), 2, stride=2),
    *with_sizes(nn.Fold, some(1, 8, 4), (4, 4), 2, dilation=2),
    *with_sizes(nn.Fold, some(1, 8, 25), (4, 4), 2, padding=1),
    *as_module(nn.Upsample, IMAGE, size=(3, 4)),
    *as_module(nn.Upsample, IMAGE, scale_factor=2),
    *as_module(nn.Upsample, IMAGE, using={"scale_factor": 1.7}, mode="nearest-exact"),
    *as_module(nn.Upsample, IMAGE, using={"scale_factor": 1.7, "mode": "bilinear"}, align_corners=True,
               recompute_scale_factor=True),
    *(row for kind in (nn.UpsamplingBilinear2d, nn.UpsamplingNearest2d) for row in (
        *as_module(kind, IMAGE, size=(3, 4)), *as_module(kind, IMAGE, scale_factor=2))),
]  # fmt: skip
