"""Fusion: which values are stored, and which loops are shared?

A value becomes an array (is *stored*) when

  * it was asked for, or the learner still holds it,                                        wanted
  * it goes into something that needs whole arrays (BLAS, a convolution, the learner's code), whole array
    or is looked at before a kernel runs (index arrays), or is compared, digit by digit, with what is made of it
  * a Reindex would compute it many times over, at more than a few operations a result,       repeated
  * several kernels read it, and computing it twice would cost more than storing it,        shared
  * several views lead to it, and it would be written anew for each: text grows as fast as that,    many ways
  * 64 operators are inlined into it, or 16 in short loops: long lines are cut into pieces,  kernel full
  * a view reads it through a reshape, which would divide positions for every element,      reshape
  * `jt.flags.fuse` is False.                                                               fusion is off

Every other value lives in a register. What is stored, and every reduction, is an *anchor*: it needs a loop, and joins
the loops of another anchor where `loop_fusion.py` allows it. Arrays behind each other are written where they are
computed.

Every decision has a rule with a name, and `runtime/trace_events.py` says them to those who ask. Nothing here computes.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

from jt_edu.fusion import epilogue, halves, row_blocks
from jt_edu.fusion.loop_fusion import Anchor, Kernel, Stage, join_beside, join_loops, join_products, place
from jt_edu.ir.conv_pattern import ALGORITHMS, STORED, Convolution, Names, contraction
from jt_edu.ir.expression import Expression, Term
from jt_edu.ir.index_expr import counters, counters_of, divides
from jt_edu.ir.matmul_pattern import Product
from jt_edu.ir.meta_ops import CONSTANT, Code, Counter, Elementwise, Reindex, ReindexReduce, Slabs
from jt_edu.ir.node import Node, age
from jt_edu.ir.scalar_ops import MULTIPLY

FULL = 64, 64, 128  # operators inlined into one value; arrays in one kernel; operators in one kernel
FEW, SHORT = (16, 20, 32), 1024  # the same, for loops shorter than this: compiling takes longer than they ever run
PRODUCTS = 4  # of one matrix in one kernel
GUARDED = 8  # multiplications that a guarded read costs, because loops with conditions are not vectorised
RECENT = 32  # kernels that an anchor may still join: looking at all of them would take time with their square
ANEW = 64  # terms that are written again because several ways lead to one value
CHEAP = 4  # multiplications that are sooner done twice than stored


@dataclass
class Fused:
    """The answer: kernels in the order in which they run, the nodes to store, and the reshapes that cost nothing."""

    kernels: list[Kernel]
    stored: set[Node]
    aliases: dict[Node, Node]  # a reshape of an array -> the array with the same memory
    lookups: bool  # index arrays, or numbers that a view relies on, are to be checked before a kernel reads them


class Fuser:
    """One run of the fuser over the pending nodes `order` (inputs first), of which `wanted` must be stored."""

    def __init__(self, order: list[Node], wanted: set[Node], enabled: bool = True, by: Names = ALGORITHMS) -> None:
        self.order, self.enabled, self.algorithms = order, enabled, by
        self.why: dict[Node, tuple[str, str]] = dict.fromkeys(wanted, ("wanted", "it was asked for, or is still held"))
        self.readers: dict[Node, list[Node]] = {n: [] for n in order}
        for node in order:
            for i in dict.fromkeys(node.inputs):
                if i in self.readers:
                    self.readers[i].append(node)
        self.long = {n for n in order if max(math.prod(m.shape) for m in (n, *n.inputs)) >= SHORT}
        self.contractions, self.blocks = dict[Node, Product | Convolution](), set[Node]()  # blocks: no array is left
        self.half, self.barriers = any(n.dtype.is_half for n in order), set[Node]()  # index arrays: looked at early

    def run(self) -> Fused:
        """Decide what is stored, group anchors into kernels, and look again while something is computed twice."""
        self._store_whole_arrays()
        self._store_repeated()
        kernels = self._group()
        while len(kernels) > 1 and self._store_shared(kernels):
            kernels = self._group()
        beside = {n for n in self.why if self.beside and self._is_only_part(n)}
        stored = (self.why.keys() | self._read_elsewhere(kernels)) - beside
        if len(self.contractions) > 1:
            kernels, self.blocks = row_blocks.find(kernels, self)
        aliases = {n: root for n, root in self.root.items() if root.data is not None or root in stored}
        return Fused(kernels, stored - self.blocks, aliases, bool(self.barriers))

    def _store(self, node: Node, rule: str, reason: str) -> None:
        if node.data is None and node.op is not CONSTANT:
            self.why.setdefault(node, (rule, reason))

    # which values need an array

    def _store_whole_arrays(self) -> None:
        for node in self.order:
            if not self.enabled:
                self._store(node, "fusion is off", "jt.flags.fuse is False")
            if not isinstance(node.op, (Elementwise, Reindex, ReindexReduce, Counter)):
                for n in (node, *node.inputs, *(behind_view(i, reshapes=True) for i in node.inputs)):
                    self._store(n, "whole array", f"{node.op.name} works on whole arrays")
            if isinstance(node.op, Elementwise) and node.op.exact:
                self._store_compared(node)
            if isinstance(node.op, Reindex) and node.op.within:
                self.barriers.add(node.inputs[0])
                self._store(node.inputs[0], "whole array", "its numbers are checked before a kernel reads them")
            if isinstance(node.op, (Reindex, ReindexReduce)):
                for i in node.inputs[1:]:
                    self.barriers.add(i)
                    self._store(i, "whole array", f"{node.op.name} looks up indices in it")
            product = isinstance(node.op, ReindexReduce) and node.inputs[0].op is MULTIPLY
            found = contraction(node, self.why, self.algorithms) if product else None
            if found is not None and node.inputs[0] not in self.why:  # else the n*m*k products are wanted themselves
                self.contractions |= {} if self.algorithms == STORED else {node: found}
                words = "BLAS multiplies stored matrices", "a convolution reads stored arrays"
                for side in found.sides:
                    self._store(side, "whole array", words[isinstance(found, Convolution)])

    def _store_compared(self, node: Node) -> None:
        """z == z.max() is asked of one z: computed again, in another loop, its last digits might differ."""
        sides = [behind_view(i) for i in node.inputs if i.dtype.kind == "f"]
        for side in sides if any(isinstance(s.op, ReindexReduce) for s in sides) else ():
            if not isinstance(side.op, ReindexReduce) or side.dtype.is_half:
                self._store(side, "whole array", "it is compared with what was made of it, digit by digit")

    def _store_repeated(self) -> None:
        """Walk towards the outputs, counting how much work is inlined into each node."""
        inlined, terms = dict[Node, frozenset[Node]](), dict[Node, int]()
        in_product = {n.inputs[0] for n in self.contractions}
        for node in self.order:
            mine = frozenset().union(*(inlined.get(i, frozenset()) for i in node.inputs if i not in self.why))
            while len(mine) >= (most := FULL[0] if node in self.long else FEW[0]):
                mine -= self._cut(node, inlined, most)
            terms[node] = 1 + sum(terms.get(i, 0) for i in {*node.inputs} - self.why.keys())  # at most
            while terms[node] > len(mine) + ANEW and (found := self._written_anew(node, terms)) is not None:
                mine -= self._take_out(found, inlined)
            if isinstance(node.op, Reindex) and node not in in_product:
                self._look_at_repeats(node, node.op, mine)
            ends = isinstance(node.op, ReindexReduce)
            inlined[node], terms[node] = (frozenset(), 0) if ends else (mine | {node}, terms[node])

    def _cut(self, node: Node, inlined: dict[Node, frozenset[Node]], most: int) -> frozenset[Node]:
        """Store most of what goes into a full node: a value that others read as well, if there is one on the way."""

        def size(n: Node) -> int:
            return 0 if n in self.why else len(inlined.get(n, ()))

        found = first = max(node.inputs, key=size)
        while size(found) > most // 2 and len(self.readers[found]) == 1:
            found = max(found.inputs, key=size)
        found = found if size(found) > most // 2 and (node in self.long or found not in self.long) else first
        self._store(found, "kernel full", f"at most {most} operators are inlined into one value")
        return self._take_out(found, inlined)

    def _take_out(self, found: Node, inlined: dict[Node, frozenset[Node]]) -> frozenset[Node]:
        """What goes into a node that is now stored goes into others no more."""
        gone, waiting = inlined[found], [found]
        while waiting:
            for r in self.readers[waiting.pop()]:
                if gone & inlined.get(r, gone - gone):
                    inlined[r] -= gone
                    waiting.append(r)
        return gone

    def _written_anew(self, node: Node, terms: dict[Node, int]) -> Node | None:
        """Count the terms of a node; of its parts, find and store the one that is written anew most often."""
        below = Expression(self.why).computed(node, counters(len(node.shape)), node.shape).below
        terms[node], ways = 1 + len(below), defaultdict[Node, list[frozenset[Term]]](list)
        for t in below:
            if t.kind == "compute":
                ways[t.node].append(t.below)
        again = {n: len(frozenset().union(*w)) - max(map(len, w)) for n, w in ways.items()}
        small = [n for n in sorted(ways, key=age) if math.prod(n.shape) <= len(ways[n]) * math.prod(node.shape)]
        found = max(small, key=lambda n: again[n], default=None)
        if found is None or again[found] <= ANEW:
            return None
        words = f"{node.op.name} reads it at {len(ways[found])} places, {again[found]} operations more"
        self._store(found, "many ways", words)
        return found

    def _look_at_repeats(self, node: Node, op: Reindex, mine: frozenset[Node]) -> None:
        source = node.inputs[0]
        if source in self.why or source.data is not None or isinstance(source.op, ReindexReduce):
            return
        if op.flat and not op.picks:
            inner = max((k for k, n in enumerate(op.shape) if n != 1), default=0)  # the counter of the innermost loop
            divided = any(divides(w) and inner in counters_of(w) for w in op.where)
            if divided and not all(isinstance(n.op, Elementwise) or len(n.shape) == 1 for n in mine):
                self._store(source, "reshape", "a reshape behind a view would need divisions for every element")
            return
        used = counters_of(*op.where)
        reads = math.prod(op.shape[: max(used) + 1] if used else ())  # loops further in do not compute it again
        times = reads / max(math.prod(source.shape), 1)
        work = sum(n.op.weight for n in mine if isinstance(n.op, Elementwise))
        work += sum(GUARDED for n in mine if isinstance(n.op, Reindex) and (n.op.guards or n.op.valid is not None))
        dear = times > 1 and work * reads > CHEAP * math.prod(op.shape)
        if dear and all(r not in self.contractions for r in self.readers[node]):
            self._store(source, "repeated", f"{op.name} reads it {times:g} times, {work} multiplications each")

    # which loops are shared

    def _group(self) -> list[Kernel]:
        """Kernels in the order in which they run. Reshapes of arrays need none: they are the same memory."""
        self.root: dict[Node, Node] = {}  # a reshape of an array -> the array with the same memory
        self.home: dict[Node, int] = {}  # an anchor -> its kernel
        self.beside: dict[Node, bool] = {}  # written where its parts are computed -> whether that is in one kernel
        expression, kernels = Expression(self.why), list[Kernel]()
        for node in self.order:
            flat = isinstance(node.op, Reindex) and node.op.flat and not node.op.within
            if flat and (self._is_array(node.inputs[0]) or node.inputs[0] in self.root):
                self.root[node] = self.root.get(node.inputs[0], node.inputs[0])
            elif self._is_array(node) and not (isinstance(node.op, Slabs) and self._is_written_beside(node, kernels)):
                anchor = self._anchor(node, expression)
                first = max([self.home.get(self.root.get(n, n), 0) for n in anchor.reads], default=0)
                if self.contractions:
                    self._sink(kernels, anchor, first)
                latest = range(len(kernels) - 1, max(first, len(kernels) - RECENT) - 1, -1)
                at = next((p for p in latest if self._join(kernels[p], anchor)), None)
                if at is None:
                    at = len(kernels)
                    kernels.append(self._new_kernel(anchor))
                self.home[node] = at
        return kernels

    def _sink(self, kernels: list[Kernel], anchor: Anchor, first: int) -> None:
        """Let a convolution wait until kernel `first` has run, if its tail needs that, and nothing before needs it."""
        homes = {self.home.get(self.root.get(n, n), first) for n in anchor.reads}
        waits = [p for p in homes if p < first and kernels[p].kind == "convolution" and len(kernels[p].anchors) == 1]
        for p in sorted(waits)[-1:]:
            sums = kernels[p].anchors[0].node
            between = (n for kernel in kernels[p + 1 : first + 1] for a in kernel.anchors for n in a.reads)
            if any(self.root.get(n, n) is sums for n in between) or not self._is_only_reader(anchor.node, sums):
                continue
            kernels.insert(first, kernels.pop(p))
            self.home = {n: first if at == p else at - (p < at <= first) for n, at in self.home.items()}

    def _is_array(self, node: Node) -> bool:
        return node.data is not None or node in self.why or isinstance(node.op, ReindexReduce)

    def _anchor(self, node: Node, expression: Expression) -> Anchor:
        if node in self.contractions:
            found = self.contractions[node]
            return Anchor(node, None, (), None, found, reads={*found.sides})
        if isinstance(node.op, ReindexReduce):
            source = node.inputs[0]
            term = expression.value(source, counters(len(source.shape)))
            anchor = Anchor(node, term, source.shape, node.op.kept)
        elif isinstance(node.op, (Elementwise, Reindex, Counter)):
            term = expression.computed(node, counters(len(node.shape)), node.shape)
            anchor = Anchor(node, term, node.shape, tuple(range(len(node.shape))))
        else:
            return Anchor(node, None, (), None, reads={*node.inputs})
        anchor.reads = {t.node for t in anchor.loads} | (self._looked_at(node) if self.barriers else set())
        return anchor

    def _looked_at(self, anchor: Node) -> set[Node]:
        """Arrays that are looked at before the kernel of an anchor runs: every index array on the way to it."""
        arrays, waiting, seen = set[Node](), [anchor], set()
        while waiting:
            n = waiting.pop()
            if n in seen:
                continue
            seen.add(n)
            if isinstance(n.op, (Reindex, ReindexReduce)):
                arrays |= set(n.inputs[1:]) | set(n.inputs[:1] if isinstance(n.op, Reindex) and n.op.within else ())
            waiting.extend(i for i in n.inputs if not self._is_array(i))
        return arrays

    def _new_kernel(self, anchor: Anchor) -> Kernel:
        if anchor.term is None:
            kind = "code" if isinstance(anchor.node.op, Code) else "host"
            if anchor.contraction is not None:
                kind = "product" if isinstance(anchor.contraction, Product) else "convolution"
            return Kernel(kind, stages=[Stage((), [anchor])])
        kernel, axes = Kernel("loops"), dict[int, int]()
        if anchor.by_rows >= 0 and anchor.kept is not None:
            kernel.outer = kernel.new_loops(anchor.loops[k] for k in anchor.kept)
            axes = dict(zip(anchor.kept, kernel.outer, strict=True))
        place(kernel, anchor, axes)
        return kernel

    def _join(self, kernel: Kernel, anchor: Anchor) -> bool:
        """Put the anchor into the kernel if a rule allows it."""
        if not self.enabled or kernel.kind in ("code", "host") or (anchor.term is None and anchor.contraction is None):
            return False
        mine, reads = {a.node for a in kernel.anchors}, {self.root.get(n, n) for n in anchor.reads}
        if kernel.kind == "convolution" and anchor.reduces:
            begun = {a.node for a in kernel.anchors if a.reduces and a.term is not None}  # known when it has ended
            return not reads & begun and epilogue.join_tail_sums(kernel, anchor)
        if kernel.kind == "convolution":
            return self._is_only_reader(anchor.node, kernel.anchors[0].node) and epilogue.join_tail(kernel, anchor)
        if kernel.kind == "product" or anchor.contraction is not None:
            return len(mine) < PRODUCTS and join_products(kernel, anchor, bool(reads & mine))
        if anchor.kept is None or any(a.kept is None for a in kernel.anchors):
            return False
        together = (*kernel.anchors, anchor)
        _, arrays, operators = FULL if any(math.prod(a.loops) >= SHORT for a in together) else FEW
        loads = {t.node for a in together for t in a.loads}
        if len(loads) + len(together) > arrays or sum(a.operators for a in together) > operators:
            return False
        early = mine - self.barriers - self.beside.keys()
        if any(self.root.get(n, n) in mine for n in anchor.reads if n not in early):
            return False
        return not (self.half and halves.waits(anchor, kernel)) and join_loops(kernel, anchor)

    def _is_written_beside(self, whole: Node, kernels: list[Kernel]) -> bool:
        """Whether arrays behind each other need no kernel: the loops that compute them write them there."""
        parts = [self.root.get(i, i) for i in whole.inputs] if self.enabled else []
        if not parts or not all(p in self.home and self.beside.get(p, True) for p in parts):
            return False
        homes = [self.home[p] for p in parts]
        if any(kernels[k].kind != "loops" for k in homes):
            return False
        makers = {a.node: (stage, a) for k in {*homes} for stage in kernels[k].stages for a in stage.anchors}
        if not join_beside(whole, [makers[p] for p in parts]):
            return False
        self.home[whole], self.beside[whole] = max(homes), len({*homes}) == 1
        return True

    def _is_only_part(self, node: Node) -> bool:
        """Whether an array is never read but the wholes that it is a part of, and written there anyway."""
        readers = self.readers.get(node, ())
        written = (self.beside.get(r) or (r in self.root and self._is_only_part(r)) for r in readers)
        return bool(readers) and self.why.get(node, ("",))[0] != "wanted" and all(written)

    def _is_only_reader(self, node: Node, sums: Node) -> bool:
        """Whether nobody but `node`, and what is inlined into it, looks at these sums."""
        waiting = [sums]
        while waiting:
            n = waiting.pop()
            if n is not node and n in self.why:
                return False
            if n is not node:
                if n is not sums and self._is_array(n):
                    return False
                waiting.extend(self.readers[n])
        return node in self.why

    # what is read outside its kernel, or computed twice

    def _read_elsewhere(self, kernels: list[Kernel]) -> set[Node]:
        """Reductions that another kernel, an alias or the caller needs as an array."""
        found = set()
        for number, kernel in enumerate(kernels):
            columns = {a.node for a in kernel.anchors if a.reduces and a.by_rows < 0}  # summed in arrays, not registers
            if kernel.kind == "convolution":
                columns = set()
            for anchor in kernel.anchors:
                found |= columns & {t.node for t in anchor.loads}
                for n in anchor.reads:
                    root = self.root.get(n, n)
                    if root in self.home and (self.home[root] != number or root is not n or anchor.term is None):
                        found.add(root)
        found |= {self.root.get(n, n) for n in self.why}
        return {n for n in found if n.data is None}

    def _store_shared(self, kernels: list[Kernel]) -> bool:
        """Store what several kernels would compute again, where that costs more; True if anything changed."""
        users: dict[Node, set[int]] = {}
        arrays: dict[Node, set[Node]] = {}
        for number, kernel in enumerate(kernels):
            for anchor in kernel.anchors:
                for t in anchor.parts:
                    if t.kind == "compute" and t.node is not anchor.node:
                        users.setdefault(t.node, set()).add(number)
                        arrays.setdefault(t.node, set()).update(part.node for part in t.below if part.kind == "load")
        before = len(self.why)
        for node, places in sorted(users.items(), key=lambda entry: entry[0].id):  # inputs first, and always alike
            if len(places) > 1 and any(users.get(r, set()) != places for r in self.readers[node]):
                self._weigh(node, len(places), arrays[node])
        return len(self.why) > before

    def _weigh(self, node: Node, kernels: int, arrays: set[Node]) -> None:
        """Reading again costs every array in every kernel; storing costs them once, plus one write and the reads."""
        size = max(math.prod(node.shape), 1)
        per_element = sum(min(math.prod(a.shape) / size, 1.0) for a in arrays)
        work = sum(n.op.weight for n in self._inlined(node) if isinstance(n.op, Elementwise))
        narrower = self.half and halves.narrower(node, arrays)
        if work > CHEAP or kernels * per_element > per_element + kernels or narrower:
            self._store(node, "shared", f"{kernels} kernels read it; {work} operations, {per_element:.3g} loads each")

    def _inlined(self, node: Node) -> set[Node]:
        found, waiting = set(), [node]
        while waiting:
            n = waiting.pop()
            if n not in found and not (n is not node and self._is_array(n)):
                found.add(n)
                waiting.extend(n.inputs)
        return found


def behind_view(node: Node, reshapes: bool = False) -> Node:
    """The node that a view shows, or only `reshapes` of all of it; any other is itself."""
    while node.data is None and isinstance(node.op, Reindex):
        if reshapes and (node.op.within or not node.op.flat):
            break
        node = node.inputs[0]
    return node
