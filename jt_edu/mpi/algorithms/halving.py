"""Halving: in every round each rank gives away half of what it has, and is responsible for the other half.

    reduce_scatter, 4 ranks, pieces A B C D of each rank

    round 1    0, 1 give C D to 2, 3, which give A B        0: A B   1: A B   2: C D   3: C D, of two ranks each
    round 2    0 gives B to 1, which gives A; and so on     0: A     1: B     2: C     3: D, of all

    reduce_scatter              sum of trip(n / 2^k), k = 1 ... log P      P a power of two, n bytes on each rank;
                                                                           else about trip(n) + trip(n / P) more
    allreduce (rabenseifner)    that, and back again: an allgather by doubling

Rabenseifner 2004, "Optimization of collective reduction operations"; Thakur, Rabenseifner, Gropp 2005, section 4.4.
Ranks far apart are put together first, so the reduction has to commute.
"""

from __future__ import annotations

from typing import Any

from jt_edu.mpi.algorithms import doubling
from jt_edu.mpi.algorithms.doubling import PowerOfTwo
from jt_edu.mpi.algorithms.transport import Pieces, Wire, chunks, in_any_order, together
from jt_edu.mpi.base.constants import Op


def reduce_scatter(wire: Wire, pieces: Pieces, op: Op) -> Any:
    """Piece k of all ranks, put together, on rank k. Ranks beyond a power of two are stood in for by a neighbour."""
    in_any_order(op, "halving")
    inner, mine = PowerOfTwo(wire.size), list(pieces)
    if wire.rank in inner.away:
        wire.send(wire.joined(mine), wire.rank + 1)
        return wire.receive(wire.rank + 1, mine[wire.rank])
    if wire.rank - 1 in inner.away:
        mine = _added(wire.apart(wire.receive(wire.rank - 1, wire.joined(mine)), mine), mine, op)
    here, low, size = inner.place(wire.rank), 0, inner.size  # responsible for places low to low + size - 1
    while size > 1:
        size //= 2
        there, mine_is_low = here ^ size, not here & size
        keep, give = (low, low + size) if mine_is_low else (low + size, low)
        kept, given = _of(inner, mine, keep, size), _of(inner, mine, give, size)
        whole = wire.swap(wire.joined(given), inner.rank(there), inner.rank(there), wire.joined(kept))
        for rank, piece in zip(_ranks(inner, keep, size), _added(wire.apart(whole, kept), kept, op), strict=True):
            mine[rank] = piece
        low = keep
    if wire.rank - 1 in inner.away:
        wire.send(mine[wire.rank - 1], wire.rank - 1)
    return mine[wire.rank]


def allreduce(wire: Wire, x: Any, op: Op) -> Any:
    """What all have, put together, on every rank: few rounds, and few bytes."""
    pieces = chunks(x, wire.size)  # P of (n / P,)
    return together(doubling.allgather(wire, reduce_scatter(wire, pieces, op), pieces), x)


def _ranks(inner: PowerOfTwo, low: int, size: int) -> list[int]:
    """The ranks behind `size` places from `low`."""
    return [rank for place in range(low, low + size) for rank in inner.stands_for(place)]


def _of(inner: PowerOfTwo, pieces: Pieces, low: int, size: int) -> list[Any]:
    return [pieces[rank] for rank in _ranks(inner, low, size)]


def _added(others: Pieces, mine: Pieces, op: Op) -> list[Any]:
    return [op(other, own) for other, own in zip(others, mine, strict=True)]
