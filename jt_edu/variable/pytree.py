"""Pytree: the arrays in what a step or a module is given, and the Vars in what it returns.

    step(x, (h, c), {"mask": m}, 3)          leaves x, h, c, m; of the rest its value counts
    vars_in({"a": x, "b": [y, 3]})           [x, y]
    replaced({"a": x, "b": [y, 3]}, [u, v])  {"a": u, "b": [v, 3]}

Tuples, lists and dicts are taken apart, however deep they stand in each other; where nothing is compiled, dataclasses
and other mappings as well. Nothing here knows what is done with it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
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
    if isinstance(argument, dict):
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
    return {name: refilled(part, leaves) for name, part in argument.items()} if isinstance(argument, dict) else argument


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
        "a compiled step returns Vars, numbers, and tuples, lists and dicts of them",
        repr(type(answer)),
        "jt.array(...) around what NumPy has computed",
    )


def of_kind(one: Any, parts: list[Any]) -> Any:
    """Parts in a tuple or list of the class of `one`: a named tuple takes them one by one.

    Example:
        >>> of_kind((1, 2), ["a", "b"])
        ('a', 'b')
    """
    kind = type(one)
    return kind(*parts) if hasattr(one, "_fields") else kind(parts)


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
    rest = iter(others)
    if isinstance(value, Var):
        return next(rest)
    return rebuilt(value, [replaced(part, rest) for part in parts_of(value)]) if is_structure(value) else value


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
    if type(value) is dict:
        return dict(zip(value, parts, strict=True))
    if isinstance(value, tuple):
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return list(parts)
    twin: Any = copy.copy(value)  # whatever else such an object knows is kept
    if isinstance(value, Mapping):
        twin.update(zip(value, parts, strict=True))
    else:
        vars(twin).update(zip([f.name for f in fields(value)], parts, strict=True))
    return twin
