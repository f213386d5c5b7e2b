"""Model: how long will a collective take, on how many ranks, by which algorithm? On paper, from two numbers.

    alpha    ns that a message takes, however short           time of a message of m bytes: alpha + beta m
    beta     ns for each byte                                  (Hockney 1994; LogGP says L + 2 o + (m - 1) G)

    line = measure(comm)                    a ping-pong of three sizes between ranks 0 and 1, and a straight line
    predict("allreduce", "ring", ranks=4096, nbytes=25_000_000, machine=line)
    best("allreduce", ranks=64, nbytes=1000, machine=line)        `choices`: for many ranks and sizes, as a table
    print(scaling("allreduce", ["tree", "ring"], nbytes=25_000_000, machine=line))

Each algorithm has a closed form in CLOSED, where `trip` and `door` stand for a machine: a `Hockney`, or a `Network` in
which LogGP has further parameters. The forms are exact where the number of ranks divides the elements, for tree,
doubling and halving where it is also a power of two; for other numbers these are upper bounds. `engine.run` is exact.
Adding numbers up costs nothing here, and neither does Python: what is measured is longer for small messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.mpi.algorithms import find
from jt_edu.mpi.algorithms.combine import cost
from jt_edu.mpi.algorithms.doubling import PowerOfTwo
from jt_edu.mpi.algorithms.hierarchical import group_size
from jt_edu.mpi.algorithms.transport import Wire
from jt_edu.mpi.communicator.groups import Communicator
from jt_edu.mpi.trace.network import Network
from jt_edu.ops.arguments import whole

SIZES = (1_000, 100_000, 4_000_000)  # bytes of a ping-pong
RANKS = (2, 4, 8, 16, 64, 256, 1024, 4096, 10_000)


@dataclass(frozen=True)
class Hockney:
    """The time of a message as a straight line: alpha + beta m, in ns.

    Example:
        >>> Hockney(alpha=5000, beta=0.5).trip(1000)
        5500.0
    """

    alpha: float
    beta: float

    def trip(self, size: float) -> float:
        """ns until a message of so many bytes is there."""
        return self.alpha + self.beta * size

    door = trip  # messages of one rank follow each other

    @property
    def network(self) -> Network:
        """The network on which messages take as long."""
        return Network(latency=round(self.alpha + self.beta), overhead=0, byte=self.beta)


Machine = Hockney | Network
Size = Callable[[Any], float]


# closed forms: P ranks, m bytes that each rank brings (scatter: root)


def _rounds(P: int) -> int:
    """log P, rounded up."""
    return (P - 1).bit_length()


def _extra(P: int, size: float, trip: Size, back: float | None = None) -> float:
    """What ranks beyond a power of two cost: to a neighbour that stands in, and back."""
    return trip(size) + trip(size if back is None else back) if PowerOfTwo(P).away else 0


def _naive(P: int, m: float, trip: Size, door: Size) -> float:
    return trip(m) + (P - 2) * door(m)


def _doubled(P: int, m: float, trip: Size) -> float:
    """Pieces of m bytes, twice as many in each round."""
    return sum(trip(min(1 << k, P - (1 << k)) * m) for k in range(_rounds(P)))


def _halved(P: int, m: float, trip: Size) -> float:
    """Half of the places in each round; as many of them as may be stand for two ranks."""
    inner = PowerOfTwo(P)
    halves = (inner.size >> (k + 1) for k in range(_rounds(inner.size)))
    return sum(trip((half + min(half, len(inner.away))) * m / P) for half in halves) + _extra(P, m, trip, m / P)


def _hierarchical(P: int, m: float, trip: Size) -> float:
    width = group_size(P)
    return 2 * (width - 1) * trip(m / width) + 2 * (P // width - 1) * trip(m / P)


def _recursive(P: int, m: float, trip: Size) -> float:
    return _rounds(PowerOfTwo(P).size) * trip(m) + _extra(P, m, trip)


Form = Callable[[int, float, Size, Size], float]

CLOSED: dict[tuple[str, str], Form] = {
    ("barrier", "naive"): lambda P, m, trip, door: 2 * _naive(P, 0, trip, door),
    ("barrier", "dissemination"): lambda P, m, trip, door: _rounds(P) * trip(0),
    ("bcast", "naive"): _naive,
    ("bcast", "tree"): lambda P, m, trip, door: _rounds(P) * trip(m),
    ("scatter", "naive"): lambda P, m, trip, door: _naive(P, m / P, trip, door),
    ("scatter", "tree"): lambda P, m, trip, door: _doubled(P, m / P, trip),
    ("gather", "naive"): _naive,
    ("gather", "tree"): lambda P, m, trip, door: _doubled(P, m, trip),
    ("allgather", "naive"): lambda P, m, trip, door: _naive(P, m, trip, door) + _naive(P, P * m, trip, door),
    ("allgather", "ring"): lambda P, m, trip, door: (P - 1) * trip(m),
    ("allgather", "doubling"): lambda P, m, trip, door: _doubled(P, m, trip),
    ("alltoall", "pairwise"): lambda P, m, trip, door: (P - 1) * trip(m / P),
    ("reduce", "naive"): _naive,
    ("reduce", "tree"): lambda P, m, trip, door: _rounds(P) * trip(m),
    ("allreduce", "naive"): lambda P, m, trip, door: 2 * _naive(P, m, trip, door),
    ("allreduce", "tree"): lambda P, m, trip, door: 2 * _rounds(P) * trip(m),
    ("allreduce", "ring"): lambda P, m, trip, door: 2 * (P - 1) * trip(m / P),
    ("allreduce", "doubling"): lambda P, m, trip, door: _recursive(P, m, trip),
    ("allreduce", "rabenseifner"): lambda P, m, trip, door: _halved(P, m, trip) + _doubled(P, m / P, trip),
    ("allreduce", "hierarchical"): lambda P, m, trip, door: _hierarchical(P, m, trip),
    ("allreduce", "rank_order"): lambda P, m, trip, door: 2 * (P - 1) * trip(m / P),
    ("reduce_scatter", "ring"): lambda P, m, trip, door: (P - 1) * trip(m / P),
    ("reduce_scatter", "halving"): lambda P, m, trip, door: _halved(P, m, trip),
    ("reduce_scatter", "rank_order"): lambda P, m, trip, door: (P - 1) * trip(m / P),
    ("scan", "linear"): lambda P, m, trip, door: (P - 1) * trip(m),
    ("scan", "doubling"): lambda P, m, trip, door: _rounds(P) * trip(m),
    ("exscan", "linear"): lambda P, m, trip, door: (P - 1) * trip(m),
    ("exscan", "doubling"): lambda P, m, trip, door: _rounds(P) * trip(m),
}


def predict(name: str, algorithm: str, ranks: int, nbytes: int, machine: Machine) -> float:
    """ns of a collective, by its closed form.

    Args:
        name, algorithm: as in `comm.allreduce(..., algorithm="ring")`; "native" as simulated ranks count it.
        ranks: how many.
        nbytes: what each rank brings (scatter: that root does).
        machine: a Hockney (alpha, beta), or a Network (LogGP).

    Raises:
        ArgumentError: there is no such algorithm, or a number is out of range.

    Example:
        >>> predict("allreduce", "ring", ranks=4, nbytes=4000, machine=Network(latency=2500, overhead=1500, byte=6))
        68964
        >>> predict("barrier", "dissemination", ranks=16, nbytes=0, machine=Hockney(alpha=5500, beta=6.0))
        22000.0

    Source: Thakur, Rabenseifner, Gropp 2005; Chan et al. 2007; each file of algorithms/ names its own.
    """
    whole("predict", "ranks", ranks, 1)
    whole("predict", "nbytes", nbytes, 0)
    if algorithm == "native":
        return cost(name, ranks, nbytes, machine if isinstance(machine, Network) else machine.network)
    find(name, algorithm)
    return CLOSED[name, algorithm](ranks, nbytes, machine.trip, machine.door) if ranks > 1 else 0


def known(name: str) -> list[str]:
    """The algorithms of a collective, without "native".

    Raises:
        ArgumentError: there is no such collective.

    Example:
        >>> known("scan")
        ['linear', 'doubling']
    """
    found = [algorithm for other, algorithm in CLOSED if other == name]
    if not found:
        raise ArgumentError(f"a collective is one of {', '.join(dict.fromkeys(n for n, _ in CLOSED))}", repr(name))
    return found


def best(name: str, ranks: int, nbytes: int, machine: Machine) -> str:
    """The algorithm that takes the least time; of several, the one that stands first.

    Example:
        >>> line = Hockney(alpha=5000, beta=0.2)
        >>> best("allreduce", 64, 8, line), best("allreduce", 4, 25_000_000, line)
        ('doubling', 'rabenseifner')
    """
    return min(known(name), key=lambda algorithm: predict(name, algorithm, ranks, nbytes, machine))


@dataclass(frozen=True)
class Choices:
    """The best algorithm of a collective for each number of ranks and each size: `best[ranks, bytes]`."""

    name: str
    best: Mapping[tuple[int, int], str]

    def as_dict(self) -> dict[str, Any]:
        """Everything as one JSON document."""
        rows = [{"ranks": P, "bytes": m, "algorithm": algorithm} for (P, m), algorithm in self.best.items()]
        return {"name": self.name, "rows": rows}

    def __repr__(self) -> str:
        ranks, sizes = (list(dict.fromkeys(key[k] for key in self.best)) for k in (0, 1))
        lines = [f"{self.name}, the best algorithm", f"{'ranks':>6}" + "".join(f"  {m:>13,} B" for m in sizes)]
        return "\n".join([*lines, *(f"{P:>6}" + "".join(f"  {self.best[P, m]:>15}" for m in sizes) for P in ranks)])


def choices(name: str, ranks: Iterable[int], sizes: Iterable[int], machine: Machine) -> Choices:
    """The best algorithm for each number of ranks and each number of bytes.

    Example:
        >>> choices("allreduce", [4, 1024], [8, 25_000_000], Hockney(alpha=5000, beta=0.2))
        allreduce, the best algorithm
         ranks              8 B     25,000,000 B
             4         doubling     rabenseifner
          1024         doubling     rabenseifner
    """
    asked = list(sizes)
    return Choices(name, {(P, m): best(name, P, m, machine) for P in ranks for m in asked})


# two numbers from a machine


def fit(sizes: Sequence[float], times: Sequence[float]) -> Hockney:
    """The line that comes closest to measured times: each error counts as a part of its time.

        least sum of ((alpha + beta m - t) / t)^2, alpha and beta from 0

    Args:
        sizes: bytes of the messages, two different ones at least.
        times: ns that each took.

    Raises:
        ArgumentError: there are too few, or a time is not above 0.

    Example:
        >>> fit([0, 1000, 4000], [5000, 5200, 5800])
        Hockney(alpha=5000.0, beta=0.2)
    """
    m, t = np.asarray(sizes, np.float64), np.asarray(times, np.float64)
    if m.ndim != 1 or m.shape != t.shape or len(set(m.tolist())) < 2:
        raise ArgumentError("a line goes through times of two sizes or more", f"sizes {sizes!r}, times {times!r}")
    if not (np.isfinite(t).all() and np.isfinite(m).all() and t.min() > 0 <= m.min()):
        raise ArgumentError("sizes are from 0, and times above 0", f"sizes {sizes!r}, times {times!r}")
    (alpha, beta), *_ = np.linalg.lstsq(np.stack([1 / t, m / t], 1), np.ones(len(t)), rcond=None)
    if alpha < 0:
        alpha, beta = 0.0, _part(m / t)
    elif beta < 0:
        alpha, beta = _part(1 / t), 0.0
    return Hockney(float(f"{alpha:.12g}"), float(f"{beta:.12g}"))


def _part(column: Any) -> float:
    """The factor that brings a column closest to ones."""
    return float(column.sum() / (column @ column))


def measure(comm: Communicator, sizes: Sequence[int] = SIZES, repeats: int = 15) -> Hockney:
    """alpha and beta of a communicator: ranks 0 and 1 play ping-pong, and all ranks get the answer.

    Simulated ranks measure their virtual time, and find alpha = L + 2 o - G and beta = G; real ones the wall clock, of
    which the smallest of `repeats` counts.

    Raises:
        ArgumentError: there is only one rank.

    Example:
        >>> told = simulate(2, network=Network(latency=2500, overhead=1500, byte=6))(measure)
        >>> told[0]
        Hockney(alpha=5494.0, beta=6.0)
    """
    if comm.size < 2:
        raise ArgumentError("a ping-pong needs two ranks", f"a communicator of {comm.size}", "simulate(2)(measure)")
    times = [_ping_pong(comm, size, repeats) for size in sizes]
    line: Hockney = comm.bcast(fit(sizes, times) if comm.rank == 0 else None, root=0)
    return line


def _ping_pong(comm: Communicator, size: int, repeats: int) -> float:
    """ns of one way, as algorithms send and receive: into a fresh array."""
    wire, ball = Wire(comm), np.zeros(size, np.uint8)

    def once() -> None:
        if comm.rank == 0:
            wire.send(ball, 1)
            wire.receive(1, ball)
        elif comm.rank == 1:
            wire.send(wire.receive(0, ball), 0)

    return timed(comm, once, repeats) / 2


def timed(comm: Communicator, call: Callable[[], Any], repeats: int = 15) -> float:
    """ns of a call that all ranks make together: of the slowest rank, and the best of `repeats`.

    Simulated ranks measure their virtual time, real ones the wall clock.
    """
    found = []
    for _ in range(repeats):
        comm.Barrier()
        begin = comm.now
        call()
        found.append(comm.allreduce(comm.now - begin, op="max"))
    return float(min(found))


# on paper


@dataclass(frozen=True)
class Scaling:
    """Predicted times of a collective for more and more ranks, beside those that were measured.

    rows: (algorithm, ranks, predicted ns, measured ns or None).
    """

    name: str
    bytes: int
    rows: tuple[tuple[str, int, float, float | None], ...]

    @property
    def errors(self) -> dict[tuple[str, int], float]:
        """(algorithm, ranks) -> (predicted - measured) / measured."""
        return {(a, P): (told - found) / found for a, P, told, found in self.rows if found}

    def as_dict(self) -> dict[str, Any]:
        """Everything as one JSON document."""
        keys = ("algorithm", "ranks", "predicted", "measured")
        return {"name": self.name, "bytes": self.bytes, "rows": [dict(zip(keys, r, strict=True)) for r in self.rows]}

    def __repr__(self) -> str:
        algorithms = list(dict.fromkeys(a for a, *_ in self.rows))
        told = {(a, P): (predicted, found) for a, P, predicted, found in self.rows}
        lines = [f"{self.name} of {self.bytes} bytes, in µs: predicted (measured, error)"]
        lines.append(f"{'ranks':>6}" + "".join(f"  {a:>24}" for a in algorithms))
        lines += [
            f"{ranks:>6}" + "".join(f"  {_cell(*told[a, ranks]):>24}" for a in algorithms)
            for ranks in dict.fromkeys(P for _, P, *_ in self.rows)
        ]
        return "\n".join(lines)


def _cell(predicted: float, found: float | None) -> str:
    if not found:
        return f"{predicted / 1e3:.1f}"
    return f"{predicted / 1e3:.1f} ({found / 1e3:.1f}, {(predicted - found) / found:+.0%})"


def scaling(
    name: str, algorithms: Iterable[str], nbytes: int, machine: Machine, ranks: Iterable[int] = RANKS,
    measured: Mapping[tuple[str, int], float] | None = None,
) -> Scaling:  # fmt: skip
    """What a collective takes on ever more ranks, on paper.

    Args:
        name, algorithms, nbytes, machine: see `predict`.
        ranks: how many, one after the other.
        measured: (algorithm, ranks) -> ns, where somebody has measured it; see `timed`.

    Example:
        >>> line, measured = Hockney(5000, 0.2), {("ring", 4): 2.5e6}
        >>> scaling("allreduce", ["tree", "ring"], 8_000_000, line, ranks=[4, 4096], measured=measured)
        allreduce of 8000000 bytes, in µs: predicted (measured, error)
         ranks                      tree                      ring
             4                    6420.0     2430.0 (2500.0, -3%)
          4096                   38520.0                   44149.2
    """
    found = measured or {}
    rows = [(a, P, predict(name, a, P, nbytes, machine), found.get((a, P))) for P in ranks for a in algorithms]
    return Scaling(name, nbytes, tuple(rows))
