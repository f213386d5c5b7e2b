"""Singular values: A = U diag(S) V^H, with U and V unitary, and S real, falling, and not below 0.

    x x x x         x x                 s
    x x x x           x x                 s
    x x x x   ->        x x     ->          s
    x x x x               x                   s
    x x x x
        reflections from      rotations from both sides, until nothing
        both sides            is left beside the diagonal

A wide matrix is the adjoint of a tall one. One pass over the matrix does all that a column asks for: it applies the
two reflections and adds up what the next one needs, the product of the adjoint with the next column. The rows that the
rotations turn are those of V^H and U^T.

Source: Golub and Kahan 1965, "Calculating the singular values and pseudo-inverse of a matrix"; Golub and Van Loan,
"Matrix Computations", 4th edition, 8.6. The gradient: Wan and Zhang 2019, "Automatic differentiation for complex valued
SVD" (arXiv:1909.02659).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from jt_edu.ir.node import Shape
from jt_edu.ir.scalar_ops import IMAG, REAL
from jt_edu.linalg.matrices import RAISES, adjoint_of, batch_of, by_dtype, halves, kept, matrices, of_batch
from jt_edu.linalg.spectral import quotient, skew
from jt_edu.ops.arguments import yes_or_no
from jt_edu.ops.matmul import matmul
from jt_edu.ops.transpose import matrix_transpose
from jt_edu.variable.autocast import castable
from jt_edu.variable.var import Var

__all__ = ["svd", "svdvals"]


class SVDResult(NamedTuple):
    """A = U diag(S) Vh: singular vectors of the left in columns, singular values, those of the right in rows."""

    U: Var
    S: Var
    Vh: Var


REFLECTIONS = """
def kernel(lo, hi, x, out):
    m, n = x.shape[1], x.shape[2]
    vectors = out.shape[1] > 2 * n
    start = 2 * n + n * n if vectors else 2 * n
    height = (out.shape[1] - start) // max(m, 1)
    # the square of a smaller number is 0 or has lost digits, so such numbers count as 0
    small = math.sqrt(np.finfo({real}).tiny / np.finfo({real}).eps)
    work, u = scratch(m * n, {dtype}).reshape(m, n), scratch(m, {dtype})
    w, sums = scratch(n, {dtype}), scratch(n, {dtype})
    betas, turns = scratch(2 * n, {real}).reshape(2, n), scratch(2 * n, {dtype}).reshape(2, n)
    for b in range(lo, hi):
        largest, wrong = {real}(0), {real}(0)
        for i in range(m):
            for j in range(n):
                size = abs(x[b, i, j])
                largest = max(largest, size)
                wrong += size - size
        if wrong != 0:
            raise LinAlgError("singular values are those of finite numbers", "inf or nan in a matrix")
        scale = math.ldexp(1.0, min(-math.frexp(largest)[1], {limit}))  # exact: the largest number becomes about 1
        rest = {real}(0)  # of the next column, its first number left out: sum |x|^2; sums: its product with all columns
        for j in range(n):
            sums[j] = 0
        for i in range(m if n else 0):
            row, found = work[i], x[b, i]
            for j in range(n):
                row[j] = found[j] * scale
            lead = row[0].conjugate()
            for j in range(n):
                sums[j] += lead * row[j]
            if i:
                rest += (lead * row[0]).real
        left, right = out[b, start:].reshape(height, m), out[b, 2 * n : start].reshape(n if vectors else 0, n)
        for k in range(n):
            row, many = work[k], n - k - 1
            v, across, after = row[k + 1 :], w[k + 1 :], sums[k + 1 :]
            beta, far, corner = {real}(0), {dtype}(0), row[k]
            if rest > small * small:
                size = abs(corner)
                phase, size = (corner / size, size) if size > small else ({dtype}(1), {real}(0))
                norm = {real}(math.sqrt(rest + size * size))
                beta = {real}(1) / (norm * (norm + size))
                row[k], far, corner = phase * (norm + size), phase * (norm + size) - corner, -phase * norm
            betas[0, k], turns[0, k] = beta, corner
            if vectors:
                for i in range(k, m):
                    left[k, i] = work[i, k]
            lead, rest = row[k] * beta, {real}(0)
            for j in range(many):
                across[j] = after[j] + far.conjugate() * v[j]
                after[j] = 0
                v[j] -= lead * across[j]
                if j:
                    rest += v[j].real * v[j].real + v[j].imag * v[j].imag
            first, beta, corner = beta, {real}(0), v[0] if many else {dtype}(0)
            if rest > small * small:
                size = abs(corner)
                phase, size = (corner / size, size) if size > small else ({dtype}(1), {real}(0))
                norm = {real}(math.sqrt(rest + size * size))
                beta = {real}(1) / (norm * (norm + size))
                v[0], corner = phase * (norm + size), -phase * norm
            betas[1, k], turns[1, k] = beta, corner
            if vectors:
                for j in range(many):
                    right[k, k + 1 + j] = v[j]
            rest = {real}(0)
            for i in range(k + 1, m if many else 0):
                other, lead, product = work[i, k + 1 :], work[i, k] * first, {dtype}(0)
                for j in range(many):
                    value = other[j] - lead * across[j]
                    other[j] = value
                    product += value * v[j].conjugate()
                product *= beta
                lead = (other[0] - product * v[0]).conjugate()
                for j in range(many):
                    value = other[j] - product * v[j]
                    other[j] = value
                    after[j] += lead * value
                if i > k + 1:
                    rest += (lead * other[0]).real
        turn = {dtype}(1)
        for k in range(n):  # phases that make all numbers real
            for side in range(2):
                size = abs(turns[side, k])
                out[b, k + n * side] = size
                phase = turns[side, k] / size if size > small else {dtype}(1)
                turns[side, k] = turn
                turn *= phase if side == 0 else phase.conjugate()
        if n:
            out[b, 2 * n - 1] = scale
        for side in range(2 if vectors else 0):  # the product of all reflections of a side, from the last one on
            basis = right if side else left
            high, width = basis.shape
            for k in range(high - 1, -1, -1):
                row, away = basis[k], k + side
                for j in range(away, width):
                    u[j] = row[j]
                for j in range(width):
                    row[j] = 0
                row[k] = 1
                beta = betas[side, k] if k < n else {real}(0)
                here = u[away:width]
                for i in range(away, high if beta > 0 else 0):
                    other, product = basis[i, away:], {dtype}(0)
                    for j in range(width - away):
                        product += other[j] * here[j].conjugate()
                    product *= beta
                    for j in range(width - away):
                        other[j] -= product * here[j]
            for k in range(n):
                row, turn = basis[k], turns[0, k].conjugate() if side else turns[1, k]
                for j in range(width):
                    row[j] *= turn
