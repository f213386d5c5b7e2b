"""Emit tiles: a product prints itself as a kernel whose blocks of threads compute tiles of the output.

    left[k, row]        a tile of x in shared memory            for first in range(0, n, 16):
    right[k, column]    one of y                                    fill left and right; a barrier
    s0                  the sums of a thread: one, or 4 by 4        for k in range(16):
                                                                        s0 = s0 + left[k, ...] * right[k, ...]
                                                                    a barrier
                                                                what becomes of s0

A row of a tile has one number more than it needs, so that a column of it lies in as many banks as it is long.

What is read, and what becomes of a sum, are statements of the nest; only the loops around them are others.
"""

from __future__ import annotations

from collections.abc import Sequence

from jt_edu.codegen.emit_python import Argument, Printer
from jt_edu.codegen.loop_ir import Block, Value
from jt_edu.cuda.contraction import Contraction
from jt_edu.ir.index_expr import counter

DEEP, SIDE = 16, 16  # of a tile; threads along each side of a block
DOWN, ACROSS = f"thread // {SIDE}", f"thread % {SIDE}"


class TilePrinter(Printer):
    """Prints products; see `emit_cuda.py` for all other nests."""

    sum = cell = ""  # the sums of a thread, and one of them
    loops: Sequence[tuple[str, int]] = ()  # over the sums of a thread: counter, and how many

    def _tiles(self, c: Contraction) -> str:
        """The body of a kernel for a product; how many blocks of how many threads do it."""
        tile, dtype = SIDE * c.each, c.dtype
        for side in ("left", "right"):
            self._write(1, f'{side} = cuda.shared.array(({DEEP}, {tile + 1}), "{dtype}")', c.update.node)
        start = self._begin(c, tile)
        self._sums(c, [(name, c.each) for name in "pq" if c.each > 1])
        deep = self._names(("k",), (c.summed,))[0]
        self._write(1, f"for first in range(0, {self._count(c.summed)}, {DEEP}):")
        self._read_tile(c, "left", "row", *c.sides[0])
        self._read_tile(c, "right", "column", *c.sides[1])
        self._write(2, "cuda.syncthreads()")
        self._write(2, f"for {deep} in range({DEEP}):")
        places = [f"{part} + {SIDE} * {q}" if c.each > 1 else part for part, q in ((DOWN, "p"), (ACROSS, "q"))]
        product = f"left[{deep}, {places[0]}] * right[{deep}, {places[1]}]"
        self._write(self._over_sums(3), f"{self.cell} = {self.cell} + {product}", c.update.node)
        self._write(2, "cuda.syncthreads()")
        self._end(c, places)
        return start

    def _begin(self, c: Contraction, tile: int) -> str:
        """Where the tile of a block stands; how many blocks of how many threads there are."""
        rows, columns, batch, _ = (self._count(axes) for axes in (c.rows, c.columns, c.batch, c.summed))
        blocks, across = (f"-(-{grouped(count)} // {tile})" for count in (rows, columns))
        self._write(1, f"thread, blocks = cuda.threadIdx.x, {blocks}")
        self._write(1, f"row, column = cuda.blockIdx.x % blocks * {tile}, cuda.blockIdx.y * {tile}")
        self._decode("cuda.blockIdx.x // blocks", c.batch, 1)
        times = f" * {batch}" if c.batch else ""
        return f"(max(1, {blocks}){times}, max(1, {across})), {SIDE * SIDE}"

    def _sums(self, c: Contraction, loops: Sequence[tuple[str, int]]) -> None:
        """The sums of a thread: one, or those that some loops go over."""
        self.sum, self.loops, dtype = self._new("s"), loops, c.dtype
        self.cell = f"{self.sum}[{', '.join(name for name, _ in loops)}]" if loops else self.sum
        if loops:
            shape = ", ".join(str(count) for _, count in loops)
            self._write(1, f'{self.sum} = cuda.local.array(({shape}), "{dtype}")')
        self._write(self._over_sums(1), f"{self.cell} = {dtype}(0)", c.update.node)

    def _over_sums(self, depth: int) -> int:
        """Open loops over the sums of a thread; how deep it is in there."""
        for k, (name, count) in enumerate(self.loops):
            self._write(depth + k, f"for {name} in range({count}):")
        return depth + len(self.loops)

    def _names(self, others: Sequence[str], groups: Sequence[Sequence[int]]) -> list[str]:
        """What the number of an iteration is called: as the loop, if it is that of one loop."""
        known = [[self.axes.setdefault(a, f"i{len(self.axes)}") for a in group] for group in groups]
        return [names[0] if len(names) == 1 else other for names, other in zip(known, others, strict=True)]

    def _read_tile(self, c: Contraction, name: str, begin: str, value: Value, axes: Sequence[int]) -> None:
        """Read a tile; threads side by side read what lies side by side."""
        tile = SIDE * c.each
        deep, wide = f"e % {DEEP}", f"e // {DEEP}"
        if not self._steps(value, c.summed[-1]):
            deep, wide = f"e // {tile}", f"e % {tile}"
        self._write(2, f"for e in range(thread, {DEEP * tile}, {SIDE * SIDE}):", value.node)
        self._read_number(c, f"first + {deep}", f"{begin} + {wide}", value, axes, 3)
        self._write(3, f"{name}[{deep}, {wide}] = number", value.node)

    def _read_number(
        self, c: Contraction, deep: str, wide: str, value: Value, axes: Sequence[int], depth: int, zero: str = "",
        spelled: str = "{}",
    ) -> None:  # fmt: skip
        """Read `number` of a factor, which is 0 beyond its ends."""
        k, j = self._names("kj", (c.summed, axes))
        self._write(depth, f"{k}, {j}, number = {deep}, {wide}, {zero or f'{c.dtype}(0)'}")
        self._write(depth, f"if {k} < {self._count(c.summed)} and {j} < {self._count(axes)}:")
        self._decode(k, c.summed, depth + 1)
        self._decode(j, axes, depth + 1)
        before, self.names = self.names, {}
        self._block(Block([*c.needed([value])]), depth + 1)
        self._write(depth + 1, f"number = {spelled.format(self._use(value))}", value.node)
        self.names = before

    def _steps(self, value: Value, axis: int) -> bool:
        """Whether what is read lies side by side along an axis."""
        accesses = [v.access for v in (value, *value.operands) if v.access is not None]
        return any(a.where and a.where[-1] == counter(axis) for a in accesses)

    def _end(self, c: Contraction, places: Sequence[str]) -> None:
        """What becomes of each sum of a thread."""
        depth, (j, i) = self._over_sums(1), self._names("ji", (c.rows, c.columns))
        self._write(depth, f"{j}, {i} = row + {places[0]}, column + {places[1]}")
        self._write(depth, f"if {j} < {self._count(c.rows)} and {i} < {self._count(c.columns)}:")
        self._decode(j, c.rows, depth + 1)
        self._decode(i, c.columns, depth + 1)
        self.names[c.update.access] = self.cell
        self._block(Block([*c.tail()]), depth + 1)

    def _decode(self, number: str, axes: Sequence[int], depth: int) -> None:
        """Loop counters from the number of an iteration of all of them."""
        lengths = [self._extent(axis) for axis in axes]
        for k, axis in enumerate(axes):
            name, inner = self.axes.setdefault(axis, f"i{len(self.axes)}"), " * ".join(lengths[k + 1 :])
            after = f" // {grouped(inner)}" if inner else ""
            if len(axes) > 1 or not number.isidentifier():
                self._write(depth, f"{name} = {number}{after}" + (f" % {lengths[k]}" if k else ""))

    def _count(self, axes: Sequence[int]) -> str:
        return " * ".join(self._extent(axis) for axis in axes) or "1"

    def _extent(self, axis: int) -> str:
        length = self.nest.extents[axis]
        return self._parameter(("n", self.nest, axis), "n", "int64", Argument("length", length=length))


def grouped(text: str) -> str:
    """In brackets, if it is more than one word."""
    return f"({text})" if " " in text else text
