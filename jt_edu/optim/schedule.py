"""Schedules: how the learning rate changes from epoch to epoch.

    for epoch in range(90):
        train(model, optimizer)
        schedule.step()

Each states the rate as a function of the number of epochs, so that going on from a saved state needs only that number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jt_edu.errors import ArgumentError
from jt_edu.optim.base import Optimizer
from jt_edu.optim.params import check_number


class Schedule:
    """Sets lr = factor(epoch) of every group; a subclass writes `rate`.

    Args:
        optimizer: whose learning rates it sets. Those it has now are the base rates.
        last_epoch: the number of the last epoch that is over, -1 to start; from 0 on, the base rates are `initial_lr`
            of the groups, where there is one.

    Example:
        >>> class Halve(Schedule):
        ...     def rate(self, base, epoch):
        ...         return base / 2**epoch
        >>> optimizer = jt.optim.SGD([jt.ones(1)], lr=0.8)
        >>> schedule = Halve(optimizer)
        >>> schedule.step()
        >>> optimizer.lr
        0.4
    """

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise ArgumentError("a schedule sets the learning rate of an optimizer", type(optimizer).__name__)
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            group["initial_lr"] = group.get("initial_lr", group["lr"]) if last_epoch >= 0 else group["lr"]
        self.base_lrs = [float(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self.step()

    def rate(self, base: float, epoch: int) -> float:
        """The learning rate in an epoch, counted from 0."""
        raise ArgumentError(f"{type(self).__name__} must say what the learning rate is", "no rate method")

    def rates(self) -> list[float]:
        """The learning rate of each group in this epoch."""
        return [self.rate(base, self.last_epoch) for base in self.base_lrs]

    def step(self) -> None:
        """An epoch is over: set the learning rates of the next."""
        self.last_epoch += 1
        for group, rate in zip(self.optimizer.param_groups, self.rates(), strict=False):
            group["lr"] = rate

    def get_last_lr(self) -> list[float]:
        """The learning rate of each group, as it is now."""
        return [float(group["lr"]) for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to go on, as plain numbers."""
        return {name: value for name, value in vars(self).items() if name != "optimizer" and not callable(value)}

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Go on where the schedule that wrote `saved` stopped; the rates themselves are a state of the optimizer."""
        wrong = sorted(set(saved) ^ set(self.state_dict()))
        if wrong:
            raise ArgumentError(f"{type(self).__name__} goes on from its own state", ", ".join(wrong))
        vars(self).update(saved)


class StepLR(Schedule):
    """lr = base * gamma**(epoch // step_size).

    Example:
        >>> optimizer = jt.optim.SGD([jt.ones(1)], lr=0.5)
        >>> schedule = StepLR(optimizer, step_size=2, gamma=0.5)
        >>> for epoch in range(2): schedule.step()
        >>> optimizer.lr
        0.25
    """

    def __init__(self, optimizer: Optimizer, step_size: Any, gamma: float = 0.1, last_epoch: int = -1) -> None:
        if not isinstance(step_size, int) or step_size < 1:
            raise ArgumentError("step_size is a number of epochs from 1", repr(step_size))
        check_number("gamma", gamma, 0.0, math.inf)
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: int) -> float:
        """One factor more every `step_size` epochs."""
        return base * self.gamma ** (epoch // self.step_size)


class MultiStepLR(Schedule):
    """lr = base * gamma**(how many milestones have been reached).

    Example:
        >>> optimizer = jt.optim.SGD([jt.ones(1)], lr=0.5)
        >>> schedule = MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5)
        >>> schedule.step()
        >>> optimizer.lr
        0.25
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = sorted(milestones), gamma
        check_number("gamma", gamma, 0.0, math.inf)
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: int) -> float:
        """One factor more at each milestone."""
        return base * self.gamma ** sum(m <= epoch for m in self.milestones)


