"""Lowering: which loops does a kernel need, and what stands where in them?

`Builder` lays out one stage of a kernel after the other. Each Value is placed in the outermost block that knows all its
counters, so that what does not change in a loop stands before it. An accumulator starts before the loops it sums over
and is finished after them. What is expensive and needed by several loops of a row is kept in the row.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce

from jt_edu.base.dtypes import DType, complex128, float32, float64
from jt_edu.codegen.loop_ir import BLOCK, EXPENSIVE, Access, Block, Item, Loop, Nest, Store, Update, Value
from jt_edu.fusion.loop_fusion import Anchor, Kernel, Stage
from jt_edu.ir.expression import Place, Term, condition, spell_loads
from jt_edu.ir.index_expr import Index, both, counter, counters_of, divides
from jt_edu.ir.meta_ops import REDUCERS, Elementwise, Reindex, ReindexReduce
from jt_edu.ir.node import Node, Shape


@dataclass(eq=False)
class Scope:
    """A loop that is open while the nest is built: what happens in it, and what is known there already."""

    axis: int
    block: Block = field(default_factory=Block)
    known: dict[tuple[object, ...], Value] = field(default_factory=dict)


class Builder:
    """Builds the Nest of one kernel of loops; `stored` says which anchors are written to arrays."""

    def __init__(self, kernel: Kernel, stored: set[Node]) -> None:
        self.kernel, self.stored = kernel, stored
        self.scopes = [Scope(-1)]  # the open loops, outermost first, inside the kernel itself
        self.registers: dict[Node, Value] = {}
        self.at_close: dict[int, list[tuple[Update, Anchor]]] = {}
        self.written: set[Node] = set()
        self.rows = shared_rows(kernel) if kernel.outer and len(kernel.stages) > 1 else set[Row]()
        self.homes = homes(kernel, self.rows, stored) if self.rows else {}
        self.filled: set[Row] = set()  # terms of which an earlier stage has kept the row
        self.fresh: set[Row] = set()
        self.walk: Walk = ((), ())  # of the anchor at hand
        self.here: tuple[int, ...] = ()  # its loops
        self.kept: list[set[int]] = []
        self.work = 0.0

    def build(self) -> Nest:
        """Open the outer loops, lay out one stage after the other, and close them again."""
        self.scopes += [Scope(axis) for axis in self.kernel.outer]
        for stage in self.kernel.stages:
            self._stage(stage)
        self._close_to(0)
        return Nest(self.scopes[0].block, dict(self.kernel.extents), None, self.kept, self.work)

    def _close_to(self, depth: int) -> None:
        while len(self.scopes) - 1 > depth:
            self._finish(len(self.scopes) - 1)
            inner = self.scopes.pop()
            self.scopes[-1].block.items.append(Loop(inner.axis, inner.block))
        self._finish(depth)

    def _stage(self, stage: Stage) -> None:
        self.scopes += [Scope(axis) for axis in stage.loops[len(self.kernel.outer) :]]
        for anchor in stage.anchors:
            if self.rows:
                self.walk, self.here = walk_of(anchor, self.kernel), anchor.axes
            here = tuple(counter(a) for a in anchor.axes)
            if anchor.term is None:  # its parts are there
                for part, where, view in anchor.beside if anchor.node in self.stored else ():
                    self._write(anchor.node, self.registers[part], view, tuple(w.at(here) for w in where))
                continue
            value = self.value(anchor.term, here)
            self.work += math.prod(anchor.loops) * (1 + len(anchor.loads))
            if anchor.reduces:
                self._reduce(anchor, value, here)
            else:
                self.registers[anchor.node] = value
                if anchor.node in self.stored:
                    self._write(anchor.node, value, anchor.node.shape, here)
                self.kept.append(set(anchor.axes))
        self._close_to(len(self.kernel.outer))
        self.filled |= self.fresh
        for anchor in stage.anchors:
            summed = self.registers.get(anchor.node) if anchor.reduces else None
            if not anchor.reduces or (summed is not None and summed.depth > len(self.kernel.outer)):
                self.registers.pop(anchor.node, None)  # later stages read the array
                self.written.add(anchor.node)

    def _write(self, node: Node, value: Value, shape: Shape, where: Place) -> None:
        depth = max(self._depth(*where), value.depth)
        value.used_at(depth)
        self.scopes[depth].block.items.append(Store(node, Access("out", node, where, shape), value))
        if node.dtype.is_half:  # rounded in the array only, so it is read there
            self.written.add(node)
            del self.registers[node]

    # values

    def _depth(self, *places: Index) -> int:
        used = counters_of(*places)
        return max((depth for depth, scope in enumerate(self.scopes) if scope.axis in used), default=0)

    def value(self, term: Term, here: Place) -> Value:
        """The register that holds `term`, computed in the outermost block that knows its counters."""
        where = tuple(w.at(here) for w in term.where)
        guard = None if term.guard is None else term.guard.at(here)
        if term.kind == "load" and term.node in self.registers:
            return self.registers[term.node]
        outer = None if term.outer is None else term.outer.at(here)
        key = (term.kind, term.node, where, term.view, guard, outer)
        for scope in self.scopes:
            if key in scope.known:
                return scope.known[key]
        kept = (term, self.walk) in self.filled
        made = self._row(term) if kept else self._made(term, where, guard, here)
        self.scopes[made.depth].known[key] = made
        self.scopes[made.depth].block.items.append(made)
        if (term, self.walk) in self.rows and not kept and (term, self.walk) not in self.fresh:
            self._fill_row(term, made)
        return made

    def _fill_row(self, term: Term, value: Value) -> None:
        """Keep what a later loop of the same row needs again."""
        self.fresh.add((term, self.walk))
        access = self._row_cell(term)
        value.used_at(value.depth)
        self.scopes[-1].block.items.append(Store(term.node, access, value))

    def _row(self, term: Term) -> Value:
        """What an earlier loop of the same row has computed."""
        return Value("row", term.node, len(self.scopes) - 1, access=self._row_cell(term))

    def _row_cell(self, term: Term) -> Access:
        """Where a row is kept: in the output that takes its place later, or in memory of its own."""
        home = self.homes.get((term, self.walk))
        if home is not None:
            return Access("out", home, tuple(counter(a) for a in self.here), home.shape)
        inner = [scope.axis for scope in self.scopes[len(self.kernel.outer) + 1 :]]
        shape = tuple(self.kernel.extents[a] for a in inner)
        dtype = float32 if term.node.dtype.is_half else term.node.dtype
        return Access("scratch", term.node, tuple(counter(a) for a in inner), shape, dtype)

    def _made(self, term: Term, where: Place, guard: Index | None, here: Place) -> Value:
        if term.kind == "number":
            return Value("number", term.node, 0)
        condition_value = None if guard is None else self.guard(guard, term.node)
        least = condition_value.depth if condition_value is not None else 0
        if term.kind == "counter":
            depth = max(self._depth(*where), least)
            return Value("counter", term.node, depth, index=where[0], guard=condition_value)
        if term.kind == "load":
            places = tuple([w if w.op == "counter" else self._divided(w, term.node) for w in where])
            access = Access("in", term.node, places, term.view)
            if term.node in self.written:  # by an earlier loop of this row, so not before it
                least = max(least, len(self.kernel.outer))
            return Value("load", term.node, max(self._depth(*where), least), access=access, guard=condition_value)
        operands = tuple(self.value(t, here) for t in term.operands)
        depth = max((o.depth for o in operands), default=0)
        for o in operands:
            o.used_at(max(depth, least))
        if term.kind == "fill":
            return Value("fill", term.node, max(depth, least), operands, guard=condition_value)
        return Value("compute", term.node, depth, operands)

    def _divided(self, index: Index, node: Node) -> Index:
        """A division that an outer loop can do is done there: no compiler moves it out from behind a condition."""
        depth, key = self._depth(index), ("divided", index)
        if depth == len(self.scopes) - 1 or not divides(index):
            return index
        found = self.scopes[depth].known.get(key)
        if found is None:
            found = self.scopes[depth].known[key] = Value("counter", node, depth, index=index)
            self.scopes[depth].block.items.append(found)
        return Index("value", found)

    def guard(self, index: Index, node: Node) -> Value:
        """The register that holds a condition; what an outer loop already knows of it is asked there."""
        key = ("guard", index)
        for scope in self.scopes:
            if key in scope.known:
                return scope.known[key]
        depth = self._depth(index)
        before = [c for c in conjuncts(index) if self._depth(c) < depth]
        if before:
            outer = self.guard(reduce(both, before), node)
            inner = reduce(both, [c for c in conjuncts(index) if self._depth(c) == depth])
            outer.used_at(depth)
            made = Value("guard", node, depth, (outer,), index=inner)
        else:
            made = Value("guard", node, depth, index=index)
        self.scopes[made.depth].known[key] = made
        self.scopes[made.depth].block.items.append(made)
        return made

    # reductions

    def _reduce(self, anchor: Anchor, value: Value, here: Place) -> None:
        """Start the accumulator before the loops it sums over, update it inside, and finish it after them."""
        node, op = anchor.node, anchor.node.op
        assert isinstance(op, ReindexReduce), "only reductions accumulate"
        update = Update(node, REDUCERS[op.reducer], accumulator(anchor, op), value, Access("register", node))
        narrow = node.dtype.kind == "f" and node.dtype.size <= 4 and op.reducer == "add"
        if narrow and anchor.by_rows >= 0:  # float64 lanes would be slow: a register holds half as many of them
            update.plain = 0 if work(anchor.parts) >= EXPENSIVE else BLOCK
        value.used_at(len(self.scopes) - 1)
        kept = {anchor.axes[k] for k in anchor.kept} if anchor.kept is not None else set()
        self.kept.append(kept)
        rows = next((d for d, s in enumerate(self.scopes[1:]) if s.axis not in kept), len(self.scopes) - 1)
        if anchor.kept is not None and rows == len(kept):
            first = Value("start", node, rows, register=update)
            self.scopes[rows].block.items.append(Store(node, update.access, first))
        else:
            self._array_accumulator(anchor, update, op, here, rows)
        self.scopes[-1].block.items.append(update)
        self.at_close.setdefault(rows, []).append((update, anchor))

    def _array_accumulator(self, anchor: Anchor, update: Update, op: ReindexReduce, here: Place, rows: int) -> None:
        """Accumulate into the output itself, or into a scratch array where sums need more precision."""
        node = anchor.node
        where = tuple(spell_loads(w, node, node.shape, axis).at(here) for axis, w in enumerate(op.where))
        inside = condition(op, here, where, node.shape)
        if inside is not None:
            update.guard = self.guard(inside, node)
        direct = update.dtype.kernel == node.dtype.kernel
        update.access = Access("out" if direct else "scratch", node, where, node.shape, update.dtype)
        outer = {scope.axis for scope in self.scopes[1 : rows + 1]}
        if anchor.kept is None:
            loops = self.kernel.new_loops(node.shape)
            update.access.where, update.access.shape = where, node.shape
            cells = Access(update.access.role, node, tuple(counter(a) for a in loops), node.shape, update.dtype)
        else:
            if not direct:
                inner = [(w, n) for w, n in zip(where, node.shape, strict=True) if not counters_of(w) & outer]
                update.access = Access(
                    "scratch", node, tuple(w for w, _ in inner), tuple(n for _, n in inner), update.dtype
                )
            loops = tuple(w.args[0] for w in update.access.where if w.op == "counter" and w.args[0] not in outer)
            cells = Access(update.access.role, node, update.access.where, update.access.shape, update.dtype)
        item: Item = Store(node, cells, Value("start", node, rows, register=update))
        for axis in reversed(loops):
            item = Loop(axis, Block([item]))
        self.scopes[rows].block.items.append(item)

    def _finish(self, depth: int) -> None:
        """Turn the accumulators that are complete at this depth into values, and store them if asked to."""
        for update, anchor in self.at_close.pop(depth, []):
            node = anchor.node
            if update.access.role == "register":
                final = Value("final", node, depth, register=update)
                self.scopes[depth].block.items.append(final)
                self.registers[node] = final
                if node in self.stored:
                    op = node.op
                    assert isinstance(op, ReindexReduce), "only reductions have finals"
                    here = tuple(counter(a) for a in anchor.axes)
                    self._write(node, final, node.shape, tuple(w.at(here) for w in op.where))
            elif update.access.role == "scratch":
                self._copy_out(update, anchor, depth)

    def _copy_out(self, update: Update, anchor: Anchor, depth: int) -> None:
        """Write a scratch accumulator to the output, in the output's precision."""
        node, op, scratch = anchor.node, anchor.node.op, update.access
        assert isinstance(op, ReindexReduce), "only sums have a scratch array"
        if anchor.kept is None:
            loops = self.kernel.new_loops(node.shape)
            target = cells = tuple(counter(a) for a in loops)
        else:
            target = tuple(w.at(tuple(counter(a) for a in anchor.axes)) for w in op.where)
            cells = scratch.where
            loops = tuple(w.args[0] for w in cells)
        cell = Access("scratch", node, cells, scratch.shape, update.dtype)
        value = Value("sum", node, 0, access=cell, register=update, uses=1)
        block = Block([value, Store(node, Access("out", node, target, node.shape), value)])
        for axis in reversed(loops):
            block = Block([Loop(axis, block)])
        self.scopes[depth].block.items.extend(block.items)


