"""Eigenvalues of any square matrix: A V = V diag(L), with complex numbers.

    x x x x x         x x x x x         T T T T T
    x x x x x         x x x x x         T T T T T
    x x x x x   ->      x x x x   ->        T T T
    x x x x x             x x x               T T
    x x x x x               x x                 T
         reflections         steps of Francis       the blocks of two are solved,
                                                     then the triangle gives V

A step of Francis has two shifts, the eigenvalues of the last two rows. Only their sum and product are asked for, so a
real matrix stays real, and its eigenvalues are real or conjugate to each other to the last digit. All is computed with
64 bits: a matrix that is far from symmetric loses many digits.

Source: Golub and Van Loan, "Matrix Computations", 4th edition, 7.4 to 7.6. The balance: Parlett and Reinsch 1969. The
gradient: Giles 2008, "An extended collection of matrix derivative results", and Boeddeker et al. 2017
(arXiv:1701.00392) for complex numbers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from jt_edu.base.dtypes import DType, complex64, complex128, float64
from jt_edu.ir.node import Shape
from jt_edu.ir.scalar_ops import REAL
from jt_edu.linalg.matrices import RAISES, adjoint_of, batch_of, by_dtype, kept, matrices, of_batch
from jt_edu.linalg.solve import solve
from jt_edu.linalg.spectral import quotient
from jt_edu.ops.create import eye
from jt_edu.ops.matmul import matmul
from jt_edu.ops.transpose import matrix_transpose
from jt_edu.variable.autocast import castable
from jt_edu.variable.var import Var

__all__ = ["eig", "eigvals"]


class EigResult(NamedTuple):
    """Eigenvalues in no order, and the eigenvectors: column i belongs to the i-th."""

    eigenvalues: Var
    eigenvectors: Var


REFLECTIONS = """
def kernel(lo, hi, x, out):
    n, height = x.shape[1], out.shape[1] - 2 - x.shape[1]
    u, w = scratch(n, {dtype}), scratch(n, {dtype})
    for b in range(lo, hi):
        balance, scales, t, q = out[b, 0], out[b, 1], out[b, 2 : 2 + n], out[b, 2 + n :]
        largest, wrong = 0.0, 0.0
        for i in range(n):
            for j in range(n):
                size = abs(x[b, i, j])
                largest = max(largest, size)
                wrong += size - size
        if wrong != 0:
            raise LinAlgError("eigenvalues are those of finite numbers", "inf or nan in a matrix")
        scale = math.ldexp(1.0, min(-math.frexp(largest)[1], {limit}))  # exact: the largest number becomes about 1
        for i in range(n):
            balance[i], scales[i] = 1, scale
            for j in range(n):
                t[i, j] = x[b, i, j] * scale
        better = True  # powers of two that make rows and columns alike, so that small numbers are not lost
        while better:
            better = False
            for i in range(n):
                below, beside, factor = 0.0, 0.0, 1.0
                for j in range(n):
                    if j != i:
                        below += abs(t[j, i])
                        beside += abs(t[i, j])
                total = below + beside
                if below == 0 or beside == 0:
                    continue
                while below < beside / 2:
                    factor, below, beside = factor * 2, below * 2, beside / 2
                while below > beside * 2:
                    factor, below, beside = factor / 2, below / 2, beside * 2
                if below + beside < 0.95 * total:
                    better = True
                    balance[i] *= factor
                    for j in range(n):
                        t[i, j] /= factor
                        t[j, i] *= factor
        for i in range(height):
            for j in range(n):
                q[i, j] = 0
            q[i, i] = 1
        for k in range(n - 2):  # a reflection of the rows below k + 1, from both sides
            rest, corner = 0.0, t[k + 1, k]
            for i in range(k + 2, n):
                u[i] = t[i, k]
                rest += u[i].real * u[i].real + u[i].imag * u[i].imag
            if rest < 1e-290:
                for i in range(k + 2, n):
                    t[i, k] = 0
                continue
            size = abs(corner)
            phase, size = (corner / size, size) if size > 1e-145 else ({dtype}(1), 0.0)
            norm = math.sqrt(rest + size * size)
            beta, u[k + 1] = 1 / (norm * (norm + size)), phase * (norm + size)
            for side in range(2 if height else 1):
                rows, away = q if side else t, 0 if side else k
                for j in range(n):
                    w[j] = 0
                for i in range(k + 1, n):
                    row, lead = rows[i, away:], u[i] if side else u[i].conjugate()
                    for j in range(n - away):
                        w[j] += lead * row[j]
                for i in range(k + 1, n):
                    row, lead = rows[i, away:], beta * (u[i].conjugate() if side else u[i])
                    for j in range(n - away):
                        row[j] -= lead * w[j]
            mine = u[k + 1 :]
            for i in range(n):
                row, product = t[i, k + 1 :], {dtype}(0)
                for j in range(n - k - 1):
                    product += row[j] * mine[j]
                product *= beta
                for j in range(n - k - 1):
                    row[j] -= product * mine[j].conjugate()
            for i in range(k + 2, n):
                t[i, k] = 0
