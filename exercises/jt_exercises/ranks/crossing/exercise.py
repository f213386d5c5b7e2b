"""13.3: from how many bytes on is a ring faster than a tree?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import jt_edu as jt
from jt_edu.mpi.perf_model import model
from jt_exercises.answers import same
from jt_exercises.exercise import exercise
from jt_exercises.seed import random
from jt_exercises.verdict import ask, part

SIZES = (16, 4, 64, 2)
NEAR = 1e-6


@exercise(
    "13.3",
    "the crossing",
    points=2,
    hints=(
        "Both have the form (number of messages) · alpha + (bytes of all of them) · beta. Where are they equal?",
        "tree: 2 log₂ P · (alpha + n · beta); ring: 2 (P - 1) · (alpha + n / P · beta). Solve for n.",
    ),
    why="A library of collectives makes this choice at each call. Gradients lie above the crossing, and go by a ring.",
)
def crossing(answer: Callable[..., Any]) -> str:
    """Compare with where both formulas are equal, on machines that are drawn; tell it of the simulated one."""
    for size in SIZES:
        with part(f"{size} ranks"):
            alpha, beta = float(random(size).integers(500, 20_000)), float(random(size, 1).uniform(0.05, 5))
            found = ask(answer, size, alpha, beta, case=f"P={size}, alpha={alpha:g}, beta={beta:.3f}", name="crossing")
            what = f"the crossing, in bytes, for P={size}, alpha={alpha:g} and beta={beta:.3f}"
            same(found, np.array(_right(size, alpha, beta)), what, _mistakes(size, alpha, beta), NEAR)
    line = jt.simulate(2)(model.measure)[0]
    n = _right(16, line.alpha, line.beta)
    return f"on the clock of the simulated ranks, 16 of them should take a ring from {n:,.0f} bytes on"


def _right(size: int, alpha: float, beta: float) -> float:
    tree, ring = 2 * math.log2(size), 2 * (size - 1)
    return alpha * (ring - tree) / (beta * (tree - ring / size))


def _mistakes(size: int, alpha: float, beta: float) -> Iterator[tuple[float, str]]:
    """What known mistakes find, and what is said of them."""
    tree, ring = 2 * math.log2(size), 2 * (size - 1)
    if size > 2:  # two ranks cross at 0
        yield beta * (ring - tree) / (alpha * (tree - ring / size)), "alpha and beta have changed places"
        yield alpha * ring / (beta * tree), "a tree pays alpha for its messages, too, and a ring sends bytes, too"
        yield alpha * ring / (beta * (tree - ring / size)), "a tree pays alpha for each of its messages, too"
        yield alpha * (ring - tree) / (beta * tree), "a ring sends bytes, too: n / P of them in each message"
        yield alpha * (ring - tree) / (beta * (tree - ring)), "a message of the ring has n / P bytes, not n"
        e = 2 * math.log(size)
        yield alpha * (ring - e) / (beta * (e - ring / size)), "it is the logarithm to the base 2"
