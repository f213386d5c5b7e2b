"""Arguments: what a learner may write where a function asks for a Var, a number or a word.

function    a row of the table in functions.py becomes a function of Vars
beside      bare numbers give way to the Vars that stand beside them
number, choice, one_of    what stands beside the Vars is checked where it was written
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from jt_edu.build import short
from jt_edu.errors import ArgumentError
from jt_edu.meta import Elementwise
from jt_edu.var import Var, as_var, method


def number(function: str, name: str, value: Any) -> float:
    """A bare Python number, such as a slope or a threshold; NumPy's numbers will do, nan will not.

    Example:
        >>> number("elu", "alpha", 0.5)
        0.5
    """
    plain = value.item() if type(value).__module__ == "numpy" and getattr(value, "shape", None) == () else value
    if isinstance(plain, (int, float)) and not math.isnan(plain):
        return plain
    raise ArgumentError(f"{function} takes {name} as a number", f"{name}={short(value)}", f"{name}=0.5")


def choice(function: str, name: str, value: Any, allowed: Sequence[Any]) -> Any:
    """One of the allowed values.

    Example:
        >>> choice("gelu", "approximate", "tanh", ("none", "tanh"))
        'tanh'
    """
    if any(type(value) is type(a) and value == a for a in allowed):
        return value
    raise ArgumentError(f"{function} takes {name} as one of {', '.join(map(repr, allowed))}", f"{name}={short(value)}")


def one_of(function: str, **given: Any) -> Any:
    """The one that was given, of several names for the same argument; None if none was.

    Example:
        >>> one_of("clamp", min_v=None, min=0)
        0
    """
    found = {name: value for name, value in given.items() if value is not None}
    if len(found) > 1:
        raise ArgumentError(f"{function} takes one of {', '.join(given)}", f"{' and '.join(found)} together")
    return next(iter(found.values()), None)


def beside(first: Any, *others: Any) -> Var:
    """The first argument as a Var; a bare number gives way to the dtype of the first Var among the others.

    Example:
        >>> beside(2, array([1.0], "float16")).dtype
        jt.float16
    """
    if isinstance(first, Var):
        return first
    return as_var(first, next((o.dtype for o in others if isinstance(o, Var)), None))


def function(home: str, op: Elementwise, what: str, example: str, answer: str, *aliases: str) -> Callable[..., Var]:
    """A row of the table as a function and a method, under its own name and others."""
    arity = 1 + ("{1}" in op.body)

    def function(x: Any, *others: Any) -> Var:
        if len(others) != arity - 1:
            raise ArgumentError(f"{op.name} takes {arity} argument{'s' if arity > 1 else ''}", f"{1 + len(others)}")
        return beside(x, *others).apply(op, *others)

    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = (
        f"{what}\n\n    Body: `{op.body}`, at each element.\n\n"
        f"    Example:\n        >>> {example}\n        {answer}\n    "
    )
    function.__module__ = home
    for name in aliases:
        method(function, name)
    return method(function)
