"""Singular values."""

from __future__ import annotations

from typing import Any

from jt_edu.linalg.matrices import RAISES, batch_of, by_dtype, matrices
from jt_edu.variable.var import Var

__all__ = ["svd", "svdvals"]
BIDIAGONAL = by_dtype("bidiagonal", RAISES + """
def kernel(lo, hi, x, out):
    m, n = x.shape[1], x.shape[2]
    vectors = out.shape[1] > 2 * n
    start = 2 * n + n * n if vectors else 2 * n
    height = (out.shape[1] - start) // max(m, 1)
    small = np.finfo({real}).tiny / np.finfo({real}).eps
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
        scale = math.ldexp(1.0, min(-math.frexp(largest)[1], 1000))  # exact: the largest number becomes about 1
        rest = {real}(0)
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
            size = abs(corner)
            if rest > small:
                norm = {real}(math.sqrt(rest + size * size))
                far = corner * (norm / size) if size > 0 else {dtype}(norm)
                beta = {real}(1) / (norm * (norm + size))
            betas[0, k], turns[0, k] = beta, -far if beta > 0 else corner
            row[k] = corner + far
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
            first, beta, far, corner = beta, {real}(0), {dtype}(0), v[0] if many else {dtype}(0)
            size = abs(corner)
            if rest > small:
                norm = {real}(math.sqrt(rest + size * size))
                far = corner * (norm / size) if size > 0 else {dtype}(norm)
                beta = {real}(1) / (norm * (norm + size))
            betas[1, k], turns[1, k] = beta, -far if beta > 0 else corner
            if many:
                v[0] = corner + far
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
        for k in range(n):
            for side in range(2):
                size = abs(turns[side, k])
                out[b, k + n * side] = size
                phase = turns[side, k] / size if size > 0 else {dtype}(1)
                turns[side, k] = turn
                turn *= phase if side == 0 else phase.conjugate()
        if n:
            out[b, 2 * n - 1] = scale
        for side in range(2 if vectors else 0):
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
""")  # fmt: skip
GOLUB_KAHAN = by_dtype("golub_kahan", RAISES + """
def kernel(lo, hi, x, bidiagonal, out):
    m, n, length = x.shape[1], x.shape[2], out.shape[1]
    start = 2 * n + n * n if length > 2 * n else 2 * n
    d, e = scratch(n, np.float64), scratch(n, np.float64)
    eps, none = np.finfo({real}).eps, 1e-140
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
            while first > 0 and abs(e[first - 1]) > eps * (abs(d[first - 1]) + abs(d[first])) + none:
                first -= 1
            if first == last:
                last, trial = last - 1, 0
                continue
            trial += 1
            if trial > 60:
                raise LinAlgError("singular values are found step by step", "no end after 60 steps for one of them")
            for i in range(first, last + 1):
                if abs(d[i]) < none:
                    d[i] = shift = 0.0
            f, g, h = abs(d[last - 1]), e[last - 1], abs(d[last])
            f = (math.sqrt((f + h) * (f + h) + g * g) + math.sqrt((f - h) * (f - h) + g * g)) / 2
            shift *= abs(d[last - 1]) / f * h
            f, g = d[first], e[first]
            if shift > 0:
                f = (abs(f) - shift) * (math.copysign(1.0, f) + shift / f)
            for i in range(first, last):
                for side in range(2):
                    r = math.sqrt(f * f + g * g)
                    c, s = (f / r, g / r) if r > none else (1.0, 0.0)
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
            if d[k] < 0 and len(right):
                for j in range(n * parts):
                    right[k, j] = -right[k, j]
            d[i], d[k] = abs(d[k]), d[i]
            wanted[i] = d[i] / scale
            for side in range(2 if k != i and len(right) else 0):
                rows = left if side else right
                above, below = rows[i], rows[k]
                for j in range(rows.shape[1]):
                    above[j], below[j] = below[j], above[j]
""")  # fmt: skip


def packed(x, size):
    b, _, n = x.shape
    shape = (b, 2 * n + size)
    t = BIDIAGONAL(x, shape=shape, dtype=x.dtype, span=b)
    return GOLUB_KAHAN(x, t, shape=shape, dtype=x.dtype, span=b)


def svd(A: Any, full_matrices: bool = True):
    x, lead = batch_of(matrices("svd", A, square=False))
    b, m, n = x.shape
    wide = n > m
    if wide:
        x = x.transpose(0, 2, 1).conj()
        m, n = n, m
    p = m if full_matrices else n
    q = packed(x, n * n + p * m)
    q.node.holders += 1
    S = q[:, :n].real()
    Vh = q[:, 2 * n : 2 * n + n * n].reshape(b, n, n)
    U = q[:, 2 * n + n * n :].reshape(b, p, m)
    if wide:
        return Vh.transpose(0, 2, 1).conj(), S, U.conj()
    return U.transpose(0, 2, 1), S, Vh


def svdvals(A: Any):
    x, lead = batch_of(matrices("svdvals", A, square=False))
    if x.shape[1] < x.shape[2]:
        x = x.transpose(0, 2, 1).conj()
    n = x.shape[2]
    return packed(x, 0)[:, :n].real().reshape(*lead, n)
