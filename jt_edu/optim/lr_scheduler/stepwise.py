"""Schedules that multiply the rate: at certain epochs, at each one, along a line, or by a function of the learner's."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.base.own import doing
from jt_edu.ops.arguments import number, whole
from jt_edu.optim.base import Optimizer
from jt_edu.optim.lr_scheduler.base import Scaled, Schedule, check_optimizer, per_group
from jt_edu.optim.param_groups import setting

__all__ = ["ConstantLR", "ExponentialLR", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "PolynomialLR",
           "StepLR"]  # fmt: skip


class StepLR(Scaled):
    """lr = base * gamma**(epoch // step_size).

    Example:
        >>> optimizer = jt.optim.SGD([jt.ones(1)], lr=0.5)
        >>> schedule = StepLR(optimizer, step_size=2, gamma=0.5)
        >>> for epoch in range(2): schedule.step()
        >>> optimizer.lr
        0.25
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = whole("StepLR", "step_size", step_size, 1)
        self.gamma = setting("StepLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def share(self, epoch: float) -> float:
        """One factor more every `step_size` epochs."""
        return float(self.gamma ** (epoch // self.step_size))


class MultiStepLR(Scaled):
    """lr = base * gamma**(how many milestones have been reached); a milestone that is listed twice counts twice.

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
        self.milestones = sorted(list_of("MultiStepLR", milestones, 0))
        self.gamma = setting("MultiStepLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def share(self, epoch: float) -> float:
        """One factor more at each milestone."""
        return float(self.gamma ** bisect_right(self.milestones, epoch))


class ExponentialLR(Scaled):
    """lr = base * gamma**epoch.

    Example:
        >>> optimizer = jt.optim.SGD([jt.ones(1)], lr=0.5)
        >>> schedule = ExponentialLR(optimizer, gamma=0.5)
        >>> schedule.step()
        >>> optimizer.lr
        0.25
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = setting("ExponentialLR", "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def share(self, epoch: float) -> float:
        """One factor more each epoch."""
        return float(self.gamma**epoch)


class ConstantLR(Scaled):
    """lr = base * factor before epoch `total_iters`, base from there on.

    Example:
        >>> optimizer = jt.optim.SGD([jt.ones(1)], lr=0.5)
        >>> schedule = ConstantLR(optimizer, factor=0.5, total_iters=2)
        >>> optimizer.lr
        0.25
    """

    def __init__(self, optimizer: Optimizer, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        self.factor = setting("ConstantLR", "factor", factor, 1.0)
        self.total_iters = whole("ConstantLR", "total_iters", total_iters, 0)
        super().__init__(optimizer, last_epoch)

    def share(self, epoch: float) -> float:
        """The factor, and then 1."""
        return float(self.factor) if epoch < self.total_iters else 1.0


class LinearLR(Scaled):
    """lr = base * factor, where the factor goes along a line from start_factor to end_factor in total_iters epochs.

    Example:
        >>> optimizer = jt.optim.SGD([jt.ones(1)], lr=1.0)
        >>> schedule = LinearLR(optimizer, start_factor=0.5, total_iters=2)
        >>> schedule.step()
        >>> optimizer.lr
        0.75
    """

    def __init__(
        self, optimizer: Optimizer, start_factor: float = 1 / 3, end_factor: float = 1.0, total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        self.start_factor = number("LinearLR", "start_factor", start_factor, 0, 1, above=True)  # 0 would never grow
        self.end_factor = setting("LinearLR", "end_factor", end_factor, 1.0)
        self.total_iters = whole("LinearLR", "total_iters", total_iters, 1)
        super().__init__(optimizer, last_epoch)

    def share(self, epoch: float) -> float:
        """A line for total_iters epochs, and then its end."""
        way = min(epoch, self.total_iters) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * way


class PolynomialLR(Scaled):
    """lr = base * (1 - epoch / total_iters)**power, and 0 after total_iters epochs.

    Example:
        >>> optimizer = jt.optim.SGD([jt.ones(1)], lr=1.0)
        >>> schedule = PolynomialLR(optimizer, total_iters=2, power=2.0)
        >>> schedule.step()
        >>> optimizer.lr
        0.25
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = whole("PolynomialLR", "total_iters", total_iters, 1)
        self.power = setting("PolynomialLR", "power", power)
        super().__init__(optimizer, last_epoch)

    def share(self, epoch: float) -> float:
        """A curve to 0."""
        return float((1 - min(epoch, self.total_iters) / self.total_iters) ** self.power)


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
        self.lr_lambdas = _functions("LambdaLR", optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def rates(self) -> list[float]:
        """Each group asks its own function."""
        return [base * f(self.last_epoch) for base, f in zip(self.base_lrs, self.lr_lambdas, strict=True)]


class MultiplicativeLR(Schedule):
    """lr = lr * lr_lambda(epoch), from epoch 1 on; one function for all groups, or one for each.

    Example:
        >>> optimizer = jt.optim.SGD([jt.ones(1)], lr=0.5)
        >>> schedule = MultiplicativeLR(optimizer, lambda epoch: 0.5)
        >>> for epoch in range(2): schedule.step()
        >>> optimizer.lr
        0.125
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas = _functions("MultiplicativeLR", optimizer, lr_lambda)
        super().__init__(optimizer, last_epoch)

    def rates(self) -> list[float]:
        """The rates as they are, each times its factor."""
        pairs = zip(self.optimizer.param_groups, self.lr_lambdas, strict=False)
        return [group["lr"] * f(self.last_epoch) for group, f in pairs]

    def next_rates(self) -> list[float]:
        """The same, but that the first epoch changes nothing."""
        rates: list[float] = doing(self, "rates" if self.last_epoch > 0 else "get_last_lr")()
        return rates


def list_of(who: str, milestones: Any, least: int) -> list[int]:
    """Numbers of epochs, as they were written."""
    if not isinstance(milestones, Iterable):
        raise ArgumentError(f"{who} takes milestones as numbers of epochs", repr(milestones), "[30, 60]")
    return [whole(who, "a milestone", milestone, least) for milestone in milestones]


def _functions(name: str, optimizer: Any, given: Any) -> list[Any]:
    """One function for each group."""
    listed = per_group("lr_lambda", given, len(check_optimizer(optimizer).param_groups))
    if not all(map(callable, listed)):
        raise ArgumentError(f"{name} takes a function of the epoch, or one for each group", repr(given))
    return listed
