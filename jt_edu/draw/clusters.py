"""Clusters: which nodes stand together in a box that can be opened and closed?

    module    Net, in it Net/body, in it Net/body/0: as the modules hold each other; gradients have boxes of their own
    line      what no module built, by the learner's line, where there is much of it
    kernel    what one kernel computes
    repeat    neighbours that look the same inside: Block × 12
    part      a stretch of what is still too long to look at
    input     what only makes what goes in: random numbers, constants, data that is cast

No box waits for itself by way of others: a module that is called again after something else gets a box for each call.
Nothing here knows cards or pixels.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

from jt_edu.draw.text_metrics import clean, cut

Id = int | str
Node = Mapping[str, Any]

DEEP = 12  # boxes in boxes; what is deeper stands in the innermost
ALIKE = 3  # neighbours that are folded; of those that hold boxes, two are enough
SMALL = 24  # nodes and boxes that are all shown to begin with
FIRST = (150, 60, 16)  # nodes, boxes and frames that the first levels may have together, to begin with
LINES = 60  # nodes that need no boxes for the lines that built them
MANY = 150  # boxes in a box
PART = 50
WAYS = ("kernel", "module", "none")


@dataclass(eq=False)
class Group:
    """A box: what is in it, in the order of the document."""

    key: str  # it stays the same as long as the document does
    kind: str
    name: str = ""
    made: str = ""  # the class of a module
    gradient: bool = False
    number: int | str | None = None  # of its kernel
    parent: Group | None = None
    nodes: list[Id] = field(default_factory=list)  # all of them, also those in boxes inside
    items: list[Item] = field(default_factory=list)  # nodes and boxes
    sign: int = 0  # the same for all that look the same inside

    @property
    def groups(self) -> list[Group]:
        """The boxes in it."""
        return [item for item in self.items if isinstance(item, Group)]


Item = Union[Group, Id]  # noqa: UP007  a class that is not there yet knows no bar


def grow(nodes: Mapping[Id, Node], how: str, *, fold: bool = True) -> Group:
    """All boxes of a document, in one that is called "". `nodes`: what gets a box, inputs first."""
    root = Group("", "all", nodes=list(nodes))
    if how == "kernel":
        _by_kernel(root, nodes)
    elif how == "module":
        _Modules(nodes, fold=fold).fill(root, 0)
    else:
        root.items = list(nodes)
    return root


def below(group: Group) -> Iterator[Group]:
    """All boxes in a box, outer ones first."""
    for inner in group.groups:
        yield inner
        yield from below(inner)


def start(root: Group) -> set[str]:
    """Which boxes are open to begin with: all of a small graph; of a large one those that hold boxes, by level."""
    plain = [group for group in below(root) if not _is_folded(group)]
    if len(root.items) + sum(len(group.items) for group in plain) <= SMALL:
        return {group.key for group in plain}
    opened: set[str] = set()
    level, shown, most = [root], 0, list(FIRST)
    while level:
        shown += sum(len(group.items) for group in level)
        if shown > (most.pop(0) if most[1:] else most[0]):
            break
        opened.update(group.key for group in level)
        level = [g for group in level for g in group.groups if g.kind == "module" and g.groups]
    return opened - {""}


def _is_folded(group: Group | None) -> bool:
    while group is not None:
        if group.kind in ("repeat", "part", "input"):
            return True
        group = group.parent
    return False


def _by_kernel(root: Group, nodes: Mapping[Id, Node]) -> None:
    """A kernel of one node needs no box; what makes an input has one in it, or is all of it."""
    members: dict[Any, list[Id]] = defaultdict(list)
    for i, node in nodes.items():
        members[node.get("kernel")].append(i)
    boxes = {}
    for kernel, ids in members.items():
        if kernel is not None and len(ids) > 1:
            key = _free(f"k{clean(kernel)}", nodes)
            boxes[kernel] = _inputs_in(Group(key, "kernel", number=kernel, parent=root, nodes=ids), nodes)
    root.items = list(dict.fromkeys(boxes.get(node.get("kernel"), i) for i, node in nodes.items()))


def _inputs_in(box: Group, nodes: Mapping[Id, Node]) -> Group:
    members: dict[Any, list[Id]] = defaultdict(list)
    for i in box.nodes:
        members[nodes[i].get("input")].append(i)
    if None not in members and len(members) == 1:
        return _input(box.key, nodes[box.nodes[-1]], box.parent, box.number, box.nodes)
    home: dict[Id, Item] = {}
    for end, ids in members.items():
        if end is not None and len(ids) > 1:
            key = _free(f"{box.key}/i:{clean(end)}", nodes)
            home |= dict.fromkeys(ids, _input(key, nodes[ids[-1]], box, None, ids))
    box.items = list(dict.fromkeys(home.get(i, i) for i in box.nodes))
    return box


def _input(key: str, last: Node, parent: Group | None, number: Any = None, ids: Sequence[Id] = ()) -> Group:
    """The box of what makes an input. The last of its nodes has its name, and is what others read."""
    name, made = clean(last.get("name")), clean(last.get("made"))
    return Group(key, "input", name, made, number=number, parent=parent, nodes=list(ids), items=list(ids))


def _free(key: str, taken: Iterable[object]) -> str:
    """The key, or a longer one that nothing else has."""
    while key in taken:
        key += "'"
    return key


class _Modules:
    """Makes boxes for modules, one level after the other."""

    def __init__(self, nodes: Mapping[Id, Node], *, fold: bool) -> None:
        self.nodes, self.fold = nodes, fold
        self.paths = _paths(nodes)
        self.keys: set[object] = set(nodes)
        self.signs: dict[object, int] = {}

    def fill(self, parent: Group, depth: int) -> None:
        """Put the nodes of a box into boxes inside it."""
        home: dict[Id, Item] = {}
        found: dict[str, Group] = {}
        for i in parent.nodes:
            path = self.paths[i]
            if depth < len(path):
                step = path[depth]
                if step not in found:
                    found[step] = self._box(parent, step, self.nodes[i], depth)
                home[i] = found[step]
            else:
                home[i] = i
        self._split(home)
        items = list(dict.fromkeys(home.values()))
        for i, item in home.items():
            if isinstance(item, Group):
                item.nodes.append(i)
        for item in items:
            if isinstance(item, Group):
                self.fill(item, depth + 1)
        if self.fold:
            items = self._folded(parent, items, home)
        parent.items = self._parts(parent, items, home)
        parent.sign = self._sign((parent.kind, parent.made, parent.gradient, *map(self._look, parent.items)))

    def _box(self, parent: Group, step: str, node: Node, depth: int) -> Group:
        if step.startswith("i:"):
            return _input(self._key(step), self.nodes.get(node["input"], node), parent)
        if step.startswith("l:"):
            place, _, words = step[2:].partition(": ")
            gradient = bool(node.get("gradient"))
            return Group(self._key(step), "line", place.removeprefix("∂ "), words, gradient, parent=parent)
        name = step if depth else step[2:]
        key = f"{parent.key}/{step}" if depth else step
        return Group(self._key(key), "module", name, _class(node, depth), bool(node.get("gradient")), parent=parent)

    def _key(self, key: str) -> str:
        key = _free(cut(key, 200), self.keys)
        self.keys.add(key)
        return key

    def _split(self, home: dict[Id, Item]) -> None:
        """Boxes that wait for each other in a circle are split into stretches without anything else in between."""
        circle = _circle(list(dict.fromkeys(home.values())), self._pairs(home))
        before: Item | None = None
        calls: dict[Group, int] = defaultdict(int)
        current: dict[Group, Group] = {}
        for i, item in home.items():
            if item not in circle:
                continue
            if isinstance(item, Group):
                if item is not before:
                    calls[item] += 1
                    current[item] = item if calls[item] == 1 else self._again(item, calls[item])
                home[i] = current[item]
            before = item

    def _again(self, group: Group, call: int) -> Group:
        key = self._key(f"{group.key}#{call}")
        return Group(key, group.kind, group.name, group.made, group.gradient, parent=group.parent)

    def _pairs(self, home: Mapping[Id, Item]) -> list[tuple[Item, Item]]:
        """Who needs whom, among what stands side by side."""
        found: dict[tuple[Item, Item], None] = {}
        for i, item in home.items():
            for j in self.nodes[i]["inputs"]:
                if (other := home.get(j)) is not None and other != item:
                    found[other, item] = None
        return list(found)

    def _folded(self, parent: Group, items: list[Item], home: Mapping[Id, Item]) -> list[Item]:
        """Neighbours that look the same inside become one box, unless that would close a circle."""
        runs: list[list[Item]] = []
        for item in items:
            if runs and isinstance(item, Group) and item.kind == "module" and self._look(runs[-1][0]) == item.sign:
                runs[-1].append(item)
            else:
                runs.append([item])
        boxes = {run[0]: self._repeat(parent, run) for run in runs if len(run) >= _alike(run[0])}
        if not boxes:
            return items
        inside = {item: box for box in boxes.values() for item in box.items}
        folded = {i: inside.get(item, item) for i, item in home.items()}
        circle = _circle(list(dict.fromkeys(folded.values())), self._pairs(folded))
        kept: list[Item] = []
        for run in runs:
            box = boxes.get(run[0])
            if box is None or box in circle:
                kept += run
                continue
            kept.append(box)
            for group in box.groups:
                group.parent = box
        return kept

    def _repeat(self, parent: Group, run: Sequence[Item]) -> Group:
        groups = [item for item in run if isinstance(item, Group)]
        first = groups[0]
        name = f"{cut(first.made or first.name, 24)} × {len(groups)}"
        nodes = [i for group in groups for i in group.nodes]
        box = Group(self._key(f"r:{first.key}"), "repeat", name, "", first.gradient, None, parent, nodes, list(run))
        box.sign = self._sign(("repeat", len(groups), first.sign))
        return box

    def _parts(self, parent: Group, items: list[Item], home: Mapping[Id, Item]) -> list[Item]:
        """What is too long is cut into stretches, each of which needs only those before it."""
        if len(items) <= MANY:
            return items
        where = {item: item for item in items}
        where.update((inner, group) for group in items if isinstance(group, Group) for inner in group.items)
        placed = {i: where.get(item, item) for i, item in home.items()}
        order = _in_order(items, self._pairs(placed))
        size = max(PART, -(-len(order) // (MANY - 1)))
        parts: list[Item] = []
        for k in range(0, len(order), size):
            box = Group(self._key(f"p:{parent.key}:{k // size + 1}"), "part", f"part {k // size + 1}", parent=parent)
            box.items = order[k : k + size]
            for group in box.groups:
                group.parent = box
            box.nodes = [i for item in box.items for i in (item.nodes if isinstance(item, Group) else [item])]
            box.items = self._parts(box, box.items, placed)
            parts.append(box)
        return parts

    def _look(self, item: Item) -> int:
        if isinstance(item, Group):
            return item.sign
        node = self.nodes[item]
        return self._sign((str(node.get("op")), str(node.get("shape")), str(node.get("dtype"))))

    def _sign(self, look: object) -> int:
        return self.signs.setdefault(look, len(self.signs) + 1)


def _paths(nodes: Mapping[Id, Node]) -> dict[Id, list[str]]:
    """The boxes that each node is in, outermost first. Gradients stand in boxes of their own, beginning with "g:"."""
    paths: dict[Id, list[str]] = {}
    for i, node in nodes.items():
        module = clean(node.get("module"))
        steps = [step for step in module.split("/") if step] if module else []
        if node.get("input") is not None:
            steps = [f"i:{clean(node['input'])}"]
        elif steps:
            steps[0] = ("g:" if node.get("gradient") else "m:") + steps[0]
        paths[i] = [*steps[: DEEP - 1], "/".join(steps[DEEP - 1 :])] if len(steps) > DEEP else steps
    modules = any(path and not path[0].startswith("i:") for path in paths.values())
    return paths | _lines(nodes, [i for i, path in paths.items() if not path], modules=modules)


def _lines(nodes: Mapping[Id, Node], alone: Sequence[Id], *, modules: bool) -> dict[Id, list[str]]:
    """What no module built, by the learner's line; a small graph without modules is shown as it is."""
    members: dict[str, list[Id]] = defaultdict(list)
    for i in alone:
        where = clean(nodes[i].get("where"))
        if where and nodes[i].get("kind") not in ("source", "constant"):
            members[f"l:{'∂ ' if nodes[i].get('gradient') else ''}{cut(where, 150)}"].append(i)
    if not modules and sum(map(len, members.values())) <= LINES:
        return {}
    return {i: [line] for line, ids in members.items() if len(ids) > 1 for i in ids}


