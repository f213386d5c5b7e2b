"""05.3: by which factor does fusion move a dot to the right?"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import jt_edu as jt
from jt_exercises.answers import entry
from jt_exercises.exercise import exercise
from jt_exercises.verdict import RefusedError, part

SIZE = 1_000_000  # numbers: large enough that the one number of a sum does not count
EXPRESSIONS: dict[str, Callable[..., jt.Var]] = {
    "x.sum()": lambda x, y, z: x.sum(0),
    "x * 2 + 1": lambda x, y, z: x * 2 + 1,
    "(x * x + 1).sum()": lambda x, y, z: (x * x + 1).sum(0),
    "(x + y) * z": lambda x, y, z: (x + y) * z,
}


@exercise(
    "05.3",
    "which fusion moves a dot",
    points=2,
    hints=(
        "Count arrays, read and written, for each operator alone and for the one kernel.",
        "A product whose two factors are the same array reads it once.",
    ),
    why="On the slope a kernel is as fast as its bytes are few, and fusion removes bytes.",
)
def fused(answer: Any) -> str:
    """Compare guessed factors with what `jt.explain` counts, fused and not."""
    arrays = [jt.array(np.ones(SIZE, np.float32)) for _ in range(3)]
    for text, build in EXPRESSIONS.items():
        with part(text):
            mine = entry(answer, text)
            with jt.flag_scope(fuse=False):
                apart = jt.explain(build(*arrays))
            together = jt.explain(build(*arrays))
            right = (together.flops / together.bytes) / (apart.flops / apart.bytes)
            if not math.isclose(mine, right, rel_tol=0.02):
                raise RefusedError(
                    f"fusion moves it by {right:.3g}, not by {mine:g}: for {SIZE / 1e6:g} million numbers, "
                    f"{len(apart.kernels)} kernel(s) move {apart.bytes / 1e6:.3g} MB if not fused, "
                    f"{len(together.kernels)} move {together.bytes / 1e6:.3g} MB fused"
                )
    return f"{len(EXPRESSIONS)} expressions"
