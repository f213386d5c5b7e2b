"""Rprop: only the sign of the gradient counts; every number of a parameter learns its own step length from it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.ops.compare import maximum, minimum
from jt_edu.ops.elementwise import where
from jt_edu.optim.base import Optimizer
from jt_edu.optim.hyperparameters import Factor, Group
from jt_edu.optim.param_groups import pair
from jt_edu.variable.var import Var


class Rprop(Optimizer):
    """Resilient backpropagation, for gradients of the whole data set.

        same sign as before:  length = min(length * etas[1], step_sizes[1])
        other sign:           length = max(length * etas[0], step_sizes[0]),  and g = 0: stay this time
        p = p - sign(g) * length

    Args:
        params: Vars, or groups of them with settings of their own.
        lr: the length of the first step; what a schedule makes of it later has no effect.
        etas: what a length is multiplied by, after a turn and without one; the first below 1, the second above.
        step_sizes: the shortest and the longest.
        maximize: make the loss larger instead.

    Source: Riedmiller and Braun 1993, "A direct adaptive method for faster backpropagation learning".

    Example:
        >>> w = jt.array([1.0])
        >>> optimizer = Rprop([w], lr=0.5)
        >>> for _ in range(2): optimizer.step((w * w).sum())
        >>> w.numpy().round(4)
        array([-0.1], dtype=float32)
    """

    states = ("before", "length")
    replays = True

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-2, *, etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0), maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, lr=lr, etas=etas, step_sizes=step_sizes, maximize=maximize)

    def check(self, group: Group) -> None:
        """Lengths shrink and grow, between the shortest and the longest."""
        super().check(group)
        pair("Rprop", "etas", group["etas"], math.inf, (0.5, 1.2))
        pair("Rprop", "step_sizes", group["step_sizes"], math.inf, (1e-6, 50.0))
        if not 0 < group["etas"][0] < 1 < group["etas"][1]:
            raise ArgumentError(
                "Rprop takes etas as one number below 1 and one above", repr(group["etas"]), "(0.5, 1.2)"
            )
        if group["step_sizes"][0] > group["step_sizes"][1]:
            raise ArgumentError("Rprop takes step_sizes as the shortest and the longest", repr(group["step_sizes"]))

    def rule(self, p: Var, g: Var, state: Mapping[str, Any], factor: Factor) -> tuple[Var, dict[str, Var]]:
        """One step of the formula."""
        agree = g * state["before"]
        shrink, grow = factor(lambda now, t: now["etas"][0]), factor(lambda now, t: now["etas"][1])
        low, high = factor(lambda now, t: now["step_sizes"][0]), factor(lambda now, t: now["step_sizes"][1])
        length = maximum(state["length"], factor(lambda now, t: now["lr"] if t == 1 else 0.0))  # that of the first step
        length = where(agree > 0, length * grow, where(agree < 0, length * shrink, length))
        length = minimum(maximum(length, low), high)
        g = where(agree < 0, 0.0, g)
        return p - g.sign() * length, {"before": g, "length": length}