"""
FRANCIS_STEPS = """
def kernel(lo, hi, x, out):
    n, height = x.shape[2], x.shape[1] - x.shape[2] - 2
    eps = np.finfo(np.float64).eps
    for b in range(lo, hi):
        negligible = 1e-290
        for i in range(x.shape[1]):
            for j in range(n):
                out[b, i, j] = x[b, i, j]
                negligible = max(negligible, eps * eps * abs(x[b, i, j]) if 2 <= i < 2 + n else 0.0)
        t, q = out[b, 2 : 2 + n], out[b, 2 + n :]
        last, trial = n - 1, 0
        while last > 0:
            first = last
            while first > 0:
                if abs(t[first, first - 1]) <= eps * (abs(t[first, first]) + abs(t[first - 1, first - 1])) + negligible:
                    t[first, first - 1] = 0
                    break
                first -= 1
            if first >= last - 1:
                last, trial = first - 1, 0
                continue
            trial += 1
            if trial > 60:
                raise LinAlgError("eigenvalues are found step by step", "no end after 60 steps for one of them")
            one, two = t[last - 1, last - 1], t[last, last]
            trace, determinant = one + two, one * two - t[last, last - 1] * t[last - 1, last]
            if trial % 10 == 0:  # another shift, where the usual one goes in circles
                size = abs(t[last, last - 1]) + abs(t[last - 1, last - 2])
                trace = 2 * (two + 0.75 * size)
                determinant = trace * trace / 4 + 0.4375 * size * size
            one, two, three = t[first, first], t[first + 1, first], t[first + 1, first + 1]
            u = one * one + t[first, first + 1] * two - trace * one + determinant
            v = two * (one + three - trace)
            w = two * t[first + 2, first + 1]
            for k in range(first, last):  # what sticks out below the diagonal (the bulge) is moved down
                end = min(k + 2, last)
                if k > first:
                    u, v, w = t[k, k - 1], t[k + 1, k - 1], t[end, k - 1]
                if end == k + 1:
                    w = {dtype}(0)
                size = abs(u)
                phase, size = (u / size, size) if size > 1e-145 else ({dtype}(1), 0.0)
                norm = math.sqrt(size * size + abs(v) * abs(v) + abs(w) * abs(w))
                if norm < 1e-145:
                    continue
                beta, u = 1 / (norm * (norm + size)), phase * (norm + size)
                for side in range(2 if height else 1):
                    rows, away = q if side else t, 0 if side else max(k - 1, 0)
                    f, g, h = (u, v, w) if side else (u.conjugate(), v.conjugate(), w.conjugate())
                    above, middle, below = rows[k, away:], rows[k + 1, away:], rows[end, away:]
                    for j in range(n - away):
                        one, two, three = above[j], middle[j], below[j]
                        s = beta * (f * one + g * two + h * three)
                        below[j] = three - s * h.conjugate()
                        middle[j] = two - s * g.conjugate()
                        above[j] = one - s * f.conjugate()
                for i in range(min(k + 4, last + 1)):
                    s = beta * (u * t[i, k] + v * t[i, k + 1] + w * t[i, end])
                    t[i, end] -= s * w.conjugate()
                    t[i, k + 1] -= s * v.conjugate()
                    t[i, k] -= s * u.conjugate()
                if k > first:
                    t[k + 1, k - 1] = t[end, k - 1] = 0
