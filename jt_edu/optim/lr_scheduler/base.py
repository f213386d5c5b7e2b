"""Base: how the learning rate changes from epoch to epoch (or from batch to batch).

    for epoch in range(90):
        train(model, optimizer)
        schedule.step()

Schedule    states the rate of an epoch, so that going on from a saved state needs only the number of the epoch
Scaled      states by how much the rate differs from where it began, so that others may change it too
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from copy import deepcopy
from numbers import Real
from typing import Any, ClassVar

from jt_edu.base.context import current
from jt_edu.base.errors import ArgumentError
from jt_edu.base.own import Extended, doing
from jt_edu.ir.builders import short
from jt_edu.nn.factory_kwargs import in_its_name
from jt_edu.ops.arguments import whole
from jt_edu.optim.base import Optimizer
from jt_edu.optim.param_groups import setting

EACH_GROUP = ("base_lrs", "max_lrs", "min_lrs", "low_lrs", "momentum_range")


class Schedule(Extended):
    """Sets lr = rate(base rate, epoch) of every group; a subclass writes `rate`.

    A group that the optimizer is given later keeps the rate that it comes with.

    PyTorch's form of a subclass, `get_lr(self)`, which returns the rates of all groups, will do as well.

    Args:
        optimizer: whose learning rates it sets. Its base rates are those that the first schedule found.
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

    last_epoch: float
    words: ClassVar[Mapping[str, tuple[str, ...]]] = {}  # attribute -> what it may be, where that is one of some words

    def __init_subclass__(cls) -> None:
        """Errors about arguments name the schedule."""
        super().__init_subclass__()
        if "__init__" in vars(cls):
            cls.__init__ = in_its_name(cls.__init__)  # type: ignore[method-assign]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self.optimizer = check_optimizer(optimizer)
        for group in optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
        self.base_lrs = [float(group["initial_lr"]) for group in optimizer.param_groups]
        doing(self, "start")(last_epoch)

    def start(self, last_epoch: int) -> None:
        """The epoch after `last_epoch`."""
        self.last_epoch = whole(type(self).__name__, "last_epoch", last_epoch, -1)
        doing(self, "step")(None if self.last_epoch < 0 else self.last_epoch + 1)

    def rate(self, base: float, epoch: float) -> float:
        """The learning rate in an epoch, counted from 0."""
        raise ArgumentError(
            f"{type(self).__name__} must say what the learning rate is",
            "no rate method",
            "def rate(self, base, epoch), or def get_lr(self), as in PyTorch",
        )

    def rates(self) -> list[float]:
        """The learning rate of each group in this epoch."""
        rate, of_all = doing(self, "rate"), getattr(type(self), "get_lr", None)
        if callable(of_all) and type(self).rate is Schedule.rate:
            return checked_rates(self, of_all(self))
        return [rate(base, self.last_epoch) for base in self.base_lrs]

    def next_rates(self) -> list[float]:
        """The same, if the epoch before was the last one."""
        now: list[float] = doing(self, "rates")()
        return now

    def step(self, epoch: float | None = None) -> None:
        """An epoch is over: set the learning rates of the next one, or of the one with this number."""
        check_not_captured(self)
        self.last_epoch = doing(self, "epoch_after")(epoch)
        rates = doing(self, "next_rates" if epoch is None else "rates")()
        for group, rate in zip(self.optimizer.param_groups, rates, strict=False):
            group["lr"] = rate

    def epoch_after(self, epoch: float | None) -> float:
        """The number of the epoch that `step` is asked for; None is the next one."""
        return self.last_epoch + 1 if epoch is None else setting(f"{type(self).__name__}.step", "epoch", epoch)

    def begin(self) -> None:
        """Epoch 0."""
        self.last_epoch = -1
        doing(self, "step")()

    def get_last_lr(self) -> list[float]:
        """The learning rate of each group, as it is now."""
        return [float(group["lr"]) for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to go on, as plain numbers; functions are code, and stay out."""
        others = ("optimizer", "schedulers")
        return {name: copied(v) for name, v in vars(self).items() if name not in others and not _is_code(v)}

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Go on where the schedule that wrote `saved` stopped; the rates themselves are a state of the optimizer."""
        check_state(self, saved)
        vars(self).update({name: copied(value) for name, value in saved.items()})


class Scaled(Schedule):
    """A schedule that multiplies: rate = floor + (base - floor) * share(epoch); a subclass writes `share`.

    A step multiplies the rate as it is by share(epoch) / share(epoch - 1). What others did to it, another schedule or
    the learner, stays.

    Example:
        >>> class Halve(Scaled):
        ...     def share(self, epoch):
        ...         return 0.5**epoch
        >>> optimizer = jt.optim.SGD([jt.ones(1)], lr=0.8)
        >>> schedule = Halve(optimizer)
        >>> optimizer.lr = 0.2
        >>> schedule.step()
        >>> optimizer.lr
        0.1
    """

    floor = 0.0

    def share(self, epoch: float) -> float:
        """What is left of the base rate, above the floor."""
        raise ArgumentError(f"{type(self).__name__} must say what is left of the learning rate", "no share method")

    def rate(self, base: float, epoch: float) -> float:
        """The learning rate in an epoch, if nothing else changes it."""
        share: float = doing(self, "share")(epoch)
        return self.floor + (base - self.floor) * share

    def next_rates(self) -> list[float]:
        """The rates as they are, changed as the share changes."""
        share = doing(self, "share")
        now = share(self.last_epoch)
        before = share(self.last_epoch - 1) if self.last_epoch > 0 else 1.0
        rates = []
        for group, base in zip(self.optimizer.param_groups, self.base_lrs, strict=False):
            if now == before:
                rates.append(group["lr"])
            elif before == 0:
                rates.append(group["lr"] + (base - self.floor) * now)
            else:
                rates.append(self.floor + (group["lr"] - self.floor) * (now / before))
        return rates


def checked_rates(schedule: Schedule, rates: Any) -> list[float]:
    """What PyTorch's `get_lr` returns: one rate for each group."""
    groups = len(schedule.optimizer.param_groups)
    if not isinstance(rates, (list, tuple)) or len(rates) != groups:
        asked = f"{type(schedule).__name__}.get_lr returns a list with the rate of each of {groups} groups"
        raise ArgumentError(asked, short(rates), "[base * 0.9**self.last_epoch for base in self.base_lrs]")
    return [float(setting(f"{type(schedule).__name__}.get_lr", "each rate", rate)) for rate in rates]


def check_not_captured(schedule: object) -> None:
    """A replay of a compiled step runs none of its Python: the rate would stay what it was when it was captured."""
    if current().capture is not None:
        raise ArgumentError(
            "a schedule steps outside a compiled step, whose replays do not run its Python",
            f"{type(schedule).__name__}.step() inside jt.compile", "schedule.step() after the compiled step",
        )  # fmt: skip


def check_optimizer(optimizer: Any) -> Optimizer:
    """An optimizer, and nothing else."""
    if not isinstance(optimizer, Optimizer):
        raise ArgumentError("a schedule sets the learning rate of an optimizer", type(optimizer).__name__)
    return optimizer


def check_state(schedule: Any, saved: Any) -> None:
    """What a schedule of this class would save, of as many groups."""
    name, own = type(schedule).__name__, doing(schedule, "state_dict")()
    if not isinstance(saved, Mapping):
        raise ArgumentError(f"{name} continues from what state_dict returned", type(saved).__name__)
    wrong = sorted(set(saved) ^ set(own))
    if wrong:
        raise ArgumentError(f"{name} continues from its own state", ", ".join(wrong))
    fits = [key for key, value in own.items() if _alike(key, value, saved[key]) and _may_be(schedule, key, saved[key])]
    wrong = [f"{key}={short(saved[key])}" for key in own if key not in fits]
    if wrong:
        raise ArgumentError(f"{name} continues from a state like its own", ", ".join(wrong))


def _alike(name: str, own: Any, other: Any) -> bool:
    """Whether a value is of the same kind; what each group has one of is there for each."""
    if isinstance(own, (list, tuple)):
        listed = isinstance(other, (list, tuple)) and (name not in EACH_GROUP or len(other) == len(own))
        return listed and all(_alike("", own[0], part) for part in other[: len(other) * bool(own)])
    if isinstance(own, bool) or not isinstance(own, Real):
        return own is None or isinstance(other, Mapping if isinstance(own, Mapping) else type(own))
    return isinstance(other, Real) and not isinstance(other, bool)


def _may_be(schedule: Any, name: str, value: Any) -> bool:
    """Whether a value of the right kind is one that `__init__` takes."""
    return -1 <= value < math.inf if name == "last_epoch" else value in schedule.words.get(name, (value,))


def copied(value: Any) -> Any:
    """A list of its own, which later steps do not change."""
    return deepcopy(value) if isinstance(value, (list, tuple, dict)) else value


def per_group(name: str, value: Any, groups: int) -> list[Any]:
    """One value for each group, from one for all or a list."""
    listed = list(value) if isinstance(value, (list, tuple)) else [value] * groups
    if len(listed) != groups:
        raise ArgumentError(f"{name} is one for all, or one for each of {groups} groups", repr(value))
    return listed


def _is_code(value: Any) -> bool:
    return callable(value) or (isinstance(value, list) and bool(value) and all(map(callable, value)))
