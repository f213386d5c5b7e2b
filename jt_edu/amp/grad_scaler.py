"""Grad scaler: the loss scale in PyTorch's words: `scale`, `unscale_`, `step`, `update`.

scaler.scale(loss).backward()     gradients, scale times as large          optimizer.backward(scaler.scale(loss))
scaler.unscale_(optimizer)        (if they are to be clipped, for one)     is Jittor's way to write the first line
scaler.step(optimizer)            unscaled; not made, if one is inf or nan
scaler.update()                   the rule of loss_scaler.py
"""

from __future__ import annotations

from typing import Any

from jt_edu.amp.lists import SWITCH
from jt_edu.amp.loss_scaler import LossScaler, let_go, make, unscaled
from jt_edu.base.errors import ArgumentError, DtypeError, GradientError
from jt_edu.base.own import doing
from jt_edu.ir.builders import short
from jt_edu.ops.arguments import yes_or_no
from jt_edu.ops.device import device as named
from jt_edu.optim.base import Optimizer
from jt_edu.optim.param_groups import label, params_of
from jt_edu.variable.torch_keywords import place
from jt_edu.variable.var import Var

SAVED = {name: name for name in ("scale", "growth_factor", "backoff_factor", "growth_interval")}
SAVED["_growth_tracker"] = "clean"  # PyTorch's word -> ours


