"""Tile: how does a kernel multiply two small matrices as fast as the machine can?

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
vectors, and for ROWS or two rows: of an odd number of rows the last is computed twice. A block that is no whole number
of vectors wide lets its last vector begin earlier, so that it ends with the last column; what two vectors share, both
compute alike.

Matrices are given as an array (of any shape, contiguous), the place of their first element, and steps:

    a[r, k] = a.flat[a_start + r * a_row + k * a_step]     a transposed or flipped matrix needs no copy
    b[k, j] = b.flat[b_start + k * b_row + j]              columns are neighbours
    c[r, j] = c.flat[c_start + r * c_row + j]              columns are neighbours

In Python the same functions are a few lines of NumPy. Nothing here knows convolutions.
"""

from __future__ import annotations

import inspect
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import binding, ir
from numba import core
from numba import extending as numba_extending
from numpy.lib.stride_tricks import as_strided

from jt_edu.backends.lean import Inside

types: Any = core.types
cgutils: Any = core.cgutils
extending: Any = numba_extending
Array = Any  # a NumPy array while Python runs, numba's idea of one while it compiles

INT = ir.IntType(64)


def _shape() -> tuple[int, int, int]:
    """Lanes of float32, rows and vectors of a block: sums, a row of b and a number of a fill the registers."""
    features = binding.get_host_cpu_features()
    if features.get("avx512f"):
        return 16, 6, 4  # 32 registers of 16
    if features.get("avx2"):
        return 8, 6, 2  # 16 registers of 8
    return (4, 6, 2) if platform.machine().lower() in {"x86_64", "amd64", "i386", "i686"} else (4, 6, 4)


LANES, ROWS, VECTORS = _shape()
WIDTH = LANES * VECTORS  # columns of float32 in a full block

inlined = extending.register_jitable(pipeline_class=Inside)


def written(typer: Callable[..., Any], lower: Callable[..., Any]) -> Callable[..., Any]:
    """Leave a function to Python as it is; in a kernel `lower` writes its instructions, of the type `typer` says."""

    def bind(function: Callable[..., Any]) -> Callable[..., Any]:
        def rule(*args: Any) -> Any:
            return typer(*args)

        rule.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
        extending.type_callable(function)(lambda context: rule)
        extending.lower_builtin(function, types.VarArg(types.Any))(lower)
        return function

    return bind


def _lanes(bits: int) -> int:
    return LANES * 32 // bits


@written(
    lambda array: types.int64,
    lambda context, builder, signature, args: INT(_lanes(signature.args[0].dtype.bitwidth)),
)
def lanes(array: Array) -> int:
    """How many numbers of the array fit into one vector, a register of the machine."""
    return _lanes(array.itemsize * 8)


