"""Rows of modules: one after another (Sequential), or side by side for whoever wants them (ModuleList)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from jt_edu.base.did_you_mean import nearest
from jt_edu.base.errors import ArgumentError, RangeError
from jt_edu.base.own import own
from jt_edu.ir.builders import short
from jt_edu.nn.module import Module
from jt_edu.nn.module_tree import no_part, refuse_compiled
from jt_edu.variable.var import Var


class Parts(Module):
    """What containers share: parts under names, each of which is an attribute too.

    Example:
        >>> heads = jt.nn.ModuleDict({"act": jt.nn.ReLU()})
        >>> heads.items(), heads.act
        ([('act', ReLU())], ReLU())
    """

    _own_parts: dict[str, Any]

    def _checked(self, part: Any) -> Any:
        if not isinstance(part, Module):
            raise ArgumentError(f"a {type(self).__name__} is made of modules", *no_part(part))
        return part

    def __getattr__(self, name: str) -> Any:
        parts: dict[str, Any] = vars(self).get("_own_parts", {})
        if any(name in vars(kind) for kind in type(self).__mro__):
            return object.__getattribute__(self, name)  # raises again, and says what to write instead
        if name not in parts:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return parts[name]

    def __len__(self) -> int:
        return len(self._own_parts)

    def keys(self) -> list[str]:
        """The names."""
        return list(self._own_parts)

    def values(self) -> list[Any]:
        """The parts."""
        return list(self._own_parts.values())

    def items(self) -> list[tuple[str, Any]]:
        """Names and parts."""
        return list(self._own_parts.items())


class Row(Parts):
    """Parts in order, each under a name; the names are their numbers unless given. What parts are, a subclass says.

    Example:
        >>> Row([jt.nn.ReLU()]).keys()
        ['0']
    """

    what = "modules"

    def __init__(self, *args: Any) -> None:
        own(self)._put(_numbered(args))

    def _put(self, parts: Iterable[tuple[str, Any]]) -> None:
        self._own_parts = {name: own(self)._checked(part) for name, part in parts}

    @property
    def layers(self) -> dict[str, Any]:
        """Name -> part; or what a learner has put there."""
        found: dict[str, Any] = vars(self).get("layers", self._own_parts)
        return found

    @layers.setter
    def layers(self, value: Any) -> None:
        vars(self)["layers"] = value

    def members(self) -> Iterator[tuple[str, Any]]:
        """The parts of the row, and what else a subclass keeps beside them."""
        yield from ((name, part) for name, part in self._own_parts.items() if isinstance(part, (Module, Var)))
        yield from super().members()

    def _name(self, key: Any) -> str:
        if isinstance(key, str) and key in self._own_parts:
            return key
        count = len(self)
        if not isinstance(key, int) or not -count <= key < count:
            way = f"a number from {-count} to {count - 1}" if count else "append(), which puts one in"
            near = nearest(key, {"": self._own_parts}) if isinstance(key, str) else []
            raise RangeError(f"a row of {count} {type(self).what}", f"the index {key!r}", near[0][1:] if near else way)
        return list(self._own_parts)[key]

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            parts = list(self._own_parts.items())[key]
            return type(self)([part for _, part in parts] if own(self)._is_numbered() else dict(parts))
        return self._own_parts[own(self)._name(key)]

    def __setitem__(self, key: Any, part: Any) -> None:
        self._own_parts[own(self)._name(key)] = own(self)._checked(part)

    def __delitem__(self, key: Any) -> None:
        gone = list(self._own_parts)[key] if isinstance(key, slice) else [own(self)._name(key)]
        numbered = own(self)._is_numbered()
        parts = [(n, part) for n, part in self._own_parts.items() if n not in gone]
        own(self)._put((str(k), part) if numbered else (n, part) for k, (n, part) in enumerate(parts))

    def __setattr__(self, name: str, value: Any) -> None:
        parts = vars(self).get("_own_parts")
        if parts is not None and (name in parts or own(self)._belongs(name, value)):
            parts[name] = own(self)._checked(value)
            vars(self).pop(name, None)
        else:
            super().__setattr__(name, value)

    def _belongs(self, name: str, value: Any) -> bool:
        """Whether what a subclass keeps is a part, as in PyTorch: a module in a row of modules."""
        return self.what == "modules" and isinstance(value, Module) and not hasattr(type(self), name)

    def __delattr__(self, name: str) -> None:
        if name in vars(self).get("_own_parts", {}):
            del self[name]
        else:
            super().__delattr__(name)

    def _is_numbered(self) -> bool:
        return all(name == str(k) for k, name in enumerate(self._own_parts))

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._own_parts.values()))

    def __add__(self, others: Iterable[Any]) -> Any:
        return type(self)([*self, *others])

    def __iadd__(self, others: Iterable[Any]) -> Any:
        return own(self).extend(others)

    def append(self, part: Any) -> Any:
        """Put one more at the end. Returns this row."""
        name = next(str(k) for k in itertools.count(len(self)) if str(k) not in self._own_parts)
        self._own_parts[name] = own(self)._checked(part)
        return self

    def extend(self, parts: Iterable[Any]) -> Any:
        """Put several at the end. Returns this row."""
        for part in list(parts):
            own(self).append(part)
        return self

    def insert(self, index: int, part: Any) -> Any:
        """Put one before number `index`; all are numbered anew. Returns this row."""
        parts = list(self._own_parts.values())
        parts.insert(index, own(self)._checked(part))
        own(self)._put((str(k), p) for k, p in enumerate(parts))
        return self

    def pop(self, key: Any = -1) -> Any:
        """Take one out, by number or name. Returns it."""
        part = self[key]
        del self[key]
        return part

    def add_module(self, name: str, module: Any) -> None:
        """Put one more at the end, under a name of its own."""
        self._own_parts[named(name)] = own(self)._checked(module)

    register_module = add_module


def named(name: Any) -> str:
    """The name of a part of a container: any text without dots.

    Example:
        >>> named("conv 1")
        'conv 1'
    """
    if not isinstance(name, str) or not name or "." in name:
        raise ArgumentError("a part of a container has a name without dots", short(name))
    return name


def _numbered(args: tuple[Any, ...]) -> list[tuple[str, Any]]:
    """Parts one by one, or one list or dict of them."""
    if len(args) == 1 and isinstance(args[0], dict):
        return [(named(name), part) for name, part in args[0].items()]
    one_list = len(args) == 1 and isinstance(args[0], Iterable) and not isinstance(args[0], (Row, str, Var))
    return [(str(k), part) for k, part in enumerate(args[0] if one_list else args)]


class Sequential(Row):
    """Modules one after another: each gets what the one before returned. Functions such as `jt.relu` will do too.

    Args:
        args: modules one by one, a list of them, or a dict that names them. Slices are Sequentials of the same parts.

    Example:
        >>> Sequential(jt.nn.Linear(3, 4), jt.nn.ReLU(), jt.nn.Linear(4, 2))
        Sequential(
          (0): Linear(in_features=3, out_features=4, bias=True)
          (1): ReLU()
          (2): Linear(in_features=4, out_features=2, bias=True)
        )
    """

    def _checked(self, part: Any) -> Any:
        if not callable(part) or isinstance(part, type):
            raise ArgumentError("a Sequential is made of modules and functions", *no_part(part))
        refuse_compiled("a part of a Sequential", part)
        return part

    def execute(self, x: Any) -> Any:
        """Through all of them."""
        for part in self._own_parts.values():
            x = part(x)
        return x

    def _rows(self) -> list[str]:
        names = {id(part): getattr(part, "__name__", repr(part)) for part in self if not isinstance(part, Module)}
        return [f"({name}): {names.get(id(part)) or repr(part)}" for name, part in self._own_parts.items()]


class ModuleList(Row):
    """Modules in a list: they are found and saved; what is done with them is up to you.

    Example:
        >>> row = ModuleList([jt.nn.Linear(2, 2) for _ in range(3)])
        >>> row
        ModuleList(
          (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)
        )
        >>> len(row.parameters())
        6
    """

    def __init__(self, modules: Iterable[Any] | None = None) -> None:
        super().__init__([] if modules is None else modules)

    def _rows(self) -> list[str]:
        """Neighbours that print alike stand in one line."""
        rows = []
        for text, run in itertools.groupby(self._own_parts.items(), key=lambda item: repr(item[1])):
            names = [name for name, _ in run]
            rows.append(f"({names[0]}): {text}" if len(names) == 1 else _several(names, text))
        return rows


def _several(names: list[str], text: str) -> str:
    return f"({names[0]}-{names[-1]}): {len(names)} x {text}"
