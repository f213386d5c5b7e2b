"""Networks: four small networks, their data and their first weights, which every side trains alike.

    networks.py       sizes, layers, shapes, numbers
    net_ours.py       a step of training in jt_edu       python -m tests.bench.net_ours lstm    takes one step,
    net_peer.py       in PyTorch                         python -m tests.bench.net_peer lstm    and prints the loss
    net_jax.py        in JAX                             python -m tests.bench.net_jax lstm

A step is forward, loss, backward and SGD. The loss is cross entropy where labels are wanted, and the mean squared error
where numbers are.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

RATE = 0.1
CHANNELS, FEATURES = (1, 6, 16), (120, 84, 10)  # of the CNN


@dataclass(frozen=True)
class Network:
    """Sizes, and what is made of them: layers in the words of jt_edu's `nn`, which are PyTorch's; shapes; data."""

    sizes: tuple[int, ...]
    layers: Callable[..., Any]
    shapes: Callable[..., dict[str, tuple[int, ...]]]
    data: Callable[..., tuple[np.ndarray, np.ndarray]]


def numbers(name: str, *sizes: int) -> tuple[tuple[np.ndarray, np.ndarray], dict[str, np.ndarray]]:
    """(x, what is wanted), and the weights by the names that `state_dict` gives them."""
    network, rng = NETWORKS[name], np.random.default_rng(0)
    weights = {}
    for key, shape in network.shapes(*sizes).items():
        bound = 1 / np.sqrt(np.prod(shape[1:] or shape))
        weights[key] = rng.uniform(-bound, bound, shape).astype(np.float32)
    return network.data(rng, *sizes), weights


def products_of_a_step(features: int, hidden: int, classes: int, batch: int) -> list[tuple[int, int, int]]:
    """(m, k, n) of the products of the MLP: two forward, two for the weights, one back to the hidden layer."""
    f, h, c, b = features, hidden, classes, batch
    return [(b, f, h), (b, h, c), (c, b, h), (b, c, h), (h, b, f)]


# -------------------------------------------------------------------------------------------------------------- layers


def _mlp(nn, features, hidden, classes, _):
    return nn.Sequential(nn.Linear(features, hidden), nn.ReLU(), nn.Linear(hidden, classes))


def _cnn(nn, side, _):
    """Like LeNet: (n, 1, side, side) -> (n, 6, side / 2, ...) -> (n, 16, side / 4, ...) -> 120 -> 84 -> 10."""
    return nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(_flat(side), 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip


def _transformer(nn, layers, width, heads, *_):
    layer = nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, batch_first=True)
    return nn.TransformerEncoder(layer, layers)


def _flat(side):
    return CHANNELS[-1] * (side // 4) ** 2


# -------------------------------------------------------------------------------------------------------------- shapes


def _with_biases(weights):
    biases = {f"{key}.bias": shape[:1] for key, shape in weights.items()}
    return {f"{key}.weight": shape for key, shape in weights.items()} | biases


def _of_mlp(features, hidden, classes, _):
    return _with_biases({"0": (hidden, features), "2": (classes, hidden)})


def _of_cnn(side, _):
    shapes = [(o, i, 3, 3) for i, o in pairwise(CHANNELS)] + [(o, i) for i, o in pairwise((_flat(side), *FEATURES))]
    return _with_biases(dict(zip(("0", "3", "7", "9", "11"), shapes, strict=True)))


def _of_lstm(layers, width, *_):
    parts = {"weight_ih": (4 * width, width), "weight_hh": (4 * width, width), "bias_ih": (4 * width,)}
    parts["bias_hh"] = parts["bias_ih"]
    return {f"{part}_l{k}": shape for k in range(layers) for part, shape in parts.items()}


def _of_transformer(layers, width, *_):
    linear = {"self_attn.out_proj": (width, width), "linear1": (4 * width, width), "linear2": (width, 4 * width)}
    one = {"self_attn.in_proj_weight": (3 * width, width), "self_attn.in_proj_bias": (3 * width,)}
    one |= _with_biases(linear | {"norm1": (width,), "norm2": (width,)})
    return {f"layers.{k}.{part}": shape for k in range(layers) for part, shape in one.items()}


# ---------------------------------------------------------------------------------------------------------------- data


def _waves(rng, _, width, length, batch):
    """The answers are to become the inputs of the next moment."""
    waves = rng.standard_normal((length + 1, batch, width), np.float32)
    return waves[:-1], waves[1:]


def _labelled(rng, batch, classes, *shape):
    return rng.standard_normal((batch, *shape), np.float32), rng.integers(0, classes, batch)


NETWORKS = {
    "mlp": Network(  # features, hidden, classes, batch
        (64, 128, 10, 64), _mlp, _of_mlp, lambda rng, features, _, classes, n: _labelled(rng, n, classes, features)
    ),
    "cnn": Network(  # height and width of an image, batch
        (8, 64), _cnn, _of_cnn, lambda rng, side, batch: _labelled(rng, batch, FEATURES[-1], 1, side, side)
    ),
    "lstm": Network((2, 128, 50, 32), lambda nn, n, w, *_: nn.LSTM(w, w, n), _of_lstm, _waves),  # layers, w, length, n
    "transformer": Network(  # layers, width, heads, length, batch
        (2, 128, 4, 64, 16), _transformer, _of_transformer,
        lambda rng, _, width, heads, length, batch: tuple(rng.standard_normal((2, batch, length, width), np.float32)),
    ),
}  # fmt: skip
