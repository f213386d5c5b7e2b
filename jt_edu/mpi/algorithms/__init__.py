"""Algorithms: how a collective is made of sends and receives. Each is a function that can be read, and watched.

naive           by way of one rank                 doubling        with ever more distant ranks (also: dissemination)
tree            told on, and on                    halving         giving away half, and half of that
ring            to the next one only               rabenseifner    halving, then doubling
pairwise        everyone to everyone               hierarchical    inside groups, then across them
linear          from one rank to the next          rank_order      the same bits as native

What each costs stands in its file, and as numbers in `model.py`; as data, for thousands of ranks, in `schedules.py`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.mpi.algorithms import doubling, halving, hierarchical, naive, pairwise, rank_order, ring, scans, tree

__all__ = ["ALGORITHMS", "ALIKE", "BOOKS", "doubling", "find", "halving", "hierarchical", "naive", "named",
           "pairwise", "rank_order", "ring", "scans", "tree"]  # fmt: skip

ALGORITHMS: dict[tuple[str, str], Callable[..., Any]] = {
    ("barrier", "naive"): naive.barrier,
    ("barrier", "dissemination"): doubling.barrier,
    ("bcast", "naive"): naive.bcast,
    ("bcast", "tree"): tree.bcast,
    ("scatter", "naive"): naive.scatter,
    ("scatter", "tree"): tree.scatter,
    ("gather", "naive"): naive.gather,
    ("gather", "tree"): tree.gather,
    ("allgather", "naive"): naive.allgather,
    ("allgather", "ring"): ring.allgather,
    ("allgather", "doubling"): doubling.allgather,
    ("alltoall", "pairwise"): pairwise.alltoall,
    ("reduce", "naive"): naive.reduce,
    ("reduce", "tree"): tree.reduce,
    ("allreduce", "naive"): naive.allreduce,
    ("allreduce", "tree"): tree.allreduce,
    ("allreduce", "ring"): ring.allreduce,
    ("allreduce", "doubling"): doubling.allreduce,
    ("allreduce", "rabenseifner"): halving.allreduce,
    ("allreduce", "hierarchical"): hierarchical.allreduce,
    ("allreduce", "rank_order"): rank_order.allreduce,
    ("reduce_scatter", "ring"): ring.reduce_scatter,
    ("reduce_scatter", "halving"): halving.reduce_scatter,
    ("reduce_scatter", "rank_order"): rank_order.reduce_scatter,
    ("scan", "linear"): scans.linear_scan,
    ("scan", "doubling"): scans.doubling_scan,
    ("exscan", "linear"): scans.linear_exscan,
    ("exscan", "doubling"): scans.doubling_exscan,
}
BOOKS = {("allreduce", "recursive_doubling"): "doubling"}  # what books call it, where it is the same
ALIKE = {("gather", "tree"), ("scatter", "tree")}  # ranks pass on pieces of others, and have to know how long they are


def named(name: str, algorithm: str) -> str:
    """The name used here for a collective algorithm that books call by another name.

    Example:
        >>> named("allreduce", "recursive_doubling"), named("allreduce", "ring")
        ('doubling', 'ring')
    """
    return BOOKS.get((name, algorithm), algorithm) if isinstance(algorithm, str) else algorithm


def find(name: str, algorithm: str, uneven: bool = False) -> Callable[..., Any]:
    """The function for a collective and the name of an algorithm; `uneven`: for pieces of different lengths.

    Raises:
        ArgumentError: there is none, or it needs pieces that are equally long.

    Example:
        >>> find("allreduce", "ring").__module__
        'jt_edu.mpi.algorithms.ring'
    """
    found = ALGORITHMS.get((name, algorithm))
    if found is None:
        known = ["native", *(a for n, a in ALGORITHMS if n == name)]
        near = difflib.get_close_matches(str(algorithm), known, 1) or ["native"]
        raise ArgumentError(f"{name} goes by {', '.join(known)}", repr(algorithm), f"algorithm={near[0]!r}")
    if uneven and (name, algorithm) in ALIKE:
        raise ArgumentError(
            f"{name} by algorithm={algorithm!r} takes pieces of equal length",
            f"{name.capitalize()}v",
            "algorithm='naive'",
        )
    return found
