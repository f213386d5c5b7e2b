"""SGD: walk against the gradient, with some memory of where one came from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.base.own import doing
from jt_edu.optim.base import Optimizer
from jt_edu.optim.hyperparameters import Factor, Group, State
from jt_edu.variable.var import Var


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
        maximize: make the loss larger instead.

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
    from_0 = ("lr", "momentum", "weight_decay")
    shares = ("dampening",)
    replays = True

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, momentum: float = 0.0, *, weight_decay: float = 0.0,
        dampening: float = 0.0, nesterov: bool = False, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            params, lr=lr, momentum=momentum, weight_decay=weight_decay, dampening=dampening, nesterov=nesterov,
            maximize=maximize,
        )  # fmt: skip

    def check(self, group: Group) -> None:
        """Numbers in their ranges; Nesterov's momentum needs momentum, and no dampening."""
        super().check(group)
        if group["nesterov"] and (group["momentum"] == 0 or group["dampening"] != 0):
            raise ArgumentError(
                "nesterov looks ahead along the momentum",
                f"momentum {group['momentum']}, dampening {group['dampening']}", "momentum=0.9, dampening=0",
            )  # fmt: skip

    def kept(self, group: Group) -> tuple[str, ...]:
        """A velocity, where there is momentum."""
        return type(self).states if group["momentum"] else ()

    def rule(self, p: Var, g: Var, state: Mapping[str, Any], factor: Factor) -> tuple[Var, dict[str, Var]]:
        """One step of the formula."""
        group = factor.group
        p, g = doing(self, "decay")(p, g, factor)
        if not group["momentum"]:
            return p - g * factor(lambda now, t: now["lr"]), {}
        momentum = factor(lambda now, t: now["momentum"])
        v = state["velocity"] * momentum + g * factor(lambda now, t: 1.0 if t == 1 else 1 - now["dampening"])
        way = g + v * momentum if group["nesterov"] else v
        return p - way * factor(lambda now, t: now["lr"]), {"velocity": v}


class ASGD(Optimizer):
    """Averaged stochastic gradient descent: the steps become shorter, and the average of the places is kept.

        g = dp + weight_decay * p
        p = (1 - lambd * eta) * p - eta * g                       eta = lr in the first step
        average = average + (p - average) / max(1, t - 1 - t0)
        eta = lr / (1 + lambd * lr * t)**alpha                    for step t + 1: a schedule is felt a step later

    Args:
        params: Vars, or groups of them with settings of their own.
        lr: length of the first step.
        lambd: how strongly p decays, and how soon the steps become shorter.
        alpha: how fast they become shorter.
        t0: the step from which on places are averaged; before, the average is the place itself.
        weight_decay: pulls every parameter towards 0.
        maximize: make the loss larger instead.

    The average of a parameter is `optimizer.state[number of the parameter]["average"]`.

    Source: Polyak and Juditsky 1992, "Acceleration of stochastic approximation by averaging".

    Example:
        >>> w = jt.array([1.0])
        >>> ASGD([w], lr=0.1).step((w * w).sum())
        >>> w.numpy().round(4)
        array([0.8], dtype=float32)
    """

    states = ("average",)
    counts = (("step", 0), ("eta", 0.0), ("next_eta", 0.0))
    from_0 = ("lr", "lambd", "alpha", "t0", "weight_decay")
    replays = True

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-2, *, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
        weight_decay: float = 0.0, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, maximize=maximize)

    def rule(self, p: Var, g: Var, state: Mapping[str, Any], factor: Factor) -> tuple[Var, dict[str, Var]]:
        """One step of the formula."""
        p, g = doing(self, "decay")(p, g, factor)
        stays = factor(lambda now, t: 1 - now["lambd"] * factor.counted["eta"])
        new = p * stays - g * factor(lambda now, t: factor.counted["eta"])
        part = factor(lambda now, t: 1 / max(1, t - 1 - now["t0"]))
        rest = factor(lambda now, t: 1 - 1 / max(1, t - 1 - now["t0"]))
        return new, {"average": state["average"] * rest + new * part}

    def count(self, group: Group, state: State) -> dict[str, Any]:
        """The length of this step follows from the settings at the step before, as in PyTorch."""
        t, lr = state["step"] + 1, float(group["lr"])
        later = lr / (1 + group["lambd"] * lr * t) ** group["alpha"]
        return {"step": t, "eta": state["next_eta"] if t > 1 else lr, "next_eta": later}
