"""Team: the ranks that train one model together, as layers, optimisers and datasets see them.

    team() is None     this program runs alone, and does what it always did
    team()             four questions: whose turn is which example, what is the mean over all of us, what is our
                       gradient, and do we agree?

Nothing here knows how ranks speak to each other; `mpi/parallel.py` does, and joins the team of a rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np

from jt_edu.settings import current
from jt_edu.var import Var

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
        """Until it is told otherwise the batch has so many examples; answers how many it had before.

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
