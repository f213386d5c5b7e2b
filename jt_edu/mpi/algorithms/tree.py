"""Tree: whoever knows it tells others, so that in every round twice as many know it. log P rounds.

    bcast from 0 to 7        round 1   0 ------------> 4          a rank's parent: its number without the lowest
    (reduce and gather       round 2   0 ----> 2       4 ----> 6  set bit. 6 = 110 is told by 4 = 100, 7 by 6.
    go the other way)        round 3   0 > 1   2 > 3   4 > 5   6 > 7

    bcast, reduce       log P trip(m)                   trip(m) = L + 2 o + (m - 1) G, P a power of two
    gather, scatter     sum of trip(m 2^k), k < log P   m: bytes of one rank's piece
    allreduce           2 log P trip(m)

The rule of the binomial tree: Thakur, Rabenseifner, Gropp 2005, "Optimization of collective communication operations
in MPICH", section 4. Ranks count from root. A parent has a run of neighbours below it, so the order of ranks is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jt_edu.mpi.algorithms.transport import Pieces, Wire
from jt_edu.mpi.base.constants import Op


def bcast(wire: Wire, x: Any, root: int) -> Any:
    """What root has, on every rank; `x` is like it, where arrays are sent."""
    here = (wire.rank - root) % wire.size  # counted from root
    if here:
        x = wire.receive((here - lowest(here) + root) % wire.size, x)
    for step in reversed(list(steps(here, wire.size))):  # the largest subtree first: it has the longest way to go
        wire.send(x, (here + step + root) % wire.size)
    return x


def reduce(wire: Wire, x: Any, root: int, op: Op) -> Any:
    """What all have, put together, on root; an op that needs the order of ranks goes by way of rank 0."""
    if not op.commute and root:
        return _passed_on(wire, reduce(wire, x, 0, op), root, x)
    here = (wire.rank - root) % wire.size
    for step in steps(here, wire.size):
        x = op(x, wire.receive((here + step + root) % wire.size, x))  # of ranks here + step to here + 2 step - 1
    if here:
        wire.send(x, (here - lowest(here) + root) % wire.size)
    return None if here else x


def gather(wire: Wire, x: Any, root: int) -> list[Any] | None:
    """A list of what each rank has, on root; all pieces are equally long."""
    here, pieces = (wire.rank - root) % wire.size, [x]  # of ranks here, here + 1, ...
    for step in steps(here, wire.size):
        likes = [x] * min(step, wire.size - here - step)
        pieces += wire.apart(wire.receive((here + step + root) % wire.size, wire.joined(likes)), likes)
    if here:
        wire.send(wire.joined(pieces), (here - lowest(here) + root) % wire.size)
        return None
    return pieces[wire.size - root :] + pieces[: wire.size - root]


def scatter(wire: Wire, pieces: Pieces | None, root: int) -> Any:
    """Piece k of root's on rank k; all pieces are equally long."""
    here = (wire.rank - root) % wire.size
    if here or pieces is None:
        likes = [wire.like(wire.rank, None)] * min(lowest(here), wire.size - here)
        mine = wire.apart(wire.receive((here - lowest(here) + root) % wire.size, wire.joined(likes)), likes)
    else:
        mine = [*pieces[root:], *pieces[:root]]
    for step in reversed(list(steps(here, wire.size))):
        wire.send(wire.joined(mine[step : 2 * step]), (here + step + root) % wire.size)
    return mine[0]


def allreduce(wire: Wire, x: Any, op: Op) -> Any:
    """What all have, put together, on every rank: up the tree, and down again."""
    total = reduce(wire, x, 0, op)
    return bcast(wire, x if total is None else total, 0)


def lowest(here: int) -> int:
    """The lowest bit that is set: how far away the parent is.

    Example:
        >>> [lowest(k) for k in (1, 2, 3, 4, 6)]
        [1, 2, 1, 4, 2]
    """
    return here & -here


def steps(here: int, size: int) -> Iterator[int]:
    """How far away the children are: 1, 2, 4, ..., below the lowest set bit, as long as there are such ranks.

    Example:
        >>> list(steps(0, 6)), list(steps(4, 6)), list(steps(5, 6))
        ([1, 2, 4], [1], [])
    """
    step = 1
    while here + step < size and not here & step:
        yield step
        step *= 2


def _passed_on(wire: Wire, total: Any, root: int, like: Any) -> Any:
    """From rank 0 to root."""
    if wire.rank == 0:
        wire.send(total, root)
    return wire.receive(0, like) if wire.rank == root else None
