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
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jt_edu.base.context import current, no_grad
from jt_edu.base.errors import ArgumentError
from jt_edu.capture.recorder import knob
from jt_edu.ops.arguments import number, whole, yes_or_no
from jt_edu.ops.concat import stack
from jt_edu.ops.create import sync
from jt_edu.optim.commit import forget_history
from jt_edu.variable.parallel_context import team
from jt_edu.variable.var import Var

LARGEST = float(np.finfo(np.float32).max)  # a scale is a float32, which a larger one would make inf


class LossScaler:
    """A scale, and the rule by which it changes.

        overflow         scale = max(least, scale * backoff), clean = 0, and the step is left out
        none             clean = clean + 1
        clean = window   scale = min(most, scale * growth), clean = 0; not beyond the largest float32

    Args:
        scale: what it starts with.
        dynamic: False: the scale stays, and no step is left out.
        growth: what it is multiplied by after `window` clean steps.
        backoff: what it is multiplied by at an overflow.
        window: how many clean steps it takes.
        least: it does not become smaller than that.
        most: nor larger than that.

    Raises:
        ArgumentError: a scale that is not above 0, growth of 1 or less, or backoff that is not between 0 and 1.

    Example:
        >>> scaler = LossScaler(4.0, window=2)
        >>> for overflow in (True, False, False): scaler.update(overflow), scaler.scale
        (True, 2.0)
        (False, 2.0)
        (False, 4.0)
    """

    def __init__(
        self, scale: float = 2.0**16, *, dynamic: bool = True, growth: float = 2.0, backoff: float = 0.5,
        window: int = 2000, least: float = 0.0, most: float = math.inf,
    ) -> None:  # fmt: skip
        self.growth = number("LossScaler", "growth", growth, 1.0, above=True)
        self.backoff = number("LossScaler", "backoff", backoff, 0.0, above=True)
        if self.backoff >= 1:
            raise ArgumentError("LossScaler takes backoff as a number below 1", f"backoff={backoff}", "0.5")
        self.window = whole("LossScaler", "window", window, 1)
        self.dynamic = yes_or_no("LossScaler", "dynamic", dynamic)
        self.least = number("LossScaler", "least", least, 0.0)
        self.most = number("LossScaler", "most", most, self.least, above=not self.least)
        self.clean = 0
        self.scale = min(self.most, number("LossScaler", "scale", scale, 0.0, above=True, finite=True))

    def scaled(self, loss: Var) -> Var:
        """A loss times the scale; a compiled step asks for the scale again at each replay."""
        return loss * knob(lambda: self.scale)

    def update(self, overflow: bool) -> bool:
        """Go on by one step; whether it is to be left out."""
        if overflow and self.dynamic:
            self.scale, self.clean = max(self.least, float(np.float32(self.scale * self.backoff))), 0
            return True
        self.clean += 1
        if self.dynamic and self.clean >= self.window:
            grown = self.scale * self.growth
            self.scale = min(self.most, self.scale if grown > LARGEST else float(np.float32(grown)))
            self.clean = 0
        return False


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


def skip(optimizer: Any) -> None:
    """Leave a step out: gradients that the optimizer collected itself are forgotten, as after a step."""
    optimizer._let_go(None)


def make(step: Callable[..., Any], loss: Any, retain_graph: bool) -> Any:
    """A step with what was given: a step of one's own takes less than others do."""
    return step(*[loss, retain_graph][: 2 * retain_graph or int(loss is not None)])


def let_go(loss: Var, scaled: Var, scaler: LossScaler, retain_graph: bool) -> None:
    """After `backward(scaled)` of an optimizer the loss itself is a number, too; in a team that of the whole batch."""
    sync([loss])
    if team() is not None and not retain_graph:
        loss.update((scaled * (1 / scaler.scale)).cast(loss.dtype))
        sync([loss])
    forget_history(loss, retain_graph)
