"""Schedules that go up and down between two rates, with the momentum going the other way."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

from jt_edu.base.errors import ArgumentError, RangeError
from jt_edu.base.own import doing
from jt_edu.ir.builders import short
from jt_edu.ops.arguments import choice, number, whole, yes_or_no
from jt_edu.optim.base import Optimizer
from jt_edu.optim.lr_scheduler.base import Schedule, check_optimizer, per_group
from jt_edu.optim.param_groups import setting


class Cycling(Schedule):
    """A schedule with a momentum for every epoch as well; a subclass writes `rates` and `momenta`.

    Example:
        >>> class Swing(Cycling):
        ...     cycle_momentum = True
        ...     def rates(self):
        ...         return [0.1 + 0.1 * (self.last_epoch % 2)]
        ...     def momenta(self):
        ...         return [0.9 - 0.4 * (self.last_epoch % 2)]
        >>> optimizer = jt.optim.SGD([jt.ones(1)], lr=0.1, momentum=0.9)
        >>> Swing(optimizer).step()
        >>> optimizer.lr, optimizer.param_groups[0]["momentum"]
        (0.2, 0.5)
    """

    cycle_momentum = False

    def momenta(self) -> list[float]:
        """The momentum of each group in this epoch."""
        raise ArgumentError(f"{type(self).__name__} must say what the momentum is", "no momenta method")

    def step(self, epoch: float | None = None) -> None:
        """A batch is over: set rates and momenta of the next one."""
        super().step(epoch)
        if self.cycle_momentum:
            for group, momentum in zip(self.optimizer.param_groups, doing(self, "momenta")(), strict=False):
                if "betas" in group:
                    group["betas"] = (momentum, *group["betas"][1:])
                else:
                    group["momentum"] = momentum


class OneCycleLR(Cycling):
    """Up from max_lr / div_factor to max_lr, and down to far below it, once in a whole training.

    The momentum goes from max_momentum down to base_momentum, and up again (`betas[0]`, for rules with betas).

    Args:
        optimizer: whose rates it sets.
        max_lr: the highest rate; one for all groups, or one for each.
        total_steps: how many steps there are; or instead of it:
        epochs, steps_per_epoch: whose product that is.
        pct_start: the part of the steps that goes up.
        anneal_strategy: "cos" or "linear".
        cycle_momentum: whether the momentum is set.
        base_momentum, max_momentum: the lowest and the highest.
        div_factor: max_lr / first rate.
        final_div_factor: first rate / last rate.
        three_phase: down to the first rate, in as many steps as up, before it goes further down.
        last_epoch: as for every schedule.

    Raises:
        RangeError: more steps are taken than there are.

    Source: Smith and Topin 2017 (arXiv:1708.07120).

    Example:
        >>> optimizer = jt.optim.SGD([jt.ones(1)], momentum=0.9)
        >>> schedule = OneCycleLR(optimizer, max_lr=1.0, total_steps=5, pct_start=0.6, anneal_strategy="linear")
        >>> for step in range(4): schedule.step()
        >>> schedule.get_last_lr(), optimizer.param_groups[0]["momentum"]
        ([4e-06], 0.95)
    """

    words: ClassVar = {"anneal_strategy": ("cos", "linear")}

    def __init__(
        self, optimizer: Optimizer, max_lr: Any, total_steps: int | None = None, epochs: int | None = None,
        steps_per_epoch: int | None = None, pct_start: float = 0.3, anneal_strategy: str = "cos",
        cycle_momentum: bool = True, base_momentum: Any = 0.85, max_momentum: Any = 0.95, div_factor: float = 25.0,
        final_div_factor: float = 1e4, three_phase: bool = False, last_epoch: int = -1,
    ) -> None:  # fmt: skip
        groups, who = len(check_optimizer(optimizer).param_groups), "OneCycleLR"
        self.anneal_strategy = choice(who, "anneal_strategy", anneal_strategy, self.words["anneal_strategy"])
        part = setting(who, "pct_start", pct_start, 1.0)
        first = 1 / number(who, "div_factor", div_factor, 0.0, above=True, finite=True)
        last = first / number(who, "final_div_factor", final_div_factor, 0.0, above=True, finite=True)
        self.total_steps = _total(total_steps, epochs, steps_per_epoch)
        self.cycle_momentum = cycle_momentum
        self.max_lrs = _settings(who, "max_lr", max_lr, groups)
        self.momentum_range = _momenta(who, optimizer, cycle_momentum, base_momentum, max_momentum)
        self.corners = _corners(self.total_steps, part, first, last, yes_or_no(who, "three_phase", three_phase))
        if last_epoch < 0:
            for group, most in zip(optimizer.param_groups, self.max_lrs, strict=True):
                group["initial_lr"] = most * first
        super().__init__(optimizer, last_epoch)

    def rates(self) -> list[float]:
        """The highest rate, times what this step has of it."""
        if self.last_epoch > self.total_steps:
            raise RangeError(f"OneCycleLR was made for {self.total_steps} steps", f"step {self.last_epoch:g}")
        return [most * self._between(1) for most in self.max_lrs]

    def momenta(self) -> list[float]:
        """The highest momentum where the rate is low."""
        return [high - (high - low) * self._between(2) for low, high in self.momentum_range]

    def _between(self, what: int) -> float:
        """What a phase is at now, on the way from its first corner to its second."""
        right = next((k for k, c in enumerate(self.corners) if k and self.last_epoch <= c[0]), len(self.corners) - 1)
        a, b = self.corners[right - 1], self.corners[right]
        way = min(1.0, (self.last_epoch - a[0]) / (b[0] - a[0])) if b[0] != a[0] else 1.0
        if self.anneal_strategy == "linear":
            return a[what] * (1 - way) + b[what] * way
        return b[what] + (a[what] - b[what]) * (1 + math.cos(math.pi * way)) / 2


def _corners(steps: int, part: float, first: float, last: float, three: bool) -> list[tuple[float, float, float]]:
    """(step, part of the highest rate, 1 where the momentum is lowest) where phases meet."""
    start, top, end = (0.0, first, 0.0), (part * steps - 1, 1.0, 1.0), (steps - 1.0, last, 0.0)
    return [start, top, (2 * part * steps - 2, first, 0.0), end] if three else [start, top, end]


def _total(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
    asked = {"total_steps": total_steps, "epochs": epochs, "steps_per_epoch": steps_per_epoch}
    given = {name: value for name, value in asked.items() if value is not None}
    if set(given) not in ({"total_steps"}, {"epochs", "steps_per_epoch"}):
        found = ", ".join(f"{name}={short(value)}" for name, value in given.items()) or "neither"
        raise ArgumentError("OneCycleLR takes total_steps, or epochs and steps_per_epoch", found, "total_steps=1000")
    return math.prod(whole("OneCycleLR", name, value, 1) for name, value in given.items())


def _settings(who: str, name: str, value: Any, groups: int, most: float = math.inf) -> list[float]:
    return [setting(who, name, one, most) for one in per_group(name, value, groups)]


def _momenta(who: str, optimizer: Optimizer, cycled: Any, base: Any, most: Any) -> list[tuple[float, float]]:
    """(lowest, highest) momentum of each group, if the momentum is cycled."""
    if not yes_or_no(who, "cycle_momentum", cycled):
        return []
    if not {"momentum", "betas"} & set(optimizer.defaults):
        raise ArgumentError(
            "cycle_momentum needs an optimizer with momentum or betas", type(optimizer).__name__, "cycle_momentum=False"
        )
    groups = len(optimizer.param_groups)
    low, high = _settings(who, "base_momentum", base, groups, 1.0), _settings(who, "max_momentum", most, groups, 1.0)
    return list(zip(low, high, strict=True))


class CyclicLR(Cycling):
    """Up from base_lr to max_lr along a line and down again, over and over.

    The momentum goes from max_momentum down to base_momentum, and up again (`betas[0]`, for rules with betas).

    Args:
        optimizer: whose rates it sets.
        base_lr, max_lr: lowest and highest rate; one for all groups, or one for each.
        step_size_up, step_size_down: how many steps it goes up, and down (None: as many).
        mode: "triangular"; "triangular2", where each cycle is half as high as the last; "exp_range", where the height
            is multiplied by gamma in each step.
        gamma: for "exp_range".
        scale_fn: a function that says how high it goes, instead of `mode`.
        scale_mode: what scale_fn is given: the number of the "cycle", from 1, or of "iterations", from 0.
        cycle_momentum: whether the momentum is set.
        base_momentum, max_momentum: the lowest and the highest.
        last_epoch: as for every schedule.

    Source: Smith 2015 (arXiv:1506.01186).

    Example:
        >>> optimizer = jt.optim.SGD([jt.ones(1)], momentum=0.9)
        >>> schedule = CyclicLR(optimizer, 0.0, 1.0, step_size_up=2)
        >>> schedule.step()
        >>> schedule.get_last_lr(), round(optimizer.param_groups[0]["momentum"], 2)
        ([0.5], 0.85)
    """

    def __init__(
        self, optimizer: Optimizer, base_lr: Any, max_lr: Any, step_size_up: float = 2000,
        step_size_down: float | None = None, mode: str = "triangular", gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None, scale_mode: str = "cycle", cycle_momentum: bool = True,
        base_momentum: Any = 0.8, max_momentum: Any = 0.9, last_epoch: int = -1,
    ) -> None:  # fmt: skip
        groups = len(check_optimizer(optimizer).param_groups)
        who, down = "CyclicLR", step_size_up if step_size_down is None else step_size_down
        self.step_size_up = whole(who, "step_size_up", step_size_up, 1)
        self.step_size_down = whole(who, "step_size_down", down, 1)
        self.by_cycle, self.scale_fn = _scale(mode, setting(who, "gamma", gamma), scale_fn, scale_mode)
        self.low_lrs = _settings(who, "base_lr", base_lr, groups)
        self.max_lrs = _settings(who, "max_lr", max_lr, groups)
        self.cycle_momentum = cycle_momentum
        self.momentum_range = _momenta(who, optimizer, cycle_momentum, base_momentum, max_momentum)
        super().__init__(optimizer, last_epoch)

    def rates(self) -> list[float]:
        """As high above the lowest rate as this step is."""
        return [low + (high - low) * self._height() for low, high in zip(self.low_lrs, self.max_lrs, strict=True)]

    def momenta(self) -> list[float]:
        """As far below the highest momentum."""
        return [high - (high - low) * self._height() for low, high in self.momentum_range]

    def _height(self) -> float:
        """0 at the bottom of a cycle, 1 (times its scale) at the top."""
        cycle, step = divmod(self.last_epoch, self.step_size_up + self.step_size_down)
        up = step <= self.step_size_up
        height = step / self.step_size_up if up else 1 - (step - self.step_size_up) / self.step_size_down
        return height * self.scale_fn(cycle + 1 if self.by_cycle else self.last_epoch)


def _scale(mode: Any, gamma: float, own: Any, scale_mode: Any) -> tuple[bool, Callable[[float], float]]:
    """Whether heights go by cycles, and the function that gives them."""
    modes: dict[Any, tuple[bool, Callable[[float], float]]] = {
        "triangular": (True, lambda cycle: 1.0),
        "triangular2": (True, lambda cycle: 0.5 ** (cycle - 1)),
        "exp_range": (False, lambda step: gamma**step),
    }
    choice("CyclicLR", "mode", mode, list(modes))
    choice("CyclicLR", "scale_mode", scale_mode, ("cycle", "iterations"))
    if gamma != 1 and (mode != "exp_range" or own is not None):
        found = f"gamma={gamma:g} with {'scale_fn' if own is not None else f'mode={mode!r}'}"
        raise ArgumentError("CyclicLR multiplies by gamma in its mode 'exp_range' only", found)
    if own is None:
        if scale_mode != "cycle":
            raise ArgumentError("CyclicLR takes scale_mode with a scale_fn", f"scale_mode={scale_mode!r} without one")
        return modes[mode]
    if not callable(own) or mode != "triangular":
        found = f"scale_fn={short(own)}, mode={mode!r}"
        raise ArgumentError("CyclicLR takes a function as scale_fn, in the place of a mode", found)
    return scale_mode == "cycle", own
