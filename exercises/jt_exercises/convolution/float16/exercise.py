"""07.4: Winograd's convolution, each step of it rounded to float16."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jt_exercises.answers import numbers
from jt_exercises.convolution.sums import correlate
from jt_exercises.convolution.transforms import Transform, transform
from jt_exercises.exercise import exercise
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError, ask

Try = tuple[Transform, np.ndarray, np.ndarray, np.ndarray]  # t, d, g, and an answer
OUTPUTS = (2, 4, 6)
TRIES = 5  # of each
STEPS = ("`d` and `g`, which come in float64", "`t.G @ g`", "`t.BT @ d`", "the product of both", "the outputs")
TINY = 1e-12  # more than float64 rounds
MEASURED = 200  # convolutions, whose mean error is told


@exercise(
    "07.4",
    "digits lost in float16",
    points=2,
    hints=(
        "First cast the inputs: `d, g = d.astype(np.float16), g.astype(np.float16)`.",
        """Cast what each step gives: `t.G @ g`, `t.BT @ d`, their product, and `t.AT @` that. A matrix in float64 makes
        the result of `@` float64.""",
    ),
    why="An algorithm with fewer products can have larger errors, so a tuner must know the dtype.",
)
def float16(answer: Callable[..., Any]) -> str:
    """Compare F(2, 3), F(4, 3) and F(6, 3), every step of them rounded to float16, with our own rounding."""
    draw, tries = random(16), list[Try]()
    for t in map(transform, OUTPUTS):
        for _ in range(TRIES):
            d, g = draw.normal(size=t.outputs + 2), _taps(draw, t)
            found = ask(answer, t, d, g, case=f"F({t.outputs}, 3), d, g", name="half")
            asked = f"F({t.outputs}, 3) has {t.outputs} outputs in a row, real numbers"
            tries.append((t, d, g, numbers(found, asked, (t.outputs,))))
    for t, d, g, found in tries:
        if not np.array_equal(found, right := in_half(t, d, g)):
            words = _slip(tries) or f"the outputs of F({t.outputs}, 3) are not those of four rounded steps"
            raise RefusedError(words, found, right)
    told = ", ".join(f"F({m}, 3) {error_in_half(m):.1e}" for m in OUTPUTS)
    return f"each step is rounded. Relative errors in float16: the plain sum {error_in_half(0):.1e}, {told}"


def _taps(draw: np.random.Generator, t: Transform) -> np.ndarray:
    """Three taps, none of whose sums is so near the middle of two float16 that the order of its terms matters."""
    while True:
        g = draw.normal(size=3)
        one, other = ((t.G @ g.astype(np.float16) * scale).astype(np.float16) for scale in (1 - TINY, 1 + TINY))
        if np.array_equal(one, other):
            return g


def _slip(tries: Sequence[Try]) -> str:
    """Which rounding is missing, where that is all."""
    for exact in (*((step,) for step in STEPS), STEPS):
        if all(np.allclose(found, in_half(t, d, g, exact), 1e-9, 1e-9) for t, d, g, found in tries):
            return f"it does not round {'anything' if exact == STEPS else exact[0]}"
    return ""


def in_half(t: Transform, d: np.ndarray, g: np.ndarray, exact: Sequence[str] = ()) -> np.ndarray:
    """F(m, 3), where all but the `exact` steps are rounded to float16; sums inside of a step are exact."""

    def cast(step: str, values: np.ndarray) -> np.ndarray:
        return values if step in exact else values.astype(np.float16)

    inputs, taps, turned, products, outputs = STEPS
    d, g = cast(inputs, d), cast(inputs, g)
    product = cast(products, cast(taps, t.G @ g) * cast(turned, t.BT @ d))
    return cast(outputs, t.AT @ product)


def error_in_half(outputs: int) -> float:
    """The mean relative error of F(outputs, 3) in float16; 0 outputs mean the plain sum."""
    draw, errors = random(2), []
    for _ in range(MEASURED):
        d, g = draw.normal(size=(outputs or 4) + 2), draw.normal(size=3)
        right = correlate(d[None], g[None])[0]
        a, b = d.astype(np.float16), g.astype(np.float16)
        summed = a[:-2] * b[0] + a[1:-1] * b[1] + a[2:] * b[2]  # in float16, step by step
        found = in_half(transform(outputs), d, g) if outputs else summed
        errors.append(abs(found.astype(float) - right).max() / abs(right).max())
    return float(np.mean(errors))
