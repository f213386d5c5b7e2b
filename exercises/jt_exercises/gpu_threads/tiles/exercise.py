"""08.5: a product of matrices by tiles of shared memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jt_exercises.exercise import exercise
from jt_exercises.gpu_threads.judging import launch, right
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError, part

TILE = 8
CASES = ((16, 16, 16), (11, 20, 9), (3, 5, 17), (8, 1, 8))  # n, k, m


@exercise(
    "08.5",
    "a product by tiles",
    points=3,
    hints=(
        "`left[y, x] = a[i, k0 + x]` and `right[y, x] = b[k0 + y, j]`, each with 0 where the matrix has ended.",
        "One barrier before the products: all numbers have to be there. `total += left[y, k] * right[k, x]`.",
        "And one after them: nobody may bring the next tile while others still read this one.",
    ),
    why="""Each number of a is read from memory by one thread of a block, and used by 8. With tiles of 32 by 32 it is
    used by 32. Then shared memory is what the product waits for, and registers are the next step.""",
)
def tiles(answer: Callable[..., Any]) -> str:
    """Compare products whose sizes are multiples of a tile, and others; count what is read of a and of b."""
    for n, k, m in CASES:
        case = f"({n}, {k}) by ({k}, {m})"
        with part(case):
            draw = random(n, k, m)
            a, b = (draw.integers(-4, 5, size).astype(np.float32) for size in ((n, k), (k, m)))
            out = np.full((n, m), 99, np.float32)
            blocks = -(-m // TILE), -(-n // TILE)
            found = launch(answer, blocks, (TILE, TILE), a, b, out, case=case, name="product")
            first = a[:, :TILE] @ b[:TILE]
            known = [(first, "only the first tiles are multiplied"), (0 * out, "nothing is added up")]
            right(found["arrays"][-1], a @ b, known=known)
            most = {"a read": n * k * blocks[0], "b read": k * m * blocks[1]}
            for name, limit in most.items():
                reads = found["touched"].get(name, [0, 0, 0])[2]
                if reads > limit:
                    told = f"{reads} numbers of {name[0]} are read, and with tiles it is {limit}"
                    raise RefusedError(f"{told}: take the numbers for the products out of shared memory")
    return f"{len(CASES)} products, and each number is read once for a whole tile"
