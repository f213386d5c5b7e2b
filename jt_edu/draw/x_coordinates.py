"""X coordinates: how far to the right does each box of a rank stand?

    wishes      a . . b c . .       b and c want to stand nearly at the same place
    positions   a . [ b ][ c ]      isotonic regression: as near to the wishes as order and distances allow

Every box wishes to stand in the middle of its neighbours above and below. Then boxes that are each other's strongest
neighbour form a column, exactly one below the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

APART = 24.0  # pixels between two boxes of a rank
SWEEPS = 10

Near = tuple["Box", float, float, float]  # a neighbour; where the line meets its axis, and mine; how much it pulls


@dataclass(eq=False, slots=True)
class Box:
    """Something to place. `x` is its axis, where lines leave; it takes `left` and `right` of that, below `y`."""

    left: float
    right: float
    height: float
    half: float = 0.0  # lines may end this far from the axis
    inset: float = 0.0  # lines end this far inside its top, and begin this far inside its bottom
    foot: float = 0.0  # words stand this high below it, beside the lines that begin there
    rank: int = 0
    low: bool = False  # stands at the bottom of its rank
    first: bool = False  # stands before all others of its rank
    side: float = 0.0  # how many places further to the right than its neighbours it wants to stand
    lane: bool = False
    place: int = 0
    x: float = 0.0
    y: float = 0.0
    above: list[Near] = field(default_factory=list)
    below: list[Near] = field(default_factory=list)


Rows = list[list[Box]]


def across(rows: Rows) -> None:
    """x of every box. A sweep moves each rank as near to its neighbours as order and distances allow."""
    for row in rows:
        for box, x in zip(row, accumulate(_gaps(row)), strict=True):
            box.x = x
    for sweep in range(SWEEPS):
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wishes, weights = [], []
            for box in row:
                near = box.above + box.below if sweep >= SWEEPS - 2 else box.above if sweep % 2 == 0 else box.below
                wish, weight = _wish(box, near)
                wishes.append(wish)
                weights.append(weight)
            for box, x in zip(row, isotonic(wishes, weights, _gaps(row)), strict=True):
                box.x = x


def _wish(box: Box, near: list[Near]) -> tuple[float, float]:
    """The mean of where the neighbours would like it, and how much they pull. Summed one by one, as browsers do."""
    total, weight = 0.0, 0.0
    for other, there, here, pull in near:
        total += (other.x + there - here) * pull
        weight += pull
    return (total / weight, weight) if weight else (box.x, 1e-6)


def straighten(rows: Rows) -> None:
    """Boxes that pull most at each other form a column, and stand exactly below each other; the others make room."""
    seen: set[Box] = set()
    columns = []
    for box in (box for row in rows for box in row):
        if box not in seen:
            columns.append(_column(box))
            seen.update(columns[-1])
    for _ in range(SWEEPS):
        wish: dict[Box, tuple[float, float]] = {}
        for column in columns:
            total = 0.0
            for box, shift in column.items():
                total += box.x - shift
            middle, weight = total / len(column), len(column) ** 2 if len(column) > 1 else 1e-4
            wish.update((box, (middle + shift, weight)) for box, shift in column.items())
        moved = 0.0
        for row in rows:
            wishes, weights = [wish[box][0] for box in row], [wish[box][1] for box in row]
            for box, x in zip(row, isotonic(wishes, weights, _gaps(row)), strict=True):
                moved, box.x = max(moved, abs(x - box.x)), x
        if moved < 0.2:
            break


def _column(box: Box) -> dict[Box, float]:
    """The boxes of a column below `box`, and how far each stands to the right of it."""
    column, shift = {box: 0.0}, 0.0
    while (best := _heaviest(box.below)) and (back := _heaviest(best[0].above)) and back[0] is box:
        lower, there, here, _ = best
        shift += here - there
        column[lower], box = shift, lower
    return column


def _heaviest(near: list[Near]) -> Near | None:
    """The neighbour that pulls most, if it is one."""
    most = max((weight for *_, weight in near), default=0.0)
    best = [one for one in near if one[3] == most]
    return best[0] if len({id(one[0]) for one in best}) == 1 else None


def to_the_left(rows: Rows) -> None:
    """Begin at x = 0. A box that stands first in its row stands at the left edge, or further left to make room."""
    edge = min((box.x - box.left for row in rows for box in row if not box.first), default=0.0)
    for row in rows:
        if row and row[0].first:
            row[0].x = edge + row[0].left
            if len(row) > 1:
                row[0].x = min(row[0].x, row[1].x - _gaps(row)[1])
    edge = min((box.x - box.left for row in rows for box in row), default=0.0)
    for row in rows:
        for box in row:
            box.x -= edge


def _gaps(row: Sequence[Box]) -> list[float]:
    """Least distances between the axes of neighbours in a row; the first is from nowhere."""
    apart = [a.right + b.left + (0.0 if a.lane or b.lane else APART) for a, b in pairwise(row)]
    return [0.0, *apart] if row else []


def isotonic(wishes: Sequence[float], weights: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """The positions nearest to the wishes (weighted least squares) that keep the order and the gaps.

    Neighbours that would come too close are merged into a block, which stands at the weighted mean of its wishes.
    """
    offsets = list(accumulate(gaps))
    blocks: list[tuple[float, float, int]] = []  # mean, weight, members
    for wish, weight, offset in zip(wishes, weights, offsets, strict=True):
        mean, total, members = wish - offset, weight, 1
        while blocks and blocks[-1][0] >= mean:
            left, w, n = blocks.pop()
            mean, total, members = (left * w + mean * total) / (w + total), w + total, members + n
        blocks.append((mean, total, members))
    means = [mean for mean, _, members in blocks for _ in range(members)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]
