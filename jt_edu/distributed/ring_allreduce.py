"""Ring allreduce: an all-reduce of many numbers, round the ring and slice by slice.

    chunk       what one rank completes: 1 / P of all numbers
    slice       a part of a chunk, small enough for the cache of a processor

    time  ──►
    step 0      0 1 2 3 4 ...            my slices go to the next rank
    step 1          0 1 2 3 4 ...        those of the rank before me come, mine are added, and on they go
    step 2              0 1 2 3 4 ...    and so on: P - 1 steps until a chunk is complete, P - 1 until all have it

It is the ring of jt_edu.mpi.algorithms, with the same sums, bit for bit. There a chunk is one message, added when
all of it has come; here a slice is added while the next ones travel, and before it has left the cache.
"""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np

from jt_edu.base.allocator import pool
from jt_edu.mpi.algorithms.transport import Wire
from jt_edu.mpi.base.constants import Op

Array = np.ndarray[Any, Any]
SLICE = 1 << 17  # bytes, at the most
LAG = 4  # slices that are on their way to a rank


def allreduce(wire: Wire, x: Array, op: Op) -> Array:
    """What all have, put together, on every rank: a fresh array.

    Args:
        wire: what is sent there does not wait until somebody takes it.
        x: (n,), alike on all ranks.
        op: it commutes.
    """
    here, size, out = wire.rank, wire.size, pool.empty(x.shape, x.dtype)
    count = max(1, ceil(x.nbytes / size / SLICE))
    mine, room = _cut(x, size, count), _cut(out, size, count)
    complete, last = size - 1, 2 * size - 2  # steps: a chunk has all contributions; all ranks have it

    def go(step: int, k: int) -> None:
        """Slice k of a step comes from the rank before me, and goes on to the next one."""
        chunk = (here - step - 1) % size
        own = mine[chunk][k]
        piece = own if step == 0 else wire.receive((here - 1) % size, own)
        if 0 < step <= complete:
            piece = op(piece, own)
        if step >= complete:
            room[chunk][k][...] = piece
        if step < last:
            wire.send(piece, (here + 1) % size)

    for tick in range(count + last * LAG):
        for step in range(last + 1):
            if 0 <= tick - step * LAG < count:
                go(step, tick - step * LAG)
    return out


def _cut(x: Array, size: int, count: int) -> list[list[Array]]:
    """The chunks of an array, and the slices of each."""
    return [np.array_split(chunk, count) for chunk in np.array_split(x, size)]
