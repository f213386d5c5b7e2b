"""11.5: attention, with and without a mask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import jt_edu as jt
from jt_exercises.answers import Array, pair, same
from jt_exercises.backbones.arrays import NEAR
from jt_exercises.exercise import exercise
from jt_exercises.seed import random
from jt_exercises.verdict import ask, part

CASES = {  # (t, s, d, e)
    False: ((3, 3, 4, 2), (4, 6, 9, 9), (1, 5, 2, 1)),
    True: ((5, 5, 16, 3), (1, 1, 2, 2), (2, 4, 3, 2)),
}


@exercise(
    "11.5",
    "attention",
    points=2,
    hints=(
        """`k.T` has shape (d, s), so the scores `q @ k.T` have shape (t, s). Along which axis do the weights of one
        query stand?""",
        """A score of -inf gives a weight of 0. The mask is `jt.array(np.tri(t, s)) > 0`, and
        `jt.where(mask, scores, -np.inf)` applies it.""",
        "`scores = q @ k.T / np.sqrt(q.shape[1])`",
    ),
    why="This is the whole of what lets the words of a text look at each other. The rest of a transformer you know.",
)
def attention(answer: Callable[..., Any]) -> str:
    """Compare attention, with and without a mask, with its formula."""
    for causal, sizes in CASES.items():
        with part(f"causal={causal}"):
            for case, (t, s, d, e) in enumerate(sizes):
                draw = random(5, case, causal)
                q, k, v = (draw.normal(size=shape).astype(np.float32) for shape in ((t, d), (s, d), (s, e)))
                _one(answer, q, k, v, causal)
    return "any number of queries and keys, with and without a mask"


def _one(answer: Callable[..., Any], q: Array, k: Array, v: Array, causal: bool) -> None:
    shapes = f"q {q.shape}, k {k.shape}, v {v.shape}"
    found = ask(answer, *map(jt.array, (q, k, v)), causal, case=f"{shapes}, {causal}", name="attention")
    out, weights = pair(found, "attention returns what comes out and the weights")
    allowed = np.ones((len(q), len(k)), bool)
    allowed = np.tril(allowed) if causal else allowed
    right, known = _weights(q, k, allowed), _mistakes(weights, q, k, allowed)
    same(weights, right, f"`weights` of {shapes}", known, NEAR, "they are not softmax(q kᵀ / √d)")
    same(out, right @ v, f"`out` of {shapes}", (), NEAR, "the weights are right; what comes out is `weights @ v`")


def _weights(q: Array, k: Array, allowed: Array, scale: float | None = None, axis: int = 1) -> Array:
    scores = q.astype(float) @ k.T * (q.shape[1] ** -0.5 if scale is None else scale)
    powers = np.exp(scores - scores.max()) * allowed
    return np.asarray(powers / np.maximum(powers.sum(axis, keepdims=True), 1e-30))


def _mistakes(weights: Array, q: Array, k: Array, allowed: Array) -> Iterator[tuple[Array, str]]:
    """What the weights may be instead, and what is said of that."""
    if np.isnan(weights).any():
        yield weights, "some are nan: is there a row in which all is masked? Each element may look at itself"
    yield _weights(q, k, allowed, 1.0), "the scores are not divided by the square root of d"
    yield _weights(q, k, allowed, 1 / q.shape[1]), "the scores are divided by d: its square root will do"
    yield _weights(q, k, allowed, axis=0), "each column adds up to 1, and each row should: softmax over the keys"
    if not allowed.all():
        free = _weights(q, k, np.ones_like(allowed))
        powers = np.exp(np.where(allowed, q @ k.T * q.shape[1] ** -0.5, 0))
        yield free, "the mask is left out: with causal=True element i looks at the elements up to i"
        yield (
            _weights(q, k, allowed[::-1, ::-1]),
            "the mask is the wrong way round: these look at what is still to come",
        )
        words = "masked weights are 0, but the rows no longer add up to 1: mask the scores, before the softmax"
        yield free * allowed, words
        words = "a masked score of 0 still gets a weight: e to the 0 is 1. Let it be -inf"
        yield powers / powers.sum(1, keepdims=True), words
