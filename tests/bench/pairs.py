"""Pairs: an operator, as it is written on either side, becomes a line of the table for each size.

    operator("exp", jt.exp, torch.exp, FLAT)  ->  rows for 1,000 and 100,000 and 4,000,000 numbers

Sizes stand in the order small, middle, large, tiny; tiny is for tests. No array is larger than 32 MB, the most that
malloc keeps when it is freed: a larger one would measure the page faults of the system.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

import jt_edu as jt
from tests.bench.rows import Case, Goal, Row, vars_and_tensors

COLUMNS = ("small", "middle", "large")
LEAST = Goal("ratio", 0.4)  # of an operator at any size

Size = tuple[int, ...]
Make = Callable[..., Sequence[np.ndarray]]
Sizes = tuple[Size, Size, Size, Size]

FLAT: Sizes = ((1_000,), (100_000,), (4_000_000,), (12,))
TABLE: Sizes = ((10, 100), (100, 1_000), (4_000, 1_000), (3, 4))
SQUARE: Sizes = ((32, 32), (316, 316), (2_000, 2_000), (3, 4))
PICTURES: Sizes = ((1, 4, 16, 16), (4, 32, 28, 28), (32, 40, 56, 56), (2, 4, 6, 6))


# ----------------------------------------------------------------------------------------------------------- numbers


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    """Numbers around 0."""
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def above(*shape: int) -> np.ndarray:
    """Numbers from 0.5 to 1.5."""
    return np.random.default_rng(1).random(shape, np.float32) + np.float32(0.5)


def whole(top: int, *shape: int) -> np.ndarray:
    """Whole numbers from 0 to below `top`."""
    return np.random.default_rng(2).integers(0, top, shape)


def shuffled(n: int) -> np.ndarray:
    """Numbers that all differ, in no order."""
    return np.random.default_rng(3).permutation(n).astype(np.float32)


def normals(count: int) -> Make:
    """`count` arrays of the same shape."""
    return lambda *shape: [normal(*shape, seed=k) for k in range(count)]


def positive(*shape: int) -> list[np.ndarray]:
    return [above(*shape)]


# ------------------------------------------------------------------------------------------------------------- cases


def values(ours: Callable, peer: Callable, make: Make, *size: int, told: Callable | None = None) -> Case:
    """The value of an operator; `told` takes from an array what both sides have to agree in."""
    v, t = vars_and_tensors(*make(*size))
    return Case(lambda: computed(ours(*v)), lambda: peer(*t), told=told)


def gradients(ours: Callable, peer: Callable, make: Make, *size: int) -> Case:
    """The value of a loss, and its gradient for the first array."""
    v, t = vars_and_tensors(*make(*size))
    t[0].requires_grad_()

    def run() -> list[Any]:
        loss = ours(*v)
        return computed([loss, jt.grad(loss, v[0])])

    def run_peer() -> list[Any]:
        loss = peer(*t)
        return [loss, *torch.autograd.grad(loss, t[:1])]

    return Case(run, run_peer)


def layers(ours: Callable, peer: Callable, *size: int) -> Case:
    """A layer in training mode, given its channels; what it remembers of the batches is computed with its answer."""
    (x,), (t,) = vars_and_tensors(normal(*size))
    mine, theirs = ours(size[1]), peer(size[1])
    remembered = [v for v in (getattr(mine, "running_mean", None), getattr(mine, "running_var", None)) if v is not None]

    def run() -> Any:
        answer = mine(x)
        jt.sync([answer, *remembered])
        return answer

    def run_peer() -> Any:
        with torch.no_grad():
            return theirs(t)

    return Case(run, run_peer)


def computed(answer: Any) -> Any:
    """A Var, or several, with their numbers."""
    if isinstance(answer, jt.Var):
        return answer.sync()
    jt.sync(list(answer))
    return answer


# -------------------------------------------------------------------------------------------------------------- rows


def operator(
    name: str, ours: Callable, peer: Callable, sizes: Sizes = FLAT, make: Make | None = None, case: Callable = values,
    **row: Any,
) -> list[Row]:  # fmt: skip
    """One row for each size."""
    build = partial(case, ours, peer) if case is layers else partial(case, ours, peer, make or normals(1))
    return [
        Row(f"{name}, {column}", (LEAST,), build, size, sizes[-1], group=name, column=column, **row)
        for column, size in zip(COLUMNS, sizes, strict=False)
    ]
