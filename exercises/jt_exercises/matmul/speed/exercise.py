"""06.5: a product that numba compiles, ten times as fast as ijk on this machine.

The reference is above twenty. Where the machine is too busy to tell, nothing is judged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from jt_exercises.exercise import exercise
from jt_exercises.matmul.memory import Watched
from jt_exercises.matmul.orders import ijk
from jt_exercises.matmul.probes import compiled, multiplied
from jt_exercises.matmul.products import product
from jt_exercises.seed import random
from jt_exercises.timing import ROUNDS, ratio
from jt_exercises.verdict import NotDoneError, RefusedError, ask

GAIN, SIZE = 10, 512  # times as fast as ijk, for matrices of that size
SMALL = (16, 32, 48)  # in plain Python
GLANCE, CLEAR = 3, 1.5  # rounds after which a gain is clear that is 1.5 times away from the goal
CALM = (0.8, 1.25)  # the same kernel against itself; outside, the machine is too busy to tell
NEAR = 5e-3  # sums of 512 products in float32 are some 1e-4 away


@dataclass
class Trial:
    """Kernels on one pair of matrices, and the seconds that they spent."""

    a: np.ndarray
    b: np.ndarray
    spent: float = 0.0

    def run(self, kernel: Callable[..., Any]) -> None:
        """Let a kernel multiply once, and look at its numbers."""
        case = f"a, b and c of {self.a.shape}, compiled"
        found, seconds = ask(kernel, self.a, self.b, case=case, through=multiplied)
        self.spent += float(seconds)
        away = abs(found - self.a @ self.b).max()
        if not away < NEAR:
            raise RefusedError(f"compiled, on {SIZE} by {SIZE}, it is wrong by {away:.2g}: does it reach every tile?")

    def gain(self, one: Any, other: Any, rounds: int = ROUNDS) -> float:
        """How many times as long one kernel takes as another."""
        return ratio(lambda: self.run(one), lambda: self.run(other), rounds, clock=lambda: self.spent)


@exercise(
    "06.5",
    "ten times as fast",
    points=3,
    hints=(
        """Which order had the fewest misses, and goes along rows? Along a row a vector instruction does 8 or 16
        numbers at once.""",
        """With tiles: numba looks for negative indices in `range(j0, j1)`, and that keeps it from using vectors. Take
        slices first, `row, other = c[i, j0:j1], b[k, j0:j1]`, and loop over `range(len(row))`.""",
        "To go on: four values of k at once read and write the row of c once for four rows of b.",
    ),
    why="No multiplication was saved, and no digit: only the order is another one.",
    seconds=40.0,  # a compiler at work
)
def speed(answer: Callable[..., Any]) -> str:
    """Compile a product, compare it with a @ b, and ask for ten times the speed of ijk."""
    seen = product(answer, *SMALL)  # loops only, nothing outside
    a, b = (random(SIZE, k).normal(size=(SIZE, SIZE)).astype(np.float32) for k in range(2))
    trial, plain, kernel = Trial(a, b), compiled(ijk, checked=False), None
    for checked in (True, False):
        kernel = ask(answer, checked, case="a, b, c", through=compiled)
        trial.run(kernel)
    gain = trial.gain(plain, kernel, GLANCE)
    if GAIN / CLEAR < gain < GAIN * CLEAR:  # else nobody has to wait for more rounds
        gain = trial.gain(plain, kernel)
    if gain >= GAIN:
        return f"{gain:.0f} times as fast as ijk"
    if gain > GAIN / CLEAR and not CALM[0] < (again := trial.gain(kernel, kernel)) < CALM[1]:
        raise NotDoneError(f"the machine is too busy to tell ({again:.2f} against itself); run it again")
    raise RefusedError(f"{gain:.1f} times as fast as ijk; {GAIN} are asked for. {_advice(seen)}")


def _advice(seen: Watched) -> str:
    """What to look at, by what the function reads and writes one after the other."""
    of_b = [place for name, place, _ in seen.log if name == "b"]
    along = sum(after == before + 1 for before, after in pairwise(of_b)) / len(of_b)
    if along < 0.5:
        return "The innermost loop should go along rows of b and c: then a vector instruction does 8 or 16 at once"
    return (
        "It goes along rows, but perhaps not in vectors: numba looks for negative indices in `range(j0, j1)`. Take "
        "slices first, `row = c[i, j0:j1]`, and loop over `range(len(row))`"
    )
