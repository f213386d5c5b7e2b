"""Symmetric eigenvalues."""

from __future__ import annotations

from typing import Any

from jt_edu.base.dtypes import real_of
from jt_edu.linalg.matrices import RAISES, batch_of, by_dtype, matrices
from jt_edu.variable.var import Var

TRIDIAGONAL = by_dtype("tridiagonal", RAISES + """
def kernel(lo, hi, x, out):
    n = x.shape[1]
    work = scratch(n * n, {dtype}).reshape(n, n)
    spare = scratch(4 * n, {dtype}).reshape(4, n)
    betas = scratch(n, {real})
    small = np.finfo({real}).tiny / np.finfo({real}).eps
    edges = spare[3]
    for b in range(lo, hi):
        largest, wrong = {real}(0), {real}(0)
        for i in range(n):
            for j in range(i + 1):
                size = abs(x[b, i, j])
                largest = max(largest, size)
                wrong += size - size
        if wrong != 0:
            raise LinAlgError("eigh takes finite numbers", "inf or nan")
        scale = math.ldexp(1.0, min(-math.frexp(largest)[1], 1000))  # exact: the largest number becomes about 1
        for i in range(n):
            for j in range(i):
                value = {dtype}(x[b, i, j] * scale)
                work[i, j] = value
                work[j, i] = value.conjugate()
            work[i, i] = x[b, i, i].real * scale
        u, q, p = spare[0], spare[1], spare[2]
        for j in range(n):
            u[j] = q[j] = 0
        for k in range(n - 1, -1, -1):
            row, a, c = work[k], u[k].conjugate(), q[k].conjugate()
            for j in range(k + 1):
                row[j] -= a * q[j] + c * u[j]
            out[b, 0, k] = row[k].real
            if k == 0:
                break
            total = {real}(0)
            for j in range(k - 1):
                total += row[j].real * row[j].real + row[j].imag * row[j].imag
            corner = row[k - 1]
            size = abs(corner)
            beta = {real}(0)
            if total > small:
                norm = {real}(math.sqrt(total + size * size))
                far = corner * (norm / size) if size > 0 else {dtype}(norm)
                beta = {real}(1) / (norm * (norm + size))
                row[k - 1] = corner + far
                corner = -far
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
        for k in range(1, n):
            size = abs(edges[k])
            out[b, 1, k - 1] = size
            turn = turn * edges[k] / size if size > 0 else turn
            edges[k] = turn
        if n:
            out[b, 1, n - 1] = scale
        if out.shape[1] == 2:
            continue
        basis = out[b, 2:]
        for k in range(n):
            for j in range(n):
                basis[k, j] = 0
            basis[k, k] = 1
            beta, row = betas[k], work[k]
            if k == 0 or beta == 0:
                continue
            for i in range(k):
                other, product = basis[i], {dtype}(0)
                for j in range(k):
                    product += other[j] * row[j].conjugate()
                product *= beta
                for j in range(k):
                    other[j] -= product * row[j]
        for k in range(1, n):
            other, turn = basis[k], edges[k]
            for j in range(n):
                other[j] *= turn
""")  # fmt: skip
QL = by_dtype("implicit_ql", RAISES + """
def kernel(lo, hi, x, out):
    n, height = x.shape[2], x.shape[1] - 2
    d, e = scratch(n, np.float64), scratch(n, np.float64)
    eps, none = np.finfo({real}).eps, 1e-140
    for b in range(lo, hi):
        for j in range(n):
            d[j], e[j] = x[b, 0, j].real, x[b, 1, j].real
        scale = e[n - 1] if n else 1.0
        for i in range(height):
            found, wanted = x[b, i + 2], out[b, i + 2]
            for j in range(n):
                wanted[j] = found[j]
        rows = out[b, 2:].reshape(height * n).view({real}).reshape(height, -1)
        width = rows.shape[1]
        for first in range(n):
            for trial in range(60):
                last = first
                while last < n - 1 and abs(e[last]) > eps * (abs(d[last]) + abs(d[last + 1])) + none:
                    last += 1
                if last == first:
                    break
                g = (d[first + 1] - d[first]) / (2 * e[first])
                r = math.sqrt(g * g + 1)
                g = d[last] - d[first] + e[first] / (g + r if g > 0 else g - r)
                s, c, p = 1.0, 1.0, 0.0
                for i in range(last - 1, first - 1, -1):
                    f, h = s * e[i], c * e[i]
                    r = math.sqrt(f * f + g * g)
                    e[i + 1] = r
                    if r < none:
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
                if r < none: 
                    d[i + 1] -= p
                    e[last] = e[i+1] = 0
                    continue
                d[first] -= p
                e[first], e[last] = g, 0.0
            else:
                raise LinAlgError("eigh", "no convergence")
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
""")  # fmt: skip


def eigh(A: Any, UPLO: str = "L"):
    x, lead = batch_of(matrices("eigh", A))
    b, n, _ = x.shape
    t = TRIDIAGONAL(x, shape=(b, n + 2, n), dtype=x.dtype, span=b)
    q = QL(t, shape=(b, n + 2, n), dtype=x.dtype, span=b)
    q.node.holders += 1
    return q[:, 0].real(), q[:, 2:].transpose(0, 2, 1)
