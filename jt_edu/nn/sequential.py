"""Rows of modules: one after another (Sequential), or side by side for whoever wants them (ModuleList)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from jt_edu.errors import ArgumentError, RangeError
from jt_edu.nn.module import Module


class _Row(Module):
    """Modules (or functions) in order, each under a name; the names are their numbers unless given."""

    def __init__(self, *args: Any) -> None:
        self._put(_numbered(args))

    def _put(self, parts: Iterable[tuple[str, Any]]) -> None:
        self._layers = {name: self._checked(part) for name, part in parts}

    @property
    def layers(self) -> dict[str, Any]:
        """Name -> module."""
        return self._layers

    def members(self) -> Iterator[tuple[str, Any]]:
        """The modules of the row, and Vars and modules that a subclass keeps beside them."""
        yield from ((name, part) for name, part in self._layers.items() if isinstance(part, Module))
        yield from super().members()

    def _checked(self, part: Any) -> Any:
        if not isinstance(part, Module):
            raise ArgumentError(f"a {type(self).__name__} is made of modules", repr(part))
        return part

    def _name(self, key: Any) -> str:
        if isinstance(key, str) and key in self._layers:
            return key
        if not isinstance(key, int) or not -len(self) <= key < len(self):
            raise RangeError(f"a row of {len(self)} modules", f"the index {key!r}", f"a number below {len(self)}")
        return list(self._layers)[key]

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return type(self)(list(self._layers.values())[key])
        return self._layers[self._name(key)]

    def __setitem__(self, key: Any, part: Any) -> None:
        self._layers[self._name(key)] = self._checked(part)

    def __delitem__(self, key: Any) -> None:
        name = self._name(key)
        parts = [(n, part) for n, part in self._layers.items() if n != name]
        numbered = all(n == str(k) for k, n in enumerate(self._layers))
        self._put((str(k), part) if numbered else (n, part) for k, (n, part) in enumerate(parts))

    def __len__(self) -> int:
        return len(self._layers)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._layers.values()))

    def append(self, part: Any) -> Any:
        """Put one more at the end. Returns this row."""
        self._layers[str(len(self))] = self._checked(part)
        return self

    def extend(self, parts: Iterable[Any]) -> Any:
        """Put several at the end. Returns this row."""
        for part in list(parts):
            self.append(part)
        return self

    def insert(self, index: int, part: Any) -> None:
        """Put one before number `index`; those behind are numbered anew."""
        parts = list(self._layers.values())
        parts.insert(index, self._checked(part))
        self._put((str(k), p) for k, p in enumerate(parts))

    def add_module(self, name: Any, part: Any) -> None:
        """Put one more at the end, under a name of its own."""
        if not isinstance(name, str) or not name or "." in name:
            raise ArgumentError("a module has a name without dots", repr(name))
        self._layers[name] = self._checked(part)

    def keys(self) -> list[str]:
        """The names."""
        return list(self._layers)

    def values(self) -> list[Any]:
        """The modules."""
        return list(self._layers.values())

    def items(self) -> list[tuple[str, Any]]:
        """Names and modules."""
        return list(self._layers.items())


def _numbered(args: tuple[Any, ...]) -> list[tuple[str, Any]]:
    """Modules one by one, or one list or dict of them."""
    if len(args) == 1 and isinstance(args[0], dict):
        return [(str(name), part) for name, part in args[0].items()]
    parts = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    return [(str(k), part) for k, part in enumerate(parts)]


class Sequential(_Row):
    """Modules one after another: each gets what the one before returned. Functions such as `jt.relu` will do too.

    Example:
        >>> Sequential(jt.nn.Linear(3, 4), jt.nn.ReLU(), jt.nn.Linear(4, 2))
        Sequential(
          (0): Linear(in_features=3, out_features=4, bias=True)
          (1): ReLU()
          (2): Linear(in_features=4, out_features=2, bias=True)
        )
    """

    def _checked(self, part: Any) -> Any:
        if not callable(part):
            raise ArgumentError("a Sequential is made of modules and functions", repr(part))
        return part

    def execute(self, x: Any) -> Any:
        """Through all of them."""
        for part in self._layers.values():
            x = part(x)
        return x


class ModuleList(_Row):
    """Modules in a list: they are found and saved; what is done with them is up to you.

    Example:
        >>> row = ModuleList([jt.nn.Linear(2, 2) for _ in range(3)])
        >>> len(row), len(row.parameters())
        (3, 6)
    """

    def __init__(self, modules: Iterable[Any] = ()) -> None:
        self._put((str(k), part) for k, part in enumerate(modules))
