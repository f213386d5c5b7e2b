"""Step sizes from the size of past gradients: all of them (Adagrad), or the recent ones (RMSprop, Adadelta)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jt_edu.base.own import doing
from jt_edu.ir.scalar_ops import SQRT
from jt_edu.ops.compare import maximum
from jt_edu.optim.base import Optimizer
from jt_edu.optim.hyperparameters import Factor, Group
from jt_edu.variable.var import Var


class RMSprop(Optimizer):
    """Divides the gradient by the root of its recent mean square.

        g = dp + weight_decay * p
        v = alpha * v + (1 - alpha) * g**2
        centered:  m = alpha * m + (1 - alpha) * g,  size = sqrt(v - m**2) + eps
        else:      size = sqrt(v) + eps
        b = momentum * b + g / size
        p = p - lr * b

    Args:
        params: Vars, or groups of them with settings of their own.
        lr: learning rate.
        alpha: how much of the old mean square is kept.
        eps: keeps the division finite.
        weight_decay: pulls every parameter towards 0.
        momentum: how much of the last step goes on.
        centered: divide by the recent standard deviation instead.
        maximize: make the loss larger instead.

    Source: Tieleman and Hinton 2012, "Neural Networks for Machine Learning", lecture 6.5; centered: Graves 2013
    (arXiv:1308.0850).

    Example:
        >>> w = jt.array([1.0])
        >>> RMSprop([w], lr=0.1, alpha=0.75).step((w * w).sum())
        >>> w.numpy().round(4)
        array([0.8], dtype=float32)
    """

    states = ("square", "velocity", "mean")
    from_0 = ("lr", "eps", "weight_decay", "momentum")
    shares = ("alpha",)
    replays = True

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-2, *, alpha: float = 0.99, eps: float = 1e-8,
        weight_decay: float = 0.0, momentum: float = 0.0, centered: bool = False, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            params, lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum, centered=centered,
            maximize=maximize,
        )  # fmt: skip

    def kept(self, group: Group) -> tuple[str, ...]:
        """The mean square; a velocity for momentum; the mean where it is subtracted."""
        needed = {"square": True, "velocity": group["momentum"], "mean": group["centered"]}
        return tuple(name for name, there in needed.items() if there)

    def rule(self, p: Var, g: Var, state: Mapping[str, Any], factor: Factor) -> tuple[Var, dict[str, Var]]:
        """One step of the formula."""
        p, g = doing(self, "decay")(p, g, factor)
        old, fresh = factor(lambda now, t: now["alpha"]), factor(lambda now, t: 1 - now["alpha"])
        new = {"square": state["square"] * old + g * g * fresh}
        spread = new["square"]
        if factor.group["centered"]:
            m = new["mean"] = state["mean"] * old + g * fresh
            spread = maximum(spread - m * m, 0.0)
        way = g / (spread.apply(SQRT) + factor(lambda now, t: now["eps"]))
        if factor.group["momentum"]:
            way = new["velocity"] = state["velocity"] * factor(lambda now, t: now["momentum"]) + way
        return p - way * factor(lambda now, t: now["lr"]), new


class Adagrad(Optimizer):
    """Divides the gradient by the root of the sum of all its squares, so that rare features take long steps.

        g = dp + weight_decay * p
        s = s + g**2
        p = p - lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + eps)

    Args:
        params: Vars, or groups of them with settings of their own.
        lr: learning rate.
        lr_decay: how fast it falls besides.
        weight_decay: pulls every parameter towards 0.
        initial_accumulator_value: what s starts with.
        eps: keeps the division finite.
        maximize: make the loss larger instead.

    Source: Duchi, Hazan and Singer 2011, "Adaptive subgradient methods for online learning".

    Example:
        >>> w = jt.array([1.0])
        >>> Adagrad([w], lr=0.1).step((w * w).sum())
        >>> w.numpy().round(4)
        array([0.9], dtype=float32)
    """

    states = ("sum",)
    from_0 = ("lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps")
    replays = True

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-2, *, lr_decay: float = 0.0, weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0, eps: float = 1e-10, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            params, lr=lr, lr_decay=lr_decay, weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value, eps=eps, maximize=maximize,
        )  # fmt: skip

    def first(self, name: str, p: Var, group: Group) -> Any:
        """The sum starts with a number that is given."""
        return group["initial_accumulator_value"]

    def rule(self, p: Var, g: Var, state: Mapping[str, Any], factor: Factor) -> tuple[Var, dict[str, Var]]:
        """One step of the formula."""
        p, g = doing(self, "decay")(p, g, factor)
        s = state["sum"] + g * g
        speed = factor(lambda now, t: now["lr"] / (1 + (t - 1) * now["lr_decay"]))
        return p - g / (s.apply(SQRT) + factor(lambda now, t: now["eps"])) * speed, {"sum": s}


class Adadelta(Optimizer):
    """Takes steps of the size of recent steps, in the units of the parameter, so that no learning rate is needed.

        g = dp + weight_decay * p
        v = rho * v + (1 - rho) * g**2
        d = sqrt(u + eps) / sqrt(v + eps) * g
        u = rho * u + (1 - rho) * d**2
        p = p - lr * d

    Args:
        params: Vars, or groups of them with settings of their own.
        lr: what steps are multiplied by, 1 in the paper.
        rho: how much of the old means is kept.
        eps: the size of the first steps.
        weight_decay: pulls every parameter towards 0.
        maximize: make the loss larger instead.

    Source: Zeiler 2012 (arXiv:1212.5701).

    Example:
        >>> w = jt.array([1.0])
        >>> Adadelta([w], rho=0.75, eps=1.0).step((w * w).sum())
        >>> w.numpy().round(4)
        array([-0.4142], dtype=float32)
    """

    states = ("square", "step_square")
    from_0 = ("lr", "eps", "weight_decay")
    shares = ("rho",)
    replays = True

    def __init__(
        self, params: Iterable[Any], lr: float = 1.0, *, rho: float = 0.9, eps: float = 1e-6,
        weight_decay: float = 0.0, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize)

    def rule(self, p: Var, g: Var, state: Mapping[str, Any], factor: Factor) -> tuple[Var, dict[str, Var]]:
        """One step of the formula."""
        p, g = doing(self, "decay")(p, g, factor)
        old, fresh = factor(lambda now, t: now["rho"]), factor(lambda now, t: 1 - now["rho"])
        eps = factor(lambda now, t: now["eps"])
        v = state["square"] * old + g * g * fresh
        way = (state["step_square"] + eps).apply(SQRT) / (v + eps).apply(SQRT) * g
        u = state["step_square"] * old + way * way * fresh
        return p - way * factor(lambda now, t: now["lr"]), {"square": v, "step_square": u}
