"""03.5: the largest number of a row and the sum of its exponentials, in one pass."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from jt_exercises.exercise import exercise
from jt_exercises.fusion.cases import two_numbers
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError, ask

NEAR = 1e-9
INF = math.inf
ROWS = ([1.0, 2.0], [2.0, 1.0], [3.0, 3.0, 3.0], [-1e4, 0.0, 1e4], [1e4, 1e4 - 1], [-INF, -INF, 1.0, -INF], [0.0])
DRAWN = (5, 100)  # numbers of a row


@exercise(
    "03.5",
    "softmax in two passes",
    points=2,
    hints=(
        """With `new = max(m, v)`, each `exp(v' - m)` in the sum has to become `exp(v' - new)`. That is the same as
        multiplying the whole sum `s` by one factor. Which one?""",
        """`-inf - (-inf)` is nan, so treat the case where `new` is still -inf separately: there s is 0.
        `math.exp(-math.inf)` is 0.""",
    ),
    why="FlashAttention is built on this step: a row is read once for both `m` and `s`, however long it is.",
)
def online_softmax(answer: Callable[..., Any]) -> str:
    """Walk along rows, and compare each step with the maximum and the sum of exponentials up to there."""
    rows = [*ROWS, *(random(length).normal(0, 30, length).tolist() for length in DRAWN)]
    for row in rows:
        m, s = -INF, 0.0
        for v in row:
            found = two_numbers(ask(answer, m, s, v, name="step"), "the new (m, s)")
            right = _step(m, s, v)
            if found[0] != right[0] or not math.isclose(found[1], right[1], rel_tol=NEAR):
                raise RefusedError(f"step({m:g}, {s:g}, {v:g}): {_why(m, s, v, found)}", found, right)
            m, s = right
    return f"{len(rows)} rows, each read once for both `m` and `s`"


def _step(m: float, s: float, v: float) -> tuple[float, float]:
    new = max(m, v)
    return (new, 0.0) if new == -INF else (new, s * math.exp(m - new) + math.exp(v - new))


def _why(m: float, s: float, v: float, found: tuple[float, float]) -> str:
    new = max(m, v)
    if any(map(math.isnan, found)):
        if new == -INF:
            return "-inf - -inf is nan: as long as m is -inf nothing has been added, and s stays 0"
        return "this makes nan, as 0 * inf does: the factor of s is exp(m - new), at most 1"
    if found[0] != new:
        return f"m is the largest number so far, {new:g}"
    if new > m and math.isclose(found[1], s + math.exp(v - new), rel_tol=NEAR):
        return "m grows to a new value, and every exp(v - m) that is in s already has to become exp(v - new)"
    return "s is the sum of all exp(v - m), with the new m: what was in it, corrected, and one more"
