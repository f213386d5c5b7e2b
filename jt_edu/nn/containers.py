"""Containers: modules under names of your own, and parameters that stand in lists and dicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jt_edu.base.errors import UnknownKeyError
from jt_edu.base.own import own
from jt_edu.ir.builders import short
from jt_edu.nn.module import Parameter
from jt_edu.nn.sequential import Parts, Row, named
from jt_edu.variable.var import Var


class Names(Parts):
    """Parts under names of your own, as in a dict. What parts are, a subclass says.

    Example:
        >>> Names({"act": jt.nn.ReLU()}).keys()
        ['act']
    """

    def __init__(self, parts: Any = None) -> None:
        self._own_parts: dict[str, Any] = {}
        own(self).update({} if parts is None else parts)

    def members(self) -> Iterator[tuple[str, Any]]:
        """The parts."""
        yield from self._own_parts.items()
        yield from super().members()

    def __getitem__(self, name: str) -> Any:
        if name not in self._own_parts:
            raise UnknownKeyError(f"a {type(self).__name__} of {', '.join(self._own_parts) or 'nothing'}", short(name))
        return self._own_parts[name]

    def get(self, name: str, default: Any = None) -> Any:
        """The part of this name, or the default."""
        return self._own_parts.get(name, default)

    def __setitem__(self, name: str, part: Any) -> None:
        self._own_parts[named(name)] = own(self)._checked(part)

    def __delitem__(self, name: str) -> None:
        own(self).pop(name)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._own_parts))

    def __contains__(self, name: object) -> bool:
        return name in self._own_parts

    def update(self, parts: Any) -> None:
        """Take over the parts of a dict, or of a list of pairs (name, part)."""
        pairs = parts.items() if isinstance(parts, (Mapping, Names)) else parts
        for name, part in pairs:
            self[name] = part

    def pop(self, name: str, *default: Any) -> Any:
        """Take one out. Returns it, or the default if there is none of this name."""
        if default and name not in self._own_parts:
            return default[0]
        part = self[name]
        del self._own_parts[name]
        return part

    def clear(self) -> None:
        """Take all out."""
        self._own_parts.clear()


class ModuleDict(Names):
    """Modules in a dict: they are found and saved; what is done with them is up to you.

    Example:
        >>> heads = ModuleDict({"size": jt.nn.Linear(4, 1), "kind": jt.nn.Linear(4, 3)})
        >>> heads["kind"](jt.ones(2, 4)).shape
        (2, 3)
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__(modules)

    def add_module(self, name: Any, module: Any) -> None:
        """The same as `heads[name] = module`."""
        self[name] = module

    register_module = add_module


class ParameterDict(Names):
    """Parameters in a dict. What is no Var yet becomes one.

    Example:
        >>> ParameterDict({"a": jt.ones(2)}).parameters()
        [jt.Var([1., 1.], dtype=float32)]
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__(parameters)

    def _checked(self, part: Any) -> Var:
        return as_parameter(part)

    def _rows(self) -> list[str]:
        return [f"({name}): {kind(part)}" for name, part in self._own_parts.items()]


class ParameterList(Row):
    """Parameters in a list. What is no Var yet becomes one.

    Example:
        >>> len(ParameterList([jt.ones(2), [1.0, 2.0]]).parameters())
        2
    """

    what = "parameters"

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__([] if values is None else list(values))

    def _checked(self, part: Any) -> Var:
        return as_parameter(part)

    def _rows(self) -> list[str]:
        return [f"({name}): {kind(part)}" for name, part in self._own_parts.items()]


def as_parameter(part: Any) -> Var:
    """A float Var as it is, anything else as a new parameter.

    Example:
        >>> as_parameter([1.0]).shape
        (1,)
    """
    return part if isinstance(part, Var) and part.dtype.is_float else Parameter(part)


def kind(var: Var) -> str:
    """What a parameter is, in a few words.

    Example:
        >>> kind(jt.ones(2, 3))
        'Parameter of (2, 3) float32'
    """
    return f"Parameter of {var.shape} {str(var.dtype).removeprefix('jt.')}"
