"""03.6: how many arrays does fusion remove, and how large are they?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import jt_edu as jt
from jt_edu.lens.fusion_passes import passes
from jt_exercises.exercise import exercise
from jt_exercises.fusion.cases import Kernel, ones, two_numbers
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError, ask

DRAWN = 3  # times all expressions, of sizes that are drawn


def expressions(rows: int, columns: int) -> dict[str, jt.Var]:
    """What is asked about, and how it is written."""
    x, w, square = ones(rows, columns), ones(columns), ones(columns, columns)
    twice = x * 2
    return {
        "x * 2": x * 2,
        "(x * 2 + 1).abs()": (x * 2 + 1).abs(),
        "(x * w + 1).sum(1)": (x * w + 1).sum(1),
        "jt.softmax(x * 3, 1)": jt.softmax(x * 3, 1),
        "x.exp().sum(0) + w": x.exp().sum(0) + w,
        "((x * 2 + 1) @ square) * (x * 2)": ((twice + 1) @ square) * twice,
    }


@exercise(
    "03.6",
    "arrays that fusion removes",
    points=2,
    hints=(
        "Which ids are in `k.nodes` of some kernel, and in `k.stored` of none?",
        "Python's sets do it: `computed - stored` has what is in the first set and not in the second.",
    ),
    why="What is computed and never stored is what fusion saves: memory, and the time to fill and to read it.",
)
def temporaries(answer: Callable[..., Any]) -> str:
    """Compare (arrays, bytes) that were never stored with what the passes of the fusion view count."""
    drawn = [tuple(random(k).integers(1, 60, 2).tolist()) for k in range(DRAWN)]
    cases = [case for shape in ((50, 30), *drawn) for case in expressions(*shape).items()]
    for text, y in cases:
        e, steps = jt.explain(y), passes(jt.document(y))
        kernels = [Kernel(k.name, k.nodes, k.stored) for k in e.kernels]
        values = {n.id: (n.op.name, math.prod(n.shape) * n.dtype.size) for n in e.order}
        right = tuple(float(steps[1][key] - steps[-1][key]) for key in ("temporaries", "temporary_bytes"))
        found = ask(answer, kernels, values, case=f"kernels of {text}, values", name="removed")
        mine = two_numbers(found, "(arrays, bytes)")
        if mine != right:
            raise RefusedError(
                f"for {text} you count {mine[0]:,g} arrays, {mine[1]:,.0f} B in all; fusion removes {right[0]:g} "
                f"arrays, {right[1]:,.0f} B in all. It has the kernels\n" + "\n".join(_row(k, values) for k in kernels)
            )
    return f"{len(cases)} expressions"


def _row(kernel: Kernel, values: Mapping[int, tuple[str, int]]) -> str:
    names = ", ".join(values[n][0] + (" (stored)" if n in kernel.stored else "") for n in kernel.nodes)
    return f"    {kernel.name}: {names}"
