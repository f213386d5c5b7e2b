"""Node boxes: what does one box of a picture say?

    title     name = operator; a module's name and its class; the learner's line
    facts     shape and dtype; of a closed box how much is in it
    chips     words at its sides: constants, parameters, what is too far away for a line

Nothing here knows what else is drawn, nor pixels.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from jt_edu.base.plural import plural
from jt_edu.draw.clusters import Group, Id, Node
from jt_edu.draw.text_metrics import KINDS, bytes_of, bytes_text, clean, cut, shape_text, size_text, tuple_text

FEW = 2  # parameters that a closed box names
DIGITS = re.compile("[0-9]+")


@dataclass(frozen=True)
class Chip:
    """Words at the side of a card. Kinds: constant, source, portal, output, and alone: the only one of its kernel."""

    kind: str
    text: str
    tip: str


@dataclass
class Card:
    """One node as it is drawn, or one closed box."""

    id: Id
    kind: str
    op: str
    name: str
    facts: str  # its second line
    tip: str
    inputs: list[Id]
    kernel: int | None = None
    alone: Id | None = None  # the kernel it is all of
    shape: str = ""
    value: str = ""
    bytes: str = ""
    stored: bool = False
    gradient: bool = False
    output: bool = False
    left: list[Chip] = field(default_factory=list)
    right: list[Chip] = field(default_factory=list)
    path: tuple[str, ...] = ()  # the frames that it stands in, outermost first
    nodes: list[Id] = field(default_factory=list)  # the nodes that it stands for
    box: Group | None = None
    words: str = ""  # what leaves a closed box

    @property
    def label(self) -> str:
        """How others call it."""
        return self.name or self.op

    @property
    def number(self) -> str:
        """How others call it, when they are far: by its number, which the card bears; a module by its name."""
        return "" if self.box and self.box.kind != "kernel" else cut(clean(self.id), 12)

    @property
    def address(self) -> str:
        """The same where no card is beside it: members of a list are called layer1/0."""
        if self.number or self.box is None:
            return self.number
        outer, name = self.box.parent, self.label
        while DIGITS.fullmatch(name) and outer and outer.key:
            name = name if outer.kind == "repeat" else f"{outer.name}/{name}"
            outer = outer.parent
        return cut(("∂ " if self.gradient else "") + name, 20)


def node_card(node: Node, *, output: bool) -> Card:
    """The card of one node."""
    facts, size, value = shape_text(node), bytes_text(node), clean(node.get("value", ""))
    name, op = clean(node.get("name", "")), clean(node.get("label") or node.get("op"))
    kind, shape = clean(node.get("kind")), node.get("shape") or ()
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
        inputs=[],  # a view connects it
        kernel=node.get("kernel"),
        shape=tuple_text(shape),
        value=value,
        bytes=size,
        stored=bool(node.get("stored")),
        gradient=bool(node.get("gradient")),
        output=output,
        nodes=[node["id"]],
    )


def box_card(group: Group, nodes: Mapping[Id, Node], outputs: Collection[Id], kernels: Mapping[Any, str]) -> Card:
    """The card of a closed box: how many operators are in it, in how many kernels, and what they store."""
    inside = [nodes[i] for i in group.nodes]
    facts = [plural(len(inside), "op")]
    if group.kind == "input":
        facts = [shape_text(inside[-1])]
        name, op, title = group.name, group.made, group.kind
    elif group.kind == "kernel":
        facts.insert(0, f"kernel {cut(clean(group.number), 12)}")
        name, op, title = "", kernels.get(group.number, "") or facts[0], facts[0]
    else:
        used = {node.get("kernel") for node in inside} - {None}
        facts += [plural(len(used), "kernel")] if used else []
        stored = size_text(sum(bytes_of(node) for node in inside if node.get("stored")))
        facts += [stored] if stored else []
        made = class_of(group)
        name, op, title = group.name, made if made != group.name else "", group.kind
    return Card(
        id=group.key,
        kind=group.kind,
        op=op,
        name=name,
        facts=" · ".join(facts),
        tip=f"{title}: {op}" if group.kind == "kernel" else " · ".join(filter(None, [f"{title} {name}", op, *facts])),
        inputs=[],
        gradient=group.gradient or (group.kind == "kernel" and any(node.get("gradient") for node in inside)),
        output=any(i in outputs for i in group.nodes),
        alone=group.number if group.kind == "input" else None,
        nodes=group.nodes,
        box=group,
    )


def class_of(group: Group) -> str:
    """The class of a module; of one that holds nothing but others of one class, that class and how many."""
    held = [inner for item in group.groups for inner in (item.groups if item.kind == "repeat" else [item])]
    classes = {inner.made for inner in held}
    alike = len(held) > 1 and len(group.groups) == len(group.items) and len(classes) == 1 and "" not in classes
    return f"{held[0].made} × {len(held)}" if alike and group.kind == "module" else group.made


def carried(values: Iterable[Id], nodes: Mapping[Id, Node]) -> str:
    """What goes along a line, in words."""
    found = [nodes[i] for i in dict.fromkeys(values)]
    if len(found) == 1:
        return " · ".join(filter(None, [shape_text(found[0]), bytes_text(found[0])]))
    return " · ".join(filter(None, [plural(len(found), "array"), size_text(sum(map(bytes_of, found)))]))


def add_chips(card: Card, chips: Mapping[Id, Chip]) -> None:
    """Inputs become chips: to the left of the card where they come before the first input that stays, else right."""
    stays = next((k for k, i in enumerate(card.inputs) if i not in chips), 1)
    for k, i in enumerate(card.inputs):
        if i in chips:
            (card.left if k < stays else card.right).append(chips[i])
    card.inputs = [i for i in card.inputs if i not in chips]


def chip_of(node: Node, reader: Node) -> Chip:
    """A constant or a parameter at the side of the card that reads it; in a module its last name is enough."""
    card = node_card(node, output=False)
    if card.kind == "constant":
        return Chip("constant", cut(card.value or card.label, 12), f"constant {card.tip}")
    name = card.label.rpartition(".")[2] if reader.get("module") else card.label
    return Chip("source", cut(f"{name} {card.shape}", 24), card.tip)


def parameter_chips(chips: Mapping[Id, Chip]) -> list[Chip]:
    """The parameters that a closed box reads: by name, or how many."""
    found = [chip for chip in chips.values() if chip.kind == "source"]
    if len(found) <= FEW:
        return found
    return [Chip("source", plural(len(found), "parameter"), cut("; ".join(chip.text for chip in found[:300]), 300))]
