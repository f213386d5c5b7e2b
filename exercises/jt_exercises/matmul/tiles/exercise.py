"""06.2: a product in tiles that fit into a simulated cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jt_exercises.exercise import exercise
from jt_exercises.matmul.products import TILE, N, in_tiles, product


@exercise(
    "06.2",
    "tiles",
    points=2,
    hints=(
        """With all three cut there are six loops: three go from tile to tile, and inside of them three stay within a
        tile.""",
        """`for i0 in range(0, n, t):` and the same for k0 and j0; inside all three `for i in range(i0, i0 + t):` and
        so on. The line in the middle stays as it is.""",
    ),
    why="A number that is in the cache is used t times before it leaves.",
)
def tiles(answer: Callable[..., Any]) -> str:
    """Hold a product in tiles to a @ b, and to half of the misses of ikj."""
    found = in_tiles(product(answer, N, N, N, TILE))
    for case in ((4, 8, 12, 4), (6, 3, 9, 3), (2, 1, 1, 1)):
        product(answer, *case, begun=True)
    return found
