"""State dict: an optimizer's settings and states as one dict, and back; bit by bit, and all of it or nothing.

{"state": {number of the parameter: {"step": 3, "mean": Var, ...}}, "param_groups": [{"lr": 0.1, "params": [0, 1]}]}
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from numbers import Real
from typing import Any

from jt_edu.base.errors import ArgumentError, ShapeError
from jt_edu.ir.builders import short
from jt_edu.optim.hyperparameters import Group, State
from jt_edu.optim.param_groups import state_of
from jt_edu.variable.var import Var


def saved_of(groups: Sequence[Group], states: Sequence[State]) -> dict[str, Any]:
    """Settings and states as they are now; later steps do not change them."""
    state = {k: {name: _snapshot(v) for name, v in one.items()} for k, one in enumerate(states)}
    numbers = iter(range(len(states)))
    return {"state": state, "param_groups": [{**g, "params": [next(numbers) for _ in g["params"]]} for g in groups]}


def check_saved(
    name: str, groups: Sequence[Group], states: Sequence[State], kept: Callable[[Group], Iterable[str]] | None,
    saved: Any,
) -> None:  # fmt: skip
    """Refuse what was saved for other parameters or by another rule; `kept` says which states settings need.

    Without it a state holds whatever a custom step keeps.
    """
    if not isinstance(saved, Mapping) or set(saved) != {"state", "param_groups"}:
        raise ArgumentError("load_state_dict takes what state_dict returned", type(saved).__name__)
    state, there = saved["state"], saved["param_groups"]
    if not isinstance(state, Mapping) or not all(isinstance(one, Mapping) for one in state.values()):
        raise ArgumentError("load_state_dict takes a dict of dicts as state", short(state))
    if not isinstance(there, (list, tuple)) or not all(map(_is_group, there)):
        raise ArgumentError("load_state_dict takes a list of dicts with params as param_groups", short(there))
    wrong = list(_misfits(groups, states, kept, saved))
    if wrong:
        raise ShapeError(f"{name} continues from a state of its own parameters", "; ".join(wrong))


def _is_group(group: Any) -> bool:
    return isinstance(group, Mapping) and isinstance(group.get("params"), (list, tuple))


def take_over(groups: Sequence[Group], states: Sequence[State], saved: Mapping[str, Any]) -> None:
    """Put what was saved into settings and states."""
    for group, other in zip(groups, saved["param_groups"], strict=True):
        group.update({name: value for name, value in other.items() if name != "params"})
    params = [p for group in groups for p in group["params"]]
    for k, (p, state) in enumerate(zip(params, states, strict=True)):
        for name, value in saved["state"].get(k, {}).items():
            if not isinstance(value, Var):
                state[name] = deepcopy(value)
            elif isinstance(state.get(name), Var):
                state[name].update(value.to(state[name].device))
            else:
                state[name] = state_of(p, value) if value.shape == p.shape else value.detach()


def _snapshot(value: Any) -> Any:
    return value.detach() if isinstance(value, Var) else deepcopy(value)


def _misfits(
    groups: Sequence[Group],
    states: Sequence[State],
    kept: Callable[[Group], Iterable[str]] | None,
    saved: Mapping[str, Any],
) -> Iterator[str]:
    here, there = ([len(g["params"]) for g in side] for side in (groups, saved["param_groups"]))
    if here != there:
        yield f"groups of {there} parameters for groups of {here}"
        return
    unknown = {
        key for group, other in zip(groups, saved["param_groups"], strict=True) for key in set(other) - set(group)
    }
    if unknown - {"initial_lr"}:
        yield f"settings {sorted(unknown)}"
        return
    pairs = [(p, {**g, **other}) for g, other in zip(groups, saved["param_groups"], strict=True) for p in g["params"]]
    if strangers := sorted(map(repr, set(saved["state"]) - set(range(len(pairs))))):
        yield f"states of the parameters {', '.join(strangers)} for {len(pairs)} of them"
    if kept is None:
        return
    for k, ((p, group), state) in enumerate(zip(pairs, states, strict=True)):
        numbers = {name for name, value in state.items() if not isinstance(value, Var)}
        yield from _misfits_of(k, p, numbers, {*kept(group)}, saved["state"].get(k, {}))


def _is_count(name: str, value: Any) -> bool:
    """Whether it is a number that a state may hold: steps are counted from 0."""
    return isinstance(value, Real) and math.isfinite(value) and (name != "step" or float(value) >= 0)


def _misfits_of(k: int, p: Var, numbers: set[str], needed: set[str], other: Mapping[str, Any]) -> Iterator[str]:
    odd = [name for name, value in other.items() if not isinstance(value, Var) and not _is_count(name, value)]
    if odd:
        yield from (f"{name}={short(other[name])} of parameter {k}" for name in odd)
        return
    found = {name for name, value in other.items() if not isinstance(value, Var)}
    if needed - set(other) or numbers - set(other) or found - numbers - needed:
        yield f"parameter {k} with {sorted(other)} for {sorted(numbers | needed)}"
    elif numbers != found:
        yield f"parameter {k} with one number for each of {sorted(found)}, instead of {sorted(numbers)}"
    for name, value in other.items():
        if isinstance(value, Var) and value.shape != p.shape:
            yield f"{name} of parameter {k}, of shape {value.shape} for {p.shape}"
        elif isinstance(value, Var) and value.dtype.kind == "c" != p.dtype.kind:
            yield f"{name} of parameter {k}, of dtype {value.dtype} for {p.dtype}"
