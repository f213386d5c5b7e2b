"""Minus product: how does a kernel subtract a product of matrices in place? Most work of a factorisation is that.

    minus_ab(a, b, out)     out -= a @ b
    minus_ahb(a, b, out)    out -= a.conj().T @ b
    minus_abh(a, b, out)    out -= a @ b.conj().T
    plus_ahb(a, b, out)     out += a.conj().T @ b, a sum that goes on from one block of rows to the next

Each is one call of BLAS. Any part of a larger matrix will do, such as `a[8:, :8]`: rows lie side by side, and BLAS is
told how far each is from the next. A row has to lie in one piece, and sizes have to fit: nobody looks.
"""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils

from jt_edu.backends.mathlib.simd_math import in_kernels, types

INT, BYTES = ir.IntType(32), ir.IntType(8).as_pointer()
KINDS = {types.float32: "s", types.float64: "d", types.complex64: "c", types.complex128: "z"}


def minus_ab(a: Any, b: Any, out: Any) -> None:
    """out -= a @ b."""
    out -= a @ b


def minus_ahb(a: Any, b: Any, out: Any) -> None:
    """out -= a.conj().T @ b."""
    out -= a.conj().T @ b


def minus_abh(a: Any, b: Any, out: Any) -> None:
    """out -= a @ b.conj().T."""
    out -= a @ b.conj().T


def plus_ahb(a: Any, b: Any, out: Any) -> None:
    """out += a.conj().T @ b."""
    out += a.conj().T @ b


def _typer(a: Any, b: Any, out: Any) -> Any:
    fits = all(isinstance(x, types.Array) and x.ndim == 2 and x.layout != "F" and x.dtype == out.dtype for x in (a, b))
    return types.none if fits and out.ndim == 2 and out.layout != "F" and out.dtype in KINDS else None


def _lowered(turned: int | None, times: int = -1) -> Any:
    """What writes the call; `turned` is the place of the matrix that is transposed and conjugated.

    BLAS counts column by column, and so is asked for the transpose of `out`, which is made from those of b and of a.
    """

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds = signature.args
        arrays = [context.make_array(kind)(context, builder, a) for kind, a in zip(kinds, args, strict=True)]
        a, b, out = arrays
        (m, n), inner = cgutils.unpack_tuple(builder, out.shape), cgutils.unpack_tuple(builder, a.shape)[turned != 0]

        def whole(value: Any) -> Any:
            return cgutils.alloca_once_value(builder, builder.trunc(value, INT))

        def apart(array: Any) -> Any:
            return whole(builder.sdiv(cgutils.unpack_tuple(builder, array.strides)[0], array.itemsize))

        letters = [
            cgutils.alloca_once_value(builder, ir.Constant(ir.IntType(8), ord("nc"[k == turned]))) for k in (0, 1)
        ]
        one, factor = (cgutils.alloca_once_value(builder, context.get_constant(kinds[0].dtype, k)) for k in (1, times))
        there = builder.and_(builder.icmp_signed(">", m, m.type(0)), builder.icmp_signed(">", n, n.type(0)))
        with builder.if_then(builder.and_(there, builder.icmp_signed(">", inner, inner.type(0)))):
            given = [
                letters[1], letters[0], whole(n), whole(m), whole(inner), factor, b.data, apart(b),
                a.data, apart(a), one, out.data, apart(out),
            ]  # fmt: skip
            kind = ir.FunctionType(ir.VoidType(), [BYTES] * len(given))
            gemm = cgutils.get_or_insert_function(builder.module, kind, f"jt_edu_{KINDS[kinds[0].dtype]}gemm")
            builder.call(gemm, [builder.bitcast(value, BYTES) for value in given])
        return context.get_dummy_value()

    return lower


for _function, *_turned in ((minus_ab, None), (minus_ahb, 0), (minus_abh, 1), (plus_ahb, 0, 1)):
    in_kernels(_function, _typer, _lowered(*_turned))
