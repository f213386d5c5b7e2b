"""SVG page: the paper that a small picture stands on, with the style sheet and the words of its parts.

    sheet("jt-lanes", (640, 200), "two ranks", [(" .bar", "fill:red")], parts)

Lanes, lifetimes and the tape stand on one. Nothing here knows what is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable

from jt_edu.draw.svg import escape
from jt_edu.draw.theme import SANS, mix, page_rules

FONT = 11  # pixels


def sheet(
    name: str, size: tuple[float, float], summary: str, rules: Iterable[tuple[str, str]], parts: Iterable[str]
) -> str:
    """A whole SVG.

    Args:
        name: its class, with which every rule begins: a page may hold several pictures.
        size: wide and high, in pixels.
        summary: one sentence, for those who cannot see it.
        rules: (what comes behind the class, its style).
        parts: what stands on the paper.
    """
    wide, high = size
    written = [
        ("", f"font:{FONT}px {SANS}"),
        (" text", mix("fill", "ink", 100, "paper")),
        (" .paper", mix("fill", "ink", 0, "paper")),
        *rules,
    ]
    style = page_rules(f".{name}") + "".join(f".{name}{part}{{{rule}}}" for part, rule in written)
    box = f'width="{wide:.0f}" height="{high:.0f}" viewBox="0 0 {wide:.0f} {high:.0f}"'
    return "".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" class="{name}">',
        f"<title>{escape(summary)}</title><style>{style}</style>",
        f'<rect class="paper" width="{wide:.0f}" height="{high:.0f}" rx="12"/>',
        *parts, "</svg>",
    ])  # fmt: skip


def words(x: float, y: float, text: str, anchor: str = "start") -> str:
    """Words that begin, end or have their middle at a place."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