class ExponentialLR(Schedule):
    """lr = base * gamma**epoch.

    Example:
        >>> optimizer = jt.optim.SGD([jt.ones(1)], lr=0.5)
        >>> schedule = ExponentialLR(optimizer, gamma=0.5)
        >>> schedule.step()
        >>> optimizer.lr
        0.25
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        check_number("gamma", gamma, 0.0, math.inf)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: int) -> float:
        """One factor more each epoch."""
        return float(base * self.gamma**epoch)


class CosineAnnealingLR(Schedule):
    """lr = eta_min + (base - eta_min) * (1 + cos(pi * epoch / T_max)) / 2: down, and up again after T_max epochs.

    Source: Loshchilov and Hutter 2016 (arXiv:1608.03983).

    Example:
        >>> optimizer = jt.optim.SGD([jt.ones(1)], lr=1.0)
        >>> schedule = CosineAnnealingLR(optimizer, T_max=2)
        >>> schedule.step()
        >>> round(optimizer.lr, 3)
        0.5
    """

    def __init__(self, optimizer: Optimizer, T_max: Any, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        if not isinstance(T_max, int) or T_max < 1:
            raise ArgumentError("T_max is a number of epochs from 1", repr(T_max))
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: int) -> float:
        """Half a wave."""
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * epoch / self.T_max)) / 2


class LambdaLR(Schedule):
    """lr = base * lr_lambda(epoch); one function for all groups, or one for each.

    Example:
        >>> optimizer = jt.optim.SGD([jt.ones(1)], lr=0.5)
        >>> schedule = LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))
        >>> schedule.step()
        >>> optimizer.lr
        0.25
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        groups = len(getattr(optimizer, "param_groups", ()))
        listed: list[Callable[[int], float]] = (
            list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        )
        if len(listed) != groups or not all(callable(f) for f in listed):
            raise ArgumentError(f"LambdaLR takes a function, or one for each of {groups} groups", repr(lr_lambda))
        self._lambdas = listed
        super().__init__(optimizer, last_epoch)

    def rates(self) -> list[float]:
        """Each group asks its own function."""
        return [base * f(self.last_epoch) for base, f in zip(self.base_lrs, self._lambdas, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the functions, which are code."""
        return {name: value for name, value in super().state_dict().items() if name != "_lambdas"}


class ReduceLROnPlateau:
    """lr = max(lr * factor, min_lr) when a metric has not improved for more than `patience` epochs.

    Better is, for mode "min": metric < best * (1 - threshold) with threshold_mode "rel", < best - threshold with "abs";
    for mode "max": > best * (1 + threshold), > best + threshold.

    Args:
        optimizer: whose learning rates it sets.
        mode: "min" for a loss, "max" for an accuracy.
        factor: what the rate is multiplied with, below 1.
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

    def __init__(
        self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10, threshold: float = 1e-4,
        threshold_mode: str = "rel", cooldown: int = 0, min_lr: Any = 0.0, eps: float = 1e-8,
    ) -> None:  # fmt: skip
        if not isinstance(optimizer, Optimizer):
            raise ArgumentError("a schedule sets the learning rate of an optimizer", type(optimizer).__name__)
        if mode not in ("min", "max") or threshold_mode not in ("rel", "abs"):
            found = f"{mode!r} and {threshold_mode!r}"
            raise ArgumentError("mode is 'min' or 'max', threshold_mode 'rel' or 'abs'", found)
        if not 0 <= factor < 1:
            raise ArgumentError("factor makes the rate smaller: it is below 1", repr(factor))
        groups = len(optimizer.param_groups)
        self.min_lrs = list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * groups
        if len(self.min_lrs) != groups:
            raise ArgumentError(f"min_lr is a number, or one for each of {groups} groups", repr(min_lr))
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown, self.eps = threshold, threshold_mode, cooldown, eps
        self.best = math.inf if mode == "min" else -math.inf
        self.bad_epochs = self.cooldown_left = 0
        self.last_epoch = 0

    def step(self, metrics: Any) -> None:
        """An epoch is over, with this loss or accuracy (a number, or a Var of one)."""
        metric = float(metrics)
        self.last_epoch += 1
        if self.is_better(metric):
            self.best, self.bad_epochs = metric, 0
        else:
            self.bad_epochs += 1
        if self.cooldown_left > 0:
            self.cooldown_left, self.bad_epochs = self.cooldown_left - 1, 0
        if self.bad_epochs > self.patience:
            self._reduce()
            self.cooldown_left, self.bad_epochs = self.cooldown, 0

    def is_better(self, metric: float) -> bool:
        """Whether a metric counts as an improvement."""
        margin = self.threshold if self.mode == "max" else -self.threshold
        bound = self.best * (1 + margin) if self.threshold_mode == "rel" else self.best + margin
        return metric > bound if self.mode == "max" else metric < bound

    def _reduce(self) -> None:
        for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
            rate = max(group["lr"] * self.factor, least)
            if group["lr"] - rate > self.eps:
                group["lr"] = rate

    get_last_lr = Schedule.get_last_lr
    state_dict = Schedule.state_dict
    load_state_dict = Schedule.load_state_dict
