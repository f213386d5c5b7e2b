"""10.9: a step of gradient descent by hand, and how large it may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jt_edu as jt
from jt_exercises.answers import number, same
from jt_exercises.exercise import exercise
from jt_exercises.seed import random
from jt_exercises.training.walks import Task, by_hand, by_sgd, drawn
from jt_exercises.verdict import RefusedError, ask, part

NEAR = 1e-4
TASKS = {"after 1 step": (1, 12), "after 3 steps": (3, 12), "after 1 step on a single image": (1, 1)}  # steps, images
SHARES = (0.5, 0.95, 1.0, 1.05)
Wrong = Callable[[np.ndarray, np.ndarray, float], np.ndarray]
STEPS: list[tuple[Wrong, str]] = [  # what a mistake leaves of (p, its gradient, lr), and what is missing
    (lambda p, g, lr: p, "it has not changed: `p.assign(...)` changes a parameter, `p = ...` only the name p"),
    (lambda p, g, lr: p + lr * g, "it climbs: a step goes against the gradient"),
    (lambda p, g, lr: p - g, "its length is that of the gradient: where is `lr`?"),
    (lambda p, g, lr: -lr * g, "it assigns the step itself, where the old number minus the step is asked for"),
]
RATES: list[tuple[Callable[[float], float], str]] = [
    (lambda c: 1 / c, "with that a step ends at the best place; it may go farther, to the other side"),
    (lambda c: 2.0, "the steeper a valley, the smaller a step has to be"),
    (lambda c: 2 * c, "the steeper a valley, the smaller a step has to be"),
]


@exercise(
    "10.9",
    "a step by hand",
    points=2,
    hints=(
        "`for p, g in zip(parameters, jt.grad(loss, parameters)):` and one line.",
        """A step makes `w` into `w - lr * curvature * w`: it multiplies `w` by a number. `w` may change its sign; how
        large may it be?""",
        "That number is `1 - lr * curvature`, and it has to stay above -1.",
    ),
    why="Every optimiser is such a step, with more memory; and too large a learning rate is how most trainings fail.",
)
def gradient_descent(descend: Callable[..., Any], largest: Callable[..., Any]) -> str:
    """Compare steps with those of `optim.SGD`, and learning rates with the formula."""
    for name, (steps, images) in TASKS.items():
        with part(name):
            task = drawn(109, images)
            found = ask(descend, task, steps, case="parameters, loss, lr", name="descend", through=by_hand)
            _compared(found, task, steps)
    for curvature in (1.0, 4.0, 0.1, round(random(109).uniform(2, 9), 3)):
        with part(f"in a valley of curvature {curvature:g}"):
            _allowed(ask(largest, curvature, name="largest"), curvature)
    return "in a valley of curvature 1, from w = 1, this is the loss before each of six such steps" + _valley()


def _compared(found: Any, task: Task, steps: int) -> None:
    """RefusedError where the parameters are not what SGD makes of them."""
    right = by_sgd(task, steps)
    net = task.layer()
    gradients = [g.numpy() for g in jt.grad(task.loss(net), net.parameters())]
    for name, mine, before, wanted, g in zip(("weight", "bias"), found, task[:2], right, gradients, strict=True):
        known = ((wrong(before, g, task.lr), why) for wrong, why in STEPS)
        same(mine, wanted, name, known, NEAR, "the new number is the old one, minus `lr` times the gradient")


def _allowed(found: Any, curvature: float) -> None:
    value = number(found, "a learning rate is a number")
    right = 2 / curvature
    if not np.isclose(value, right, NEAR, 0):
        why = next((words for wrong, words in RATES if np.isclose(value, wrong(curvature))), "")
        raise RefusedError(f"yours is {value:g}, it should be {right:g}" + (f": {why}" if why else ""))


def _valley() -> str:
    """What the loss is before each of six steps, from w = 1: each multiplies w by `1 - lr`."""
    rows = [(share, [(1 - 2 * share) ** (2 * k) / 2 for k in range(6)]) for share in SHARES]
    return "".join(f"\n{share} times the largest: " + "  ".join(f"{v:.3f}" for v in losses) for share, losses in rows)
