"""Matrix: a piece of memory seen as a matrix, of as many rows and columns as a kernel needs just now.

w0 = matrix(row0, r1 - r0, c1)      row0 is long enough
"""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from typing import Any

from numba.core import cgutils

from jt_edu.backends.mathlib.simd_math import in_kernels, types


def matrix(room: Any, rows: Any, columns: Any) -> Any:
    """The begin of `room`, an array of one axis, as (rows, columns)."""
    return room[: rows * columns].reshape(rows, columns)


def _made(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """It holds no reference: the room is an argument of the kernel, and lives longer."""
    room = context.make_array(signature.args[0])(context, builder, args[0])
    (rows, columns), size = args[1:], room.itemsize
    count = builder.mul(rows, columns)
    with builder.if_then(builder.icmp_unsigned(">", count, room.nitems), likely=False):
        context.call_conv.return_user_exc(builder, ValueError, ("matrix(room, rows, columns): the room is smaller",))
    made = context.make_array(signature.return_type)(context, builder)
    steps = [builder.mul(columns, size), size]
    for name, value in {
        "data": room.data, "shape": cgutils.pack_array(builder, [rows, columns]), "itemsize": size,
        "strides": cgutils.pack_array(builder, steps), "nitems": count,
    }.items():  # fmt: skip
        setattr(made, name, value)
    return made._getvalue()


def _typer(room: Any, rows: Any, columns: Any) -> Any:
    return types.Array(room.dtype, 2, "C") if room.ndim == 1 and rows == columns == types.int64 else None


in_kernels(matrix, _typer, _made)
