"""09.1: the k nearest points, found by measuring all of them."""

from __future__ import annotations

from typing import Any

from jt_exercises.exercise import exercise
from jt_exercises.neighbours.cases import compare, two_clouds
from jt_exercises.neighbours.probes import Task, ran, written
from jt_exercises.verdict import RefusedError

CASES = ((5, 9, 2, 3), (4, 7, 3, 1), (3, 6, 1, 6), (6, 20, 3, 4), (1, 1, 2, 1))  # queries, points, axes, k


@exercise(
    "09.1",
    "all distances",
    points=2,
    hints=(
        """Inside the loop over `i`, `far = np.zeros(in1_shape0)` makes an array that belongs to this round alone. Fill
        `far[j]` with a loop over `a`, as in the body above.""",
        """`j = np.argmin(far)` is the nearest. Write it, then set `far[j] = np.inf`, so that it is not the nearest
        again.""",
    ),
    why="It is the reference: slow, and so plain that every faster way can be compared with it.",
)
def brute_force(answer: Any) -> str:
    """Compare the indices of a body with NumPy's, in clouds without ties; threads share its outer loop."""
    text = written(answer)
    tasks = [Task(list(two_clouds(case, *sizes)), (sizes[0], sizes[-1])) for case, sizes in enumerate(CASES)]
    for task, found, _ in ran(text, tasks):
        compare(found, *task.arrays)
    if tasks[0].function(text, "checked").span == 1:
        raise RefusedError("the right indices, but one thread does it all: threads share the rounds of a `prange`")
    return f"{len(CASES)} clouds"
