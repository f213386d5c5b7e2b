"""Custom step: what a custom optimizer finds whose `step` moves the parameters itself, as in PyTorch and Jittor.

    PyTorch   super().__init__(params, dict(lr=lr))   step(): group["params"], p.grad, self.state[p]["mean"]
    Jittor    super().__init__(params, lr)            step(loss): self.pre_step(loss), group["grads"], self.post_step()

Where a class has a `rule` instead of a `step`, all parameters move in one go (base.py), and steps are replayed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jt_edu.base.errors import ArgumentError, GradientError
from jt_edu.base.own import Extended, own
from jt_edu.nn.utils import clip_grad_norm_, clip_grad_value_
from jt_edu.optim.hyperparameters import Group, State
from jt_edu.optim.param_groups import params_of
from jt_edu.variable.var import Var


class ByHand(Extended):
    """The words of PyTorch and Jittor for optimizers that do all of a step themselves.

    Example:
        >>> class Descent(jt.optim.Optimizer):
        ...     def __init__(self, params, lr):
        ...         super().__init__(params, dict(lr=lr))
        ...     def step(self):
        ...         for group in self.param_groups:
        ...             for p in group["params"]:
        ...                 self.state[p]["steps"] = self.state[p].get("steps", 0) + 1
        ...                 p -= group["lr"] * p.grad
        >>> w = jt.array([1.0])
        >>> descent = Descent([w], 0.25)
        >>> (w * w).sum().backward()
        >>> descent.step()
        >>> w.tolist(), descent.state[w]
        ([0.5], {'steps': 1})
    """

    param_groups: list[Group]

    def pre_step(self, loss: Var | None = None, retain_graph: bool = False) -> None:
        """Jittor's word: the gradients of a loss, as `group["grads"]` of each group; with no loss those in `.grad`."""
        if loss is not None:
            own(self).backward(loss, retain_graph)  # type: ignore[attr-defined]
        for group in self.param_groups:
            group["grads"] = [p.zeros_like() if p.grad is None else p.grad for p in group["params"]]

    def post_step(self) -> None:
        """Jittor's word: the gradients are used up."""
        for group in self.param_groups:
            group.pop("grads", None)
        own(self).zero_grad()  # type: ignore[attr-defined]

    def clip_grad_norm(self, max_norm: float, norm_type: float = 2.0) -> Var:
        """Scale the gradients in `.grad` by one factor, so that their total norm is at most `max_norm`.

            factor = min(1, max_norm / (norm + 1e-6)),    norm = (sum of |g|**norm_type)**(1 / norm_type)

        Args:
            max_norm: the longest that is left as it is.
            norm_type: any p > 0; inf takes the largest |g|.

        Returns:
            The norm before.

        Source: Pascanu et al. 2013 (arXiv:1211.5063).
        """
        own(self)._whole_batch()  # type: ignore[attr-defined]
        length = clip_grad_norm_(params_of(self.param_groups), max_norm, norm_type)
        own(self)._graded("clip_grad_norm")
        return length

    def clip_grad_value(self, clip_value: float) -> None:
        """Cut off the gradients in `.grad` below -clip_value and above clip_value."""
        own(self)._whole_batch()  # type: ignore[attr-defined]
        clip_grad_value_(params_of(self.param_groups), clip_value)
        own(self)._graded("clip_grad_value")

    def _graded(self, name: str) -> None:
        if all(p.grad is None for p in params_of(self.param_groups)):
            raise GradientError(f"{name} changes gradients", "0 gradients", "optimizer.backward(loss) first")


class States(list[State]):
    """The states of all parameters, by number or by the parameter itself.

    Example:
        >>> w = jt.ones(1)
        >>> sgd = jt.optim.SGD([w], lr=0.1)
        >>> sgd.state[0] is sgd.state[w], w in sgd.state, jt.ones(1) in sgd.state
        (True, True, False)
    """

    def __init__(self, groups: Sequence[Group]) -> None:
        super().__init__()
        self.groups = groups
        self._places: dict[int, tuple[Var, int]] = {}  # id of a parameter -> (the parameter, its number)

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(self._place(key) if isinstance(key, Var) else key)

    def __setitem__(self, key: Any, state: Any) -> None:
        super().__setitem__(self._place(key) if isinstance(key, Var) else key, state)

    def __contains__(self, key: object) -> bool:
        return self._found(key) is not None

    def _place(self, var: Var) -> int:
        place = self._found(var)
        if place is None:
            raise ArgumentError("an optimizer keeps states of its parameters", f"a Var of shape {var.shape}")
        return place

    def _found(self, key: object) -> int | None:
        """The number of a parameter; the numbers are looked up, and counted anew when there are others than before."""
        held = self._places.get(id(key))
        if held is None or held[0] is not key or len(self._places) != len(self):
            self._places = {id(p): (p, k) for k, p in enumerate(params_of(self.groups))}
            held = self._places.get(id(key))
        return None if held is None else held[1]


def settings_of(who: str, defaults: Any, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of all groups: by name, as PyTorch's dict of them, or as Jittor's learning rate alone.

    Example:
        >>> settings_of("Mine", {"lr": 0.1}, {}), settings_of("Mine", 0.1, {"beta": 0.9})
        ({'lr': 0.1}, {'lr': 0.1, 'beta': 0.9})
    """
    if defaults is None or isinstance(defaults, Mapping):
        return {**(defaults or {}), **settings}
    if isinstance(defaults, (int, float)) and not isinstance(defaults, bool) and "lr" not in settings:
        return {"lr": defaults, **settings}
    asked = f"{who} hands its settings on as a dict, or a learning rate"
    raise ArgumentError(asked, repr(defaults), "super().__init__(params, dict(lr=lr))")
