"""Fusion passes: how do the operators of a graph become the few kernels that run?

    as written          each operator is a kernel of its own
    matrix products     a product and the sum of it, where nobody else reads the product, are one operator
    views               a view is read through
    elementwise chains  an operator is computed where its reader needs it
    shared loops        what reads the same, or what the loop has just made, shares that loop: the kernels of the plan

passes(document) reads one graph document, which says for every edge whether it is fused and by which rule, and counts
what each of these steps would read and write. The first two are counted as `jt.explain` counts operators (a view costs
nothing), the others as it counts kernels (each array once per kernel). Nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jt_edu.base.plural import plural
from jt_edu.lens.document_schema import row_size

Groups = dict[int, int | None]  # node -> the kernel it is computed in

VIEWS = ("view", "counter", "alias", "contraction")  # the rules of edges that cost nothing
CHAINS = (*VIEWS, "elementwise chain")
LOOPS = (*CHAINS, "same loops", "outer loops", "row blocks")


def passes(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The steps from operators to kernels, each with its groups of nodes and what they would cost.

    Args:
        document: a graph, as `jt.document` describes it.

    Returns:
        One dict a step: `name`, `why` (a sentence), `groups` (node as text -> kernel, or None), `kernels`, `bytes`
        (read and written), `temporaries` (arrays that were not asked for) and `temporary_bytes`.

    Example:
        >>> a, b, c = jt.array([1.0, 2.0]), jt.array([3.0, 4.0]), jt.array([5.0, 6.0])
        >>> [(step["name"], step["kernels"], step["bytes"]) for step in passes(jt.document((a * b + c).sum()))][::4]
        [('as written', 3, 60), ('shared loops', 1, 28)]
    """
    graph = _Graph(document)
    products = graph.contractions
    return [
        _as_written(graph, {}, "as written", _alone_words(graph)),
        _as_written(graph, products, "matrix products", _product_words(graph)),
        _planned(graph, graph.active(VIEWS, products), "views", _view_words(graph)),
        _planned(graph, graph.active(CHAINS, products), "elementwise chains", _chain_words(graph)),
        _planned(graph, graph.active(LOOPS, {}), "shared loops", _loop_words(graph), joined=True),
    ]


