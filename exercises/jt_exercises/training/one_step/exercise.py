"""10.8: one step of learning, in the style of other frameworks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jt_edu.base.plural import plural
from jt_exercises.exercise import exercise
from jt_exercises.training.walks import Task, by_sgd, drawn, with_optimizer
from jt_exercises.verdict import RefusedError, ask, short

NEAR = 1e-4
STEPS = 3


@exercise(
    "10.8",
    "find the bug",
    hints=(
        "What is in `trial.first.bias.grad` after the first step, and what after the second?",
        "`loss.backward()` *adds* to `.grad`. So each step follows the sum of all gradients so far, not the last one.",
        "An optimiser can empty the `.grad` of its parameters: `zero_grad()`. When must it?",
    ),
    why="`backward` adds, so that a loss can come in several parts. `optimizer.step(loss)` empties `.grad` by itself.",
)
def one_step(answer: Callable[..., Any]) -> str:
    """Compare the parameters after some steps with those after steps of `optimizer.step(loss)`."""
    task = drawn(108)
    for steps in range(1, STEPS + 1):
        found = ask(
            answer, task, steps, case="net, optimizer, x, y", name=f"in step {steps}, learn", through=with_optimizer
        )
        _compared(found, by_sgd(task, steps), task, steps)
    return f"{STEPS} steps, each along its own gradient"


def _compared(found: Any, right: list[np.ndarray], task: Task, steps: int) -> None:
    if not isinstance(found, list) or [np.shape(v) for v in found] != [v.shape for v in right]:
        raise RefusedError(f"the parameters have other shapes after it: {short(found)}")
    if all(np.allclose(a, b, NEAR, NEAR) for a, b in zip(found, right, strict=True)):
        return
    if np.array_equal(found[0], task.weight) and np.array_equal(found[1], task.bias):
        raise RefusedError("no parameter has changed: `optimizer.step()` changes them")
    words = f"after {plural(steps, 'step')} the parameters are not what they should be"
    if steps > 1:
        why = f"after {plural(steps - 1, 'step')} they are: what is in `.grad` when `backward` adds to it?"
        raise RefusedError(f"{words}, {why}", found[0], right[0])
    far = np.abs(found[0] - task.weight).sum() / np.abs(right[0] - task.weight).sum()
    raise RefusedError(f"{words}: this step is {far:.3g} times as long as it should be", found[0], right[0])
