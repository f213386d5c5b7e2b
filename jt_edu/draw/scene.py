"""Scene: where does everything stand, inside of each kernel and between the kernels?

    ┌ kernel 0 ──┴───┐     a line enters a frame through a port at its top, and leaves through one at its bottom,
    │  [ mul ]   │   │     so the lane that it takes inside is kept free as any other
    │    [ add ]─┘   │
    └─────┬──────────┘

Nothing here knows colours or XML.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from jt_edu.draw.columns import Box
from jt_edu.draw.layout import LANE, Link, Point, place
from jt_edu.draw.text import KINDS, clean, count, cut, width
from jt_edu.draw.view import Card, Chip, Id, Line, View, group

CAPITALS = ("output", "alone")  # chips in small capitals
CARD = 46.0  # height
CHIP, CHIP_APART, CHIP_PAD, STALK = 20.0, 5.0, 8.0, 10.0
PAD = {"source": 20.0, "reindex": 22.0, "reindex_reduce": 22.0, "index": 22.0, "constant": 22.0, "hostcall": 20.0}
BETWEEN = 18.0  # words on the left and on the right of a card
FRAME, HEAD, FOOT = 16.0, 36.0, 18.0
GAP, INNER_GAP = 36.0, 26.0


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
    cards: list[Card]
    entries: dict[Id, Box] = field(default_factory=dict)
    exits: dict[Id, Box] = field(default_factory=dict)
    links: list[tuple[Link, Line]] = field(default_factory=list)
    outside: Box = field(default_factory=lambda: Box(0.0, 0.0, 0.0))

    @property
    def caption(self) -> str:
        """Its first line."""
        return f"kernel {cut(clean(self.kernel), 12)} · {count(len(self.cards), 'op')}"

    @property
    def corner(self) -> Point:
        """Top left of what is inside."""
        return self.outside.x - self.outside.left + FRAME, self.outside.y + FRAME

    def port(self, box: Box) -> float:
        """How far a port stands to the right of the axis."""
        return box.x + FRAME - self.outside.left


@dataclass
class Scene:
    """All that is drawn, with its places."""

    cards: list[Placed]
    frames: list[Frame]
    lines: list[tuple[str, Line, list[Point]]]  # "thin" or "thick", and "head" where it arrives at a card
    labels: list[tuple[float, float, str]]
    width: float
    height: float


def title(card: Card) -> tuple[str, str]:
    """First line of a card: what is set in bold, and the rest."""
    if not card.name:
        return cut(card.op, 32), ""
    return cut(card.name, 20), "" if card.kind == "source" else f"= {cut(card.op, 28)}"


def kind(card: Card) -> str:
    """What is set in small capitals."""
    return ("∂ " if card.gradient else "") + KINDS[card.kind]


def card_width(card: Card) -> float:
    """As wide as its two lines and the slant of its outline need."""
    bold, rest = title(card)
    first = width(bold, 13, "bold") + width(f" {rest}", 13) + BETWEEN + width(kind(card), 11, "caps")
    second = width(cut(card.facts, 40), 11.5, "mono") + BETWEEN + width(number(card), 11, "mono")
    return round(max(first, second) + 2 * PAD.get(card.kind, 15.0))


def number(card: Card) -> str:
    """How other cards call it, when they are far."""
    return cut(clean(card.id), 12)


def chip_width(chip: Chip) -> float:
    """Words and margins."""
    style = "caps" if chip.kind in CAPITALS else "mono"
    return round(width(chip.text, 11, style) + 2 * CHIP_PAD)


def compose(seen: View) -> Scene:
    """Place what is inside of each kernel, then the kernels and the cards that are in none."""
    boxes = {card.id: _box(card) for card in seen.cards.values()}
    frames: dict[Id, Frame] = {f"k{k}": _frame(seen, k, cards, boxes) for k, cards in seen.frames.items()}
    tops: dict[Id, Box] = {}
    arrived = {line.target for line in seen.lines}
    for card in seen.cards.values():
        key = group(card)
        tops[key] = frames[key].outside if key in frames else boxes[card.id]
        tops[key].rank, tops[key].low = seen.outer[key], key not in frames and card.id not in arrived
    links = _outer_links(seen, frames, tops)
    across, down = place(list(tops.values()), [link for link, _ in links], GAP)
    scene = Scene([], list(frames.values()), [], [], across, down)
    for link, line in links:
        head = group(seen.cards[line.target]) not in frames
        scene.lines.append((_style(seen, line, head=head), line, link.points))
    for frame in frames.values():
        _unpack(scene, seen, frame, boxes)
    for card in seen.cards.values():
        box, half = boxes[card.id], card_width(card) / 2
        scene.cards.append(Placed(card, box.x - half, box.y + box.inset, 2 * half))
    return scene


def _box(card: Card) -> Box:
    half = card_width(card) / 2
    sides = [STALK + max(map(chip_width, chips)) if chips else 0.0 for chips in (card.left, card.right)]
    stack = max(len(card.left), len(card.right)) * (CHIP + CHIP_APART) - CHIP_APART
    height = max(CARD, stack)
    return Box(half + sides[0], half + sides[1], height, half - 22, (height - CARD) / 2)


def _frame(seen: View, kernel: int, cards: list[Card], boxes: dict[Id, Box]) -> Frame:
    """The inside of a kernel, with ports for what comes and goes."""
    frame = Frame(kernel, cut(seen.kernels.get(kernel, ""), 32), cards)
    inside = {card.id for card in cards}
    foot = max(seen.inner[i] for i in inside) + 2
    for i in inside:
        boxes[i].rank = seen.inner[i] + 1
    for line in seen.lines:
        if line.target in inside:
            if line.source not in inside:
                frame.entries.setdefault(line.source, Box(2 * LANE, 2 * LANE, HEAD, lane=True))
            source = boxes[line.source] if line.source in inside else frame.entries[line.source]
            frame.links.append((Link(source, boxes[line.target]), line))
        elif line.source in inside and line.source not in frame.exits:
            words = width(label(seen.cards[line.source]), 11, "mono")
            frame.exits[line.source] = Box(LANE, 22 + words, FOOT, rank=foot, lane=True)
            frame.links.append((Link(boxes[line.source], frame.exits[line.source]), line))
    words = max(width(frame.caption, 11, "caps"), width(frame.name, 12, "mono"))
    head = Box(0.0, words, HEAD, first=True)
    members = [head, *frame.entries.values(), *(boxes[card.id] for card in cards), *frame.exits.values()]
    across, down = place(members, [link for link, _ in frame.links], INNER_GAP)
    frame.outside = Box(across / 2 + FRAME, across / 2 + FRAME, down + 2 * FRAME - (4 if frame.exits else 0))
    return frame


def label(card: Card) -> str:
    """What is written beside a line that leaves a kernel."""
    return f"{cut(card.facts, 40)} · {card.bytes}" if card.bytes else cut(card.facts, 40)


def _outer_links(seen: View, frames: dict[Id, Frame], tops: dict[Id, Box]) -> list[tuple[Link, Line]]:
    """Lines between frames and lone cards; one for each value and frame, since it branches inside."""
    links, known = [], set()
    for line in seen.lines:
        a, b = group(seen.cards[line.source]), group(seen.cards[line.target])
        if a == b or (b in frames and (line.source, b) in known):
            continue
        known.add((line.source, b))
        out = frames[a].port(frames[a].exits[line.source]) if a in frames else 0.0
        into = frames[b].port(frames[b].entries[line.source]) if b in frames else None
        links.append((Link(tops[a], tops[b], out, into), line))
    return links


def _style(seen: View, line: Line, *, head: bool) -> str:
    fused = not seen.kernels or (line.fused and group(seen.cards[line.source]) == group(seen.cards[line.target]))
    return ("thin" if fused else "thick") + (" head" if head else "")


def _unpack(scene: Scene, seen: View, frame: Frame, boxes: dict[Id, Box]) -> None:
    """Move what is inside of a frame to where the frame stands."""
    x, y = frame.corner
    for box in (*(boxes[card.id] for card in frame.cards), *frame.exits.values()):
        box.x, box.y = box.x + x, box.y + y
    leaving = set(frame.exits.values())
    for link, line in frame.links:
        points = [(px + x, py + y) for px, py in link.points]
        if link.target in leaving:
            points[-1] = (points[-1][0], frame.outside.y + frame.outside.height)
        elif link.source.height == HEAD:
            points[0] = (points[0][0], frame.outside.y)
        scene.lines.append((_style(seen, line, head=link.target not in leaving), line, points))
    for i, box in frame.exits.items():
        scene.labels.append((box.x + 10, box.y + FOOT - 5, label(seen.cards[i])))
