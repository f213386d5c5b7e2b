"""The exponential of a matrix: exp(A) = I + A + A A / 2 + A A A / 6 + ..., which solves dx/dt = A x.

The series needs few terms where A is small. So A is halved s times, and what comes out is squared as often:

    exp(A) = exp(A / 2^s) squared s times         17 terms reach 1e-16 where rows sum up to 0.8 at most

The terms are added up in fours, so that A^2, A^3 and A^4 and three more products do (Paterson and Stockmeyer):

    ((A^4 / 16! + C3) A^4 + C2) A^4 + ...          Cj = I / (4j)! + A / (4j + 1)! + A^2 / (4j + 2)! + A^3 / (4j + 3)!

The derivative in the direction G stands in the exponential of a matrix twice as large:

    exp [A G] = [exp(A)  derivative]
        [0 A]   [0       exp(A)    ]

Source: Higham, "Functions of Matrices", sections 3.2, 4.2 and 10.3.
"""

from __future__ import annotations

from typing import Any

from jt_edu.linalg.matrices import adjoint_of, batch_of, by_dtype, halves, matrices, of_batch
from jt_edu.ops.concat import concat
from jt_edu.variable.var import Var

__all__ = ["matrix_exp"]

TEXT = """
def kernel(lo, hi, x, out):
    n = x.shape[1]
    for matrix in range(lo, hi * (n > 0)):
        a, all = x[matrix], out[matrix]
        e, t, p1, p2, p3, p4 = all[:n], all[n:2*n], all[2*n:3*n], all[3*n:4*n], all[4*n:5*n], all[5*n:]
        most, squarings, scale = {real}(0), 0, {real}(1)
        for i in range(n):
            total = {real}(0)
            for j in range(n):
                total += abs(a[i, j])
            if not total <= most:  # also nan
                most = total
        while 0.8 < most * scale < np.inf:
            scale /= 2
            squarings += 1
        for i in range(n):
            for j in range(n):
                p1[i, j] = a[i, j] * scale
        np.dot(p1, p1, p2)
        np.dot(p2, p1, p3)
        np.dot(p2, p2, p4)
        for j in range(3, -1, -1):
            c = 1.0
            for k in range(2, 4 * j + 1):
                c /= k
            c1 = c / (4 * j + 1)
            c2 = c1 / (4 * j + 2)
            c3 = c2 / (4 * j + 3)
            if j < 3:
                np.dot(e, p4, t)
            for i in range(n):
                for k in range(n):
                    if j == 3:
                        t[i, k] = p4[i, k] * (c3 / 16)
                    e[i, k] = t[i, k] + c1 * p1[i, k] + c2 * p2[i, k] + c3 * p3[i, k]
                e[i, i] += c
        for _ in range(squarings):
            np.dot(e, e, t)
            for i in range(n):
                for k in range(n):
                    e[i, k] = t[i, k]
"""


def _gradient(_: Var, dout: Var, x: Var) -> Var:
    """The derivative of exp(A^H) in the direction that comes in."""
    n, adjoint = x.shape[1], adjoint_of(x)
    given = dout[:, :n]
    rows = concat([adjoint, given], 2), concat([given.zeros_like(), adjoint], 2)
    return _exponential(concat(rows, 1))[:, :n, n:]


EXP = by_dtype("matrix_exp", TEXT, (_gradient,))


def _exponential(x: Var) -> Var:
    n = x.shape[1]
    return of_batch(EXP, x, 6 * n, n)[:, :n]


@halves
def matrix_exp(A: Any) -> Var:
    """exp(A) = I + A + A A / 2 + A A A / 6 + ..., of each matrix of a batch; `A.exp()` is that of each number.

    Args:
        A: (..., n, n).

    Example:
        >>> matrix_exp(array([[0.0, 2.0], [0.0, 0.0]])).tolist()
        [[1.0, 2.0], [0.0, 1.0]]
    """
    a = matrices("matrix_exp", A)
    return _exponential(batch_of(a)[0]).reshape(a.shape)
