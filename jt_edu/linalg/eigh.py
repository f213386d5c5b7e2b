"""Eigenvalues of symmetric and Hermitian matrices: A = V diag(w) V^H, with w real and V unitary.

    x x x x x         x x                 w
    x x x x x         x x x                 w
    x x x x x   ->      x x x       ->        w
    x x x x x             x x x                 w
    x x x x x               x x                   w
         reflections           rotations, until nothing is left beside the diagonal

Both kernels go through rows, from the first column on, so that each inner loop is one run over memory. A reflection
changes the whole matrix, and the next one needs the product of that matrix with a vector: one pass does both. The rows
that the rotations turn are those of V^T.

Source: Golub and Van Loan, "Matrix Computations", 4th edition, 8.3 (the method) and Giles 2008, "An extended collection
of matrix derivative results" (the gradient).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from jt_edu.ir.node import Shape
from jt_edu.ir.scalar_ops import REAL
from jt_edu.linalg.matrices import RAISES, adjoint_of, batch_of, by_dtype, halves, kept, matrices, of_batch
from jt_edu.linalg.spectral import quotient, skew
from jt_edu.ops.arguments import choice
from jt_edu.ops.matmul import matmul
from jt_edu.ops.transpose import matrix_transpose
from jt_edu.variable.autocast import castable
from jt_edu.variable.var import Var

__all__ = ["eigh", "eigvalsh"]


class EighResult(NamedTuple):
    """Eigenvalues, rising, and the eigenvectors: column i belongs to the i-th."""

    eigenvalues: Var
    eigenvectors: Var


REFLECTIONS = """
def kernel(lo, hi, x, out):
    n = x.shape[1]
    work = scratch(n * n, {dtype}).reshape(n, n)
    spare = scratch(4 * n, {dtype}).reshape(4, n)
    betas = scratch(n, {real})
    # the square of a smaller number is 0 or has lost digits, so such numbers count as 0
    small = math.sqrt(np.finfo({real}).tiny / np.finfo({real}).eps)
    edges = spare[3]
    for b in range(lo, hi):
        largest, wrong = {real}(0), {real}(0)
        for i in range(n):
            for j in range(i + 1):
                size = abs(x[b, i, j])
                largest = max(largest, size)
                wrong += size - size
        if wrong != 0:
            raise LinAlgError("eigenvalues are those of finite numbers", "inf or nan in a matrix")
        scale = math.ldexp(1.0, min(-math.frexp(largest)[1], {limit}))  # exact: the largest number becomes about 1
        for i in range(n):
            for j in range(i):
                value = {dtype}(x[b, i, j] * scale)
                work[i, j] = value
                work[j, i] = value.conjugate()
            work[i, i] = x[b, i, i].real * scale
        u, q, p = spare[0], spare[1], spare[2]
        for j in range(n):
            u[j] = q[j] = 0
        for k in range(n - 1, -1, -1):  # A - u q^H - q u^H is late by one step; u, q, p are rows: conjugated
            row, a, c = work[k], u[k].conjugate(), q[k].conjugate()
            for j in range(k + 1):
                row[j] -= a * q[j] + c * u[j]
            out[b, 0, k] = row[k].real
            if k == 0:
                break
            total = {real}(0)
            for j in range(k - 1):
                total += row[j].real * row[j].real + row[j].imag * row[j].imag
            beta, corner = {real}(0), row[k - 1]
            if total > small * small:
                size = abs(corner)
                phase, size = (corner / size, size) if size > small else ({dtype}(1), {real}(0))
                norm = {real}(math.sqrt(total + size * size))
                beta = {real}(1) / (norm * (norm + size))
                row[k - 1], corner = phase * (norm + size), -phase * norm
            betas[k], edges[k] = beta, corner
            inner = {real}(0)
            for i in range(k):
                other, a, c = work[i], u[i].conjugate(), q[i].conjugate()
                product = {dtype}(0)
                for j in range(k):
                    value = other[j] - (a * q[j] + c * u[j])
                    other[j] = value
                    product += value * row[j].conjugate()
                product *= beta
                p[i] = product.conjugate()
                inner += (row[i] * product).real
            inner *= beta / {real}(2)
            for j in range(k):
                p[j] -= inner * row[j]
            u, q, p = row, p, q
        turn = {dtype}(1)
        for k in range(1, n):  # phases that make the numbers beside the diagonal real
            size = abs(edges[k])
            out[b, 1, k - 1] = size
            turn = turn * (edges[k] / size) if size > small else turn
            edges[k] = turn
        if n:
            out[b, 1, n - 1] = scale
        if out.shape[1] == 2:
            continue
        basis = out[b, 2:]
        for k in range(n):  # the product of all reflections; k of them reach k rows
            for j in range(n):
                basis[k, j] = 0
            basis[k, k] = 1
            beta, row = betas[k], work[k]
            if k == 0 or beta == 0:
                continue
            for i in range(k):
                other, product = basis[i], {dtype}(0)
                for j in range(k):
                    product += other[j] * row[j]
                product *= beta
                for j in range(k):
                    other[j] -= product * row[j].conjugate()
        for k in range(1, n):
            other, turn = basis[k], edges[k]
            for j in range(n):
                other[j] *= turn
