"""Scene: where does everything stand, inside each frame and between the frames?

    ┌ kernel 0 ──┴───┐     a line enters a frame through a port at its top, and leaves through one at its bottom,
    │  [ mul ]   │   │     so the lane that it takes inside is kept free as any other; a frame in a frame is one box
    │    [ add ]─┘   │     to it
    └─────┬──────────┘

Nothing here knows colours or XML.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

from jt_edu.base.plural import plural
from jt_edu.draw.clusters import Group, Id
from jt_edu.draw.layout import LANE, Link, Point, place
from jt_edu.draw.node_boxes import Card, Chip
from jt_edu.draw.text_metrics import KINDS, clean, cut, width
from jt_edu.draw.visible_graph import Line, View, meet, way
from jt_edu.draw.x_coordinates import Box

CAPITALS = ("output", "alone")  # chips in small capitals
CARD = 46.0  # height
CHIP, CHIP_APART, CHIP_PAD, STALK = 20.0, 5.0, 8.0, 10.0
PAD = {
    "source": 20.0, "input": 20.0, "reindex": 22.0, "reindex_reduce": 22.0, "index": 22.0, "constant": 22.0,
    "hostcall": 20.0,
}  # fmt: skip
BETWEEN = 18.0  # words on the left and on the right of a card
FRAME, HEAD, FOOT, TAIL = 16.0, 36.0, 18.0, 2.0
GAP, INNER_GAP = 36.0, 26.0
BESIDE = 10.0  # from a line to the words beside it


@dataclass
class Placed:
    """A card, where it stands."""

    card: Card
    x: float
    y: float
    width: float


@dataclass(frozen=True)
class Way:
    """One stretch of a line, within a frame: from a card or a frame in it to another; None: its edge."""

    line: Line
    source: Id | None
    target: Id | None


@dataclass
class Frame:
    """An open box: what is inside, placed from (0, 0). The outermost one is the whole picture."""

    group: Group
    name: str = ""
    items: list[Id] = field(default_factory=list)  # cards, and the keys of frames
    nodes: int = 0
    entries: dict[Id, Box] = field(default_factory=dict)
    exits: dict[Id, Box] = field(default_factory=dict)
    told: dict[Id, None] = field(default_factory=dict)  # exits with words beside them
    ways: dict[tuple[object, ...], Way] = field(default_factory=dict)
    links: list[Link] = field(default_factory=list)
    outside: Box = field(default_factory=lambda: Box(0.0, 0.0, 0.0))

    @property
    def caption(self) -> str:
        """Its first line."""
        kind = f"kernel {cut(clean(self.group.number), 12)}" if self.group.kind == "kernel" else self.group.kind
        return f"{'∂ ' if self.group.gradient else ''}{kind} · {plural(self.nodes, 'op')}"

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
    if card.kind in ("source", "repeat"):
        return cut(card.name, 20 if card.kind == "source" else 32), ""
    return cut(card.name, 20), cut(card.op, 28) if card.box else f"= {cut(card.op, 28)}"


def kind(card: Card) -> str:
    """What is set in small capitals."""
    return ("∂ " if card.gradient else "") + KINDS[card.kind]


def card_width(card: Card) -> float:
    """As wide as its two lines and the slant of its outline need."""
    bold, rest = title(card)
    first = width(bold, 13, "bold") + width(f" {rest}", 13) + BETWEEN + width(kind(card), 11, "caps")
    second = width(cut(card.facts, 40), 11.5, "mono") + BETWEEN + width(card.number, 11, "mono")
    return round(max(first, second) + 2 * PAD.get(card.kind, 15.0))


def chip_width(chip: Chip) -> float:
    """Words and margins."""
    style = "caps" if chip.kind in CAPITALS else "mono"
    return round(width(chip.text, 11, style) + 2 * CHIP_PAD)


def label(card: Card) -> str:
    """What is written beside a line that leaves a frame or a closed box."""
    if card.box:
        return card.words
    return f"{cut(card.facts, 40)} · {card.bytes}" if card.bytes else cut(card.facts, 40)


def compose(seen: View) -> Scene:
    """Place what is inside each frame, inner ones first, then everything."""
    return _Composer(seen).scene()


class _Composer:
    """Boxes and frames by their keys, while they are placed."""

    def __init__(self, seen: View) -> None:
        self.seen = seen
        leaving, self.arrived = {line.source for line in seen.lines}, {line.target for line in seen.lines}
        self.told = {i for i in leaving if seen.shapes or (seen.cards[i].box and seen.cards[i].kind != "input")}
        self.boxes = {i: _box(card, label(card) if i in self.told else "") for i, card in seen.cards.items()}
        self.frames: dict[Id, Frame] = {"": Frame(seen.root)}  # outer ones first
        for card in seen.cards.values():
            self._enter(card)
        for line in seen.lines:
            self._lead(line)

    def scene(self) -> Scene:
        """Place what is in each frame, inner ones first; then move it to where its frame stands, outer ones first."""
        size = (0.0, 0.0)
        for key in reversed(self.frames):
            size = self._place(key)
        scene = Scene([], list(self.frames.values())[1:], [], [], *size)
        for key, frame in self.frames.items():
            self._unpack(scene, frame, frame.corner if key else (0.0, 0.0))
        for i, card in self.seen.cards.items():
            box, half = self.boxes[i], card_width(card) / 2
            scene.cards.append(Placed(card, box.x - half, box.y + box.inset, 2 * half))
            if box.foot:
                scene.labels.append((box.x + BESIDE, box.y + box.height - 4, label(card)))
        return scene

    def _enter(self, card: Card) -> None:
        """Note in which frames a card stands."""
        outer = self.frames[""]
        for key in card.path:
            if key not in self.frames:
                group = self.seen.groups[key]
                self.frames[key] = Frame(group, cut(self._name(group), 32))
                outer.items.append(key)
            outer = self.frames[key]
            outer.nodes += len(card.nodes)
        outer.items.append(card.id)

    def _name(self, group: Group) -> str:
        if group.kind == "kernel":
            return self.seen.kernels.get(group.number, "")
        return " · ".join(dict.fromkeys(filter(None, [group.name, group.made])))

    def _lead(self, line: Line) -> None:
        """Lead a line out of the frames around its source, across, and into those around its target.

        It branches inside a frame, so a value enters each frame once, and leaves it once.
        """
        a, b = self.seen.cards[line.source], self.seen.cards[line.target]
        k, above, under = meet(a, b), way(a), way(b)
        self._add(("", *a.path)[k], line, above[k], under[k])
        for frame, item in pairwise(above[k:]):
            self._add(frame, line, item, None)
            if frame == above[k] and line.source not in self.told:
                self.frames[frame].told[line.source] = None
        for frame, item in pairwise(under[k:]):
            self._add(frame, line, None, item)

    def _add(self, frame: Id, line: Line, source: Id | None, target: Id | None) -> None:
        ways = self.frames[frame].ways
        once = target is None or target in self.frames
        ways.setdefault((line.source, target) if once else (len(ways),), Way(line, source, target))

    def _place(self, key: Id) -> tuple[float, float]:
        """Give a place to all that is in a frame, and to its ports."""
        frame, seen = self.frames[key], self.seen
        for item in frame.items:
            box = self._stands(item)
            box.rank = seen.ranks[item] + (1 if key else 0)
            box.low = not key and item not in self.frames and item not in self.arrived
        foot = max((self._stands(item).rank for item in frame.items), default=0) + 1
        for step in frame.ways.values():
            i = step.line.source
            if step.source is None:
                frame.entries.setdefault(i, Box(2 * LANE, 2 * LANE, HEAD, lane=True))
            if step.target is None:
                words = 22 + width(label(seen.cards[i]), 11, "mono") if i in frame.told else LANE
                frame.exits[i] = Box(LANE, words, FOOT if i in frame.told else TAIL, rank=foot, lane=True)
            frame.links.append(self._link(frame, step))
        members = [*frame.entries.values(), *map(self._stands, frame.items), *frame.exits.values()]
        if not key:
            return place(members, frame.links, GAP)
        words = max(width(frame.caption, 11, "caps"), width(frame.name, 12, "mono"))
        across, down = place([Box(0.0, words, HEAD, first=True), *members], frame.links, INNER_GAP)
        frame.outside = Box(across / 2 + FRAME, across / 2 + FRAME, down + 2 * FRAME - (4 if frame.exits else 0))
        return across, down

    def _stands(self, item: Id) -> Box:
        """What stands for a card or a frame where it is."""
        return self.frames[item].outside if item in self.frames else self.boxes[item]

    def _link(self, frame: Frame, step: Way) -> Link:
        i, out, into = step.line.source, 0.0, None
        if step.source in self.frames:
            inner = self.frames[step.source]
            out = inner.port(inner.exits[i])
        if step.target in self.frames:
            inner = self.frames[step.target]
            into = inner.port(inner.entries[i])
        source = frame.entries[i] if step.source is None else self._stands(step.source)
        target = frame.exits[i] if step.target is None else self._stands(step.target)
        return Link(source, target, out, into, gutter=self.seen.how != "kernel")

    def _unpack(self, scene: Scene, frame: Frame, corner: Point) -> None:
        """Move what is inside a frame to where the frame stands."""
        (x, y), outside = corner, frame.outside
        for box in (*map(self._stands, frame.items), *frame.exits.values()):
            box.x, box.y = box.x + x, box.y + y
        for step, link in zip(frame.ways.values(), frame.links, strict=True):
            points = [(px + x, py + y) for px, py in link.points]
            if step.target is None:
                points[-1] = (points[-1][0], outside.y + outside.height)
            elif step.source is None:
                points[0] = (points[0][0], outside.y)
            head = step.target is not None and step.target not in self.frames
            scene.lines.append((("thin" if step.line.thin else "thick") + (" head" if head else ""), step.line, points))
        for i in frame.told:
            box = frame.exits[i]
            scene.labels.append((box.x + BESIDE, box.y + FOOT - 5, label(self.seen.cards[i])))


def _box(card: Card, words: str) -> Box:
    """The room that a card takes, with its chips, and what stands below it."""
    half = card_width(card) / 2
    sides = [STALK + max(map(chip_width, chips)) if chips else 0.0 for chips in (card.left, card.right)]
    stack = max(len(card.left), len(card.right)) * (CHIP + CHIP_APART) - CHIP_APART
    height, foot = max(CARD, stack), FOOT if words else 0.0
    right = max(half + sides[1], BESIDE + width(words, 11, "mono") if words else 0.0)
    return Box(half + sides[0], right, height + foot, half - 22, (height - CARD) / 2, foot)
