"""Faults: what goes wrong among simulated ranks, as an argument of the simulation.

Faults(slow={2: 3.0})            rank 2 computes three times as long
Faults(drop={3: 10})             rank 3 is gone at its 10th call: it says nothing any more
Faults(delay={(0, 1): 5000})     messages from 0 to 1 take 5,000 ns longer
Faults(lose={(0, 1): 2})         the second message from 0 to 1 never arrives
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jt_edu.errors import ArgumentError
from jt_edu.mpi.terms.errors import RankStopped

if TYPE_CHECKING:
    from jt_edu.mpi.record.records import Call
    from jt_edu.mpi.world.world import World

Way = tuple[int, int]  # (source, destination)


@dataclass
class Faults:
    """What goes wrong.

    Args:
        slow: rank -> how many times as long it computes.
        drop: rank -> at which of its calls (from 1) it is gone.
        delay: (source, destination) -> ns that each message takes longer.
        lose: (source, destination) -> which message (from 1) is lost.

    Raises:
        ArgumentError: a number is below what makes sense.

    Example:
        >>> simulate(2, faults=Faults(slow={1: 3.0}))(lambda comm: (comm.compute(1000), comm.now)[1])
        [1000, 3000]
    """

    slow: Mapping[int, float] = field(default_factory=dict)
    drop: Mapping[int, int] = field(default_factory=dict)
    delay: Mapping[Way, int] = field(default_factory=dict)
    lose: Mapping[Way, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._calls: dict[int, int] = {}
        self._messages: dict[Way, int] = {}
        for name, least in (("slow", 0), ("drop", 1), ("delay", 0), ("lose", 1)):
            for key, value in dict(getattr(self, name)).items():
                if isinstance(value, bool) or not isinstance(value, (int, float)) or value < least:
                    raise ArgumentError(f"{name} takes numbers from {least}", f"{key}: {value!r}")

    def slowed(self, rank: int, duration: int) -> int:
        """How long a rank computes what takes others `duration`."""
        return round(duration * self.slow.get(rank, 1))

    def delayed(self, source: int, dest: int) -> int:
        """How much longer a message is under way."""
        return round(self.delay.get((source, dest), 0))

    def loses(self, source: int, dest: int) -> bool:
        """Whether the message that is sent now never arrives."""
        self._messages[source, dest] = number = self._messages.get((source, dest), 0) + 1
        return self.lose.get((source, dest)) == number

    def at_call(self, world: World, rank: int, call: Call) -> None:
        """A rank calls its communicator, perhaps for the last time."""
        self._calls[rank] = number = self._calls.get(rank, 0) + 1
        if number >= self.drop.get(rank, number + 1):
            world.ended[rank] = f"was dropped at its call {number}, {call.words} at {call.line}"
            raise RankStopped

    def __bool__(self) -> bool:
        return any((self.slow, self.drop, self.delay, self.lose))
