"""04.4: a loop that does four rows at once, so that a sum is read and stored once for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jt_exercises.answers import same
from jt_exercises.exercise import exercise
from jt_exercises.kernels.cases import COLUMNS, ROWS
from jt_exercises.kernels.probes import race, sums
from jt_exercises.kernels.tried import from_behind
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError, ask

SLOW = 0.7  # times as fast: an index that may be negative costs far more than a busy machine does
NEAR = 1e-4
FEW = (8, 4, 1, 2, 3, 5, 6, 7, 9, 0)  # rows of small tables, of so many columns, from one to another
WIDE, LO, HI = 6, 1, 5


@exercise(
    "04.4",
    "four rows at once",
    points=3,
    hints=(
        "Add four numbers of a column first, and then the four to the sum: so a sum is read once for four rows.",
        """`for i1 in range(0, n0 - 3, 4):`, and inside it, for each `i0`, `p0 = a0[at(i1), at(i0)] + a0[at(i1 + 1),
        at(i0)] + ...`""",
        """A loop for the rest comes after it: `for i1 in range(n0 - n0 % 4, n0):`, with the lines that were there
        before.""",
    ),
    why="Memory costs more than arithmetic: a loop that reads a sum less often is faster with the same additions.",
    seconds=60,  # it is compiled
)
def unroll(answer: Callable[..., Any]) -> str:
    """Right sums for any number of rows, one read of a sum for four rows, and no slower than before."""
    for rows in FEW:
        report = _small(answer, rows)
        if rows == FEW[0]:
            reads = _counted(report["reads"], rows)
    table = random(ROWS).normal(size=(ROWS, COLUMNS)).astype(np.float32)
    raced = ask(answer, table, case=f"compiled, on {ROWS} rows", name="four_rows", through=race)
    right = table.sum(0, dtype=np.float64)
    same(raced["out"], right, near=NEAR, otherwise=f"on {ROWS} rows some sums are not the same")
    if (speed := float(raced["speed"])) < SLOW:
        raise RefusedError(
            f"right sums, and {speed:.2f} times as fast as the original. The innermost loop has to go along a row, "
            f"with `at(...)` around each index of it that begins at `lo`"
        )
    return f"each sum is read {reads:g} times for {FEW[0]} rows, and it is {speed:.1f} times as fast, here and now"


def _small(answer: Callable[..., Any], rows: int) -> Mapping[str, Any]:
    """What came of some columns of a small table; RefusedError names the first wrong sum."""
    table = random(rows).integers(1, 50, (rows, WIDE)).astype(np.float32)
    report = ask(answer, table, LO, HI, case=f"{rows} rows", name="four_rows", through=sums)
    out, right = np.asarray(report["out"]), table.sum(0)
    for k in range(WIDE):
        if LO <= k < HI and out[k] != right[k]:
            left = " 4 rows at a time leave some over, which come one by one." if rows % 4 else ""
            left = " Memory holds anything at first: does each sum begin with 0?" if np.isnan(out[k]) else left
            raise RefusedError(
                f"of {rows} row{'s' * (rows != 1)}, the sum of column {k} is {out[k]:g}, and should be {right[k]:g}."
                f"{left}{from_behind(report)}"
            )
        if not LO <= k < HI and not np.isnan(out[k]):
            raise RefusedError(
                f"asked for columns {LO} to {HI - 1}, it also writes column {k}: another thread does that one"
            )
    return report


def _counted(reads: Mapping[str, int], rows: int) -> float:
    """How often each sum is read; RefusedError where that is more than once for four rows."""
    once, again = (reads.get(name, 0) / (HI - LO) for name in ("a0", "acc0"))
    if once > rows:
        raise RefusedError(f"right sums, but of {rows} rows each number is read {once / rows:g} times")
    if once < rows:
        raise RefusedError(
            "right sums, but it takes slices: a kernel goes from number to number, in a loop along the row"
        )
    if again > rows / 4 + 1:
        raise RefusedError(
            f"right sums, but for {rows} rows each of them is read {again:g} times. Add four numbers of a column "
            f"first, and then the four to the sum: {rows // 4} reads, and one to store it"
        )
    return again