"""
SUBSTITUTION = """
def kernel(lo, hi, x, schur, out):
    n, height = x.shape[1], out.shape[1] - 1
    real, eps = x.itemsize == 8, np.finfo(np.float64).eps
    triangle = scratch(2 * n * n, np.complex128).reshape(2, n, n)
    t, q = triangle[0], triangle[1]
    y = scratch(n * n, np.complex128).reshape(n, n)
    for b in range(lo, hi):
        norm = 1e-290
        for i in range(n):
            for j in range(n):
                t[i, j] = schur[b, 2 + i, j]
                norm = max(norm, abs(t[i, j]))
                if height:
                    q[i, j] = schur[b, 2 + n + i, j]
        for k in range(n - 1):  # a block of two becomes a triangle
            c, half = t[k + 1, k], (t[k, k] - t[k + 1, k + 1]) / 2
            if c == 0:
                continue
            square = half * half + c * t[k, k + 1]
            mean, root = half + t[k + 1, k + 1], np.sqrt(square.real + 0j if real else square)
            if half.real * root.real + half.imag * root.imag < 0:
                root = -root
            f = half + root
            r = math.hypot(abs(f), abs(c))
            f, g = f / r, c / r
            for j in range(n):
                one, two = t[k, j], t[k + 1, j]
                t[k, j], t[k + 1, j] = f.conjugate() * one + g.conjugate() * two, f * two - g * one
                one, two = q[k, j], q[k + 1, j]
                q[k, j], q[k + 1, j] = f * one + g * two, f.conjugate() * two - g.conjugate() * one
            for i in range(k + 2):
                one, two = t[i, k], t[i, k + 1]
                t[i, k], t[i, k + 1] = f * one + g * two, f.conjugate() * two - g.conjugate() * one
            t[k, k], t[k + 1, k + 1], t[k + 1, k] = mean + root, mean - root, 0
        scale = schur[b, 1, 0].real if n else 1.0
        for k in range(n):
            out[b, 0, k] = t[k, k] / scale
        if height == 0:
            continue
        for k in range(n):  # T y = T[k, k] y, from below
            row, value = y[k], t[k, k]
            for j in range(n):
                row[j] = 0
            row[k] = 1
            for i in range(k - 1, -1, -1):
                mine, total = t[i], 0j
                for j in range(i + 1, k + 1):
                    total -= mine[j] * row[j]
                gap = mine[i] - value
                row[i] = total / (gap if abs(gap) > eps * norm else eps * norm + 0j)
                if abs(row[i]) > 1e100:
                    for j in range(i, k + 1):
                        row[j] *= 1e-100
        v = np.dot(y, q)
        for k in range(n):
            row, wanted, best, total = v[k], out[b, 1 + k], 0, 0.0
            if real and t[k, k].imag < 0:
                for j in range(n):
                    wanted[j] = out[b, k, j].conjugate()
                continue
            for j in range(n):
                row[j] *= schur[b, 0, j].real
                if abs(row[j]) > abs(row[best]):
                    best = j
            lead = row[best]
            for j in range(n):
                value = row[j] / lead
                row[j] = value.real + 0j if real and t[k, k].imag == 0 else value
                total += row[j].real * row[j].real + row[j].imag * row[j].imag
            total = math.sqrt(total)
            for j in range(n):
                wanted[j] = row[j] / total
