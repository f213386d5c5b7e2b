"""Layout: where does each box stand, and which way does each line go?

    rank 0    ( a )   ( b )   ( c )      the longest path that leads to a box gives its rank
    rank 1      [  mul  ]       |        a line that passes a rank keeps a lane there, so it crosses no box
    rank 2          [   add   ]

One plain loop after the other, none calls itself: ranks; lanes; the order within a rank (each box tries to stand at the
mean place of its neighbours); x, in x_coordinates.py; y; the points of each line. Nothing here knows operators or
colours.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import TypeVar

from jt_edu.draw.x_coordinates import Box, Near, Rows, across, isotonic, straighten, to_the_left

Key = TypeVar("Key", bound=Hashable)
Point = tuple[float, float]

SWEEPS = 8
LANE = 7.0  # half the width of a lane
GUTTER = 12.0  # the same at the side
SIDE = 0.6  # places: to the right of what it passes, to the left of the next
ENTRY = 14.0  # pixels between two lines that end at one box


@dataclass(eq=False, slots=True)
class Link:
    """A line from `source` down to `target`, through lanes. `points`: straight, bent, straight, bent, …, straight."""

    source: Box
    target: Box
    out: float = 0.0  # where it begins, from the axis of its source
    into: float | None = None  # where it ends, from the axis of its target; None: wherever there is room
    gutter: bool = False  # it passes what stands between at the right side
    points: list[Point] = field(default_factory=list)


def ranks(keys: Sequence[Key], pairs: Iterable[tuple[Key, Key]], fed: Collection[Key] = ()) -> dict[Key, int]:
    """Length of the longest path to each key; what has no inputs, here or elsewhere, is pulled down to its first user.

    Where the pairs form a circle, the pairs that close it point upwards: the caller sees that in the ranks.
    """
    users: dict[Key, list[Key]] = defaultdict(list)
    waiting = dict.fromkeys(keys, 0)
    for source, target in pairs:
        users[source].append(target)
        waiting[target] += 1
    number = {key: k for k, key in enumerate(keys)}
    sources = [key for key in keys if not waiting[key]]
    ready, done = [number[key] for key in sources], dict.fromkeys(keys, False)
    rank, rest = dict.fromkeys(keys, 0), iter(keys)
    while order := ready or [number[key] for key in islice((k for k in rest if not done[k]), 1)]:
        key = keys[heapq.heappop(order)]
        if done[key]:
            continue
        done[key] = True
        for user in users[key]:
            waiting[user] -= 1
            if not done[user]:
                rank[user] = max(rank[user], rank[key] + 1)
                if not waiting[user]:
                    heapq.heappush(ready, number[user])
    for key in sources:
        if key in fed:
            continue
        rank[key] = min((rank[user] for user in users[key]), default=1) - 1
    return rank


def place(boxes: Sequence[Box], links: Sequence[Link], gap: float) -> tuple[float, float]:
    """Give every box its x and y and every link its points. Returns width and height of it all."""
    used = {rank: k for k, rank in enumerate(sorted({box.rank for box in boxes}))}
    for box in boxes:
        box.rank = used[box.rank]
    fed, read = {link.target for link in links}, {link.source for link in links}
    pulls = [(1.0 if link.source in fed else 0.02) * (1.0 if link.target in read else 0.3) for link in links]
    chains = [_chain(link, pull) for link, pull in zip(links, pulls, strict=True)]
    lanes = [box for chain in chains for box in chain[1:-1]]
    rows: Rows = [[] for _ in used]
    for box in (*boxes, *lanes):
        rows[box.rank].append(box)
    _order(rows)
    across(rows)
    straighten(rows)
    to_the_left(rows)
    _spread(links, chains)
    tops, bottoms = _down(rows, chains, gap)
    for link, chain in zip(links, chains, strict=True):
        link.points = _points(link, chain, tops, bottoms)
    return max((box.x + box.right for row in rows for box in row), default=0.0), bottoms[-1] if rows else 0.0


def _chain(link: Link, pull: float) -> list[Box]:
    """The boxes a link passes: its source, a lane in every rank between, its target. They become neighbours.

    Lanes want to be straight most of all, then the ways from box to box; what only begins or only ends gives way.
    """
    between = range(link.source.rank + 1, link.target.rank)
    left, side = (GUTTER, SIDE) if link.gutter else (LANE, 0.0)
    chain = [link.source, *(Box(left, LANE, 0.0, rank=k, lane=True, side=side) for k in between), link.target]
    for upper, lower in pairwise(chain):
        out, into = link.out if upper is link.source else 0.0, (link.into or 0.0) if lower is link.target else 0.0
        weight = 8.0 if upper.lane and lower.lane else pull * (0.002 if upper.lane or lower.lane else 1.0)
        lower.above.append((upper, out, into, weight))
        upper.below.append((lower, into, out, weight))
    return chain


def _order(rows: Rows) -> None:
    """Sweep down and up; keep the order with the fewest crossings. Two sweeps in vain are enough."""
    _number(rows)
    best, fewest, vain = [list(row) for row in rows], _crossings(rows), 0
    for sweep in range(SWEEPS):
        if not fewest or vain == 2:
            break
        for row in rows if sweep % 2 == 0 else reversed(rows):
            row.sort(key=_mean_above if sweep % 2 == 0 else _mean_below)
            _number([row])
        crossings, vain = _crossings(rows), vain + 1
        if crossings < fewest:
            best, fewest, vain = [list(row) for row in rows], crossings, 0
    rows[:] = best
    _number(rows)


def _number(rows: Iterable[list[Box]]) -> None:
    for row in rows:
        for k, box in enumerate(row):
            box.place = k


def _mean_above(box: Box) -> float:
    return _mean(box, box.above)


def _mean_below(box: Box) -> float:
    return _mean(box, box.below)


def _mean(box: Box, neighbours: list[Near]) -> float:
    """The mean place of the neighbours; how far from their axis a line begins decides between equals."""
    if box.first or not neighbours:
        return -1.0 if box.first else float(box.place)
    total = 0.0
    for other, there, _, _ in neighbours:
        total += other.place + there * 1e-4
    return total / len(neighbours) + box.side


def _crossings(rows: Rows) -> int:
    """How many pairs of lines cross: inversions among the lower ends, taken in the order of the upper ends."""
    total = 0
    for row in rows:
        ends: list[float] = []
        for box in row:
            for _, lower in sorted((here, other.place + there * 1e-4) for other, there, here, _ in box.below):
                total += len(ends) - bisect_right(ends, lower)
                insort(ends, lower)
    return total


def _spread(links: Sequence[Link], chains: Sequence[list[Box]]) -> None:
    """Where lines end at a box: as straight as possible, side by side."""
    entries: dict[Box, list[tuple[float, Link]]] = defaultdict(list)
    for link, chain in zip(links, chains, strict=True):
        if link.into is None:
            entries[link.target].append((chain[-2].x + (link.out if chain[-2] is link.source else 0.0), link))
    for box, arriving in entries.items():
        arriving.sort(key=lambda pair: pair[0])
        apart = min(ENTRY, 2 * box.half / len(arriving))
        room = box.half - apart * (len(arriving) - 1) / 2
        wishes = [min(max(x - box.x, -room), room) for x, _ in arriving]
        ends = isotonic(wishes, [1.0] * len(wishes), [0.0] + [apart] * (len(wishes) - 1))
        for (_, link), end in zip(arriving, ends, strict=True):
            link.into = end


def _down(rows: Rows, chains: Sequence[list[Box]], gap: float) -> tuple[list[float], list[float]]:
    """y of every box, and top and bottom of every rank. A gap that lines cross far sideways is higher."""
    far = [0.0] * len(rows)
    for chain in chains:
        for upper, lower in pairwise(chain):
            far[upper.rank] = max(far[upper.rank], abs(upper.x - lower.x))
    tops, bottoms, y = [], [], 0.0
    for row, sideways in zip(rows, far, strict=True):
        height = max((box.height for box in row), default=0.0)
        for box in row:
            box.y = y + (height - box.height if box.low else 0.0)
        tops.append(y)
        bottoms.append(y + height)
        y += height + gap + min(gap, sideways * 0.08)
    return tops, bottoms


def _points(link: Link, chain: list[Box], tops: list[float], bottoms: list[float]) -> list[Point]:
    source, target = link.source, link.target
    x = source.x + link.out
    points = [(x, source.y + source.height - source.inset - source.foot), (x, bottoms[source.rank])]
    for lane in chain[1:-1]:
        points += [(lane.x, tops[lane.rank]), (lane.x, bottoms[lane.rank])]
    x = target.x + (link.into or 0.0)
    return [*points, (x, tops[target.rank]), (x, target.y + target.inset)]
