"""Loop fusion: may an anchor run in the loops of a kernel that is there already?

    same loops     both run over the same indices: e.sum() and e.max() need one loop, not two
    outer loops    one reads, row by row, what the other completes for the row:

                       for each row:
                           loop: sum           x - x.mean(1): two loops in one
                           loop: subtract

    same columns   one reads, column by column, what the other has summed over all rows: batch norm's statistics

    side by side   arrays behind each other, all of them computed in the same loops: each is written where it belongs

    same matrix    two matrix products that read the same array

What may follow a convolution in its own write-back stands in epilogue.py.
`Anchor`, `Stage` and `Kernel` are what the fuser puts together; nothing here decides what is stored.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from jt_edu.ir.conv_pattern import Convolution
from jt_edu.ir.expression import Place, Term
from jt_edu.ir.index_expr import Index, as_index, counter, counters, size
from jt_edu.ir.matmul_pattern import Product, way_of
from jt_edu.ir.meta_ops import ReindexReduce
from jt_edu.ir.node import Node, Shape


@dataclass(eq=False)
class Anchor:
    """A node with a loop of its own: stored, or a reduction."""

    node: Node
    term: Term | None  # what is computed at each index; None for whole-array work
    loops: Shape
    kept: tuple[int, ...] | None  # loop axes that survive, in output order; None when it scatters
    contraction: Product | Convolution | None = None
    axes: tuple[int, ...] = ()  # the loop of the kernel that each axis runs in
    beside: tuple[tuple[Node, Place, Shape], ...] = ()  # parts of it: where each is written, and under which shape
    reads: set[Node] = field(default_factory=set)  # arrays that must be complete before it runs
    parts: frozenset[Term] = frozenset()  # its term, and all terms that it is made of
    loads: frozenset[Term] = frozenset()  # those of them that read arrays
    reduces: bool = False  # whether values are accumulated
    by_rows: int = -1  # how many axes of the output can be outer loops, each finished with one number; -1: none can

    def __post_init__(self) -> None:
        """Note down what follows from the rest, and is asked for often."""
        if self.term is not None:
            self.parts = self.term.below | {self.term}
            self.loads = frozenset([t for t in self.parts if t.kind == "load"])
        self.reduces = isinstance(self.node.op, ReindexReduce)
        if self.reduces and self.kept is not None and len(self.loops) - 1 not in self.kept:
            self.by_rows = len(self.kept)

    @property
    def operators(self) -> int:
        """How many operators are computed at each index."""
        return sum(t.kind == "compute" for t in self.parts)


@dataclass(eq=False)
class Stage:
    """Anchors that share all their loops: `loops` are numbers of kernel loops, outer ones first."""

    loops: tuple[int, ...]
    anchors: list[Anchor]


@dataclass(eq=False)
class Kernel:
    """Anchors that run in one kernel: `outer` loops shared by all stages, then one loop nest per stage."""

    kind: str  # "loops", "product", "convolution", "code" or "host"
    outer: tuple[int, ...] = ()
    stages: list[Stage] = field(default_factory=list)
    extents: dict[int, int] = field(default_factory=dict)

    @property
    def anchors(self) -> list[Anchor]:
        """All anchors, in order."""
        return [a for s in self.stages for a in s.anchors]

    @property
    def written(self) -> Node:
        """Of a convolution: what its kernel writes, the sums or what its tail makes of them."""
        sums, *joined = self.anchors
        return next((a.node for a in joined if not a.reduces), sums.node)

    def new_loops(self, extents: Iterable[int]) -> tuple[int, ...]:
        """Numbers for further loops."""
        numbers = []
        for extent in extents:
            numbers.append(len(self.extents))
            self.extents[numbers[-1]] = extent
        return tuple(numbers)


def join_products(kernel: Kernel, anchor: Anchor, made_here: bool) -> bool:
    """Same matrix: two products that read the same array, such as the two gradients of one product."""
    first, product = kernel.anchors[0].contraction, anchor.contraction
    if made_here or not isinstance(first, Product) or not isinstance(product, Product):
        return False
    if (first.left.batched, first.batch) != (product.left.batched, product.batch):
        return False
    if {way_of(first)[0], way_of(product)[0]} != {"BLAS"}:
        return False
    theirs = {side for a in kernel.anchors if a.contraction is not None for side in a.contraction.sides}
    if not {*product.sides} & theirs:
        return False
    kernel.stages[0].anchors.append(anchor)
    return True


def join_loops(kernel: Kernel, anchor: Anchor) -> bool:
    """Same loops or outer loops: put the anchor into the kernel if it reads nothing that is not ready by then."""
    mine = {a.node: a for a in kernel.anchors}
    inside = [t for t in anchor.loads if t.node in mine]
    if any(t.view != t.node.shape for t in inside):
        return False
    return any(rule(kernel, anchor, mine, inside) for rule in (_join_same, _join_outer, _join_columns))


def join_beside(whole: Node, makers: Sequence[tuple[Stage, Anchor]]) -> bool:
    """Side by side: the loops that compute the parts of `whole`, all of one size, write them there as well."""
    rows, length, found = whole.shape[0], math.prod(whole.shape), dict[Stage, Anchor]()
    together = all(stage is makers[0][0] for stage, _ in makers)
    for k, (stage, maker) in enumerate(makers):
        shape, number = maker.node.shape, (as_index(k) if together else size(k),)
        for part, where, view in maker.beside or ((maker.node, counters(len(shape)), shape),):
            lead = next((n for n in range(len(view)) if math.prod(view[:n]) == rows), None)
            if lead is None or maker.reduces or not 0 < math.prod(shape) * len(makers) == length:
                return False
            into = found.setdefault(stage, Anchor(whole, None, maker.loops, maker.kept, axes=maker.axes))
            place = where[:lead] + number + where[lead:], (*view[:lead], len(makers), *view[lead:])
            into.beside = (*into.beside, (part, *place))
    for stage, anchor in found.items():
        stage.anchors.append(anchor)
    return True


def _join_same(kernel: Kernel, anchor: Anchor, mine: dict[Node, Anchor], inside: list[Term]) -> bool:
    """All values it takes from this kernel are at the same index, and it reads something that the stage reads."""
    for number in range(len(kernel.stages) - 1, -1, -1):
        stage = kernel.stages[number]
        model = next((a for a in stage.anchors if a.loops == anchor.loops), None)
        if model is None:
            continue
        here = [t for t in inside if mine[t.node] in stage.anchors]
        before = [t for t in inside if mine[t.node] not in stage.anchors]
        ready = all(_row_is_ready(kernel, mine[t.node], t, dict(enumerate(model.axes)), number) for t in before)
        shares = inside or {t.node for t in anchor.loads} & {t.node for a in stage.anchors for t in a.loads}
        if ready and shares and all(_same_index(mine[t.node], t, model) for t in here):
            anchor.axes = model.axes
            stage.anchors.append(anchor)
            _promote(kernel, anchor)
            return True
    return False


def _same_index(source: Anchor, t: Term, model: Anchor) -> bool:
    """Whether `t` reads `source` exactly where the shared loops write it."""
    read = tuple(w.at([counter(k) for k in model.axes]) for w in t.where)
    return not source.reduces and t.guard is None and read == tuple(counter(k) for k in source.axes)


def _promote(kernel: Kernel, anchor: Anchor) -> None:
    """The rows of a reduction become outer loops of a kernel that has none, so that others can join row by row."""
    if not kernel.outer and len(kernel.stages) == 1 and anchor.by_rows > 0 and anchor.kept is not None:
        kernel.outer = tuple(anchor.axes[k] for k in anchor.kept)
        rest = tuple(a for a in kernel.stages[0].loops if a not in kernel.outer)
        kernel.stages[0].loops = kernel.outer + rest


def _row_indices(kernel: Kernel, source: Anchor, t: Term) -> list[tuple[Index, int]] | None:
    """(index, outer loop) pairs that must agree for `t` to read what its row has made; None if it never can."""
    if t.guard is not None:
        return None
    if not source.reduces:  # stored by an earlier loop of this row
        return [(t.where[k], axis) for k, axis in enumerate(source.axes) if axis in kernel.outer]
    op = source.node.op
    if source.kept is None or source.by_rows < 0 or [source.axes[k] for k in source.kept] != list(kernel.outer):
        return None
    assert isinstance(op, ReindexReduce), "only reductions reduce"
    where = [w for w, o in zip(t.where, op.where, strict=True) if o.op == "counter"]
    return list(zip(where, kernel.outer, strict=True))


def _row_is_ready(kernel: Kernel, source: Anchor, t: Term, axes: dict[int, int], before: int) -> bool:
    """Whether what an earlier stage completes for each row is read at the current row."""
    pairs = _row_indices(kernel, source, t)
    if pairs is None or not any(source in s.anchors for s in kernel.stages[:before]):
        return False
    return all(
        (w.op == "counter" and axes.get(w.args[0]) == row) or (w == as_index(0) and kernel.extents[row] == 1)
        for w, row in pairs
    )


def _join_outer(kernel: Kernel, anchor: Anchor, mine: dict[Node, Anchor], inside: list[Term]) -> bool:
    """It reads what this kernel completes for the row that is being worked on: a further loop in the same row."""
    axes: dict[int, int] = {}
    for t in inside:
        pairs = _row_indices(kernel, mine[t.node], t)
        if pairs is None:
            return False
        for w, row in pairs:
            if w.op == "counter" and axes.setdefault(w.args[0], row) != row:
                return False
    same = all(anchor.loops[k] == kernel.extents[row] for k, row in axes.items())
    fits = len(set(axes.values())) == len(axes) and same
    covered = all(kernel.extents[row] == 1 for row in kernel.outer if row not in axes.values())
    rows = kernel.outer or any(mine[t.node].reduces for t in inside)
    if not (inside and fits and covered and rows):
        return False
    if not all(_row_is_ready(kernel, mine[t.node], t, axes, len(kernel.stages)) for t in inside):
        return False
    place(kernel, anchor, axes)
    return True


def _join_columns(kernel: Kernel, anchor: Anchor, mine: dict[Node, Anchor], inside: list[Term]) -> bool:
    """It reads, column by column, what earlier loops have summed over the rows: further loops over the same columns."""
    if kernel.outer or not inside:
        return False
    axes: dict[int, int] = {}
    for t in inside:
        source = mine[t.node]
        if source.kept is None or t.guard is not None or (source.reduces and source.by_rows >= 0):
            return False
        columns = [source.axes[k] for k in source.kept]
        where = t.where
        if isinstance(source.node.op, ReindexReduce):
            where = tuple(w for w, o in zip(t.where, source.node.op.where, strict=True) if o.op == "counter")
        for w, axis in zip(where, columns, strict=True):
            if w.op != "counter" or axes.setdefault(w.args[0], axis) != axis:
                return False
    shared = set(axes.values())
    same = len(shared) == len(axes) and all(anchor.loops[k] == kernel.extents[a] for k, a in axes.items())
    long = {a for a in shared if kernel.extents[a] != 1}
    split = all(a.kept is not None and long <= {a.axes[k] for k in a.kept} for a in kernel.anchors)
    keeps = anchor.kept is not None and set(axes) <= set(anchor.kept) and anchor.by_rows < 0
    if not (shared and same and split and keeps):
        return False
    place(kernel, anchor, axes)
    last = kernel.stages[-1]
    last.loops = anchor.axes
    return True


def place(kernel: Kernel, anchor: Anchor, axes: dict[int, int]) -> None:
    """A new stage for the anchor: `axes` maps some of its axes to outer loops, the others get loops of their own."""
    rest = [k for k in range(len(anchor.loops)) if k not in axes]
    axes = axes | dict(zip(rest, kernel.new_loops(anchor.loops[k] for k in rest), strict=True))
    anchor.axes = tuple(axes[k] for k in range(len(anchor.loops)))
    kernel.stages.append(Stage(kernel.outer + tuple(axes[k] for k in rest), [anchor]))
