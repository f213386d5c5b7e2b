"""07.2: a convolution with fewer products of two numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from jt_exercises.convolution.counted import counted
from jt_exercises.exercise import exercise
from jt_exercises.seed import random
from jt_exercises.verdict import RefusedError, ask, part

ROWS = [
    ([1, 2, 3, 4], [1, 0, 0]),
    ([1, 2, 3, 4], [0, 0, 1]),
    ([5, -3, 2, 7], [2, -1, 4]),
    ([0, 1, 0, 0], [3, 5, 7]),
]  # four inputs and three taps
DRAWN = 3  # further ones, and squares
EXACT = re.compile(r"-?\d{1,40}(/\d{1,40})?")  # a number as text; 1e999999999 would never end


@exercise(
    "07.2",
    "Winograd",
    points=3,
    hints=(
        "Try y0 = m1 + m2 + m3, multiply it out, and see what is left for y1.",
        """As matrices: `AT @ ((G @ g) * (BT @ d))`. In two directions each transform is applied to the columns and to
        the rows: `AT @ ((G @ g @ G.T) * (BT @ d @ BT.T)) @ AT.T`.""",
        "With `np.array(d)`, numbers that count their products work in `@`, too.",
    ),
    why="The fastest convolutions of 3 by 3 do less than half of the products that the sum has.",
)
def winograd(one: Callable[..., Any], two: Callable[..., Any]) -> str:
    """Count products of two numbers: 4 instead of 6 for two outputs, 16 instead of 36 for two by two."""
    draw = random(7)
    with part("winograd"):
        for d, g in [*ROWS, *((_whole(draw, 4), _whole(draw, 3)) for _ in range(DRAWN))]:
            _judge("winograd", one, d, g, [sum(d[k + i] * g[i] for i in range(3)) for k in range(2)], 4, 6)
    with part("winograd_2d"):
        for _ in range(DRAWN):
            d, g = _whole(draw, (4, 4)), _whole(draw, (3, 3))
            places = [(y, x) for y in range(2) for x in range(2)]
            right = [sum(d[y + i][x + j] * g[i][j] for i in range(3) for j in range(3)) for y, x in places]
            _judge("winograd_2d", two, d, g, right, 16, 36)
    return "4 products instead of 6, and 16 instead of 36"


def _whole(draw: Any, shape: Any) -> list[Any]:
    found: list[Any] = draw.integers(-5, 6, shape).tolist()
    return found


def _judge(name: str, answer: Any, d: list[Any], g: list[Any], right: list[int], most: int, plain: int) -> None:
    case = f"d={d}, g={g}"
    found, products = ask(answer, d, g, case=case, name=name, through=counted)
    if len(found) != len(right):
        raise RefusedError(f"for {case} there are {len(right)} outputs, {right}, and not {len(found)}")
    if not all(isinstance(v, str) and EXACT.fullmatch(v) for v in found):
        raise RefusedError("it returns plain numbers: compute with those of d and g, which are counted")
    mine = [Fraction(v) for v in found]
    if mine != right:
        shown = ", ".join(f"{float(v):g}" for v in mine)
        raise RefusedError(f"for {case} it finds [{shown}], and should find {right}")
    if products > most:
        raise RefusedError(f"right, with {products} products of two numbers; {most} will do, of {plain}")
