"""01.6: the gradient of what was broadcast is a sum."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jt_exercises.answers import same
from jt_exercises.exercise import exercise
from jt_exercises.seed import random
from jt_exercises.verdict import ask, part

CASES = (((3,), (3,)), ((2, 3), (3,)), ((2, 3), (2, 1)), ((2, 4, 3), (1, 4, 1)), ((2, 4, 3), ()), ((2, 0, 3), (1, 3)))
NEAR = 1e-6
OTHERWISE = "the shape is right, the numbers are not: over which axes is the sum taken?"


@exercise(
    "01.6",
    "a broadcast is undone by a sum",
    points=2,
    hints=(
        "Each number was used several times, and each use sends a gradient back: they add.",
        "While there are more axes than wanted, sum over the first: `dout = dout.sum(0)`.",
        "Then `dout.sum(axis, keepdims=True)` for each axis whose wanted length is 1.",
    ),
    why="A bias learns from every row that it was added to. A missing sum is the most frequent mistake in gradients.",
)
def unbroadcast(answer: Callable[..., Any]) -> str:
    """Compare with sums over each axis that was missing, or 1."""
    for large, small in CASES:
        with part(f"from {large} to {small}"):
            dout = random(len(large)).normal(size=large)
            found, right = ask(answer, dout, small, case=f"dout of shape {large}, {small}"), _summed(dout, small)
            asked = f"a gradient has the shape of the Var it belongs to: {small}"
            same(found, right, "", _mistakes(dout, right), NEAR, OTHERWISE, asked)
    return f"{len(CASES)} shapes, one of them empty"


def _summed(dout: np.ndarray, small: tuple[int, ...]) -> np.ndarray:
    """Of `dout` what belongs to each number of the smaller shape."""
    ahead = dout.ndim - len(small)
    axes = tuple(k for k in range(dout.ndim) if k < ahead or small[k - ahead] == 1)
    return np.asarray(dout.sum(axes)).reshape(small)


def _mistakes(dout: np.ndarray, right: np.ndarray) -> Iterator[tuple[np.ndarray, str]]:
    if uses := dout.size / max(right.size, 1):
        words = f"each number was used {uses:g} times, and the gradients of all uses add; yours is their mean"
        yield right / uses, words
        first = tuple(slice(0, n) for n in (1,) * (dout.ndim - right.ndim) + right.shape)
        yield dout[first].reshape(right.shape), "yours is the gradient of one use; those of the others are lost"
