"""Hyperparameters: numbers for a rule, computed from the settings of its group and from how many steps there were.

A rule that takes its numbers here can be replayed: a compiled or remembered step asks for them again.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
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
