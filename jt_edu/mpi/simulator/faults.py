"""Faults: what goes wrong among simulated ranks, as an argument of the simulation.

Faults(slow={2: 3.0})            rank 2 computes three times as long
Faults(drop={3: 10})             rank 3 is gone at its 10th call: it says nothing any more
Faults(delay={(0, 1): 5000})     messages from 0 to 1 take 5,000 ns longer
Faults(lose={(0, 1): 2})         the second message from 0 to 1 never arrives

`Faults` only tells what will go wrong, and can be given to many runs. Each run counts calls and messages for itself, in
a `Fate`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jt_edu.base.errors import ArgumentError
from jt_edu.mpi.base.errors import RankStopped

if TYPE_CHECKING:
    from jt_edu.mpi.simulator.world import World
    from jt_edu.mpi.trace.records import Call

Link = tuple[int, int]  # (source, destination)
LEAST = {"slow": 0, "drop": 1, "delay": 0, "lose": 1}


@dataclass(frozen=True)
class Faults:
    """What goes wrong.

    Args:
        slow: rank -> how many times as long it computes.
        drop: rank -> at which of its calls (from 1) it is gone.
        delay: (source, destination) -> ns that each message takes longer.
        lose: (source, destination) -> which message (from 1) is lost.

    Raises:
        ArgumentError: a number makes no sense.

    Example:
        >>> simulate(2, faults=Faults(slow={1: 3.0}))(lambda comm: (comm.compute(1000), comm.now)[1])
        [1000, 3000]
    """

    slow: Mapping[int, float] = field(default_factory=dict)
    drop: Mapping[int, int] = field(default_factory=dict)
    delay: Mapping[Link, int] = field(default_factory=dict)
    lose: Mapping[Link, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, least in LEAST.items():
            given = getattr(self, name)
            if not isinstance(given, Mapping):
                raise ArgumentError(f"{name} of Faults is a dict", repr(given), "Faults(slow={1: 2.0})")
            for key, value in given.items():
                number = isinstance(value, (int, float)) and not isinstance(value, bool)
                if not number or not least <= value < float("inf"):
                    raise ArgumentError(f"{name} takes numbers from {least}", f"{key}: {value!r}")

    def check(self, size: int) -> None:
        """Refuse ranks that are not among so many.

        Raises:
            ArgumentError: there is one.
        """
        for name in ("slow", "drop"):
            for rank in getattr(self, name):
                if not _is_rank(rank, size):
                    raise ArgumentError(f"{name} of Faults names a rank from 0 to {size - 1}", repr(rank))
        for name in ("delay", "lose"):
            for way in getattr(self, name):
                if not isinstance(way, tuple) or len(way) != 2 or not all(_is_rank(rank, size) for rank in way):
                    asked = f"{name} of Faults names two ranks from 0 to {size - 1}: (source, destination)"
                    raise ArgumentError(asked, repr(way))


def _is_rank(rank: Any, size: int) -> bool:
    return isinstance(rank, int) and not isinstance(rank, bool) and 0 <= rank < size


class Fate:
    """The faults of one run: counts calls and messages, and so knows when each of them comes.

    Args:
        faults: what goes wrong.
        size: how many ranks there are.

    Raises:
        ArgumentError: a fault is of a rank that is not there.
    """

    def __init__(self, faults: Faults, size: int) -> None:
        faults.check(size)
        self.faults = faults
        self._calls: Counter[int] = Counter()
        self._messages: Counter[Link] = Counter()

    def slowed(self, rank: int, duration: float) -> int:
        """How long a rank computes what takes others `duration`."""
        return round(duration * self.faults.slow.get(rank, 1))

    def delayed(self, source: int, dest: int) -> int:
        """How much longer a message is under way."""
        return round(self.faults.delay.get((source, dest), 0))

    def loses(self, source: int, dest: int) -> bool:
        """Whether the message that is sent now never arrives."""
        self._messages[source, dest] += 1
        return self.faults.lose.get((source, dest)) == self._messages[source, dest]

    def at_call(self, world: World, rank: int, call: Call) -> None:
        """A rank calls its communicator, perhaps for the last time."""
        self._calls[rank] += 1
        number = self._calls[rank]
        if number >= self.faults.drop.get(rank, number + 1):
            world.ended[rank] = f"was dropped at its call {number}, {call.words} at {call.line}"
            raise RankStopped
