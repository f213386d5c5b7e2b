"""Tape steps: which operators of a gradient's graph are steps, beside whom they stand, and what each of them needs.

From a graph document (introspect/graph_document.py) and from the knowledge whose gradient flows where, as plain data in
and out:

    steps       forward ones, then backward ones, in the order in which they were built
    rows        one for each forward step; a backward step is in the row of its twin
    kept        the forward values that backward steps read: saved activations, and until when
    adds        where a value was read by several, its gradient is the sum of several: what each reader contributes
    alive       bytes of all values that were computed already and are still to be read, if each step stored its value

Nothing here knows Vars, or numbers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from jt_edu.lens.document_schema import row_size

Row = dict[str, Any]
VIEWS = ("reindex", "index")
LEAVES = ("source", "constant")
MANY = 150  # rows; beyond, they are shown in groups
GROUPS = 60  # at most, if the modules allow it
PARTS = 20  # of a sum that are named at most: the last of them
CHUNK = 20  # rows of a group where there are no modules


@dataclass(frozen=True)
class Flows:
    """Whose gradient is which node, and who hands a gradient to whom, in the order in which that happens."""

    gradient_of: Mapping[int, int]
    readers: Mapping[int, Sequence[int]]


@dataclass
class _Graph:
    """A graph document, with what is asked of it again and again."""

    nodes: dict[int, Row]
    readers: dict[int, list[int]]
    forward: set[int]
    outputs: set[int]
    inside: set[int] = field(default_factory=set)  # views and products: read through
    anchors: list[int] = field(default_factory=list)


def tape_of(graph: Row, loss: int, flows: Flows) -> Row:
    """The part "tape" of a page.

    Example:
        >>> nodes = [
        ...     {"id": 0, "op": "array", "kind": "source", "shape": [2], "inputs": []},
        ...     {"id": 1, "op": "exp", "kind": "elementwise", "shape": [2], "inputs": [0]},
        ...     {"id": 2, "op": "sum", "kind": "reindex_reduce", "shape": [], "inputs": [1]},
        ...     {"id": 3, "op": "multiply", "kind": "elementwise", "shape": [2], "inputs": [1], "twin": 1},
        ... ]
        >>> nodes = [{**node, "dtype": "float32"} for node in nodes]
        >>> tape = tape_of({"nodes": nodes, "outputs": [2, 3]}, 2, Flows({0: 3}, {0: [1]}))
        >>> [(s["node"], s["phase"], s["row"], s["alive"]) for s in tape["steps"]]
        [(1, 'forward', 0, 8), (2, 'forward', 1, 12), (3, 'backward', 0, 20)]
        >>> tape["kept"]
        [{'node': 1, 'step': 0, 'until': 2, 'bytes': 8}]
    """
    g = _prepared(graph, loss)
    steps = [_step(g, node) for node in g.anchors]
    number = {step["node"]: k for k, step in enumerate(steps)}
    forward = [step for step in steps if step["phase"] == "forward"]
    home = _rows(g, forward)
    for step in steps:
        step["row"] = number[step["node"]] if step["phase"] == "forward" else _row(step["twin"], home, len(forward))
    _name_gradients(g, steps, number, flows)
    for part in (part for step in steps for part in step.get("adds", {}).get("parts", ())):
        part["row"] = home.get(part["reader"])
    last = _last_reads(steps, number, g.outputs | {i for i, n in g.nodes.items() if n.get("held")})
    _count_bytes(steps, last)
    kept = _kept(g, steps, number)
    peak = max(range(len(steps)), key=lambda k: steps[k]["alive"], default=0)
    return {
        "loss": loss,
        "steps": steps,
        "rows": len(forward),
        "groups": _groups(g, forward),
        "passing": _passing(g, home, number),
        "kept": kept,
        "peak": {"step": peak, "bytes": steps[peak]["alive"] if steps else 0},
    }


def _prepared(graph: Row, loss: int) -> _Graph:
    nodes = {row["id"]: row for row in graph["nodes"]}
    readers: dict[int, list[int]] = defaultdict(list)
    for row in nodes.values():
        for i in dict.fromkeys(row["inputs"]):
            readers[i].append(row["id"])
    g = _Graph(nodes, readers, _behind(nodes, loss), set(graph["outputs"]))
    g.inside = {i for i, row in nodes.items() if _is_read_through(g, row)}
    order = [i for i in sorted(nodes) if i not in g.inside and nodes[i]["kind"] not in LEAVES]
    g.anchors = [*(i for i in order if i in g.forward), *(i for i in order if i not in g.forward)]
    return g


def _behind(nodes: Mapping[int, Row], start: int) -> set[int]:
    seen, waiting = {start}, [start]
    while waiting:
        fresh = [i for i in nodes[waiting.pop()]["inputs"] if i in nodes and i not in seen]
        seen.update(fresh)
        waiting += fresh
    return seen


def _is_read_through(g: _Graph, row: Row) -> bool:
    """Whether a node has no step of its own: a view, or the product inside a matrix product or a convolution."""
    if row["id"] in g.outputs or not g.readers[row["id"]]:
        return False
    if row["kind"] in VIEWS:
        return True
    if row["op"] != "multiply" or len(row["inputs"]) != 2 or len(g.readers[row["id"]]) != 1:
        return False
    sums = g.nodes[g.readers[row["id"]][0]]["kind"] == "reindex_reduce"
    return sums and all(g.nodes[i]["kind"] == "reindex" for i in row["inputs"])


def _step(g: _Graph, node: int) -> Row:
    row = g.nodes[node]
    inputs, through = _read(g, row)
    return {
        "node": node,
        "op": row["op"],
        "phase": "forward" if node in g.forward else "backward",
        "twin": None if node in g.forward else row.get("twin"),
        "inputs": inputs,
        "through": through,
        "kernel": row.get("kernel"),
        "bytes": row_size(row),
    }


def _read(g: _Graph, row: Row) -> tuple[list[int], list[int]]:
    """The values that a step reads, and the nodes that it looks at them through."""
    found: dict[int, None] = {}
    through: dict[int, None] = {}
    waiting = list(reversed(row["inputs"]))
    while waiting:
        i = waiting.pop()
        if i in g.inside:
            if i not in through:
                through[i] = None
                waiting.extend(reversed(g.nodes[i]["inputs"]))
        else:
            found[i] = None
    return [i for i in found if g.nodes[i]["kind"] != "constant"], sorted(through)


def _rows(g: _Graph, forward: Sequence[Row]) -> dict[int, int]:
    """Forward node -> its row: that of its step, or of the first step that reads it."""
    home = {step["node"]: k for k, step in enumerate(forward)}
    for k, step in enumerate(forward):
        for i in (*step["through"], *step["inputs"]):
            if i in g.inside or g.nodes[i]["kind"] in LEAVES:
                home.setdefault(i, k)
    return home


def _row(twin: int | None, home: Mapping[int, int], rows: int) -> int:
    last = max(rows - 1, 0)
    return last if twin is None else home.get(twin, last)


def _passing(g: _Graph, home: Mapping[int, int], number: Mapping[int, int]) -> list[Row]:
    """Backward views that several steps or other rows read through: what a row hands on without computing anything."""
    found = [
        {"node": i, "row": home[row["twin"]]}
        for i, row in g.nodes.items()
        if i in g.inside and i not in g.forward and row["kind"] in VIEWS and row.get("twin") in home
    ]
    busy = {home.get(g.nodes[n]["twin"]) for n in number if n not in g.forward and g.nodes[n].get("twin") is not None}
    return [one for one in found if one["row"] not in busy]


def _name_gradients(g: _Graph, steps: Sequence[Row], number: Mapping[int, int], flows: Flows) -> None:
    """Say on each backward step whose gradient it is, and of which contributions it is the sum."""
    for node, gradient in flows.gradient_of.items():
        if gradient in number and steps[number[gradient]]["phase"] == "backward":
            steps[number[gradient]].setdefault("of", []).append(node)
    for node, gradient in flows.gradient_of.items():
        parts, sums = _contributions(g, gradient, flows.readers.get(node, ()))
        for k, total in enumerate(sums, start=2):
            if total in number:
                some = parts[max(0, k - PARTS) : k]
                steps[number[total]]["adds"] = {"to": node, "parts": some, "done": k, "of": len(parts)}


def _contributions(g: _Graph, gradient: int, readers: Sequence[int]) -> tuple[list[Row], list[int]]:
    """What each reader of a value hands to its gradient, in that order, and the nodes that add it up.

    The sum is a chain of additions, each in the name of the reader that brought its second part.
    """
    parts, sums, at = [], [], gradient
    for reader in reversed(readers[1:]):
        row = g.nodes.get(at)
        if row is not None and row["op"] == "add" and row.get("twin") == reader and len(row["inputs"]) == 2:
            parts.append({"node": row["inputs"][1], "reader": reader})
            sums.append(at)
            at = row["inputs"][0]
    if not parts:
        return [], []
    parts.append({"node": at, "reader": g.nodes[at].get("twin") if at in g.nodes else None})
    return parts[::-1], sums[::-1]


def _last_reads(steps: Sequence[Row], number: Mapping[int, int], kept: Iterable[int]) -> dict[int, int]:
    """Step -> the step after which its value is read no more; the last one for what somebody keeps."""
    last = {k: k for k in range(len(steps))}
    for k, step in enumerate(steps):
        for i in step["inputs"]:
            if i in number:
                last[number[i]] = max(last[number[i]], k)
    for i in kept:
        if i in number:
            last[number[i]] = len(steps) - 1
    return last


def _count_bytes(steps: Sequence[Row], last: Mapping[int, int]) -> None:
    alive = 0
    ends: dict[int, list[int]] = defaultdict(list)
    for k, until in last.items():
        ends[until].append(k)
    for k, step in enumerate(steps):
        alive += step["bytes"]
        step["alive"] = alive
        step["until"] = last[k]
        alive -= sum(steps[j]["bytes"] for j in ends[k])


def _kept(g: _Graph, steps: Sequence[Row], number: Mapping[int, int]) -> list[Row]:
    """Forward values that backward steps read: computed at `step`, read last by the backward step `until`."""
    until: dict[int, int] = {}
    for k, step in enumerate(steps):
        if step["phase"] == "backward":
            step["saved"] = [i for i in step["inputs"] if i in g.forward and i in number]
            until |= dict.fromkeys(step["saved"], k)
    return [
        {"node": i, "step": number[i], "until": k, "bytes": steps[number[i]]["bytes"]} for i, k in sorted(until.items())
    ]


def _groups(g: _Graph, forward: Sequence[Row]) -> list[Row]:
    """Rows that are shown as one where there are too many: those of one module, or of one line, or just neighbours."""
    if len(forward) <= MANY:
        return []
    paths = [g.nodes[step["node"]].get("module", "").split("/") for step in forward]
    for depth in range(max(map(len, paths)), 0, -1):
        groups = _runs(["/".join(p[:depth]) for p in paths])
        if len(groups) <= GROUPS and any(p != [""] for p in paths):
            return _split(groups)
    lines = _runs([g.nodes[step["node"]].get("where", "") for step in forward])
    return _split(lines) if len(lines) <= GROUPS else _split([{"label": "", "from": 0, "to": len(forward)}])


def _runs(labels: Sequence[str]) -> list[Row]:
    groups, at = [], 0
    for label, same in groupby(labels):
        count = len(list(same))
        groups.append({"label": label, "from": at, "to": at + count})
        at += count
    return groups


def _split(groups: Sequence[Row]) -> list[Row]:
    """No group is longer than what can be shown when it is open."""
    found = []
    for group in groups:
        size = CHUNK if not group["label"] else MANY
        starts = range(group["from"], group["to"], size)
        found += [{"label": group["label"], "from": at, "to": min(at + size, group["to"])} for at in starts]
    return found
