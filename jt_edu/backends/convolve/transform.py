"""Transform: how does a kernel add and multiply whole vectors, and how does it turn a block on its side?

    x + y, x - y, 4 * x     lane by lane, of vectors that were loaded
    turn(a, .., b, ..)      b = transpose(a), for a block of up to lanes x lanes numbers

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
from numba import extending as numba_extending
from numpy.lib.stride_tricks import as_strided

from jt_edu.backends.convolve.tile import Array, inlined, lanes, written
from jt_edu.backends.convolve.vector import INT as SHORT
from jt_edu.backends.convolve.vector import Vector, spread_value

__all__ = ["turn"]

types: Any = core.types
templates: Any = core.typing.templates
extending: Any = numba_extending

INT = ir.IntType(64)
FAST = ("reassoc", "contract")  # what `lean` allows the rest of a kernel


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


def _lower_turn(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Call the function that turns blocks of this type; write it if the module has none yet."""
    given = _unpacked(context, builder, signature, args)
    register = context.get_value_type(Vector(signature.args[0].dtype))
    name = f"jt_edu_turn_{register.element}"
    if name not in builder.module.globals:
        kind = ir.FunctionType(ir.VoidType(), [value.type for value in given])
        function = ir.Function(builder.module, kind, name)
        function.linkage = "internal"
        function.attributes.add("noinline")
        body = ir.IRBuilder(function.append_basic_block("entry"))
        _write_turn(body, register, *function.args)
        body.ret_void()
    builder.call(builder.module.globals[name], given)
    return context.get_dummy_value()


@written(lambda *args: types.void, _lower_turn)
def _turn(a: Array, a_start: int, a_row: int, b: Array, b_start: int, b_row: int) -> None:
    """Transpose a full block."""
    count, step = lanes(a), a.itemsize
    block = as_strided(a.reshape(-1)[a_start:], (count, count), (a_row * step, step))
    as_strided(b.reshape(-1)[b_start:], (count, count), (b_row * step, step))[...] = block.T.copy()


def _write_turn(builder: Any, register: Any, *args: Any) -> None:
    """Squares of 16 bytes in each direction find their places while they are loaded, and are turned in registers."""
    a, a_start, a_row, b, b_start, b_row = args
    number, count = register.element, register.count
    size = min(count, 4 if isinstance(number, ir.FloatType) else 2)
    side = ir.VectorType(number, size)

    def place(array: Any, start: Any, row: Any, i: int, j: int, kind: Any) -> Any:
        index = builder.add(start, builder.add(builder.mul(row, INT(i)), INT(j)))
        return builder.bitcast(builder.gep(array, [index]), kind.as_pointer())

    for j in range(0, count, size):
        rows = []
        for i in range(size):
            sides = [builder.load(place(a, a_start, a_row, i + k, j, side)) for k in range(0, count, size)]
            for value in sides:
                value.align = 4  # wherever it begins
            rows.append(_joined(builder, sides))
        for i, row in enumerate(_turned(builder, rows)):
            builder.store(row, place(b, b_start, b_row, i + j, 0, register)).align = 4


def _joined(builder: Any, parts: list[Any]) -> Any:
    """Vectors as one."""
    while len(parts) > 1:
        kind = ir.VectorType(SHORT, 2 * parts[0].type.count)
        every = ir.Constant(kind, list(range(kind.count)))
        parts = [builder.shuffle_vector(x, y, every) for x, y in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def _turned(builder: Any, rows: list[Any]) -> list[Any]:
    """The rows after every square has been turned."""
    size, count = len(rows), rows[0].type.count
    halves = [
        [square + begin + i // 2 + count * (i % 2) for square in range(0, count, size) for i in range(size)]
        for begin in (0, size // 2)
    ]
    cards = [ir.Constant(ir.VectorType(SHORT, count), half) for half in halves]
    for _ in range(size.bit_length() - 1):
        rows = [builder.shuffle_vector(rows[i // 2], rows[(i + size) // 2], cards[i % 2]) for i in range(size)]
    return rows


def _lower_move(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    a, i, b, j = _unpacked(context, builder, signature, args)
    builder.store(builder.load(builder.gep(a, [i])), builder.gep(b, [j]))
    return context.get_dummy_value()


@written(lambda *args: types.void, _lower_move)
def _move(a: Array, i: int, b: Array, j: int) -> None:
    b.reshape(-1)[j] = a.reshape(-1)[i]


def _unpacked(context: Any, builder: Any, signature: Any, args: Any) -> list[Any]:
    """The arguments as LLVM values: of an array, where it begins."""
    return [
        context.make_array(kind)(context, builder, value).data
        if isinstance(kind, types.Array)
        else context.cast(builder, value, kind, types.int64)
        for value, kind in zip(args, signature.args, strict=True)
    ]


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
            value if isinstance(kind, Vector) else spread_value(builder, value, vector)
            for value, kind in zip(args, signature.args, strict=True)
        ]
        return getattr(builder, instruction)(*sides, flags=FAST)

    for kinds in ((Vector, Vector), (Vector, types.Number), (types.Number, Vector)):
        extending.lower_builtin(function, *kinds)(lower)


_arithmetic(operator.add, "fadd")
_arithmetic(operator.sub, "fsub")
_arithmetic(operator.mul, "fmul")
