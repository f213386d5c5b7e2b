"""Skinny GEMM: how does a kernel multiply a few rows with many, as fast as memory can bring them?

`tile` wants matrices whose columns are neighbours. The weights of a linear layer lie the other way: each sum runs along
a row of x and along a row of the weights. So a vector holds neighbours of one sum, and the lanes are added up at last:

                            rows of b:      0   1   2   3
        row 0 of a   | . . . . |  --->      s   s   s   s       ROWS x VECTORS vectors of sums; each step loads one
        row 1 of a   | . . . . |  --->      s   s   s   s       vector of every row, and multiplies each with each
          ...

    c[r, j] = sum over k of a[r, k] * b[j, k]

A row of b comes from far away, and once. It then meets all rows of a while it is near: with a few of them the
machine has time to multiply while the next numbers are on their way. In Python it is one line of NumPy.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from jt_edu.backends.convolve import llvm
from jt_edu.backends.convolve.gemm_microkernel import Blocks, Values, as_it_is, matrix
from jt_edu.backends.convolve.llvm import INT, ROWS, VECTORS, Array, calling, nothing, written


@written(nothing, calling("dots", lambda *given: _Dots(*given).write()))
def dots(
    a: Array, a_start: int, a_row: int,
    b: Array, b_start: int, b_row: int,
    c: Array, c_start: int, c_row: int,
    rows: int, columns: int, depth: int, fresh: bool,
) -> None:  # fmt: skip
    """Multiply: c = a @ b.T if `fresh`, else c = c + a @ b.T; a is (rows, depth), b is (columns, depth), of any size.

    Rows are given as for `tile`, and what is summed over are neighbours.
    """
    left = matrix(a, a_start, (rows, depth), (a_row, 1))
    right = matrix(b, b_start, (columns, depth), (b_row, 1))
    sums = matrix(c, c_start, (rows, columns), (c_row, 1))
    sums[...] = left @ right.T if fresh else sums + left @ right.T


class _Dots(Blocks):
    """Writes the function behind `dots` into an LLVM module."""

    def __init__(self, module: Any, name: str, number: Any) -> None:
        super().__init__(module, name, number, "aiiaiiaiiiiii")
        b = self.builder
        a, a_start, self.a_row, right, b_start, self.b_row, c, c_start, self.c_row = self.arguments[:9]
        self.rows, self.columns, self.depth, fresh = self.arguments[9:]
        self.fresh = b.icmp_signed("!=", fresh, INT(0))
        self.a, self.b, self.c = b.gep(a, [a_start]), b.gep(right, [b_start]), b.gep(c, [c_start])
        self.as_it_is = as_it_is(module)

    def write(self) -> None:
        """For each VECTORS rows of b, for each ROWS of a: a block."""
        b = self.builder
        with self.walk("columns", self.columns) as (j, next_j):
            with self.walk("rows", self.rows) as (i, next_i):
                left = b.sub(self.rows, i)
                high = b.select(b.icmp_signed("<", left, INT(ROWS)), left, INT(ROWS))
                done = b.append_basic_block("done")
                switch = b.switch(high, done)
                for rows in range(1, ROWS + 1):
                    begin = b.append_basic_block(f"rows{rows}")
                    switch.add_case(INT(rows), begin)
                    b.position_at_end(begin)
                    self.square(i, j, rows)
                    b.branch(done)
                b.position_at_end(done)
                b.store(b.add(i, high), next_i)
            b.store(b.add(j, INT(VECTORS)), next_j)
        b.ret_void()

    def square(self, i: Any, j: Any, rows: int) -> None:
        """So many rows of a with VECTORS rows of b, the last of them maybe more than once."""
        b, last = self.builder, self.builder.sub(self.columns, INT(1))
        columns = [b.add(j, INT(v)) for v in range(VECTORS)]
        columns = [b.select(b.icmp_signed("<", c, last), c, last) for c in columns]
        numbers = [b.add(i, INT(r)) for r in range(rows)]
        lefts = [b.gep(self.a, [b.mul(self.a_row, r)]) for r in numbers]
        rights = [b.gep(self.b, [b.mul(self.b_row, c)]) for c in columns]
        goals = [b.gep(self.c, [b.add(b.mul(self.c_row, r), c)]) for r in numbers for c in columns]
        self.keep([llvm.total(b, s) for s in self.rest(lefts, rights, *self.wholes(lefts, rights))], goals)

    def wholes(self, lefts: Values, rights: Values) -> tuple[Any, Values]:
        """The loop over whole vectors: where it ends, and the sums."""
        b, zero = self.builder, ir.Constant(self.vector, None)
        before, loop, after = b.block, b.append_basic_block("loop"), b.append_basic_block("after")
        end = b.and_(self.depth, INT(-self.lanes))
        b.cbranch(b.icmp_signed(">", end, INT(0)), loop, after)
        b.position_at_end(loop)
        k, sums = b.phi(INT), [b.phi(self.vector) for _ in lefts for _ in rights]
        far, near = ([llvm.load(b, b.gep(p, [k]), self.vector) for p in places] for places in (rights, lefts))
        made = self.added(near, far, sums)
        moved = b.add(k, INT(self.lanes))
        k.add_incoming(INT(0), before)
        k.add_incoming(moved, loop)
        for phi, value in zip(sums, made, strict=True):
            phi.add_incoming(zero, before)
            phi.add_incoming(value, loop)
        b.cbranch(b.icmp_signed("<", moved, end), loop, after).set_metadata("llvm.loop", self.as_it_is)
        b.position_at_end(after)
        return end, self.either(before, [zero] * len(made), loop, made)

    def rest(self, lefts: Values, rights: Values, end: Any, sums: Values) -> Values:
        """What is left of the depth, less than a vector: of what lies beyond nothing is touched."""
        b, before = self.builder, self.builder.block
        more, after = b.append_basic_block("rest"), b.append_basic_block("summed")
        b.cbranch(b.icmp_signed("<", end, self.depth), more, after)
        b.position_at_end(more)
        mask = llvm.first_lanes(b, b.sub(self.depth, end), self.lanes)
        begins = [[b.gep(place, [end]) for place in places] for places in (lefts, rights)]
        near, far = ([llvm.load_some(b, begin, self.vector, mask) for begin in side] for side in begins)
        made = self.added(near, far, sums)
        b.branch(after)
        b.position_at_end(after)
        return self.either(before, sums, more, made)
