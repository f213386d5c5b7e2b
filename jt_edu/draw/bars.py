"""Bars: how long does each of several ways take, as bars that race?

    winograd4   ######> 1.2 ms      1.2 MB   error 3e-07        all bars grow at one speed, and stop at their time
    panels      #########> 1.9 ms   58 kB    error 1e-07        the winner is marked by a sign, not by a colour alone
    direct      ############################> 7.4 ms            who wants no motion sees where they end

Nothing here knows what is timed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jt_edu.draw.svg import escape
from jt_edu.draw.text_metrics import cut, width
from jt_edu.draw.theme import mix, rules

WIDE, MARGIN, ROW, HEAD = 720.0, 18.0, 34.0, 46.0  # pixels
LONGEST = 3.0  # seconds that the longest bar grows
ROOM = 250.0  # for the words behind a bar
MOST_LETTERS = 24  # of a name


@dataclass(frozen=True)
class Bar:
    """One way: its name, a number above 0, words behind the bar, and whether it won."""

    name: str
    value: float
    words: str
    first: bool = False
    guess: bool = False  # an estimate: drawn in dashes


def bars_svg(bars: Sequence[Bar], title: str, summary: str) -> str:
    """All bars below each other, to one scale; the same bars always give the same bytes.

    Example:
        >>> pair = [Bar("quick", 1.0, "1 s", first=True), Bar("slow", 3.0, "3 s")]
        >>> bars_svg(pair, "Two", "Quick wins.").count("<rect")
        3
    """
    left = MARGIN + 16 + max((width(cut(b.name, MOST_LETTERS), 13, "bold") for b in bars), default=0.0) + 10
    unit = (WIDE - left - ROOM) / max((b.value for b in bars), default=1.0)
    high = HEAD + ROW * len(bars) + MARGIN
    parts = [part for k, bar in enumerate(bars) for part in _row(bar, HEAD + k * ROW, left, unit)]
    longest = max((b.value for b in bars), default=1.0)
    speeds = [f".r{k}{{animation-duration:{LONGEST * b.value / longest:.3f}s}}" for k, b in enumerate(bars)]
    identity = "jt" + hashlib.sha256("".join([title, summary, *parts]).encode()).hexdigest()[:10]
    style = "".join([*rules(identity, ()), *_rules(identity), *(f"#{identity} {rule}" for rule in speeds)])
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" id="{identity}" width="{WIDE:.0f}" height="{high:.0f}"',
        f'viewBox="0 0 {WIDE:.0f} {high:.0f}" style="max-width:100%;height:auto"',
        f'role="img" aria-labelledby="{identity}-t">',
        f'<title id="{identity}-t">{escape(summary)}</title><style>{style}</style>',
        f'<rect class="paper" width="{WIDE:.0f}" height="{high:.0f}" rx="12"/>',
        f'<text class="h" x="{MARGIN:.0f}" y="28">{escape(cut(title, 96))}</text>',
        *(part.replace("RACE", f"r{k // 3}") for k, part in enumerate(parts)),
        "</svg>",
    ])  # fmt: skip


def _row(bar: Bar, y: float, left: float, unit: float) -> Iterator[str]:
    """Name, bar, words."""
    long, style = max(1.0, bar.value * unit), "first" if bar.first else "guess" if bar.guess else "bar"
    mark = "\u25b6 " if bar.first else ""
    name = f'<tspan class="v">{escape(mark + cut(bar.name, MOST_LETTERS))}</tspan>'
    yield f'<text x="{left - 10:.1f}" y="{y + 20:.1f}" text-anchor="end">{name}</text>'
    tip = f"<title>{escape(f'{bar.name}: {bar.words}')}</title>"
    box = f'x="{left:.1f}" y="{y + 6:.1f}" width="{long:.1f}" height="20" rx="3"'
    yield f'<rect class="{style} race RACE" {box}>{tip}</rect>'
    yield f'<text class="m" x="{left + long + 8:.1f}" y="{y + 20:.1f}">{escape(cut(bar.words, 44))}</text>'


def _rules(identity: str) -> Iterator[str]:
    found = {
        ".bar": "stroke-width:1.3;" + mix("fill", "#56b4e9", 30, "paper") + mix("stroke", "#56b4e9", 78, "ink"),
        ".first": "stroke-width:2.4;" + mix("fill", "#009e73", 45, "paper") + mix("stroke", "#009e73", 82, "ink"),
        ".guess": "fill:none;stroke-width:1.3;stroke-dasharray:4 3;" + mix("stroke", "ink", 50, "paper"),
        ".race": f"transform-box:fill-box;transform-origin:left;animation:{identity}-race 1s linear both",
    }
    for selector, rule in found.items():
        yield f"#{identity} {selector}{{{rule}}}"
    yield f"@keyframes {identity}-race{{from{{transform:scaleX(0)}}to{{transform:scaleX(1)}}}}"
    yield f"@media(prefers-reduced-motion:reduce){{#{identity} .race{{animation:none}}}}"
