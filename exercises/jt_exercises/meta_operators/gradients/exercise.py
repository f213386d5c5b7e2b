"""02.7: the gradients of two reads and of a sum."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import jt_edu as jt
from jt_exercises.exercise import exercise
from jt_exercises.meta_operators.built import ADD, READ, Outcomes, expect
from jt_exercises.meta_operators.loops import Where, accumulate, read
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError, part


class Gradient(NamedTuple):
    """The shape of `dout`, the length of `x`, the operator asked for, and loops: the right one, then mistakes."""

    shape: tuple[int, ...]
    length: int
    of: tuple[str, ...]
    loops: list[tuple[str, Where, str]]  # "read" or how it is accumulated, where, and what is said of it


TWICE = "x2 and x4 are read twice, and both gradients count"
BOTH = "each number is read in both rows, and both gradients count"
GRADIENTS = {
    "windows_gradient": Gradient((3, 3), 7, ADD, [
        ("add", lambda i, k: (2 * i + k,), ""),
        ("add", lambda i, k: (i + k,), "each window is 2 further than the one before: y[i, k] was read from 2 * i + k"),
        ("add", lambda i, _: (2 * i,), "all three numbers of a window receive a gradient, and not the first alone"),
        ("last", lambda i, k: (2 * i + k,), f"{TWICE}; yours keeps the last"),
        ("maximum", lambda i, k: (2 * i + k,), f"{TWICE}; yours keeps the largest"),
    ]),
    "backwards_twice_gradient": Gradient((2, 6), 6, ADD, [
        ("add", lambda _, i: (5 - i,), ""),
        ("add", lambda _, i: (i,), "y[r, i] was read from x[5 - i], so its gradient goes there"),
        ("add", lambda _, i: (6 - i,), "x[6] is outside: y[r, i] was read from x[5 - i]"),
        ("last", lambda _, i: (5 - i,), f"{BOTH}; yours keeps the last"),
        ("maximum", lambda _, i: (5 - i,), f"{BOTH}; yours keeps the largest"),
    ]),
    "pairs_summed_gradient": Gradient((3,), 6, READ, [
        ("read", lambda i: (i // 2,), ""),
        ("read", lambda i: (i,), "x0 and x1 both went into the first sum, so both receive its gradient"),
        ("read", lambda i: (2 * i,), "x[i] went into sum i // 2, so it receives the gradient of that one"),
        ("read", lambda i: (i % 3,), "neighbours went into the same sum, and not numbers that are 3 apart"),
    ]),
}  # fmt: skip


@exercise(
    "02.7",
    "gradients",
    points=2,
    hints=(
        "Where a function reads, its gradient adds; where it adds, its gradient reads.",
        "Use the same lambda as the function, word for word.",
    ),
    why="""A Reindex and a ReindexReduce are each other's gradient. So matmul, convolution and average pooling need no
    rules of their own.""",
)
def gradients(*answers: Callable[..., Any]) -> str:
    """Compare with a loop that adds, or reads, through the same index."""
    if len(answers) != len(GRADIENTS):
        raise RefusedError(f"three gradients are asked for: {', '.join(GRADIENTS)}")
    for answer, (name, asked) in zip(answers, GRADIENTS.items(), strict=True):
        with part(name):
            for case in range(2):
                dout = 1.0 + random(asked.length, case).permutation(math.prod(asked.shape)).reshape(asked.shape)
                told = {"case": f"dout of shape {dout.shape}", "name": name}
                expect(answer, jt.array(dout), of=asked.of, outcomes=_outcomes(dout, asked), **told)
    return "what arrives where a number was read, or where it was added, is its gradient"


def _outcomes(dout: np.ndarray, asked: Gradient) -> Outcomes:
    size = (asked.length,)
    for how, where, words in asked.loops:
        yield read(dout, size, where) if how == "read" else accumulate(how, dout, size, where), words
