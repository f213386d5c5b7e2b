"""08.3: a sum of a block, without a race and without a conflict of banks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jt_exercises.exercise import exercise
from jt_exercises.gpu_threads.judging import launch, refuse_conflicts, right
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError, part

THREADS, MOST = 64, 12  # of a block; barriers: one for each halving, and some more
READS, TURNS = 16, 18  # of a thread; of the warps of a block, in shared memory: by halves they are 14 and 13
SIZES = 128, 100, 64, 1


@exercise(
    "08.3",
    "a sum of a block",
    points=2,
    hints=(
        "`tile[t] = x[i] if i < x.size else 0`, and then a barrier, before anybody reads what others have written.",
        "With half = 32, 16, ..., 1: thread t < half does `tile[t] += tile[t + half]`, and then all meet at a barrier.",
        "The barrier stands beside the `if`, not in it: all 64 threads have to come.",
    ),
    why="""The number of steps grows with the logarithm: 64 numbers take 6, a million 20. If thread t added numbers 2t
    and 2t + 1 instead, each bank would be asked for two numbers at once, and half of each warp would wait. If every
    second thread added its neighbor, half of each warp would have nothing to do: that is called *divergence*.""",
)
def block_sum(answer: Callable[..., Any]) -> str:
    """Compare the sums, and look for races and conflicts."""
    for size in SIZES:
        blocks = -(-size // THREADS)
        case = f"{size} numbers, {blocks} blocks"
        with part(case):
            x = random(size).integers(1, 99, size).astype(np.float32)
            out = np.full(blocks, -1, np.float32)
            found = launch(answer, blocks, THREADS, x, out, case=case, name="block_sum")
            wanted = np.array([x[b * THREADS : (b + 1) * THREADS].sum() for b in range(blocks)])
            known = [(x[::THREADS], "nothing is added to the first number"), (out, "nobody has written `out`")]
            right(found["arrays"][-1], wanted, known=known)
            refuse_conflicts(found)
            refuse_waste(found, blocks)
    return f"{len(SIZES)} launches: no race, no bank is asked twice, and few threads wait"


def refuse_waste(found: dict[str, Any], blocks: int) -> None:
    """Tell where most of the threads wait for the others."""
    told = ""
    if found["barriers"] > MOST:
        told = f"{found['barriers']} barriers, and 7 would do: each step halves the number of threads that add"
    elif found["reads"] > READS:
        told = f"one thread reads {found['reads']} times while others wait, and 14 would do: let half of the threads"
        told += " add one number each to theirs, then half of those, and so on"
    elif (turns := found["shared"] // blocks) > TURNS:
        told = f"the warps of a block read shared memory {turns} times, and 13 would do. A warp takes a step for one of"
        told += " its threads as for all 32: let the threads that add be neighbors, so that the other warp need not"
    if told:
        raise RefusedError(told)
