"""10.8: one step of learning, in the style of other frameworks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jt_edu.base.plural import plural
from jt_exercises.answers import same
from jt_exercises.exercise import exercise
from jt_exercises.training.walks import Task, by_sgd, drawn, with_optimizer
from jt_exercises.verdict import ask

NEAR = 1e-4
STEPS = 3
STILL = "no parameter has changed: `optimizer.step()` changes them"


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
    far = np.abs(found[0] - task.weight).sum() / np.abs(right[0] - task.weight).sum()
    words = f"after {plural(steps, 'step')} the parameters are not what they should be"
    if steps > 1:
        words += f", after {plural(steps - 1, 'step')} they are: what is in `.grad` when `backward` adds to it?"
    else:
        words += f": this step is {far:.3g} times as long as it should be"
    for mine, wanted, before in zip(found, right, task[:2], strict=True):
        same(mine, wanted, known=[(before, STILL)], near=NEAR, otherwise=words)
