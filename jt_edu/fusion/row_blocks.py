"""Row blocks: may products of matrices, and the loops between them, run a block of rows at a time?

    scores  = q @ k.T                   for each block of rows:
    weights = softmax(scores)     ->        products that make these rows       producers
    out     = weights @ v                   loops over each of them
                                            products that read them             consumers

What lies between two products is then as large as a block, and stays in the cache: attention needs memory in proportion
to its length, not to the square of it. The loops must sum or compare along a row, as a softmax does: between two
products without such loops, as in a perceptron, what lies between is small.

Gradients are products again, which read rows made of the same ones. So their kernel makes these once more from the
producers, and no row is stored, neither for the result nor for its gradients.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from jt_edu.fusion.loop_fusion import Anchor, Kernel, Stage
from jt_edu.ir.conv_pattern import Names
from jt_edu.ir.expression import Term
from jt_edu.ir.matmul_pattern import SMALL, Product
from jt_edu.ir.node import Node, Shape

KIND = "row blocks"


@dataclass(eq=False)
class _Group:
    """What becomes one kernel, in the place of kernel `at`."""

    at: int
    loops: list[int] = field(default_factory=list)  # kernels of loops, in order
    producers: dict[Node, Anchor] = field(default_factory=dict)
    consumers: list[Anchor] = field(default_factory=list)
    nodes: set[Node] = field(default_factory=set)  # that are made on the way, block by block
    batches: frozenset[int] = frozenset()  # of its products: as many as there are matrices of rows, or fewer


def product_of(anchor: Anchor) -> Product | None:
    """The product of real matrices that an anchor is."""
    found = anchor.contraction
    return found if isinstance(found, Product) and anchor.node.dtype in ("float32", "float64") else None


def how_read(p: Product, rows: Node) -> str:
    """How a product reads `rows`: "each" (it makes rows of its own), "left" or "right" (it sums over them), or ""."""
    if p.left.node is p.right.node:
        return ""
    if p.left.node is rows:
        return "left" if p.left.transposed else "each"
    return "right" if p.right.node is rows and not p.right.transposed and p.left.transposed else ""


class Decided(Protocol):
    """What a fuser has decided so far."""

    enabled: bool
    algorithms: Names
    why: dict[Node, tuple[str, str]]
    barriers: set[Node]
    root: dict[Node, Node]
    home: dict[Node, int]


def find(kernels: list[Kernel], fuser: Decided) -> tuple[list[Kernel], set[Node]]:
    """The kernels, some of them put together, and the nodes of which no array is left; homes of nodes are told anew."""
    if "rows" not in fuser.algorithms or not fuser.enabled:
        return kernels, set()
    wanted = {n for n, (rule, _) in fuser.why.items() if rule == "wanted"} | fuser.barriers
    search = _Search(kernels, fuser.root, wanted)
    while not search.is_settled():
        pass
    found = search.put_together()
    fuser.home |= {a.node: p for p, kernel in [*enumerate(found)][::-1] for a in kernel.anchors}
    return found, search.inside()


class _Search:
    """Groups among the `kernels` of a fuser, which stand in the order in which they run."""

    def __init__(self, kernels: list[Kernel], root: Mapping[Node, Node], wanted: set[Node]) -> None:
        self.kernels, self.root = kernels, root
        self.asked = {root.get(n, n) for n in wanted}
        self.home = {a.node: p for p, kernel in enumerate(kernels) for a in kernel.anchors}
        self.anchors = {a.node: a for kernel in kernels for a in kernel.anchors}
        self.readers: dict[Node, list[tuple[int, Anchor]]] = defaultdict(list)
        for p, kernel in enumerate(kernels):
            for anchor in kernel.anchors:
                for node in self._read_by(anchor):
                    self.readers[node].append((p, anchor))
        self.groups: list[_Group] = []
        self.arrays: set[Node] = set()  # what has turned out to be needed whole

    def is_settled(self) -> bool:
        """Build all groups; False if something that one makes is needed whole, and they are to be built anew."""
        self.groups = []
        for p, kernel in enumerate(self.kernels):
            for anchor in kernel.anchors if kernel.kind == "product" else ():
                self._add_consumer(p, anchor)
        self.groups_of: dict[object, list[_Group]] = defaultdict(list)  # of a node, a consumer, the number of a kernel
        for group in self.groups:
            for part in (*group.nodes, *group.consumers, *group.loops):
                self.groups_of[part].append(group)
        self.produced = {node for g in self.groups for node in g.producers}
        needed = {n for g in self.groups for n in g.nodes if self._is_needed_whole(n)}
        self.arrays |= needed
        return not needed

    def inside(self) -> set[Node]:
        """The nodes that need no array."""
        return {n for g in self.groups for n in g.nodes if not self._outside(n)}

    def _read_by(self, anchor: Anchor) -> set[Node]:
        return {self.root.get(n, n) for n in anchor.reads}

    # what belongs to a group

    def _add_consumer(self, p: int, anchor: Anchor) -> None:
        """Put a product that reads rows into a group that makes them, or into a new one."""
        product = product_of(anchor)
        if product is None:
            return
        for rows in product.sides:
            home = self.home.get(rows, -1)
            if home < 0 or self.kernels[home].kind != "loops" or not self._fits(product, rows, home):
                continue
            there = (g for g in self.groups[::-1] if home in g.loops and self._can_wait(g, p))
            group = next(there, None) or self._new_group(p, home)
            if group is None or not self._go_together(group.loops, batches := group.batches | {product.batch}):
                continue
            if len(group.nodes.intersection(product.sides)) == 1:  # the other side is an array
                group.at, group.batches = p, batches
                group.consumers.append(anchor)
                self.groups = [g for g in self.groups if g is not group and not {*g.consumers} <= {*group.consumers}]
                self.groups.append(group)
                return

    def _fits(self, p: Product, rows: Node, home: int) -> bool:
        """Whether a product reads rows as the loops at `home` make them."""
        if self.anchors[rows].axes[:-1] != self._outer(home) or rows.shape[:-1] != self._lengths(home):
            return False
        sizes = {"each": (p.rows, p.summed), "left": (p.summed, p.rows), "right": (p.summed, p.columns)}
        return min(rows.shape[-2:]) > 1 and _is_stack(p, *sizes.get(how_read(p, rows), (0, 0)), rows.shape)

    def _new_group(self, p: int, home: int) -> _Group | None:
        """A group that makes the rows of the loops at `home`, and what others that make some of them were to do."""
        group = _Group(p)
        if not self._add_loops(group, home):
            return None
        group.batches = frozenset(made.batch for a in group.producers.values() if (made := product_of(a)))
        reduces = any(a.reduces for k in group.loops for a in self.kernels[k].anchors)
        if not group.producers or not reduces or not self._go_together(group.loops, group.batches):
            return None
        for other in self.groups:
            if {*group.loops}.isdisjoint(other.loops) or not self._can_wait(other, p):
                continue
            loops, producers = sorted({*group.loops, *other.loops}), group.producers | other.producers
            batches = group.batches | other.batches
            if self._go_by_row(loops, producers) and self._go_together(loops, batches):
                group.loops, group.producers, group.batches = loops, producers, batches
                group.consumers += other.consumers
        group.nodes = {a.node for k in group.loops for a in self.kernels[k].anchors} | group.producers.keys()
        return group

    def _go_together(self, loops: list[int], batches: frozenset[int]) -> bool:
        """Whether products can share loops over matrices: each has one for all its rows, or one for several."""
        return len(batches - {math.prod(self._lengths(loops[0])[:-1])}) <= 1

    def _add_loops(self, group: _Group, p: int) -> bool:
        """Add the loops of kernel `p`, and those whose rows they read; False if they do not go row by row."""
        lengths, before = self._lengths(p), (group.loops, group.producers)
        if not lengths or not all(self._is_of_rows(a, p) for a in self.kernels[p].anchors):
            return False
        for anchor, t in self._loads(p):
            number, source = self.home[t.node], self.anchors[t.node]
            kind = self.kernels[number].kind
            if len(t.node.shape) != len(lengths) + 1 or t.node.shape[-1] < 2 or not self._by_row(p, anchor, t):
                continue
            if kind == "product" and self._produces(source):
                group.producers = group.producers | {t.node: source}
            elif (
                self.kernels[number].kind == "loops" and self._lengths(number) == lengths and number not in group.loops
            ):
                self._add_loops(group, number)
        loops = sorted({*group.loops, p})
        if self._go_by_row(loops, group.producers):
            group.loops = loops
            return True
        group.loops, group.producers = before
        return False

    def _outer(self, p: int) -> tuple[int, ...]:
        """The loops of a kernel that go from row to row, if it goes row by row."""
        kernel = self.kernels[p]
        alone = kernel.kind == "loops" and len(kernel.stages) == 1 and not any(a.reduces for a in kernel.anchors)
        return kernel.outer or (kernel.stages[0].loops[:-1] if alone else ())

    def _lengths(self, p: int) -> Shape:
        """How many rows there are, along each axis."""
        return tuple(self.kernels[p].extents[o] for o in self._outer(p))

    def _is_of_rows(self, a: Anchor, p: int) -> bool:
        """Whether an anchor is computed for one row after the other, in one loop: a sum, or one for each column."""
        outer = self._outer(p)
        if a.term is None or a.node in self.arrays or a.node.dtype.is_half or a.axes[: len(outer)] != outer:
            return False
        return len(a.loops) <= len(outer) + 1 and a.by_rows == (len(outer) if a.reduces else -1)

    def _loads(self, p: int) -> list[tuple[Anchor, Term]]:
        """What the loops of a kernel read of other kernels."""
        return [(a, t) for a in self.kernels[p].anchors for t in a.loads if self.home.get(t.node, p) != p]

    def _go_by_row(self, loops: list[int], producers: Mapping[Node, Anchor]) -> bool:
        """Whether all that these loops read of each other and of producers belongs to the row that is worked on."""
        loads = ((p, a, t) for p in loops for a, t in self._loads(p))
        near = (load for load in loads if load[2].node in producers or self.home[load[2].node] in loops)
        return all(self._by_row(*load) for load in near)

    def _by_row(self, p: int, anchor: Anchor, t: Term) -> bool:
        """Whether a load reads what belongs to the row that is worked on."""
        if t.view != t.node.shape:
            return False
        outer = [o for o in self._outer(p) if self.kernels[p].extents[o] > 1]
        long = [w for w, n in zip(t.where, t.view, strict=True) if n > 1][: len(outer)]
        return outer == [anchor.axes[w.args[0]] if w.op == "counter" else -1 for w in long]

    def _produces(self, anchor: Anchor) -> bool:
        """Whether a product can make rows a block at a time."""
        p, shape = product_of(anchor), anchor.node.shape
        if p is None or anchor.node in self.arrays or p.left.transposed or p.left.node is p.right.node:
            return False
        return min(shape[-2:]) > 1 and _is_stack(p, p.rows, p.columns, shape)

    def _can_wait(self, group: _Group, p: int) -> bool:
        """Whether nobody up to kernel `p` reads what the consumers of a group make."""
        made = {a.node for a in group.consumers}
        between = (a for q in range(group.at, p + 1) for a in self.kernels[q].anchors)
        return all(made.isdisjoint(self._read_by(a)) for a in between)

    # what is needed whole

    def _outside(self, node: Node) -> list[int]:
        """The kernels that need an array of what groups make; a number behind them all stands for the learner."""
        found = [len(self.kernels)] if node in self.asked else []
        for p, anchor in self.readers[node]:
            groups = [*self.groups_of[anchor], *self.groups_of[p]]
            if not groups or anchor.node in self.produced or any(node not in g.nodes for g in groups):
                found.append(p)  # producers read arrays as well
        return found

    def _is_needed_whole(self, node: Node) -> bool:
        """Whether what is made on the way must be an array.

        Not if groups only read it. A number for each row may be written as well, if all others read it later. And what
        several groups make is not worth it where its rows are shorter than what they are made of, and large.
        """
        groups, outside = self.groups_of[node], self._outside(node)
        product = product_of(self.anchors[node]) if node in self.produced else None
        if product is not None and len(groups) > 1 and product.summed > product.columns and product.flops > SMALL:
            return True
        later = self.anchors[node].reduces and product is None and min(outside, default=0) > min(g.at for g in groups)
        return bool(outside) and not later

    def put_together(self) -> list[Kernel]:
        """All kernels, those of the groups in the places of their last products."""
        gone = {k for g in self.groups for k in g.loops}
        moved = {a for g in self.groups for a in (*g.consumers, *g.producers.values())}
        found = []
        for p, kernel in enumerate(self.kernels):
            left = [a for a in kernel.anchors if a not in moved]
            if p not in gone and len(left) == len(kernel.anchors):
                found.append(kernel)
            elif p not in gone and left:
                found.append(Kernel("product", stages=[Stage((), left)]))
            found += [self._kernel(g) for g in self.groups if g.at == p]
        return found

    def _kernel(self, group: _Group) -> Kernel:
        """The producers, the loops under common outer ones, and the consumers."""
        kernel = Kernel(KIND)
        kernel.outer = kernel.new_loops(self._lengths(group.loops[0]))
        kernel.stages = [Stage((), sorted(group.producers.values(), key=lambda a: a.node.id))]
        for p in group.loops:
            before, outer = self.kernels[p], self._outer(p)
            inner = [k for k in before.extents if k not in outer]
            loops = dict(zip(outer, kernel.outer, strict=True))
            loops |= dict(zip(inner, kernel.new_loops(before.extents[k] for k in inner), strict=True))
            for stage in before.stages:
                anchors = [replace(a, axes=tuple(loops[k] for k in a.axes)) for a in stage.anchors]
                kernel.stages.append(Stage(tuple(loops[k] for k in stage.loops), anchors))
        kernel.stages.append(Stage((), group.consumers))
        return kernel


def _is_stack(p: Product, rows: int, width: int, shape: Shape) -> bool:
    """Whether an array holds these rows of each matrix of a batch; those of several may be one matrix to a product."""
    return p.batch * rows == math.prod(shape[:-1]) and width == shape[-1]
