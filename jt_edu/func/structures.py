"""Structures: the Vars in the arguments and answers of functions, which may be tuples, lists and dicts of them.

    each({"a": 1.0, "b": (x, 3)}, change)      numbers and arrays become Vars, and all Vars are changed
    leaves({"a": x, "b": (y, 3)})              [x, y, 3]
    beside((0, None), (x, {"w": w}))           [0, None]: what is said of a part holds for all that is in it

variable/pytree.py takes structures apart, and puts them together again with other Vars.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.ir.builders import short
from jt_edu.variable.pytree import is_structure, parts_of, rebuilt, vars_in
from jt_edu.variable.var import Var, as_var


def each(value: Any, change: Callable[[Var], Var]) -> Any:
    """The same structure with every Var, array, float and complex number changed; what else is in it stays."""
    if isinstance(value, (Var, np.ndarray, float, complex)):
        return change(as_var(value))
    return rebuilt(value, [each(part, change) for part in parts_of(value)]) if is_structure(value) else value


def leaves(value: Any) -> list[Any]:
    """All that is in a structure, and is none itself."""
    return [leaf for part in parts_of(value) for leaf in leaves(part)] if is_structure(value) else [value]


def only_vars(name: str, answer: Any) -> list[Var]:
    """The Vars of an answer.

    Raises:
        ArgumentError: there is none, or something else.
    """
    found = leaves(answer)
    for leaf in found or [answer]:
        if not isinstance(leaf, Var):
            raise ArgumentError(f"{name} takes a function that returns Vars, or structures of them", short(leaf))
    return found


def beside(name: str, said: Any, value: Any) -> list[Any]:
    """What is said of each Var in `value`: of all at once, or by a structure with as many parts, for each part.

    Raises:
        ArgumentError: the structures differ.
    """
    if not is_structure(said):
        return [said for _ in vars_in(value)]
    both = isinstance(said, Mapping) and isinstance(value, Mapping) and set(said) == set(value)
    parts = [said[key] for key in value] if both else parts_of(said)
    if not is_structure(value) or len(parts) != len(parts_of(value)) or both is not isinstance(value, Mapping):
        raise ArgumentError(f"{name} is one number, or a structure like the one that it speaks of", short(said))
    return [one for a, b in zip(parts, parts_of(value), strict=True) for one in beside(name, a, b)]
