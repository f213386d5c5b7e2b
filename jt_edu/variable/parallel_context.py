"""Parallel context: the ranks that train one model together, as layers, optimisers and datasets see them.

    team() is None     this program runs alone, and does what it always did
    team()             four questions: whose turn is which example, what is the mean over all of us, what is our
                       gradient, and do we agree?

    seed 5      rank 0   start of the parameters 0.3 0.7 ...      what it forgets (dropout)  0 1 1 0
                rank 1                           0.3 0.7 ...                                 1 1 0 1

After `jt.seed(5)` on all ranks, what they all draw is alike; what each draws for its own examples is not: `apart()`.
Nothing here knows how ranks speak to each other; `mpi/rank_team.py` does, and joins the team of a rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np

from jt_edu.base.context import current
from jt_edu.variable.random import Generator, default_generator
from jt_edu.variable.var import Var

STEP = 0x9E3779B97F4A7C15  # an odd number: its multiples go round all keys, and are far from each other
Numbers = Sequence[int] | np.ndarray[Any, Any]


class Team(Protocol):
    """What the others of a team are asked for; every rank asks the same in the same order."""

    rank: int
    size: int

    def agree(self, value: Any) -> Any:
        """What rank 0 has, for a value that all must have alike: the seed of an epoch."""

    def alike(self, variables: Sequence[Var]) -> None:
        """Give Vars the values that they have on rank 0."""

    def mine(self, numbers: Numbers) -> Numbers:
        """The part of a batch that this rank works on; never empty, see `counts`."""

    def handed_out(self, variables: Sequence[Var], examples: int) -> None:
        """These Vars are this rank's part of a batch of so many examples; a loss made of them is a mean over it."""

    def at_hand(self, examples: int | None) -> int | None:
        """Until it is told otherwise the batch has so many examples; returns how many it had before.

        For losses that do not lead back to Vars of a dataset. None: a batch is cut into equal parts by hand.
        """

    def about(self, loss: Var) -> AbstractContextManager[None]:
        """Inside, `part` is a share of the batch that this loss is made of."""

    def part(self, loss: Var) -> Var:
        """This rank's part of the loss of the whole batch: the parts of all ranks add up to it."""

    def added(self, values: Sequence[Var | None]) -> list[Var | None]:
        """The sums of these over all ranks."""

    def moments(self, count: int, mean: Var, variance: Var) -> tuple[Var, Var, Var]:
        """(how many numbers, their mean, their variance sum / n) of all ranks, from those of this one."""


def team() -> Team | None:
    """The team of this rank, if it is in one.

    Example:
        >>> team() is None
        True
    """
    found: Team | None = current().rank_state.get("team")
    return found


def place() -> tuple[int, int]:
    """(rank, how many ranks there are) of this program, however it came to be one of them.

    Example:
        >>> place(), jt.simulate(2)(place)
        ((0, 1), [(0, 2), (1, 2)])
    """
    state = current().rank_state
    if "communicator" in state:
        return int(state["communicator"].rank), int(state["communicator"].size)
    if "distributed" in state:
        world = state["distributed"].default
        return int(world.rank()), int(world.size())
    return 0, 1


def apart() -> Generator:
    """The random numbers of this rank alone: what it draws for its own examples, such as the masks of dropout.

    They come from the seed too, and begin again with it; drawing them moves nothing on for what all ranks draw alike.
    A program that runs alone has only one kind of numbers.

    Example:
        >>> def masks():
        ...     jt.seed(5)
        ...     return jt.rand(2).tolist(), jt.random((2,), generator=apart()).tolist()
        >>> (start, mine), (other_start, other) = jt.simulate(2)(masks)
        >>> start == other_start, mine == other
        (True, False)
    """
    rank, size = place()
    common = default_generator()
    return common if size == 1 else _Apart(common, rank)


class _Apart(Generator):
    """A generator with the seed of another one, moved by the number of a rank; the other one keeps its count."""

    def __init__(self, common: Generator, rank: int) -> None:
        self._common = common
        self.key = (common.key + (rank + 1) * STEP) % (1 << 64)

    @property
    def drawn(self) -> int:
        """How many numbers have been drawn."""
        return self._common.drawn_apart

    @drawn.setter
    def drawn(self, count: int) -> None:
        self._common.drawn_apart = count
