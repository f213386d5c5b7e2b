"""Film: how do the k nearest points of a query become known, one look after the other?

    film(points, k=4)        points of the unit square; whoever looks on picks the query, with a click or with Tab and
                             the arrow keys

On the left each point is a button. The one that is picked is the query: an orange ring goes to all other points in
turn, and blue lines lead to those that are in the list so far. On the right is the list: k rows, the nearest first, and
below it how far away the point is that is looked at now. The film begins anew with each pick; who asked the system for
less motion sees its end at once. It is HTML with an SVG in it, and no script, so that it also plays on a page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from jt_edu.draw.choices import INK, PAPER, SOFT, Choice, choices, fresh
from jt_edu.draw.html_picture import Picture
from jt_exercises.neighbours.cases import squared

SIZE, EDGE, ROW, LEFT = 300, 16, 26, 350  # pixels: the cloud, its margin, a row of the list, where the list begins
WIDE, HIGH = 560, SIZE + 2 * EDGE
STEP = 0.3  # seconds for each look
QUERY, HERE, NEW = "#d55e00", "#3a8fd0", "#e69f00"
STYLE = f"""
.jtknn line{{stroke:{HERE};stroke-width:2}}
.jtknn .n{{font-size:10px;fill:{SOFT}}} .jtknn .m{{fill:none;stroke:{HERE};stroke-width:2}}
.jtknn input{{z-index:1;appearance:none;box-sizing:border-box;border-radius:50%;
  border:3px solid {PAPER};background:{SOFT}}}
