"""Film: which cache lines are there, while a product of matrices runs?

    film({"ijk": ijk, "ikj": ikj})       one row for each order: a, b and c, each box a cache line of 4 numbers

It plays once. Orange: the line has just been fetched; blue: it is in the cache; white: it is not; the black square is
the number that is used. The bar grows with every miss. Where the film is over, or cannot play, each line says how often
it was fetched, and the more often, the darker it is. It is an SVG with animations and no script, so it also plays on a
page; it is narrow, and becomes smaller where there is less room.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from xml.sax import saxutils

from jt_edu.draw.html_picture import Picture
from jt_exercises.matmul.memory import MATRICES, Watched, watch
from jt_exercises.verdict import NotDoneError, RefusedError

N, WIDTH, LINES = 8, 4, 8  # matrices of N by N numbers, lines of WIDTH numbers, LINES of them in the cache
CELL, GAP, LEFT = 14, 26, 16  # pixels
HEAD, ROW = 50, 50 + N * CELL + 18  # above the matrices of an order, and from one order to the next
WIDE, LONG = 2 * LEFT + 3 * N * CELL + 2 * GAP, 3 * N * CELL + 2 * GAP  # the picture, and its longest bar
SECONDS, FRESH = 24, 5  # of the film; accesses for which a new line stays orange
PAPER, INK, HERE, NEW, EDGE = "#ffffff", "#1b1b1b", "#9ecae9", "#e69f00", "#8a8f98"
ONCE, OFTEN, MANY = (255, 233, 190), (208, 120, 0), 32  # red, green, blue of a line fetched once, and of one 32 times
Line = tuple[str, int]


@dataclass
class Take:
    """One order: when each line came and went, and how many misses there were by then."""

    came: dict[Line, list[tuple[int, int]]]  # line -> (first access, last access) of each stay
    misses: list[int]  # after each access
    seen: Watched


def film(orders: Mapping[str, Callable[..., Any]]) -> Picture:
    """Show how some orders of the loops use a small cache; each is a function(a, b, c). What cannot run is told.

    Example:
        >>> from jt_exercises.matmul.orders import ijk, ikj
        >>> film({"ijk": ijk, "ikj": ikj})
        ijk: 2048 accesses, 560 misses
        ikj: 2048 accesses, 160 misses
    """
    takes, said = {}, []
    for name, function in orders.items():
        try:
            take = _take(watch(function, N, N, N))
        except (RefusedError, NotDoneError) as error:
            said.append(f"{name}: {error}")
            continue
        if take.misses:
            takes[name] = take
        said.append(f"{name}: {len(take.misses)} accesses, {take.misses[-1] if take.misses else 0} misses")
    text = "\n".join(said)
    most = max((t.misses[-1] for t in takes.values()), default=1)
    rows = [part for k, (name, take) in enumerate(takes.items()) for part in _row(name, take, k, most)]
    high = max(1, len(takes)) * ROW
    fits = 'style="max-width:100%;height:auto" role="img"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {high}" width="{WIDE}" {fits}>'
    title = f"<title>{saxutils.escape(text)}</title>"
    paper = f'<rect width="{WIDE}" height="{high}" fill="{PAPER}"/>'
    style = f"<style>text{{font:12px sans-serif;fill:{INK}}}.n{{font-size:10px;text-anchor:middle}}</style>"
    return Picture("\n".join([head, title, style, paper, *rows, "</svg>"]), text)


def _take(seen: Watched) -> Take:
    """Follow a small cache that forgets the least recently used one."""
    came: dict[Line, list[tuple[int, int]]] = {}
    kept: OrderedDict[Line, int] = OrderedDict()
    misses, count = [], 0
    for now, (name, place, _) in enumerate(seen.log):
        line = name, place // WIDTH
        if line not in kept:
            count += 1
            kept[line] = now
            if len(kept) > LINES:
                old, first = kept.popitem(last=False)
                came.setdefault(old, []).append((first, now))
        kept.move_to_end(line)
        misses.append(count)
    for line, first in kept.items():
        came.setdefault(line, []).append((first, len(seen.log)))
    return Take(came, misses, seen)


def _row(name: str, take: Take, number: int, most: int) -> Iterator[str]:
    """The name and the bar of an order, and its three matrices below them."""
    top, length = number * ROW, len(take.seen.log)
    said = f"{saxutils.escape(name)}: {take.misses[-1]} misses in {length} accesses"
    yield f'<text x="{LEFT}" y="{top + 16}">{said}</text>'
    steps = range(0, length, max(1, length // 60))
    values = ";".join(f"{LONG * take.misses[s] / most:.0f}" for s in steps)
    bar = f'x="{LEFT}" y="{top + 22}" width="{LONG * take.misses[-1] / most:.0f}" height="8"'
    yield f'<rect {bar} fill="{NEW}">{_move("width", values)}</rect>'
    y = top + HEAD
    for k, matrix in enumerate(MATRICES):
        x = LEFT + k * (N * CELL + GAP)
        yield f'<text x="{x}" y="{y - 5}">{matrix}</text>'
        for line in range(N * N // WIDTH):
            yield _box(x, y, line, take.came.get((matrix, line), []), length)
        yield _square(x, y, matrix, take, length)


def _box(x: float, y: float, line: int, stays: list[tuple[int, int]], length: int) -> str:
    """One cache line: white, orange when it comes, blue while it stays; and how often it came, when all is over."""
    row, column = divmod(line * WIDTH, N)
    times: list[tuple[int, str]] = [(0, PAPER)]
    for first, last in stays:
        times += [(first, NEW), *([(first + FRESH, HERE)] if first + FRESH < last else [])]
        times += [(last, PAPER)] if last < length else []
    kept = {at: colour for at, colour in times}  # noqa: C416 - the last word at one moment counts
    keys = ";".join(f"{at / length:.4f}" for at in kept)
    left, top = x + column * CELL, y + row * CELL
    place = f'x="{left}" y="{top}" width="{WIDTH * CELL}" height="{CELL}"'
    motion = _move("fill", ";".join(kept.values()), keys)
    box = f'<rect {place} fill="{_colour(len(stays))}" stroke="{EDGE}" stroke-width="0.7">{motion}</rect>'
    middle = f'x="{left + WIDTH * CELL / 2:g}" y="{top + CELL - 3.5:g}"'
    return f'{box}<text class="n" {middle}>{len(stays)}{_move("opacity", "0;0")}</text>'


def _colour(count: int) -> str:
    """White for a line that was never fetched; each doubling is as much darker as the one before."""
    if not count:
        return PAPER
    share = min(1.0, math.log(count, MANY))
    return "rgb(" + ",".join(f"{a + (b - a) * share:.0f}" for a, b in zip(ONCE, OFTEN, strict=True)) + ")"


def _square(x: float, y: float, matrix: str, take: Take, length: int) -> str:
    """The number that is used, as a black square that is there only while the film runs."""
    spots = [(now, *divmod(place, N)) for now, (name, place, _) in enumerate(take.seen.log) if name == matrix]
    moves = [spot for k, spot in enumerate(spots) if k == 0 or spot[1:] != spots[k - 1][1:]]
    moves = [(0, *moves[0][1:]), *moves[1:]]
    keys = ";".join(f"{now / length:.4f}" for now, *_ in moves)
    across = ";".join(f"{x + column * CELL + 4:g}" for *_, column in moves)
    down = ";".join(f"{y + row * CELL + 4:g}" for _, row, _ in moves)
    shown = f'<animate attributeName="opacity" values="1;1" dur="{SECONDS}s"/>'
    return (
        f'<rect width="{CELL - 8}" height="{CELL - 8}" opacity="0" fill="{INK}">'
        f"{_move('x', across, keys)}{_move('y', down, keys)}{shown}</rect>"
    )


def _move(what: str, values: str, keys: str = "") -> str:
    """An animation in steps, over the whole film."""
    times = f' keyTimes="{keys}"' if keys else ""
    return f'<animate attributeName="{what}" dur="{SECONDS}s" calcMode="discrete" values="{values}"{times}/>'
