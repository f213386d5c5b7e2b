"""Ring: everyone speaks to the next one only, and every link is busy all the time.

    reduce-scatter, 4 ranks, chunks A B C D of each rank; what rank r sends on to rank r + 1:

    step     rank 0     rank 1     rank 2     rank 3
      1        D          A          B          C          a chunk travels round, and each rank adds its own;
      2        C+         D+         A+         B+         after P - 1 steps rank r has all of chunk r
      3        B++        C++        D++        A++

    allgather: the same way once more, with what is complete.

    allreduce          2 (P - 1) trip(n / P)     each link carries 2 (P - 1) / P of the n bytes: the least possible
    reduce_scatter       (P - 1) trip(n / P)
    allgather            (P - 1) trip(m)         m: bytes of one rank's piece

Patarasuk and Yuan 2009, "Bandwidth optimal all-reduce algorithms for clusters of workstations". A chunk starts its way
at another rank than the next one does, so the reduction has to commute.
"""

from __future__ import annotations

from typing import Any

from jt_edu.mpi.algorithms.transport import Pieces, Wire, chunks, in_any_order, together
from jt_edu.mpi.base.constants import Op


def allreduce(wire: Wire, x: Any, op: Op) -> Any:
    """What all have, put together, on every rank: 2 (P - 1) steps with one chunk each."""
    pieces = chunks(x, wire.size)  # P of (n / P,)
    mine = reduce_scatter(wire, pieces, op)
    return together(allgather(wire, mine, pieces), x)


def reduce_scatter(wire: Wire, pieces: Pieces, op: Op) -> Any:
    """Piece k of all ranks, put together, on rank k."""
    in_any_order(op, "ring")
    here, size = wire.rank, wire.size
    travelling = pieces[here - 1]
    for step in range(1, size):
        own = pieces[(here - step - 1) % size]
        travelling = op(wire.swap(travelling, (here + 1) % size, (here - 1) % size, own), own)
    return travelling


def allgather(wire: Wire, x: Any, likes: Pieces | None = None) -> list[Any]:
    """A list of what each rank has, on every rank; `likes` are as long as the pieces, if these differ."""
    here, size = wire.rank, wire.size
    found = [x] * size
    for step in range(1, size):
        rank = (here - step) % size  # whose piece comes now
        like = wire.like(rank, x) if likes is None else likes[rank]
        found[rank] = wire.swap(found[(rank + 1) % size], (here + 1) % size, (here - 1) % size, like)
    return found
