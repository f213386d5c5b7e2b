"""Linear algebra: factors of one large matrix, and of many small ones, beside PyTorch (MKL).

A row is a call on both sides, `beside(name, ours, peer, make, size, goal)`, see `science_fft`.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch

import jt_edu as jt
from tests.bench.pairs import normal
from tests.bench.rows import Row
from tests.bench.science_fft import beside, reals

Make = Callable[..., Sequence[np.ndarray]]

PART = {  # what both sides have to agree in; the other part may have other signs
    "qr": lambda linalg: lambda x: linalg.qr(x)[1],
    "lu": lambda linalg: lambda x: linalg.lu_factor(x)[0],
    "eigh": lambda linalg: lambda x: linalg.eigh(x)[0],
    "svd": lambda linalg: lambda x: linalg.svd(x)[1],
}


def definite(n: int) -> list[np.ndarray]:
    """Its own transpose, and positive definite."""
    x = normal(n, n)
    return [x @ x.T + n * np.eye(n, dtype=x.dtype)]


def steady(count: int, n: int) -> list[np.ndarray]:
    """Matrices that are far from singular."""
    return [normal(count, n, n) + n * np.eye(n, dtype="float32")]


def systems(count: int, n: int) -> list[np.ndarray]:
    """These, and as many right sides."""
    return [*steady(count, n), normal(count, n, n, seed=1)]


def symmetric(*shape: int) -> list[np.ndarray]:
    """Their own transposes."""
    x = normal(*shape, shape[-1])
    return [x + x.swapaxes(-1, -2)]


def part(name: str, title: str, make: Make, size: Sequence[int], goal: float, tiny: Sequence[int]) -> Row:
    """A factorisation of which one part is compared."""
    ours, theirs = PART[name](jt.linalg), PART[name](torch.linalg)
    return beside(f"{name} of {title}", ours, theirs, make, size, goal, group="linalg", tolerance=1e-2, tiny=tiny)


LINALG = [
    beside("Cholesky of 512", jt.linalg.cholesky, torch.linalg.cholesky, definite, (512,), 0.5, group="linalg",
           tolerance=1e-3, tiny=(4,)),
    *(part(name, "512", reals, (512, 512), 0.5, (4, 4)) for name in ("qr", "lu")),
    part("eigh", "256", symmetric, (256,), 0.3, (4,)),
    part("svd", "256", reals, (256, 256), 0.3, (4, 4)),
    part("eigh", "1,000 x (8, 8)", symmetric, (1000, 8), 1.5, (2, 4)),
    beside("inv of 1,000 x (8, 8)", jt.linalg.inv, torch.linalg.inv, steady, (1000, 8), 1.5, group="linalg",
           tolerance=1e-4),
    beside("solve of 1,000 x (8, 8)", jt.linalg.solve, torch.linalg.solve, systems, (1000, 8), 1.5, group="linalg",
           tolerance=1e-4),
]  # fmt: skip
