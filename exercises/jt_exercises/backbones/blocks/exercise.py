"""11.1: a residual block, and the body of a bottleneck."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jt_edu as jt
from jt_exercises.answers import Array, same
from jt_exercises.backbones import probes
from jt_exercises.backbones.arrays import NEAR, batch_norm, convolution, norm
from jt_exercises.exercise import exercise
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError, ask, part

SHAPES = ((4,), (1, 1), (3, 5, 7))  # of x; the numbers of the first one are told
SIZES = ((16, 4, 1), (8, 4, 2), (3, 1, 3))  # inputs, channels, stride
LAYERS = ["Conv2d", "BatchNorm2d", "ReLU"] * 2 + ["Conv2d", "BatchNorm2d"]


@exercise(
    "11.1",
    "the residual block",
    points=2,
    hints=(
        "`around` is None where x itself is added: `x if around is None else around(x)`.",
        """A 3 by 3 needs `padding=1` to keep height and width. Which of the three convolutions gets the stride? A 1 by
        1 with stride 2 never looks at three quarters of the places.""",
        """`return nn.Sequential(nn.Conv2d(inputs, channels, 1, bias=False), nn.BatchNorm2d(channels), nn.ReLU(), ...)`,
        and so on twice more.""",
    ),
    why="What a block need not change goes around it, and so does the gradient: networks of a hundred layers learn.",
)
def blocks(residual: Callable[..., Any], bottleneck: Callable[..., Any]) -> str:
    """Compare a block with its formula, and a body with three convolutions that have the same weights."""
    with part("residual"):
        for case, shape in enumerate(SHAPES):
            x = (random(1, case).normal(size=shape) if case else np.array([1.0, -2.0, 3.0, -4.0])).astype(np.float32)
            for around in (False, True):
                _residual(residual, x, around)
    with part("bottleneck"):
        for sizes in SIZES:
            _bottleneck(bottleneck, *sizes)
    three, two = sum(o * i * k * k + 2 * o for o, i, k in _shapes(256, 64)), 2 * (256 * 256 * 9 + 256)
    return (
        f"the sum, its way around, and three convolutions. From 256 channels to 256, a bottleneck has {three:,} "
        f"parameters, and two 3 by 3 have {two:,}"
    )


def _residual(residual: Callable[..., Any], x: Array, around: bool) -> None:
    told = f"x, 1 - x, {'2 * x' if around else 'None'}"
    found = ask(residual, jt.array(x), around, case=told, name="residual", through=probes.block)
    straight, other = 1 - x, 2 * x if around else x
    slips = [
        (straight + other, "the relu comes after the sum, and there is none here"),
        (np.maximum(straight, 0) + other, "what comes out of the body gets its relu with the sum, not before it"),
        (np.maximum(straight, 0), "that is the body alone: x has to be added"),
        (np.maximum(straight + x, 0), "`around` says what is added: x itself only where it is None"),
    ]
    what = f"residual({told}) of " + (f"x = {x.tolist()}" if x.ndim == 1 else f"x of shape {x.shape}")
    same(found, np.maximum(straight + other, 0), what, slips, NEAR, "it is not the relu of the sum of the two")


def _shapes(inputs: int, channels: int) -> list[tuple[int, int, int]]:
    """(out, in, window) of the three convolutions."""
    return [(channels, inputs, 1), (channels, channels, 3), (4 * channels, channels, 1)]


def _bottleneck(bottleneck: Callable[..., Any], inputs: int, channels: int, stride: int) -> None:
    case = f"{inputs}, {channels}, {stride}"
    draw, told, state = random(1, inputs), f"bottleneck({case})", dict[str, Array]()
    for k, (o, i, size) in enumerate(_shapes(inputs, channels)):
        state[f"{3 * k}.weight"] = draw.normal(0, (i * size * size) ** -0.5, (o, i, size, size)).astype(np.float32)
        state |= {f"{3 * k + 1}.{name}": values for name, values in norm(draw, o).items()}
    x = draw.normal(size=(2, inputs, 7, 8)).astype(np.float32)
    asked = (state, jt.array(x), inputs, channels, stride)
    found = ask(bottleneck, *asked, case=case, name="bottleneck", through=probes.body)
    if isinstance(found, str):
        raise RefusedError(f"{told} is an nn.Sequential of layers, not {found}")
    kinds, shapes, out = found
    if kinds == [*LAYERS, "ReLU"]:
        raise RefusedError(f"{told} ends with a relu: that of the block comes after the sum, so none stands here")
    if kinds != LAYERS:
        raise RefusedError(
            f"{told} has {', '.join(kinds)}. Three convolutions are asked for, each with a BatchNorm2d behind it, and "
            f"a ReLU behind the first two of these"
        )
    for name in (*state, *shapes):
        if name not in state:
            raise RefusedError(
                f"layer {name[0]} of {told} has a bias, and the batch norm behind it takes that away again with the "
                f"mean: bias=False"
            )
        if shapes.get(name) != state[name].shape:
            shape = shapes.get(name)
            raise RefusedError(f"the weight of layer {name[0]} of {told} has shape {shape}, not {state[name].shape}")
    right, early = _run(x, state, stride), _run(x, state, stride, at=0)
    known = [(early, "the first 1 x 1 has the stride, and never looks at most of the places; the 3 x 3 sees them all")]
    shapes = f"{told} makes {x.shape} into {right.shape}: look at stride and padding"
    same(out, right, told, known, NEAR, "its layers are right, and what comes out is not", shapes)


def _run(x: Array, state: dict[str, Array], stride: int, at: int = 1) -> Array:
    """What the three make of x, where convolution number `at` has the stride."""
    for k, padding in enumerate((0, 1, 0)):
        x = convolution(x, state[f"{3 * k}.weight"], stride if k == at else 1, padding)
        x = batch_norm(x, state, f"{3 * k + 1}")
        x = np.maximum(x, 0) if k < 2 else x
    return x
