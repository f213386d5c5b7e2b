"""Distances of every row of one matrix from every row of another.

Of order 2, the usual one, a kernel by hand takes them in blocks. It is as fast as |x|^2 + |y|^2 - 2xy by a product of
matrices, which loses the digits of points that are near to each other: 10^-4 of a distance among 1,000 points.
"""

from __future__ import annotations

import math
from typing import Any

from jt_edu.base.dtypes import float32, float64, promote
from jt_edu.base.errors import DtypeError, ShapeError
from jt_edu.ir.builders import broadcast_shape
from jt_edu.ops import gpu_rows
from jt_edu.ops.arguments import number
from jt_edu.ops.custom_kernel import Rows, kernel
from jt_edu.ops.dtype_rules import as_floats
from jt_edu.ops.reduce import mean, norm, sum
from jt_edu.ops.view import broadcast_to, reshape
from jt_edu.variable.autocast import castable
from jt_edu.variable.subgraph_cache import template
from jt_edu.variable.var import Var, as_var

FEW = 25  # rows up to which gradients are sums of differences; of more they are products, as in PyTorch
WIDE = 128  # rows of y in a block
# Two rows of x meet a block of y: WIDE rows and 64 coordinates, turned, so that neighbours are rows of y. Coordinates
# go in steps of eight, the last of which is filled up with zeros.
TEXT = """
from jt_edu.backends.mathlib import at, block, {dtype}, sqrt


def kernel(lo, hi, x, y, out):
    n, shared = x.shape[1:]
    m, parts = y.shape[1], -(-y.shape[1] // {wide})
    turned = scratch(64 * {wide}, np.{dtype})
    near, other, first, second = block(out), block(out), block(out), block(out)
    for unit in range(lo, hi):
        cloud, begin = unit // parts, unit % parts * {wide}
        count = min({wide}, m - begin)
        for start in range(0, shared, 64):
            size = min(64, shared - start)
            for k in range(64 * {wide}):
                turned[at(k)] = 0
            for j in range(count):
                for k in range(size):
                    turned[at(k * {wide} + j)] = y[at(cloud), at(begin + j), at(start + k)]
            for i in range(0, n, 2):
                below = min(i + 1, n - 1)
                for k in range(size):
                    near[at(k)] = x[at(cloud), at(i), at(start + k)]
                    other[at(k)] = x[at(cloud), at(below), at(start + k)]
                for k in range(size, 64):
                    near[at(k)] = other[at(k)] = 0
                for j in range({wide}):
                    first[at(j)] = second[at(j)] = 0
                for k in range(0, size, 8):
                    for j in range({wide}):
                        one = two = {dtype}(0)
                        for q in range(8):
                            point = turned[at((k + q) * {wide} + j)]
                            one += (near[at(k + q)] - point) * (near[at(k + q)] - point)
                            two += (other[at(k + q)] - point) * (other[at(k + q)] - point)
                        first[at(j)] += one
                        second[at(j)] += two
                if start > 0:
                    for j in range(count):
                        first[at(j)] += out[at(cloud), at(i), at(begin + j)]
                        second[at(j)] += out[at(cloud), at(below), at(begin + j)]
                for j in range(count):
                    out[at(cloud), at(i), at(begin + j)] = first[at(j)]
                for j in range(count):
                    out[at(cloud), at(below), at(begin + j)] = second[at(j)]
        for i in range(n):
            for j in range(count):
                out[at(cloud), at(i), at(begin + j)] = sqrt(out[at(cloud), at(i), at(begin + j)])
"""


def _pull(out: Var, d: Var) -> Var:
    """How much each pair draws: not at all from one that is in the same place, as in PyTorch."""
    return (d / out.where_not(out == 0, 1)).where_not(out == 0, 0)


def _drawn(pull: Var, x: Var, y: Var) -> Var:
    """The gradient of each row of x: towards or away from all rows of y."""
    if max(pull.shape[-2:]) <= FEW:
        return sum(pull.unsqueeze(-1) * (x.unsqueeze(-2) - y.unsqueeze(-3)), -2)
    middle = mean(y, -2, True).detach()  # it makes no difference, but numbers around 0 lose fewer digits
    return (x - middle) * sum(pull, -1, True) - pull @ (y - middle)


def _by_x(out: Var, d: Var, x: Var, y: Var) -> Var:
    return _drawn(_pull(out, d), x, y)


def _by_y(out: Var, d: Var, x: Var, y: Var) -> Var:
    return _drawn(_pull(out, d).transpose(-1, -2), y, x)


THREADS = """
n, m, total = out.shape[1], out.shape[2], np.{dtype}(0)
for k in range(x.shape[2]):
    apart = x[e // (n * m), e // m % n, k] - y[e // (n * m), e % m, k]
    total += apart * apart
out[e // (n * m), e // m % n, e % m] = math.sqrt(total)
"""
APART = {
    kind: kernel(
        "distances", TEXT.format(dtype=kind, wide=WIDE), (_by_x, _by_y), 100, Rows,
        gpu_rows.elements(THREADS.strip().format(dtype=kind), "x, y"),
    )
    for kind in (float32, float64)
}  # fmt: skip


@castable
@template
def cdist(x: Any, y: Any, p: float = 2.0) -> Var:
    """Distance of every row of x from every row of y.

        out[..., i, j] = (sum over k of |x[..., i, k] - y[..., j, k]|**p)**(1/p)

    Args:
        x, y: (..., n, k) and (..., m, k).
        p: the order of the distance, from 0 (how many coordinates differ) to inf (the largest difference).

    Example:
        >>> cdist(array([[0.0, 0.0]]), array([[3.0, 4.0], [0.0, 1.0]])).numpy()
        array([[5., 1.]], dtype=float32)
    """
    a, b = _floats("cdist", x), _floats("cdist", y)
    if min(a.ndim, b.ndim) < 2 or a.shape[-1] != b.shape[-1]:
        raise ShapeError(
            "cdist takes rows of the same length, (..., n, k) and (..., m, k)", f"shapes {a.shape} and {b.shape}"
        )
    order = number("cdist", "p", p, 0)
    if order == 2 and 0 not in (*a.shape, *b.shape):
        return _of_order_2(a, b)
    apart = a.unsqueeze(-2) - b.unsqueeze(-3)
    return norm(apart, order, -1) if a.shape[-1] else sum(apart, -1)  # the same places have no largest difference


def _of_order_2(a: Var, b: Var) -> Var:
    kind, lead = promote(a.dtype, b.dtype), broadcast_shape("cdist", a.shape[:-2], b.shape[:-2])
    batch, n, m = math.prod(lead), a.shape[-2], b.shape[-2]
    sides = (broadcast_to(v.cast(kind), (*lead, *v.shape[-2:])) for v in (a, b))
    left, right = (reshape(v, batch, *v.shape[-2:]) for v in sides)
    distances = APART[float64 if kind == float64 else float32]
    return reshape(distances(left, right, shape=(batch, n, m), dtype=kind, span=batch * -(-m // WIDE)), *lead, n, m)


def _floats(name: str, value: Any) -> Var:
    x = as_var(value)
    if x.dtype.kind == "c":
        raise DtypeError(f"{name} works on real numbers", f"dtype {x.dtype}", "x.real and x.imag as coordinates")
    return as_floats(x)