"""
ROTATIONS = """
def kernel(lo, hi, x, bidiagonal, out):
    m, n, length = x.shape[1], x.shape[2], out.shape[1]
    start = 2 * n + n * n if length > 2 * n else 2 * n
    d, e = scratch(n, np.float64), scratch(n, np.float64)
    eps, negligible = np.finfo({real}).eps, 1e-140
    for b in range(lo, hi):
        found, wanted = bidiagonal[b], out[b]
        for j in range(length):
            wanted[j] = found[j]
        flat = wanted.view({real})
        parts = len(flat) // max(length, 1)
        right = flat[2 * n * parts : start * parts].reshape((start - 2 * n) // max(n, 1), n * parts)
        left = flat[start * parts :].reshape((length - start) // max(m, 1), m * parts)
        for j in range(n):
            d[j], e[j] = found[j].real, found[n + j].real
        scale = e[n - 1] if n else 1.0
        last, trial = n - 1, 0
        while last >= 0:
            first, shift = last, 1.0
            while first > 0 and abs(e[first - 1]) > eps * (abs(d[first - 1]) + abs(d[first])) + negligible:
                first -= 1
            if first == last:
                last, trial = last - 1, 0
                continue
            trial += 1
            if trial > 60:
                raise LinAlgError("singular values are found step by step", "no end after 60 steps for one of them")
            for i in range(first, last + 1):
                if abs(d[i]) < negligible:  # 0 is a singular value, so it is the shift
                    d[i] = shift = 0.0
            # else the shift is the smaller singular value of the last two rows
            f, g, h = abs(d[last - 1]), e[last - 1], abs(d[last])
            f = (math.sqrt((f + h) * (f + h) + g * g) + math.sqrt((f - h) * (f - h) + g * g)) / 2
            shift *= abs(d[last - 1]) / f * h
            f, g = d[first], e[first]
            if shift > 0:
                f = (abs(f) - shift) * (math.copysign(1.0, f) + shift / f)
            for i in range(first, last):
                for side in range(2):
                    r = math.sqrt(f * f + g * g)
                    c, s = (f / r, g / r) if r > negligible else (1.0, 0.0)
                    if side == 0:
                        if i > first:
                            e[i - 1] = r
                        f, e[i] = c * d[i] + s * e[i], c * e[i] - s * d[i]
                        g, d[i + 1] = s * d[i + 1], c * d[i + 1]
                    else:
                        d[i] = r
                        f, d[i + 1] = c * e[i] + s * d[i + 1], c * d[i + 1] - s * e[i]
                        if i < last - 1:
                            g, e[i + 1] = s * e[i + 1], c * e[i + 1]
                    rows = left if side else right
                    if len(rows):
                        above, below, cos, sin = rows[i], rows[i + 1], {real}(c), {real}(s)
                        for j in range(rows.shape[1]):
                            one, two = above[j], below[j]
                            above[j] = cos * one + sin * two
                            below[j] = cos * two - sin * one
            e[last - 1] = f
        for i in range(n):
            k = i
            for j in range(i + 1, n):
                if abs(d[j]) > abs(d[k]):
                    k = j
            d[i], d[k] = abs(d[k]), d[i]  # rotations keep the sign of their product
            wanted[i] = d[i] / scale
            for side in range(2 if k != i and len(right) else 0):
                rows = left if side else right
                above, below = rows[i], rows[k]
                for j in range(rows.shape[1]):
                    above[j], below[j] = below[j], above[j]
"""


def _of_svd(out: Var, dout: Var, x: Var, bidiagonal: Var) -> Var:  # noqa: ARG001
    """What turns vectors into each other, stretches them, and (of U) leads out of the space that they span."""
    _, m, n = x.shape
    vectors = out.shape[1] > 2 * n
    u, s, vh = _parts(out if vectors else _packed(x, n), m, n)
    u, ds = u[:, :, :n], dout[:, :n].apply(REAL)
    turned = u * ds[:, None]
    if vectors:
        du, _, dvh = _parts(dout, m, n)
        du = du[:, :, :n]
        gap = (s[:, None] - s[:, :, None]) * (s[:, None] + s[:, :, None])
        left, right = skew(matmul(adjoint_of(u), du)), skew(matmul(vh, adjoint_of(dvh)))
        turned = turned + matmul(u, quotient(left, gap) * s[:, None] + quotient(right, gap) * s[:, :, None])
        if x.dtype.kind == "c":
            turned = turned + u * (quotient((u.conj() * du).sum(1).apply(IMAG), s) * 1j)[:, None]
        if m > n:
            away = quotient(du, s[:, None])
            turned = turned + away - matmul(u, matmul(adjoint_of(u), away))
    return matmul(turned, vh)


BIDIAGONAL = by_dtype("bidiagonal", RAISES + REFLECTIONS)
GOLUB_KAHAN = by_dtype("golub_kahan", RAISES + ROTATIONS, (_of_svd, None))


@castable
@halves
def svd(A: Any, full_matrices: bool = True) -> SVDResult:
    """Singular value decomposition.

        A = U diag(S) Vh,    U^H U = 1,    Vh Vh^H = 1

    Singular vectors have no sign of their own (complex ones no phase), so a loss must not ask for it, nor for the
    columns of U or rows of Vh that A does not reach. Where singular values are equal, or 0 in a matrix that is not
    square, the gradient through their vectors divides by 0 and is inf or nan, as in PyTorch; through S it is finite.

    Args:
        A: (..., m, n).
        full_matrices: U is (..., m, m) and Vh (..., n, n); False: (..., m, k) and (..., k, n), k the smaller of both.

    Returns:
        (U, S, Vh); S is (..., k), real and falling.

    Raises:
        ShapeError: no matrices.
        LinAlgError: inf or nan in a matrix.

    Example:
        >>> u, s, vh = svd(array([[3.0, 0.0], [4.0, 5.0], [0.0, 0.0]]), full_matrices=False)
        >>> (s**2).numpy().round(3), (u * s @ vh).numpy().round(3)
        (array([45.,  5.], dtype=float32), array([[3., 0.],
               [4., 5.],
               [0., 0.]], dtype=float32))
    """
    x, wide, lead = _tall("svd", A)
    _, m, n = x.shape
    u, s, vh = _parts(kept(_packed(x, m if yes_or_no("svd", "full_matrices", full_matrices) else n)), m, n)
    u, vh = (adjoint_of(vh), adjoint_of(u)) if wide else (u, vh)
    return SVDResult(*(v.reshape(*lead, *v.shape[1:]) for v in (u, s, vh)))


@castable
@halves
def svdvals(A: Any) -> Var:
    """Singular values, falling. Their gradient is finite, also where some are equal or 0.

    Args:
        A: (..., m, n).

    Raises:
        ShapeError: no matrices.
        LinAlgError: inf or nan in a matrix.

    Example:
        >>> svdvals(array([[3.0, 0.0], [0.0, -4.0]])).numpy()
        array([4., 3.], dtype=float32)
    """
    x, _, lead = _tall("svdvals", A)
    n = x.shape[-1]
    return _packed(x, None)[:, :n].apply(REAL).reshape(*lead, n)


def _tall(name: str, A: Any) -> tuple[Var, bool, Shape]:
    """A, or its adjoint if A is wide, as (batch, m, n) with m >= n; whether A is wide; the lengths put together."""
    v = matrices(name, A, square=False)
    wide = v.shape[-2] < v.shape[-1]
    x, lead = batch_of(adjoint_of(v) if wide else v)
    return x, wide, lead


def _packed(x: Var, many: int | None) -> Var:
    """S, n numbers for kernels only, V^H (n, n), `many` rows of U^T, one after the other; None: only the first two."""
    _, m, n = x.shape
    length = 2 * n + (0 if many is None else n * n + many * m)
    return of_batch(GOLUB_KAHAN, (x, of_batch(BIDIAGONAL, x, length)), length)


def _parts(packed: Var, m: int, n: int) -> tuple[Var, Var, Var]:
    """U (batch, m, many), S (batch, n) and V^H (batch, n, n), cut out of what `_packed` returned."""
    b, start = len(packed), 2 * n + n * n
    u = packed[:, start:].reshape(b, (packed.shape[1] - start) // max(m, 1), m)
    return matrix_transpose(u), packed[:, :n].apply(REAL), packed[:, 2 * n : start].reshape(b, n, n)
