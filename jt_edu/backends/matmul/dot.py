"""Dot: how does a kernel call BLAS?

    np.dot(a, b, out)     out = a @ b, for matrices that lie row by row (C) or column by column (F)

A kernel says it as NumPy does. Numba would type and write three functions for each kind of arguments: checks, and what
counts references. This one says the same in a few instructions, for what our products are made of: 60 ms instead of
250 until a kernel is there. `numba_pipeline` puts this module in the place of `np` in kernels that multiply matrices;
whatever else a text asks of NumPy there, numba's own way answers.

Matrices of one row or one column are vectors to BLAS, which then reads the other matrix once.
"""

# mypy: disable-error-code="attr-defined, no-untyped-call"
# numba is typed in part, and nowhere as deep as this

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from jt_edu.backends import blas

INT, BYTES = ir.IntType(64), ir.IntType(8).as_pointer()
MOST = 2**31 - 1  # BLAS counts in C's int
KINDS = {types.float32: "s", types.float64: "d", types.complex64: "c", types.complex128: "z"}


@intrinsic
def dot(context: Any, a: Any, b: Any, out: Any) -> Any:
    """np.dot(a, b, out): out[m, n] = sum over k of a[m, k] * b[k, n]."""
    del context
    matrices = all(isinstance(x, types.Array) and x.ndim == 2 and x.dtype == out.dtype for x in (a, b, out))
    if not matrices or out.dtype not in KINDS or out.layout != "C" or {a.layout, b.layout} - {"C", "F"}:
        return None
    return types.void(a, b, out), _lower


def _lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kinds = signature.args
    a, b, out = (make_array(kind)(context, builder, value) for kind, value in zip(kinds, args, strict=True))
    (m, k), (inner, n), there = (cgutils.unpack_tuple(builder, x.shape) for x in (a, b, out))

    def refuse(wrong: Any, error: type[Exception], words: str) -> None:
        with builder.if_then(wrong, likely=False):
            context.call_conv.return_user_exc(builder, error, (words,))

    def equals(x: Any, number: int) -> Any:
        return builder.icmp_signed("==", x, ir.Constant(x.type, number))

    for x, y in ((k, inner), (there[0], m), (there[1], n)):
        refuse(builder.icmp_signed("!=", x, y), ValueError, "np.dot(a, b, out): (m, k), (k, n) and (m, n) do not agree")
    for x in (m, k, n):
        too_long = builder.icmp_signed(">", x, ir.Constant(x.type, MOST))
        refuse(too_long, OverflowError, f"np.dot: BLAS takes at most {MOST} rows or columns")
    nothing = builder.or_(equals(k, 0), builder.or_(equals(m, 0), equals(n, 0)))
    call = _Blas(context, builder, kinds[2].dtype)
    with builder.if_else(nothing, likely=False) as (empty, full):
        with empty:
            cgutils.memset(builder, out.data, builder.mul(out.itemsize, out.nitems), 0)
        with full, builder.if_else(equals(n, 1)) as (column, columns):
            with column, builder.if_else(equals(m, 1)) as (number, vector):
                with number:
                    call.inner(k, a.data, b.data, out.data)
                with vector:
                    call.by_vector(kinds[0].layout == "C", m, k, a.data, b.data, out.data)
            with columns, builder.if_else(equals(m, 1)) as (row, rows):
                with row:
                    call.by_vector(kinds[1].layout != "C", n, k, b.data, a.data, out.data)
                with rows:
                    call.by_matrix(kinds, (m, n, k), (a.data, b.data, out.data))
    return context.get_dummy_value()


class _Blas:
    """Calls of BLAS, which takes the address of everything, and matrices column by column."""

    def __init__(self, context: Any, builder: Any, dtype: Any) -> None:
        self.builder, self.kind, self.number = builder, KINDS[dtype], context.get_data_type(dtype)
        self.one = cgutils.alloca_once_value(builder, context.get_constant(dtype, 1))
        self.zero = cgutils.alloca_once_value(builder, context.get_constant(dtype, 0))
        self.step = self.whole(ir.Constant(ir.IntType(64), 1))

    def inner(self, k: Any, a: Any, b: Any, out: Any) -> None:
        """out = sum of a[i] * b[i]."""
        if self.kind in "cz":  # C compilers differ in how they return a complex number
            self.by_vector(True, INT(1), k, a, b, out)
        else:
            self.builder.store(self.call("dot", self.whole(k), a, self.step, b, self.step, answer=self.number), out)

    def by_vector(self, rows: bool, m: Any, k: Any, matrix: Any, vector: Any, out: Any) -> None:
        """out[m] = matrix[m, k] @ vector[k]; `rows`: the matrix lies row by row."""
        high, wide = (self.whole(k), self.whole(m)) if rows else (self.whole(m), self.whole(k))
        self.call(
            "gemv", self.letter(rows), high, wide, self.one, matrix, high, vector, self.step, self.zero, out, self.step
        )

    def by_matrix(self, kinds: Any, sizes: Any, data: Any) -> None:
        """out[m, n] = a[m, k] @ b[k, n]; column by column, that is the transpose of out from those of b and a."""
        m, n, k = map(self.whole, sizes)
        by_rows = [kind.layout == "C" for kind in kinds]
        self.call(
            "gemm", self.letter(not by_rows[1]), self.letter(not by_rows[0]), n, m, k, self.one,
            data[1], n if by_rows[1] else k, data[0], k if by_rows[0] else m, self.zero, data[2], n,
        )  # fmt: skip

    def whole(self, number: Any) -> Any:
        """The address of a number of C's int."""
        return cgutils.alloca_once_value(self.builder, self.builder.trunc(number, ir.IntType(32)))

    def letter(self, transposed: bool) -> Any:
        """The address of a letter that says whether a matrix is transposed."""
        return cgutils.alloca_once_value(self.builder, ir.Constant(ir.IntType(8), ord("t" if transposed else "n")))

    def call(self, name: str, *addresses: Any, answer: Any = None) -> Any:
        """Call a function of BLAS."""
        kind = ir.FunctionType(answer or ir.VoidType(), [BYTES] * len(addresses))
        function = cgutils.get_or_insert_function(self.builder.module, kind, f"jt_edu_{self.kind}{name}")
        return self.builder.call(function, [self.builder.bitcast(a, BYTES) for a in addresses])


def with_blas(function: Callable[..., None]) -> Callable[..., None]:
    """The same function, with this module in the place of NumPy."""
    blas.provide()
    names = function.__globals__
    if names.get("np") is not np:
        return function
    made = FunctionType(function.__code__, {**names, "np": sys.modules[__name__]}, function.__name__)
    made.__qualname__ = function.__qualname__
    return made
