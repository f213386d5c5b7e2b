"""SGD: walk against the gradient, with some memory of where one came from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from jt_edu.errors import ArgumentError
from jt_edu.optim.base import Optimizer
from jt_edu.optim.factor import Factor, Group
from jt_edu.optim.params import check_number
from jt_edu.var import Var


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum.

        g = dp + weight_decay * p
        v = momentum * v + (1 - dampening) * g        (v = g in the first step)
        p = p - lr * v                                nesterov:  p = p - lr * (g + momentum * v)

    Args:
        params: Vars, or groups of them with settings of their own.
        lr: learning rate.
        momentum: how much of the last step goes on.
        weight_decay: pulls every parameter towards 0.
        dampening: how much less the gradient counts in v.
        nesterov: look ahead along v.

    Raises:
        ArgumentError: nesterov without momentum, or with dampening.

    Source: Sutskever et al. 2013, "On the importance of initialization and momentum in deep learning".

    Example:
        >>> w = jt.array([1.0])
        >>> SGD([w], lr=0.1).step((w * w).sum())
        >>> w.numpy()
        array([0.8], dtype=float32)
    """

    states = ("velocity",)
    replays = True

    def __init__(
        self, params: Iterable[Any], lr: float, momentum: float = 0.0, *, weight_decay: float = 0.0,
        dampening: float = 0.0, nesterov: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            params, lr=lr, momentum=momentum, weight_decay=weight_decay, dampening=dampening, nesterov=nesterov
        )

    def check(self, group: Group) -> None:
        """Numbers in their ranges; Nesterov's momentum needs momentum, and no dampening."""
        super().check(group)
        check_number("momentum", group["momentum"], 0.0, math.inf)
        check_number("weight_decay", group["weight_decay"], 0.0, math.inf)
        check_number("dampening", group["dampening"], 0.0, 1.0)
        if group["nesterov"] and (group["momentum"] == 0 or group["dampening"] != 0):
            raise ArgumentError(
                "nesterov looks ahead along the momentum",
                f"momentum {group['momentum']}, dampening {group['dampening']}", "momentum=0.9, dampening=0",
            )  # fmt: skip

    def rule(self, p: Var, g: Var, state: Mapping[str, Any], factor: Factor) -> tuple[Var, dict[str, Var]]:
        """One step of the formula."""
        group = factor.group
        if group["weight_decay"]:
            g = g + p * factor(lambda now, step: now["weight_decay"])
        if not group["momentum"]:
            return p - g * factor(lambda now, step: now["lr"]), {}
        momentum = factor(lambda now, step: now["momentum"])
        v = state["velocity"] * momentum + g * factor(lambda now, step: 1.0 if step == 1 else 1 - now["dampening"])
        way = g + v * momentum if group["nesterov"] else v
        return p - way * factor(lambda now, step: now["lr"]), {"velocity": v}
