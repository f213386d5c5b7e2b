"""Deferred outputs: values that nobody has asked for yet, and that are computed along with the optimizer's next step.

A step runs the forward pass, and lets go of what lies in it. Whoever looks later at another result of the same pass
would run it again. So running statistics, and what is cut off from the gradient (the state that the next batch begins
with), ride along: they are stored by the run that passes by. Nobody has to look; a Var that is gone rides no more.

Nothing here computes anything.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable

from jt_edu.base.context import current
from jt_edu.variable.var import Var


def ride_along(variables: Iterable[Var]) -> None:
    """Let the next optimiser step compute these Vars too; until then they are only promised.

    Example:
        >>> ride_along((jt.ones(2),))
    """
    promised = current().rank_state.setdefault("riders", weakref.WeakValueDictionary())
    for var in variables:
        promised[id(var)] = var


def riders() -> list[Var]:
    """Those that are still to be computed.

    Example:
        >>> waiting = jt.ones(2) * 3
        >>> ride_along((waiting,))
        >>> any(v is waiting for v in riders())
        True
        >>> done = waiting.sync()
        >>> any(v is done for v in riders())
        False
    """
    return [var for var in list(current().rank_state.get("riders", {}).values()) if var.node.pending]
