"""Param groups: what an optimizer accepts as parameters and settings, and what it refuses.

[w, b]     [("w", w), ("b", b)]     [{"params": [w], "lr": 0.1}, {"params": [b]}]
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError, DtypeError, GradientError, JtError
from jt_edu.capture.backward import leaves
from jt_edu.ops.arguments import number
from jt_edu.ops.create import sync
from jt_edu.ops.gradient import why_no_grad
from jt_edu.runtime.devices import device_of
from jt_edu.variable.var import Var, array


def setting(who: str, name: str, value: Any, most: float = math.inf) -> float:
    """A finite number from 0, such as a rate or a share; a schedule reckons with it.

    Example:
        >>> setting("SGD", "lr", 0.1)
        0.1
    """
    return number(who, name, value, 0.0, most, finite=True)


def pair(who: str, name: str, value: Any, most: float, example: tuple[float, float]) -> None:
    """Two finite numbers from 0 to below `most`.

    Example:
        >>> pair("Adam", "betas", (0.9, 0.999), 1.0, (0.9, 0.999))
    """
    asked = f"{who} takes {name} as two numbers"
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise ArgumentError(asked, repr(value), repr(example))
    if any(setting(who, f"each of {name}", part, most) == most for part in value):
        raise ArgumentError(f"{asked} from 0 to below {most:g}", repr(value), repr(example))


def as_groups(params: Any) -> list[Mapping[str, Any]]:
    """Groups from groups, or from one list of parameters."""
    listed = _listed("an optimizer is given a list of Vars", params)
    if not listed:
        raise ArgumentError("an optimizer needs parameters to update", "an empty list", "model.parameters()")
    return listed if isinstance(listed[0], Mapping) else [{"params": listed}]


def as_vars(params: Any) -> list[Var]:
    """Vars from Vars, or from pairs (name, Var)."""
    listed = [params] if isinstance(params, Var) else _listed("a group holds a list of Vars", params)
    found: list[Any] = [p[1] if isinstance(p, tuple) and len(p) == 2 else p for p in listed]
    if not found:
        raise ArgumentError("a group holds parameters", "an empty list", "model.parameters()")
    for p in found:
        if not isinstance(p, Var):
            raise ArgumentError("parameters are Vars", f"{type(p).__name__}", "model.parameters()")
        if not p.dtype.is_float:
            raise DtypeError("parameters are floats", f"{label(p)} of dtype {p.dtype}", "p.float()")
    return found


def _listed(asked: str, params: Any) -> list[Any]:
    if isinstance(params, Var | str | Mapping) or not isinstance(params, Iterable):
        way = "model.parameters()" if hasattr(params, "parameters") or callable(params) else "[w, b]"
        raise ArgumentError(asked, type(params).__name__, way)
    return list(params)


def as_leaves(params: list[Var]) -> None:
    """Compute parameters that are still pending, and forget how: training starts from numbers."""
    derived = [p for p in params if p.node.inputs]
    for p in derived:
        others = [v for v in leaves(p) if v is not p]
        if others:
            raise ArgumentError(
                "an optimizer updates Vars that were not computed from other Vars",
                f"{label(p)}, which is {p.node.op.name} of a Var of shape {others[0].shape}",
                "that Var; to start from a copy, p.update(q) instead of p.assign(q)",
            ).at(p.node.line)  # fmt: skip
    sync(derived)
    for p in derived:
        p.node.behind = ()  # and not another node: a loss that was built before reads this one


def state_of(p: Var, start: Any) -> Var:
    """A state of a parameter that starts with a number, or with a copy of a Var."""
    filled = start.numpy() if isinstance(start, Var) else np.broadcast_to(np.float64(start), p.shape)
    return array(filled, p.dtype, copy=None, device=device_of(p.node)).stop_grad()


def params_of(groups: Sequence[Mapping[str, Any]]) -> list[Var]:
    """The parameters of all groups."""
    return [p for group in groups for p in group["params"]]


def label(p: Var) -> str:
    """What a parameter is called in messages."""
    return p.name or f"the parameter of shape {p.shape}"


def unreached(active: Sequence[Var], loss: Var) -> JtError:
    """What to say of a loss without a gradient for any of the parameters that take part."""
    why, way = "none that takes part, as after stop_grad", "p.requires_grad = True for those that shall move"
    if active:
        why = why_no_grad(active[0], loss)
        way = "the step first, then changes" if "changed" in why else "the loss computed again for each step"
        way = "" if "let go" in why else f"{way}, or "
        way += "retain_graph=True in the earlier step of this loss, or one optimizer for all of its parameters"
    return GradientError("the loss does not depend on any parameter of this optimizer", why, way).at(loss.node.line)
