"""08.4: a prefix sum over several blocks, in two kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jt_exercises.exercise import exercise
from jt_exercises.gpu_threads.judging import launch, right
from jt_exercises.seed import random
from jt_exercises.verdict import part

THREADS = 32
SIZES = 96, 32, 70, 5


@exercise(
    "08.4",
    "a prefix sum over several blocks",
    points=3,
    hints=(
        "`before = tile[t - by] if t >= by else 0`, a barrier, `tile[t] += before`, a barrier, `by *= 2`.",
        "After the loop the last thread of a block holds its total.",
        "In `shifted`: `for b in range(cuda.blockIdx.x): out[i] += totals[b]`.",
    ),
    why="""Two launches are a barrier for the whole grid. Prefix sums are everywhere: where do the elements go that
    pass a filter, how long is each row of a sparse matrix, which bin does a sorted number belong to?""",
)
def scan(answer: Callable[..., Any], shifted: Callable[..., Any]) -> str:
    """Compare each kernel for itself, the second one with totals that are right."""
    for size in SIZES:
        blocks = -(-size // THREADS)
        x = random(size).integers(1, 9, size).astype(np.float32)
        parts = [x[b * THREADS : (b + 1) * THREADS] for b in range(blocks)]
        inside, totals = np.concatenate([np.cumsum(p) for p in parts]), np.array([p.sum() for p in parts], np.float32)
        case = f"{size} numbers, {blocks} blocks"
        with part(f"scanned, {case}"):
            blank, none = np.full(size, -1, np.float32), np.full(blocks, -1, np.float32)
            _, out, found = launch(answer, blocks, THREADS, x, blank, none, case=case, name="scanned")["arrays"]
            before = np.concatenate([np.cumsum(p) - p for p in parts])
            known = [
                (before, "x[i] itself belongs to the sum"),
                (x, "nothing is added"),
                (blank, "nobody has written `out`"),
            ]
            right(out, inside, "out", known)
            known = [(none, "nobody has written `totals`"), (totals.cumsum(), "these are sums over several blocks")]
            right(found, totals, "totals", known)
        with part(f"shifted, {case}"):
            out = launch(shifted, blocks, THREADS, inside, totals, case=case, name="shifted")["arrays"][0]
            own = np.repeat(totals, THREADS)[:size]
            known = [
                (np.cumsum(x) + own, "the total of a block itself is in its prefix sums already"),
                (inside + np.repeat(np.roll(totals, 1) * (np.arange(blocks) > 0), THREADS)[:size],
                 "that adds the block just before only; all blocks before it count"),
                (inside, "nothing is added"),
            ]  # fmt: skip
            right(out, np.cumsum(x), known=known)
    return f"{', '.join(map(str, SIZES))} numbers: prefix sums without a race"
