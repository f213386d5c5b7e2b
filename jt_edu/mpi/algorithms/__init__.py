"""Algorithms: how a collective is made of sends and receives. Each is a function that can be read, and watched.

naive       by way of one rank
(more follow in their own files)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jt_edu.errors import ArgumentError
from jt_edu.mpi.algorithms import naive

ALGORITHMS: dict[tuple[str, str], Callable[..., Any]] = {
    ("barrier", "naive"): naive.barrier,
    ("bcast", "naive"): naive.bcast,
    ("gather", "naive"): naive.gather,
    ("reduce", "naive"): naive.reduce,
    ("allreduce", "naive"): naive.allreduce,
}


def find(name: str, algorithm: str) -> Callable[..., Any]:
    """The function for a collective and the name of an algorithm.

    Raises:
        ArgumentError: there is none.
    """
    found = ALGORITHMS.get((name, algorithm))
    if found is None:
        known = ["native", *(a for n, a in ALGORITHMS if n == name)]
        raise ArgumentError(f"{name} goes by {', '.join(known)}", repr(algorithm), f"algorithm={known[-1]!r}")
    return found
