"""01.9: backwards through batch norm, a gradient for each name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import jt_edu as jt
from jt_exercises.answers import same
from jt_exercises.exercise import exercise
from jt_exercises.seed import random
from jt_exercises.verdict import NotDoneError, RefusedError, ask, part, short

NAMES = ("scale", "variance", "square", "centred", "mean", "x")
SHAPES = ((6, 4), (3, 1), (7, 2))
NEAR = 1e-9
HINTS = {  # what a wrong gradient of a name most often lacks
    "variance": "`scale` is `variance + 1e-5` to the power of -1/2: what is the slope of such a power?",
    "square": (
        "each number of `variance` is the mean of a column of `square`, "
        "so its gradient is shared among all n numbers of that column"
    ),
    "centred": "`centred` has two readers, `normal` and `square`, and the second one reads it twice",
    "mean": "`mean` is subtracted in every row of `centred`, so its gradient is minus a sum over the rows",
    "x": "`x` has two readers, `centred` and `mean`",
}


def forward(x: jt.Var, dnormal: jt.Var) -> list[jt.Var]:
    """The gradients of all names, as the framework finds them."""
    mean = x.sum(0) / x.shape[0]
    centred = x - mean
    square = centred * centred
    variance = square.sum(0) / x.shape[0]
    scale = (variance + 1e-5) ** -0.5
    return jt.grad((centred * scale * dnormal).sum(), [scale, variance, square, centred, mean, x])


@exercise(
    "01.9",
    "through batch norm",
    points=3,
    hints=(
        "Work from the last name to the first. Each gradient needs only those that stand above it.",
        """`centred` is read by `normal` and twice by `square`; `x` is read by `centred` and by `mean`. Where two names
        read the same name, their two gradients add.""",
        "`mean`, `variance` and `scale` have one number for each column: see section 6.",
    ),
    why="With a name for each step you need one rule at a time, and a sum wherever two readers join.",
)
def batch_norm(answer: Callable[..., Any]) -> str:
    """Compare each name's gradient with the framework's, for batches of three shapes."""
    exact = True
    asked = []
    for shape in SHAPES:
        draw = random(*shape)
        x, dnormal = jt.array(draw.normal(2, 3, shape)), jt.array(draw.normal(size=shape))
        found = ask(answer, x, dnormal, case=f"x and dnormal of shape {shape}", name="backwards")
        if not isinstance(found, Mapping):
            raise RefusedError(f"the answer is a dict of gradients by name, not {short(found)}")
        right = [v.numpy() for v in forward(x, dnormal)]
        asked.append((shape, found, dict(zip(NAMES, right, strict=True))))
    for name in NAMES[1:]:
        with part(f"d{name}"):
            for shape, found, right in asked:
                exact &= _same(name, shape, found.get(name), right[name])
    return "five gradients, " + ("exact to the last bit" if exact else f"nearer than {NEAR:g}")


def _same(name: str, shape: tuple[int, ...], mine: Any, right: np.ndarray) -> bool:
    """Whether a gradient is exact; RefusedError where it is not right."""
    if mine is None:
        raise NotDoneError(f'there is no gradient of "{name}" yet')
    asked = f"for a batch of {shape} its shape is that of `{name}`, {right.shape}"
    return np.array_equal(same(mine, right, near=NEAR, otherwise=HINTS[name], asked=asked), right)
