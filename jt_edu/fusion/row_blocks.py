"""Row blocks: may products of matrices, and the loops between them, run a block of rows at a time?

    scores  = q @ k.T                   for each block of rows:
    weights = softmax(scores)     ->        products that make these rows         makers
    out     = weights @ v                   loops over each of them
                                            products that read them               takers

What lies between two products is then as large as a block, and stays in the cache: attention needs memory in proportion
to its length, not to the square of it. The loops must sum or compare along a row, as a softmax does: between two
products without such loops, as in a perceptron, what lies between is small.

Both gradients of such a product are products again that read rows: by a softmax's own rows, which the kernel computes
anew from the makers. So the rows are never stored, neither for the result nor for its gradients.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from jt_edu.fusion.loop_fusion import Anchor, Kernel, Stage
from jt_edu.ir.conv_pattern import Convolution, Names
from jt_edu.ir.expression import Term
from jt_edu.ir.matmul_pattern import SMALL, Product
from jt_edu.ir.node import Node, Shape

KIND = "row blocks"


@dataclass(eq=False)
class _Group:
    """What becomes one kernel, in the place of kernel `at`."""

    at: int
    loops: list[int] = field(default_factory=list)  # kernels of loops, in order
    makers: dict[Node, Anchor] = field(default_factory=dict)
    nodes: set[Node] = field(default_factory=set)  # that are made on the way, block by block
    takers: list[Anchor] = field(default_factory=list)
    batch: int = 0  # of all its products


def product_of(anchor: Anchor) -> Product | None:
    """The product of real matrices that an anchor is."""
    found = anchor.contraction
    return found if isinstance(found, Product) and anchor.node.dtype in ("float32", "float64") else None


def takes(p: Product, rows: Node) -> str:
    """How a product reads `rows`: "each" (it makes rows of its own), "left" or "right" (it sums over them), or ""."""
    if p.left.node is p.right.node:
        return ""
    if p.left.node is rows:
        return "left" if p.left.transposed else "each"
    return "right" if p.right.node is rows and not p.right.transposed and p.left.transposed else ""


def _is_stack(p: Product, rows: int, width: int, shape: Shape) -> bool:
    """Whether an array holds these rows of each matrix of a batch; those of several may be one matrix to a product."""
    stacked = math.prod(shape[:-2]) % p.batch == 0
    return stacked and p.batch * rows == math.prod(shape[:-1]) and width == shape[-1]


class Decided(Protocol):
    """What a fuser has decided so far."""

    enabled: bool
    algorithms: Names
    contractions: dict[Node, Product | Convolution]
    why: dict[Node, tuple[str, str]]
    barriers: set[Node]
    root: dict[Node, Node]
    home: dict[Node, int]


def find(kernels: list[Kernel], fuser: Decided) -> tuple[list[Kernel], set[Node]]:
    """The kernels, some of them put together, and the nodes of which no array is left. Homes of nodes are told anew."""
    if "rows" not in fuser.algorithms or not fuser.enabled or len(fuser.contractions) < 2:
        return kernels, set()
    wanted = {n for n, (rule, _) in fuser.why.items() if rule == "wanted"} | fuser.barriers
    found, inside = RowBlocks(kernels, fuser.root, wanted).find()
    fuser.home |= {a.node: p for p, kernel in [*enumerate(found)][::-1] for a in kernel.anchors}
    return found, inside


class RowBlocks:
    """One search through the `kernels` of a fuser, which stand in the order in which they run."""

    def __init__(self, kernels: list[Kernel], root: Mapping[Node, Node], wanted: set[Node]) -> None:
        self.kernels, self.root, self.wanted = kernels, root, wanted
        self.home = {a.node: p for p, kernel in enumerate(kernels) for a in kernel.anchors}
        self.anchors = {a.node: a for kernel in kernels for a in kernel.anchors}
        self.readers: dict[Node, list[tuple[int, Anchor]]] = defaultdict(list)
        for p, kernel in enumerate(kernels):
            for anchor in kernel.anchors:
                for node in {root.get(n, n) for n in anchor.reads}:
                    self.readers[node].append((p, anchor))
        self.groups: list[_Group] = []
        self.arrays: set[Node] = set()  # what cannot be made on the way

    def find(self) -> tuple[list[Kernel], set[Node]]:
        """The kernels, with some put together, and the nodes that need no array."""
        while True:
            self.groups = list[_Group]()
            for p, kernel in enumerate(self.kernels):
                for anchor in kernel.anchors if kernel.kind == "product" else ():
                    self._take(p, anchor)
            asked = {n for g in self.groups for n in g.nodes if self._is_asked_for(n, g)}
            if not asked:
                inside = set[Node]().union(*(g.nodes for g in self.groups))
                return self._put_together() if self.groups else self.kernels, {
                    n for n in inside if not self._outside(n)
                }
            self.arrays |= asked

    def _take(self, p: int, anchor: Anchor) -> None:
        """Add a product that reads rows to a group that makes them, or begin one."""
        product = product_of(anchor)
        if product is None:
            return
        for rows in product.sides:
            home = self.home.get(rows, -1)
            if home < 0 or self.kernels[home].kind != "loops" or not self._fits(product, rows, home):
                continue
            group = next((g for g in self.groups[::-1] if home in g.loops and self._can_wait(g, p, g)), None)
            if group is None:
                group = self._begin(p, home)
            if group is None or group.batch != product.batch:
                continue
            if len(group.nodes.intersection(product.sides)) == 1:  # the other side is an array
                group.at = p
                group.takers.append(anchor)
                return

    def _outer(self, p: int) -> tuple[int, ...]:
        """The loops of a kernel that go from row to row, if it goes row by row."""
        kernel = self.kernels[p]
        alone = len(kernel.stages) == 1 and not any(a.reduces for a in kernel.anchors)
        return kernel.outer or (kernel.stages[0].loops[:-1] if alone else ())

    def _high(self, p: int) -> tuple[int, ...]:
        return tuple(self.kernels[p].extents[o] for o in self._outer(p))

    def _fits(self, p: Product, rows: Node, home: int) -> bool:
        """Whether a product takes rows as the loops at `home` make them."""
        if self.anchors[rows].axes[:-1] != self._outer(home) or rows.shape[:-1] != self._high(home):
            return False
        sizes = {"each": (p.rows, p.summed), "left": (p.summed, p.rows), "right": (p.summed, p.columns)}
        return min(rows.shape[-2:]) > 1 and _is_stack(p, *sizes.get(takes(p, rows), (0, 0)), rows.shape)

    def _begin(self, p: int, home: int) -> _Group | None:
        """A group that makes the rows of the loops at `home`, and all rows that they read, and takes others in."""
        group = _Group(p)
        if not self._add_loops(group, home):
            return None
        batches = {made.batch for a in group.makers.values() if (made := product_of(a))}
        if len(batches) != 1 or not any(a.reduces for k in group.loops for a in self.kernels[k].anchors):
            return None
        group.batch = batches.pop()
        for other in self.groups[:]:
            loops, shared = {*group.loops, *other.loops}, {*group.loops} & {*other.loops}
            if shared and other.batch == group.batch and self._can_wait(other, p, group) and self._go_by_row(loops):
                group.loops, group.makers = sorted(loops), group.makers | other.makers
                group.takers += other.takers
                self.groups.remove(other)
        group.nodes = {a.node for k in group.loops for a in self.kernels[k].anchors} | group.makers.keys()
        self.groups.append(group)
        return group

    def _add_loops(self, group: _Group, p: int) -> bool:
        """Add the loops of kernel `p`, and those whose rows they read; False if they do not go row by row."""
        high, anchors, before = self._high(p), self.kernels[p].anchors, (group.loops, group.makers)
        whole = all(
            a.term is not None and len(a.loops) <= len(high) + 1 and a.by_rows == (len(high) if a.reduces else -1)
            for a in anchors
        )
        if not high or not whole or not self.arrays.isdisjoint(a.node for a in anchors):
            return False
        for anchor, t in self._loads(p):
            number, maker = self.home[t.node], self.anchors[t.node]
            if len(t.node.shape) != len(high) + 1 or t.node.shape[-1] < 2 or not self._by_row(p, anchor, t):
                continue
            if self.kernels[number].kind == "product" and self._makes(maker):
                group.makers = group.makers | {t.node: maker}
            elif self.kernels[number].kind == "loops" and self._high(number) == high and number not in group.loops:
                self._add_loops(group, number)
        if self._go_by_row({*group.loops, p}):
            group.loops = sorted({*group.loops, p})
            return True
        group.loops, group.makers = before
        return False

    def _loads(self, p: int) -> list[tuple[Anchor, Term]]:
        """What the loops of a kernel read of other kernels."""
        return [(a, t) for a in self.kernels[p].anchors for t in a.loads if self.home.get(t.node, p) != p]

    def _go_by_row(self, loops: set[int]) -> bool:
        """Whether all that these loops read of each other belongs to the row that is worked on."""
        return all(self._by_row(p, a, t) for p in loops for a, t in self._loads(p) if self.home[t.node] in loops)

    def _by_row(self, p: int, anchor: Anchor, t: Term) -> bool:
        """Whether a load reads what belongs to the row that is worked on."""
        if t.guard is not None or t.view != t.node.shape:
            return False
        outer = [o for o in self._outer(p) if self.kernels[p].extents[o] > 1]
        long = [w for w, n in zip(t.where, t.view, strict=True) if n > 1][: len(outer)]
        return outer == [anchor.axes[w.args[0]] if w.op == "counter" else -1 for w in long]

    def _makes(self, anchor: Anchor) -> bool:
        """Whether a product can make rows a block at a time."""
        p, shape = product_of(anchor), anchor.node.shape
        if p is None or p.left.transposed or p.left.node is p.right.node or min(shape[-2:]) < 2:
            return False
        if anchor.node in self.arrays:
            return False
        return _is_stack(p, p.rows, p.columns, shape)

    def _can_wait(self, group: _Group, p: int, mine: _Group) -> bool:
        """Whether nobody up to kernel `p`, but what belongs to `mine`, reads what the products of a group make."""
        made = {a.node for a in group.takers}
        between = ((q, a) for q in range(group.at, p + 1) for a in self.kernels[q].anchors)
        others = (a for q, a in between if a not in group.takers and q not in mine.loops and a.node not in mine.makers)
        return not any({self.root.get(n, n) for n in a.reads} & made for a in others)

    def _outside(self, node: Node) -> list[int]:
        """The kernels that need an array of what groups make: those which do not make it themselves."""
        asked = node in self.wanted or any(r is node and n in self.wanted for n, r in self.root.items())
        found = [len(self.kernels)] if asked else []
        for p, anchor in self.readers[node]:
            homes = [g for g in self.groups if anchor in g.takers or p in g.loops]
            makes = any(anchor.node in g.makers for g in self.groups)  # makers read arrays
            if not homes or makes or any(node not in g.nodes for g in homes):
                found.append(p)
        return found

    def _is_asked_for(self, node: Node, group: _Group) -> bool:
        """Whether others need an array of what is made on the way, or to make it again is dearer than to store it."""
        homes, outside = [g for g in self.groups if node in g.nodes], self._outside(node)
        product = product_of(self.anchors[node]) if node in group.makers else None
        if product is not None and len(homes) > 1 and product.summed > product.columns and product.flops > SMALL:
            return True
        row_by_row = self.anchors[node].reduces and product is None  # one number, which is then written as well
        return bool(outside) and not (row_by_row and min(outside) > min(g.at for g in homes))

    def _put_together(self) -> list[Kernel]:
        """All kernels, those of the groups in the places of their last products."""
        gone = {k for g in self.groups for k in g.loops}
        taken = {a for g in self.groups for a in (*g.takers, *g.makers.values())}
        found = []
        for p, kernel in enumerate(self.kernels):
            left = [a for a in kernel.anchors if a not in taken]
            if p not in gone and len(left) == len(kernel.anchors):
                found.append(kernel)
            elif p not in gone and left:
                found.append(Kernel("product", stages=[Stage((), left)]))
            found += [self._kernel(g) for g in self.groups if g.at == p]
        return found

    def _kernel(self, group: _Group) -> Kernel:
        kernel = Kernel(KIND)
        kernel.outer = kernel.new_loops(self._high(group.loops[0]))
        kernel.stages = [Stage((), sorted(group.makers.values(), key=lambda a: a.node.id))]
        for p in group.loops:
            before, outer = self.kernels[p], self._outer(p)
            inner = [k for k in before.extents if k not in outer]
            loops = dict(zip(outer, kernel.outer, strict=True))
            loops |= dict(zip(inner, kernel.new_loops(before.extents[k] for k in inner), strict=True))
            for stage in before.stages:
                anchors = [replace(a, axes=tuple(loops[k] for k in a.axes)) for a in stage.anchors]
                kernel.stages.append(Stage(tuple(loops[k] for k in stage.loops), anchors))
        kernel.stages.append(Stage((), group.takers))
        return kernel
