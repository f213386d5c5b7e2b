"""Linear algebra: factors of one large matrix, and of many small ones, beside PyTorch (MKL).

A row is a call on both sides, `beside(name, ours, peer, make, size, goal)`, see `science`.
"""

import numpy as np
import torch

import jt_edu as jt
from tests.bench.pairs import normal
from tests.bench.science import beside, reals

PART = {"qr": lambda linalg: lambda x: linalg.qr(x)[1], "lu": lambda linalg: lambda x: linalg.lu_factor(x)[0]}


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


LINALG = [
    beside("Cholesky of 512", jt.linalg.cholesky, torch.linalg.cholesky, definite, (512,), 0.5, group="linalg",
           tolerance=1e-3, tiny=(4,)),
    *(
        beside(f"{name} of 512", of(jt.linalg), of(torch.linalg), reals, (512, 512), 0.5, group="linalg",
               tolerance=1e-2, tiny=(4, 4))
        for name, of in PART.items()
    ),
    beside("inv of 1,000 x (8, 8)", jt.linalg.inv, torch.linalg.inv, steady, (1000, 8), 1.5, group="linalg",
           tolerance=1e-4),
    beside("solve of 1,000 x (8, 8)", jt.linalg.solve, torch.linalg.solve, systems, (1000, 8), 1.5, group="linalg",
           tolerance=1e-4),
]  # fmt: skip