@dataclass
class _Graph:
    """A document, and what can be asked of it."""

    document: Mapping[str, Any]

    @cached_property
    def nodes(self) -> dict[int, Mapping[str, Any]]:
        """The nodes by number, inputs first."""
        return {node["id"]: node for node in self.document["nodes"]}

    @cached_property
    def edges(self) -> list[Mapping[str, Any]]:
        """The edges between computed values: the others leave no choice."""
        return [e for e in self.document["edges"] if not self.is_leaf(e["source"])]

    @cached_property
    def readers(self) -> dict[int, list[int]]:
        """Who reads a value, each once."""
        found: dict[int, list[int]] = {i: [] for i in self.nodes}
        for node in self.nodes.values():
            for i in dict.fromkeys(node["inputs"]):
                found[i].append(node["id"])
        return found

    @cached_property
    def wanted(self) -> set[int]:
        """What was asked for, or is still held."""
        return {*self.document["outputs"], *(i for i, node in self.nodes.items() if node["held"])}

    @cached_property
    def contractions(self) -> dict[int, int]:
        """A product -> its sum, where only that reads it: matrix products, convolutions."""
        sums = [node for node in self.nodes.values() if node.get("reducer") == "add"]
        return {node["inputs"][0]: node["id"] for node in sums if self._is_contraction(node["inputs"][0])}

    def _is_contraction(self, product: int) -> bool:
        node = self.nodes[product]
        if node["op"] != "multiply" or self.is_leaf(product) or len(self.readers[product]) != 1:
            return False
        return product in self.slid or all(
            self.is_view(i) and self.read(i) < self.size(product) for i in node["inputs"]
        )

    @cached_property
    def slid(self) -> set[int]:
        """The products that an algorithm of its own, such as one for convolutions, adds up."""
        found = {e["source"] for e in self.document["edges"] if e["rule"] == "contraction"}
        return {i for i in found if self.nodes[i]["op"] == "multiply"}

    @cached_property
    def windows(self) -> set[int]:
        """Views of an image that such products alone read: what is filled in at the edge is no array either."""
        seen = {i for product in self.slid for i in self.nodes[product]["inputs"]}
        return {i for i in seen if self.nodes[i]["kind"] == "reindex" and self.slid.issuperset(self.readers[i])}

    def is_leaf(self, i: int) -> bool:
        """Whether nothing computes it: an array that is there, or a number."""
        return self.nodes[i]["kind"] in ("source", "constant")

    def is_view(self, i: int) -> bool:
        """Whether it only says where to read."""
        return bool(self.nodes[i].get("view")) or i in self.windows

    def is_alias(self, i: int) -> bool:
        """A reshape of an array: the same memory. No kernel computes it."""
        return not self.is_leaf(i) and self.nodes[i]["kernel"] is None

    def size(self, i: int) -> int:
        """Bytes of the value as an array; a number is none."""
        node = self.nodes[i]
        return 0 if node["kind"] == "constant" else row_size(node)

    def root(self, i: int) -> int:
        """The value that a view, and views of it, show."""
        while self.is_view(i):
            i = self.nodes[i]["inputs"][0]
        return i

    def read(self, i: int) -> int:
        """Bytes that are read where a view is: of the array behind it, and no more than the view shows."""
        least = self.size(i)
        while self.is_view(i):
            i = self.nodes[i]["inputs"][0]
            least = min(least, self.size(i))
        return least

    def active(self, rules: Iterable[str], products: Mapping[int, int]) -> set[tuple[int, int]]:
        """The edges that are fused by one of these rules, and those from a product to its sum."""
        allowed = frozenset(rules)
        return {
            (e["source"], e["target"])
            for e in self.edges
            if e["fused"] and (e["rule"] in allowed or products.get(e["source"]) == e["target"])
        }


# the passes


def _as_written(graph: _Graph, products: Mapping[int, int], name: str, why: str) -> dict[str, Any]:
    """Each operator a kernel of its own. Views are no operators, and `products` are part of their sums."""
    nodes, parts = graph.nodes, {total: product for product, total in products.items()}
    operators = [i for i in nodes if not (graph.is_leaf(i) or graph.is_view(i) or i in products)]
    groups: Groups = dict.fromkeys(nodes)
    moved = 0
    for number, i in enumerate(operators):
        last = parts.get(i, i)
        groups[i] = groups[last] = number
        moved += graph.size(i) + sum(graph.read(k) for k in set(nodes[last]["inputs"]))
    return _step(graph, name, why, groups, operators, moved)


def _planned(graph: _Graph, active: set[tuple[int, int]], name: str, why: str, joined: bool = False) -> dict[str, Any]:
    """What is stored when only the `active` edges are fused; loops are shared where kernels are `joined`."""
    cut = {(e["source"], e["target"]) for e in graph.edges} - active
    stored = {i for i, node in graph.nodes.items() if node["stored"]} | {source for source, _ in cut}
    stored -= {i for i in stored if graph.is_leaf(i) or graph.is_alias(i)}
    anchors = [i for i in graph.nodes if i in stored or graph.nodes[i]["kind"] == "reindex_reduce"]
    homes = {i: graph.nodes[i]["kernel"] if joined else number for number, i in enumerate(anchors)}
    groups: Groups = {i: node["kernel"] if joined else homes.get(i) for i, node in graph.nodes.items()}
    arrays: dict[int, set[int]] = {home: set() for home in homes.values()}
    for i in anchors:
        arrays[homes[i]] |= {i} & stored
        beside = active if graph.nodes[i]["kind"] == "code" else set()  # parts that are written where they belong
        parts = [k for k in graph.nodes[i]["inputs"] if (k, i) not in beside or graph.root(k) not in stored]
        there = {k for k, home in homes.items() if k in stored or home == homes[i]}  # a block of rows may be made again
        for k in _behind(graph, parts, there if joined else homes):
            if graph.is_leaf(k) or k in stored:
                arrays[homes[i]].add(k)
            elif not graph.is_alias(k) and groups[k] is None:
                groups[k] = homes[i]
    moved = sum(graph.size(k) for found in arrays.values() for k in found)
    return _step(graph, name, why, groups, stored, moved)


