"""Hyperparameters: the settings of a rule, and numbers made of them and of how many steps there were.

    class Rule(Optimizer, lr=0.1, beta=0.9)             Rule(params, 0.2)     Rule(params, lr=0.2, beta=0.8)
    factor(lambda group, step: group["beta"] ** step)   a number of the graph, which is another one in each step

A rule that takes its numbers here can be replayed: a compiled or remembered step asks for them again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from inspect import Parameter, Signature
from typing import Any

from jt_edu.base.context import current
from jt_edu.capture.recorder import at_replay, knob

Group = dict[str, Any]
State = dict[str, Any]
Count = tuple[State, Callable[[], dict[str, Any]]]  # (the states of a parameter, its numbers after one more step)


class Factor:
    """Numbers for a rule, made of the settings of its group and the number of this step (from 1).

        lr = factor(lambda group, step: group["lr"])

    In a compiled step they are made anew at each replay, after one more step was counted.

    Args:
        group: the settings.
        state: what is kept for the parameter.
        count: the numbers in a state after one more step.
    """

    def __init__(self, group: Group, state: State, count: Callable[[Group, State], dict[str, Any]]) -> None:
        self.group, self._state, self._count = group, state, count
        capture = current().capture
        ahead: dict[int, Factor] = {} if capture is None else capture.ahead
        self._before = ahead.get(id(state))
        ahead[id(state)] = self
        self._look()
        at_replay(self._look)

    def __call__(self, formula: Callable[[Group, int], float]) -> float:
        """The number as it is now."""
        return knob(lambda: formula(self.group, self.counted["step"]))

    def _look(self) -> None:
        """Count one more step; a replay stores its counts at its end, so the second step in it asks the first."""
        now = self._state if self._before is None else {**self._state, **self._before.counted}
        self.counted: State = self._count(self.group, now)


def kind_of(setting: Any) -> Any:
    """What a rule may decide by: whether a number is 0; of anything else its value."""
    if isinstance(setting, (tuple, list)):
        return tuple(map(kind_of, setting))
    if isinstance(setting, (int, float)) and not isinstance(setting, bool):
        return bool(setting)
    return setting if isinstance(setting, Hashable) else id(setting)


def identities(groups: list[Group], states: list[State]) -> tuple[int, ...]:
    """The very groups, parameters and states: a step that is remembered moves these. It holds them, so ids stay."""
    parts = [thing for group in groups for thing in (group, *group["params"])]
    parts += [thing for state in states for thing in (state, *state.values()) if not isinstance(thing, (int, float))]
    return tuple(map(id, parts))


def declare(rule: Any, settings: Mapping[str, Any]) -> None:
    """Give a rule the `__init__` that its settings ask for: the first by place or by name, the others by name.

    Floats are checked to be numbers from 0, unless the class says otherwise in `from_0` and `shares`.

    Example:
        >>> class Descent(jt.optim.Optimizer, lr=0.1, maximize=False):
        ...     def rule(self, p, g, state, factor):
        ...         return p - g * factor(lambda now, t: now["lr"]), {}
        >>> Descent([jt.ones(2)], 0.5)
        Descent(1 parameters, lr=0.5, maximize=False)
    """
    place, name = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY
    first = [Parameter("self", place), Parameter("params", place, annotation="Iterable[Any]")]
    named = [Parameter(s, name, default=value, annotation=_hint(value)) for s, value in settings.items()]
    signature = Signature([*first, named[0].replace(kind=place), *named[1:]], return_annotation="None")

    def made(*args: Any, **given: Any) -> None:
        bound = signature.bind(*args, **given)
        bound.apply_defaults()
        optimizer, params, *values = bound.arguments.values()
        super(rule, optimizer).__init__(params, **dict(zip(settings, values, strict=True)))

    made.__name__, made.__qualname__, made.__module__ = "__init__", f"{rule.__qualname__}.__init__", rule.__module__
    made.__signature__ = signature  # type: ignore[attr-defined]
    if "__init__" not in vars(rule):
        rule.__init__ = made
    if "from_0" not in vars(rule):
        floats = [*rule.from_0, *(s for s, value in settings.items() if isinstance(value, float))]
        rule.from_0 = tuple(s for s in dict.fromkeys(floats) if s not in rule.shares)


def _hint(value: Any) -> str:
    """The type of a setting, as one writes it."""
    return f"tuple[{', '.join(map(_hint, value))}]" if isinstance(value, tuple) else type(value).__name__
