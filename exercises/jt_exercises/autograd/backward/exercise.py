"""01.3: a walk back over numbers, each of them once, after all that was made from it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from jt_exercises.answers import same
from jt_exercises.autograd.numbers import EXPRESSIONS, LEFT, gradients, slopes
from jt_exercises.exercise import exercise
from jt_exercises.verdict import ask, part

NEAR = 1e-4  # of the slope: a central difference has an error of its own


@exercise(
    "01.3",
    "backward, in order",
    points=2,
    hints=(
        """Walk through the list from its end. When a number's turn comes, its `grad` is complete: hand `grad * local`
        to each number it came from.""",
        """Two nested loops: `for node in reversed(order)` and `for before, local in node.came_from`. What does the
        inner one change?""",
        "`before` may have received something already. Its gradient is a sum, so add to it.",
    ),
    why="""This is what `jt.grad` does. Thanks to the order, the work grows with how many numbers there are, not
    with how many paths lead through them.""",
)
def backward(answer: Callable[..., Any]) -> str:
    """Compare the gradients of four expressions with measured slopes."""
    for name, e in EXPRESSIONS.items():
        with part(name):
            found = ask(answer, name, case="y, order", name="backward", through=gradients)
            mistakes = {(0.0,) * len(e.at): f"no input received a gradient: {LEFT}", **e.mistakes}
            names = inspect.signature(e.function).parameters
            what = f"{e.text} at {', '.join(f'{n} = {v:g}' for n, v in zip(names, e.at, strict=True))}"
            same(found, np.array(slopes(name)), what, mistakes.items(), NEAR, LEFT)
    return f"{len(EXPRESSIONS)} expressions, one of a thousand steps, and every gradient is the slope"