def _behind(graph: _Graph, waiting: list[int], homes: Container[int]) -> Iterator[int]:
    """All that is read to compute what has these inputs, as far back as the arrays that are loaded."""
    seen = set()
    while waiting:
        i = waiting.pop()
        if i not in seen:
            seen.add(i)
            yield i
            waiting += [] if i in homes else graph.nodes[i]["inputs"]


def _step(graph: _Graph, name: str, why: str, groups: Groups, stored: Iterable[int], moved: int) -> dict[str, Any]:
    between = [i for i in stored if i not in graph.wanted]
    return {
        "name": name,
        "why": why,
        "groups": {str(i): number for i, number in groups.items()},
        "kernels": len(set(groups.values()) - {None}),
        "bytes": moved,
        "temporaries": len(between),
        "temporary_bytes": sum(map(graph.size, between)),
    }


# why, in a sentence


def _alone_words(graph: _Graph) -> str:
    views = sum(map(graph.is_view, graph.nodes))
    free = f" {_are(views, 'view')} free: a view only says where to read." if views else ""
    return f"Each operator reads its inputs from memory and writes its value back, in a kernel of its own.{free}"


def _product_words(graph: _Graph) -> str:
    found = len(graph.contractions)
    if not found:
        return "No product is read by a sum alone: there is no matrix product and no convolution here."
    return f"{plural(found, 'sum')} of products nobody else reads: each product is added up at once and is no array."


def _view_words(graph: _Graph) -> str:
    views = [i for i in graph.nodes if graph.nodes[i]["kind"] == "reindex"]
    kept = [i for i in views if graph.nodes[i]["stored"]]
    if not views:
        return "There are no views here."
    written = f", {len(kept)} written out because a whole array is needed" if kept else ""
    return f"Of {plural(len(views), 'view')} {len(views) - len(kept)} are read through where they are needed{written}."


def _chain_words(graph: _Graph) -> str:
    found = {e["source"] for e in graph.edges if e["fused"] and e["rule"] == "elementwise chain"}
    found -= graph.contractions.keys()
    if not found:
        return "No operator can hand its numbers straight to the next: each of their values is needed as an array."
    they, become, are = ("it", "becomes", "is") if len(found) == 1 else ("they", "become", "are")
    values = f"{plural(len(found), 'value')} of elementwise operators {are} used by the next operator at once"
    return f"{values}: {they} never {become} an array."


def _loop_words(graph: _Graph) -> str:
    """By which rules loops are shared, and how many kernels that leaves."""
    rules = [e["rule"] for e in graph.edges if e["fused"]]
    same, outer, rows = (rules.count(rule) for rule in ("same loops", "outer loops", "row blocks"))
    said = [f"{_are(same, 'value')} read in the loop that makes {'it' if same == 1 else 'them'}"] if same else []
    said += [f"{_are(outer, 'reduction')} used in the same row"] if outer else []
    said += [f"{_are(rows, 'value')} made a block of rows at a time, between products"] if rows else []
    kernels = len(graph.document["kernels"])
    shared = f"{'; '.join(said)}. " if said else ""
    return f"{shared}What reads the same arrays shares their loops: {_are(kernels, 'kernel')} left."


def _are(number: int, noun: str) -> str:
    return f"{plural(number, noun)} {'is' if number == 1 else 'are'}"
