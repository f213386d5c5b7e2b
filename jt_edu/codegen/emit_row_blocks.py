"""Emit row blocks: products of matrices and the loops between them as one kernel, a block of rows at a time.

    def kernel(lo, hi, n0, n1, k0, k1, a0, a1, a2, out0, acc0, row0):
        for b0 in range(lo, hi):
            i0 = b0 // k1                                           a block of rows of matrix i0
            r0 = b0 % k1 * k0
            r1 = minimum(r0 + k0, n0)
            np.dot(a0[i0][r0:r1], a1[i0].T, acc0[0:r1 - r0])       scores
            for i1 in range(r0, r1):
                ...                                                 softmax of each row, from acc0 to row0
            np.dot(row0[0:r1 - r0], a2[i0], out0[i0][r0:r1])        weights @ values

What is made on the way lies in memory as large as a block, which each thread has for itself. Where a product sums over
the rows, all blocks of a matrix are worked on one after the other, and added up in the same order on any number of
threads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from jt_edu.codegen.emit_epilogue import _inside
from jt_edu.codegen.emit_python import Argument, Printer, Source, Text
from jt_edu.codegen.loop_ir import Access, Block, Nest, Value, accesses, collapse, cut, everything
from jt_edu.codegen.lowering import Builder
from jt_edu.fusion.loop_fusion import Kernel
from jt_edu.fusion.row_blocks import product_of, takes
from jt_edu.ir.index_expr import Index, as_index, counter, counters_of
from jt_edu.ir.matmul_pattern import Operand, Product
from jt_edu.ir.node import Node

HIGH = 256  # rows of a block: BLAS then copies the other side seldom enough
ROOM = 1 << 21  # numbers of a block, if its rows are long


@dataclass(frozen=True)
class Blocks:
    """The text of such a kernel, how many units of work threads share, and what they amount to."""

    text: Text
    span: int
    work: float
    flops: int
    why: str


def row_block_text(kernel: Kernel, stored: set[Node]) -> Blocks:
    """The text, with everything in blocks that is not `stored`."""
    row, inside = (
        kernel.outer[-1],
        [a.node for a in kernel.anchors if a.node not in stored and (a.term is None or not a.reduces)],
    )
    loops = Kernel("loops", kernel.outer, kernel.stages[1:-1], kernel.extents)
    nest = Builder(loops, stored | {*inside}).build()
    products = [p for a in kernel.anchors if (p := product_of(a))]
    wide = max(n.shape[-1] for n in inside)
    high = min(kernel.extents[row], max(ROOM // wide, HIGH // 8), HIGH)
    first = Value("counter", products[0].node, 0)
    for access in accesses(nest.top):
        if access.node in inside and access.role != "scratch":
            at = access.where.index(counter(row))
            access.role, access.dtype = "scratch", access.node.dtype
            access.where = (counter(row) - Index("value", first), *access.where[at + 1 :])
            access.shape = (high, *access.shape[at + 1 :])
    nest = cut(collapse(nest, alone=(row,)))
    lead = [axis for axis in kernel.outer[:-1] if axis in nest.extents]
    for axis in lead:
        nest.top = _inside(nest.top, axis)
    printer = _BlockPrinter(nest, kernel, lead, high, first)
    text = printer.print()
    head = "import numpy as np\n" + ("" if text.source.text.startswith("from") else "\n\n")
    lines = tuple((line + head.count("\n"), node) for line, node in text.lines)
    source = Source(head + text.source.text, text.source.parameters, apart=text.source.apart)
    batch, blocks = products[0].batch, -(-kernel.extents[row] // high)
    flops = sum(p.flops for p in products)
    why = f"the loops between {len(products)} products run {high} rows at a time, which stay in the cache"
    return Blocks(
        Text(source, text.arguments, lines),
        batch if printer.sums else batch * blocks,
        nest.work + flops / 16,
        flops,
        why,
    )


class _BlockPrinter(Printer):
    """Prints the loops over blocks, and the products before and behind what is done to each row."""

    def __init__(self, nest: Nest, kernel: Kernel, lead: list[int], high: int, first: Value) -> None:
        super().__init__(nest)
        self.makers, self.takers = ([product_of(a) for a in s.anchors] for s in (kernel.stages[0], kernel.stages[-1]))
        self.row, self.high, self.lead, self.first = kernel.outer[-1], high, lead, first
        self.products = [*self.makers, *self.takers]
        self.inside = {p.node for p in self.makers} | {a.node for s in kernel.stages[1:-1] for a in s.anchors}
        self.sums = any(self._rows_of(p)[1] != "each" for p in self.takers)

    def _rows_of(self, p: Product) -> tuple[Node, str]:
        return next((side, takes(p, side)) for side in p.sides if side in self.inside)

    def _block(self, block: Block, depth: int) -> None:
        if block is not self.nest.top:
            super()._block(block, depth)
            return
        depth = self._loops_over_blocks(depth)
        for p in self.makers:
            left, right = self._side(p.left, p, (p.rows, p.summed)), self._side(p.right, p, (p.summed, p.columns))
            self._write(depth, f"np.dot({left}[r0:r1], {right}, {self._rows(p.node)})", p.node)
        super()._block(block, depth)
        for p in self.takers:
            self._take(p, depth)

    def _loops_over_blocks(self, depth: int) -> int:
        """The loops over matrices and over blocks of their rows, and the counters of what was a matrix."""
        node, extents = self.first.node, self.nest.extents
        rows = self._parameter(("n", self.row), "n", "int64", Argument("length", length=extents[self.row]))
        high, batched = self._size("high", self.high), self.products[0].left.batched
        if self.sums:
            depth += batched
            if batched:
                self._write(depth - 1, "for i0 in range(lo, hi):", node)
            self._write(depth, f"for r0 in range({f'0, {rows}' if batched else 'lo, hi'}, {high}):", node)
        else:
            blocks = self._size("blocks", -(-extents[self.row] // self.high))
            block = self._new("b")
            self._write(depth, f"for {block} in range(lo, hi):", node)
            if batched:
                self._write(depth + 1, f"i0 = {block} // {blocks}", node)
            self._write(depth + 1, f"r0 = {block} {f'% {blocks} ' * batched}* {high}", node)
        self._write(depth + 1, f"r1 = minimum(r0 + {high}, {rows})", node)
        self.names[self.first], self.sides = "r0", {self.row: "r0, r1"}
        cells = [w for a in accesses(self.nest.top) for w in a.where]
        used = counters_of(
            *cells, *(i.index for i in everything(self.nest.top) if isinstance(i, Value) and i.index is not None)
        )
        for k, axis in enumerate(self.lead):
            behind = math.prod(extents[a] for a in self.lead[k + 1 :])
            self.axes[axis] = "i0" if len(self.lead) == 1 else f"i{k + 1}"
            if axis in used and len(self.lead) > 1:
                part = "i0" + (f" // {self._size(('behind', axis), behind)}" if behind > 1 else "")
                length = self._parameter(("n", axis), "n", "int64", Argument("length", length=extents[axis]))
                self._write(depth + 1, f"{self.axes[axis]} = {part} % {length}", node)
        return depth + 1

    def _take(self, p: Product, depth: int) -> None:
        """A product of rows: rows of its own, or a sum over them that goes on from block to block."""
        node, way = self._rows_of(p)
        rows, out = self._rows(node), self._side(Operand(p.node, False, p.left.batched), p, (p.rows, p.columns))
        if way == "each":
            right = self._side(p.right, p, (p.summed, p.columns))
            self._write(depth, f"np.dot({rows}, {right}, {out}[r0:r1])", p.node)
            return
        other = p.right if way == "left" else p.left
        height = self._side(replace(other, transposed=False), p, (p.summed, p.columns if way == "left" else p.rows))
        a, b = (rows, f"{height}[r0:r1]") if way == "left" else (f"{height}[r0:r1]", rows)
        self._write(depth, "if r0 == 0:", p.node)
        self._write(depth + 1, f"np.dot({a}.T, {b}, {out})", p.node)
        self._write(depth, "else:", p.node)
        self._write(depth + 1, f"plus_ahb({a}, {b}, {out})", p.node)

    def _side(self, side: Operand, p: Product, shape: tuple[int, int]) -> str:
        """A matrix of an array, as the product sees it: (rows, columns), or `.T` of what is stored."""
        stored = shape[::-1] if side.transposed else shape
        full = (p.batch, *stored) if side.batched else stored
        role = "out" if side.node is p.node else "in"
        array = Argument(role, side.node, 0, full)
        name = self._parameter(
            (role, side.node, full), "out" if role == "out" else "a", side.node.dtype.kernel, array, len(full)
        )
        return name + ("[i0]" if side.batched else "") + (".T" if side.transposed else "")

    def _rows(self, node: Node) -> str:
        """The rows of a block that were made on the way."""
        shape = (self.high, node.shape[-1])
        corner = Access("scratch", node, (as_index(0), as_index(0)), shape, node.dtype)
        return self._scratch(corner).partition("[")[0] + "[0:r1 - r0]"

    def _size(self, key: object, length: int) -> str:
        return self._parameter(key, "k", "int64", Argument("length", length=length))
