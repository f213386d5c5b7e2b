"""FP16 optimizer: how does one optimizer train a float16 model, without any level?

net = net.half()
optimizer = FP16_Optimizer(SGD(net.parameters(), lr=0.1), dynamic_loss_scale=True)
optimizer.backward(loss)            scaled, and unscaled into the gradients of the masters
optimizer.clip_master_grads(1.0)
optimizer.step()                    or, as in Jittor, for both: optimizer.step(loss)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from jt_edu.amp.apex_optimizer import Scaled
from jt_edu.amp.loss_scaler import LossScaler, check_names
from jt_edu.base.errors import ArgumentError
from jt_edu.ir.builders import short
from jt_edu.ops.arguments import yes_or_no
from jt_edu.optim.base import Optimizer
from jt_edu.optim.hyperparameters import Group
from jt_edu.variable.var import Var

__all__ = ["FP16_Optimizer"]

WORDS = {"init_scale": "scale", "scale_factor": "growth_factor", "scale_window": "growth_interval"}  # Apex's -> ours
RULE = {"scale": "scale", "clean": "clean"}
SAVED = ("loss_scaler", "dynamic_loss_scale", "overflow", "optimizer_state_dict")


class FP16_Optimizer:  # noqa: N801 - Apex's name
    """Moves float32 masters of float16 parameters, by gradients of a loss that it scales itself.

    A dynamic scale begins at 2**32, is divided by `scale_factor` at an overflow, not below 1, and multiplied by it
    after `scale_window` clean steps.

    Args:
        init_optimizer: one of float16 parameters, and maybe others; it moves their masters from now on.
        static_loss_scale: a scale that stays.
        dynamic_loss_scale: True: one that changes by the rule, and with it steps that are left out.
        dynamic_loss_args: of the rule: {"init_scale": 2**32, "scale_factor": 2, "scale_window": 1000}.
        verbose: print which steps are left out.

    Raises:
        ArgumentError: no optimizer, or other words for the rule.

    Source: NVIDIA Apex 0.1, `apex.fp16_utils.FP16_Optimizer`; Micikevicius et al. 2018 (arXiv:1710.03740).

    Example:
        >>> w = jt.array([1.0], "float16")
        >>> optimizer = FP16_Optimizer(jt.optim.SGD([w], lr=0.25), static_loss_scale=128.0)
        >>> optimizer.backward((w * w).sum())
        >>> optimizer.clip_master_grads(1.0).item(); optimizer.step(); w
        2.0
        jt.Var([0.75], dtype=float16)
    """

    def __init__(
        self, init_optimizer: Optimizer, static_loss_scale: float = 1.0, dynamic_loss_scale: bool = False,
        dynamic_loss_args: Mapping[str, Any] | None = None, verbose: bool = True,
    ) -> None:  # fmt: skip
        if not isinstance(init_optimizer, Optimizer):
            raise ArgumentError("FP16_Optimizer wraps an optimizer", short(init_optimizer), "SGD(net.parameters())")
        self.dynamic_loss_scale = yes_or_no("FP16_Optimizer", "dynamic_loss_scale", dynamic_loss_scale)
        stays = LossScaler(static_loss_scale, dynamic=False)
        self.loss_scaler = _rule(dynamic_loss_args or {}) if self.dynamic_loss_scale else stays
        self.overflow = False
        told = int(yes_or_no("FP16_Optimizer", "verbose", verbose))
        self._scaled = Scaled(init_optimizer, [self.loss_scaler], masters=True, verbosity=told)
        self.optimizer = init_optimizer

    @property
    def loss_scale(self) -> float:
        """The scale; it may be set."""
        return self.loss_scaler.scale

    @loss_scale.setter
    def loss_scale(self, value: float) -> None:
        self.loss_scaler.set(scale=value)

    @property
    def param_groups(self) -> list[Group]:
        """The groups, with the masters in them."""
        return self.optimizer.param_groups

    @property
    def state(self) -> Any:
        """What the optimizer keeps of each master."""
        return self.optimizer.state

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of the model and of the masters, or set them to 0."""
        self._scaled.zero_grad(set_to_none)
        self._scaled.left_out = ""

    def backward(self, loss: Var, update_master_grads: bool = True, retain_graph: bool = False) -> None:
        """Add the gradients of a loss, scaled, to those of the model; and then to those of the masters.

        Args:
            loss: one number; a half becomes float32.
            update_master_grads: False leaves the second part to a call of `update_master_grads()`, for several losses.
            retain_graph: keep what the loss was computed from.
        """
        now = yes_or_no("backward", "update_master_grads", update_master_grads)
        self._scaled.graded(loss, self.loss_scaler, retain_graph, delay_unscale=True)
        if now:
            self.update_master_grads()

    def update_master_grads(self) -> None:
        """Add the model's gradients to those of the masters, unscaled; with a dynamic scale, look for inf and nan."""
        if self._scaled.aside is not None and self._scaled.close(self.loss_scaler):
            self._scaled.left_out = "an overflow"
        self.overflow = bool(self._scaled.left_out)

    def clip_master_grads(self, max_norm: float, norm_type: float = 2.0) -> Any:
        """Scale the masters' gradients by one factor, so that their norm is at most `max_norm`.

        Args:
            max_norm: the longest that is left as it is.
            norm_type: any p > 0; inf takes the largest.

        Returns:
            The norm before; -1 after an overflow.
        """
        return -1 if self.overflow else self.optimizer.clip_grad_norm(max_norm, norm_type)

    def step(self, closure: Var | Callable[[], Var] | None = None) -> Var | None:
        """Move the masters, and round them to the model; or leave that out, after an overflow.

        Args:
            closure: a loss, whose `backward` is called first; or, with a scale that stays, a function that calls
                `zero_grad` and `backward` itself and returns the loss.

        Raises:
            ArgumentError: a function, and a dynamic scale.
        """
        if isinstance(closure, Var):
            self.backward(closure)
        elif closure is not None:
            return self._by(closure)
        if self.loss_scaler.update(bool(self._scaled.left_out)):
            self._scaled.left_out = f"Gradient overflow: a step is left out, the loss scale becomes {self.loss_scale}"
        return self._scaled.step()

    def _by(self, closure: Callable[[], Var]) -> Var | None:
        """A step with a function that computes the loss, maybe several times; the model follows the masters."""
        if self.dynamic_loss_scale:
            raise ArgumentError("a function computes a loss whose scale stays", "dynamic_loss_scale=True",
                                "static_loss_scale, or backward(loss) and step()")  # fmt: skip

        def loss() -> Var:
            self._scaled.masters.publish()
            return closure()

        return self._scaled._moved(loss, retain_graph=False)

    def state_dict(self) -> dict[str, Any]:
        """Scale, states and masters.

        Example:
            >>> sorted(FP16_Optimizer(jt.optim.SGD([jt.ones(1).half()], lr=0.1)).state_dict())
            ['dynamic_loss_scale', 'loss_scaler', 'optimizer_state_dict', 'overflow']
        """
        rule = self.loss_scaler.state(RULE)
        return dict(zip(SAVED, (rule, self.dynamic_loss_scale, self.overflow, self._scaled.state_dict()), strict=True))

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on as the optimizer did whose state this is; the model's parameters are those of its masters.

        Args:
            state_dict: what `state_dict()` gave.

        Raises:
            ArgumentError: it is something else.
        """
        check_names("an FP16_Optimizer", state_dict, SAVED)
        self.loss_scaler.load("its loss_scaler", state_dict["loss_scaler"], RULE)
        self._scaled.load_state_dict(state_dict["optimizer_state_dict"])
        self.dynamic_loss_scale = self.loss_scaler.dynamic = bool(state_dict["dynamic_loss_scale"])
        self.overflow = bool(state_dict["overflow"])


def _rule(given: Mapping[str, Any]) -> LossScaler:
    """The rule of a dynamic scale, in Apex's words."""
    if not {*given} <= {*WORDS}:
        raise ArgumentError(f"dynamic_loss_args has {', '.join(WORDS)}", short(dict(given)))
    named = {"scale": 2.0**32, "growth_interval": 1000, **{WORDS[name]: value for name, value in given.items()}}
    rule = LossScaler(**named, least=1.0)
    rule.set(backoff_factor=1 / rule.growth_factor)
    return rule
