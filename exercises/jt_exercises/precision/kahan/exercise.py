"""12.5: Kahan's sum, in float16 alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jt_exercises.answers import Array, number
from jt_exercises.exercise import exercise
from jt_exercises.precision.probes import in_halves
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError, ask, part

ULPS = 2  # neighbors of float16 that a sum may be away: Kahan's bound for so many values


@exercise(
    "12.5",
    "what was rounded away",
    points=3,
    hints=(
        "Begin with 0 for both, and go through the values with four lines.",
        "Subtract `lost` from the value before it is added: it is what was added too much.",
        "`lost = (new - total) - small`, in just this order; then `total = new`.",
    ),
    why="""Two more numbers in registers give a sum of halves with the digits of halves. Most kernels go the other
    way: they add in float32, and round once. So do those of jt_edu, and the units of a GPU that multiply matrices.""",
)
def kahan(answer: Callable[..., Any]) -> str:
    """Compare with the exact sum: of equal values, of random ones, with both signs, of one and of two."""
    draw = random(5)
    cases = {
        "1,000 tenths": np.full(1000, 0.1),
        "600 values between 0 and 1": draw.uniform(0.0, 1.0, 600),
        "600 values of both signs": draw.uniform(-0.2, 1.0, 600),
        "2,048 and 50 ones": np.array([2048.0] + [1.0] * 50),
        "two values": np.array([1.5, 0.25]),
        "one value": np.array([-0.375]),
    }
    for name, values in cases.items():
        with part(name):
            _one(answer, name, values.astype(np.float16))
    return f"within {ULPS} neighbors of float16: {', '.join(cases)}"


def _one(answer: Callable[..., Any], name: str, values: Array) -> None:
    found = number(ask(answer, values, case=name, name="kahan", through=in_halves), "the sum is a number")
    right = float(values.astype(np.float64).sum())
    if abs(found - right) <= ULPS * float(np.spacing(np.float16(abs(right)))):
        return
    slips = {
        _plain(values): "that is the plain sum, in which each addition is rounded",
        _slip(values, -1): "`lost` has the wrong sign: it is what was added too much, so subtract it",
    }
    raise RefusedError(f"{name}: {slips.get(found, 'that is not their sum')}", found, right)


def _plain(values: Array) -> float:
    total = np.float16(0)
    for value in values:
        total = np.float16(total + value)
    return float(total)


def _slip(values: Array, sign: int) -> float:
    """Kahan's sum, with `lost` of another sign."""
    total = lost = np.float16(0)
    with np.errstate(all="ignore"):
        for value in values:
            part = np.float16(value - np.float16(sign) * lost)
            new = np.float16(total + part)
            lost, total = np.float16(np.float16(new - total) - part), new
    return float(total)