def calling(stem: str, write: Callable[[Any, str, Any], None]) -> Callable[..., Any]:
    """Call the function of this name that works on arrays of this type; `write` it if the module has none yet."""

    def call(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        given = []
        for value, kind in zip(args, signature.args, strict=True):
            if isinstance(kind, types.Array):
                given.append(context.make_array(kind)(context, builder, value).data)
            else:
                given.append(context.cast(builder, value, kind, types.int64))
        number = given[0].type.pointee
        name = f"jt_edu_{stem}_{number}"
        if name not in builder.module.globals:
            write(builder.module, name, number)
        builder.call(builder.module.globals[name], given)
        return context.get_dummy_value()

    return call


@written(lambda *args: types.void, calling("tile", lambda *given: _Writer(*given).write()))
def tile(
    a: Array, a_start: int, a_row: int, a_step: int,
    b: Array, b_start: int, b_row: int,
    c: Array, c_start: int, c_row: int,
    rows: int, columns: int, depth: int, fresh: bool,
) -> None:  # fmt: skip
    """Multiply: c = a @ b if `fresh`, else c = c + a @ b; a is (rows, depth), b is (depth, columns), of any size.

    Each sum runs over the whole depth before it meets c. Fewer columns than `lanes` are slow.
    """
    left = _matrix(a, a_start, (rows, depth), (a_row, a_step))
    right = _matrix(b, b_start, (depth, columns), (b_row, 1))
    sums = _matrix(c, c_start, (rows, columns), (c_row, 1))
    sums[...] = left @ right if fresh else sums + left @ right


def _matrix(array: Array, start: int, shape: tuple[int, int], steps: tuple[int, int]) -> Array:
    jump, *strides = (s * array.itemsize for s in (start, *steps))
    return as_strided(array, (2, *shape), (jump, *strides))[1]  # of an array, or of a view of one


class _Writer:
    """Writes the function behind `tile` into an LLVM module."""

    def __init__(self, module: Any, name: str, number: Any) -> None:
        self.number, self.lanes = number, _lanes(32 if isinstance(number, ir.FloatType) else 64)
        array = number.as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [array, INT, INT, INT, array, INT, INT, array, INT, INT, *[INT] * 4])
        function = ir.Function(module, kind, name)
        function.linkage = "internal"
        function.attributes.add("noinline")
        function.attributes.add("optsize")
        b = self.builder = ir.IRBuilder(function.append_basic_block("entry"))
        a, a_start, self.a_row, self.a_step, right, b_start, self.b_row, c, c_start, self.c_row = function.args[:10]
        self.rows, self.columns, self.depth, fresh = function.args[10:]
        self.fresh = b.icmp_signed("!=", fresh, INT(0))
        self.a, self.b, self.c = b.gep(a, [a_start]), b.gep(right, [b_start]), b.gep(c, [c_start])
        self.as_it_is = _as_it_is(module)

    def write(self) -> None:
        """For each part of the columns, for each part of the rows: a block."""
        b = self.builder
        with self.walk("columns", self.columns) as (j, next_j):
            wide = self.wide(b.sub(self.columns, j))
            with self.walk("rows", self.rows) as (i, next_i):
                high = b.select(b.icmp_signed("<", b.sub(self.rows, i), INT(ROWS - 1)), INT(2), INT(ROWS))
                self.blocks(i, j, high, wide)
                b.store(b.add(i, high), next_i)
            b.store(b.add(j, wide), next_j)
        b.ret_void()

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

    def wide(self, left: Any) -> Any:
        """How many columns the next block takes of those that are left, so that the last one gets a whole vector."""
        b, lanes, full = self.builder, INT(self.lanes), INT(self.lanes * VECTORS)
        scarce = b.icmp_signed("<", self.columns, lanes)
        more = b.icmp_signed(">", left, full)
        crumbs = b.icmp_signed("<", left, b.add(full, lanes))
        wide = b.select(more, b.select(crumbs, b.sub(full, lanes), full), left)
        return b.select(scarce, INT(1), wide)

    def blocks(self, i: Any, j: Any, high: Any, wide: Any) -> None:
        """Jump to the loop for so many rows (ROWS, or two) and vectors (none: one column)."""
        b = self.builder
        vectors = b.udiv(b.add(wide, INT(self.lanes - 1)), INT(self.lanes))
        vectors = b.select(b.icmp_signed("<", wide, INT(self.lanes)), INT(0), vectors)
        done = b.append_basic_block("done")
        switch = b.switch(b.add(b.mul(high, INT(VECTORS + 1)), vectors), done)
        for rows in (2, ROWS):
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

    def sum(self, lefts: list[Any], rights: list[Any], vector: Any) -> list[Any]:
        """The loop over the depth: what it has summed up for each row and vector."""
        b = self.builder
        before, loop, after = b.block, b.append_basic_block("loop"), b.append_basic_block("after")
        zero = ir.Constant(vector, None)
        b.cbranch(b.icmp_signed(">", self.depth, INT(0)), loop, after)
        b.position_at_end(loop)
        k, a_place, b_place = (b.phi(INT) for _ in range(3))
        sums = [b.phi(vector) for _ in lefts for _ in rights]
        right = [self.load(b.gep(r, [b_place]), vector) for r in rights]
        left = [self.spread(b.load(b.gep(r, [a_place])), vector) for r in lefts]
        pairs = [(x, y) for x in left for y in right]
        made = [self.multiply_add(x, y, s) for (x, y), s in zip(pairs, sums, strict=True)]
        moved = [b.add(k, INT(1)), b.add(a_place, self.a_step), b.add(b_place, self.b_row)]
        for phi, value in zip((k, a_place, b_place, *sums), (*moved, *made), strict=True):
            phi.add_incoming(ir.Constant(phi.type, None if phi.type == vector else 0), before)
            phi.add_incoming(value, loop)
        b.cbranch(b.icmp_signed("<", moved[0], self.depth), loop, after).set_metadata("llvm.loop", self.as_it_is)
        b.position_at_end(after)
        final = [b.phi(vector) for _ in sums]
        for phi, value in zip(final, made, strict=True):
            phi.add_incoming(zero, before)
            phi.add_incoming(value, loop)
        return final

    def keep(self, sums: list[Any], goals: list[Any]) -> None:
        """Write the sums to c, or add them to what is there."""
        b = self.builder
        with b.if_else(self.fresh) as (fresh, more):
            with fresh:
                for goal, total in zip(goals, sums, strict=True):
                    self.store(total, goal)
            with more:  # all are read before one is written: vectors and rows may overlap
                totals = [b.fadd(self.load(goal, s.type), s) for goal, s in zip(goals, sums, strict=True)]
                for goal, total in zip(goals, totals, strict=True):
                    self.store(total, goal)

    def load(self, place: Any, vector: Any) -> Any:
        """A vector from memory, wherever it begins."""
        value = self.builder.load(self.builder.bitcast(place, vector.as_pointer()))
        value.align = 4
        return value

    def store(self, value: Any, place: Any) -> None:
        """A vector to memory, wherever it begins."""
        self.builder.store(value, self.builder.bitcast(place, value.type.as_pointer())).align = 4

    def spread(self, value: Any, vector: Any) -> Any:
        """One number in every lane."""
        nothing = ir.Constant(vector, ir.Undefined)
        one = self.builder.insert_element(nothing, value, ir.IntType(32)(0))
        return self.builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(ir.IntType(32), vector.count), None))

    def multiply_add(self, x: Any, y: Any, z: Any) -> Any:
        """x * y + z, in one instruction where the machine has it."""
        kind = ir.FunctionType(x.type, [x.type] * 3)
        name = f"llvm.fmuladd.v{x.type.count}{self.number.intrinsic_name}"
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, kind, name), [x, y, z])


def _as_it_is(module: Any) -> Any:
    """What to tell LLVM about a loop that it is not to unroll, which would take a second to compile."""
    keep = module.add_metadata([ir.MetaDataString(module, "llvm.loop.unroll.disable")])
    loop = module.add_metadata([keep, keep])
    loop.operands = (loop, keep)  # a loop's metadata names itself first
    return loop
