"""Toy data: small, offline, and honest enough to learn from.

digits             1,797 real handwritten digits of 8 x 8 pixels, which come with scikit-learn
moons, spirals     points in the plane, by formula
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jt_edu.base.errors import BackendError
from jt_edu.data.dataset import ArrayDataset
from jt_edu.ops.arguments import number, whole, yes_or_no


def digits(train: bool = True, **attributes: Any) -> ArrayDataset:
    """Handwritten digits: images (n, 1, 8, 8) float32 from 0 to 1, and their numbers (n,) int64 from 0 to 9.

    A fifth of them, drawn once and for all, is held out: 1,437 to train with, 360 to test with.

    Args:
        train: the images to train with, or those that were held out.
        attributes: batch_size, shuffle, ... as for `Dataset`.

    Raises:
        BackendError: scikit-learn, which brings the images, is not installed.

    Source: Alpaydin and Kaynak 1998, "Optical recognition of handwritten digits", UCI machine learning repository.

    Example:
        >>> x, y = next(iter(digits(batch_size=4)))
        >>> x.shape, y.shape
        ((4, 1, 8, 8), (4,))
    """
    try:
        from sklearn.datasets import load_digits  # noqa: PLC0415 - heavy, and only this function needs it
    except ImportError as error:
        raise BackendError("the digits come with scikit-learn", f"{error}", "pip install scikit-learn") from error
    images, labels = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(labels))
    wanted = order[360:] if yes_or_no("digits", "train", train) else order[:360]
    x = (images[wanted] / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    return ArrayDataset(x, labels[wanted].astype(np.int64), **attributes)


def moons(n: int = 200, noise: float = 0.1, **attributes: Any) -> ArrayDataset:
    """Two half circles that reach into each other: points (n, 2) float32, and which moon each is on (n,) int64.

        moon 0: (cos t, sin t)      moon 1: (1 - cos t, 1/2 - sin t)      t from 0 to pi

    Args:
        n: how many points, taken from the two moons in turn.
        noise: standard deviation of what is added to each coordinate, from the generator of `jt.set_global_seed`.
        attributes: batch_size, shuffle, ... as for `Dataset`.

    Raises:
        ArgumentError: there are fewer than two points, or noise is negative.

    Example:
        >>> x, y = next(iter(moons(4, noise=0.0, batch_size=4)))
        >>> x.numpy().round(2) + 0
        array([[ 1. ,  0. ],
               [ 0. ,  0.5],
               [-1. ,  0. ],
               [ 2. ,  0.5]], dtype=float32)
    """
    n, noise = whole("moons", "n", n, 2), number("moons", "noise", noise, 0, finite=True)
    which = np.arange(n) % 2
    t = np.pi * (np.arange(n) // 2) / max((n + 1) // 2 - 1, 1)
    x = np.where(which, 1 - np.cos(t), np.cos(t))
    y = np.where(which, 0.5 - np.sin(t), np.sin(t))
    return _points(np.stack([x, y], 1), which, noise, attributes)


def spirals(
    n: int = 300, classes: int = 3, turns: float = 0.75, noise: float = 0.05, **attributes: Any
) -> ArrayDataset:
    """Spiral arms: points (n, 2) float32 inside the unit circle, and which arm each is on (n,) int64.

        arm c: r * (cos a, sin a),    a = 2 pi * (turns * r + c / classes),    r from 0 to 1

    Args:
        n: how many points, taken from the arms in turn; one for each arm at least.
        classes: how many arms.
        turns: how often an arm goes around.
        noise: standard deviation of what is added to each coordinate, from the generator of `jt.set_global_seed`.
        attributes: batch_size, shuffle, ... as for `Dataset`.

    Raises:
        ArgumentError: an arm has no point, or noise is negative.

    Example:
        >>> x, y = next(iter(spirals(6, classes=2, noise=0.0, batch_size=6)))
        >>> x.shape, y.tolist()
        ((6, 2), [0, 1, 0, 1, 0, 1])
    """
    classes = whole("spirals", "classes", classes, 1)
    n, noise = whole("spirals", "n", n, classes), number("spirals", "noise", noise, 0, finite=True)
    turns = number("spirals", "turns", turns, finite=True)
    which = np.arange(n) % classes
    r = (np.arange(n) // classes) / max(math.ceil(n / classes) - 1, 1)
    angle = 2 * np.pi * (turns * r + which / classes)
    return _points(r[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1), which, noise, attributes)


def _points(places: Any, which: Any, noise: float, attributes: dict[str, Any]) -> ArrayDataset:
    shaken = places + noise * np.random.standard_normal(places.shape)  # noqa: NPY002 - seeded by jt.set_global_seed
    return ArrayDataset(shaken.astype(np.float32), which.astype(np.int64), **attributes)
