"""Visible graph: what of a graph document is drawn, and as what?

    card     an operator, a source, or a closed box: a module, a kernel, Block × 12
    frame    an open box
    chip     at the side of a card: a constant, a parameter, an input too far away for a line, where a value is needed
    line     from a card to a card at most `REACH` ranks below

A training graph reads in its last line what it computed in its first. Drawn as lines, such edges hide everything else;
so they become chips on both ends that name each other (portals). Nothing here knows pixels.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.base.plural import plural
from jt_edu.draw.clusters import WAYS, Group, Id, Item, Node, below, grow, start
from jt_edu.draw.layout import ranks
from jt_edu.draw.node_boxes import Card, Chip, add_chips, box_card, carried, chip_of, node_card, parameter_chips
from jt_edu.draw.text_metrics import clean, cut

REACH = 4  # ranks that a line may span
SOURCE_REACH = 2  # the same for lines from a source: its name says enough
GUTTER = 12  # the same for lines that keep to the side of what they pass, and stay on one side of the loss
FULL = 150  # cards; beyond, a kernel is one card
MOST = 400  # cards; beyond, the rest is not drawn

Pairs = list[tuple[Id, Id]]  # source and target
Facts = Mapping[tuple[Id, Id], Mapping[str, Any]]  # what is known of an edge


@dataclass(frozen=True)
class Line:
    """A value on its way from one card to another, or several from a closed box."""

    source: Id
    target: Id
    fused: bool
    tip: str
    thin: bool = True  # what it carries never becomes an array
    values: tuple[Id, ...] = ()  # the nodes that it comes from


@dataclass
class View:
    """What is drawn."""

    how: str  # what shares a box
    nodes: dict[Id, Node]
    root: Group
    kernels: dict[Any, str]
    shapes: bool
    groups: dict[str, Group] = field(default_factory=dict)  # all boxes, open and closed
    opened: set[str] = field(default_factory=set)
    cards: dict[Id, Card] = field(default_factory=dict)
    shows: dict[Id, Id] = field(default_factory=dict)  # the card that shows a node, itself or in a closed box
    lines: list[Line] = field(default_factory=list)
    ranks: dict[Id, int] = field(default_factory=dict)  # of cards and frames, inside what they stand in
    notes: list[str] = field(default_factory=list)


def view(
    document: Mapping[str, Any], group: str | None = None, opened: Collection[str] | None = None, *,
    fold: bool = True, shapes: bool = False, most: int = MOST,
) -> View:  # fmt: skip
    """Choose what is drawn of a document.

    Args:
        document: a graph as plain data.
        group: what shares a box: "kernel", "module" or "none". None: modules where there are some, else kernels.
        opened: the keys of the boxes that are open; None: as many as one can look at.
        fold: whether neighbours that look the same inside become one box.
        shapes: whether shapes stand beside all lines; else only beside those that leave a box.
        most: cards; beyond, the rest is not drawn.
    """
    nodes, outputs = _nodes(document), set(document.get("outputs") or ())
    if group is None:
        group = "module" if any(node.get("module") for node in nodes.values()) else "kernel"
    if group not in WAYS:
        raise ArgumentError("a view groups by kernel, by module or not at all", repr(group), f"one of {WAYS}")
    aside = _aside(nodes, outputs, group)
    root = grow({i: node for i, node in nodes.items() if i not in aside}, group, fold=fold)
    kernels = {kernel["id"]: clean(kernel.get("name")) for kernel in document.get("kernels") or ()}
    seen = View(group, nodes, root, kernels, shapes, {box.key: box for box in below(root)})
    _choose(seen, opened, most, outputs)
    _fill_in(seen, aside)
    _connect(seen, {(edge["source"], edge["target"]): edge for edge in document.get("edges") or ()})
    return seen


# choosing


def _nodes(document: Mapping[str, Any]) -> dict[Id, Node]:
    """The rows by their id, with the inputs that a reader can be sure of."""
    found: dict[Id, Node] = {}
    for row in document.get("nodes") or ():
        if not isinstance(row.get("id"), (int, str)):
            raise ArgumentError("every node of a graph document has an id, a number or a text", repr(row.get("id")))
        inputs = [i for i in _list(row.get("inputs")) if isinstance(i, (int, str))]
        kernel = row.get("kernel")
        kernel = kernel if isinstance(kernel, (int, str)) else None
        found[row["id"]] = {**row, "inputs": inputs, "shape": _list(row.get("shape")), "kernel": kernel}
    return found


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()


def _aside(nodes: Mapping[Id, Node], outputs: Collection[Id], group: str) -> set[Id]:
    """What is drawn as chips only: constants of one element and, around modules, parameters, with what makes them."""
    model = any(node.get("module") for node in nodes.values()) and group != "none"
    first = {node["inputs"][0] for node in nodes.values() if node["inputs"]}
    found: set[Id] = set()
    for reader in nodes.values():
        for i in reader["inputs"]:
            node = nodes.get(i)
            if node is None or i in outputs:
                continue
            small = node.get("kind") == "constant" and all(n == 1 for n in node["shape"])
            if small or (model and _is_parameter(node, reader, first)):
                found.add(i)
    return found | {i for i, node in nodes.items() if node.get("input") in found}


def _is_parameter(node: Node, reader: Node, first: Collection[Id]) -> bool:
    """An array with a name within a model, or that a module reads, and nobody in the first place."""
    if node.get("kind") != "source" and node.get("input") != node["id"]:
        return False
    return "." in clean(node.get("name")) or (bool(reader.get("module")) and node["id"] not in first)


def _choose(seen: View, opened: Collection[str] | None, most: int, outputs: Collection[Id]) -> None:
    """Which boxes are open, and which cards that leaves to draw."""
    wanted = _first_look(seen) if opened is None else opened
    number = {i: k for k, i in enumerate(seen.nodes)}
    leaves = list(_leaves(seen.root, wanted, ()))
    leaves.sort(key=lambda leaf: number[leaf[0].nodes[0] if isinstance(leaf[0], Group) else leaf[0]])
    for item, path in leaves[:most]:
        if isinstance(item, Group):
            card = box_card(item, seen.nodes, outputs, seen.kernels)
        else:
            card = node_card(seen.nodes[item], output=item in outputs)
            card.alone = None if path or seen.how != "kernel" else card.kernel
        card.path = path
        seen.cards[card.id] = card
        seen.opened.update(path)
        seen.shows.update(dict.fromkeys(card.nodes, card.id))
    _note(seen, len(leaves))


def _first_look(seen: View) -> Collection[str]:
    if seen.how == "kernel":
        small = len(seen.root.nodes) <= FULL
        return [key for key, box in seen.groups.items() if small and box.kind != "input"]
    return start(seen.root)


def _note(seen: View, leaves: int) -> None:
    """Say what the picture leaves out."""
    total, boxes = len(seen.nodes), [card for card in seen.cards.values() if card.box]
    if boxes and seen.how == "kernel" and not seen.opened:
        kernels = plural(len(seen.kernels), "kernel")
        seen.notes.append(f"Each kernel is drawn as one box: {plural(total, 'node')} in {kernels}.")
    elif boxes:
        shown = total - len(seen.root.nodes) + sum(len(card.nodes) for card in seen.cards.values() if not card.box)
        closed = "a closed box" if len(boxes) == 1 else f"{len(boxes):,} closed boxes"
        seen.notes.append(f"Showing {shown:,} of {plural(total, 'node')}; the others are in {closed}.")
    if leaves > len(seen.cards):
        seen.notes.append(f"Showing {len(seen.cards)} of {leaves:,} boxes, inputs first.")


def _leaves(group: Group, opened: Collection[str], path: tuple[str, ...]) -> Iterator[tuple[Item, tuple[str, ...]]]:
    """What gets a card, and the frames that it stands in."""
    for item in group.items:
        if isinstance(item, Group) and item.key in opened:
            yield from _leaves(item, opened, (*path, item.key))
        else:
            yield item, path


def _fill_in(seen: View, aside: Collection[Id]) -> None:
    """The inputs of every card: other cards, and chips. Whatever comes from a closed box, or goes into one, is one."""
    for card in seen.cards.values():
        chips: dict[Id, Chip] = {}
        known: set[Id] = set()
        for reader in map(seen.nodes.__getitem__, card.nodes):
            for i in reader["inputs"]:
                key = i if i in aside else seen.shows.get(i, card.id)
                if key == card.id or (key in known and (card.box or _is_box(seen, key))):
                    continue
                if i in aside and i not in chips:
                    chips[i] = chip_of(seen.nodes[i], reader)
                known.add(key)
                card.inputs.append(key)
        if card.box:
            card.inputs = [i for i in card.inputs if i not in chips]
            card.left += parameter_chips(chips)
        else:
            add_chips(card, chips)


def _is_box(seen: View, key: Id) -> bool:
    return key in seen.cards and seen.cards[key].box is not None


# connecting


def _connect(seen: View, facts: Facts) -> None:
    """Decide for every edge: a line, or chips on both ends."""
    edges = [(seen.cards[i], card) for card in seen.cards.values() for i in card.inputs]
    depths, pairs = _rank(seen, edges), _pairs(seen)
    far: dict[Id, list[Card]] = defaultdict(list)
    leaving: dict[Id, list[Id]] = defaultdict(list)
    for a, b in edges:
        between = pairs[a.id, b.id]
        if _reaches(seen, a, b, depths) and not _once_more(seen, between, facts):
            seen.lines.append(_line(seen, a, b, between, facts))
            leaving[a.id] += seen.lines[-1].values
        else:
            far[b.id].append(a)
    _portals(seen.cards, far, leaving)
    for card in seen.cards.values():
        if card.alone is not None:
            name = seen.kernels.get(card.alone, "")
            card.right.insert(0, Chip("alone", f"kernel {cut(clean(card.alone), 12)}", name))
        if card.output:
            card.right.append(Chip("output", "output", "asked for"))
        if card.box and card.id in leaving:
            card.words = carried(leaving[card.id], seen.nodes)


def _rank(seen: View, edges: list[tuple[Card, Card]]) -> dict[Id, int]:
    """Ranks within every frame, and how deep each one is."""
    inside: dict[Id, dict[Id, None]] = defaultdict(dict)
    for card in seen.cards.values():
        for frame, item in pairwise(("", *card.path, card.id)):
            inside[frame][item] = None
    pairs: dict[Id, Pairs] = defaultdict(list)
    for a, b in edges:
        k = meet(a, b)
        pairs[("", *a.path)[k]].append((way(a)[k], way(b)[k]))
    fed = {item for a, b in edges if a.gradient == b.gradient for item in way(b)} if seen.how != "kernel" else set()
    for frame, items in inside.items():
        seen.ranks.update(ranks(list(items), pairs[frame], fed))
    return {frame: max(seen.ranks[i] for i in items) for frame, items in inside.items()}


def way(card: Card) -> tuple[Id, ...]:
    """The frames around a card, outermost first, and the card."""
    return (*card.path, card.id)


def meet(a: Card, b: Card) -> int:
    """How many frames two cards share."""
    k = 0
    while k < len(a.path) and k < len(b.path) and a.path[k] == b.path[k]:
        k += 1
    return k


def _pairs(seen: View) -> dict[tuple[Id, Id], Pairs]:
    """From card to card: which node needs which."""
    found: dict[tuple[Id, Id], Pairs] = defaultdict(list)
    for card in seen.cards.values():
        for target in card.nodes:
            for source in seen.nodes[target]["inputs"]:
                if source in seen.shows:
                    found[seen.shows[source], card.id].append((source, target))
    return found


def _reaches(seen: View, a: Card, b: Card, depths: Mapping[Id, int]) -> bool:
    """Whether a line goes down, and is short enough, where the ways of two cards part and in every frame."""
    k, above, under = meet(a, b), way(a), way(b)
    span = seen.ranks[under[k]] - seen.ranks[above[k]]
    deep = max((seen.ranks[item] + 1 for item in under[k + 1 :]), default=0)
    if seen.how == "kernel":
        return 0 < span <= (SOURCE_REACH if a.kind == "source" and not k else REACH) and deep <= REACH
    if a.gradient != b.gradient and a.path != b.path:
        return False
    reach = SOURCE_REACH if a.kind == "source" else GUTTER if a.gradient == b.gradient else REACH
    high = max((depths[frame] - seen.ranks[item] + 1 for frame, item in pairwise(above[k:])), default=0)
    return 0 < span <= reach and max(deep, high) <= max(reach, REACH)


def _once_more(seen: View, pairs: Pairs, facts: Facts) -> bool:
    """Fused, but into another kernel: that one computes it once more, so no array goes from here to there."""
    if seen.how != "kernel" or len(pairs) != 1:
        return False
    here, there = (seen.nodes[i].get("kernel") for i in pairs[0])
    return bool(facts.get(pairs[0], {}).get("fused")) and here is not None and there is not None and here != there


def _line(seen: View, a: Card, b: Card, pairs: Pairs, facts: Facts) -> Line:
    kernels = [(seen.nodes[u].get("kernel"), seen.nodes[v].get("kernel")) for u, v in pairs]
    same = [here is not None and here == there for here, there in kernels]
    fused = all(facts.get(pair, {}).get("fused", one) for pair, one in zip(pairs, same, strict=True))
    values = tuple(dict.fromkeys(u for u, _ in pairs))
    edge = facts.get(pairs[0], {}) if a.box is None and b.box is None else {}
    said = [a.facts, a.bytes] if a.box is None else [carried(values, seen.nodes)]
    said = [f"{a.label} → {b.label}", *said, clean(edge.get("rule")), clean(edge.get("reason"))]
    thin = not seen.kernels or (fused and all(same))
    return Line(a.id, b.id, fused, " · ".join(filter(None, said)), thin, values)


def _portals(cards: dict[Id, Card], far: Mapping[Id, list[Card]], near: Collection[Id]) -> None:
    """Chips on both ends of long edges. A source that no line leaves is drawn as chips only."""
    hidden = {
        a.id for b in far.values() for a in b if a.kind in ("source", "constant") and not a.output and a.id not in near
    }
    users: dict[Id, list[Card]] = defaultdict(list)
    for target, sources in far.items():
        for i in dict.fromkeys(a.id for a in sources):
            users[i].append(cards[target])
        add_chips(cards[target], {a.id: _arriving(a, hidden=a.id in hidden) for a in sources})
    for i, targets in users.items():
        more = f" +{len(targets) - 3}" if len(targets) > 3 else ""
        tips = "; ".join(card.tip.partition(" · ")[0] for card in targets[:300])
        names = ", ".join(card.address for card in targets[:3])
        cards[i].right.append(Chip("portal", f"↓ {names}{more}", f"needed far below: {cut(tips, 300)}"))
    for i in hidden:
        del cards[i]


def _arriving(a: Card, *, hidden: bool) -> Chip:
    if hidden:
        return Chip("source", cut(f"{a.label} {a.shape}", 24), a.tip)
    named = a.label != a.op and a.number
    return Chip("portal", f"↑ {cut(a.label, 12)} {a.number}" if named else f"↑ {a.address}", f"from {a.tip}")
