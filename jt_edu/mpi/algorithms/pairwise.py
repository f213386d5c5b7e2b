"""Pairwise: in step s each rank gives to the one s places on, and takes from the one s places back.

    4 ranks     step 1   0 > 1 > 2 > 3 > 0        every message goes straight to the rank that wants it
                step 2   0 > 2 > 0   1 > 3 > 1
                step 3   0 > 3 > 2 > 1 > 0

    alltoall     (P - 1) trip(n / P)            n: bytes that each rank has for all of them together

Thakur, Rabenseifner, Gropp 2005, section 4.3.
"""

from __future__ import annotations

from typing import Any

from jt_edu.mpi.algorithms.transport import Pieces, Wire


def alltoall(wire: Wire, pieces: Pieces, likes: Pieces | None = None) -> list[Any]:
    """Piece k goes to rank k; returns what each rank had for me. `likes` are as long as what comes."""
    here, size = wire.rank, wire.size
    found = list(pieces)
    for step in range(1, size):
        to, by = (here + step) % size, (here - step) % size
        found[by] = wire.swap(pieces[to], to, by, wire.like(by, pieces[by]) if likes is None else likes[by])
    return found
