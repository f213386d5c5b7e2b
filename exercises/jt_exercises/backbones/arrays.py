"""Arrays: the layers of these exercises in plain numpy, the numbers they hold, and how an answer is compared.

convolution, batch_norm     what a judge finds for itself
norm                        a trained batch norm, drawn at random
numbers, near, slip         is it an array, is it the right one, and which mistake gives just that?
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jt_exercises.verdict import NotDoneError, RefusedError, short

Array = np.ndarray[Any, Any]
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


def numbers(found: Any, what: str, shape: tuple[int, ...] | None = None) -> Array:
    """What came back, as an array; of this shape."""
    if found is None:
        raise NotDoneError(f"{what} is still None")
    try:
        mine = np.asarray(found)
    except ValueError:  # lists of different lengths
        mine = np.asarray(None)
    if mine.dtype.kind not in "biuf":
        raise RefusedError(f"{what} is an array of numbers, not {short(found)}")
    if shape is not None and mine.shape != shape:
        raise RefusedError(f"{what} has shape {mine.shape}, and should have {shape}")
    return mine.astype(float)


def pair(found: Any, what: str) -> tuple[Any, Any]:
    """What came back, as the two things that were asked for."""
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise RefusedError(f"{what}, not {short(found)}")
    return found[0], found[1]


def near(mine: Array, right: Array) -> bool:
    """Whether two arrays are the same but for rounding."""
    return mine.shape == right.shape and bool(np.allclose(mine, right, NEAR, NEAR))


def slip(mine: Array, slips: Mapping[str, Array], otherwise: str) -> str:
    """The words of the first known mistake that gives these numbers."""
    return next((words for words, wrong in slips.items() if near(mine, wrong)), otherwise)
