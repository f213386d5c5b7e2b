"""Apex handle: how were casts and scales asked for before there were levels?

handle = amp.init()                                   operators cast, from here on
with handle.scale_loss(loss, optimizer) as scaled:    one scale for all
optimizer = handle.wrap_optimizer(optimizer, num_loss=2)
with optimizer.scale_loss(loss) as scaled:            or one for each loss of an optimizer, in their order
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from jt_edu.amp.apex_optimizer import Scaled, scaling, tell
from jt_edu.amp.apex_properties import scaler_of
from jt_edu.amp.lists import APEX
from jt_edu.amp.loss_scaler import LossScaler
from jt_edu.base.context import current
from jt_edu.base.dtypes import float16
from jt_edu.base.errors import ArgumentError
from jt_edu.ops.arguments import whole, yes_or_no
from jt_edu.optim.base import Optimizer
from jt_edu.variable.autocast import Region
from jt_edu.variable.var import Var

__all__ = ["init"]


def init(
    enabled: bool = True, loss_scale: float | str = "dynamic", enable_caching: bool = True, verbose: bool = False,
    allow_banned: bool = False,
) -> AmpHandle:  # fmt: skip
    """Let operators cast what they are given to float16 or float32, by Apex's lists, from here on.

    Args:
        enabled: False ends that, and gives a handle that scales nothing.
        loss_scale: a number, or "dynamic"; of `handle.scale_loss`.
        enable_caching: a parameter is cast once for each loss, and not each time that it is used.
        verbose: print each decision.
        allow_banned: compute `binary_cross_entropy` of halves, in float32, instead of refusing it.

    Example:
        >>> handle = init()
        >>> (jt.ones(2, 2) @ jt.ones(2, 2)).dtype, handle.is_active()
        (jt.float16, True)
        >>> init(enabled=False).is_active()
        False
    """
    active = yes_or_no("init", "enabled", enabled)
    lists = APEX
    if yes_or_no("init", "allow_banned", allow_banned):
        lists = replace(APEX, float32=APEX.float32 | {*APEX.banned}, banned={})
    kind = Told if yes_or_no("init", "verbose", verbose) else Region
    keeps = yes_or_no("init", "enable_caching", enable_caching)
    current().threads.now.autocast = kind(float16, lists, keeps=keeps) if active else None
    return AmpHandle(active, scaler_of(loss_scale))


class Told(Region):
    """A region that prints what it decides."""

    def by_rule(self, name: str, rule: str, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """As every region does."""
        tell(1, f"amp: {name} by the list {rule!r}")
        return super().by_rule(name, rule, args, named)


class AmpHandle:
    """What `init` returns.

    Args:
        active: whether losses are scaled.
        scaler: of `scale_loss`.
    """

    def __init__(self, active: bool, scaler: LossScaler) -> None:
        self._active, self._scaler, self._wrapped = active, scaler, False

    def is_active(self) -> bool:
        """Whether operators cast, and losses are scaled."""
        return self._active

    def scale_loss(self, loss: Var, optimizer: Optimizer) -> AbstractContextManager[Var]:
        """A loss, scaled; at the end the gradients of the optimizer are unscaled.

        Args:
            loss: one number.
            optimizer: whose gradients it has; its next step is left out if one of them is inf or nan.

        Raises:
            ArgumentError: after `wrap_optimizer`, which gives each optimizer scales of its own.
        """
        if self._wrapped:
            found, way = "handle.scale_loss after handle.wrap_optimizer", "optimizer.scale_loss(loss)"
            raise ArgumentError("a wrapped optimizer has scales of its own", found, way)
        if not self._active:
            return nullcontext(loss)
        one = vars(optimizer).get("_amp") or Scaled(optimizer, [self._scaler]).attached()
        return scaling(loss, [one], self._scaler)

    def wrap_optimizer(self, optimizer: Optimizer, num_loss: int = 1) -> Optimizer:
        """The optimizer, with `scale_loss(loss)`: called for so many losses before each step, each with its own scale.

        Args:
            optimizer: it stays the same object.
            num_loss: how many losses.

        Example:
            >>> handle, w = init(), jt.array([1.0])
            >>> sgd = handle.wrap_optimizer(jt.optim.SGD([w], lr=0.25), num_loss=2)
            >>> for loss in ((w * w).sum(), w.sum()):
            ...     with sgd.scale_loss(loss) as scaled: scaled.backward()
            >>> w.grad.item(); sgd.step(); w.item(); _ = init(enabled=False)
            3.0
            0.25
        """
        self._wrapped = True
        count = whole("wrap_optimizer", "num_loss", num_loss, 1)
        one = Scaled(optimizer, [scaler_of("dynamic") for _ in range(count)])
        vars(optimizer)["scale_loss"] = one.attached().next_loss if self._active else nullcontext
        return optimizer
