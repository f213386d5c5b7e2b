"""08.1: one thread for each element, and a guard for those beyond the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jt_exercises.exercise import exercise
from jt_exercises.gpu_threads.judging import launch, right
from jt_exercises.seed import random
from jt_exercises.verdict import part

CASES = ((40, 2, 32), (32, 1, 32), (7, 3, 4), (65, 3, 32))  # elements, blocks, threads


@exercise(
    "08.1",
    "a guard",
    points=1,
    hints=(
        "`i = cuda.grid(1)` is the number of this thread in the whole launch, and not only in its block.",
        "`if i < x.size:` keeps the threads out that have no element.",
    ),
    why="A GPU starts whole blocks, 32 threads at a time. So nearly every kernel begins with these two lines.",
)
def guard(answer: Callable[..., Any]) -> str:
    """Compare for sizes that fill their blocks, and for sizes that do not."""
    for size, blocks, threads in CASES:
        case = f"{size} elements, {blocks} blocks of {threads} threads"
        with part(case):
            draw = random(size)
            x, y = draw.normal(size=(2, size)).astype(np.float32)
            a = float(draw.integers(2, 9))
            out = np.full(size, 99, np.float32)
            found = launch(answer, blocks, threads, a, x, y, out, case=case, name="scaled")["arrays"][-1]
            first = np.where(np.arange(size) < threads, a * x + y, 99)
            known = [
                (first, "only the first block's elements are there: cuda.threadIdx.x begins at 0 in each block"),
                (a * (x + y), "y is not multiplied by a"),
                (out, "nobody has written `out`"),
                (np.append((a * x + y)[:-1], 99), "the last element is missing"),
            ]
            right(found, a * x + y, known=known)
    return f"{len(CASES)} launches: every element is written once, and nothing beside them is touched"
