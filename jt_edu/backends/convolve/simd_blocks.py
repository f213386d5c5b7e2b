"""SIMD blocks: how does a kernel add and multiply whole vectors, and how does it turn a block on its side?

    x + y, x - y, 4 * x     lane by lane, of vectors that were loaded
    turn(a, .., b, ..)      b = transpose(a), for a block of up to lanes x lanes numbers
    transpose(a, .., b, ..) the same for whole matrices, block by block

A transform works on many channels at once if the channels are neighbours, and in an image they are not: a block of some
channels (rows) and some positions (columns) is turned. A square of 4 x 4 takes two rounds, each of which shuffles the
lower half of the rows into the upper half, as cards:

    a0 a1 a2 a3                  a0 c0 a1 c1                  a0 b0 c0 d0
    b0 b1 b2 b3    a with c,     a2 c2 a3 c3   and again      a1 b1 c1 d1
    c0 c1 c2 c3    b with d      b0 d0 b1 d1                  a2 b2 c2 d2
    d0 d1 d2 d3   --------->     b2 d2 b3 d3   --------->     a3 b3 c3 d3

Each function here runs in Python, on NumPy arrays, and is compiled into a kernel by numba. Nothing here knows
convolutions.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import core
from numpy.lib.stride_tricks import as_strided

from jt_edu.backends.convolve import llvm
from jt_edu.backends.convolve.llvm import (
    INT,
    Array,
    Writer,
    calling,
    extending,
    inlined,
    lanes,
    nothing,
    types,
    written,
)
from jt_edu.backends.convolve.simd import Vector

templates: Any = core.typing.templates
FAST = ("reassoc", "contract")  # what `numba_pipeline` allows the rest of a kernel


@inlined
def turn(
    a: Array, a_start: int, a_row: int, b: Array, b_start: int, b_row: int, rows: int, columns: int
) -> None:  # fmt: skip
    """Transpose: b[j, i] = a[i, j] for i < rows, j < columns, both at most `lanes`; rows lie as in `tile`.

    A full block takes a few instructions per row, any other is moved number by number.
    """
    if rows == lanes(a) and columns == lanes(a):
        _turn(a, a_start, a_row, b, b_start, b_row)
        return
    for i in range(rows):
        for j in range(columns):
            _move(a, a_start + i * a_row + j, b, b_start + j * b_row + i)


@inlined
def transpose(
    a: Array, a_start: int, a_row: int, b: Array, b_start: int, b_row: int, rows: int, columns: int
) -> None:  # fmt: skip
    """Transpose a matrix of any size: b[j, i] = a[i, j], block by block.

    Rows and columns are rounded up to `lanes`, on both sides: what is too much is read and written as well.
    """
    for i in range(0, rows, lanes(a)):
        for j in range(0, columns, lanes(a)):
            _turn(a, a_start + i * a_row + j, a_row, b, b_start + j * b_row + i, b_row)


@written(nothing, calling("turn", lambda *given: _Turn(*given).write()))
def _turn(a: Array, a_start: int, a_row: int, b: Array, b_start: int, b_row: int) -> None:
    """Transpose a full block."""
    count, step = lanes(a), a.itemsize
    block = as_strided(a.reshape(-1)[a_start:], (count, count), (a_row * step, step))
    as_strided(b.reshape(-1)[b_start:], (count, count), (b_row * step, step))[...] = block.T.copy()


class _Turn(Writer):
    """Writes the function behind `_turn`.

    Squares of 16 bytes in each direction find their places while they are loaded, and are turned in registers.
    """

    def __init__(self, module: Any, name: str, number: Any) -> None:
        super().__init__(module, name, number, "aiiaii")

    def write(self) -> None:
        """Row by row of squares: row j of each of them, joined, are the rows that `_turned` takes."""
        b, (source, s, s_row, target, t, t_row) = self.builder, self.arguments
        size = min(self.lanes, 4 if isinstance(self.number, ir.FloatType) else 2)
        side = ir.VectorType(self.number, size)

        def place(array: Any, start: Any, row: Any, i: int, j: int) -> Any:
            return b.gep(array, [b.add(start, b.add(b.mul(row, INT(i)), INT(j)))])

        for j in range(0, self.lanes, size):
            rows = []
            for i in range(size):
                parts = [llvm.load(b, place(source, s, s_row, i + k, j), side) for k in range(0, self.lanes, size)]
                rows.append(_joined(b, parts))
            for i, row in enumerate(_turned(b, rows)):
                llvm.store(b, row, place(target, t, t_row, i + j, 0))
        b.ret_void()


def _joined(builder: Any, parts: list[Any]) -> Any:
    """Vectors as one."""
    while len(parts) > 1:
        every = range(2 * parts[0].type.count)
        parts = [llvm.picked(builder, x, y, every) for x, y in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def _turned(builder: Any, rows: list[Any]) -> list[Any]:
    """The rows after every square has been turned."""
    size, count = len(rows), rows[0].type.count
    halves = [
        [square + begin + i // 2 + count * (i % 2) for square in range(0, count, size) for i in range(size)]
        for begin in (0, size // 2)
    ]
    for _ in range(size.bit_length() - 1):
        rows = [llvm.picked(builder, rows[i // 2], rows[(i + size) // 2], halves[i % 2]) for i in range(size)]
    return rows


def _lower_move(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    a, i, b, j = llvm.unpacked(context, builder, signature, args)
    builder.store(builder.load(builder.gep(a, [i])), builder.gep(b, [j]))
    return context.get_dummy_value()


@written(nothing, _lower_move)
def _move(a: Array, i: int, b: Array, j: int) -> None:
    b.reshape(-1)[j] = a.reshape(-1)[i]


def _arithmetic(function: Any, instruction: str) -> None:
    """Teach numba an operator of vectors. A number beside a vector stands for as many of it."""

    @templates.infer_global(function)
    class _Rule(templates.AbstractTemplate):  # type: ignore[misc]
        def generic(self, args: Any, kws: Any) -> Any:
            del kws
            vectors = [kind for kind in args if isinstance(kind, Vector)]
            if not vectors:
                return None
            sides = [kind if isinstance(kind, Vector) else vectors[0].number for kind in args]
            return templates.signature(vectors[0], *sides)

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        vector = context.get_value_type(signature.return_type)
        sides = [
            value if isinstance(kind, Vector) else llvm.spread(builder, value, vector)
            for value, kind in zip(args, signature.args, strict=True)
        ]
        return getattr(builder, instruction)(*sides, flags=FAST)

    for kinds in ((Vector, Vector), (Vector, types.Number), (types.Number, Vector)):
        extending.lower_builtin(function, *kinds)(lower)


_arithmetic(operator.add, "fadd")
_arithmetic(operator.sub, "fsub")
_arithmetic(operator.mul, "fmul")
