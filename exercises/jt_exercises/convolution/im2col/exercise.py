"""07.1: all windows of an image, by one reindex."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import jt_edu as jt
from jt_exercises.exercise import exercise
from jt_exercises.meta_operators.built import READ, expect
from jt_exercises.seed import random

Case = tuple[tuple[int, ...], int, int, int, int]  # shape, kh, kw, stride, padding
CASES: list[Case] = [
    ((1, 1, 4, 4), 3, 3, 1, 0),
    ((2, 3, 5, 6), 3, 2, 1, 0),
    ((1, 2, 7, 7), 3, 3, 2, 0),
    ((2, 1, 4, 5), 3, 3, 1, 1),
    ((1, 1, 6, 5), 2, 3, 2, 2),
    ((1, 1, 1, 1), 1, 1, 1, 0),
    ((0, 2, 3, 3), 2, 2, 1, 0),
]
DRAWN = 3  # further ones


@exercise(
    "07.1",
    "im2col",
    points=2,
    hints=(
        "There are `(h + 2 * p - kh) // s + 1` places in a column of the result, for stride s and padding p.",
        "With stride s and padding p, place y looks from row y * s - p on.",
        "`image.reindex(shape, lambda n, c, i, j, y, x: (n, c, ?, ?))`",
    ),
    why="Once the windows are columns, any fast product of matrices computes convolutions.",
)
def im2col(answer: Callable[..., Any]) -> str:
    """Compare (n, c, kh, kw, oh, ow) windows with those that slicing finds; one reindex makes them."""
    cases = [*CASES, *map(_drawn, range(DRAWN))]
    for shape, kh, kw, stride, padding in cases:
        numbers = np.arange(1.0, 1 + math.prod(shape), dtype=np.float32).reshape(shape)
        case = f"image of {shape}, kh={kh}, kw={kw}, stride={stride}, padding={padding}"
        right = iter([(_windows(numbers, kh, kw, stride, padding), "")])
        given, unlike = (jt.array(numbers), kh, kw, stride, padding), partial(_unlike, stride, padding)
        expect(answer, *given, of=READ, outcomes=right, case=case, name="columns", unlike=unlike)
    return f"{len(cases)} shapes, no number moved"


def _unlike(stride: int, padding: int, mine: np.ndarray, right: np.ndarray) -> str:
    """What the first tap that sees another number should look at."""
    at = tuple(int(k) for k in np.argwhere(mine != right)[0])
    i, j, y, x = at[2:]
    return (
        f"element {at} is {mine[at]:g}, and should be {right[at]:g}: tap ({i}, {j}) of ({y}, {x}) sees row "
        f"{y} * {stride} + {i} - {padding}, column {x} * {stride} + {j} - {padding}"
    )


def _drawn(k: int) -> Case:
    draw = random(k)
    kh, kw, stride, padding = (int(v) for v in draw.integers((1, 1, 1, 0), (4, 4, 4, 3)))
    return (1, 2, *(int(v) for v in draw.integers(4, 9, 2))), kh, kw, stride, padding


def _windows(numbers: np.ndarray, kh: int, kw: int, stride: int, padding: int) -> np.ndarray:
    padded = np.pad(numbers, ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2))
    found = np.lib.stride_tricks.sliding_window_view(padded, (kh, kw), axis=(2, 3))[:, :, ::stride, ::stride]
    return found.transpose(0, 1, 4, 5, 2, 3)
