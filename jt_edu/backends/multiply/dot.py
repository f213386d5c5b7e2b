"""Dot: how does a kernel call BLAS?

    np.dot(a, b, out)     out = a @ b, for matrices that lie row by row (C) or column by column (F)

A kernel says it as NumPy does. Numba would type and write three functions for each kind of arguments: checks, and what
counts references. This one says the same in a few instructions, for what our products are made of: 60 ms in place of
250 until a kernel is there. `lean` puts this module in the place of `np` in kernels that multiply matrices; whatever
else a text asks of NumPy there, numba's own way answers.

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
import scipy.linalg.cython_blas  # noqa: F401 - loads the library, so that it can be found
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array
from numba.np.linalg import call_xxdot, call_xxgemm, call_xxgemv

MOST = 2**31 - 1  # BLAS counts in C's int
KINDS = {types.float32, types.float64, types.complex64, types.complex128}


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
    shapes = ((m, k), (inner, n))

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
    with builder.if_else(nothing, likely=False) as (empty, full):
        with empty:
            cgutils.memset(builder, out.data, builder.mul(out.itemsize, out.nitems), 0)
        with full, builder.if_else(equals(n, 1)) as (column, columns):
            with column, builder.if_else(equals(m, 1)) as (number, vector):
                with number:
                    call_xxdot(context, builder, False, kinds[2].dtype, k, a.data, b.data, out.data)
                with vector:
                    across = kinds[0].layout == "C"
                    call_xxgemv(context, builder, across, kinds[0], shapes[0], a.data, b.data, out.data)
            with columns, builder.if_else(equals(m, 1)) as (row, rows):
                with row:
                    across = kinds[1].layout != "C"
                    call_xxgemv(context, builder, across, kinds[1], shapes[1], b.data, a.data, out.data)
                with rows:
                    call_xxgemm(
                        context, builder, kinds[0], shapes[0], a.data, kinds[1], shapes[1], b.data, kinds[2], there,
                        out.data,
                    )  # fmt: skip
    return context.get_dummy_value()


def with_blas(function: Callable[..., None]) -> Callable[..., None]:
    """The same function, with this module in the place of NumPy."""
    names = function.__globals__
    if names.get("np") is not np:
        return function
    made = FunctionType(function.__code__, {**names, "np": sys.modules[__name__]}, function.__name__)
    made.__qualname__ = function.__qualname__
    return made
