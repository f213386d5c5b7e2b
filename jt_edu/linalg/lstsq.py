"""Least squares: the X for which A X is as close to B as can be, in the sum of squares of what is left.

    more rows than columns      A = Q R       X = R^-1 Q^H B
    fewer                       A^H = Q R     X = Q R^-H B, the smallest X of those that fit
    columns that depend on each other: by singular values, those that are nearly 0 left out

Source: Golub and Van Loan, "Matrix Computations", 4th edition, sections 5.3 and 5.5.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from jt_edu.base.dtypes import real_of
from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.linalg.matrices import RAISES, adjoint_of, batch_of, by_dtype, halves, matrices, of_batch
from jt_edu.linalg.qr import qr
from jt_edu.linalg.spectral import tolerance
from jt_edu.linalg.svd import svd
from jt_edu.linalg.triangular import substituted
from jt_edu.ops.arguments import choice, number
from jt_edu.ops.complex import real
from jt_edu.ops.create import full, zeros
from jt_edu.ops.dtype_rules import as_floats
from jt_edu.ops.matmul import matmul
from jt_edu.ops.reduce import sum
from jt_edu.variable.autocast import castable
from jt_edu.variable.var import Var, as_var

__all__ = ["lstsq"]

FULL = """
def kernel(lo, hi, x, out):
    n = x.shape[1]
    for matrix in range(lo, hi):
        r, most = x[matrix], {real}(0)
        for j in range(n):
            most = max(most, abs(r[j, j]))
        for i in range(n):
            if not abs(r[i, i]) > most * n * {eps}:
                raise LinAlgError("lstsq by QR needs columns (or rows) that do not depend on each other",
                                  "some that do", "driver='gelsd', which looks at singular values")
            for j in range(n):
                out[matrix, i, j] = r[i, j]
"""


class LstSq(NamedTuple):
    """X, the sums of squares of what is left (if there are more rows than columns), the rank, the singular values."""

    solution: Var
    residuals: Var
    rank: Var
    singular_values: Var


CHECKED = by_dtype("lstsq", RAISES + FULL, (lambda out, dout, r: dout,))


@castable
@halves
def lstsq(A: Any, B: Any, rcond: float | None = None, *, driver: str | None = None) -> LstSq:
    """The X for which the sum of squares of A X - B is least; of several the one with the least squares itself.

    Args:
        A: (..., m, n).
        B: (..., m, r), or vectors (..., m).
        rcond: singular values up to this part of the largest one count as 0; by default max(m, n) * eps. With it,
            singular values are looked at.
        driver: "gels" is QR, for columns (of a wide A: rows) that do not depend on each other. "gelsd", "gelss" and
            "gelsy" look at singular values, and take any A. By default QR, if there is no `rcond`. As in PyTorch,
            "gels" tells no rank, and "gelsy" neither residuals nor singular values.

    Raises:
        LinAlgError: one of the matrices has columns that depend on each other, and QR was asked.

    Example:
        >>> line = lstsq(array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]), array([1.0, 3.0, 5.0]))
        >>> line.solution.numpy().round(3), line.rank.item()
        (array([2., 1.], dtype=float32), 2)
    """
    name = "lstsq"
    a, b = matrices(name, A, square=False), as_floats(as_var(B))
    words = (None, "gels", "gelsd", "gelss", "gelsy")
    by_qr = choice(name, "driver", driver, words) == "gels" or (driver is None and rcond is None)
    if by_qr and rcond is not None:
        raise ArgumentError("lstsq by QR looks at no singular values", f"rcond={rcond}", 'driver="gelsd"')
    vector = b.ndim == 1 or (a.ndim - 1 == b.ndim and a.shape[:-1] == b.shape)
    columns = b[..., None] if vector else b
    if b.ndim == 0 or a.shape[-2] != columns.shape[-2]:
        raise ShapeError("lstsq takes A (..., m, n) and B (..., m, r) or (..., m)", f"shapes {a.shape} and {b.shape}")
    x, rank, values = _by_qr(a, columns) if by_qr else _by_svd(a, columns, rcond)
    left = matmul(a, x) - columns
    residuals = sum(real(left * left.conj()), -2) if a.shape[-2] > a.shape[-1] else zeros(0, dtype=real_of(a.dtype))
    if vector and a.shape[-2] > a.shape[-1]:
        residuals = residuals[..., 0]
    if driver == "gelsy":
        residuals = values = values.new_zeros(0)
    rank = zeros(0, dtype="int64") if driver == "gels" else rank
    return LstSq(x[..., 0] if vector else x, residuals, rank, values)


def _by_qr(a: Var, b: Var) -> tuple[Var, Var, Var]:
    m, n = a.shape[-2:]
    q, r = qr(a if m >= n else adjoint_of(a))
    x, lead = batch_of(r)
    others = full(lead, min(m, n), "int64"), zeros(0, dtype=real_of(a.dtype))
    r = of_batch(CHECKED, x, *x.shape[1:]).reshape(*lead, *x.shape[1:])
    if m >= n:
        return substituted(r, matmul(adjoint_of(q), b), upper=True), *others
    return matmul(q, substituted(adjoint_of(r), b, upper=False)), *others


def _by_svd(a: Var, b: Var, rcond: Any) -> tuple[Var, Var, Var]:
    """X = V (1 / S) U^H B, without the singular values that are nearly 0."""
    u, s, vh = svd(a, full_matrices=False)
    above = s > tolerance(a, s, None, None if rcond is None else number("lstsq", "rcond", rcond))
    inverse = (1 / s.where_not(~above, 1)).keep_where(above)
    return matmul(adjoint_of(vh), inverse[..., None] * matmul(adjoint_of(u), b)), sum(above.cast("int64"), -1), s
