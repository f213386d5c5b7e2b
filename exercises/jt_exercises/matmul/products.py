"""Products: is what a function leaves in c the product a @ b, and how often did the simulated cache miss?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jt_exercises.matmul.memory import Watched, watch
from jt_exercises.matmul.orders import ikj
from jt_exercises.verdict import NotDoneError, RefusedError

WIDTH, LINES = 8, 24  # of the simulated cache: lines of 8 numbers, room for 24 lines
N, TILE = 24, 8  # of the matrices that it is asked about; three tiles fit


def product(answer: Callable[..., Any], *case: int, begun: bool = False) -> Watched:
    """Watch answer(a, b, c, *more) on a of (n, m) and b of (m, p), with case = n, m, p, *more; c has to be a @ b.

    `begun`: it has written something in another case, so one that writes nothing is wrong, and not empty.
    """
    seen = watch(answer, *case)
    written = seen.count(written=True)
    if seen.log and not written:
        raise RefusedError("it reads, and writes nothing into c: what counts is what c holds, not what is returned")
    if not written and not begun:
        raise NotDoneError
    if not np.array_equal(seen.expected, seen.found):
        raise RefusedError(_wrong(seen) + (f", with tiles of {case[3]}" if case[3:] else "") + _known(seen))
    return seen


def _wrong(seen: Watched) -> str:
    """The first element that is wrong, in words."""
    i, j = (int(k) for k in np.argwhere(seen.expected != seen.found)[0])
    return (
        f"for a of {seen.left.shape} and b of {seen.right.shape}, c[{i}, {j}] is {seen.found[i, j]:g} instead of "
        f"{seen.expected[i, j]:g}"
    )


def _known(seen: Watched) -> str:
    """The mistake that gives these very numbers, where it is a known one."""
    left, right, found = seen.left, seen.right, seen.found
    if left.size and np.array_equal(found, np.outer(left[:, -1], right[-1])):
        return ". That is the last product alone: each is added to what c holds"
    times = next((k for k in range(2, 1 + max(found.shape)) if np.array_equal(found, k * seen.expected)), 0)
    return f". Each product is in it {times} times: does each inner loop stay inside its tile?" if times else ""


def in_tiles(seen: Watched) -> str:
    """Refuse a right product that has more than half of the misses of ikj."""
    (n, m), p = seen.left.shape, seen.right.shape[1]
    plain, mine = (w.misses(WIDTH, LINES) for w in (watch(ikj, n, m, p), seen))
    if mine > plain / 2:
        raise RefusedError(
            f"right numbers, but {mine:,} misses, and without tiles ikj has {plain:,}. k and j go through their tiles, "
            f"{TILE} numbers each, before either goes on to the next: the loops over tiles are outermost"
        )
    return f"{mine:,} misses instead of {plain:,}"
