"""QR: A = Q R, columns that are perpendicular to each other, and an upper triangle. By reflections.

    [3 1]   [-3/5 -4/5]   [-5 -11/5]
    [4 2] = [-4/5  3/5] @ [ 0   2/5]

A reflection I - tau v v^H (Householder) sends a column of A to its first axis; the next one leaves that row and column
alone. The v are kept where the zeros would be, without their first number, which is 1, and the tau in one more row
below.

32 reflections are one block reflector, so that the columns beside them need three products by BLAS only:

    H1 H2 ... H32 = I - V T V^H        V: the v as columns        T: a triangle, column by column from V^H V

What that needs to work in lies in the same array, to the right and below:

    [ R over v | V ]
    [ tau      |   ]
    [ W        | T ]    32 rows each
    [ W        | S ]

Source: Golub and Van Loan, "Matrix Computations", 4th edition, sections 5.1 and 5.2. The gradient: Roberts and Roberts
2020, "QR and LQ decomposition matrix backpropagation algorithms" (arXiv:2009.10071).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from jt_edu.base.errors import GradientError
from jt_edu.linalg.matrices import adjoint_of, batch_of, by_dtype, halves, kept, matrices, of_batch
from jt_edu.linalg.triangular import substituted
from jt_edu.ops.arguments import choice
from jt_edu.ops.concat import concat
from jt_edu.ops.diagonal import diag_embed, diagonal, triu
from jt_edu.ops.matmul import matmul
from jt_edu.variable.autocast import castable
from jt_edu.variable.var import Var

__all__ = ["qr"]

MOST = 32  # reflections in a block
_BLOCK = """
            for i in range(len(v)):  # V, with its ones and zeros
                row = v[i]
                for c in range(b):
                    row[c] = f[k + i, k + c] if c < i else 1 if c == i else 0
            for i in range(b):
                for row in (s[i], t[i]):
                    for c in range(b):
                        row[c] = 0
                for row in (w[i], u[i]):
                    for c in range(len(row)):
                        row[c] = 0
            minus_ahb(v, v, s)
            for j in range(b):  # S is -V^H V
                t[j, j] = f[m, k + j]
                for i in range(j):
                    total = s[i, j] * 0
                    for l in range(i, j):
                        total += t[i, l] * s[l, j]
                    t[i, j] = total * t[j, j]
            minus_ahb(v, rest, w)
            minus_{side}(t, w, u)
            minus_ab(v, u, rest)
"""
_REFLECTIONS = (
    """
from jt_edu.backends.mathlib.minus_product import minus_ab, minus_ahb
def kernel(lo, hi, x, out):
    m, n, steps = x.shape[1], x.shape[2], min(x.shape[1], x.shape[2])
    for matrix in range(lo, hi):
        given, f, largest = x[matrix], out[matrix], {real}(0)
        for i in range(m):
            for j in range(n):
                largest = max(largest, abs(given[i, j].real), abs(given[i, j].imag))
        scale = math.ldexp(1.0, min(-math.frexp(largest)[1], {limit}))  # exact: the largest number becomes about 1
        for i in range(m):
            row, source = f[i], given[i]
            for j in range(n):
                row[j] = source[j] * scale
        for k in range(0, steps, 32):
            b = min(32, steps - k)
            end = k + b
            for j in range(k, end):
                length = 0.0  # in 64 bits: squares of small numbers would be 0 in 32
                for i in range(j + 1, m):
                    real, imaginary = np.float64(f[i, j].real), np.float64(f[i, j].imag)
                    length += real * real + imaginary * imaginary
                top, f[m, j] = f[j, j], 0
                if length == 0 and top.imag == 0:
                    continue
                real, imaginary = np.float64(top.real), np.float64(top.imag)
                length = {real}(math.sqrt(length + real * real + imaginary * imaginary))
                length = -length if top.real > 0 else length
                turn, sums = ((length - top) / length).conjugate(), f[m, j + 1 : end]
                for i in range(j + 1, m):
                    f[i, j] /= top - length
                f[j, j] = 1
                for c in range(len(sums)):
                    sums[c] = 0
                for i in range(j, m):
                    factor, row = f[i, j].conjugate() * turn, f[i, j + 1 : end]
                    for c in range(len(row)):
                        sums[c] += factor * row[c]
                for i in range(j, m):
                    factor, row = f[i, j], f[i, j + 1 : end]
                    for c in range(len(row)):
                        row[c] -= factor * sums[c]
                f[j, j], f[m, j] = length, turn.conjugate()
            if end == n:
                break  # no columns beside it
            low, high = m + 1 + b, m + 1 + 2 * b
            v, t, s = f[k:m, n : n + b], f[m + 1 : low, n : n + b], f[low:high, n : n + b]
            w, u, rest = f[m + 1 : low, end:n], f[low:high, end:n], f[k:m, end:n]
