"""Plot: charts as one SVG picture, in the look of the graphs: it follows the page's theme, light or dark.

    draw([loss, gradients], "Training: 40 steps")   one below the other

Nothing here chooses ranges or ticks; that is `chart`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from jt_edu.draw.chart import LETTER, Area, Chart, Note, captions, scale, ticks, words_area
from jt_edu.draw.svg import escape
from jt_edu.draw.text_metrics import cut, width
from jt_edu.draw.theme import mix, rules

APART_X, APART_Y = 76, 38  # pixels between two ticks, at least
TOP, RIGHT, BOTTOM, LEFT = 26, 14, 40, 14  # around the frame
MARGIN, LEGEND = 18, 24
DASHES = ("none", "7 3", "2 3", "9 3 2 3", "4 2", "12 4")  # colours only repeat what dashes say
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
Place = Callable[[float], float]


def draw(charts: Sequence[Chart], summary: str, wide: int = 720) -> str:
    """The whole picture. The same charts always give the same bytes."""
    parts: list[str] = []
    at = MARGIN
    for chart in charts:
        parts.append(f'<g transform="translate({MARGIN} {at})">{"".join(_chart(chart, wide - 2 * MARGIN))}</g>')
        at += chart.height + (LEGEND if chart.marks or any(line.name for line in chart.lines) else 0) + 8
    high = at + MARGIN - 8
    identity = "jt" + hashlib.sha256("".join([summary, *parts]).encode()).hexdigest()[:10]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" id="{identity}" width="{wide}" height="{high}"',
        f'viewBox="0 0 {wide} {high}" style="max-width:none" role="img" aria-labelledby="{identity}-t">',
        f'<title id="{identity}-t">{escape(summary)}</title>',
        f"<style>{''.join(rules(identity, ()))}{''.join(_rules(identity))}</style>",
        f'<rect class="paper" width="{wide}" height="{high}" rx="12"/>',
        *parts,
        "</svg>",
    ])  # fmt: skip


def _rules(identity: str) -> Iterator[str]:
    found = {
        ".g": "stroke-width:1;" + mix("stroke", "ink", 10, "paper"),
        ".a": "fill:none;stroke-width:1;" + mix("stroke", "ink", 45, "paper"),
        ".t": f"font-size:11px;paint-order:stroke;stroke-width:3;{mix('stroke', 'ink', 0, 'paper')}"
        + mix("fill", "ink", 74, "paper"),
        ".roof": "fill:none;stroke-width:2;" + mix("stroke", "ink", 80, "paper"),
        ".faint": "fill:none;stroke-width:1.2;stroke-dasharray:5 4;" + mix("stroke", "ink", 45, "paper"),
        ".event": "fill:none;stroke-width:1.2;stroke-dasharray:2 3;" + mix("stroke", "ink", 60, "paper"),
    }
    for k, colour in enumerate(SERIES):
        found[f".s{k}"] = f"fill:none;stroke-width:1.8;stroke-dasharray:{DASHES[k]};" + mix("stroke", colour, 82, "ink")
        found[f".d{k}"] = f"stroke-width:1.3;{mix('fill', colour, 45, 'paper')}{mix('stroke', colour, 82, 'ink')}"
    for selector, rule in found.items():
        yield f"#{identity} {selector}{{{rule}}}"


def _chart(chart: Chart, wide: float) -> Iterator[str]:
    y_ticks = ticks(chart.y, max(2, (chart.height - TOP - BOTTOM) // APART_Y))
    left = round(LEFT + LETTER * max((len(chart.y.words(v)) for v in y_ticks), default=0))
    right, bottom = wide - RIGHT, chart.height - BOTTOM
    x, y = scale(chart.x, left, right), scale(chart.y, bottom, TOP)
    for value in y_ticks:
        yield f'<path class="g" d="M{left} {_n(y(value))}H{_n(right)}"/>'
        yield _text(left - 6, y(value) + 4, chart.y.words(value), "end")
    for value in ticks(chart.x, max(2, int((right - left) // APART_X))):
        yield f'<path class="g" d="M{_n(x(value))} {TOP}V{bottom}"/>'
        yield _text(x(value), bottom + 15, chart.x.words(value), "middle")
    yield f'<path class="a" d="M{left} {TOP}V{bottom}H{_n(right)}"/>'
    yield _text(0, 14, chart.y.title) + _text(right, chart.height - 6, chart.x.title, "end")
    for line in chart.lines:
        yield f'<path class="{line.style}" d="{path(line.points, x, y)}"/>'
    yield from _dots(chart, x, y, (left, TOP, right, bottom))
    for note in chart.notes:
        yield _note(note, x, y)
    yield f'<g transform="translate({left} {chart.height + 4})">{_legend(chart)}</g>'


def path(points: Sequence[tuple[float, float | None]], x: Place, y: Place) -> str:
    """A path through points, which breaks where a point has no place."""
    text, is_open = "", False
    for across, up in points:
        px, py = x(across), math.nan if up is None else y(up)
        there = math.isfinite(px) and math.isfinite(py)
        if there:
            text += f"{'L' if is_open else 'M'}{_n(px)} {_n(py)}"
        is_open = there
    return text


def _note(note: Note, x: Place, y: Place) -> str:
    px, py, anchor = _place_of(note, x, y)
    return _text(px, py, note.words, anchor)


def _place_of(note: Note, x: Place, y: Place) -> tuple[float, float, str]:
    """Where words stand; above a rising line they end where they are just as long as the line has come."""
    px, py = x(note.x), y(note.y)
    if note.along is None:
        return px + note.right, py - note.rise, note.anchor
    length, (ex, ey) = LETTER * len(note.words) + 14, (x(note.along[0]), y(note.along[1]))
    return px + length - 8, py + (ey - py) * length / (ex - px) - note.rise, "end"


def _dots(chart: Chart, x: Place, y: Place, box: Area) -> Iterator[str]:
    """The largest is drawn first, and chooses the place of its words first."""
    found = sorted((d for d in chart.dots if math.isfinite(x(d.x)) and math.isfinite(y(d.y))), key=lambda d: -d.size)
    lines = [[(x(p), y(q)) for p, q in line.points if q is not None] for line in chart.lines]
    taken = [area for line in lines for area in _along([place for place in line if all(map(math.isfinite, place))])]
    taken += [words_area(_place_of(note, x, y), note.words) for note in chart.notes]
    places = captions([(x(d.x), y(d.y), d.size * 1.2, cut(d.words, 26)) for d in found], box, taken)
    for dot in found:
        yield (
            f"<g><title>{escape(dot.tip or dot.words)}</title>"
            f'<path class="{dot.style}" d="{mark(dot.shape, dot.size, x(dot.x), y(dot.y))}"/></g>'
        )
    for dot, place in zip(found, places, strict=True):
        if place is not None and dot.words:
            yield _text(place[0], place[1], cut(dot.words, 26), place[2])


def _along(corners: Sequence[tuple[float, float]]) -> Iterator[Area]:
    """Small areas along a path, which words keep off."""
    for (left, top), (x, y) in pairwise(corners):
        parts = math.ceil(math.hypot(x - left, y - top) / 8) or 1
        for k in range(parts + 1):
            px, py = left + (x - left) * k / parts, top + (y - top) * k / parts
            yield px - 1, py - 1, px + 1, py + 1


def mark(shape: str, size: float, x: float, y: float) -> str:
    """The outline of a mark around a place."""
    at, r, edge = f"M{_n(x)} {_n(y)}", _n(size), _n(size * 1.2)
    match shape:
        case "square":
            return f"{at}m-{r}-{r}h{_n(2 * size)}v{_n(2 * size)}h-{_n(2 * size)}z"
        case "diamond":
            return f"{at}m0-{edge}l{edge} {edge}l-{edge} {edge}l-{edge}-{edge}z"
        case "triangle":
            return f"{at}m0-{edge}l{edge} {_n(size * 2.2)}h-{_n(size * 2.4)}z"
        case "cross":
            return f"{at}m-{r}-{r}l{_n(2 * size)} {_n(2 * size)}m0-{_n(2 * size)}l-{_n(2 * size)} {_n(2 * size)}"
    return f"{at}m-{r} 0a{r} {r} 0 1 0 {_n(2 * size)} 0a{r} {r} 0 1 0-{_n(2 * size)} 0z"


def _legend(chart: Chart) -> str:
    parts, at = [], 0.0
    entries = [(f'<path class="{line.style}" d="M0 8h24"/>', line.name) for line in chart.lines if line.name]
    entries += [
        (f'<path class="{style}" d="{mark(shape, 5, 12, 8)}"/>' if shape else "", words)
        for shape, style, words in chart.marks
    ]
    for swatch, words in entries:
        room = 30 if swatch else 0
        parts.append(f'<g transform="translate({_n(at)} 0)">{swatch}{_text(room, 12, words)}</g>')
        at += room + 18 + width(words, 11)
    return "".join(parts)


def _text(x: float, y: float, words: str, anchor: str = "start") -> str:
    end = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text class="t" x="{_n(x)}" y="{_n(y)}"{end}>{escape(words)}</text>'


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
