"""Hierarchical: inside groups first, then across them, then inside again. Each part is a ring, and a short one.

    6 ranks, 3 groups of 2        inside    0 1   2 3   4 5      reduce-scatter: chunk 0 on 0 2 4, chunk 1 on 1 3 5
                                  across    0 2 4   1 3 5        allreduce of a chunk
                                  inside    0 1   2 3   4 5      allgather

    2 (G - 1) trip(n / G) + 2 (P / G - 1) trip(n / P)            G ranks in a group, n bytes on each rank

As many bytes as one ring of all ranks, 2 (P - 1) / P n, but about 4 sqrt(P) steps and not 2 P. On a real machine a
group is a node, whose ranks speak to each other faster. The idea: Jia et al. 2018, "Highly scalable deep learning
training system with mixed-precision" (arXiv:1807.11205), section 3.3.
"""

from __future__ import annotations

from math import isqrt
from typing import Any

from jt_edu.mpi.algorithms import ring
from jt_edu.mpi.algorithms.transport import Wire, chunks, in_any_order, together
from jt_edu.mpi.base.constants import Op


def allreduce(wire: Wire, x: Any, op: Op) -> Any:
    """What all have, put together, on every rank."""
    in_any_order(op, "hierarchical")
    width = group_size(wire.size)
    first, place = wire.rank - wire.rank % width, wire.rank % width
    inside, across = wire.among(range(first, first + width)), wire.among(range(place, wire.size, width))
    pieces = chunks(x, width)  # G of (n / G,)
    mine = ring.allreduce(across, ring.reduce_scatter(inside, pieces, op), op)
    return together(ring.allgather(inside, mine, pieces), x)


def group_size(ranks: int) -> int:
    """How many ranks form a group: the largest divisor of their number up to its square root.

    Example:
        >>> [group_size(ranks) for ranks in (4, 6, 7, 12, 64)]
        [2, 2, 1, 3, 8]
    """
    return next(width for width in range(isqrt(ranks), 0, -1) if ranks % width == 0)
