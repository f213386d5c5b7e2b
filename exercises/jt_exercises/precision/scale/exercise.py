"""12.3: one step of a dynamic loss scale."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jt_exercises.answers import Array, number, same
from jt_exercises.exercise import exercise
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError, ask, part

NEAR = 1e-6
MAKES = "a clean step", "the last step of a window", "inf", "nan", "-inf in one of many"


@exercise(
    "12.3",
    "a scale that finds itself",
    points=3,
    hints=(
        "`np.isfinite(gradients).all()` is False if a single one is inf or nan.",
        "In a clean step divide by the scale with which the gradients were made; only then may it grow.",
        "`if clean == window:` the scale doubles, and the count begins at 0.",
    ),
    why="""So the scale rises until something overflows, and falls back: one step of 2,000 is lost, and the smallest
    gradients are as large as they can be. `jt.amp.GradScaler` follows this rule.""",
)
def scale(answer: Callable[..., Any]) -> str:
    """Compare with the rule: steps that are made, that let the scale grow, and that are left out."""
    for case, name in enumerate(MAKES):
        with part(name):
            for window in (2, 5):
                draw = random(case, window)
                weights = draw.normal(size=6).astype(np.float32)
                scale, lr = 2.0 ** float(draw.integers(3, 16)), float(draw.choice([0.05, 0.5]))
                gradients = (draw.normal(size=6) * scale).astype(np.float32)
                clean = window - 1 if name == MAKES[1] else int(draw.integers(0, window - 1))
                if case >= 2:
                    clean = window - 1  # this one would let it grow
                    gradients[int(draw.integers(6))] = (np.inf, np.nan, -np.inf)[case - 2]
                _one(answer, weights, gradients, scale, clean, lr, window)
    return f"{', '.join(MAKES)}: weights, scale and count are right"


def _one(
    answer: Callable[..., Any], weights: Array, gradients: Array, scale: float, clean: int, lr: float, window: int
) -> None:
    left_out = not np.isfinite(gradients).all()
    grows = not left_out and clean + 1 == window
    case = f"weights, gradients, scale={scale:g}, clean={clean}, lr={lr}, window={window}"
    given = weights.copy(), gradients.copy(), scale, clean, lr, window
    found = ask(answer, *given, case=case, name="scaled_step")
    if not isinstance(found, (tuple, list)) or len(found) != 3:
        raise RefusedError("scaled_step returns three things: weights, scale, clean")
    with np.errstate(all="ignore"):
        known = [
            (weights - lr * gradients, "the gradients are not divided by the scale"),
            (weights - lr * gradients * scale, "divide the gradients by the scale: the loss was multiplied by it"),
            (weights - lr * gradients / (2 * scale), "divide by the scale that made the gradients, before it grows"),
            (weights + lr * gradients / scale, "it climbs: a step goes down the gradient"),
            (weights - gradients / scale, "`lr` says how long a step is; it is left out"),
            (weights, "this step is clean, and is to be made"),
        ]
        right = weights if left_out else weights - lr * gradients / scale
    if left_out:
        bad = "nan" if np.isnan(gradients).any() else "inf"
        known = [(found[0], f"a gradient is {bad}: leave the step out, and give the weights back as they were")]
    same(found[0], right, "the weights", known, NEAR)
    mine, wanted = number(found[1], "the scale is a number"), scale / 2 if left_out else scale * (1 + grows)
    if mine != wanted:
        raise RefusedError(_of_scale(left_out, grows, clean + 1, window), mine, wanted)
    mine, wanted = number(found[2], "clean is a number"), 0 if left_out or grows else clean + 1
    if mine != wanted:
        why = "after an overflow" if left_out else "when the scale has grown" if grows else ""
        raise RefusedError(
            f"the count begins again at 0 {why}" if why else "`clean` counts this step as well", mine, wanted
        )


def _of_scale(left_out: bool, grows: bool, clean: int, window: int) -> str:
    if left_out:
        return "after an overflow the scale is halved"
    if grows:
        return f"this was clean step {clean} of {window}: the scale doubles"
    return f"this was clean step {clean} of {window}: the scale stays"
