"""02.8: rows of a table are read, and added to, by an array of indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jt_edu as jt
from jt_exercises.exercise import exercise
from jt_exercises.meta_operators.built import ADD, READ, Outcomes, expect
from jt_exercises.meta_operators.loops import accumulate, read
from jt_exercises.seed import random
from jt_exercises.verdict import part

SIZES = ((5, 2, 6), (3, 4, 7), (1, 1, 3), (4, 3, 0))  # rows and width of a table, and how many words


@exercise(
    "02.8",
    "gather and scatter-add",
    points=2,
    hints=(
        "The result of `gather_rows` has a row for each word. Which row of `table` does row i read, and which column?",
        "`table.reindex((n, width), lambda i, j: (load(0, (i,)), j), extras=[words])`.",
        "`add_rows` takes the same lambda, and a shape of `count` rows.",
    ),
    why="A word that stands twice in a text sends two gradients to its row of the embedding table: they add up.",
)
def gather(gather_rows: Callable[..., Any], add_rows: Callable[..., Any]) -> str:
    """Compare with NumPy, for tables of several sizes and words that repeat."""
    cases = []
    for size in SIZES:
        draw, (count, width, n) = random(*size), size
        table, rows = (draw.permutation(k * width).reshape(k, width) + 1.0 for k in (count, n))
        cases.append((table, rows, draw.integers(0, count, n)))
    with part("gather_rows"):
        for table, _, words in cases:
            case = f"a table of {len(table)} rows, words {words.tolist()}"
            expect(gather_rows, jt.array(table), jt.array(words), of=READ, outcomes=_gathered(table, words), case=case)
    with part("add_rows"):
        for table, rows, words in cases:
            case, asked = f"words {words.tolist()}, count {len(table)}", (jt.array(rows), jt.array(words), len(table))
            expect(add_rows, *asked, of=ADD, outcomes=_added(rows, words, len(table)), case=case)
    return f"{len(cases)} tables, one of which is never read; words repeat"


def _gathered(table: np.ndarray, words: np.ndarray) -> Outcomes:
    shape = len(words), table.shape[1]
    yield table[words], ""
    yield read(table, shape, lambda i, j: (i, j)), "row i of the result should be row words[i] of the table, not row i"
    yield table[words].T, "that is the result transposed: it has a row for each word"


def _added(rows: np.ndarray, words: np.ndarray, count: int) -> Outcomes:
    def added(how: str, height: int = count) -> np.ndarray:
        return accumulate(how, rows, (height, rows.shape[1]), lambda i, j: (words[i], j))

    yield added("add"), ""
    yield added("last"), "a word that repeats keeps the last of its rows; they should add up"
    yield added("maximum"), "a word that repeats keeps the largest numbers of its rows; they should add up"
    straight = accumulate("add", rows, (count, rows.shape[1]), lambda i, j: (i, j))
    yield straight, "row i goes to row i; it should go to row words[i]"
    yield added("add", len(rows)), "the table has `count` rows, however many words there are"
