"""Pseudo-inverse: the matrix that undoes A where that can be done, and gives 0 where A gives nothing.

    A = U diag(S) V^H    ->    A+ = V diag(1 / S) U^H, where S is above a tolerance, else 0

Its gradient asks for products only, so it is finite where singular values are equal.

Source: Golub and Pereyra 1973, "The differentiation of pseudo-inverses and nonlinear least squares problems whose
variables separate".
"""

from __future__ import annotations

from typing import Any

from jt_edu.ir.meta_ops import Elementwise
from jt_edu.linalg.eigh import eigh
from jt_edu.linalg.matrices import adjoint_of, matrices
from jt_edu.linalg.spectral import tolerance
from jt_edu.linalg.svd import svd
from jt_edu.ops.arguments import one_of, yes_or_no
from jt_edu.ops.dtype_rules import widened
from jt_edu.ops.matmul import matmul
from jt_edu.variable.autocast import castable
from jt_edu.variable.var import Var

__all__ = ["pinv"]


def _of_pinv(out: Var, dout: Var, flipped: Var, found: Var) -> Var:  # noqa: ARG001
    """The gradient of A^H, which has the shape of A+."""
    a, d = adjoint_of(flipped), adjoint_of(dout)
    k = matmul(d, out)
    outer = matmul(k, adjoint_of(out))
    inside = matmul(matmul(adjoint_of(out), out), d - matmul(k, a))
    return adjoint_of(outer - adjoint_of(matmul(out, k)) - matmul(a, matmul(out, outer)) + inside)


PINV = Elementwise("pinv", "{1}", gradients=(_of_pinv, None))


@castable
def pinv(A: Any, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None) -> Var:
    """Pseudo-inverse (Moore and Penrose): (..., m, n) -> (..., n, m), the inverse where A has one.

        A+ = V diag(1 / S) U^H    for S > max(atol, rtol * S[0]), 0 for the others

    Its gradient holds as long as the number of singular values above the tolerance stays the same.

    Args:
        A: (..., m, n).
        rcond: another name of `rtol`.
        hermitian: A is Hermitian; only its lower triangle is read.
        atol: singular values up to here count as 0: a number, or one for each matrix of the batch.
        rtol: the same, as a part of the largest one; by default max(m, n) * eps, and 0 where `atol` is above 0.

    Raises:
        ShapeError: no matrices.
        LinAlgError: inf or nan in a matrix.

    Example:
        >>> pinv(array([[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]])).tolist()
        [[0.5, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    symmetric = yes_or_no("pinv", "hermitian", hermitian)
    found = matrices("pinv", A, square=symmetric)
    x = widened(found)
    if symmetric:
        s, u = eigh(x)
        v = u
    else:
        u, s, vh = svd(x, full_matrices=False)
        v = adjoint_of(vh)
    size: Var = s.abs()
    big = size > tolerance(found, size, atol, one_of("pinv", rcond=rcond, rtol=rtol))
    answer = matmul(v * (1 / s.where_not(~big, 1)).keep_where(big)[..., None, :], adjoint_of(u))
    return adjoint_of(x).apply(PINV, answer).cast(found.dtype)
