"""Combine: what each rank gets from a collective, given what every rank brought. One line each.

    parts     what rank 0, 1, ... brought       an array, an object, or a list with a part for each rank
    results   what rank 0, 1, ... gets

Large buffers are filled slice by slice: a slice of every part is read, put together in the cache, and written into
every buffer, so that memory sees each number once. One processor does it as fast as memory can; two gain nothing.

And what a collective costs on the virtual clock when nobody says by which algorithm it goes: that of a good one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import ceil, log2
from typing import Any

import numpy as np

from jt_edu.mpi.base.buffer_memory import Array
from jt_edu.mpi.base.constants import OPS, Op
from jt_edu.mpi.trace.network import Network

Results = list[Any]
SLICE = 1 << 18  # bytes: those of two ranks, and their sum, lie in the cache of one processor


def fold(parts: Sequence[Any], op: Op) -> Any:
    """All parts put together in the order of their ranks: a fresh array, or an object."""
    total = parts[0].copy() if isinstance(parts[0], np.ndarray) else parts[0]
    for part in parts[1:]:
        total = op(total, part)
    return total


def prefixes(parts: Sequence[Any], op: Op) -> Results:
    """The fold of parts 0 to k, for each k."""
    totals = [fold(parts[:1], op)]
    for part in parts[1:]:
        totals.append(op(totals[-1], part))
    return totals


def _at(root: int, value: Any, size: int) -> Results:
    return [value if rank == root else None for rank in range(size)]


def _column(parts: Sequence[Any], k: int) -> list[Any]:
    return [part[k] for part in parts]


Rule = Callable[[Sequence[Any], int, Op], Results]

RULES: dict[str, Rule] = {
    "barrier": lambda parts, root, op: [None] * len(parts),
    "bcast": lambda parts, root, op: [parts[root]] * len(parts),
    "gather": lambda parts, root, op: _at(root, list(parts), len(parts)),
    "scatter": lambda parts, root, op: list(parts[root]),
    "allgather": lambda parts, root, op: [list(parts)] * len(parts),
    "alltoall": lambda parts, root, op: [_column(parts, k) for k in range(len(parts))],
    "reduce": lambda parts, root, op: _at(root, fold(parts, op), len(parts)),
    "allreduce": lambda parts, root, op: [fold(parts, op)] * len(parts),
    "reduce_scatter": lambda parts, root, op: [fold(_column(parts, k), op) for k in range(len(parts))],
    "scan": lambda parts, root, op: prefixes(parts, op),
    "exscan": lambda parts, root, op: [None, *prefixes(parts, op)[:-1]],
    "split": lambda parts, root, op: [list(parts)] * len(parts),
    "split_type": lambda parts, root, op: [list(parts)] * len(parts),
    "create": lambda parts, root, op: [list(parts)] * len(parts),
    "dup": lambda parts, root, op: [None] * len(parts),
}


def straight(kind: str, parts: Sequence[Any], rooms: Sequence[Array | None], root: int, op: Op) -> bool:
    """Write the results into the buffers of the ranks, slice by slice; False if it has to be done by the rules.

    Args:
        kind: "allreduce", "reduce", "bcast"; the others have no sum, or a list of parts.
        rooms: the buffer of each rank that gets something.
    """
    given = [parts[root]] if kind == "bcast" else parts
    if kind not in ("allreduce", "reduce", "bcast") or not isinstance(given[0], np.ndarray):
        return False
    wanted = [room for room in rooms if room is not None]
    known = kind == "bcast" or OPS.get(op.name) is op  # one's own may look at more than one element at a time
    if given[0].nbytes < SLICE or not known or _overlap([*given, *wanted]):
        return False
    step = SLICE // given[0].itemsize
    for start in range(0, given[0].size, step):
        total = given[0][start : start + step]
        for part in given[1:]:
            total = op(total, part[start : start + step])
        for room in wanted:
            room[start : start + step] = total
    return True


def _overlap(arrays: Sequence[Array]) -> bool:
    """Whether two arrays share a part of their memory; those that share all of it do no harm."""
    places = sorted({(a.__array_interface__["data"][0], a.nbytes) for a in arrays})
    return any(begin + size > after for (begin, size), (after, _) in pairwise(places))


def cost(name: str, size: int, moved: int, network: Network) -> int:
    """ns from the moment the last rank comes until all leave, for parts of `moved` bytes.

        barrier                     log P (L + 2 o)
        bcast, reduce, scan         log P (L + 2 o) + m G
        allreduce                   2 log P (L + 2 o) + 2 (P - 1) / P m G
        the others                  log P (L + 2 o) + (P - 1) m G

    The lower bounds that good algorithms reach (Chan et al. 2007, "Collective communication: theory, practice, and
    experience"), with log P rounded up.
    """
    rounds = ceil(log2(size)) if size > 1 else 0
    trip, all_bytes = network.trip(1), moved * network.byte
    if name == "barrier":
        return rounds * trip
    if name in ("bcast", "reduce", "scan", "exscan", "scatter", "gather"):
        return rounds * trip + round(all_bytes) * (size > 1)
    if name in ("allreduce", "reduce_scatter"):
        return 2 * rounds * trip + round(2 * (size - 1) / size * all_bytes)
    return rounds * trip + round((size - 1) * all_bytes)