def _class(node: Node, depth: int) -> str:
    """The class of a module on the way; a list that holds modules is a step without a class."""
    classes = node.get("modules") or []
    return clean(classes[depth]) if depth < len(classes) else ""


def _alike(item: Item) -> int:
    """How many neighbours that look like this one are folded."""
    return 2 if isinstance(item, Group) and item.groups else ALIKE


def _circle(items: list[Item], pairs: Iterable[tuple[Item, Item]]) -> set[Item]:
    """What is on a circle, or between two: what waits for ever, whichever end one begins at."""
    pairs = list(pairs)
    left = _sorted(items, pairs)[1]
    return set(_sorted(left, [(b, a) for a, b in pairs])[1])


def _in_order(items: list[Item], pairs: Iterable[tuple[Item, Item]]) -> list[Item]:
    """Inputs first, else in the order that they have; what is on a circle comes last."""
    found, left = _sorted(items, pairs)
    return found + left


def _sorted(items: list[Item], pairs: Iterable[tuple[Item, Item]]) -> tuple[list[Item], list[Item]]:
    """Inputs first, else in the order that they have; and what waits for ever, for what is on a circle."""
    number = {item: k for k, item in enumerate(items)}
    users: dict[Item, list[Item]] = defaultdict(list)
    waiting = dict.fromkeys(items, 0)
    for a, b in pairs:
        if a in number and b in number:
            users[a].append(b)
            waiting[b] += 1
    ready, found = [number[item] for item in items if not waiting[item]], dict.fromkeys(items[:0])
    while ready:
        item = items[heapq.heappop(ready)]
        found[item] = None
        for user in users[item]:
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, number[user])
    return list(found), [item for item in items if item not in found]
