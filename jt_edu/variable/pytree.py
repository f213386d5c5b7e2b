"""Pytree: the arrays in what a step is given, and the Vars in what it answers.

    step(x, (h, c), {"mask": m}, 3)     leaves x, h, c, m; of the rest its value counts

Tuples, lists and dicts are taken apart, however deep they stand in each other. Nothing here knows what is done with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError
from jt_edu.variable.subgraph_cache import exactly
from jt_edu.variable.var import Var


def kind_of(argument: Any, leaves: list[Any]) -> tuple[Any, ...]:
    """What two arguments agree in if one captured step serves both; the arrays in this one are added to `leaves`.

    Of an array its shape and dtype, of a Var also whether it takes part in gradients and its hooks, of a tuple, list or
    dict what is in it, of anything else its type and value.

    Raises:
        ArgumentError: there is something in it that cannot be hashed.

    Example:
        >>> leaves = []
        >>> kind_of((np.ones(2), 3), leaves) == kind_of((np.zeros(2), 3), []), len(leaves)
        (True, 1)
    """
    kind = type(argument)
    if isinstance(argument, Var):
        leaves.append(argument)
        node = argument._node
        return (kind, node.shape, node.dtype, node.tracked, argument._hooks)
    if isinstance(argument, np.ndarray):
        leaves.append(argument)
        return (kind, argument.shape, argument.dtype)
    if isinstance(argument, tuple) or kind is list:
        return (kind, *[kind_of(part, leaves) for part in argument])
    if kind is dict:
        return (kind, tuple(argument), *[kind_of(part, leaves) for part in argument.values()])
    try:
        hash(argument)
    except TypeError:
        raise ArgumentError(
            "a compiled step takes Vars, arrays, tuples, lists and dicts of them, and what can be hashed",
            kind.__name__, "a tuple",
        ) from None  # fmt: skip
    return (kind, exactly(argument))


def refilled(argument: Any, leaves: Iterator[Any]) -> Any:
    """The same argument with other arrays in it, in the order in which `kind_of` found them.

    Example:
        >>> refilled((np.ones(2), {"rate": 3, "mask": np.ones(1)}), iter("ab"))
        ('a', {'rate': 3, 'mask': 'b'})
    """
    kind = type(argument)
    if isinstance(argument, (Var, np.ndarray)):
        return next(leaves)
    if isinstance(argument, tuple) or kind is list:
        return of_kind(argument, [refilled(part, leaves) for part in argument])
    return {name: refilled(part, leaves) for name, part in argument.items()} if kind is dict else argument


def mapped(answer: Any, change: Callable[[Any], Any], leaf: type) -> Any:
    """The same tuples, lists and dicts with every object of the class `leaf` changed.

    Raises:
        ArgumentError: there is something else in it than those, numbers, texts and None.

    Example:
        >>> mapped({"loss": 2.0, "scores": [1, 2]}, lambda n: n * 10, int)
        {'loss': 2.0, 'scores': [10, 20]}
    """
    if isinstance(answer, leaf):
        return change(answer)
    if isinstance(answer, (tuple, list)):
        return of_kind(answer, [mapped(part, change, leaf) for part in answer])
    if isinstance(answer, dict):
        return {name: mapped(part, change, leaf) for name, part in answer.items()}
    if isinstance(answer, (int, float, str, type(None), np.generic, Var)):
        return answer
    raise ArgumentError(
        "a compiled step answers with Vars, numbers, and tuples, lists and dicts of them",
        repr(type(answer)),
        "jt.array(...) of what NumPy has computed",
    )


def of_kind(one: Any, parts: list[Any]) -> Any:
    """Parts in a tuple or list of the class of `one`: a named tuple takes them one by one.

    Example:
        >>> of_kind((1, 2), ["a", "b"])
        ('a', 'b')
    """
    kind = type(one)
    return kind(*parts) if hasattr(one, "_fields") else kind(parts)