"""
ROTATIONS = """
def kernel(lo, hi, matrix, x, out):
    n, height = x.shape[2], x.shape[1] - 2
    d, e = scratch(n, np.float64), scratch(n, np.float64)
    eps, negligible = np.finfo({real}).eps, 1e-140
    for b in range(lo, hi):
        for j in range(n):
            d[j], e[j] = x[b, 0, j].real, x[b, 1, j].real
        scale = e[n - 1] if n else 1.0
        for i in range(height):
            found, wanted = x[b, i + 2], out[b, i + 2]
            for j in range(n):
                wanted[j] = found[j]
        width = len(out[b, 0].view({real}))
        rows = out[b, 2:].reshape(height * n).view({real}).reshape(height, width)
        for first in range(n):
            for trial in range(60):
                last = first
                while last < n - 1 and abs(e[last]) > eps * (abs(d[last]) + abs(d[last + 1])) + negligible:
                    last += 1
                if last == first:
                    break
                # the shift is the eigenvalue of the first two rows that is closer to d[first]
                g = (d[first + 1] - d[first]) / (2 * e[first])
                r = math.sqrt(g * g + 1)
                g = d[last] - d[first] + e[first] / (g + r if g > 0 else g - r)
                s, c, p = 1.0, 1.0, 0.0
                for i in range(last - 1, first - 1, -1):
                    f, h = s * e[i], c * e[i]
                    r = math.sqrt(f * f + g * g)
                    e[i + 1] = r
                    if r < negligible:
                        break
                    s, c = f / r, g / r
                    g = d[i + 1] - p
                    slope = (d[i] - g) * s + 2 * c * h
                    p = s * slope
                    d[i + 1] = g + p
                    g = c * slope - h
                    if height:
                        above, below = rows[i], rows[i + 1]
                        cos, sin = {real}(c), {real}(s)
                        for j in range(width):
                            one, two = above[j], below[j]
                            below[j] = sin * one + cos * two
                            above[j] = cos * one - sin * two
                if r < negligible:  # e[i + 1] is 0: the matrix falls into two
                    d[i + 1] -= p
                    e[last] = e[i + 1] = 0
                    continue
                d[first] -= p
                e[first], e[last] = g, 0.0
            else:
                raise LinAlgError("eigenvalues are found step by step", "no end after 60 steps for one of them")
        for i in range(n):
            k = i
            for j in range(i + 1, n):
                if d[j] < d[k]:
                    k = j
            d[i], d[k] = d[k], d[i]
            out[b, 0, i] = d[i] / scale
            out[b, 1, i] = 0
            if height and k != i:
                above, below = rows[i], rows[k]
                for j in range(width):
                    above[j], below[j] = below[j], above[j]
