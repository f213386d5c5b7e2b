"""Schedules made of schedules: one after another, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.base.own import doing
from jt_edu.ops.arguments import whole
from jt_edu.optim.base import Optimizer
from jt_edu.optim.lr_scheduler.base import Schedule, check_not_captured, check_optimizer, check_state, copied
from jt_edu.optim.lr_scheduler.stepwise import list_of


class _Several(Schedule):
    """What schedules made of schedules have in common: states within states."""

    schedulers: list[Schedule]

    def state_dict(self) -> dict[str, Any]:
        """The numbers of this schedule, and those of its parts."""
        return {**super().state_dict(), "schedulers": [doing(part, "state_dict")() for part in self.schedulers]}

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Go on where the schedule that wrote `saved` stopped."""
        check_state(self, saved)
        states = saved["schedulers"]
        if len(states) != len(self.schedulers):
            raise ArgumentError(f"there are {len(self.schedulers)} schedules", f"states of {len(states)}")
        for part, state in zip(self.schedulers, states, strict=True):
            check_state(part, state)
        for part, state in zip(self.schedulers, states, strict=True):
            doing(part, "load_state_dict")(state)
        vars(self).update({name: copied(value) for name, value in saved.items() if name != "schedulers"})


class SequentialLR(_Several):
    """One schedule after another: the next one begins, with its epoch 0, at each milestone.

    Args:
        optimizer: whose learning rates are set.
        schedulers: schedules of this optimizer.
        milestones: the epochs at which the second, third, ... begin.
        last_epoch: as for every schedule.

    Example:
        >>> optimizer = jt.optim.SGD([jt.ones(1)], lr=1.0)
        >>> from jt_edu.optim import ExponentialLR, LinearLR
        >>> warmup = LinearLR(optimizer, start_factor=0.5, total_iters=2)
        >>> schedule = SequentialLR(optimizer, [warmup, ExponentialLR(optimizer, gamma=0.5)], milestones=[2])
        >>> for epoch in range(3): schedule.step()
        >>> optimizer.lr
        0.5
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[Any], milestones: Sequence[int], last_epoch: int = -1
    ) -> None:
        self.schedulers = _all_of("SequentialLR", schedulers, check_optimizer(optimizer))
        self.optimizer, self.milestones = optimizer, list_of("SequentialLR", milestones, 1)
        changes = len(self.schedulers) - 1
        if len(self.milestones) != changes or sorted(set(self.milestones)) != self.milestones:
            raise ArgumentError(f"{changes + 1} schedules change at {changes} milestones, each later", repr(milestones))
        for group in optimizer.param_groups:
            group["lr"] = group["initial_lr"]
        doing(self, "begin")()
        if whole("SequentialLR", "last_epoch", last_epoch, -1) >= 0:
            doing(self, "step")(last_epoch + 1)

    def begin(self) -> None:
        """Epoch 0 of the first schedule, as if the others had not begun."""
        self.last_epoch = 0
        doing(self.schedulers[0], "begin")()

    def step(self, epoch: float | None = None) -> None:
        """An epoch is over: the schedule whose time it is sets the rates of the next one."""
        check_not_captured(self)
        self.last_epoch = doing(self, "epoch_after")(epoch)
        turn = bisect_right(self.milestones, self.last_epoch)
        begun = self.milestones[turn - 1] if turn else 0
        jumps = epoch is not None or self.last_epoch == begun
        doing(self.schedulers[turn], "step")(self.last_epoch - begun if jumps else None)


class ChainedScheduler(_Several):
    """Several schedules at once: each of them steps, one after another, from the rate that the one before left.

    Args:
        schedulers: schedules of one optimizer.
        optimizer: whose learning rates are set; None takes that of the first.

    Example:
        >>> optimizer = jt.optim.SGD([jt.ones(1)], lr=1.0)
        >>> from jt_edu.optim import ConstantLR, ExponentialLR
        >>> parts = [ConstantLR(optimizer, factor=0.5, total_iters=2), ExponentialLR(optimizer, gamma=0.5)]
        >>> schedule = ChainedScheduler(parts)
        >>> for epoch in range(2): schedule.step()
        >>> optimizer.lr
        0.25
    """

    def __init__(self, schedulers: Sequence[Any], optimizer: Optimizer | None = None) -> None:
        self.schedulers = _all_of("ChainedScheduler", schedulers, optimizer)
        self.optimizer, self.last_epoch = self.schedulers[0].optimizer, 0

    def begin(self) -> None:
        """Epoch 0 for all of them."""
        self.last_epoch = 0
        for schedule in self.schedulers:
            doing(schedule, "begin")()

    def step(self, epoch: float | None = None) -> None:
        """An epoch is over for all of them."""
        check_not_captured(self)
        self.last_epoch = doing(self, "epoch_after")(epoch)
        for schedule in self.schedulers:
            doing(schedule, "step")(epoch)


def _all_of(who: str, schedulers: Any, optimizer: Optimizer | None) -> list[Schedule]:
    """Schedules of one optimizer; None takes that of the first."""
    listed = list(schedulers) if isinstance(schedulers, (list, tuple)) else []
    if not listed:
        raise ArgumentError(f"{who} is made of schedules", repr(schedulers), "[LinearLR(optimizer)]")
    for schedule in listed:
        if not isinstance(schedule, Schedule):
            asked = f"{who} is made of schedules that need nothing but epochs"
            raise ArgumentError(asked, type(schedule).__name__)
        if schedule.optimizer is not (optimizer or listed[0].optimizer):
            raise ArgumentError(f"{who} sets the rates of one optimizer", f"{type(schedule).__name__} of another")
    return listed
