"""Schedules along a cosine: down once, down again and again, and down after a warm-up."""

from __future__ import annotations

import math

from jt_edu.ops.arguments import number, whole, yes_or_no
from jt_edu.optim.base import Optimizer
from jt_edu.optim.lr_scheduler.base import Scaled, Schedule
from jt_edu.optim.param_groups import setting


class CosineAnnealingLR(Scaled):
    """lr = eta_min + (base - eta_min) * (1 + cos(pi * epoch / T_max)) / 2: down, and up again after T_max epochs.

    Source: Loshchilov and Hutter 2016 (arXiv:1608.03983).

    Example:
        >>> optimizer = jt.optim.SGD([jt.ones(1)], lr=1.0)
        >>> schedule = CosineAnnealingLR(optimizer, T_max=2)
        >>> schedule.step()
        >>> round(optimizer.lr, 3)
        0.5
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = whole("CosineAnnealingLR", "T_max", T_max, 1)
        self.eta_min = self.floor = setting("CosineAnnealingLR", "eta_min", eta_min)
        super().__init__(optimizer, last_epoch)

    def share(self, epoch: float) -> float:
        """Half a wave."""
        return (1 + math.cos(math.pi * epoch / self.T_max)) / 2


class CosineAnnealingWarmRestarts(Schedule):
    """lr = eta_min + (base - eta_min) * (1 + cos(pi * t / T)) / 2, which starts anew after T epochs.

    The first T is T_0; each further one is T_mult times as long. `step` may be given a fraction of epochs:
    `schedule.step(epoch + batch / batches)`.

    Source: Loshchilov and Hutter 2016 (arXiv:1608.03983).

    Example:
        >>> optimizer = jt.optim.SGD([jt.ones(1)], lr=1.0)
        >>> schedule = CosineAnnealingWarmRestarts(optimizer, T_0=2, T_mult=2)
        >>> [round(rate, 3) for epoch in range(6) for rate in (schedule.get_last_lr()[0], schedule.step()) if rate]
        [1.0, 0.5, 1.0, 0.854, 0.5, 0.146]
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        who = "CosineAnnealingWarmRestarts"
        self.T_0, self.T_mult = whole(who, "T_0", T_0, 1), whole(who, "T_mult", T_mult, 1)
        self.eta_min = setting(who, "eta_min", eta_min)
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: float) -> float:
        """Half a wave, as long as that of this restart."""
        _, t, length = _cycle(epoch, self.T_0, self.T_mult)
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * t / length)) / 2


class CosineLR(Schedule):
    """A line up to the base rate, then cosines down to lr_min, each cycle longer and lower than the one before.

        epoch < warmup_t:  lr = warmup_lr_init + (base - warmup_lr_init) * epoch / warmup_t
        else:              lr = lr_min + (base * cycle_decay**i - lr_min) * (1 + cos(pi * (t / T)**k_decay)) / 2

    with t epochs into cycle i, which takes T = t_initial * cycle_mul**i; after the last cycle lr_min.

    Args:
        optimizer: whose learning rates it sets.
        t_initial: epochs of the first cycle.
        lr_min: the lowest rate.
        cycle_mul: how much longer each cycle is.
        cycle_decay: how much lower.
        cycle_limit: how many there are.
        warmup_t: epochs of the line.
        warmup_lr_init: where it begins.
        warmup_prefix: the first cycle begins after the warm-up; otherwise that is part of it.
        k_decay: above 1, the rate stays high for longer.
        last_epoch: as for every schedule.

    Source: Loshchilov and Hutter 2016 (arXiv:1608.03983); k_decay: Zhang and Li 2020 (arXiv:2004.05909). The arguments
    are those of `CosineLRScheduler` in timm.

    Example:
        >>> optimizer = jt.optim.SGD([jt.ones(1)], lr=1.0)
        >>> schedule = CosineLR(optimizer, t_initial=4, warmup_t=2)
        >>> [round(rate, 3) for epoch in range(4) for rate in (schedule.get_last_lr()[0], schedule.step()) if rate]
        [0.5, 0.5, 0.146]
    """

    def __init__(
        self, optimizer: Optimizer, t_initial: int, lr_min: float = 0.0, *, cycle_mul: float = 1.0,
        cycle_decay: float = 1.0, cycle_limit: int = 1, warmup_t: int = 0, warmup_lr_init: float = 0.0,
        warmup_prefix: bool = False, k_decay: float = 1.0, last_epoch: int = -1,
    ) -> None:  # fmt: skip
        who = "CosineLR"
        self.t_initial, self.cycle_limit = (
            whole(who, "t_initial", t_initial, 1),
            whole(who, "cycle_limit", cycle_limit, 1),
        )
        self.warmup_t = whole(who, "warmup_t", warmup_t, 0)
        self.warmup_prefix = yes_or_no(who, "warmup_prefix", warmup_prefix)
        self.cycle_mul = number(who, "cycle_mul", cycle_mul, 1.0, finite=True)
        self.cycle_decay, self.k_decay = setting(who, "cycle_decay", cycle_decay), setting(who, "k_decay", k_decay)
        self.lr_min = setting(who, "lr_min", lr_min)
        self.warmup_lr_init = setting(who, "warmup_lr_init", warmup_lr_init)
        super().__init__(optimizer, last_epoch)

    def rate(self, base: float, epoch: float) -> float:
        """The line, a cosine, or the lowest rate."""
        if epoch < self.warmup_t:
            return self.warmup_lr_init + (base - self.warmup_lr_init) * epoch / self.warmup_t
        i, t, length = _cycle(epoch - self.warmup_t * self.warmup_prefix, self.t_initial, self.cycle_mul)
        if i >= self.cycle_limit:
            return self.lr_min
        above = base * self.cycle_decay**i - self.lr_min
        return float(self.lr_min + above * (1 + math.cos(math.pi * (t / length) ** self.k_decay)) / 2)


def _cycle(epoch: float, length: float, growth: float) -> tuple[int, float, float]:
    """Which cycle an epoch belongs to, how far into it, and how long it is."""
    if growth == 1:
        return int(epoch // length), epoch % length, length
    i = 0
    while epoch >= length:
        i, epoch, length = i + 1, epoch - length, length * growth
    return i, epoch, length
