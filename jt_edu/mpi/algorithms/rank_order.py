"""Rank order: contributions are put together in the order of ranks, as `native` does it, so that the bits are the same.

    chunks A B C D on each of 4 ranks     pairwise: rank 0 gets all A, rank 1 all B, ...
                                          each folds its own: ((A0 + A1) + A2) + A3
                                          ring: everyone gets every total

    reduce_scatter       (P - 1) trip(n / P)      n bytes on each rank
    allreduce          2 (P - 1) trip(n / P)      as many as the ring, and no rank waits for another one's sum

Sums of floating-point numbers depend on their order: a ring's differs in the last bit of every third float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jt_edu.mpi.algorithms import pairwise, ring
from jt_edu.mpi.algorithms.combine import fold
from jt_edu.mpi.algorithms.transport import Pieces, Wire, chunks, together
from jt_edu.mpi.base.constants import Op


def reduce_scatter(wire: Wire, pieces: Pieces, op: Op) -> Any:
    """Piece k of all ranks, put together in the order of ranks, on rank k."""
    return fold(pairwise.alltoall(wire, pieces, [pieces[wire.rank]] * wire.size), op)


def allreduce(wire: Wire, x: Any, op: Op) -> Any:
    """What all have, put together in the order of ranks, on every rank; objects are gathered whole."""
    if not isinstance(x, np.ndarray):
        return fold(ring.allgather(wire, x), op)
    pieces = chunks(x, wire.size)  # P of (n / P,)
    return together(ring.allgather(wire, reduce_scatter(wire, pieces, op), pieces), x)
