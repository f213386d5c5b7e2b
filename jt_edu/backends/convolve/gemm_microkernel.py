"""GEMM microkernel: how does a kernel multiply two small matrices as fast as the machine can?

Nearly all the work of a convolution is c += a @ b on blocks that fit into the cache. A product of n x n matrices uses
each number n times, so what counts is how often a number is used once it is in a register. `tile` keeps ROWS x VECTORS
registers full of sums. For each step k of the depth it loads VECTORS vectors of b, and one number of a for each row:

                    b[k]   |  vector 0 |  vector 1 |  vector 2 |  vector 3 |
        a[0, k] -->        |  sum 0,0  |  sum 0,1  |  sum 0,2  |  sum 0,3  |     24 multiply-adds of LANES numbers
        a[1, k] -->        |  sum 1,0  |  sum 1,1  |  sum 1,2  |  sum 1,3  |     for 4 loads of b and 6 of a:
          ...              |    ...    |           |           |           |     the loads hide behind the arithmetic
        a[5, k] -->        |  sum 5,0  |  sum 5,1  |  sum 5,2  |  sum 5,3  |

    c  is touched once, at the end: c = sums, or c = c + sums

numba's own vectoriser does not find this shape, so the LLVM instructions are written here, one loop for each number of
vectors, and for ROWS, four or two rows: of an odd number of rows the last is computed twice. A block that is no whole
number of vectors wide lets its last vector begin earlier, so that it ends with the last column; what two vectors share,
both compute alike. A full block asks for the next one of b beside it: rows of an image lie too far apart for a machine
to guess where they go on.

Matrices are given as an array (of any shape, contiguous), the place of their first element, and steps:

    a[r, k] = a.flat[a_start + r * a_row + k * a_step]     a transposed or flipped matrix needs no copy
    b[k, j] = b.flat[b_start + k * b_row + j]              columns are neighbours
    c[r, j] = c.flat[c_start + r * c_row + j]              columns are neighbours

`tile_at` reads rows of b from wherever a table says, in any order, and maybe overlapping:

    b[k, j] = b.flat[b_start + table.flat[t_start + k] + j]

Its places are numbers like any others, and a float32 is exact only up to 2^24: b is scratch, which is smaller.

In Python the same functions are a few lines of NumPy. Nothing here knows convolutions.

Source: Goto, van de Geijn 2008, "Anatomy of High-Performance Matrix Multiplication" (ACM TOMS 34, 3).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import ir
from numpy.lib.stride_tricks import as_strided

from jt_edu.backends.convolve import llvm
from jt_edu.backends.convolve.llvm import (
    INT,
    LANES,
    ROWS,
    VECTORS,
    Array,
    Writer,
    calling,
    cgutils,
    inlined,
    lanes,
    nothing,
    written,
)  # fmt: skip

__all__ = [
    "LANES", "ROWS", "VECTORS", "WIDTH", "Array", "Blocks", "Values", "as_it_is", "inlined", "lanes", "matrix", "tile",
    "tile_at",
]  # fmt: skip

Values = list[Any]  # of LLVM
WIDTH = LANES * VECTORS  # columns of float32 in a full block
HEIGHTS = (2, 4, ROWS)  # rows of a block


@written(nothing, calling("tile", lambda *given: _Tile(*given).write()))
def tile(
    a: Array, a_start: int, a_row: int, a_step: int,
    b: Array, b_start: int, b_row: int,
    c: Array, c_start: int, c_row: int,
    rows: int, columns: int, depth: int, fresh: bool,
) -> None:  # fmt: skip
    """Multiply: c = a @ b if `fresh`, else c = c + a @ b; a is (rows, depth), b is (depth, columns), of any size.

    Each sum runs over the whole depth before it meets c. Fewer columns than `lanes` are slow.
    """
    left = matrix(a, a_start, (rows, depth), (a_row, a_step))
    right = matrix(b, b_start, (depth, columns), (b_row, 1))
    sums = matrix(c, c_start, (rows, columns), (c_row, 1))
    sums[...] = left @ right if fresh else sums + left @ right


@written(nothing, calling("tile_at", lambda *given: _TileAt(*given).write()))
def tile_at(
    a: Array, a_start: int, a_row: int,
    b: Array, b_start: int, table: Array, t_start: int,
    c: Array, c_start: int, c_row: int,
    rows: int, columns: int, depth: int,
) -> None:  # fmt: skip
    """Multiply: c = a @ b; a is (rows, depth), b is (depth, columns), whose rows begin where the table says."""
    left = matrix(a, a_start, (rows, depth), (a_row, 1))
    begins = b_start + table.reshape(-1)[t_start : t_start + depth].astype(int)
    right = b.reshape(-1)[begins[:, None] + np.arange(columns)]
    matrix(c, c_start, (rows, columns), (c_row, 1))[...] = left @ right


def matrix(array: Array, start: int, shape: tuple[int, int], steps: tuple[int, int]) -> Array:
    """In Python: the part of an array that is meant, as a matrix."""
    jump, *strides = (s * array.itemsize for s in (start, *steps))
    return as_strided(array, (2, *shape), (jump, *strides))[1]  # of an array, or of a view of one


class Blocks(Writer):
    """What the functions behind `tile` and `dots` share: how they walk over c, and how sums come there."""

    fresh: Any  # whether c is written, and not added to
    as_it_is: Any

    @contextmanager
    def walk(self, name: str, end: Any) -> Iterator[tuple[Any, Any]]:
        """A loop from 0 to `end`: the counter, and where its body is to store the next one."""
        b = self.builder
        place = cgutils.alloca_once(b, INT)
        b.store(INT(0), place)
        test, body, after = (b.append_basic_block(f"{name}.{part}") for part in ("test", "body", "end"))
        b.branch(test)
        b.position_at_end(test)
        counter = b.load(place)
        b.cbranch(b.icmp_signed("<", counter, end), body, after)
        b.position_at_end(body)
        yield counter, place
        b.branch(test)
        b.position_at_end(after)

    def added(self, near: Values, far: Values, sums: Values) -> Values:
        """Each vector of a with each of b, added to their sum."""
        pairs = [(x, y) for x in near for y in far]
        return [llvm.fused(self.builder, x, y, s) for (x, y), s in zip(pairs, sums, strict=True)]

    def either(self, one: Any, ones: Values, other: Any, others: Values) -> Values:
        """Values that depend on the block that led here."""
        phis = [self.builder.phi(x.type) for x in ones]
        for phi, x, y in zip(phis, ones, others, strict=True):
            phi.add_incoming(x, one)
            phi.add_incoming(y, other)
        return phis

    def keep(self, sums: Values, goals: Values) -> None:
        """Write the sums to c, or add them to what is there."""
        b = self.builder
        with b.if_else(self.fresh) as (fresh, more):
            with fresh:
                for goal, total in zip(goals, sums, strict=True):
                    llvm.store(b, total, goal)
            with more:  # all are read before one is written: vectors and rows may overlap
                totals = [b.fadd(llvm.load(b, goal, s.type), s) for goal, s in zip(goals, sums, strict=True)]
                for goal, total in zip(goals, totals, strict=True):
                    llvm.store(b, total, goal)


class _Tile(Blocks):
    """Writes the function behind `tile` into an LLVM module."""

    def __init__(self, module: Any, name: str, number: Any) -> None:
        super().__init__(module, name, number, "aiiiaiiaiiiiii")
        b = self.builder
        a, a_start, self.a_row, self.a_step, right, b_start, self.b_row, c, c_start, self.c_row = self.arguments[:10]
        self.rows, self.columns, self.depth, fresh = self.arguments[10:]
        self.fresh = b.icmp_signed("!=", fresh, INT(0))
        self.a, self.b, self.c = b.gep(a, [a_start]), b.gep(right, [b_start]), b.gep(c, [c_start])
        self.as_it_is = as_it_is(module)

    def write(self) -> None:
        """For each part of the columns, for each part of the rows: a block."""
        b = self.builder
        with self.walk("columns", self.columns) as (j, next_j):
            wide = self.wide(b.sub(self.columns, j))
            with self.walk("rows", self.rows) as (i, next_i):
                left, high = b.sub(self.rows, i), INT(ROWS)
                for rows in HEIGHTS[1::-1]:  # the least height that is enough
                    high = b.select(b.icmp_signed("<=", left, INT(rows)), INT(rows), high)
                high = b.select(b.icmp_signed("==", left, INT(ROWS + 2)), INT(4), high)  # two rows alone are slow
                self.blocks(i, j, high, wide)
                b.store(b.add(i, high), next_i)
            b.store(b.add(j, wide), next_j)
        b.ret_void()

    def wide(self, left: Any) -> Any:
        """How many columns the next block takes of those that are left, so that the last one gets a whole vector."""
        b, lanes, full = self.builder, INT(self.lanes), INT(self.lanes * VECTORS)
        scarce = b.icmp_signed("<", self.columns, lanes)
        more = b.icmp_signed(">", left, full)
        crumbs = b.icmp_signed("<", left, b.add(full, lanes))
        wide = b.select(more, b.select(crumbs, b.sub(full, lanes), full), left)
        return b.select(scarce, INT(1), wide)

    def blocks(self, i: Any, j: Any, high: Any, wide: Any) -> None:
        """Jump to the loop for so many rows (one of HEIGHTS) and vectors (none: one column)."""
        b = self.builder
        vectors = b.udiv(b.add(wide, INT(self.lanes - 1)), INT(self.lanes))
        vectors = b.select(b.icmp_signed("<", wide, INT(self.lanes)), INT(0), vectors)
        done = b.append_basic_block("done")
        switch = b.switch(b.add(b.mul(high, INT(VECTORS + 1)), vectors), done)
        for rows in HEIGHTS:
            for v in range(VECTORS + 1):
                begin = b.append_basic_block(f"rows{rows}_vectors{v}")
                switch.add_case(INT(rows * (VECTORS + 1) + v), begin)
                b.position_at_end(begin)
                self.block(i, j, wide, (rows, max(v, 1), self.lanes if v else 1))
                b.branch(done)
        b.position_at_end(done)

    def block(self, i: Any, j: Any, wide: Any, shape: tuple[int, int, int]) -> None:
        """One loop over the depth, with rows * vectors sums in registers."""
        b, (rows, vectors, lanes) = self.builder, shape
        vector = ir.VectorType(self.number, lanes)
        last = b.sub(self.rows, INT(1))
        numbers = [b.add(i, INT(r)) for r in range(rows)]
        numbers[-1] = b.select(b.icmp_signed("<", numbers[-1], last), numbers[-1], last)  # maybe the same row twice
        lefts = [b.gep(self.a, [b.mul(self.a_row, r)]) for r in numbers]
        begins = [b.add(j, INT(v * lanes)) for v in range(vectors - 1)] + [b.add(j, b.sub(wide, INT(lanes)))]
        rights = [b.gep(self.b, [begin]) for begin in begins]
        goals = [b.gep(self.c, [b.add(b.mul(self.c_row, r), begin)]) for r in numbers for begin in begins]
        self.keep(self.sum(lefts, rights, vector), goals)

    def row_of_b(self, k: Any, place: Any) -> Any:
        """Where row k of b begins, if the rows follow each other: at `place`."""
        del k
        return place

    def sum(self, lefts: Values, rights: Values, vector: Any) -> Values:
        """The loop over the depth: what it has summed up for each row and vector."""
        b = self.builder
        before, loop, after = b.block, b.append_basic_block("loop"), b.append_basic_block("after")
        zero = ir.Constant(vector, None)
        b.cbranch(b.icmp_signed(">", self.depth, INT(0)), loop, after)
        b.position_at_end(loop)
        k, a_place, b_place = (b.phi(INT) for _ in range(3))
        sums = [b.phi(vector) for _ in lefts for _ in rights]
        place = self.row_of_b(k, b_place)
        right = [llvm.load(b, b.gep(r, [place]), vector) for r in rights]
        for r in rights if len(rights) == VECTORS and len(lefts) == ROWS else ():
            llvm.ask_for(b, b.gep(r, [b.add(place, INT(VECTORS * self.lanes))]))
        left = [llvm.spread(b, b.load(b.gep(r, [a_place])), vector) for r in lefts]
        made = self.added(left, right, sums)
        moved = [b.add(k, INT(1)), b.add(a_place, self.a_step), b.add(b_place, self.b_row)]
        for phi, value in zip((k, a_place, b_place, *sums), (*moved, *made), strict=True):
            phi.add_incoming(ir.Constant(phi.type, None if phi.type == vector else 0), before)
            phi.add_incoming(value, loop)
        b.cbranch(b.icmp_signed("<", moved[0], self.depth), loop, after).set_metadata("llvm.loop", self.as_it_is)
        b.position_at_end(after)
        return self.either(before, [zero] * len(made), loop, made)


class _TileAt(_Tile):
    """The same, for rows of b that begin where a table says."""

    def __init__(self, module: Any, name: str, number: Any) -> None:
        Writer.__init__(self, module, name, number, "aiiaiaiaiiiii")
        b = self.builder
        a, a_start, self.a_row, right, b_start, table, t_start, c, c_start, self.c_row = self.arguments[:10]
        self.rows, self.columns, self.depth = self.arguments[10:]
        self.a_step, self.b_row, self.fresh = INT(1), INT(0), ir.Constant(ir.IntType(1), 1)
        self.a, self.b, self.c = b.gep(a, [a_start]), b.gep(right, [b_start]), b.gep(c, [c_start])
        self.table = b.gep(table, [t_start])
        self.as_it_is = as_it_is(module)

    def row_of_b(self, k: Any, place: Any) -> Any:
        """The table says it."""
        return self.builder.fptosi(self.builder.load(self.builder.gep(self.table, [k])), INT)


def as_it_is(module: Any) -> Any:
    """What to tell LLVM about a loop that it is not to unroll, which would take a second to compile."""
    keep = module.add_metadata([ir.MetaDataString(module, "llvm.loop.unroll.disable")])
    loop = module.add_metadata([keep, keep])
    loop.operands = (loop, keep)  # a loop's metadata names itself first
    return loop
