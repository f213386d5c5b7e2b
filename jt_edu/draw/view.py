"""View: what of a graph document is drawn, and as what?

    card     an operator, a source, or a whole kernel when the graph is large
    chip     at the side of a card: a constant, an input too far away for a line, where the value is needed far below
    line     from a card to a card at most `REACH` ranks below

A training graph reads in its last line what it computed in its first. Drawn as lines, such edges hide everything else;
so they become chips on both ends that name each other (portals). Nothing here knows pixels.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jt_edu.draw.layout import ranks
from jt_edu.draw.text import KINDS, bytes_text, clean, count, cut, shape_text, tuple_text

REACH = 4  # ranks that a line may span
SOURCE_REACH = 2  # the same for lines from a source: its name says enough
FULL = 150  # cards; beyond, a kernel is one card
MOST = 400  # cards; beyond, the rest is not drawn

Id = int | str  # kernels that became cards have ids like "k3"


@dataclass(frozen=True)
class Chip:
    """Words at the side of a card. Kinds: constant, source, portal, output, and alone: the only one of its kernel."""

    kind: str
    text: str
    tip: str


@dataclass
class Card:
    """One node as it is drawn, or one kernel."""

    id: Id
    kind: str
    op: str
    name: str
    facts: str  # its second line
    tip: str
    inputs: list[Id]
    kernel: int | None = None
    alone: int | None = None  # the kernel it is all of
    shape: str = ""
    value: str = ""
    bytes: str = ""
    small: bool = False  # a constant that fits on a chip
    stored: bool = False
    gradient: bool = False
    output: bool = False
    left: list[Chip] = field(default_factory=list)
    right: list[Chip] = field(default_factory=list)

    @property
    def label(self) -> str:
        """How others call it."""
        return self.name or self.op


@dataclass(frozen=True)
class Line:
    """A value on its way from one card to another."""

    source: Id
    target: Id
    fused: bool
    tip: str


@dataclass
class View:
    """What is drawn."""

    cards: dict[Id, Card]
    kernels: dict[int, str]
    lines: list[Line]
    outer: dict[Id, int]  # ranks of lone cards; of kernels under "k3"
    inner: dict[Id, int]  # ranks inside a kernel
    notes: list[str]

    @property
    def frames(self) -> dict[int, list[Card]]:
        """The cards of each kernel that is drawn open."""
        found: dict[int, list[Card]] = defaultdict(list)
        for card in self.cards.values():
            if card.kernel is not None:
                found[card.kernel].append(card)
        return found


def group(card: Card) -> Id:
    """What stands for a card outside of its kernel."""
    return card.id if card.kernel is None else f"k{card.kernel}"


def view(document: Mapping[str, Any]) -> View:
    """Choose what is drawn of a document."""
    outputs = set(document.get("outputs", ()))
    cards: dict[Id, Card] = {node["id"]: _card(node, node["id"] in outputs) for node in document.get("nodes", ())}
    kernels = {kernel["id"]: clean(kernel.get("name", "")) for kernel in document.get("kernels", ())}
    total, notes = len(cards), []
    _drop_small(cards)
    if len(cards) > FULL and any(card.kernel is not None for card in cards.values()):
        cards = _collapse(cards, kernels)
        notes.append(f"Each kernel is drawn as one box: {count(total, 'node')} in {count(len(kernels), 'kernel')}.")
    if len(cards) > MOST:
        notes.append(f"Showing {MOST} of {len(cards):,} boxes, inputs first.")
        cards = dict(list(cards.items())[:MOST])
    for card in cards.values():
        card.inputs = [i for i in card.inputs if i in cards]
    return _connect(cards, kernels, document, notes)


def _card(node: Mapping[str, Any], output: bool) -> Card:
    facts, size, value = shape_text(node), bytes_text(node), clean(node.get("value", ""))
    name, op = clean(node.get("name", "")), clean(node.get("label") or node["op"])
    kind, shape = node.get("kind", ""), node.get("shape", ())
    marks = [word for word in ("gradient", "stored", "held") if node.get(word)]
    title = f"{clean(node['id'])}: {name} = {op}" if name else f"{clean(node['id'])}: {op}"
    said = [title, facts, size, value and f"value {value}", clean(node.get("where", "")), *marks]
    return Card(
        id=node["id"],
        kind=kind if kind in KINDS else "code",
        op=op,
        name=name,
        facts=f"{facts} = {value}" if not shape and 0 < len(value) <= 12 else facts,
        tip=" · ".join(filter(None, said)),
        inputs=list(node.get("inputs", ())),
        kernel=node.get("kernel"),
        shape=tuple_text(shape),
        value=value,
        bytes=size,
        small=kind == "constant" and not output and all(n == 1 for n in shape),
        stored=bool(node.get("stored")),
        gradient=bool(node.get("gradient")),
        output=output,
    )


def _drop_small(cards: dict[Id, Card]) -> None:
    """Constants of one element become chips on the cards that read them."""
    small = {i for card in cards.values() for i in card.inputs if i in cards and cards[i].small}
    for card in cards.values():
        _chips(card, {i: _constant_chip(cards[i]) for i in card.inputs if i in small})
    for i in small:
        del cards[i]


def _constant_chip(card: Card) -> Chip:
    return Chip("constant", cut(card.value or card.label, 12), f"constant {card.tip}")


def _chips(card: Card, chips: Mapping[Id, Chip]) -> None:
    """Inputs become chips: to the left of the card where they come before the first input that stays, else right."""
    stays = next((k for k, i in enumerate(card.inputs) if i not in chips), 1)
    for k, i in enumerate(card.inputs):
        if i in chips:
            (card.left if k < stays else card.right).append(chips[i])
    card.inputs = [i for i in card.inputs if i not in chips]


def _collapse(cards: dict[Id, Card], kernels: Mapping[int, str]) -> dict[Id, Card]:
    """Each kernel becomes one card, in the place of its first node."""
    folded: dict[Id, Card] = {}
    inputs: dict[Id, dict[Id, None]] = defaultdict(dict)
    sizes: dict[Id, int] = defaultdict(int)
    for card in cards.values():
        key = group(card)
        sizes[key] += 1
        inputs[key].update((group(cards[i]), None) for i in card.inputs if i in cards and group(cards[i]) != key)
        if card.kernel is None:
            folded[key] = card
        else:
            number = f"kernel {cut(clean(card.kernel), 12)}"
            name = kernels.get(card.kernel) or number
            one = folded.setdefault(key, Card(key, "kernel", name, "", number, f"{number}: {name}", []))
            one.output, one.gradient = one.output or card.output, one.gradient or card.gradient
    for key, card in folded.items():
        card.inputs = list(inputs[key])
        if card.kind == "kernel":
            card.facts += f" · {count(sizes[key], 'op')}"
    return folded


def _connect(cards: dict[Id, Card], kernels: dict[int, str], document: Mapping[str, Any], notes: list[str]) -> View:
    """Decide for every edge: a line, or chips on both ends."""
    _unwrap(cards)
    edges = [(cards[i], card) for card in cards.values() for i in card.inputs]
    groups = [(group(a), group(b)) for a, b in edges]
    outer = ranks(list(dict.fromkeys(map(group, cards.values()))), [(a, b) for a, b in groups if a != b])
    inner = ranks(list(cards), [(a.id, b.id) for a, b in edges if group(a) == group(b)])
    facts = {(edge["source"], edge["target"]): edge for edge in document.get("edges", ())}
    lines: list[Line] = []
    far: dict[Id, list[Card]] = defaultdict(list)
    for a, b in edges:
        fact = facts.get((a.id, b.id), {})
        if _reaches(a, b, outer, inner) and not _once_more(a, b, fact):
            lines.append(_line(a, b, fact))
        else:
            far[b.id].append(a)
    _portals(cards, far, near={line.source for line in lines})
    for card in cards.values():
        if card.alone is not None:
            card.right.insert(0, Chip("alone", f"kernel {cut(clean(card.alone), 12)}", kernels.get(card.alone, "")))
        if card.output:
            card.right.append(Chip("output", "output", "asked for"))
    return View(cards, kernels, lines, outer, inner, notes)


def _unwrap(cards: Mapping[Id, Card]) -> None:
    """A kernel of one node needs no frame: its card says which kernel it is."""
    members: dict[int | None, list[Card]] = defaultdict(list)
    for card in cards.values():
        members[card.kernel].append(card)
    for kernel, found in members.items():
        if kernel is not None and len(found) == 1:
            found[0].kernel = None
            found[0].alone = kernel


def _reaches(a: Card, b: Card, outer: Mapping[Id, int], inner: Mapping[Id, int]) -> bool:
    """Whether a line is short enough to be drawn, and points down."""
    if group(a) == group(b):
        return 0 < inner[b.id] - inner[a.id] <= REACH
    reach = SOURCE_REACH if a.kind == "source" else REACH
    return 0 < outer[group(b)] - outer[group(a)] <= reach and (b.kernel is None or inner[b.id] < REACH)


def _once_more(a: Card, b: Card, edge: Mapping[str, Any]) -> bool:
    """Fused, but into another kernel: that one computes `a` once more, so no array goes from here to there."""
    here, there = (card.kernel if card.alone is None else card.alone for card in (a, b))
    return bool(edge.get("fused")) and here is not None and there is not None and here != there


def _line(a: Card, b: Card, edge: Mapping[str, Any]) -> Line:
    fused = bool(edge.get("fused", a.kernel is not None and a.kernel == b.kernel))
    said = [f"{a.label} → {b.label}", a.facts, a.bytes, clean(edge.get("rule", "")), clean(edge.get("reason", ""))]
    return Line(a.id, b.id, fused, " · ".join(part for part in said if part))


def _portals(cards: dict[Id, Card], far: Mapping[Id, list[Card]], near: set[Id]) -> None:
    """Chips on both ends of long edges. A source that no line leaves is drawn as chips only."""
    hidden = {a.id for b in far.values() for a in b if a.kind in ("source", "constant") and not a.output} - near
    users: dict[Id, list[Id]] = defaultdict(list)
    for target, sources in far.items():
        for i in dict.fromkeys(a.id for a in sources):
            users[i].append(target)
        _chips(cards[target], {a.id: _arriving(a, hidden=a.id in hidden) for a in sources})
    for i, targets in users.items():
        more = f" +{len(targets) - 3}" if len(targets) > 3 else ""
        tip = "needed far below: " + cut("; ".join(cards[t].tip.partition(" · ")[0] for t in targets), 300)
        cards[i].right.append(Chip("portal", f"↓ {', '.join(cut(clean(t), 12) for t in targets[:3])}{more}", tip))
    for i in hidden:
        del cards[i]


def _arriving(a: Card, *, hidden: bool) -> Chip:
    if hidden:
        return Chip("source", cut(f"{a.label} {a.shape}", 24), a.tip)
    number = cut(clean(a.id), 12)
    return Chip("portal", f"↑ {number}" if a.label == a.op else f"↑ {cut(a.label, 12)} {number}", f"from {a.tip}")
