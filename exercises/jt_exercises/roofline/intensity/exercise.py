"""05.1: the operations of a kernel, over the bytes that it reads and writes."""

from __future__ import annotations

import math
from typing import Any

from jt_exercises.answers import entry
from jt_exercises.exercise import exercise
from jt_exercises.verdict import RefusedError, part

CLOSE, NEARLY = 0.01, 0.1  # 0.083 is 1 / 12; 0.09 is not, but means it
INTENSITIES = {  # operations, numbers read and written, bytes of a number
    "x + y": (1, 2, 1, 4),
    "x * 2": (1, 1, 1, 4),
    "x.sum()": (1, 1, 0, 4),
    "x + y, float64": (1, 2, 1, 8),
    "(x * 2 + 1) * x - 3, fused": (4, 1, 1, 4),
    "a @ b, 1200 by 1200": (2 * 1200, 2, 1, 4),
}


@exercise(
    "05.1",
    "operations per byte",
    points=2,
    hints=(
        """`x + y`: one operation for each element; two numbers are read, one is written: 12 bytes. So 1 / 12. A sum
        writes next to nothing.""",
        """A product of n by n matrices: n² elements of n multiplications and n additions each; three matrices of n²
        numbers.""",
    ),
    why="Whether a kernel waits for memory or for arithmetic depends on this one figure.",
)
def intensity(answer: Any) -> str:
    """Compare each guess, and say which bytes were forgotten."""
    for text, counts in INTENSITIES.items():
        with part(text):
            _one(entry(answer, text), *counts)
    return f"{len(INTENSITIES)} expressions"


def _one(mine: float, done: int, read: int, written: int, size: int) -> None:
    right = done / (read + written) / size
    if math.isclose(mine, right, rel_tol=CLOSE):
        return
    slips = {
        "that is for each number, and a number has several bytes": right * size,
        "what is written also moves": done / (read * size),
        "only what is written is counted": done / (max(written, 1) * size),
        "that is bytes for each operation": 1 / right,
        "a multiplication and an addition are two operations": right / 2 if done > size else 0,
        f"a number has {size} bytes here": done / (read + written) / (12 - size),
    }
    why = next((w for w, slip in slips.items() if math.isclose(mine, slip, rel_tol=CLOSE)), "")
    if not why and math.isclose(mine, right, rel_tol=NEARLY):
        raise RefusedError(f"{mine:g} is nearly it, and rounded too far: write a fraction, such as 3 / 7")
    hint = f"{read:g} numbers read and {written:g} written for {done:g} operation{'s' * (done > 1)}"
    raise RefusedError(f"{mine:g} is not right: {why or hint}")
