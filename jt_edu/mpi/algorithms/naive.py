"""Naive: everything by way of one rank. P - 1 messages for it, one after the other.

    bcast    root -> 1, root -> 2, root -> 3           gather   1 -> root, 2 -> root, 3 -> root

    bcast, gather, reduce     trip(m) + (P - 2) door(m)         trip(m) = L + 2 o + (m - 1) G
    allreduce                 twice that                        door(m) = max(o, g + (m - 1) G)

Right, easy to read, and slow as soon as there are many ranks: the others wait while root speaks. The order of ranks is
kept, so any reduction may be used.
"""

from __future__ import annotations

from typing import Any

from jt_edu.mpi.algorithms.combine import fold
from jt_edu.mpi.algorithms.transport import NOBODY, Pieces, Wire
from jt_edu.mpi.base.constants import Op


def bcast(wire: Wire, x: Any, root: int) -> Any:
    """What root has, on every rank; `x` is like it, where arrays are sent."""
    if wire.rank != root:
        return wire.receive(root, x)
    for rank in range(wire.size):
        if rank != root:
            wire.send(x, rank)
    return x


def scatter(wire: Wire, pieces: Pieces | None, root: int) -> Any:
    """Piece k of root's on rank k."""
    if wire.rank != root or pieces is None:
        return wire.receive(root, wire.like(wire.rank, None))
    for rank in range(wire.size):
        if rank != root:
            wire.send(pieces[rank], rank)
    return pieces[root]


def gather(wire: Wire, x: Any, root: int) -> list[Any] | None:
    """A list of what each rank has, on root."""
    if wire.rank != root:
        wire.send(x, root)
        return None
    return [x if rank == root else wire.receive(rank, wire.like(rank, x)) for rank in range(wire.size)]


def allgather(wire: Wire, x: Any) -> list[Any]:
    """A list of what each rank has, on every rank: gather on rank 0, and bcast."""
    found, likes = gather(wire, x, 0), [wire.like(rank, x) for rank in range(wire.size)]
    return wire.apart(bcast(wire, wire.joined(likes if found is None else found), 0), likes)


def reduce(wire: Wire, x: Any, root: int, op: Op) -> Any:
    """What all have, put together in the order of ranks, on root."""
    if wire.rank != root:
        wire.send(x, root)
        return None
    return fold([x if rank == root else wire.receive(rank, x) for rank in range(wire.size)], op)


def allreduce(wire: Wire, x: Any, op: Op) -> Any:
    """What all have, put together, on every rank: reduce to rank 0, and bcast."""
    total = reduce(wire, x, 0, op)
    return bcast(wire, x if total is None else total, 0)


def barrier(wire: Wire) -> None:
    """Nobody leaves before all have come to rank 0, and it has said so."""
    if wire.rank:
        wire.nod(0, NOBODY)
        wire.nod(NOBODY, 0)
        return
    for rank in range(1, wire.size):
        wire.nod(NOBODY, rank)
    for rank in range(1, wire.size):
        wire.nod(rank, NOBODY)
