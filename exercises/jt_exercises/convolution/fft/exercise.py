"""07.3: a convolution by Fourier transform."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jt_exercises.answers import numbers
from jt_exercises.convolution.sums import correlate
from jt_exercises.exercise import exercise
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError, ask

CASES = (
    ((1, 4), (1, 2)),
    ((4, 1), (3, 1)),
    ((8, 8), (3, 3)),
    ((7, 10), (2, 5)),
    ((5, 5), (5, 5)),
    ((6, 9), (1, 1)),
    ((1, 1), (1, 1)),
)  # of an image, and of a window
HUGE = 1e9  # a pixel whose rounding is seen wherever it goes


@exercise(
    "07.3",
    "by FFT",
    points=3,
    hints=(
        "`np.fft.fft2(window, image.shape)` fills the window up with zeros.",
        """The conjugate of its transform undoes the flip; then place (0, 0) comes first, and the last places are those
        that went round.""",
    ),
    why="Its cost does not grow with the window, so large windows are where it wins.",
)
def fft(answer: Callable[..., Any]) -> str:
    """Compare with sums over windows, and tell a wrap-around from a flipped window."""
    draw = random(3)
    for size, taps in CASES:
        image, window = draw.normal(size=size), draw.normal(size=taps)
        where, right = f"for an image of {size} and a window of {taps}", correlate(image, window)
        found = ask(answer, image, window, case=f"image of {size}, window of {taps}", name="fft_conv")
        if np.iscomplexobj(found):
            raise RefusedError("the answer is complex: two real arrays give a real one, take `.real`, or irfft2")
        found = numbers(found, f"{where} there are {right.shape} places, real numbers", right.shape)
        if not np.allclose(found, right, atol=1e-9):
            raise RefusedError(f"{where}: {_slip(image, window, found)}", found, right)
    if _by_windows(answer):
        raise RefusedError(
            f"right numbers, but no transform: with pixels of some {HUGE:g} on the diagonal, those places stay exact "
            f"whose window sees none of them. In a product of transforms each number is made of all pixels: multiply "
            f"the `np.fft.fft2` of both"
        )
    return f"{len(CASES)} sizes"


def _by_windows(answer: Callable[..., Any]) -> bool:
    """Whether each place is summed for itself: then huge pixels cost no digits where the window sees none."""
    draw = random(5)
    image, window = draw.normal(size=(12, 12)), draw.normal(size=(3, 3))
    image += np.diag(HUGE * draw.uniform(1, 2, 12))  # one in each row and column: a transform of rows is one, too
    found = np.asarray(ask(answer, image, window, case="huge numbers on the diagonal of (12, 12)", name="fft_conv"))
    unseen = abs(np.subtract.outer(range(10), range(10))) > 2  # the diagonal is outside these windows
    return bool(abs(found - correlate(image, window))[unseen].max() < 1e-12)


def _slip(image: np.ndarray, window: np.ndarray, found: np.ndarray) -> str:
    """What the numbers are instead."""
    if np.allclose(found, correlate(image, window[::-1, ::-1]), atol=1e-9):
        return "the window is upside down: a product of FFTs flips it; take the conjugate of its FFT, or flip it before"
    slid, flipped = np.fft.fft2(image), np.fft.fft2(window, image.shape)
    if _is_part_of(found, np.fft.ifft2(slid * np.conj(flipped)).real, window):
        return "the places are shifted: with the conjugate the first place is (0, 0); and cut off what wraps around"
    if _is_part_of(found, np.fft.ifft2(slid * flipped).real, window):
        return (
            "the window is upside down: a product of FFTs flips it; take the conjugate of its FFT. The first places "
            "are those where the window hangs over the edge; with the conjugate the first place is (0, 0)"
        )
    return "wrong numbers. A product of FFTs goes round: what runs out at the end comes in at the beginning"


def _is_part_of(found: np.ndarray, around: np.ndarray, window: np.ndarray) -> bool:
    """Whether these places are cut out of what goes round, begun at any place of a window."""
    rolls = (np.roll(around, (-down, -right), (0, 1)) for down, right in np.ndindex(*window.shape))
    return any(np.allclose(found, roll[: found.shape[0], : found.shape[1]], atol=1e-9) for roll in rolls)
