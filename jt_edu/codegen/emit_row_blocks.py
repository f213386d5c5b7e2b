"""Emit row blocks: products of matrices and the loops between them as one kernel, a block of rows at a time.

    def kernel(lo, hi, n0, n1, k0, k1, a0, a1, a2, out0, acc0):
        for b0 in range(lo, hi):
            i0 = b0 // k1                                   a block of rows of matrix i0
            r0 = b0 % k1 * k0
            r1 = minimum(r0 + k0, n0)
            w0 = matrix(acc0, r1 - r0, n1)
            np.dot(a0[i0][r0:r1], a1[i0].T, w0)             scores
            for i1 in range(r0, r1):
                ...                                         softmax of each row, in place
            np.dot(w0, a2[i0], out0[i0][r0:r1])             weights @ values

What is made on the way lies in memory as large as a block, which each thread has for itself; where it is needed no
more, something else takes its place. Where a product sums over the rows, all blocks of a matrix are worked on one after
the other, and added up in the same order on any number of threads. Where a mask forbids all columns behind the last row
of a block, they are left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from jt_edu.codegen.emit_epilogue import loop_opened
from jt_edu.codegen.emit_python import Argument, Printer, Source, Text, literal
from jt_edu.codegen.loop_ir import Access, Block, Loop, Nest, Store, Value, accesses, collapse, cut, everything
from jt_edu.codegen.lowering import Builder
from jt_edu.fusion.causal import Beyond
from jt_edu.fusion.loop_fusion import Kernel
from jt_edu.fusion.row_blocks import how_read, product_of
from jt_edu.ir.index_expr import Index, as_index, counter, counters_of
from jt_edu.ir.matmul_pattern import Operand, Product
from jt_edu.ir.node import Node, Shape

BLOCK_ROWS = 256  # at most: BLAS then copies the other side seldom enough
FEWEST_ROWS = 32  # of a block whose rows are long
ROOM = 1 << 21  # numbers of a block, from which on it has fewer rows


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
    row = kernel.outer[-1]
    inside = {a.node for a in kernel.anchors if a.node not in stored and (a.term is None or not a.reduces)}
    loops = Kernel("loops", kernel.outer, kernel.stages[1:-1], kernel.extents)
    nest = Builder(loops, stored | inside).build()
    printer = _BlockPrinter(nest, kernel, inside)
    for access in accesses(nest.top):
        if access.node in inside and access.role != "scratch":
            column = access.where[access.where.index(counter(row)) + 1 :] or (as_index(0),)
            assert len(column) == 1, "row_blocks.py says so"
            access.role, access.dtype, access.shape = "scratch", access.node.dtype, (-1, -1)  # as a block needs
            access.where = (counter(row) - Index("value", printer.first), *column)
    printer.nest = nest = cut(collapse(nest, alone=(row,)))
    printer.lead = [axis for axis in kernel.outer[:-1] if axis in nest.extents]
    for axis in printer.lead:
        nest.top = loop_opened(nest.top, axis)
    text = printer.print()
    head = "import numpy as np\n" + ("" if text.source.text.startswith("from") else "\n\n")
    lines = tuple((line + head.count("\n"), node) for line, node in text.lines)
    source = Source(head + text.source.text, text.source.parameters, apart=text.source.apart)
    flops = sum(p.flops for p in printer.products)
    span = printer.batch if printer.sums else printer.count * printer.blocks
    why = f"{len(printer.products)} products and the loops between them run {printer.high} rows at a time"
    why += f", in {printer.room / 1e6:.2g} MB of each thread"
    why += "; columns that the mask forbids to a whole block are left out" * bool(printer.end)
    return Blocks(Text(source, text.arguments, lines), span, nest.work, flops, why)


class _BlockPrinter(Printer):
    """Prints the loops over blocks, and the products before and behind what is done to each row."""

    def __init__(self, nest: Nest, kernel: Kernel, inside: set[Node]) -> None:
        super().__init__(nest)
        self.kernel, self.inside, self.row, self.lead = kernel, inside, kernel.outer[-1], list[int]()
        ends = kernel.stages[0], kernel.stages[-1]
        self.producers, self.consumers = ([p for a in s.anchors if (p := product_of(a))] for s in ends)
        self.products = [*self.producers, *self.consumers]
        made = {a.node for s in kernel.stages[:-1] for a in s.anchors}
        self.rows_of = {p: next((side, how_read(p, side)) for side in p.sides if side in made) for p in self.consumers}
        self.sums = any(how != "each" for _, how in self.rows_of.values())
        self.width = max(node.shape[-1] for node in inside)
        self.high = min(kernel.extents[self.row], max(ROOM // self.width, FEWEST_ROWS), BLOCK_ROWS)
        self.blocks = -(-kernel.extents[self.row] // self.high)
        self.count = math.prod(kernel.extents[o] for o in kernel.outer[:-1])  # of matrices that are rows
        self.batch = min(p.batch for p in self.products)  # of those that are not: several i0 may share a matrix m0
        self.first = Value("counter", self.products[0].node, 0)  # the first row of a block
        self.names[self.first] = "r0"
        self.sides = {self.row: "r0, r1"}
        self.inner = {k for s in kernel.stages[1:-1] for a in s.anchors for k in a.axes} - {*kernel.outer}
        self.end = ""  # of the columns, where not all of them count
        self.matrices: dict[Node, str] = {}
        self.room = 0  # bytes of all of them

    def _block(self, block: Block, depth: int) -> None:
        if block is not self.nest.top:
            super()._block(block, depth)
            return
        depth = self._loops_over_blocks(depth)
        self._make_room(depth)
        for p in self.producers:
            left, right = self._rows(p.left.node, p, p.summed), self._side(p.right, p, p.summed, p.columns, True)
            self._write(depth, f"np.dot({left}, {right}, {self.matrices[p.node]})", p.node)
        super()._block(block, depth)
        for p in self.consumers:
            self._consume(p, depth)

    def _loops_over_blocks(self, depth: int) -> int:
        """The loops over matrices and over blocks of their rows; how deep what a block does stands in them."""
        node, write = self.first.node, self._write
        rows, high = self._length_of(self.row), self._size("high", self.high)
        if self.sums:
            depth = self._loops_over_matrices(depth)
            write(depth, f"for r0 in range(0, {rows}, {high}):", node)
        else:
            block, blocks = self._new("b"), self._size("blocks", self.blocks) if self.count > 1 else ""
            write(depth, f"for {block} in range(lo, hi):", node)
            if blocks:
                write(depth + 1, f"i0 = {block} // {blocks}", node)
            if 1 < self.batch < self.count:
                write(depth + 1, f"m0 = i0 // {self._shared()}", node)
            write(depth + 1, f"r0 = {block}{f' % {blocks}' * bool(blocks)} * {high}", node)
        write(depth + 1, f"r1 = minimum(r0 + {high}, {rows})", node)
        self._name_axes(depth + 1)
        return depth + 1

    def _loops_over_matrices(self, depth: int) -> int:
        """Sums over all rows of a matrix are begun before its blocks."""
        node = self.first.node
        if self.batch > 1:
            self._write(depth, f"for {self._matrix(self.batch)} in range(lo, hi):", node)
            depth += 1
        if self.batch < self.count:
            self._clear(self.batch, depth)
            each = self._shared()
            whole = f"m0 * {each}, m0 * {each} + {each}" if self.batch > 1 else each
            self._write(depth, f"for i0 in range({whole}):", node)
            depth += 1
        self._clear(self.count, depth)
        return depth

    def _shared(self) -> str:
        """How many matrices of rows share one that is none."""
        return self._size("shared", self.count // self.batch)

    def _name_axes(self, depth: int) -> None:
        """The counters of what was one matrix after the other, where something is read by them."""
        indices = [w for a in accesses(self.nest.top) for w in a.where]
        indices += [i.index for i in everything(self.nest.top) if isinstance(i, Value) and i.index is not None]
        if len(self.lead) > 1:
            self.axes[-1] = "i0"
        for k, axis in enumerate(self.lead):
            behind = math.prod(self.nest.extents[a] for a in self.lead[k + 1 :])
            self.axes[axis] = "i0" if len(self.lead) == 1 else f"i{k + 1}"
            if self.nest.extents[axis] == 1:
                self.axes[axis] = "0"
            elif axis in counters_of(*indices) and len(self.lead) > 1:
                part = f"i0 // {self._size(axis, behind)}" if behind > 1 else "i0"
                self._write(depth, f"{self.axes[axis]} = {part} % {self._length_of(axis)}", self.first.node)

    def _make_room(self, depth: int) -> None:
        """The matrices for what is made on the way, with as many columns as count."""
        node, columns = self.first.node, self._size(("width", self.width), self.width)
        relied = self._left_out()
        if relied is not None:
            self.end = self._new("e")
            numbers = {v.node: v for v in everything(self.nest.top) if isinstance(v, Value) and v.kind == "number"}
            asked = [f"{self._use(v)} == {literal(n.data, n.dtype)}" for n, v in numbers.items() if n in relied]
            whole = f" if {' and '.join(asked)} else {columns}" if asked else ""
            self._write(depth, f"{self.end} = minimum(r1, {columns}){whole}", node)
        for sharing in self._rooms():
            room, name, dtype = sharing[0], self._new("w"), sharing[0].dtype.kernel
            width = self._columns(room)
            argument = Argument("scratch", room, 0, (self.high * width,), dtype)
            given = self._parameter(("scratch", room), "row", dtype, argument, 1)
            self.room += self.high * width * room.dtype.size
            columns = self.end if self.end and width == self.width else self._size(("width", width), width)
            self._write(depth, f"{name} = matrix({given}, r1 - r0, {columns})", room)
            self.matrices |= dict.fromkeys(sharing, name)

    def _columns(self, node: Node) -> int:
        return node.shape[-1] if len(node.shape) > len(self.kernel.outer) else 1

    def _rooms(self) -> list[list[Node]]:
        """Who shares memory: one that is written when another was read for the last time."""
        (loop,) = (i for i in self.nest.top.items if isinstance(i, Loop))
        stages = [[i for i in everything(Block([item])) if not isinstance(i, Loop)] for item in loop.body.items]
        life = {n: [k for k, items in enumerate(stages) if n in _touched(items)] for n in self.inside}
        for p in self.producers:
            life[p.node].append(-1)
        for rows, _ in self.rows_of.values():
            life[rows].append(len(stages))
        rooms: list[list[Node]] = []
        for node in sorted(life, key=lambda n: (min(life[n]), n.id)):
            begin = min(life[node])
            for room in rooms:
                last, end = room[-1], max(life[room[-1]])
                alike = (node.dtype, self._columns(node)) == (last.dtype, self._columns(last))
                if alike and (end < begin or (end == begin >= 0 and _may_overwrite(stages[begin], node, last))):
                    room.append(node)
                    break
            else:
                rooms.append([node])
        return rooms

    def _left_out(self) -> set[Node] | None:
        """Whether the columns behind the last row of a block can be left out: the numbers on which that relies."""
        forms = all(p.right.transposed for p in self.producers) and all(
            how == "left" or (how == "each" and not p.right.transposed) for p, (_, how) in self.rows_of.items()
        )
        beyond, widths = Beyond(self.kernel), {self.kernel.extents[k] for k in self.inner}
        nothing = forms and widths == {self.width} and beyond.is_nothing({rows for rows, _ in self.rows_of.values()})
        return beyond.numbers if nothing else None

    def _clear(self, batch: int, depth: int) -> None:
        """Begin the sums over rows of those products that have so many matrices."""
        for p in [p for p in self.consumers if p.batch == batch and self.rows_of[p][1] != "each"]:
            out, lengths = self._array(p.node, p, (p.batch, p.rows, p.columns)[p.batch == 1 :]), (p.rows, p.columns)
            counters = [self._new("j") for _ in lengths]
            for k, (counter_name, length) in enumerate(zip(counters, lengths, strict=True)):
                size = self._size(("clear", length), length)
                self._write(depth + k, f"for {counter_name} in range({size}):", p.node)
            where = ", ".join([self._matrix(p.batch)] * (p.batch > 1) + counters)
            self._write(depth + 2, f"{out}[{where}] = {literal(0, p.node.dtype)}", p.node)

    def _matrix(self, batch: int) -> str:
        """The counter of the matrices of a product."""
        return "i0" if batch == self.count else "m0"

    def _consume(self, p: Product, depth: int) -> None:
        """A product of rows: rows of its own, or a sum over them that goes on from block to block."""
        node, how = self.rows_of[p]
        rows = self.matrices[node]
        if how == "each":
            right, out = self._side(p.right, p, p.summed, p.columns, True), self._rows(p.node, p, p.columns)
            self._write(depth, f"np.dot({rows}, {right}, {out})", p.node)
            return
        other, width = (p.right.node, p.columns) if how == "left" else (p.left.node, p.rows)
        a, b = (rows, self._rows(other, p, width))[:: 1 if how == "left" else -1]
        sums = self._side(Operand(p.node, False, p.batch > 1), p, p.rows, p.columns, True)
        self._write(depth, f"plus_ahb({a}, {b}, {sums})", p.node)

    def _rows(self, node: Node, p: Product, width: int) -> str:
        """The rows of a block in an array that has as many rows as the loops go over."""
        shape = (self.count, self.kernel.extents[self.row], width)[self.count == 1 :]
        return self._array(node, p, shape) + ("[i0]" if self.count > 1 else "") + "[r0:r1]"

    def _side(self, side: Operand, p: Product, rows: int, columns: int, counted: bool = False) -> str:
        """A matrix of an array as (rows, columns), or `.T` of what is stored; of those `counted`, as many as count."""
        stored = (columns, rows) if side.transposed else (rows, columns)
        name = self._array(side.node, p, (p.batch, *stored)[not side.batched :])
        part = f"[0:{self.end}]" if self.end and counted else ""
        return name + f"[{self._matrix(p.batch)}]" * side.batched + part + (".T" if side.transposed else "")

    def _array(self, node: Node, p: Product, shape: Shape) -> str:
        role, letter = ("out", "out") if node is p.node else ("in", "a")
        argument = Argument(role, node, 0, shape)
        return self._parameter((role, node, shape), letter, node.dtype.kernel, argument, len(shape))

    def _size(self, key: object, length: int) -> str:
        return self._parameter(("size", key), "k", "int64", Argument("length", length=length))

    def _length_of(self, axis: int) -> str:
        length = Argument("length", length=self.nest.extents.get(axis, self.kernel.extents[axis]))
        return self._parameter(("n", axis), "n", "int64", length)

    def _parameter(self, key: object, letter: str, dtype: str, argument: Argument, rank: int | None = None) -> str:
        if self.end and isinstance(key, tuple) and key[0] == "n" and key[1] in self.inner:
            return self.end
        return super()._parameter(key, letter, dtype, argument, rank)

    def _scratch(self, access: Access) -> str:
        if access.node not in self.matrices:
            return super()._scratch(access)
        return f"{self.matrices[access.node]}[{', '.join(self._position(w) for w in access.where)}]"


def _touched(items: list[Any]) -> set[Node]:
    return {i.access.node for i in items if i.access is not None}


def _may_overwrite(items: list[Any], node: Node, last: Node) -> bool:
    """Whether a loop reads each number of `last` to make the number of `node` that is written in the same place."""
    places = {i.access.where for i in items if i.access is not None and i.access.node in (node, last)}
    first = next(i for i in items if isinstance(i, Store) and i.access.node is node)
    made, waiting = set[Value](), [first.value]
    while waiting:
        made.add(value := waiting.pop())
        waiting += value.operands
    reads = {i for i in items if isinstance(i, Value) and i.access is not None and i.access.node is last}
    return len(places) == 1 and reads <= made and all(i.access.node is not last for i in items if isinstance(i, Store))
