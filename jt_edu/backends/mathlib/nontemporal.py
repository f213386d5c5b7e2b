"""Nontemporal: how does a large array get to memory without passing through the caches, and a row into them in time?

A store first fetches the line that it changes, and puts another one out of the cache. Where an array is so large that
its begin has left the cache before its end is written, that is work for nothing. A streaming store sends whole lines
of 64 bytes to memory. So a kernel collects some lines in a short row, and `stream` sends them:

    w0 = block(out0)
    for i0 in range(b0, minimum(b0 + 256, hi)):
        w0[at(i0 - b0)] = a0[at(i0)] * a1[at(i0)]
    stream(w0, out0[b0:minimum(b0 + 256, hi)])

The row begins at a line, too: a store that spans two of them is slow to be read again. Another thread sees what was
sent no later than the lock that is taken when a kernel has ended.

A kernel that goes over a row several times waits for memory the first time, and leaves it idle from then on. `ahead`
asks for the next row meanwhile.
"""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils

from jt_edu.backends.mathlib.simd_math import in_kernels, types
from jt_edu.codegen.loop_ir import BLOCK

LINE = 64  # bytes
WORD, BYTES = ir.IntType(64), ir.IntType(8).as_pointer()


def block(out: Any) -> Any:
    """Room for one block of `out`; the contents are arbitrary."""
    return np.empty(BLOCK, out.dtype)


def _made(context: Any, builder: Any, signature: Any, _: Any) -> Any:
    """On the stack of the thread."""
    kind = context.get_data_type(signature.return_type.dtype)
    room = cgutils.alloca_once(builder, ir.ArrayType(kind, BLOCK))
    room.align = LINE
    size = context.get_abi_sizeof(kind)
    array = context.make_array(signature.return_type)(context, builder)
    shape, strides = (cgutils.pack_array(builder, [WORD(n)]) for n in (BLOCK, size))
    start = builder.bitcast(room, kind.as_pointer())
    for name, value in {
        "data": start, "shape": shape, "strides": strides, "itemsize": WORD(size), "nitems": WORD(BLOCK),
    }.items():  # fmt: skip
        setattr(array, name, value)
    return array._getvalue()


in_kernels(block, lambda out: types.Array(out.dtype, 1, "C"), _made)


def stream(row: Any, out: Any) -> None:
    """Copy the begin of `row` to all of `out`, both of one axis and one dtype; whole lines bypass the caches."""
    out[...] = row[: len(out)]


def _typer(row: Any, out: Any) -> Any:
    return types.none if row.ndim == out.ndim == 1 and row.dtype == out.dtype else None


def _lowered(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Bytes up to the first line of `out`, its whole lines, and the rest."""
    row, out = (context.make_array(kind)(context, builder, a) for kind, a in zip(signature.args, args, strict=True))
    source, target = (builder.bitcast(a.data, BYTES) for a in (row, out))
    size = builder.mul(out.nitems, out.itemsize)
    before = builder.and_(builder.neg(builder.ptrtoint(target, WORD)), WORD(LINE - 1))
    before = builder.select(builder.icmp_unsigned("<", before, size), before, size)
    lines = builder.udiv(builder.sub(size, before), WORD(LINE))
    done = builder.add(before, builder.mul(lines, WORD(LINE)))
    _copy(builder, target, source, before)
    _send(builder, builder.gep(source, [before]), builder.gep(target, [before]), lines)
    _copy(builder, builder.gep(target, [done]), builder.gep(source, [done]), builder.sub(size, done))
    return context.get_dummy_value()


in_kernels(stream, _typer, _lowered)


def _copy(builder: Any, target: Any, source: Any, size: Any) -> None:
    with builder.if_then(builder.icmp_unsigned("!=", size, WORD(0)), likely=False):
        cgutils.raw_memcpy(builder, target, source, size, 1)


def _send(builder: Any, source: Any, target: Any, lines: Any) -> None:
    """Whole lines, with the stores that bypass the caches; `target` begins at one."""
    kind = ir.VectorType(ir.FloatType(), LINE // 4).as_pointer()
    source, target = builder.bitcast(source, kind), builder.bitcast(target, kind)
    with cgutils.for_range(builder, lines) as loop:
        line = builder.load(builder.gep(source, [loop.index]), align=4)
        stored = builder.store(line, builder.gep(target, [loop.index]), align=LINE)
        stored.set_metadata("nontemporal", builder.module.add_metadata([ir.IntType(32)(1)]))


def ahead(array: Any, row: Any) -> None:
    """Ask memory for a row of an array that will soon be read, if there is such a row."""


def _asked(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """One request for each line, none of which is waited for."""
    array = context.make_array(signature.args[0])(context, builder, args[0])
    rows, size = (cgutils.unpack_tuple(builder, field)[0] for field in (array.shape, array.strides))
    with builder.if_then(builder.icmp_signed("<", args[1], rows)):
        begin = builder.gep(builder.bitcast(array.data, BYTES), [builder.mul(size, args[1])])
        kinds = [BYTES, *[ir.IntType(32)] * 3]
        ask = builder.module.declare_intrinsic("llvm.prefetch.p0", fnty=ir.FunctionType(ir.VoidType(), kinds))
        with cgutils.for_range(builder, builder.udiv(builder.add(size, WORD(LINE - 1)), WORD(LINE))) as loop:
            place = builder.gep(begin, [builder.mul(loop.index, WORD(LINE))])
            builder.call(ask, [place, *map(ir.IntType(32), (0, 3, 1))])  # to read, near, data
    return context.get_dummy_value()


in_kernels(ahead, lambda array, row: types.none, _asked)
