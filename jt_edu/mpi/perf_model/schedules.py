"""Schedules: the algorithms of algorithms/ as data. Who sends how many bytes to whom, round by round.

    for round in schedule("allreduce", "ring", ranks=4, nbytes=4000):
        round.source, round.dest, round.bytes          0 1 2 3    1 2 3 0    1000

Nothing is sent and nothing is added up, so it can be done for ten thousand ranks; `engine.run` tells how long it takes.
Each function stands for the function of the same name in algorithms/, and a test holds both to the same messages.

    P ranks, `sizes` (P,): bytes of the pieces of rank 0, 1, ...       m: bytes of the whole
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.mpi.algorithms import find
from jt_edu.mpi.algorithms.doubling import PowerOfTwo
from jt_edu.mpi.algorithms.hierarchical import group_size
from jt_edu.mpi.perf_model.engine import Ints, Round
from jt_edu.ops.arguments import whole

Rounds = Iterator[Round]
WHOLE_FROM_PIECES = ("gather", "allgather")  # a rank brings one piece, and not what is cut into P


def schedule(name: str, algorithm: str, ranks: int, nbytes: int, item: int = 1, root: int = 0) -> Rounds:
    """The rounds of a collective by an algorithm.

    Args:
        name, algorithm: as in `comm.allreduce(..., algorithm="ring")`.
        ranks: how many.
        nbytes: what each rank brings (scatter: that root does).
        item: bytes of an element; arrays are cut between elements.
        root: of bcast, scatter, gather, reduce.

    Raises:
        ArgumentError: there is no such algorithm, or a number is out of range.

    Example:
        >>> [(r.dest.tolist(), r.bytes) for r in schedule("allreduce", "ring", ranks=2, nbytes=8)]
        [([1, 0], 4), ([1, 0], 4)]
    """
    find(name, algorithm)
    for argument, value, least in (("ranks", ranks, 1), ("nbytes", nbytes, 0), ("item", item, 1)):
        whole("schedule", argument, value, least)
    if not 0 <= root < ranks:
        raise ArgumentError(f"the root is a rank from 0 to {ranks - 1}", repr(root))
    sizes = np.full(ranks, nbytes) if name in WHOLE_FROM_PIECES else cut(nbytes // item, ranks) * item
    return SCHEDULES[name, algorithm](ranks, nbytes, sizes, root, item) if ranks > 1 else iter(())


def cut(count: int, parts: int) -> Ints:
    """How long the chunks of `count` elements are.

    Example:
        >>> cut(7, 3).tolist()
        [3, 2, 2]
    """
    return count // parts + (np.arange(parts) < count % parts)


# naive: by way of one rank


def naive_bcast(P: int, m: int | Ints, root: int) -> Rounds:
    """Root to one after the other; `m` may be the bytes for each rank."""
    for rank in _others(P, root):
        yield _one(root, rank, m if isinstance(m, int) else int(m[rank]))


def naive_gather(P: int, m: int, root: int) -> Rounds:
    """One after the other to root."""
    for rank in _others(P, root):
        yield _one(rank, root, m)


def _others(P: int, root: int) -> Iterable[int]:
    return (rank for rank in range(P) if rank != root)


def _one(source: int, dest: int, size: int) -> Round:
    return Round(np.array([dest]), size, np.array([source]))


# tree


def tree_bcast(P: int, m: int, root: int) -> Rounds:
    """Halves of the ranks, the most distant child first."""
    for step in reversed(_powers(P)):
        parents = np.arange(0, P - step, 2 * step)
        yield Round((parents + step + root) % P, m, (parents + root) % P)


def tree_reduce(P: int, m: int, root: int) -> Rounds:
    """The way back."""
    return _turned(tree_bcast(P, m, root))


def tree_scatter(P: int, sizes: Ints, root: int) -> Rounds:
    """A child gets the pieces of all ranks below it."""
    ends = np.concatenate([[0], np.cumsum(np.roll(sizes, -root))])
    for step in reversed(_powers(P)):
        parents = np.arange(0, P - step, 2 * step)
        below = ends[np.minimum(parents + 2 * step, P)] - ends[parents + step]
        yield Round((parents + step + root) % P, below, (parents + root) % P)


def tree_gather(P: int, sizes: Ints, root: int) -> Rounds:
    """The way back."""
    return _turned(tree_scatter(P, sizes, root))


def _powers(P: int) -> list[int]:
    """1, 2, 4, ... below P."""
    return [1 << k for k in range((P - 1).bit_length())]


def _turned(rounds: Rounds) -> Rounds:
    """The last round first, and every message the other way."""
    for r in reversed(list(rounds)):
        assert r.source is not None, "a tree names who sends"
        yield Round(r.source, r.bytes, r.dest)


# ring


def ring_reduce_scatter(P: int, sizes: Ints) -> Rounds:
    """In step s rank r sends chunk r - s."""
    for step in range(1, P):
        yield Round(_next(P, 1), _at(sizes, -step))


def ring_allgather(P: int, sizes: Ints) -> Rounds:
    """In step s rank r sends the piece of r - s + 1."""
    for step in range(1, P):
        yield Round(_next(P, 1), _at(sizes, 1 - step))


def ring_allreduce(P: int, sizes: Ints) -> Rounds:
    """One after the other."""
    yield from ring_reduce_scatter(P, sizes)
    yield from ring_allgather(P, sizes)


def _next(P: int, step: int) -> Ints:
    return (np.arange(P) + step) % P


def _at(sizes: Ints, shift: int) -> Ints | int:
    """The sizes of pieces r + shift; one number, if all are equal."""
    return int(sizes[0]) if sizes[0] == sizes[-1] and (sizes == sizes[0]).all() else np.roll(sizes, -shift)


# doubling and halving


def dissemination(P: int) -> Rounds:
    """Nothing at all, to 1, 2, 4, ... places back."""
    return (Round(_next(P, -step), 0) for step in _powers(P))


def doubling_allgather(P: int, sizes: Ints) -> Rounds:
    """Pieces r to r + step - 1, to `step` places back."""
    ends = np.concatenate([[0], np.cumsum(np.tile(sizes, 2))])
    for step in _powers(P):
        count = min(step, P - step)
        yield Round(_next(P, -step), ends[count : count + P] - ends[:P])


def doubling_allreduce(P: int, m: int) -> Rounds:
    """A power of two of ranks, two by two; the others before and after."""
    inner, away = PowerOfTwo(P), np.array(PowerOfTwo(P).away, np.int64)
    members = np.array([inner.rank(place) for place in range(inner.size)])
    yield from _if_any(away + 1, m, away)
    for step in _powers(inner.size):
        yield Round(members[np.arange(inner.size) ^ step], m, members)
    yield from _if_any(away, m, away + 1)


def halving_reduce_scatter(P: int, m: int, sizes: Ints) -> Rounds:
    """Half of the places that a rank is responsible for, to the rank that gets them."""
    inner, away = PowerOfTwo(P), np.array(PowerOfTwo(P).away, np.int64)
    members, places = np.array([inner.rank(place) for place in range(inner.size)]), np.arange(inner.size)
    ends = np.concatenate([[0], np.cumsum(sizes)])[np.concatenate([[0], members + 1])]  # of the pieces of each place
    yield from _if_any(away + 1, m, away)
    for step in reversed(_powers(inner.size)):
        there = places ^ step
        first = there - there % step  # of the places that are given away
        yield Round(members[there], ends[first + step] - ends[first], members)
    yield from _if_any(away, sizes[away], away + 1)


def rabenseifner(P: int, m: int, sizes: Ints) -> Rounds:
    """Halving, and doubling."""
    yield from halving_reduce_scatter(P, m, sizes)
    yield from doubling_allgather(P, sizes)


def _if_any(dest: Ints, size: Ints | int, source: Ints) -> Rounds:
    if len(dest):
        yield Round(dest, size, source)


# the others


def pairwise(P: int, sizes: Ints) -> Rounds:
    """In step s to the one s places on, what is for it."""
    return (Round(_next(P, step), _at(sizes, step)) for step in range(1, P))


def rank_order_allreduce(P: int, sizes: Ints) -> Rounds:
    """Everyone to everyone, then round the ring."""
    yield from pairwise(P, sizes)
    yield from ring_allgather(P, sizes)


def linear_scan(P: int, m: int) -> Rounds:
    """From one rank to the next."""
    return (_one(rank, rank + 1, m) for rank in range(P - 1))


def doubling_scan(P: int, m: int) -> Rounds:
    """To 1, 2, 4, ... places on, where there is somebody."""
    return (Round(np.arange(step, P), m, np.arange(P - step)) for step in _powers(P))


def hierarchical(P: int, m: int, item: int) -> Rounds:
    """A ring inside every group, a ring across them for each place, and the first again."""
    width = group_size(P)
    table = np.arange(P).reshape(-1, width)  # (groups, G)
    inside = cut(m // item, width) * item  # (G,), bytes of the chunks
    across = np.stack([cut(size // item, P // width) * item for size in inside.tolist()])  # (G, groups)
    yield from _in_each(ring_reduce_scatter, table, np.tile(inside, (P // width, 1)))
    yield from _in_each(ring_allreduce, table.T, across)
    yield from _in_each(ring_allgather, table, np.tile(inside, (P // width, 1)))


def _in_each(rounds: Callable[[int, Ints], Rounds], groups: Ints, sizes: Ints) -> Rounds:
    """The same schedule in several groups at once: groups (k, G) of ranks, sizes (k, G) of their pieces."""
    count, rows = groups.shape[1], [tuple(row) for row in sizes.tolist()]
    each = {row: list(rounds(count, np.array(row))) for row in set(rows)}
    for number, first in enumerate(each[rows[0]]):
        size = first.bytes
        if len(each) > 1 or not isinstance(size, int):
            size = np.concatenate([np.broadcast_to(each[row][number].bytes, count) for row in rows])
        yield Round(groups[:, first.dest].reshape(-1), size, groups.reshape(-1))


# the table


def _chain(*parts: Rounds) -> Rounds:
    for part in parts:
        yield from part


Maker = Callable[[int, int, Ints, int, int], Rounds]

SCHEDULES: dict[tuple[str, str], Maker] = {
    ("barrier", "naive"): lambda P, m, sizes, root, item: _chain(naive_gather(P, 0, 0), naive_bcast(P, 0, 0)),
    ("barrier", "dissemination"): lambda P, m, sizes, root, item: dissemination(P),
    ("bcast", "naive"): lambda P, m, sizes, root, item: naive_bcast(P, m, root),
    ("bcast", "tree"): lambda P, m, sizes, root, item: tree_bcast(P, m, root),
    ("scatter", "naive"): lambda P, m, sizes, root, item: naive_bcast(P, sizes, root),
    ("scatter", "tree"): lambda P, m, sizes, root, item: tree_scatter(P, sizes, root),
    ("gather", "naive"): lambda P, m, sizes, root, item: naive_gather(P, m, root),
    ("gather", "tree"): lambda P, m, sizes, root, item: tree_gather(P, sizes, root),
    ("allgather", "naive"): lambda P, m, sizes, root, item: _chain(naive_gather(P, m, 0), naive_bcast(P, P * m, 0)),
    ("allgather", "ring"): lambda P, m, sizes, root, item: ring_allgather(P, sizes),
    ("allgather", "doubling"): lambda P, m, sizes, root, item: doubling_allgather(P, sizes),
    ("alltoall", "pairwise"): lambda P, m, sizes, root, item: pairwise(P, sizes),
    ("reduce", "naive"): lambda P, m, sizes, root, item: naive_gather(P, m, root),
    ("reduce", "tree"): lambda P, m, sizes, root, item: tree_reduce(P, m, root),
    ("allreduce", "naive"): lambda P, m, sizes, root, item: _chain(naive_gather(P, m, 0), naive_bcast(P, m, 0)),
    ("allreduce", "tree"): lambda P, m, sizes, root, item: _chain(tree_reduce(P, m, 0), tree_bcast(P, m, 0)),
    ("allreduce", "ring"): lambda P, m, sizes, root, item: ring_allreduce(P, sizes),
    ("allreduce", "doubling"): lambda P, m, sizes, root, item: doubling_allreduce(P, m),
    ("allreduce", "rabenseifner"): lambda P, m, sizes, root, item: rabenseifner(P, m, sizes),
    ("allreduce", "hierarchical"): lambda P, m, sizes, root, item: hierarchical(P, m, item),
    ("allreduce", "rank_order"): lambda P, m, sizes, root, item: rank_order_allreduce(P, sizes),
    ("reduce_scatter", "ring"): lambda P, m, sizes, root, item: ring_reduce_scatter(P, sizes),
    ("reduce_scatter", "halving"): lambda P, m, sizes, root, item: halving_reduce_scatter(P, m, sizes),
    ("reduce_scatter", "rank_order"): lambda P, m, sizes, root, item: pairwise(P, sizes),
    ("scan", "linear"): lambda P, m, sizes, root, item: linear_scan(P, m),
    ("scan", "doubling"): lambda P, m, sizes, root, item: doubling_scan(P, m),
    ("exscan", "linear"): lambda P, m, sizes, root, item: linear_scan(P, m),
    ("exscan", "doubling"): lambda P, m, sizes, root, item: doubling_scan(P, m),
}
