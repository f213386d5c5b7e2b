"""Scene: cards, frames and lines with their places, in two levels: inside of each kernel, then the kernels themselves.

    ┌ kernel 0 ──┴───┐     a line enters a frame through a port at its top, and leaves through one at its bottom,
    │  [ mul ]   │   │     so the lane that it takes inside is kept free as any other
    │    [ add ]─┘   │
    └─────┬──────────┘

Nothing here knows colours or XML.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from jt_edu.draw.layout import APART, LANE, Box, Link, Point, place
from jt_edu.draw.text import KINDS, count, cut, width
from jt_edu.draw.view import Card, Chip, Id, Line, View, group, view

__all__ = ["Scene", "compose", "view"]

CARD = 46.0  # height
CHIP, CHIP_APART, CHIP_PAD, STALK = 20.0, 5.0, 8.0, 10.0
PAD = {"source": 20.0, "reindex": 22.0, "reindex_reduce": 22.0, "index": 22.0, "constant": 22.0, "code": 18.0, "hostcall": 20.0}
BETWEEN = 18.0  # words on the left and on the right of a card
FRAME, HEAD, FOOT = 16.0, 36.0, 18.0
GAP, INNER_GAP = 34.0, 22.0


@dataclass
class Placed:
    """A card, where it stands."""

    card: Card
    x: float
    y: float
    width: float


@dataclass
class Frame:
    """The frame of one kernel: what is inside, placed from (0, 0)."""

    kernel: int
    name: str
    size: int
    cards: list[Card]
    entries: dict[Id, Box] = field(default_factory=dict)
    exits: dict[Id, Box] = field(default_factory=dict)
    links: list[tuple[Link, Line]] = field(default_factory=list)
    outside: Box = field(default_factory=lambda: Box(0.0, 0.0, 0.0))

    @property
    def caption(self) -> str:
        """Its first line."""
        return f"kernel {self.kernel} · {count(self.size, 'op')}"

    @property
    def corner(self) -> Point:
        """Top left of what is inside."""
        return self.outside.x - self.outside.left + FRAME, self.outside.y + FRAME


@dataclass
class Scene:
    """All that is drawn, with its places."""

    cards: list[Placed]
    frames: list[Frame]
    lines: list[tuple[str, Line, list[Point]]]  # how: "thin" or "thick"; "…-head" where it arrives at a card
    labels: list[tuple[float, float, str]]
    width: float
    height: float


def title(card: Card) -> tuple[str, str]:
    """First line of a card: what is set in bold, and the rest."""
    return (cut(card.name, 20), f" = {cut(card.op, 28)}") if card.name else (cut(card.op, 32), "")


def kind(card: Card) -> str:
    """What is set in small capitals."""
    return ("∂ " if card.gradient else "") + KINDS[card.kind]


def card_width(card: Card) -> float:
    """As wide as its two lines and the slant of its outline need."""
    bold, rest = title(card)
    first = width(bold, 13, "bold") + width(rest, 13) + BETWEEN + width(kind(card), 11, "caps")
    second = width(cut(card.facts, 40), 11.5, "mono") + BETWEEN + width(number(card), 11, "mono")
    return round(max(first, second) + 2 * PAD.get(card.kind, 14.0))


def number(card: Card) -> str:
    """How other cards call it, when they are far."""
    return "" if card.kind == "kernel" else cut(str(card.id), 12)


def chip_width(chip: Chip) -> float:
    """Words and margins."""
    style = "caps" if chip.kind in ("output", "kernel") else "mono"
    return round(width(chip.text, 11, style) + 2 * CHIP_PAD)


def _box(card: Card) -> Box:
    half = card_width(card) / 2
    sides = [STALK + max(map(chip_width, chips)) if chips else 0.0 for chips in (card.left, card.right)]
    stack = max(len(card.left), len(card.right)) * (CHIP + CHIP_APART) - CHIP_APART
    height = max(CARD, stack)
    return Box(half + sides[0], half + sides[1], height, half - 22, (height - CARD) / 2)


def compose(seen: View) -> Scene:
    """Place what is inside of each kernel, then all kernels and the cards that are in none."""
    boxes = {card.id: _box(card) for card in seen.cards.values()}
    frames = {f"k{k}": _frame(seen, k, cards, boxes) for k, cards in seen.frames.items()}
    tops: dict[Id, Box] = {}
    for card in seen.cards.values():
        key = group(card)
        tops[key] = frames[key].outside if key in frames else boxes[card.id]
        tops[key].rank = seen.outer[key]
        tops[key].low = card.kernel is None and not any(line.target == card.id for line in seen.lines)
    _close_ranks(list(tops.values()))
    links = _outer_links(seen, frames, tops)
    across, down = place(list(tops.values()), [link for link, _ in links], GAP)
    thick = "thick" if seen.framed else "thin"
    lines = [(_head(thick, frames, seen, line), line, link.points) for link, line in links]
    placed, labels = [], []
    for frame in frames.values():
        x, y = frame.corner
        for box in [*(boxes[card.id] for card in frame.cards), *frame.entries.values(), *frame.exits.values()]:
            box.x, box.y = box.x + x, box.y + y
        for link, line in frame.links:
            points = [(px + x, py + y) for px, py in link.points]
            lines.append((_style(frame, link, line), line, points))
        for i, box in frame.exits.items():
            labels.append((box.x + 8, box.y + FOOT - 4, _label(seen.cards[i])))
    for card in seen.cards.values():
        box, half = boxes[card.id], card_width(card) / 2
        placed.append(Placed(card, box.x - half, box.y + box.inset, 2 * half))
    return Scene(placed, list(frames.values()), lines, labels, across, down)