class GradScaler:
    """Multiplies losses so that their gradients survive float16, and leaves out the steps whose gradients did not.

        scale after `update`:  scale * backoff_factor    if a gradient was inf or nan
                               scale * growth_factor     after `growth_interval` steps without one
                               scale                     else

    Args:
        device: "cpu", or another that there is; gradients may lie anywhere.
        init_scale: the first scale.
        growth_factor: more than 1.
        backoff_factor: less than 1.
        growth_interval: how many clean steps it takes until the scale grows.
        enabled: False: nothing is scaled, and every step is made. The device need not be there.

    Raises:
        ArgumentError: a factor on the wrong side of 1, or a device that is not there.

    Source: PyTorch's `torch.amp.GradScaler`; Micikevicius et al. 2018 (arXiv:1710.03740).

    Example:
        >>> w = jt.array([1.0])
        >>> sgd, scaler = jt.optim.SGD([w], lr=0.25), GradScaler(growth_interval=1)
        >>> scaler.scale((w * w).sum()).backward()
        >>> w.grad.item()
        131072.0
        >>> scaler.step(sgd); scaler.update()
        >>> w.item(), scaler.get_scale()
        (0.5, 131072.0)
    """

    def __init__(
        self, device: Any = "cpu", init_scale: float = 2.0**16, growth_factor: float = 2.0,
        backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True,
    ) -> None:  # fmt: skip
        self._enabled = yes_or_no("GradScaler", "enabled", enabled)
        if enabled or device is None:
            place("GradScaler", device, SWITCH)
        else:  # what scales nothing needs no GPU
            named(device)
        self._rule = LossScaler(init_scale, growth_factor=growth_factor, backoff_factor=backoff_factor,
                                growth_interval=growth_interval)  # fmt: skip
        self._found: dict[Optimizer, bool] = {}  # whose gradients were unscaled since `update`: did any overflow?
        self._stepped: set[Optimizer] = set()

    def scale(self, outputs: Any) -> Any:
        """A Var times the scale; of a list or tuple, of whatever depth, all of them.

        Example:
            >>> GradScaler(init_scale=8.0).scale([jt.array(1.0), (jt.array(2.0),)])
            [jt.Var(8., dtype=float32), (jt.Var(16., dtype=float32),)]
        """
        if isinstance(outputs, Var):
            return self._rule.scaled(outputs) if self._enabled else outputs
        if not isinstance(outputs, (list, tuple)):
            raise ArgumentError("scale takes a Var, or a list of them", short(outputs), "scaler.scale(loss)")
        return type(outputs)([self.scale(one) for one in outputs])

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of an optimizer by the scale, in place, before something is done with them.

        Raises:
            ArgumentError: they are unscaled already, or the step was made; each once until `update`.
            DtypeError: gradients of float16, which lose again what the scale has saved.
            GradientError: there are none.

        Example:
            >>> w = jt.array([1.0])
            >>> sgd, scaler = jt.optim.SGD([w], lr=0.25), GradScaler()
            >>> scaler.scale((w * w).sum()).backward(); scaler.unscale_(sgd)
            >>> sgd.clip_grad_norm(1.0).item(), round(w.grad.item(), 3)
            (2.0, 1.0)
        """
        if not self._enabled:
            return
        if optimizer in self._found:
            done = "step()" if optimizer in self._stepped else "unscale_()"
            raise ArgumentError(
                "unscale_ divides the gradients of an optimizer once in each step", f"a second call, after {done}",
                "scaler.update() between two steps",
            )  # fmt: skip
        self._found[optimizer] = _divide(optimizer, self._rule)

    def step(self, optimizer: Optimizer, loss: Var | None = None, retain_graph: bool = False) -> None:
        """Let the optimizer make its step with unscaled gradients, unless one of them is inf or nan.

        Args:
            optimizer: whose gradients are in `.grad`, scaled, or by `unscale_` no more.
            loss: as in `optimizer.step(loss)`: it is scaled, and its gradients are added first.
            retain_graph: keep what the loss was computed from.

        Raises:
            ArgumentError: a second step without `update`, or a function in place of a loss.

        Example:
            >>> w = jt.array([1.0])
            >>> sgd, scaler = jt.optim.SGD([w], lr=0.25), GradScaler()
            >>> scaler.step(sgd, (w * jt.inf).sum()); scaler.update()
            >>> w.item(), scaler.get_scale()
            (1.0, 32768.0)
        """
        if not self._enabled:
            make(doing(optimizer, "step"), loss, retain_graph)
            return
        if optimizer in self._stepped:
            raise ArgumentError("an optimizer makes one step, then the scale is updated", "a second step",
                                "scaler.update()")  # fmt: skip
        if loss is not None and not isinstance(loss, Var):
            raise ArgumentError("a scaled step is made once, with gradients that were looked at", short(loss),
                                "scaler.scale(loss).backward(), then scaler.step(optimizer)")  # fmt: skip
        if loss is not None:
            scaled = self.scale(loss)
            doing(optimizer, "backward")(scaled, retain_graph)
            let_go(loss, scaled, self._rule, retain_graph)
        if optimizer not in self._found:
            self.unscale_(optimizer)
        if self._found[optimizer]:
            optimizer._let_go(None)  # as after a step: gradients that the optimizer collected itself are forgotten
        else:
            doing(optimizer, "step")()
        self._stepped.add(optimizer)

    def update(self, new_scale: float | Var | None = None) -> None:
        """Change the scale by the rule, after the steps of all optimizers, or to another number.

        Args:
            new_scale: the number; without it the rule decides.

        Raises:
            ArgumentError: no gradients were looked at since the last time.

        Example:
            >>> scaler = GradScaler()
            >>> scaler.update(16.0)
            >>> scaler.get_scale()
            16.0
        """
        if not self._enabled:
            return
        if new_scale is not None:
            self._rule.set(scale=new_scale.item() if isinstance(new_scale, Var) else new_scale)
        elif not self._found:
            raise ArgumentError("update follows a step", "0 optimizers with gradients that were looked at",
                                "scaler.step(optimizer) before it")  # fmt: skip
        else:
            self._rule.update(any(self._found.values()))
        self._found, self._stepped = {}, set()

    def get_scale(self) -> float:
        """The scale; 1 if nothing is scaled."""
        return self._rule.scale if self._enabled else 1.0

    def is_enabled(self) -> bool:
        """Whether losses are scaled."""
        return self._enabled

    def get_growth_factor(self) -> float:
        """What the scale is multiplied by when it grows."""
        return self._rule.growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Another growth factor, above 1."""
        self._rule.set(growth_factor=new_factor)

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied by after an overflow."""
        return self._rule.backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Another backoff factor, below 1."""
        self._rule.set(backoff_factor=new_factor)

    def get_growth_interval(self) -> int:
        """How many clean steps it takes until the scale grows."""
        return self._rule.growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Another number of steps."""
        self._rule.set(growth_interval=new_interval)

    def state_dict(self) -> dict[str, Any]:
        """Scale, factors and the count of clean steps, under PyTorch's names; empty if nothing is scaled.

        Example:
            >>> GradScaler().state_dict()["scale"], GradScaler(enabled=False).state_dict()
            (65536.0, {})
        """
        return self._rule.state(SAVED) if self._enabled else {}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on as the scaler did whose state this is.

        Raises:
            ArgumentError: it is not one of a scaler that was enabled.
        """
        if self._enabled:
            self._rule.load("a GradScaler", state_dict, SAVED, "state_dict() of a scaler that is enabled")


def _divide(optimizer: Optimizer, rule: LossScaler) -> bool:
    """Unscale the gradients in `.grad`, in place; whether any was inf or nan."""
    optimizer._whole_batch()
    held = [(p, p.grad) for p in params_of(optimizer.param_groups) if p.grad is not None]
    if not held:
        raise GradientError("unscale_ divides the gradients of an optimizer", "0 gradients",
                            "scaler.scale(loss).backward()")  # fmt: skip
    for p, g in held:
        if g.dtype == "float16":
            raise DtypeError(
                "a scale is taken out of gradients that can hold what it has saved", f"float16 for {label(p)}",
                "float32 parameters under jt.amp.autocast, or amp.initialize(opt_level='O2')",
            )  # fmt: skip
    new, overflow = unscaled([g for _, g in held], rule)
    for (_, g), value in zip(held, new, strict=True):
        g.update(value)
    return overflow