"""


def _of_eigh(out: Var, dout: Var, x: Var, tridiagonal: Var) -> Var:  # noqa: ARG001
    """V (diag(dw) + (V^H dV - dV^H V) / 2 (w_j - w_i)) V^H."""
    n, vectors = x.shape[-1], out.shape[1] > 2
    (w, v), (dw, dv) = _parts(out if vectors else _packed(x, n)), _parts(dout)
    turned = v * dw[:, None]
    if vectors:
        turned = turned + matmul(v, quotient(skew(matmul(adjoint_of(v), dv)) / 2, w[:, None] - w[:, :, None]))
    return matmul(turned, adjoint_of(v))


TRIDIAGONAL = by_dtype("tridiagonal", RAISES + REFLECTIONS)
IMPLICIT_QL = by_dtype("implicit_ql", RAISES + ROTATIONS, (_of_eigh, None))


@castable
@halves
def eigh(A: Any, UPLO: str = "L") -> EighResult:
    """Eigenvalues and eigenvectors of a symmetric or Hermitian matrix.

        A = V diag(w) V^H,    V^H V = 1

    An eigenvector has no sign of its own (a complex one no phase), so a loss must not ask for it. Where eigenvalues are
    equal, the gradient through their vectors divides by 0 and is inf or nan, as in PyTorch; through w it is finite.

    Args:
        A: (..., n, n); only one triangle of it is read.
        UPLO: "L" for the lower triangle, "U" for the upper one.

    Returns:
        (eigenvalues, eigenvectors): (..., n), real and rising, and (..., n, n), in columns.

    Raises:
        ShapeError: no square matrices.
        LinAlgError: inf or nan in a matrix.

    Example:
        >>> w, v = eigh(array([[2.0, 1.0], [1.0, 2.0]]))
        >>> w.numpy().round(5), (v * w @ v.mT).numpy().round(5)
        (array([1., 3.], dtype=float32), array([[2., 1.],
               [1., 2.]], dtype=float32))
    """
    x, lead = _triangle("eigh", A, UPLO)
    n = x.shape[-1]
    w, v = _parts(kept(_packed(x, n)))
    return EighResult(w.reshape(*lead, n), v.reshape(*lead, n, n))


@castable
@halves
def eigvalsh(A: Any, UPLO: str = "L") -> Var:
    """Eigenvalues of a symmetric or Hermitian matrix, rising. Their gradient is finite, also where some are equal.

    Args:
        A: (..., n, n); only one triangle of it is read.
        UPLO: "L" for the lower triangle, "U" for the upper one.

    Raises:
        ShapeError: no square matrices.
        LinAlgError: inf or nan in a matrix.

    Example:
        >>> eigvalsh(array([[2.0, 1.0], [1.0, 2.0]])).numpy().round(5)
        array([1., 3.], dtype=float32)
    """
    x, lead = _triangle("eigvalsh", A, UPLO)
    return _parts(_packed(x, 0))[0].reshape(*lead, x.shape[-1])


def _triangle(name: str, A: Any, UPLO: Any) -> tuple[Var, Shape]:
    """A as a batch (batch, n, n) whose lower triangle counts, and the lengths that were put together."""
    v = matrices(name, A)
    lower = choice(name, "UPLO", UPLO.upper() if isinstance(UPLO, str) else UPLO, ("L", "U")) == "L"
    return batch_of(v if lower else adjoint_of(v))


def _packed(x: Var, many: int) -> Var:
    """(batch, 2 + many, n): the eigenvalues, a row of zeros, and all n eigenvectors in rows, or none of them."""
    n = x.shape[1]
    return of_batch(IMPLICIT_QL, (x, of_batch(TRIDIAGONAL, x, 2 + many, n)), 2 + many, n)


def _parts(packed: Var) -> tuple[Var, Var]:
    return packed[:, 0].apply(REAL), matrix_transpose(packed[:, 2:])
