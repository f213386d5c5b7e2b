"""Arrays: the layers of these exercises in plain numpy, and the numbers they hold.

convolution, batch_norm     what a judge finds for itself
norm                        a trained batch norm, drawn at random
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from jt_exercises.answers import Array

NEAR = 1e-4  # numbers are in float32, and sums have some hundred of them
EPS = 1e-5  # of a batch norm that was told nothing else


def convolution(x: Array, weight: Array, stride: int = 1, padding: int = 0) -> Array:
    """(n, i, h, w) and (o, i, kh, kw) -> (n, o, ...)."""
    at = (padding, padding)
    seen = np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (0, 0), at, at)), weight.shape[2:], (2, 3))
    return np.asarray(np.einsum("nihwyx,oiyx->nohw", seen[:, :, ::stride, ::stride], weight))


def batch_norm(y: Array, state: Mapping[str, Array], layer: str) -> Array:
    """Of (n, c, h, w), with the statistics that a layer of this name has learned."""
    names = ("weight", "bias", "running_mean", "running_var")
    gamma, beta, mean, var = (state[f"{layer}.{name}"][:, None, None] for name in names)
    return np.asarray((y - mean) / np.sqrt(var + EPS) * gamma + beta)


def norm(draw: np.random.Generator, channels: int, least: float = 0.5) -> dict[str, Array]:
    """The numbers of a batch norm; no variance is below `least`, nor above twenty times that."""
    found = {name: draw.uniform(-1, 1, channels) for name in ("weight", "bias", "running_mean")}
    found["running_var"] = draw.uniform(least, 20 * least, channels)
    return {name: values.astype(np.float32) for name, values in found.items()}
