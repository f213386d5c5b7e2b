"""Doubling: in every round each rank speaks to one twice as far away, and knows twice as much. log P rounds.

    allreduce, 8 ranks     round 1   0 <> 1   2 <> 3   4 <> 5   6 <> 7      both then have the same
                           round 2   0 <> 2   1 <> 3   4 <> 6   5 <> 7
                           round 3   0 <> 4   1 <> 5   2 <> 6   3 <> 7

    barrier, allgather     rank r hears from r + 1, r + 2, r + 4, ... round the circle: any number of ranks will do

    allreduce     log P trip(m)                P a power of two; else + 2 trip(m), log P rounded down
    allgather     sum of trip(min(2^k, P - 2^k) m), k < log P, rounded up       m: bytes of one rank's piece
    barrier       log P trip(0), rounded up

Allreduce: Thakur, Rabenseifner, Gropp 2005, section 4.5. Allgather: Bruck et al. 1997, "Efficient algorithms for
all-to-all communications in multiport message-passing systems". Barrier: Hensgen, Finkel, Manber 1988, "Two algorithms
for barrier synchronization". The order of ranks is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jt_edu.mpi.algorithms.transport import Pieces, Wire
from jt_edu.mpi.base.constants import Op


def allreduce(wire: Wire, x: Any, op: Op) -> Any:
    """What all have, put together, on every rank. Ranks beyond a power of two are stood in for by a neighbour."""
    inner = PowerOfTwo(wire.size)
    if wire.rank in inner.away:
        wire.send(x, wire.rank + 1)
        return wire.receive(wire.rank + 1, x)
    total = op(wire.receive(wire.rank - 1, x), x) if wire.rank - 1 in inner.away else x
    here, step = inner.place(wire.rank), 1
    while step < inner.size:
        there = here ^ step
        other = wire.swap(total, inner.rank(there), inner.rank(there))
        total = op(other, total) if there < here else op(total, other)
        step *= 2
    if wire.rank - 1 in inner.away:
        wire.send(total, wire.rank - 1)
    return total


def allgather(wire: Wire, x: Any, likes: Pieces | None = None) -> list[Any]:
    """A list of what each rank has, on every rank; `likes` are as long as the pieces, if these differ."""
    here, size = wire.rank, wire.size
    likes = [wire.like(rank, x) for rank in range(size)] if likes is None else likes
    found, step = [x], 1  # of ranks here, here + 1, ...
    while step < size:
        come = [likes[(here + step + k) % size] for k in range(min(step, size - step))]
        out = wire.joined(found[: len(come)])
        found += wire.apart(wire.swap(out, (here - step) % size, (here + step) % size, wire.joined(come)), come)
        step *= 2
    return found[size - here :] + found[: size - here]


def barrier(wire: Wire) -> None:
    """Nobody leaves before all have come: after k rounds a rank has heard of 2^k - 1 others."""
    step = 1
    while step < wire.size:
        wire.nod((wire.rank - step) % wire.size, (wire.rank + step) % wire.size)
        step *= 2


@dataclass(frozen=True)
class PowerOfTwo:
    """The largest power of two of `ranks` ranks: some even ranks stay away, and the next one stands in for them.

        6 ranks:  0 -> 1   2 -> 3   4   5       places 0, 1, 2, 3 are ranks 1, 3, 4, 5

    Example:
        >>> inner = PowerOfTwo(6)
        >>> inner.size, list(inner.away), [inner.rank(place) for place in range(4)]
        (4, [0, 2], [1, 3, 4, 5])
    """

    ranks: int

    @property
    def size(self) -> int:
        """The largest power of two up to `ranks`."""
        return 1 << (self.ranks.bit_length() - 1)

    @property
    def away(self) -> range:
        """The ranks that stay away."""
        return range(0, 2 * (self.ranks - self.size), 2)

    def place(self, rank: int) -> int:
        """The place of a rank among the power of two."""
        return rank - min((rank + 1) // 2, len(self.away))

    def rank(self, place: int) -> int:
        """Which rank has this place."""
        return place + min(place + 1, len(self.away))

    def stands_for(self, place: int) -> tuple[int, ...]:
        """The ranks for which a place stands: its own, and one that stays away."""
        rank = self.rank(place)
        return (rank - 1, rank) if rank - 1 in self.away else (rank,)
