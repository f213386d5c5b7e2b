"""Merging: which value may take the place of which?

    the same type            yes
    None, either way         yes
    list <-> tuple           yes, as the type that was there before
    anything else            no: an int is no float, and True is no int

A text is read as a literal of Python first, as in yacs: "[2, 2]" is a list, "1e-3" a float, "swin" stays a text.
"""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Mapping
from typing import Any

from jt_edu.base.did_you_mean import nearest
from jt_edu.config.errors import ConfigError, UnknownSettingError

VALID = (tuple, list, str, int, float, bool, type(None))


def checked(value: Any, path: str, more: tuple[type, ...] = ()) -> Any:
    """The value, if a config may hold it: of one of the types in VALID, or of a class in `more`."""
    if type(value) in VALID or isinstance(value, more):
        return value
    attempt = "the text in quotes" if type(value).__module__ == "datetime" else "one of these"
    kinds = "texts, numbers, bools, lists, tuples and None"
    raise ConfigError(f"a config holds {kinds}", f"{path} = {value!r}, of type {type(value).__name__}", attempt)


def literal(value: Any) -> Any:
    """What a text means as a literal of Python, or the text; anything else as it is. No code runs.

    Example:
        >>> literal("(1, 2)"), literal("1e-3"), literal("swin"), literal(3)
        ((1, 2), 0.001, 'swin', 3)
    """
    if not isinstance(value, str):
        return value
    try:
        return literal_eval(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return value


def fitting(value: Any, before: Any, path: str) -> Any:
    """The value as it may stand where `before` stands.

    Raises:
        ConfigError: it may not.

    Example:
        >>> fitting((2, 6), [2, 2], "MODEL.DEPTHS")
        [2, 6]
    """
    new, old = type(value), type(before)
    if new is old or (new is type(None) and old in VALID) or (old is type(None) and new in VALID):
        return value
    if {new, old} == {list, tuple}:
        return old(value)
    attempt = repr(float(value)) if (new, old) == (int, float) else f"a value such as {before!r}"
    found = f"{value!r}, of type {new.__name__}, for {before!r}, of type {old.__name__}"
    raise ConfigError(f"{path} keeps its type", found, attempt)


def unknown_setting(path: str, root: Mapping[str, Any]) -> UnknownSettingError:
    """The error for a path that leads nowhere, with the paths most like it."""
    doors: dict[str, list[str]] = {}
    _list(root, "cfg", doors)
    around, _, name = f"cfg.{path}".rpartition(".")
    near = nearest(name, {around: doors.get(around, []), **doors})
    attempt = " or ".join(full.removeprefix("cfg.") for full in near)
    return UnknownSettingError(
        "a config changes the settings that it has", repr(path), attempt or "CfgNode(new_allowed=True)"
    )


def _list(node: Mapping[str, Any], path: str, doors: dict[str, list[str]]) -> None:
    doors[path] = [str(key) for key in node]
    for key, value in node.items():
        if isinstance(value, Mapping):
            _list(value, f"{path}.{key}", doors)
