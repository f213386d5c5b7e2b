"""16.3: least squares through QR, and back substitution."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jt_exercises.answers import same
from jt_exercises.exercise import exercise
from jt_exercises.seed import random
from jt_exercises.signals.probes import on_vars
from jt_exercises.verdict import ask, part

SIZES = 5, 2, 1
SHAPES = (9, 4), (3, 3), (4, 1)
NEAR, STEEP = 1e-6, 1e7  # STEEP: a condition number whose square has no digits left
SQUARED = (
    "right for other columns, but not for these, which are nearly alike: do you multiply columns by each other, as in "
    "`a.T @ a`? That squares their condition number"
)


@exercise(
    "16.3",
    "least squares without squares",
    points=3,
    seconds=60,  # kernels are compiled the first time
    hints=(
        "The last row of r has one number: x[-1] = b[-1] / r[-1, -1]. The row above it then has one unknown left.",
        "`for i in reversed(range(len(b))):` and `b[i] - r[i, i + 1:] @ x[i + 1:]`, over r[i, i].",
        "a x = q r x, and q.T @ q is the identity. So what is `r x`?",
    ),
    why="""Nobody who fits curves forms `a.T @ a`: `jt.linalg.lstsq`, and that of NumPy and PyTorch, rotate instead, for
    a rotation loses no digits.""",
)
def least_squares(back: Callable[..., Any], fit: Callable[..., Any]) -> str:
    """Compare with NumPy; in columns that are nearly alike only those who do not square them are right."""
    with part("back"):
        for n in SIZES:
            r = np.triu(random(n).normal(size=(n, n))) + 2 * np.eye(n)
            x, told = random(n, 1).normal(size=n), f"{n} unknowns"
            hidden = np.where(np.tri(n, k=-1), np.nan, r)
            found = ask(back, hidden, r @ x, case=told, name="back")
            same(found, x, told, _slips(r, r @ x), NEAR)
    with part("fit"):
        for m, n in SHAPES:
            a, y = random(m, n).normal(size=(m, n)), random(m).normal(size=m)
            found = ask(fit, a, y, case=f"a of {(m, n)}", name="fit", through=on_vars)
            right = np.linalg.lstsq(a, y)[0]
            r = np.linalg.qr(a)[1]
            known = [(np.linalg.solve(r, y[:n]), "a x = q r x: before r is undone, q has to be")]
            same(found, right, f"a of {(m, n)}", known, NEAR)
        u, _, v = np.linalg.svd(random(3).normal(size=(8, 3)), full_matrices=False)
        a, x = u * [1, 1, 1 / STEEP] @ v, random(4).normal(size=3)
        found = ask(fit, a, a @ x, case="a of (8, 3)", name="fit", through=on_vars)
        same(found, x, "columns that are nearly alike", near=NEAR, otherwise=SQUARED)
    return f"{len(SIZES)} triangles and {len(SHAPES)} fits, and one with a condition number of {STEEP:.0e}"


def _slips(r: np.ndarray, b: np.ndarray) -> Iterator[tuple[np.ndarray, str]]:
    n, upper = len(b), np.triu(r, 1)
    unit = np.eye(n) + upper
    yield np.full(n, np.nan), "nan: below its diagonal r may hold anything. Each row begins at its diagonal"
    yield b / np.diag(r), "each row is taken alone: begin with the last one, whose x the others need"
    yield np.linalg.solve(unit, b), "where is the division by r[i, i]?"
    yield np.linalg.solve(np.eye(n) - upper, b), "the known part goes to the other side: it is subtracted"
