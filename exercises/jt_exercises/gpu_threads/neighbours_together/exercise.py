"""08.2: a map in two dimensions, in which the lanes of a warp touch neighbours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jt_exercises.exercise import exercise
from jt_exercises.gpu_threads.judging import launch, right
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError, part

CASES = ((8, 64), (13, 40), (40, 13), (1, 33))  # rows, columns
BLOCK = (32, 4)
MOST = 1.5  # times the trips that are needed: a row does not begin at a multiple of 32 bytes


@exercise(
    "08.2",
    "neighbors together",
    points=2,
    hints=(
        "Threads of a warp differ in the first number of `cuda.grid(2)`. Which index of the matrix has to differ?",
        "`j, i = cuda.grid(2)`: the first one is the column.",
        "`if i < out.shape[0] and j < out.shape[1]:`",
    ),
    why="""A trip to memory brings 32 bytes: 8 numbers that are neighbors. A warp that takes only one of them pays for
    eight. CUDA's documentation calls a trip a *transaction*, and access to neighbors *coalesced*. On a real card the
    kernel with i and j exchanged is several times as slow.""",
)
def neighbours_together(answer: Callable[..., Any]) -> str:
    """Compare, and count the trips."""
    for rows, columns in CASES:
        case = f"{rows} rows, {columns} columns"
        with part(case):
            a, b = random(rows).normal(size=(2, rows, columns)).astype(np.float32)
            blocks = -(-max(rows, columns) // 32), -(-max(rows, columns) // 4)
            out = np.full((rows, columns), 99, np.float32)
            found = launch(answer, blocks, BLOCK, a, b, out, case=case, name="added")
            right(found["arrays"][-1], a + b)
            for name, (trips, least, _) in found["touched"].items():
                if trips > MOST * least + 8:
                    told = f"{name}: the warps make {trips} trips to memory, and {least} would do"
                    raise RefusedError(f"{told}: which index counts along a row?")
    return "right, and neighbors share their trips to memory"
