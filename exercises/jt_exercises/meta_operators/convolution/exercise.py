"""02.5: a convolution and max pooling, built with three operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import jt_edu as jt
from jt_exercises.exercise import exercise
from jt_exercises.meta_operators.built import ALL, Outcomes, expect
from jt_exercises.meta_operators.loops import read
from jt_exercises.seed import random
from jt_exercises.verdict import part

CONVOLUTIONS = (  # shapes of image and window, stride, padding
    ((7, 8), (3, 2), 1, 0), ((7, 8), (3, 2), 2, 0), ((7, 8), (3, 2), 1, 1), ((7, 8), (3, 2), 3, 1),
    ((4, 6), (1, 5), 2, 2), ((1, 1), (1, 1), 1, 0),
)  # fmt: skip
POOLS = (((6, 9), 2, 2, 0), ((4, 5), 3, 1, 1), ((9, 6), 4, 3, 2), ((1, 3), 1, 2, 0))  # shape, size, stride, padding
Box = tuple[int, int, int, int]  # rows and columns of the result, then those of a window
FIRST = "the first window begins in the padding, which is subtracted from the index"
AWAY = "the padding moves the windows the wrong way: subtract it"
STEP = "with each step, a window moves by the stride, down and to the right"


@exercise(
    "02.5",
    "convolution and pooling",
    points=3,
    hints=(
        """Four counters: `lambda r, c, i, j: ...` over the shape (rows, columns, h, w). Then `*` with the window, read
        as `(i, j)` in the same shape, and `reindex_reduce` into `(r, c)`.""",
        "How many rows? `(H + 2 * p - h) // s + 1`.",
        "For the maximum, what lies outside must never win: `fill=-np.inf`.",
    ),
    why="Whatever these three build is fused, runs on all cores, and has a gradient.",
)
def convolution(my_conv2d: Callable[..., Any], my_max_pool: Callable[..., Any]) -> str:
    """Compare with what each window covers, as a plain loop reads it."""
    with part("my_conv2d"):
        for shape, size, stride, padding in CONVOLUTIONS:
            draw = random(*shape, stride, padding)
            image, window = (draw.integers(-9, 10, s).astype(float) for s in (shape, size))
            asked, case = (jt.array(image), jt.array(window), stride, padding), f"stride {stride}, padding {padding}"
            expect(my_conv2d, *asked, of=ALL, outcomes=_sums(image, window, stride, padding), case=case)
    with part("my_max_pool"):
        for shape, length, stride, padding in POOLS:
            image = -random(*shape, stride).integers(1, 1 << 20, shape).astype(float)  # a 0 would be the largest
            asked, case = (jt.array(image), length, stride, padding), f"stride {stride}, padding {padding}"
            expect(my_max_pool, *asked, of=ALL, outcomes=_maxima(image, length, stride, padding), case=case)
    return f"{len(CONVOLUTIONS)} convolutions, and the maxima of {len(POOLS)} images without any number above 0"


def _sums(image: np.ndarray, window: np.ndarray, stride: int, padding: int) -> Outcomes:
    boxes = list(_boxes(image.shape, window.shape, stride, padding))
    for box, words in boxes:
        yield (_covered(image, box, -padding, stride) * window).sum((2, 3)), words
    box, _ = boxes[0]
    for first, step, words in ((0, stride, FIRST), (padding, stride, AWAY), (-padding, 1, STEP)):
        yield (_covered(image, box, first, step) * window).sum((2, 3)), words
    covered = _covered(image, box, -padding, stride)
    yield (covered * window[::-1, ::-1]).sum((2, 3)), "the window is turned round; here it is read at (i, j)"
    swapped = read(window, window.shape, lambda i, j: (j, i))
    yield (covered * swapped).sum((2, 3)), "the window is read with row and column swapped"
    yield (covered * window).max((2, 3)), "the products of a window should add up; yours keeps the largest"
    yield (covered * window)[:, :, -1, -1], "the products of a window should add up; yours keeps the last"


def _maxima(image: np.ndarray, size: int, stride: int, padding: int) -> Outcomes:
    boxes = list(_boxes(image.shape, (size, size), stride, padding))
    for box, words in boxes:
        yield _covered(image, box, -padding, stride, -np.inf).max((2, 3)), words
    box, _ = boxes[0]
    outside = "a 0 from outside is larger than every number of a negative image. What is read there must never win"
    yield _covered(image, box, -padding, stride).max((2, 3)), outside
    yield _covered(image, box, -padding, size, -np.inf).max((2, 3)), f"{STEP}, not by its size"
    for first, step, words in ((0, stride, FIRST), (padding, stride, AWAY), (-padding, 1, STEP)):
        yield _covered(image, box, first, step, -np.inf).max((2, 3)), words
    yield _covered(image, box, -padding, stride).sum((2, 3)), "that is the sum of each window, not its maximum"


def _covered(image: np.ndarray, box: Box, first: int, step: int, fill: float = 0.0) -> np.ndarray:
    """What each window covers; that of row 0 and column 0 begins at `first`."""
    return read(image, box, lambda r, c, i, j: (r * step + first + i, c * step + first + j), fill)


def _boxes(shape: tuple[int, ...], size: tuple[int, ...], s: int, p: int) -> Iterator[tuple[Box, str]]:
    """With the right number of windows, then with wrong ones."""
    for count, words in (
        (lambda n, k: (n + 2 * p - k) // s + 1, ""),
        (lambda n, k: (n - k) // s + 1, "windows are missing: the padding makes the image 2 * p longer"),
        (lambda n, k: (n + p - k) // s + 1, "windows are missing: the padding is on both sides, 2 * p in all"),
        (lambda n, k: (n + 2 * p - k) // s, "a window is missing: there is one before the first step, so + 1"),
        (lambda n, k: n + 2 * p - k + 1, "there are too many windows: divide by the stride, and round down"),
    ):
        rows, columns = (max(0, count(n, k)) for n, k in zip(shape, size, strict=True))
        yield (rows, columns, size[0], size[1]), words
