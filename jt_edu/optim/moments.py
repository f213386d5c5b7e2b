"""Moments: what Adam and its relatives share, the recent means of the gradient and of its square.

    m = beta1 * m + (1 - beta1) * g         the mean
    v = beta2 * v + (1 - beta2) * g**2      the mean square

Both start at 0; divided by 1 - beta**t they are means of t gradients from the first step on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from jt_edu.ir.scalar_ops import SQRT
from jt_edu.optim.base import Optimizer
from jt_edu.optim.hyperparameters import Factor, Group
from jt_edu.optim.param_groups import pair
from jt_edu.variable.var import Var


class Means(Optimizer):
    """A rule with the settings betas, eps and weight_decay.

    Example:
        >>> class Signs(Means):
        ...     def rule(self, p, g, state, factor):
        ...         m = first_mean(g, state, factor)
        ...         return p - m.sign() * factor(lambda now, t: now["lr"]), {"mean": m}
        >>> w = jt.array([3.0])
        >>> Signs([w], lr=0.5, betas=(0.9, 0.9), eps=0.0, weight_decay=0.0).step((w * w).sum())
        >>> w.numpy()
        array([2.5], dtype=float32)
    """

    states: tuple[str, ...] = ("mean", "square")
    from_0: tuple[str, ...] = ("lr", "eps", "weight_decay")

    def check(self, group: Group) -> None:
        """Numbers in their ranges."""
        super().check(group)
        pair(type(self).__name__, "betas", group["betas"], 1.0, (0.9, 0.999))


def first_mean(g: Var, state: Mapping[str, Any], factor: Factor) -> Var:
    """The exponential moving average of the gradient: its first moment."""
    m: Var = state["mean"] * factor(lambda now, t: now["betas"][0]) + g * factor(lambda now, t: 1 - now["betas"][0])
    return m


def second_mean(g: Var, state: Mapping[str, Any], factor: Factor) -> Var:
    """The recent mean of the squared gradient."""
    v: Var = state["square"] * factor(lambda now, t: now["betas"][1]) + g * g * factor(
        lambda now, t: 1 - now["betas"][1]
    )
    return v


def corrected_root(v: Var, factor: Factor) -> Var:
    """sqrt(v / (1 - beta2**t)) + eps: how large gradients have been, corrected for the start at 0."""
    corrected = v.apply(SQRT) * factor(lambda now, t: 1 / math.sqrt(1 - now["betas"][1] ** t))
    return corrected + factor(lambda now, t: now["eps"])
