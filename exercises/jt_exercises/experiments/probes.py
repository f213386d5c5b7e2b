"""Probes: a learner's function lays settings over others; what it returns, refuses and leaves behind is told."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

Answer = Callable[..., Any]
Settings = dict[str, Any]


def laid_over(answer: Answer, defaults: Settings, overrides: Mapping[str, Any]) -> tuple[Any, Settings, Settings]:
    """What it returns; the defaults after that; and the defaults after all lists and dicts in it were changed."""
    found = answer(defaults, dict(overrides))
    told, after = copy.deepcopy(found), copy.deepcopy(defaults)
    _spoil(found)
    return told, after, defaults


def refused(answer: Answer, defaults: Settings, overrides: Mapping[str, Any]) -> tuple[str, str, Any]:
    """The error that it refuses with, and its words; or "", and what it returns."""
    try:
        return "", "", answer(defaults, dict(overrides))
    except (KeyError, TypeError) as error:
        return type(error).__name__, str(error), None


def _spoil(tree: Any) -> None:
    """Change all that can be changed, from the inside out."""
    if isinstance(tree, dict):
        for below in tree.values():
            _spoil(below)
        tree["spoiled"] = True
    elif isinstance(tree, list):
        tree.append("spoiled")
