"""Lanes: the picture of ranks side by side, and how virtual times read.

    rank 0  ####::::####>>>>      #  computes: solid        a line from lane to lane is a message
    rank 1  ##::::::::::>>##      :  waits: hatched
    rank 2  ##########>>####      >  sends and receives: striped

Patterns tell the kinds apart, colours only repeat it. Nothing here knows how the times came about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jt_edu.draw.svg import escape
from jt_edu.draw.svg_page import FONT, sheet, words
from jt_edu.draw.text_metrics import cut, width
from jt_edu.draw.theme import mix

WIDE, LEFT, TOP, MARGIN = 640.0, 62.0, 30.0, 16.0  # pixels: the plot, and around it
MOST_LANES, MOST_BARS, MOST_ARROWS = 16, 600, 160
KINDS = {
    "compute": ("computes", "#56b4e9"), "wait": ("waits", "#e69f00"), "transfer": ("sends, receives", "#0072b2"),
}  # fmt: skip
TICKS = (1, 2, 5)

Row = Mapping[str, Any]


def nanos_text(nanoseconds: float) -> str:
    """A virtual time in words: four digits, and a unit.

    Example:
        >>> nanos_text(68964), nanos_text(0), nanos_text(2_500_000_000)
        ('68.96 µs', '0 ns', '2.5 s')
    """
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if abs(nanoseconds) >= size:
            return f"{nanoseconds / size:.4g} {unit}"
    return f"{nanoseconds:.4g} ns"


def lanes_svg(
    spans: Sequence[Row], arrows: Sequence[Row], size: int, duration: int, summary: str, circle: Sequence[int] = ()
) -> str:
    """Lanes with bars and arrows.

    Args:
        spans: {"rank", "kind", "begin", "end"}, in ns.
        arrows: {"source", "dest", "sent", "arrived", "bytes"}.
        size: how many ranks.
        duration: ns that the picture covers.
        summary: one sentence.
        circle: ranks that wait for each other.
    """
    lanes, unit = min(size, MOST_LANES), WIDE / max(1, duration)
    lane = 40.0 if lanes <= 8 else 26.0
    bars = [one for one in spans if one["rank"] < lanes]
    lines = [one for one in arrows if max(one["source"], one["dest"]) < lanes]
    parts = [
        *(_lane(rank, lane, rank in circle) for rank in range(lanes)),
        *(_bar(one, lane, unit) for one in _some(bars, MOST_BARS)),
        *(_arrow(one, lane, unit) for one in _some(lines, MOST_ARROWS)),
    ]
    below = TOP + lanes * lane
    legend, more = _legend(below + 22, _left_out(size, len(bars), len(lines)))
    whole = [_patterns(), *_axis(duration, unit, below), *parts, *legend]
    return sheet("jt-lanes", (LEFT + WIDE + MARGIN, below + 34 + more), summary, _rules(), whole)


def _some(rows: Sequence[Row], most: int) -> Sequence[Row]:
    """So many of them, evenly."""
    return [rows[k * len(rows) // most] for k in range(most)] if len(rows) > most else rows


def _left_out(size: int, bars: int, arrows: int) -> str:
    pairs = ((size, MOST_LANES, "ranks"), (bars, MOST_BARS, "bars"), (arrows, MOST_ARROWS, "messages"))
    said = [f"{most} of {found:,} {what}" for found, most, what in pairs if found > most]
    return f"showing {', '.join(said)}" if said else ""


def _lane(rank: int, lane: float, stuck: bool) -> str:
    y = TOP + (rank + 0.5) * lane
    kind, name = (' class="stuck"', f"\u2715 rank {rank}") if stuck else ("", f"rank {rank}")
    line = f'<path class="rest" d="M{LEFT:.1f} {y:.1f}h{WIDE:.1f}"/>'
    return f"<g{kind}>{line}{words(LEFT - 8, y + 4, name, 'end')}</g>"


def _bar(one: Row, lane: float, unit: float) -> str:
    x, y = LEFT + one["begin"] * unit, TOP + (one["rank"] + 0.25) * lane
    wide = max(0.6, (one["end"] - one["begin"]) * unit)
    tip = f"rank {one['rank']} {KINDS[one['kind']][0]}, {nanos_text(one['end'] - one['begin'])}"
    return (
        f'<rect class="{one["kind"]}" x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{lane / 2:.1f}">'
        f"<title>{escape(tip)}</title></rect>"
    )


def _arrow(one: Row, lane: float, unit: float) -> str:
    x, y = LEFT + one["sent"] * unit, TOP + (one["source"] + 0.5) * lane
    end, low = LEFT + one["arrived"] * unit, TOP + (one["dest"] + 0.5) * lane
    tip = f"{one['bytes']} bytes from rank {one['source']} to rank {one['dest']}"
    return (
        f'<path class="arrow" marker-end="url(#jt-lanes-head)" d="M{x:.1f} {y:.1f}L{end:.1f} {low:.1f}">'
        f"<title>{escape(tip)}</title></path>"
    )


def _axis(duration: int, unit: float, below: float) -> Iterator[str]:
    step = next((m * 10.0**k for k in range(19) for m in TICKS if m * 10.0**k * 8 >= duration), 1e18)
    for k in range(int(duration / step) + 1):
        x = LEFT + k * step * unit
        yield f'<path class="grid" d="M{x:.1f} {TOP - 4:.1f}V{below:.1f}"/>'
        yield words(x, TOP - 10, nanos_text(k * step), "middle" if k else "start")


def _legend(y: float, left_out: str) -> tuple[list[str], float]:
    parts, x = [], LEFT
    for kind, (meaning, _) in KINDS.items():
        parts.append(f'<rect class="{kind}" x="{x:.1f}" y="{y - 10:.1f}" width="24" height="12"/>')
        parts.append(words(x + 29, y, meaning))
        x += 47 + width(meaning, FONT)
    if left_out:
        parts.append(words(LEFT, y + 18, cut(left_out, 100)))
    return parts, 18 * bool(left_out)


def _patterns() -> str:
    """Hatched for waiting, striped for messages; the head of an arrow."""
    box = 'width="6" height="6" patternUnits="userSpaceOnUse"'
    hatch = f'<pattern id="jt-lanes-wait" {box}><path class="wait-line" d="M-1 7L7-1M-1 1L1-1M5 7L7 5"/></pattern>'
    stripes = (
        f'<pattern id="jt-lanes-transfer" {box}><rect class="transfer-paper" width="6" height="6"/>'
        '<path class="transfer-line" d="M0 1.5h6M0 4.5h6"/></pattern>'
    )
    head = (
        '<marker id="jt-lanes-head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path class="head" d="M0 0.8L7.5 4L0 7.2z"/></marker>'
    )
    return f"<defs>{hatch}{stripes}{head}</defs>"


def _rules() -> list[tuple[str, str]]:
    orange, blue = KINDS["wait"][1], KINDS["transfer"][1]
    return [
        (" .grid,.jt-lanes .rest", f"fill:none;{mix('stroke', 'ink', 14, 'paper')}"),
        (" .stuck text", "font-weight:700;" + mix("fill", "#d55e00", 70, "ink")),
        (" .compute", mix("fill", KINDS["compute"][1], 60, "paper") + mix("stroke", KINDS["compute"][1], 70, "ink")),
        (" .wait", "fill:url(#jt-lanes-wait);" + mix("stroke", orange, 60, "paper")),
        (" .transfer", "fill:url(#jt-lanes-transfer);" + mix("stroke", blue, 70, "ink")),
        (" .wait-line", "fill:none;stroke-width:1.4;" + mix("stroke", orange, 75, "paper")),
        (" .transfer-paper", mix("fill", blue, 25, "paper")),
        (" .transfer-line", "stroke-width:1.3;" + mix("stroke", blue, 80, "paper")),
        (" .arrow", "fill:none;stroke-width:1.2;" + mix("stroke", "ink", 72, "paper")),
        (" .head", "stroke:none;" + mix("fill", "ink", 72, "paper")),
    ]
