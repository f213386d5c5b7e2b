"""Cnn: the data and the first weights of a network like LeNet for small digits, which both sides train."""

from itertools import pairwise

import numpy as np

SIZES = (8, 64)  # height and width of an image, batch
CHANNELS, FEATURES = (1, 6, 16), (120, 84, 10)
RATE = 0.1


def numbers(side: int, batch: int) -> tuple[tuple[np.ndarray, np.ndarray], dict[str, np.ndarray]]:
    """(images, labels), and the weights by name; two convolutions of 3 x 3, each followed by a pool, then three layers.

    (n, 1, side, side) -> (n, 6, side / 2, ...) -> (n, 16, side / 4, ...) -> 120 -> 84 -> 10
    """
    rng = np.random.default_rng(0)
    widths = (CHANNELS[-1] * (side // 4) ** 2, *FEATURES)
    shapes = [(o, i, 3, 3) for i, o in pairwise(CHANNELS)]
    shapes += [(o, i) for i, o in pairwise(widths)]
    weights = {}
    for number, shape in zip((0, 3, 7, 9, 11), shapes, strict=True):  # their places in a Sequential
        bound = 1 / np.sqrt(np.prod(shape[1:]))
        weights[f"{number}.weight"] = rng.uniform(-bound, bound, shape).astype(np.float32)
        weights[f"{number}.bias"] = rng.uniform(-bound, bound, shape[:1]).astype(np.float32)
    images = rng.standard_normal((batch, 1, side, side), np.float32)
    return (images, rng.integers(0, FEATURES[-1], batch)), weights


def layers(nn, side: int) -> list:
    """The layers, in the words of ours or of PyTorch: they are the same."""
    flat = CHANNELS[-1] * (side // 4) ** 2
    return [
        nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(flat, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    ]  # fmt: skip
