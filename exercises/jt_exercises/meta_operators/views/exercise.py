"""02.2: views, each of them one reindex."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jt_edu as jt
from jt_exercises.exercise import exercise
from jt_exercises.meta_operators.built import READ, Outcomes, expect
from jt_exercises.meta_operators.loops import read
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError, part

SIZES = ((4, 5), (5, 2), (1, 1))


@exercise(
    "02.2",
    "views",
    points=2,
    hints=(
        """Ask about one cell first: which element of `x` stands at row 0, column 0 of the result? Then ask about its
        right neighbour, and the one below.""",
        """How many rows and columns does the result have? That is its shape. Taking every second of
        5 columns leaves 3, and of 4 columns leaves 2: `(w + 1) // 2`.""",
        "The diagonal has only one counter: `lambda i: (?, ?)`. Outside `x`, a read gives 0.",
    ),
    why="A view moves no numbers: its index is written into the loop of the operator that reads it.",
)
def views(*answers: Callable[..., Any]) -> str:
    """Compare six views with NumPy's, for matrices of several sizes."""
    if len(answers) != len(VIEWS):
        raise RefusedError(f"six views are asked for: {', '.join(VIEWS)}")
    sizes = [*SIZES, tuple(random(2).integers(2, 7, 2).tolist())]
    for answer, (name, outcomes) in zip(answers, VIEWS.items(), strict=True):
        with part(name):
            for h, w in sizes:
                a = np.add.outer(10.0 * np.arange(1, h + 1), np.arange(w))  # each number tells its row and column
                case = f"x of shape ({h}, {w})"
                expect(answer, jt.array(a), h, w, of=READ, outcomes=outcomes(a, h, w), case=case, name=name)
    return f"six views of matrices of {len(sizes)} sizes, each of them one reindex"


def _twice_as_wide(a: np.ndarray, h: int, w: int) -> Outcomes:
    yield a.repeat(2, axis=1), ""
    yield np.tile(a, 2), "that is `x` beside itself; each column should stand beside itself"
    yield read(a, (h, 2 * w), lambda i, j: (i, j)), "columns 0 and 1 should both read column 0: divide, and round down"
    yield read(a, (h, 2 * w), lambda i, j: (i, 2 * j)), "`x` should become wider: divide the column, and round down"
    yield a.repeat(2, axis=0), "that is twice as high"


def _transposed(a: np.ndarray, h: int, w: int) -> Outcomes:
    yield a.T, ""
    yield read(a, (w, h), lambda i, j: (i, j)), "the shape is turned, but not the index: swap the counters, too"
    yield read(a, (h, w), lambda i, j: (j, i)), "the counters are swapped, but not the shape: there are `w` rows now"
    yield a, "that is `x` as it was"


def _upside_down(a: np.ndarray, h: int, w: int) -> Outcomes:
    yield a[::-1], ""
    yield read(a, (h, w), lambda i, j: (h - i, j)), "row 0 reads row `h`, which is outside: the last one is `h - 1`"
    yield read(a, (h, w), lambda i, j: (-i, j)), "a negative index is outside; it does not count from the end"
    yield a[:, ::-1], "left and right are swapped, not top and bottom"
    yield a[::-1, ::-1], "left and right are swapped as well"


def _every_second_column(a: np.ndarray, h: int, w: int) -> Outcomes:
    half = (w + 1) // 2
    yield a[:, ::2], ""
    yield a[:, : w // 2 * 2 : 2], "a column is missing: where `w` is odd, the last one counts, too"
    yield a[:, :half], "column j of the result should read column 2 j"
    yield read(a, (h, half), lambda i, j: (i, 2 * j + 1)), "the first column is column 0"
    yield read(a, (h, w), lambda i, j: (i, 2 * j)), "it is too wide: there are only (w + 1) // 2 such columns"
    yield a[::2], "that is every second row"


def _diagonal(a: np.ndarray, h: int, w: int) -> Outcomes:
    size = min(h, w)
    yield np.diagonal(a), ""
    yield a[:size, 0], "that is column 0: let the column follow the counter, too"
    yield a[0, :size], "that is row 0: let the row follow the counter, too"
    for wrong, end in ((h, "columns"), (w, "rows")):
        yield read(a, (wrong,), lambda i: (i, i)), f"it is too long: it should end where `x` runs out of {end}"


def _padded(a: np.ndarray, h: int, w: int) -> Outcomes:
    size = h + 2, w + 2
    yield np.pad(a, 1), ""
    yield read(a, size, lambda i, j: (i, j)), "`x` stands in the upper left corner: cell (1, 1) should read x[0, 0]"
    yield read(a, size, lambda i, j: (i + 1, j + 1)), "`x` has moved up and left: cell (1, 1) should read x[0, 0]"
    yield np.pad(a, ((1, 0), (1, 0))), "there should be a row below and a column on the right, too"


VIEWS = {
    "twice_as_wide": _twice_as_wide,
    "transposed": _transposed,
    "upside_down": _upside_down,
    "every_second_column": _every_second_column,
    "diagonal": _diagonal,
    "padded": _padded,
}
