"""11.3: a trained batch norm, folded into the convolution before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jt_exercises.answers import Array, pair, same
from jt_exercises.backbones import probes
from jt_exercises.backbones.arrays import NEAR, norm
from jt_exercises.exercise import exercise
from jt_exercises.seed import random
from jt_exercises.verdict import ask, part

CASES = {  # (inputs, outputs, eps)
    False: ((3, 3, 1e-5), (2, 5, 1e-3)),
    True: ((3, 4, 1e-5), (1, 1, 1e-3)),
}
LEAST = 0.0005  # so small a variance that eps counts
OTHERWISE = "what does a place of zeros become?"


@exercise(
    "11.3",
    "a batch norm that costs nothing",
    points=2,
    hints=(
        "With `scale = gamma / sqrt(var + eps)`, the batch norm is `y * scale + (beta - mean * scale)`.",
        """The convolution's weight has shape (out, in, kh, kw), and `scale` belongs to the first axis:
        `scale.reshape(-1, 1, 1, 1)`. What if the convolution has a bias, `conv.bias`?""",
        "`return conv.weight * scale.reshape(-1, 1, 1, 1), ...`",
    ),
    why="Two linear steps in a row are one. Each network is folded so before it goes to work.",
)
def fold(answer: Callable[..., Any]) -> str:
    """Compare with the weight and the bias of convolution and batch norm together."""
    for has, cases in CASES.items():
        with part(f"{'with' if has else 'without'} a bias of the convolution"):
            for inputs, outputs, eps in cases:
                draw = random(3, inputs, has)
                weight = draw.normal(size=(outputs, inputs, 3, 3)).astype(np.float32)
                bias = draw.normal(size=outputs).astype(np.float32) if has else None
                _one(answer, weight, bias, norm(draw, outputs, LEAST), eps)
    return "with and without a bias of the convolution"


def _one(answer: Callable[..., Any], own: Array, bias: Array | None, bn: dict[str, Array], eps: float) -> None:
    outputs, inputs = own.shape[:2]
    told = f"Conv2d({inputs}, {outputs}, 3, bias={bias is not None}), BatchNorm2d({outputs}, eps={eps:g})"
    found = ask(answer, own, bias, bn, eps, case=told, name="fold", through=probes.folded)
    weight, offset = pair(found, "fold returns a weight and a bias")
    gamma, beta, mean, var = (values.astype(float) for values in bn.values())
    scale, begin = gamma / np.sqrt(var + eps), 0.0 if bias is None else bias

    def scaled(by: Array) -> Array:
        return own * by[:, None, None, None]

    slips = [
        (scaled(gamma / np.sqrt(var)), "eps is left out"),
        (scaled(gamma / (var + eps)), "that divides by the variance: its square root is the spread"),
        (scaled(1 / np.sqrt(var + eps)), "bn.weight is left out"),
        (own, "the convolution is as it was"),
    ]
    if inputs == outputs:
        wrong = "the inputs are scaled, axis 1 of the weight; a batch norm scales outputs, axis 0"
        slips.append((own * scale[:, None, None], wrong))
    same(weight, scaled(scale), f"the weight of {told}", slips, NEAR, OTHERWISE)
    slips = [
        (beta - mean * scale, "the bias of the convolution goes through the batch norm too"),
        (beta + begin - mean * scale, "that of the convolution is scaled as well"),
        (beta + begin * scale - mean, "the mean is subtracted before it is scaled"),
        (beta + begin * scale, "the running mean is left out"),
        (beta + (begin + mean) * scale, "the mean is subtracted, not added"),
        ((begin - mean) * scale, "bn.bias is left out"),
    ]
    same(offset, beta + (begin - mean) * scale, f"the bias of {told}", slips, NEAR, OTHERWISE)
