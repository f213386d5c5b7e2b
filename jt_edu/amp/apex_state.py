"""Apex state: what did `initialize` or `init` choose for this rank, and whom does it tell?"""

from __future__ import annotations

from dataclasses import dataclass, field

from jt_edu.amp.apex_properties import Properties
from jt_edu.amp.loss_scaler import LossScaler
from jt_edu.base.context import current
from jt_edu.base.errors import ArgumentError
from jt_edu.variable.parallel_context import place


@dataclass
class Amp:
    """What holds for all models and optimizers of a rank.

    Args:
        properties: of the level.
        scalers: one for each loss.
        verbosity: 0: nothing is printed; 2: each decision on a dtype as well.
    """

    properties: Properties
    scalers: list[LossScaler] = field(default_factory=list)
    verbosity: int = 1

    def scaler(self, loss_id: int) -> LossScaler:
        """The one of a loss."""
        if loss_id not in range(len(self.scalers)):
            found = f"loss_id={loss_id} of num_losses={len(self.scalers)}"
            raise ArgumentError("loss_id counts losses from 0", found, "initialize(..., num_losses=2)")
        return self.scalers[loss_id]


def amp_state(who: str) -> Amp:
    """What `initialize` chose.

    Raises:
        ArgumentError: it was not called.
    """
    found: Amp | None = current().rank_state.get("amp")
    if found is None:
        way = "model, optimizer = amp.initialize(model, optimizer)"
        raise ArgumentError(f"amp.{who} goes by what amp.initialize chose", "no call of it", way)
    return found


def tell(verbosity: int, text: str) -> None:
    """Print a line, on the first rank only."""
    if verbosity and place()[0] == 0:
        print(text)  # noqa: T201  Apex does, and `verbosity` says whether