"""


def _of_eig(out: Var, dout: Var, x: Var, schur: Var) -> Var:  # noqa: ARG001
    """V^-H (diag(dL) + (V^H dV - V^H V Re diag(V^H dV)) / conj(L_j - L_i)) V^H."""
    n, vectors = x.shape[-1], out.shape[1] > 1
    (w, v), (dw, dv) = _parts(out if vectors else _packed(x, n)), _parts(dout)
    turned = adjoint_of(v) * dw[:, :, None]
    if vectors:
        same, inner = eye(n, dtype="bool"), matmul(adjoint_of(v), dv)
        length = inner.keep_where(same).sum(1).apply(REAL)  # vectors keep length 1
        inner = (inner - matmul(adjoint_of(v), v) * length[:, None]).where_not(same, 0)
        turned = turned + matmul(quotient(inner, (w[:, None] - w[:, :, None]).conj()), adjoint_of(v))
    answer = solve(adjoint_of(v), turned)
    return answer if x.dtype.kind == "c" else answer.apply(REAL)


HESSENBERG = by_dtype("hessenberg", RAISES + REFLECTIONS)
FRANCIS = by_dtype("francis", RAISES + FRANCIS_STEPS)
EIGENVECTORS = by_dtype("eigenvectors", SUBSTITUTION, (_of_eig, None))


@castable
def eig(A: Any) -> EigResult:
    """Eigenvalues and eigenvectors of a square matrix, as complex numbers; `eigh` is faster where A is Hermitian.

        A V = V diag(L)

    Eigenvectors have length 1, and their largest number is real and above 0; a loss must not ask for that phase. Where
    eigenvalues are equal, the gradient through their vectors divides by 0 and is inf or nan, as in PyTorch; a matrix
    that has no n vectors of its own has no gradient.

    Args:
        A: (..., n, n).

    Returns:
        (eigenvalues, eigenvectors): (..., n), in no order, and (..., n, n), in columns.

    Raises:
        ShapeError: no square matrices.
        LinAlgError: inf or nan in a matrix, or no end of the steps.

    Example:
        >>> w, v = eig(array([[0.0, -2.0], [2.0, 0.0]]))
        >>> w.numpy(), (v.conj() * v).sum(0).numpy().real.round(3)
        (array([0.+2.j, 0.-2.j], dtype=complex64), array([1., 1.], dtype=float32))
    """
    x, dtype, lead = _wide("eig", A)
    n = x.shape[-1]
    w, v = _parts(kept(_packed(x, n)))
    return EigResult(w.reshape(*lead, n).cast(dtype), v.reshape(*lead, n, n).cast(dtype))


@castable
def eigvals(A: Any) -> Var:
    """Eigenvalues of a square matrix, as complex numbers in no order; `eigvalsh` is faster where A is Hermitian.

    Args:
        A: (..., n, n).

    Raises:
        ShapeError: no square matrices.
        LinAlgError: inf or nan in a matrix, or no end of the steps.

    Example:
        >>> eigvals(array([[0.0, -2.0], [2.0, 0.0]])).numpy()
        array([0.+2.j, 0.-2.j], dtype=complex64)
    """
    x, dtype, lead = _wide("eigvals", A)
    return _parts(_packed(x, 0))[0].reshape(*lead, x.shape[-1]).cast(dtype)


def _wide(name: str, A: Any) -> tuple[Var, DType, Shape]:
    """A batch of A with 64 bits a number, the dtype of the answer, and the shape of the batch."""
    v = matrices(name, A)
    x, lead = batch_of(v.cast(complex128 if v.dtype.kind == "c" else float64))
    return x, complex128 if v.dtype in (float64, complex128) else complex64, lead


def _packed(x: Var, many: int) -> Var:
    """(batch, 1 + many, n): the eigenvalues, and all n eigenvectors in rows, or none of them."""
    b, n, _ = x.shape
    shape = (2 + n + many, n)
    schur = of_batch(FRANCIS, of_batch(HESSENBERG, x, *shape), *shape).cast(complex128)
    return EIGENVECTORS(x, schur, shape=(b, 1 + many, n), dtype=complex128, span=b)


def _parts(packed: Var) -> tuple[Var, Var]:
    return packed[:, 0], matrix_transpose(packed[:, 1:])
