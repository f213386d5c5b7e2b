"""Adam: every number of a parameter gets a step size of its own, from the recent mean and size of its gradient.

Adam        the two means, corrected for their start at 0
AdamW       with the weight decay apart from the gradient
Adamax      with the largest recent gradient instead of the root of the mean square

Nothing here knows what a step costs: each rule becomes one kernel per parameter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jt_edu.base.own import doing
from jt_edu.ops.compare import maximum
from jt_edu.optim.hyperparameters import Factor, Group
from jt_edu.optim.moments import Means, corrected_root, first_mean, second_mean
from jt_edu.variable.var import Var


class Adam(Means):
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
        amsgrad: divide by the largest sqrt(v / ...) there has been, so that steps never become longer again.
        maximize: make the loss larger instead.
        decoupled_weight_decay: shrink the parameter itself, as AdamW does.

    Source: Kingma and Ba 2014 (arXiv:1412.6980); amsgrad: Reddi et al. 2018 (arXiv:1904.09237).

    Example:
        >>> w = jt.array([1.0])
        >>> Adam([w], lr=0.1).step((w * w).sum())
        >>> w.numpy().round(4)
        array([0.9], dtype=float32)
    """

    states = ("mean", "square", "largest")
    replays = True

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, *, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0.0, amsgrad: bool = False, maximize: bool = False, decoupled_weight_decay: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize,
            decoupled_weight_decay=decoupled_weight_decay,
        )  # fmt: skip

    def kept(self, group: Group) -> tuple[str, ...]:
        """The two means; the largest second one for amsgrad."""
        return type(self).states if group["amsgrad"] else type(self).states[:2]

    def rule(self, p: Var, g: Var, state: Mapping[str, Any], factor: Factor) -> tuple[Var, dict[str, Var]]:
        """One step of the formula."""
        p, g = doing(self, "decay")(p, g, factor)
        m, v = first_mean(g, state, factor), second_mean(g, state, factor)
        new = {"mean": m, "square": v}
        if factor.group["amsgrad"]:
            v = new["largest"] = maximum(state["largest"], v)
        speed = factor(lambda now, t: now["lr"] / (1 - now["betas"][0] ** t))
        return p - m / corrected_root(v, factor) * speed, new


class AdamW(Adam):
    """Adam, with the weight decay taken off the parameter itself, where the step sizes of Adam do not distort it.

        p = p * (1 - lr * weight_decay), then Adam's step with g = dp

    Args:
        params, lr, betas, eps, amsgrad, maximize: as for Adam.
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
        weight_decay: float = 1e-2, amsgrad: bool = False, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            params, lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize,
            decoupled_weight_decay=True,
        )  # fmt: skip


class Adamax(Means):
    """Adam with the largest recent gradient instead of the root of the mean square.

        g = dp + weight_decay * p
        m = beta1 * m + (1 - beta1) * g
        u = max(beta2 * u, |g| + eps)
        p = p - lr / (1 - beta1**t) * m / u

    Args:
        params, lr, betas, eps, weight_decay, maximize: as for Adam.

    Source: Kingma and Ba 2014 (arXiv:1412.6980), section 7.1.

    Example:
        >>> w = jt.array([1.0])
        >>> Adamax([w], lr=0.1).step((w * w).sum())
        >>> w.numpy().round(4)
        array([0.9], dtype=float32)
    """

    states = ("mean", "peak")
    replays = True

    def __init__(
        self, params: Iterable[Any], lr: float = 2e-3, *, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0.0, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize)

    def rule(self, p: Var, g: Var, state: Mapping[str, Any], factor: Factor) -> tuple[Var, dict[str, Var]]:
        """One step of the formula."""
        p, g = doing(self, "decay")(p, g, factor)
        m = first_mean(g, state, factor)
        u = maximum(state["peak"] * factor(lambda now, t: now["betas"][1]), abs(g) + factor(lambda now, t: now["eps"]))
        return p - m / u * factor(lambda now, t: now["lr"] / (1 - now["betas"][0] ** t)), {"mean": m, "peak": u}
