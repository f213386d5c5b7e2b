"""Lookahead: fast weights explore with any other rule; slow weights follow them from time to time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.base.own import doing, own
from jt_edu.ops.arguments import whole
from jt_edu.optim.base import Optimizer
from jt_edu.optim.hyperparameters import Factor, Group, State
from jt_edu.optim.param_groups import setting
from jt_edu.variable.var import Var


class Lookahead(Optimizer):
    """Another optimizer, whose parameters are drawn back every k steps.

        p = one step of the other rule
        every k steps:  slow = slow + alpha * (p - slow),  p = slow        (slow starts as p)

    Args:
        optimizer: the other one; this one goes on in its place.
        alpha: how far the slow weights follow.
        k: after how many steps.

    The settings of the other one stand in `param_groups`, beside "lookahead_alpha" and "lookahead_k". They are copies:
    a schedule is made for this optimizer, and not for the other.

    Source: Zhang et al. 2019 (arXiv:1907.08610).

    Example:
        >>> w = jt.array([1.0])
        >>> optimizer = Lookahead(jt.optim.SGD([w], lr=0.25), alpha=0.5, k=2)
        >>> for _ in range(2): optimizer.step((w * w).sum())
        >>> w.numpy()
        array([0.625], dtype=float32)
    """

    replays = True

    def __init__(self, optimizer: Optimizer, alpha: float = 0.5, k: int = 6) -> None:
        if not isinstance(optimizer, Optimizer):
            raise ArgumentError("Lookahead wraps another optimizer", type(optimizer).__name__, "SGD([w], lr=0.1)")
        if type(optimizer).rule is Optimizer.rule:
            found = f"{type(optimizer).__name__}, which moves all parameters as one"
            raise ArgumentError("Lookahead wraps an optimizer with a rule for each parameter", found, "SGD or Adam")
        self.rule_of = optimizer
        settings = {**optimizer.defaults, "lookahead_alpha": alpha, "lookahead_k": k}
        super().__init__(optimizer.param_groups, **settings)
        for mine, other in zip(self.state, optimizer.state, strict=True):
            mine.update(other)

    def _kind(self) -> type[Optimizer]:
        return own(self.rule_of)._kind()

    def check(self, group: Group) -> None:
        """The settings of the other rule, and those of Lookahead."""
        doing(self.rule_of, "check")(group)
        setting("Lookahead", "alpha", group["lookahead_alpha"], 1.0)
        whole("Lookahead", "k", group["lookahead_k"], 1)

    def kept(self, group: Group) -> tuple[str, ...]:
        """What the other rule keeps, and the slow weights."""
        return (*doing(self.rule_of, "kept")(group), "slow")

    def first(self, name: str, p: Var, group: Group) -> Any:
        """The slow weights start where the fast ones do."""
        return p if name == "slow" else doing(self.rule_of, "first")(name, p, group)

    def count(self, group: Group, state: State) -> dict[str, Any]:
        """The numbers of the other rule."""
        numbers: dict[str, Any] = doing(self.rule_of, "count")(group, state)
        return numbers

    def rule(self, p: Var, g: Var, state: Mapping[str, Any], factor: Factor) -> tuple[Var, dict[str, Var]]:
        """A step of the other rule; in every k-th the rest of the formula, which is multiplied by 0 in the others."""
        fast, new = doing(self.rule_of, "rule")(p, g, state, factor)
        follow = factor(lambda now, t: now["lookahead_alpha"] * _meets(now, t))
        stay = factor(lambda now, t: 1 - now["lookahead_alpha"] * _meets(now, t))
        slow = state["slow"] * stay + fast * follow
        back, on = factor(_meets), factor(lambda now, t: 1.0 - _meets(now, t))
        return fast * on + slow * back, {**new, "slow": slow}


def _meets(group: Group, t: int) -> float:
    """1 in every k-th step, 0 in the others."""
    return float(t % group["lookahead_k"] == 0)