def accumulator(anchor: Anchor, op: ReindexReduce) -> DType:
    """What sums are kept in: float64 for floats, so that ten million float32 numbers add up; as they are otherwise.

    A sum of products of two views, such as a convolution, is kept in its own dtype, as BLAS does.
    """
    d, source = anchor.node.dtype, anchor.node.inputs[0]
    views = [i for i in source.inputs if i.data is None and isinstance(i.op, Reindex)]
    contraction = source.data is None and source.op.name == "multiply" and len(views) == 2 and anchor.by_rows < 0
    if op.reducer in ("add", "multiply") and not contraction:
        return {"f": float64, "c": complex128}.get(d.kind, d)
    return float32 if d.is_half else d


def conjuncts(index: Index) -> list[Index]:
    """The conditions that are joined by "and"."""
    return [c for part in index.args for c in conjuncts(part)] if index.op == "and" else [index]


Walk = tuple[Shape, tuple[int, ...]]  # the loops of an anchor, and which of them are outer
Row = tuple[Term, Walk]


def walk_of(anchor: Anchor, kernel: Kernel) -> Walk:
    """Two anchors with the same walk meet the elements of a row in the same places."""
    return anchor.loops, tuple(k for k, a in enumerate(anchor.axes) if a in kernel.outer)


def shared_rows(kernel: Kernel) -> set[Row]:
    """Terms worth keeping in a row: expensive, and computed by several loops of the same row (the exp of a softmax)."""
    seen: dict[Row, set[int]] = {}
    for number, stage in enumerate(kernel.stages):
        for anchor in stage.anchors:
            walk = walk_of(anchor, kernel)
            for term in anchor.parts:
                if term.kind == "compute" and counters_under(term) - set(walk[1]):
                    seen.setdefault((term, walk), set()).add(number)
    shared = {key for key, stages in seen.items() if len(stages) > 1 and work((key[0], *key[0].below)) >= EXPENSIVE}
    below = {(part, walk) for term, walk in shared for part in term.below}
    kept = shared - below
    count = Counter(term.node for term, _ in kept)
    return {(t, w) for t, w in kept if count[t.node] == 1}  # a row belongs to a node: two of its terms would share it


def homes(kernel: Kernel, rows: set[Row], stored: set[Node]) -> dict[Row, Node]:
    """Rows that can be kept in an output: one of the same shape and dtype, written when the row is needed no more."""
    found: dict[Row, Node] = {}
    for number, stage in enumerate(kernel.stages):
        for anchor in stage.anchors:
            walk, node = walk_of(anchor, kernel), anchor.node
            if anchor.reduces or node not in stored or node.dtype.is_half or node in found.values():
                continue
            later = {t for s in kernel.stages[number + 1 :] for a in s.anchors for t in a.parts}
            for term, one in sorted(rows, key=lambda row: row[0].node.id):  # always alike
                fits = one == walk and term.node.dtype == node.dtype and term.node is not node
                if fits and term in anchor.parts and term not in later and (term, one) not in found:
                    found[term, one] = node
                    break
    return found


def counters_under(term: Term) -> set[int]:
    """The loop axes of its anchor that a term depends on."""
    return counters_of(*(w for part in (term, *term.below) for w in part.where))


def work(terms: Iterable[Term]) -> int:
    """Multiplications that terms are worth."""
    return sum(t.node.op.weight for t in terms if isinstance(t.node.op, Elementwise) and t.kind == "compute")