.jtknn input:hover{{background:{INK}}} .jtknn input:checked{{background:{QUERY}}}
.jtknn input:focus-visible{{outline:2px solid {QUERY}}}
.jtknn .w,.jtknn .s{{opacity:0}} .jtknn .w,.jtknn .k{{fill:none;stroke:{NEW};stroke-width:3}}
.jtknn .t{{opacity:0;animation:jtknn-on 1s}} .jtknn .f{{animation:jtknn-off 0s}}
@keyframes jtknn-on{{from,to{{opacity:1}}}} @keyframes jtknn-off{{from,to{{opacity:0}}}}
@media (prefers-reduced-motion:reduce){{
  .jtknn .t,.jtknn .f,.jtknn .w,.jtknn .s,.jtknn .s text{{animation:none!important}}
}}
"""


@dataclass(frozen=True)
class Stay:
    """A point in a row of the list: from one look to another, or to the end."""

    point: int
    row: int
    begin: int
    end: int


def film(points: Any, k: int = 4) -> Picture:
    """Show for each point of the unit square how the list of its k nearest others is filled.

    Example:
        >>> film([[0.1, 0.1], [0.9, 0.9], [0.2, 0.1]], k=1)
        0: 2
        1: 2
        2: 0
    """
    points = np.asarray(points, np.float64)
    far, many = squared(points, points), len(points)
    name = fresh("jtknn")
    stays = [list(_stays(far[query], query, k)) for query in range(many)]
    last = [{s.row: s.point for s in each if s.end == many} for each in stays]
    text = "\n".join(f"{query}: {', '.join(str(rows[r]) for r in sorted(rows))}" for query, rows in enumerate(last))
    walk = "".join(f"{100 * j / many:g}%{{translate:{x:g}px {y:g}px}}" for j, (x, y) in enumerate(map(_at, points)))
    long = f"{STEP * many:g}s"
    going = (
        f".{name} .w{{animation:{name} {long} step-end,jtknn-on {long}}} .{name} .s{{animation:jtknn-on {long}}}"
        f".{name} .s text{{animation:{name}-s {long} steps({many})}} .{name} line{{marker-end:url(#{name})}}"
        f"@keyframes {name}{{{walk}}} @keyframes {name}-s{{to{{translate:0 {-ROW * many}px}}}}"
    )
    buttons = []
    for query, place in enumerate(map(_at, points)):
        group = "".join(_group(query, points, far[query], stays[query], name))
        buttons.append(Choice(place, f"query: point {query}", group))
    return Picture(choices(name, (WIDE, HIGH), _still(points, k, name), buttons, STYLE + going), text)


def _still(points: np.ndarray, k: int, name: str) -> str:
    """What does not depend on the query: numbers of points and rows, and the window in which a look is told."""
    y = EDGE + 20 + (k + 1) * ROW
    window = f'<clipPath id="{name}-s"><rect x="{LEFT}" y="{y}" width="{WIDE - LEFT}" height="{ROW}"/></clipPath>'
    ring = '<circle class="m" cx="12" cy="12" r="10"/>'
    size = 'markerUnits="userSpaceOnUse" markerWidth="24" markerHeight="24" refX="12" refY="12"'
    rows = [f'<text x="{LEFT}" y="{EDGE + 20 + (r + 1) * ROW}" style="fill:{SOFT}">{r + 1}</text>' for r in range(k)]
    numbers = [f'<text class="n" x="{x + 9:g}" y="{y - 6:g}">{j}</text>' for j, (x, y) in enumerate(map(_at, points))]
    title = f'<text x="{LEFT}" y="{EDGE + 12}">the {k} nearest so far</text>'
    return f'<defs>{window}<marker id="{name}" {size}>{ring}</marker></defs>{title}{"".join(rows + numbers)}'


def _at(point: Any) -> tuple[float, float]:
    """Where a point is in the picture; y goes up."""
    return round(EDGE + SIZE * float(point[0]), 1), round(EDGE + SIZE * (1 - float(point[1])), 1)


def _stays(far: np.ndarray, query: int, k: int) -> Iterator[Stay]:
    """Who is in which row of the list, while all points but the query are looked at in turn."""
    rows: list[tuple[int, int]] = []  # a point, and since when it is in this row
    for now in range(len(far)):
        kept = [point for point, _ in rows] + [now] * (now != query)
        after = sorted(kept, key=lambda j: float(far[j]))[:k]
        for row, (point, begin) in enumerate(rows):
            if after[row] != point:
                yield Stay(point, row, begin, now)
        same = [row < len(rows) and rows[row][0] == point for row, point in enumerate(after)]
        rows = [(point, rows[row][1] if same[row] else now) for row, point in enumerate(after)]
    for row, (point, begin) in enumerate(rows):
        yield Stay(point, row, begin, len(far))


def _group(query: int, points: np.ndarray, far: np.ndarray, stays: list[Stay], name: str) -> Iterator[str]:
    """What is shown of one query: lines, rows of the list, the ring that walks, and how far away the point in it is."""
    x, y = _at(points[query])
    for stay in stays:
        over, life = stay.end == len(points), (stay.end - stay.begin) * STEP
        when = f"animation-duration:{stay.begin * STEP:g}s"
        if not over:
            when = f"animation-duration:{life:g}s;animation-delay:{stay.begin * STEP:g}s"
        shown = f'class="{"f" if over else "t"}" style="{when}"'
        to_x, to_y = _at(points[stay.point])
        yield f'<line {shown} x1="{x}" y1="{y}" x2="{to_x}" y2="{to_y}"/>'
        down = EDGE + 20 + (stay.row + 1) * ROW
        words = f"point {stay.point}, {float(far[stay.point]) ** 0.5:.2f} away"
        yield f'<text {shown} x="{LEFT + 22}" y="{down}">{words}</text>'
    k = 1 + max(stay.row for stay in stays)
    down = EDGE + 38 + (k + 1) * ROW
    told = [f"point {j}, {away**0.5:.2f} away" if j != query else "the query itself" for j, away in enumerate(far)]
    strip = "".join(f'<tspan x="{LEFT + 22}" dy="{ROW * (j > 0)}">{words}</tspan>' for j, words in enumerate(told))
    here = f'<circle class="k" cx="{LEFT + 9}" cy="{down - 5}" r="6"/><text y="{down}">{strip}</text>'
    yield f'<g class="s" clip-path="url(#{name}-s)">{here}</g><circle class="w" r="11"/>'
