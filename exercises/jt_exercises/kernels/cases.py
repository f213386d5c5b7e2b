"""Cases: which kernels are the exercises of notebook 04 about?

    puzzle()                {"A": text, ...}     six kernels, without the comments that would tell whose they are
    models()                the kernels of a few lines, for three graphs
    column_sum()            the kernel that is to be rewritten

The framework writes the kernels, now; what they say is never written down here. Nothing here knows verdicts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

import jt_edu as jt
from jt_edu.introspect.explain import KernelPlan

ROWS, COLUMNS = 300, 400  # of the table that is added up: it stays in the cache


def zeros(*shape: int) -> jt.Var:
    """An array that exists, so that no kernel makes it."""
    return jt.array(np.zeros(shape, np.float32))


x, row = zeros(6, 8), zeros(8)
PUZZLE: dict[str, Callable[[], jt.Var]] = {
    "A": lambda: x[:, ::2] * 2,
    "B": lambda: x + row,
    "C": lambda: x.sum(0),
    "D": lambda: x * 2 + 1,
    "E": lambda: x.sum(1),
    "F": lambda: x.transpose(0, 1) * 2,
}


def puzzle() -> dict[str, str]:
    """The text of each kernel, by its letter."""
    return {letter: jt.explain(build()).kernels[0].source for letter, build in PUZZLE.items()}


@cache
def models() -> tuple[tuple[KernelPlan, ...], ...]:
    """The kernels of three graphs, the simplest first."""
    x, w, column = zeros(60, 40), zeros(40, 30), zeros(60, 1)
    scaled = x * 2 + 1
    total = scaled.abs().sum(1)
    first = jt.explain(total).kernels

    centred = x - x.mean()
    hidden = centred @ w
    answer = hidden.exp() + 1
    second = jt.explain(answer).kernels

    cheap = column * 3
    total = cheap.sum()
    table = x + cheap
    return first, second, jt.explain(total, table).kernels


def column_sum() -> KernelPlan:
    """The kernel of a sum over the first axis."""
    return jt.explain(zeros(ROWS, COLUMNS).sum(0)).kernels[0]
