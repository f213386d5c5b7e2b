"""LAMB: Adam whose step is as long as the parameter it moves asks for, so that very large batches can be used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jt_edu.base.own import doing
from jt_edu.ir.scalar_ops import SQRT
from jt_edu.ops.elementwise import where
from jt_edu.optim.hyperparameters import Factor
from jt_edu.optim.moments import Means, corrected_root, first_mean, second_mean
from jt_edu.variable.var import Var


class LAMB(Means):
    """Layer-wise adaptive moments.

        m, v as for Adam
        r = m / (1 - beta1**t) / (sqrt(v / (1 - beta2**t)) + eps) + weight_decay * p
        p = p - lr * |p| / |r| * r,    |p| the length of the whole parameter; the factor is 1 where p or r is 0

    Args:
        params: Vars, or groups of them with settings of their own.
        lr: learning rate: how far a parameter moves, as a part of its own length.
        betas: how much of the old mean and of the old size is kept.
        eps: keeps the division finite.
        weight_decay: pulls every parameter towards 0.
        maximize: make the loss larger instead.

    Source: You et al. 2019, algorithm 2 (arXiv:1904.00962).

    Example:
        >>> w = jt.array([3.0, 4.0])
        >>> LAMB([w], lr=0.1, weight_decay=0.0).step((w * w).sum())
        >>> w.numpy().round(4)
        array([2.6464, 3.6464], dtype=float32)
    """

    replays = True

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, *, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-6,
        weight_decay: float = 1e-2, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize)

    def rule(self, p: Var, g: Var, state: Mapping[str, Any], factor: Factor) -> tuple[Var, dict[str, Var]]:
        """One step of the formula."""
        m, v = first_mean(g, state, factor), second_mean(g, state, factor)
        r = m * factor(lambda now, t: 1 / (1 - now["betas"][0] ** t)) / corrected_root(v, factor)
        _, r = doing(self, "decay")(p, r, factor)
        long_p, long_r = (p * p).sum().apply(SQRT), (r * r).sum().apply(SQRT)
        trust = where((long_p > 0) & (long_r > 0), long_p / where(long_r > 0, long_r, 1.0), 1.0)
        return p - r * trust * factor(lambda now, t: now["lr"]), {"mean": m, "square": v}
