"""K nearest neighbours: of each query the points that are nearest to it.

Indices come from a kernel by hand: distances to all points side by side, in vectors, then one look at each with the
k-th best in a register, which almost none beats. What is kept is a short list in order. Distances are then computed
from the indices, so they have gradients, and points far from the origin lose no digits, as |x|^2 + |y|^2 - 2xy would.
"""

from __future__ import annotations

import math
from typing import Any

from jt_edu.base.dtypes import float32, float64, int64
from jt_edu.base.errors import ShapeError
from jt_edu.ir.index_expr import counter, load
from jt_edu.ops.arguments import whole
from jt_edu.ops.custom_kernel import kernel
from jt_edu.ops.index import gathered
from jt_edu.ops.index_parsing import Brackets
from jt_edu.ops.reduce import sum
from jt_edu.ops.view import reshape
from jt_edu.variable.var import Var, as_var

TEXT = """
def kernel(lo, hi, query, points, out):
    batch, m, axes = points.shape
    k, each = out.shape[1], len(query) // max(batch, 1)
    far, best, turned = scratch(m, np.{dtype}), scratch(k, np.{dtype}), scratch(m * axes, np.{dtype}).reshape((axes, m))
    end = lo
    for i in range(lo, hi):
        if i == end:  # of a cloud: turn the next one, so that its numbers along an axis lie side by side
            cloud, end = points[i // each], i - i % each + each
            for j in range(m):
                for a in range(axes):
                    turned[a, j] = cloud[j, a]
        for j in range(m):
            far[j] = 0
        for a in range(axes):
            at = query[i, a]
            for j in range(m):
                far[j] += (at - turned[a, j]) * (at - turned[a, j])
        known, limit = 0, np.inf
        for j in range(m):
            if far[j] < limit or (known < k and not far[j] < limit):  # nan is as far as can be
                place = min(known, k - 1)
                while place > 0 and far[j] < best[place - 1]:
                    best[place], out[i, place] = best[place - 1], out[i, place - 1]
                    place -= 1
                best[place], out[i, place] = far[j] if far[j] == far[j] else np.inf, j
                known = min(known + 1, k)
                limit = best[k - 1] if known == k else np.inf
"""
NEAREST = {kind: kernel("nearest", TEXT.format(dtype=kind), weight=100) for kind in ("float32", "float64")}


def knn(unknown: Any, known: Any, k: int) -> tuple[Var, Var]:
    """The k points of `known` that are nearest to each point of `unknown`, the nearest first.

        distance[i, j] = sum over a of (unknown[i, a] - known[index[i, j], a])^2

    Args:
        unknown: queries, (n, axes), or (batch, n, axes) for as many clouds.
        known: points, (m, axes), or (batch, m, axes).
        k: how many; at most m.

    Returns:
        Squared distances and indices, (n, k) or (batch, n, k). Of two at one distance the first comes first. Distances
        have gradients, indices have none.

    Raises:
        ShapeError: they are no points of the same space. ArgumentError: k is not from 1 to m.

    Example:
        >>> points = array([[0.0, 0.0], [1.0, 0.0], [5.0, 5.0]])
        >>> distances, indices = knn(points, points, 2)
        >>> indices.tolist(), distances.tolist()
        ([[0, 1], [1, 0], [2, 1]], [[0.0, 1.0], [0.0, 1.0], [0.0, 41.0]])

    Source: Jittor's `jittor.misc.knn`.
    """
    queries, points = (x if (x := as_var(v)).dtype.is_float else x.cast(float32) for v in (unknown, known))
    alike = queries.ndim == points.ndim in (2, 3) and queries.shape[-1] == points.shape[-1]
    if not alike or queries.shape[:-2] != points.shape[:-2]:
        raise ShapeError("knn takes points (n, axes) and (m, axes), or a batch of both",
                         f"{queries.shape} and {points.shape}")  # fmt: skip
    lead, (n, axes), m = queries.shape[:-2], queries.shape[-2:], points.shape[-2]
    batch, many = math.prod(lead), whole("knn", "k", k, 1, m)
    kind = float64 if float64 in (queries.dtype, points.dtype) else float32
    rows, clouds = reshape(queries, batch * n, axes), reshape(points, batch, m, axes)
    found = NEAREST[kind](rows.cast(kind), clouds.cast(kind), shape=(batch * n, many), dtype=int64, span=batch * n)
    indices = reshape(found, *lead, n, many)  # what is held: distances are computed from it, and not from `found` again
    b, i, j, a = map(counter, range(4))
    chosen = Brackets((batch, n, many, axes), (b, load(0, [b, i, j]), a), (reshape(indices, batch, n, many),))
    apart = reshape(rows, batch, n, 1, axes) - gathered(clouds, chosen, "knn")
    return reshape(sum(apart * apart, 3), *lead, n, many), indices
