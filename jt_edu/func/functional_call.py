"""Functional call: a module as a function of its parameters.

functional_call(net, {"weight": w}, x)     what net(x) would answer if its weight were w; gradients flow to w
stack_module_state([net, other])           the parameters of several networks, which `vmap` runs at once
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from jt_edu.base.errors import ArgumentError
from jt_edu.base.own import own
from jt_edu.ir.builders import short
from jt_edu.nn.module import Module
from jt_edu.ops.arguments import yes_or_no
from jt_edu.ops.concat import stack
from jt_edu.variable.var import Var, as_var

__all__ = ["functional_call", "stack_module_state"]


def functional_call(
    module: Module, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: Mapping[str, Any] | None = None, *,
    tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """What a module returns with other parameters and buffers; its own do not change.

    What the module changes in place, such as running statistics, changes the Vars that were given instead of its own.

    Args:
        module: which one.
        parameter_and_buffer_dicts: name -> Var, as in `named_parameters()`; or several such dicts.
        args: the argument of the call, or a tuple of several.
        kwargs: those with names.
        tie_weights: a Var that the module holds under two names is replaced under both.
        strict: every parameter and buffer must be given.

    Raises:
        ArgumentError: no module, a name that it does not have, or two Vars for one that it holds under two names.

    Example:
        >>> net, w = jt.nn.Linear(2, 1, bias=False), jt.array([[1.0, 10.0]])
        >>> y = functional_call(net, {"weight": w}, jt.array([[2.0, 3.0]]))
        >>> y.item(), jt.grad(y.sum(), w).tolist()
        (32.0, [[2.0, 3.0]])
    """
    if not isinstance(module, Module):
        raise ArgumentError("functional_call takes a module", short(module), "functional_call(net, params, x)")
    every, tied = (yes_or_no("functional_call", "strict or tie_weights", flag) for flag in (strict, tie_weights))
    pairs = _pairs(module, _given(parameter_and_buffer_dicts), every, tied)
    positional = args if isinstance(args, tuple) else () if args is None else (args,)
    return _called(module, pairs, positional, dict(kwargs or {}))


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Var], dict[str, Var]]:
    """(parameters, buffers) of networks of one kind: name -> the Vars of all of them, along a new first axis.

    With `vmap` and `functional_call` all of them run at once.

    Raises:
        ArgumentError: no networks, or of different kinds.

    Example:
        >>> nets = [jt.nn.Linear(2, 1) for _ in range(3)]
        >>> params, buffers = stack_module_state(nets)
        >>> def run(params, x):
        ...     return functional_call(nets[0], params, x)
        >>> params["weight"].shape, jt.vmap(run, (0, None))(params, jt.ones(5, 2)).shape
        ((3, 1, 2), (3, 5, 1))
    """
    several = list(models)
    if not several or not all(type(m) is type(several[0]) and isinstance(m, Module) for m in several):
        found = ", ".join(type(m).__name__ for m in several) or "none"
        raise ArgumentError("stack_module_state takes networks of one kind", found, "[make() for _ in range(3)]")
    return _stacked([dict(m.named_parameters()) for m in several]), _stacked([dict(m.named_buffers()) for m in several])


def _stacked(states: list[dict[str, Var]]) -> dict[str, Var]:
    return {name: stack([state[name] for state in states], 0) for name in states[0]}


def _pairs(module: Module, given: dict[str, Var], strict: bool, tied: bool) -> list[tuple[Var, Var]]:
    """Vars of the module, each with the one that stands in its place."""
    held = {name: var for name, var, _ in own(module)._vars()}
    missing = sorted(set(held) - set(given)) if strict else []
    if odd := [*(f"no {name}" for name in missing), *(f"{name!r}" for name in given if name not in held)]:
        names = ", ".join(list(held)[:8]) or "(none)"
        raise ArgumentError(f"{type(module).__name__} has the parameters and buffers {names}", ", ".join(odd))
    others: dict[int, tuple[Var, Var]] = {}
    for name, var in given.items():
        if others.setdefault(id(held[name]), (held[name], var))[1] is not var:
            raise ArgumentError("a Var under two names is replaced by one", f"another one for {name!r}")
    if apart := [name for name, var in held.items() if id(var) in others and name not in given and not tied]:
        raise ArgumentError("tied Vars are one Var here", f"tie_weights=False, and {apart[0]!r}", "tie_weights=True")
    return list(others.values())


def _given(dicts: Any) -> dict[str, Var]:
    listed = list(dicts) if isinstance(dicts, (list, tuple)) else [dicts]
    if not all(isinstance(one, Mapping) for one in listed):
        raise ArgumentError("functional_call takes names and Vars", short(dicts), "dict(net.named_parameters())")
    return {name: as_var(value) for one in listed for name, value in one.items()}


def _called(module: Module, pairs: list[tuple[Var, Var]], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """The call, while each Var of the module points where another one does."""
    before = [var._node for var, _ in pairs]
    for var, other in pairs:
        var._node = other._node
        var._node.holders += 1
    try:
        return module(*args, **named)
    finally:
        for (var, other), node in zip(pairs, before, strict=True):
            if var._node is not other._node:  # it was changed in place
                other.node = var._node
            var._node.holders -= 1
            var._node = node
