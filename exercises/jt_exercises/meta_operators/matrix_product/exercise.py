"""02.4: a matrix product, built with three operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jt_edu as jt
from jt_exercises.exercise import exercise
from jt_exercises.meta_operators.built import ALL, Outcomes, expect
from jt_exercises.meta_operators.loops import Where, accumulate, read
from jt_exercises.seed import random

SIZES = ((4, 3, 5), (2, 2, 2), (1, 6, 1), (3, 1, 2), (2, 0, 3))  # n, m, p


@exercise(
    "02.4",
    "a matrix product",
    points=2,
    hints=(
        "`a.reindex((n, m, p), lambda i, k, j: (i, k))` repeats each element of `a` p times. What does `b` look like?",
        'Nearly all of it: `(A * B).reindex_reduce("add", (n, p), lambda i, k, j: ?)`.',
    ),
    why="Its indices say that it is a matrix product. So the framework can hand it to BLAS, the library for matrices.",
)
def matrix_product(answer: Callable[..., Any]) -> str:
    """Compare with NumPy's product, for matrices of several sizes."""
    for n, m, p in SIZES:
        draw = random(n, m, p)
        a, b = (draw.integers(-9, 10, shape).astype(float) for shape in ((n, m), (m, p)))
        case = f"({n}, {m}) times ({m}, {p})"
        expect(answer, jt.array(a), jt.array(b), of=ALL, outcomes=_outcomes(a, b), case=case, name="my_matmul")
    return f"products of {len(SIZES)} sizes; in one of them the sums have no terms at all"


def _outcomes(a: np.ndarray, b: np.ndarray) -> Outcomes:
    (n, m), p = a.shape, b.shape[1]
    lengths = {"i": n, "k": m, "j": p}

    def at(letters: str) -> Where:
        return lambda *here: tuple(here["ikj".index(letter)] for letter in letters)

    def product(at_a: str, at_b: str, to: str = "ij", shape: str = "ij", how: str = "add") -> np.ndarray:
        both = read(a, (n, m, p), at(at_a)) * read(b, (n, m, p), at(at_b))
        return accumulate(how, both, tuple(lengths[letter] for letter in shape), at(to))

    outside = "Outside the matrix a read gives 0, so no error warns you"
    yield a @ b, ""
    yield product("ki", "kj"), f"`a` is not read at row i, column k. {outside}"
    yield product("ik", "jk"), f"`b` is not read at row k, column j. {outside}"
    yield product("ki", "jk"), f"both are read with row and column swapped. {outside}"
    yield product("ik", "kj", "ji"), "the sum over row i and column j goes to (i, j), not to (j, i)"
    yield product("ik", "kj", "ji", "ji"), "that is the product transposed: it should have n rows and p columns"
    yield product("ik", "kj", how="maximum"), "the products along k should add up; yours keeps the largest"
    yield product("ik", "kj", how="last"), "the products along k should add up; yours keeps the last"
    yield product("ik", "kj", "ik", "ik"), "yours adds up along j; k is the index that both have, and that vanishes"
    yield product("ik", "kj", "kj", "kj"), "yours adds up along i; k is the index that both have, and that vanishes"
