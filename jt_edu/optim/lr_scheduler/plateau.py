"""A schedule that waits until the loss stops falling."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from jt_edu.base.errors import ArgumentError
from jt_edu.base.own import Extended, doing, own
from jt_edu.ir.builders import short
from jt_edu.nn.factory_kwargs import in_its_name
from jt_edu.ops.arguments import choice, whole
from jt_edu.optim.base import Optimizer
from jt_edu.optim.lr_scheduler.base import Schedule, check_not_captured, check_optimizer, per_group
from jt_edu.optim.param_groups import setting


class ReduceLROnPlateau(Extended):
    """lr = max(lr * factor, min_lr) when a metric has not improved for more than `patience` epochs.

    Better is, for mode "min": metric < best * (1 - threshold) with threshold_mode "rel", < best - threshold with "abs";
    for mode "max": > best * (1 + threshold), > best + threshold.

    Args:
        optimizer: whose learning rates it sets.
        mode: "min" for a loss, "max" for an accuracy.
        factor: what the rate is multiplied by, below 1.
        patience: how many epochs without improvement are borne.
        threshold, threshold_mode: what counts as better.
        cooldown: how many epochs after a reduction are not counted.
        min_lr: no rate falls below it; one number, or one for each group.
        eps: a smaller change of the rate is not made.

    Example:
        >>> optimizer = jt.optim.SGD([jt.ones(1)], lr=0.5)
        >>> schedule = ReduceLROnPlateau(optimizer, patience=1, factor=0.5)
        >>> for loss in [3.0, 3.0, 3.0]: schedule.step(loss)
        >>> optimizer.lr
        0.25
    """

    words: ClassVar = {"mode": ("min", "max"), "threshold_mode": ("rel", "abs")}

    @in_its_name
    def __init__(
        self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10, threshold: float = 1e-4,
        threshold_mode: str = "rel", cooldown: int = 0, min_lr: Any = 0.0, eps: float = 1e-8,
    ) -> None:  # fmt: skip
        groups, who = len(check_optimizer(optimizer).param_groups), "ReduceLROnPlateau"
        self.mode = choice(who, "mode", mode, self.words["mode"])
        self.threshold_mode = choice(who, "threshold_mode", threshold_mode, self.words["threshold_mode"])
        self.factor = setting(who, "factor", factor, 1.0)
        if self.factor == 1:
            raise ArgumentError(f"{who} makes the rate smaller: its factor is below 1", f"factor={short(factor)}")
        self.patience, self.cooldown = whole(who, "patience", patience, 0), whole(who, "cooldown", cooldown, 0)
        self.min_lrs = [setting(who, "min_lr", least) for least in per_group("min_lr", min_lr, groups)]
        self.threshold, self.eps = setting(who, "threshold", threshold), setting(who, "eps", eps)
        self.optimizer = optimizer
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = self.cooldown_counter = 0
        self.last_epoch = 0

    def step(self, metrics: Any) -> None:
        """An epoch is over, with this loss or accuracy (a number, or a Var of one)."""
        check_not_captured(self)
        metric = _number(metrics)
        self.last_epoch += 1
        if doing(self, "is_better")(metric):
            self.best, self.num_bad_epochs = metric, 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0
        if self.num_bad_epochs > self.patience:
            own(self)._reduce()
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0

    def is_better(self, metric: float) -> bool:
        """Whether a metric counts as an improvement."""
        margin = self.threshold if self.mode == "max" else -self.threshold
        bound = self.best * (1 + margin) if self.threshold_mode == "rel" else self.best + margin
        return metric > bound if self.mode == "max" else metric < bound

    def _reduce(self) -> None:
        for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=False):
            rate = max(group["lr"] * self.factor, least)
            if group["lr"] - rate > self.eps:
                group["lr"] = rate

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Go on where the schedule that wrote `saved` stopped."""
        Schedule.load_state_dict(self, saved)  # type: ignore[arg-type]

    get_last_lr = Schedule.get_last_lr
    state_dict = Schedule.state_dict


def _number(metrics: Any) -> float:
    try:
        return float(metrics)
    except (TypeError, ValueError):
        raise ArgumentError("a plateau is judged by one number per epoch", repr(metrics), "loss.item()") from None
