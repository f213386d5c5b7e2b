"""08.6: where is a barrier missing?"""

from __future__ import annotations

from typing import Any

import numpy as np

from jt_exercises.exercise import exercise
from jt_exercises.gpu_threads.judging import refuse_findings, right
from jt_exercises.gpu_threads.probes import with_barrier
from jt_exercises.seed import random
from jt_exercises.verdict import NotDoneError, part


def _smoothed(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    for _ in range(3):
        x = (x[np.maximum(np.arange(32) - 1, 0)] + x + x[np.minimum(np.arange(32) + 1, 31)]) / 3
    return x


RIGHT = {
    "rolled": lambda x: x * x + np.roll(x, -1),
    "largest": lambda x: x[:1] * 0 + x.max(),
    "smoothed": _smoothed,
}


@exercise(
    "08.6",
    "where is a barrier missing?",
    points=3,
    hints=(
        "Between a line that writes a number of shared memory and a line that reads it, in another thread.",
        """And between a line that reads it and the next one that writes it: look at loops, whose end is before their
        beginning.""",
        "In `smoothed` all have to have read their neighbors before anybody writes.",
    ),
    why="A barrier has two sides: what was written before it is seen after it, and what was read before it may change.",
)
def barriers(answer: Any) -> str:
    """Put a barrier where the answer says, and look whether the interpreter still finds something."""
    for case, (name, wanted) in enumerate(RIGHT.items()):
        with part(name):
            if isinstance(answer, dict) and answer.get(name) is None:
                raise NotDoneError("there is no line yet")
            x = random(case).normal(size=32).astype(np.float32)
            out = np.zeros_like(wanted(x))
            found = with_barrier(answer, name, x, out)
            refuse_findings(found, f"{name} with a barrier behind line {answer[name]}")
            right(found["arrays"][-1], wanted(x), name)
    return "three barriers, each where it belongs"
