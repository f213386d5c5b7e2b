"""Nested: Vars inside of tuples, lists, dicts, namedtuples and dataclasses, which is what modules take and answer.

    vars_in({"a": x, "b": [y, 3]})                [x, y]
    replaced({"a": x, "b": [y, 3]}, [u, v])       {"a": u, "b": [v, 3]}

Whatever else there is stays as it is.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from jt_edu.variable.var import Var


def vars_in(value: Any) -> list[Var]:
    """All Vars, in the order in which they stand there.

    Example:
        >>> [v.item() for v in vars_in({"a": jt.array(1.0), "b": [jt.array(2.0), "word"]})]
        [1.0, 2.0]
    """
    if isinstance(value, Var):
        return [value]
    return [found for part in parts_of(value) for found in vars_in(part)]


def replaced(value: Any, others: Iterable[Var]) -> Any:
    """The same structure with other Vars, in the same order.

    Example:
        >>> replaced({"a": jt.array(1.0), "b": (jt.array(2.0), "word")}, [jt.array(3), jt.array(4)])
        {'a': jt.Var(3, dtype=int64), 'b': (jt.Var(4, dtype=int64), 'word')}
    """
    return _replaced(value, iter(others))


def _replaced(value: Any, others: Iterator[Var]) -> Any:
    if isinstance(value, Var):
        return next(others)
    return rebuilt(value, [_replaced(part, others) for part in parts_of(value)]) if is_structure(value) else value


def is_structure(value: Any) -> bool:
    """Whether Vars are looked for inside.

    Example:
        >>> is_structure({}), is_structure("word")
        (True, False)
    """
    return isinstance(value, (tuple, list, Mapping)) or (is_dataclass(value) and not isinstance(value, type))


def parts_of(value: Any) -> list[Any]:
    """What stands in a structure; nothing, if it is none.

    Example:
        >>> parts_of({"a": 1, "b": 2}), parts_of("word")
        ([1, 2], [])
    """
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, (tuple, list)):
        return list(value)
    return [getattr(value, f.name) for f in fields(value)] if is_structure(value) else []


def rebuilt(value: Any, parts: list[Any]) -> Any:
    """A structure of the same kind, with other parts.

    Example:
        >>> rebuilt({"a": 1, "b": 2}, [3, 4]), rebuilt((1, 2), [3, 4])
        ({'a': 3, 'b': 4}, (3, 4))
    """
    if isinstance(value, Mapping):
        items = zip(value, parts, strict=True)
        return dict(items) if type(value) is dict else _refilled(value, lambda twin: twin.update(items))
    if isinstance(value, tuple):
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return list(parts)
    names = [f.name for f in fields(value)]
    return _refilled(value, lambda twin: vars(twin).update(zip(names, parts, strict=True)))


def _refilled(value: Any, fill: Callable[[Any], Any]) -> Any:
    """A copy with other parts: whatever else such an object knows is kept."""
    twin = copy.copy(value)
    fill(twin)
    return twin
