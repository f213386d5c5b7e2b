"""Loss scaler: by how much is a loss multiplied, so that float16 holds its gradients?

    float16         6e-8 ........ 65504           a gradient of 1e-8 is 0 there, one of 1e6 is inf
    loss * 65536    gradients are 65536 times as large; in float32 they are divided by it again
    inf or nan?     too much: this step is left out, and the scale is halved
    2000 steps      without one: the scale is doubled

`GradScaler` (PyTorch's words), `scale_loss` and `FP16_Optimizer` (Apex's) all keep their scale by this rule, and divide
their gradients here: all gradients of an optimizer are one graph, and one number says whether they may be used. In a
team of ranks each rank hears of what any of them found, so that all leave out the same steps.

Source: Micikevicius et al. 2018, "Mixed precision training", section 3.2 (arXiv:1710.03740).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from jt_edu.base.context import current, no_grad
from jt_edu.base.errors import ArgumentError
from jt_edu.capture.recorder import knob
from jt_edu.ir.builders import short
from jt_edu.ops.arguments import number, whole
from jt_edu.ops.concat import stack
from jt_edu.ops.create import sync
from jt_edu.optim.commit import forget_history
from jt_edu.variable.parallel_context import team
from jt_edu.variable.var import Var

LARGEST = float(np.finfo(np.float32).max)  # a scale is a float32, which a larger one would make inf
WHO = "a loss scale"  # takes these numbers


@dataclass(eq=False)
class LossScaler:
    """A scale, and the rule by which it changes; its words are PyTorch's.

        overflow                   scale = max(least, scale * backoff_factor), clean = 0, and the step is left out
        none                       clean = clean + 1
        clean = growth_interval    scale = min(most, scale * growth_factor), clean = 0; not beyond the largest float32

    Args:
        scale: what it starts with.
        dynamic: False: the scale stays, and no step is left out.
        growth_factor: what it is multiplied by after `growth_interval` clean steps.
        backoff_factor: what it is multiplied by at an overflow.
        growth_interval: how many clean steps it takes.
        least: it does not become smaller than that.
        most: nor larger than that.

    Raises:
        ArgumentError: a scale that is not above 0, growth of 1 or less, or backoff that is not between 0 and 1.

    Example:
        >>> scaler = LossScaler(4.0, growth_interval=2)
        >>> for overflow in (True, False, False): scaler.update(overflow), scaler.scale
        (True, 2.0)
        (False, 2.0)
        (False, 4.0)
    """

    scale: float = 2.0**16
    _: KW_ONLY
    dynamic: bool = True
    growth_factor: float = 2.0
    backoff_factor: float = 0.5
    growth_interval: int = 2000
    least: float = 0.0
    most: float = math.inf
    clean: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.set(**{name: getattr(self, name) for name in CHECKED})
        self.scale = min(self.most, self.scale)

    def set(self, **given: Any) -> None:
        """Change some of the numbers: all that are given, or, if one is refused, none."""
        vars(self).update({name: CHECKED[name](value) for name, value in given.items()})

    def state(self, words: Mapping[str, str]) -> dict[str, Any]:
        """Numbers to be saved: {what a library calls it: its value}, for {what a library calls it: our name}."""
        return {word: getattr(self, name) for word, name in words.items()}

    def load(self, whose: str, saved: Any, words: Mapping[str, str], way: str = "") -> None:
        """Go on from what `state` gave."""
        check_names(whose, saved, words, way)
        self.set(**{words[word]: value for word, value in saved.items()})

    @property
    def plain(self) -> bool:
        """Whether a loss stays what it is."""
        return not self.dynamic and self.scale == 1

    def scaled(self, loss: Var) -> Var:
        """A loss times the scale; a compiled step asks for the scale again at each replay."""
        return loss * knob(lambda: self.scale)

    def update(self, overflow: bool) -> bool:
        """Go on by one step; whether it is to be left out."""
        if overflow and self.dynamic:
            self.scale, self.clean = max(self.least, float(np.float32(self.scale * self.backoff_factor))), 0
            return True
        self.clean += 1
        if self.dynamic and self.clean >= self.growth_interval:
            grown = self.scale * self.growth_factor
            self.scale = min(self.most, self.scale if grown > LARGEST else float(np.float32(grown)))
            self.clean = 0
        return False


def _backoff(value: Any) -> float:
    if number(WHO, "backoff_factor", value, 0.0, above=True) >= 1:
        raise ArgumentError(f"{WHO} takes backoff_factor as a number below 1", f"backoff_factor={value}", "0.5")
    return float(value)


CHECKED: dict[str, Callable[[Any], float]] = {
    "scale": lambda value: float(number(WHO, "scale", value, 0.0, above=True, finite=True)),
    "growth_factor": lambda value: number(WHO, "growth_factor", value, 1.0, above=True),
    "backoff_factor": _backoff,
    "growth_interval": lambda value: whole(WHO, "growth_interval", value, 1),
    "clean": lambda value: whole(WHO, "clean", value, 0),
}


def check_names(whose: str, saved: Any, names: Collection[str], way: str = "") -> None:
    """Refuse what is no state with these names."""
    if not isinstance(saved, dict) or {*saved} != {*names}:
        raise ArgumentError(f"the state of {whose} has {', '.join(names)}", short(saved), way)


def unscaled(gradients: Sequence[Var], scaler: LossScaler) -> tuple[list[Var], bool]:
    """Gradients divided by a scale, and whether any was inf or nan before, on any rank; all computed in one go.

    float16 and bfloat16 become float32 first: what a scale has saved is not lost again. With a scale that stays nobody
    looks at them, and nothing is computed yet.

    Raises:
        ArgumentError: a dynamic scale in a compiled step, which is captured before there are numbers to look at.

    Example:
        >>> gradients, overflow = unscaled([jt.array([2.0, 4.0])], LossScaler(2.0))
        >>> gradients[0].tolist(), overflow, unscaled([jt.array([jt.inf])], LossScaler(2.0))[1]
        ([1.0, 2.0], False, True)
    """
    if scaler.dynamic and current().capture is not None:
        raise ArgumentError(
            "whether a step is left out depends on its gradients", "a compiled step, in which there are no numbers yet",
            "the scaled loss and its backward() in the compiled step, and the optimizer's step after it",
        )  # fmt: skip
    with no_grad():
        wide = [g.cast("float32") if g.dtype.is_half else g for g in gradients]
        new = [g * knob(lambda: 1 / scaler.scale) for g in wide]
        if not scaler.dynamic:
            return new, False
        total = stack([g.isfinite().logical_not().sum() for g in wide]).sum().cast("float32") if wide else Var(0.0)
        if (crew := team()) is not None:
            total = crew.added([total])[0] or total
    sync([total, *new])
    return new, total.item() > 0


def make(step: Callable[..., Any], loss: Any, retain_graph: bool) -> Any:
    """A step with what was given, and nothing else: the step of a learner's own optimizer may take no more."""
    if retain_graph:
        return step(loss, retain_graph)
    return step() if loss is None else step(loss)


def let_go(loss: Var, scaled: Var, scaler: LossScaler, retain_graph: bool) -> None:
    """After `backward(scaled)` of an optimizer the loss itself is a number, too; in a team that of the whole batch."""
    sync([loss])
    if team() is not None and not retain_graph:
        loss.update((scaled * (1 / scaler.scale)).cast(loss.dtype))
        sync([loss])
    forget_history(loss, retain_graph)
