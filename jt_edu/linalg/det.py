"""Determinants: the product of the pivots of LU, with the sign of the exchanges. How much a matrix stretches volumes.

    det       its gradient is the matrix of cofactors, which is there for singular matrices, too
    slogdet   its sign and the logarithm of its size, which does not overflow
    logdet    the logarithm itself

The cofactors of A are det(A) A^-H. Where a pivot is 0, LU is given a tiny one instead, which cancels in the product.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from jt_edu.linalg.lu import factored
from jt_edu.linalg.lu_kernel import ADJUGATE
from jt_edu.linalg.matrices import adjoint_of, batch_of, by_dtype, halves, kept, matrices, of_batch
from jt_edu.linalg.solve import inv
from jt_edu.ops.complex import complex, imag, real
from jt_edu.ops.matmul import matmul
from jt_edu.ops.reduce import sum
from jt_edu.variable.var import Var

__all__ = ["det", "logdet", "slogdet"]

PRODUCT = """
def kernel(lo, hi, lu, x, out):
    n = x.shape[1]
    for matrix in range(lo, hi):
        a, total = lu[matrix], {dtype}(1)
        for i in range(n):
            total *= a[i, i] if a[n, i] == i else -a[i, i]
        out[matrix] = total
"""
LOGARITHM = """
def kernel(lo, hi, lu, x, out):
    n = x.shape[1]
    for matrix in range(lo, hi):
        a, sign, total = lu[matrix], {dtype}(1), {real}(0)
        for i in range(n):
            size = abs(a[i, i])
            total += -np.inf if size == 0 else math.log(size)
            own = a[i, i] / size if size != 0 else a[i, i]
            sign *= own if a[n, i] == i else -own
        out[matrix, 0] = sign
        out[matrix, 1] = total
"""


class SignLogDet(NamedTuple):
    """det = sign * exp(logabsdet)."""

    sign: Var
    logabsdet: Var


def _of_det(_: Var, dout: Var, _lu: Var, x: Var) -> Var:
    return dout[:, None, None] * adjoint_of(_adjugate(x))


def _of_adjugate(out: Var, dout: Var, x: Var) -> Var:
    """The adjugate is D X, with the determinant D and the inverse X: it is the derivative of each that counts."""
    n = x.shape[1]
    adjoint, given, inverse = adjoint_of(out[:, :n, n:]), dout[:, :n, n:], inv(x)
    return sum(given * inverse.conj(), (1, 2), True) * adjoint - matmul(matmul(adjoint, given), adjoint_of(inverse))


def _of_logarithm(out: Var, dout: Var, _: Var, x: Var) -> Var:
    """dlog A^-H; the sign of a complex matrix turns as the imaginary part of the logarithm says."""
    scale = dout[:, 1]
    if x.dtype.kind == "c":
        turn = imag(dout[:, 0] * out[:, 0].conj())
        scale = complex(real(scale), turn)
    return scale[:, None, None] * adjoint_of(inv(x))


DET = by_dtype("det", PRODUCT, (None, _of_det))
LOG = by_dtype("slogdet", LOGARITHM, (None, _of_logarithm))
ADJ = by_dtype("adjugate", ADJUGATE, (_of_adjugate,))


def _adjugate(x: Var) -> Var:
    n = x.shape[1]
    return of_batch(ADJ, x, n + 1, 2 * n)[:, :n, n:]


@halves
def det(A: Any) -> Var:
    """The determinant: the volume of the cube that A makes of the unit cube, negative if A mirrors it.

    Args:
        A: (..., n, n).

    Example:
        >>> det(array([[1.0, 2.0], [4.0, 4.0]])).item()
        -4.0
    """
    x, lead = batch_of(matrices("det", A))
    return of_batch(DET, (factored(x).detach(), x)).reshape(lead)


@halves
def slogdet(A: Any) -> SignLogDet:
    """The sign of the determinant, and the logarithm of its size: det = sign * exp(logabsdet).

    The sign of a complex determinant is a number of size 1. A singular matrix has sign 0 and -inf.

    Args:
        A: (..., n, n).

    Example:
        >>> slogdet(array([[0.0, 1.0], [1.0, 0.0]]))
        SignLogDet(sign=jt.Var(-1., dtype=float32), logabsdet=jt.Var(0., dtype=float32))
    """
    x, lead = batch_of(matrices("slogdet", A))
    both = kept(of_batch(LOG, (factored(x).detach(), x), 2))
    size = real(both[:, 1])
    return SignLogDet(both[:, 0].reshape(lead), size.reshape(lead))


@halves
def logdet(A: Any) -> Var:
    """The logarithm of the determinant; nan where that is negative, and of a complex one its principal value.

    Args:
        A: (..., n, n).

    Example:
        >>> logdet(array([[1.0, 0.0], [0.0, 1.0]])).item()
        0.0
    """
    sign, size = slogdet(A)
    return sign.log() + size
