"""Naive: everything by way of one rank. P - 1 messages for root, one after the other.

    bcast    root -> 1, root -> 2, root -> 3           reduce   1 -> root, 2 -> root, 3 -> root

Right, easy to read, and slow as soon as there are many ranks: the others wait while root speaks.
"""

from __future__ import annotations

from typing import Any

from jt_edu.mpi.combine import fold
from jt_edu.mpi.names import Op
from jt_edu.mpi.wire import Wire


def bcast(wire: Wire, x: Any, root: int) -> Any:
    """What root has, on every rank; `x` is like it, where arrays are sent."""
    if wire.rank != root:
        return wire.receive(root, x)
    for rank in range(wire.size):
        if rank != root:
            wire.send(x, rank)
    return x


def gather(wire: Wire, x: Any, root: int) -> list[Any] | None:
    """A list of what each rank has, on root."""
    if wire.rank != root:
        wire.send(x, root)
        return None
    return [x if rank == root else wire.receive(rank, x) for rank in range(wire.size)]


def reduce(wire: Wire, x: Any, root: int, op: Op) -> Any:
    """What all have, put together in the order of ranks, on root."""
    parts = gather(wire, x, root)
    return None if parts is None else fold(parts, op)


def allreduce(wire: Wire, x: Any, op: Op) -> Any:
    """What all have, put together, on every rank: reduce to rank 0, and bcast."""
    total = reduce(wire, x, 0, op)
    return bcast(wire, x if total is None else total, 0)


def barrier(wire: Wire) -> None:
    """Nobody leaves before all have come."""
    allreduce(wire, 0, Op("count", lambda a, b: 0))
