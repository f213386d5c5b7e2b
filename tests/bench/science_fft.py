"""Fourier transforms beside PyTorch (MKL) and NumPy (pocketfft), and how a row of the suite science is made.

A row is a call on both sides: `beside(name, ours, peer, make, size, goal)`.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

import jt_edu as jt
from tests.bench.pairs import normal, values
from tests.bench.rows import Case, Goal, Row

NUMBERS = 1 << 18  # in a batch of transforms: 2 MB as complex64


def waves(*shape: int) -> list[np.ndarray]:
    """Complex numbers around 0."""
    return [normal(*shape) + 1j * normal(*shape, seed=1)]


def reals(*shape: int) -> list[np.ndarray]:
    """Real ones."""
    return [normal(*shape)]


def parts(a: np.ndarray) -> np.ndarray:
    """Complex numbers as real ones, so that both parts are compared."""
    return a.view(a.real.dtype)


def beside_numpy(ours: Callable, peer: Callable, make: Callable, *size: int, told: Callable) -> Case:
    """The same, with a function of arrays as the other side."""
    arrays = make(*size)
    return Case(values(ours, peer, make, *size).ours, lambda: peer(*arrays), told=told)


def beside(
    name: str, ours: Callable, peer: Callable, make: Callable[..., Sequence[np.ndarray]], size: Sequence[int],
    goal: float, tiny: Sequence[int] = (3, 8), case: Callable[..., Case] = values, **row: Any,
) -> Row:  # fmt: skip
    """A row: the time of the peer over ours should be `goal`."""
    return Row(
        name, (Goal("ratio", goal),), partial(case, ours, peer, make, told=parts), tuple(size), tuple(tiny), **row
    )


def transforms(n: int, goal: float) -> list[Row]:
    """`fft` of rows of n numbers, beside both; float32 adds up some rounding over the stages."""
    size, said = (max(1, NUMBERS // n), n), f"{n:,}, batch {max(1, NUMBERS // n)}"
    return [
        beside(f"fft of {said}", jt.fft.fft, torch.fft.fft, waves, size, goal, group="fft", tolerance=1e-4),
        beside(f"fft of {said}, beside NumPy", jt.fft.fft, np.fft.fft, waves, size, goal, case=beside_numpy,
               group="fft", tolerance=1e-4),
    ]  # fmt: skip


def others(n: int) -> list[Row]:
    """The way back, and both ways of real numbers."""
    size, asked = (NUMBERS // n, n), (("ifft", waves), ("rfft", reals), ("irfft", waves))
    both = {name: [partial(getattr(f, name), n=n) for f in (jt.fft, torch.fft)] for name, _ in asked}
    return [
        beside(f"{name} of {n:,}, batch {size[0]}", *both[name], make, size, 0.4, group="fft", tolerance=1e-4)
        for name, make in asked
    ]


FFT = [
    *(row for n in (1000, *(1 << k for k in range(10, 21))) for row in transforms(n, 0.7)),
    *transforms(1009, 0.5),
    *(row for n in (1024, 1 << 16) for row in others(n)),
    beside("fft2 of 256 x 256, batch 8", jt.fft.fft2, torch.fft.fft2, waves, (8, 256, 256), 0.7, (2, 4, 4), group="fft",
           tolerance=1e-4),
]  # fmt: skip
