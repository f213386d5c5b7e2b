"""03.4: is it quicker to store a value, or to compute it again for each reader?"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

from jt_exercises.exercise import exercise
from jt_exercises.fusion.cases import two_numbers
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError, ask, part

DRAWN = 8
NEAR = 1e-6
NAMES = ("value", "inputs", "work", "readers", "bandwidth", "peak")
WAYS = {
    "stored": "read the inputs once, compute once, write the value once, and read it once for each reader",
    "again": "each reader reads the inputs and computes; nothing is written",
}


def cases() -> list[tuple[float, ...]]:
    """Values, readers and machines, some of which are drawn."""
    found = [*itertools.product((4e6, 4e3), (4e6, 12e6), (4e8, 0.0), (1, 2, 1000), (1e10,), (1e11, 1e9))]
    for k in range(DRAWN):
        draw = random(k)
        sizes = (10 ** draw.uniform(3, 12, 5)).round().tolist()
        found.append((*sizes[:3], int(draw.integers(1, 100)), *sizes[3:]))
    return found


@exercise(
    "03.4",
    "store or compute twice",
    points=2,
    hints=(
        "First write down how many bytes each way moves, and how many operations it does. Then divide, and add.",
        "Count the bytes of the first way: `inputs + value + readers * value`.",
    ),
    why="Fusing is not an end in itself: a value that is small and costs much to compute is better stored.",
)
def recompute(answer: Callable[..., Any]) -> str:
    """Compare (seconds if stored, seconds if computed again) with the two sums of the text."""
    asked = []
    for case in cases():
        told = ", ".join(f"{name}={number:g}" for name, number in zip(NAMES, case, strict=True))
        value, inputs, work, readers, bandwidth, peak = case
        stored = (inputs + value * (1 + readers)) / bandwidth + work / peak
        again = readers * (inputs / bandwidth + work / peak)
        mine = two_numbers(ask(answer, *case, case=told, name="seconds"), "(stored, again)")
        asked.append((told, mine, (stored, again)))
    for k, (name, hint) in enumerate(WAYS.items()):
        with part(name):
            for told, mine, right in asked:
                if not math.isclose(mine[k], right[k], rel_tol=NEAR):
                    raise RefusedError(f"seconds({told}): {hint}. Add the times", mine[k], right[k])
    return f"{len(asked)} cases"
