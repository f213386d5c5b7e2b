"""06.4: sixteen sums in variables, judged by how often each number is read and written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jt_exercises.exercise import exercise
from jt_exercises.matmul.products import product
from jt_exercises.verdict import RefusedError

SHAPES = ((4, 4, 4), (8, 12, 16))
READS = 0.5  # numbers of a and b for each multiply-add: eight for sixteen


@exercise(
    "06.4",
    "sixteen sums in registers",
    points=2,
    hints=(
        "Which loop is innermost, if a sum is to stay where it is until it is complete?",
        """For each block (i, j): set c00 ... c33 to 0. For each k: read a0 ... a3 (rows i to i + 3) and b0 ... b3
        (columns j to j + 3), then `c00 += a0 * b0` and fifteen more.""",
        "In Python a list `s = [0.0] * 16` will do as well; a compiler wants names.",
    ),
    why="A processor does more multiply-adds in a cycle than it can read numbers for, unless they are in registers.",
)
def registers(answer: Callable[..., Any]) -> str:
    """Count the numbers that are read for each multiply-add: eight for sixteen, and c once."""
    for n, m, p in SHAPES:
        seen = product(answer, n, m, p)
        reads, writes = seen.count(False, "ab") / (n * m * p), seen.count(True, "c") / (n * p)
        if reads > READS:
            raise RefusedError(
                f"right numbers, but {reads:.2g} numbers of a and b are read for each multiply-add, and {READS} would "
                f"do: read 4 of a and 4 of b, then do all 16 products of them"
            )
        if writes > 1 or seen.count(False, "c") > n * p:
            raise RefusedError(
                f"right numbers, but each number of c is written {writes:.3g} times: keep the 16 sums in variables, "
                f"and write them when the loop over k is over"
            )
    return f"{reads:g} reads for each multiply-add, where ijk has 2"
