"""06.3: tiles where the sizes are no multiples of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jt_exercises.exercise import exercise
from jt_exercises.matmul.products import TILE, in_tiles, product

CASES = (
    (1, 1, 1, 4), (5, 4, 4, 4), (4, 5, 4, 4), (4, 4, 5, 4), (7, 9, 10, 4), (3, 2, 5, 8), (6, 5, 4, 1),
    (0, 3, 2, 4), (3, 0, 2, 4), (2, 3, 0, 4),
)  # fmt: skip
ODD = (21, 3 * TILE, 3 * TILE)  # where the misses are counted: a row is some whole lines


@exercise(
    "06.3",
    "the edges",
    hints=("Where does a tile end that begins at i0? At i0 + t, or earlier.", "At `min(i0 + t, n)`."),
    why="Most matrices are no multiples of anything. A kernel that is right for multiples only writes outside of them.",
)
def edges(answer: Callable[..., Any]) -> str:
    """Hold a product in tiles to sizes that are no multiples of the tile."""
    product(answer, TILE, TILE, TILE, 4)
    for case in CASES:
        product(answer, *case, begun=True)
    return f"{len(CASES)} shapes, and {in_tiles(product(answer, *ODD, TILE))}"