"""
    + _BLOCK.replace("{side}", "ahb")
    + """
        for i in range(steps):
            for j in range(i, n):
                f[i, j] /= scale
"""
)
_PRODUCT = """
from jt_edu.backends.mathlib.minus_product import minus_ab, minus_ahb
def kernel(lo, hi, x, a, out):
    m, n, steps = a.shape[1], a.shape[2], min(a.shape[1], a.shape[2])
    most = min(32, steps)
    wide = out.shape[2] - n - most
    for matrix in range(lo, hi):
        f, q = x[matrix], out[matrix]
        for i in range(m):
            row, source = q[i], f[i]
            for c in range(wide):
                row[c] = 1 if c == i else 0
            for c in range(n):
                row[wide + c] = source[c] if c >= i else 0
        for end in range(steps, 0, -32):
            k = max(end - 32, 0)
            b, right = end - k, wide + n
            low, high = m + b, m + 2 * b
            v, t, s = q[k:m, right : right + b], q[m:low, right : right + b], q[low:high, right : right + b]
            w, u, rest = q[m:low, k:wide], q[low:high, k:wide], q[k:m, k:wide]
""" + _BLOCK.replace("{side}", "ab")


class QR(NamedTuple):
    """A = Q R."""

    Q: Var
    R: Var


def _gradient(out: Var, dout: Var, _: Var, a: Var) -> Var:
    """(dQ + Q S) R^-H, where the triangle of dR R^H - Q^H dQ on and above the diagonal makes S its own adjoint."""
    m, n = a.shape[1:]
    k = min(m, n)
    wide = out.shape[2] - n - min(k, MOST)
    if wide > k:
        raise GradientError("the gradient of qr needs the columns of Q to be given by A", 'mode="complete"', "reduced")
    q, r, dq, dr = out[:, :m, :k], out[:, :k, wide : wide + n], dout[:, :m, :k], triu(dout[:, :k, wide : wide + n])
    dq = dq + matmul(a[:, :, k:], adjoint_of(dr[:, :, k:]))
    x = triu(matmul(dr[:, :, :k], adjoint_of(r[:, :, :k])) - matmul(adjoint_of(q), dq))
    both = x + adjoint_of(x)
    inner = dq + matmul(q, both - diag_embed(diagonal(both, 0, -2, -1)) / 2)
    return concat([adjoint_of(substituted(r[:, :, :k], adjoint_of(inner), upper=True)), matmul(q, dr[:, :, k:])], -1)


REFLECTED, PRODUCT = by_dtype("reflections", _REFLECTIONS), by_dtype("qr", _PRODUCT, (None, _gradient))


@castable
@halves
def qr(A: Any, mode: str = "reduced") -> QR:
    """A = Q R: the columns of Q are perpendicular to each other and of length 1, and R is an upper triangle.

    Args:
        A: (..., m, n); k is the smaller of m and n.
        mode: "reduced" gives Q (..., m, k) and R (..., k, n); "complete" (..., m, m) and (..., m, n); with "r" there is
            R only, and Q has no elements.

    Raises:
        GradientError: in a gradient of "complete" with m > n: the last columns of Q are not determined by A.

    Example:
        >>> Q, R = qr(array([[3.0, 1.0], [4.0, 2.0]]))
        >>> R.numpy().round(3), (Q @ R).numpy().round(3)
        (array([[-5. , -2.2],
               [ 0. ,  0.4]], dtype=float32), array([[3., 1.],
               [4., 2.]], dtype=float32))
    """
    word = choice("qr", "mode", mode, ("reduced", "complete", "r"))
    x, lead = batch_of(matrices("qr", A, square=False))
    m, n = x.shape[1:]
    rows = m if word == "complete" else min(m, n)
    both = kept(_both(x, rows))
    q, r = both[:, :m, :rows], both[:, :rows, rows : rows + n]
    return QR(x.new_zeros(0) if word == "r" else q.reshape(*lead, m, rows), r.reshape(*lead, rows, n))


def _both(x: Var, wide: int) -> Var:
    """[Q | R] of a batch, and below and to the right what was needed meanwhile; `wide` columns of Q."""
    _, m, n = x.shape
    b = min(m, n, MOST)
    work = b if n > b else 0  # one panel has no columns beside it
    reflected = of_batch(REFLECTED, x.detach(), m + 1 + 2 * work, n + work)
    return of_batch(PRODUCT, (reflected, x), m + 2 * b, wide + n + b)
