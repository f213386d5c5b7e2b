"""Adam: every parameter gets a step size of its own, from the recent mean and size of its gradient."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from jt_edu.errors import ArgumentError
from jt_edu.functions import SQRT
from jt_edu.optim.base import Optimizer
from jt_edu.optim.factor import Factor, Group
from jt_edu.optim.params import check_number
from jt_edu.var import Var


class Adam(Optimizer):
    """Adam, with the weight decay added to the gradient.

        g = dp + weight_decay * p
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        p = p - lr * (m / (1 - beta1**t)) / (sqrt(v / (1 - beta2**t)) + eps),    t = 1, 2, ... counts steps

    Args:
        params: Vars, or groups of them with settings of their own.
        lr: learning rate: about how far a parameter moves in one step.
        betas: how much of the old mean and of the old size is kept.
        eps: keeps the division finite.
        weight_decay: pulls every parameter towards 0.

    Source: Kingma and Ba 2014 (arXiv:1412.6980).

    Example:
        >>> w = jt.array([1.0])
        >>> Adam([w], lr=0.1).step((w * w).sum())
        >>> w.numpy().round(4)
        array([0.9], dtype=float32)
    """

    states = ("mean", "square")
    replays = True

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, *, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)

    def check(self, group: Group) -> None:
        """Numbers in their ranges."""
        super().check(group)
        check_number("eps", group["eps"], 0.0, math.inf)
        check_number("weight_decay", group["weight_decay"], 0.0, math.inf)
        betas = group["betas"]
        if not isinstance(betas, (tuple, list)) or len(betas) != 2 or not all(0 <= b < 1 for b in betas):
            raise ArgumentError("betas are two numbers from 0 to below 1", repr(betas), "(0.9, 0.999)")

    def rule(self, p: Var, g: Var, state: Mapping[str, Any], factor: Factor) -> tuple[Var, dict[str, Var]]:
        """One step of the formula."""
        p, g = self.decay(p, g, factor)
        keep_m, new_m = factor(lambda now, t: now["betas"][0]), factor(lambda now, t: 1 - now["betas"][0])
        keep_v, new_v = factor(lambda now, t: now["betas"][1]), factor(lambda now, t: 1 - now["betas"][1])
        m = state["mean"] * keep_m + g * new_m
        v = state["square"] * keep_v + g * g * new_v
        unbiased = factor(lambda now, t: 1 / math.sqrt(1 - now["betas"][1] ** t))
        speed = factor(lambda now, t: now["lr"] / (1 - now["betas"][0] ** t))
        way = m / (v.apply(SQRT) * unbiased + factor(lambda now, t: now["eps"]))
        return p - way * speed, {"mean": m, "square": v}

    def decay(self, p: Var, g: Var, factor: Factor) -> tuple[Var, Var]:
        """Parameter and gradient after weight decay."""
        if factor.group["weight_decay"]:
            g = g + p * factor(lambda now, t: now["weight_decay"])
        return p, g


class AdamW(Adam):
    """Adam, with the weight decay taken off the parameter itself, where the step sizes of Adam do not distort it.

        p = p * (1 - lr * weight_decay), then Adam's step with g = dp

    Args:
        params, lr, betas, eps: as for Adam.
        weight_decay: 0.01, unless told otherwise.

    Source: Loshchilov and Hutter 2017 (arXiv:1711.05101).

    Example:
        >>> w = jt.array([1.0])
        >>> AdamW([w], lr=0.1, weight_decay=0.5).step((w * w).sum())
        >>> w.numpy().round(4)
        array([0.85], dtype=float32)
    """

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, *, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:  # fmt: skip
        super().__init__(params, lr, betas=betas, eps=eps, weight_decay=weight_decay)

    def decay(self, p: Var, g: Var, factor: Factor) -> tuple[Var, Var]:
        """The parameter shrinks; its gradient stays."""
        if factor.group["weight_decay"]:
            p = p * factor(lambda now, t: 1 - now["lr"] * now["weight_decay"])
        return p, g
