"""Relatives of Adam that treat its means with more care: one looks ahead, one waits until it can trust them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from jt_edu.base.own import doing
from jt_edu.ir.scalar_ops import SQRT
from jt_edu.optim.hyperparameters import Factor, Group, State
from jt_edu.optim.moments import Means, corrected_root, first_mean, second_mean
from jt_edu.variable.var import Var


class NAdam(Means):
    """Adam with Nesterov's look ahead: the mean is taken as it will be after the next step.

        mu = beta1 * (1 - 0.96**(t * momentum_decay) / 2),  mu' that of step t + 1,  M = product of all mu
        m, v as for Adam
        m' = mu' * m / (1 - M * mu') + (1 - mu) * g / (1 - M)
        p = p - lr * m' / (sqrt(v / (1 - beta2**t)) + eps)

    Args:
        params, lr, betas, eps, weight_decay, maximize, decoupled_weight_decay: as for Adam.
        momentum_decay: how fast mu rises from beta1 / 2 to beta1.

    Source: Dozat 2016, "Incorporating Nesterov momentum into Adam".

    Example:
        >>> w = jt.array([1.0])
        >>> NAdam([w], lr=0.1).step((w * w).sum())
        >>> w.numpy().round(4)
        array([0.8944], dtype=float32)
    """

    counts = (("step", 0), ("mu_product", 1.0))
    from_0 = (*Means.from_0, "momentum_decay")
    replays = True

    def __init__(
        self, params: Iterable[Any], lr: float = 2e-3, *, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0.0, momentum_decay: float = 4e-3, decoupled_weight_decay: bool = False,
        maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay,
            decoupled_weight_decay=decoupled_weight_decay, maximize=maximize,
        )  # fmt: skip

    def count(self, group: Group, state: State) -> dict[str, Any]:
        """One step more, and the product of all mu so far."""
        step = state["step"] + 1
        return {"step": step, "mu_product": state["mu_product"] * _mu(group, step)}

    def rule(self, p: Var, g: Var, state: Mapping[str, Any], factor: Factor) -> tuple[Var, dict[str, Var]]:
        """One step of the formula."""
        p, g = doing(self, "decay")(p, g, factor)
        m, v = first_mean(g, state, factor), second_mean(g, state, factor)

        def of_mean(now: Group, t: int) -> float:
            ahead = _mu(now, t + 1)
            return float(now["lr"] * ahead / (1 - factor.counted["mu_product"] * ahead))

        def of_gradient(now: Group, t: int) -> float:
            return float(now["lr"] * (1 - _mu(now, t)) / (1 - factor.counted["mu_product"]))

        way = m * factor(of_mean) + g * factor(of_gradient)
        return p - way / corrected_root(v, factor), {"mean": m, "square": v}


def _mu(group: Group, t: int) -> float:
    """How much of the mean goes on in step t."""
    return float(group["betas"][0] * (1 - 0.5 * 0.96 ** (t * group["momentum_decay"])))


class RAdam(Means):
    """Adam that takes plain steps along the first moment until the second can be trusted.

        r = 2 / (1 - beta2) - 1,  rho = r - 2 * t * beta2**t / (1 - beta2**t)
        m, v as for Adam
        rho > 5:  p = p - lr * m / (1 - beta1**t) / (sqrt(v / (1 - beta2**t)) + eps)
                          * sqrt((rho - 4) * (rho - 2) * r / ((r - 4) * (r - 2) * rho))
        else:     p = p - lr * m / (1 - beta1**t)

    Args:
        params, lr, betas, eps, weight_decay, maximize, decoupled_weight_decay: as for Adam. (eps joins the root
            before it is corrected, as in PyTorch.)

    Source: Liu et al. 2019 (arXiv:1908.03265).

    Example:
        >>> w = jt.array([1.0])
        >>> RAdam([w], lr=0.1).step((w * w).sum())
        >>> w.numpy().round(4)
        array([0.8], dtype=float32)
    """

    replays = True

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, *, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0.0, decoupled_weight_decay: bool = False, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay,
            decoupled_weight_decay=decoupled_weight_decay, maximize=maximize,
        )  # fmt: skip

    def rule(self, p: Var, g: Var, state: Mapping[str, Any], factor: Factor) -> tuple[Var, dict[str, Var]]:
        """One step of the formula: both cases are m * number / (sqrt(v) * (1 or 0) + number)."""
        p, g = doing(self, "decay")(p, g, factor)
        m, v = first_mean(g, state, factor), second_mean(g, state, factor)
        trusted = factor(lambda now, t: float(_trust(now["betas"][1], t) > 0))
        floor = factor(lambda now, t: now["eps"] if _trust(now["betas"][1], t) else 1.0)
        speed = factor(lambda now, t: now["lr"] / (1 - now["betas"][0] ** t) * (_trust(now["betas"][1], t) or 1.0))
        return p - m * speed / (v.apply(SQRT) * trusted + floor), {"mean": m, "square": v}


def _trust(beta: float, t: int) -> float:
    """What a step along m / sqrt(v) is multiplied by after t gradients; 0 while v says too little."""
    most = 2 / (1 - beta) - 1
    rho = most - 2 * t * beta**t / (1 - beta**t)
    if rho <= 5:
        return 0.0
    return math.sqrt((1 - beta**t) * (rho - 4) * (rho - 2) * most / ((most - 4) * (most - 2) * rho))
