"""12.1: what becomes of a number in a small dtype."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jt_exercises.exercise import exercise
from jt_exercises.precision.probes import texts
from jt_exercises.verdict import RefusedError, ask, part

FORMATS = {"float16": (5, 10), "bfloat16": (8, 7), "4 and 3 bits": (4, 3), "3 and 2 bits": (3, 2)}
FATES = "zero", "number", "inf"


@exercise(
    "12.1",
    "does it fit?",
    points=2,
    hints=(
        "The least number is a subnormal whose only digit is the last one: 2**(1 - bias - f).",
        """The largest one has all digits 1: (2 - 2**-f) * 2**bias. The next number would be 2**(bias - f) larger, if
        there were one, and what is nearer to that one becomes inf.""",
        "abs(x) <= least / 2 is zero, abs(x) >= largest + step / 2 is inf.",
    ),
    why="""A loss scale moves gradients away from zero, and not so far that they become inf. bfloat16 has the range
    of float32, so it needs no scale; it pays with three binary digits of the
    fraction.""",
)
def fate(answer: Callable[..., Any]) -> str:
    """Ask on both sides of each edge, in four formats."""
    for name, (e, f) in FORMATS.items():
        bias = 2 ** (e - 1) - 1
        least, top, step = 2.0 ** (1 - bias - f), 2.0 ** (bias + 1), 2.0 ** (bias - f)
        cases = [
            (1.0, "number", ""),
            (2.0 ** (1 - bias), "number", "that is the least number that is not subnormal"),
            (2.0 ** (1 - bias) * 0.375, "number", "below 2**(1 - bias) there are subnormal numbers"),
            (least, "number", "that is the least number, whose last digit alone is 1"),
            (least * 0.75, "number", "it is nearer to the least number than to 0"),
            (least / 2, "zero", "in the middle of 0 and the least number the even one is taken, and that is 0"),
            (least * 0.51, "number", "it is nearer to the least number than to 0"),
            (least * 0.49, "zero", "it is nearer to 0 than to the least number"),
            (0.0, "zero", "it is 0"),
            (top - step, "number", "that is the largest number, all digits of which are 1"),
            (top - step * 0.51, "number", "it is nearer to the largest number than to the next power of two"),
            (top - step / 2, "inf", "in the middle the even one is taken, and that is the next power of two"),
            (top - step * 0.49, "inf", "it is nearer to the next power of two than to the largest number"),
            (top, "inf", "that is the first power of two that is too large"),
        ]
        with part(name):
            for x, right, why in cases:
                for signed in (x, -x):
                    _one(answer, signed, e, f, right, why)
    return f"right at every edge of {len(FORMATS)} formats"


def _one(answer: Callable[..., Any], x: float, e: int, f: int, right: str, why: str) -> None:
    found = ask(answer, x, e, f, case=f"{x:g}, e={e}, f={f}", name="fate", through=texts)
    if not isinstance(found, str) or found not in FATES:
        raise RefusedError(f'fate returns "zero", "number" or "inf", not {found!r}')
    if found != right:
        why = "a minus changes nothing: look at abs(x)" if x < 0 else why
        raise RefusedError(f"fate({x:g}, e={e}, f={f}) is not {found!r}: {why or 'it is a number'}", found, right)
