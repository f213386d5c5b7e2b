"""12.4: steps that are too small for float16, and a copy in float32 that remembers them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jt_exercises.answers import Array, same
from jt_exercises.exercise import exercise
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError, ask, part

STEPS, NEAR = 1000, 1e-3  # a float16 has 11 binary digits: two neighbors differ by less than 1 in 1,000
CASES = {  # what is tried -> how many steps, how large the weights and the gradients are, the learning rate
    "one large step": (1, 1.0, 0.5, 0.25),
    "1,000 small steps": (STEPS, 1.0, 0.02, 0.01),
    "1,000 steps with tiny gradients": (STEPS, 4e-3, 2e-5, 1e-3),
}


@exercise(
    "12.4",
    "a copy that remembers",
    points=2,
    hints=(
        "Make the copy once, before the first step: `weights.astype(np.float32)`.",
        "Cast the gradient before it is multiplied: `lr * gradient.astype(np.float32)`.",
        "Only what is returned is cast to float16.",
    ),
    why="""Halves are exact enough to compute a gradient with. They are not exact enough to add up thousands of small
    steps. O2 keeps masters, O3 does not.""",
)
def masters(answer: Callable[..., Any]) -> str:
    """Compare with steps in float32: of a size that float16 sees, that it rounds away, and that underflow."""
    for case, (name, (steps, size, slope, lr)) in enumerate(CASES.items()):
        with part(name):
            draw = random(case)
            weights = (size * draw.uniform(0.6, 0.9, 5)).astype(np.float16)
            gradients = (slope * draw.uniform(0.8, 1.2, (steps, 5)) * draw.choice([-1, 1], 5)).astype(np.float16)
            found = ask(answer, weights.copy(), gradients.copy(), lr, case=f"weights, gradients, lr={lr:g}")
            known = [(_steps(weights, gradients, lr, *how), why) for how, why in HOW.items()]
            known += [(_steps(weights, gradients, 1.0, 1, True, False), "`lr` says how long a step is; it is left out")]
            same(found, _steps(weights, gradients, lr, 1, True, False), "", known, NEAR * size)
            kind = f"of {found.dtype}" if isinstance(found, np.ndarray) else "in a list"
            if kind != "of float16":
                raise RefusedError(f"the weights that are returned are float16, in a NumPy array; yours are {kind}")
    return "every step counts, also where one alone is too small for float16"


HOW = {  # (sign, is the product float32, is the master made anew in each step) -> what is wrong
    (1, False, False): "`lr * gradient` in float16 is rounded to 0, or loses digits: cast the gradient first",
    (1, True, True): "a step alone is too small for float16, and is rounded away: change only the float32 copy",
    (-1, True, False): "it climbs: a step goes down the gradient",
}


def _steps(weights: Array, gradients: Array, lr: float, sign: int, wide: bool, anew: bool) -> Array:
    """The weights after all steps."""
    master = weights.astype(np.float32)
    for gradient in gradients:
        step = sign * lr * gradient.astype(np.float32) if wide else (np.float16(sign * lr) * gradient)
        master = master - step
        if anew:
            master = master.astype(np.float16).astype(np.float32)
    return master.astype(np.float16)
