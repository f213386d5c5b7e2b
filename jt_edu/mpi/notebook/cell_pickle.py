"""Cell pickle: what a cell needs from the notebook, as bytes that each rank unpacks into things of its own.

    notebook    net, data, def loss(...)
                  │ pack: the names that the cell reads, and those that its functions read
                  ▼
                bytes
       ┌──────────┼──────────┐  unpack
       ▼          ▼          ▼
    rank 0      rank 1     rank 2      a net, a data and a loss of its own, as in a process of its own

What can be imported travels by its name. Functions and classes that the notebook defined travel as code, and find the
names of their rank where they land. Vars keep their identity: a parameter that a network and an optimiser share is one
Var on each rank too, even if they come in different cells. What cannot be copied (a generator, an open file) is named:
the parcel is unpacked once in the notebook, so that this is known before a cell runs.
"""

from __future__ import annotations

import dataclasses
import dis
import importlib
import io
import marshal
import pickle
import sys
import weakref
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping
from contextlib import _GeneratorContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import EnumType
from functools import _lru_cache_wrapper, lru_cache
from operator import attrgetter
from types import CellType, CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any

from jt_edu.variable.var import Var

_space: ContextVar[dict[str, Any]] = ContextVar("names around functions that are unpacked")
FUNCTION = ("__defaults__", "__kwdefaults__", "__annotations__", "__qualname__", "__module__", "__doc__")
OWN = ("__dict__", "__weakref__", "_abc_impl", "__slots__")  # of a class, that its copy makes anew
OF_A_MEMBER = ("_value_", "_name_", "__objclass__", "_sort_order_")  # of an Enum, that its class gives it


@dataclass
class Parcel:
    """What a cell needs from the notebook.

    Attributes:
        data: the names and their things, pickled.
        vars: number of a Var -> how to make it.
        names: what is inside.
        stuck: names of what cannot be copied -> why not.
    """

    data: bytes = b""
    vars: dict[int, tuple[Any, ...]] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    stuck: dict[str, str] = field(default_factory=dict)

    def unpack(self, space: dict[str, Any], known: dict[int, Var]) -> None:
        """Put the names into the namespace of a rank. `known` are the Vars that it has got already, by number."""
        for number, (make, args) in self.vars.items():
            if number not in known:
                known[number] = make(*pickle.loads(pickle.dumps(args)))  # noqa: S301 - our own bytes
        token = _space.set(space)
        try:
            space.update(_Unpacker(io.BytesIO(self.data), known).load() if self.names else {})
        finally:
            _space.reset(token)


class Carrier:
    """Packs things of a notebook, and remembers which Vars have travelled."""

    def __init__(self) -> None:
        self._numbers: dict[int, tuple[weakref.ref[Var], int]] = {}
        self._count = 0

    def pack(self, home: dict[str, Any], wanted: Iterable[str]) -> Parcel:
        """The parcel of some names of a notebook, and of those that their functions read."""
        names, stuck = {n for n in wanted if n in home}, dict[str, str]()
        while True:
            chosen = sorted(names - set(stuck))
            try:
                packer, parcel = self._packed(home, chosen)
            except Exception as error:  # noqa: BLE001 - whatever a stranger's object raises, it cannot be copied
                alone = {n: why for n in chosen if (why := self._why_not(home, n))}
                stuck |= alone or dict.fromkeys(chosen, _told(error))
                continue
            more = {n for n in packer.read if n in home} - names
            if not more:
                parcel.stuck = stuck
                return parcel
            names |= more

    def _packed(self, home: dict[str, Any], names: list[str]) -> tuple[_Packer, Parcel]:
        """A parcel of just these names, which was unpacked once; raises what goes wrong with it."""
        file = io.BytesIO()
        packer = _Packer(file, home, self._number_of)
        packer.dump({name: home[name] for name in names})
        parcel = Parcel(file.getvalue(), packer.vars, names)
        parcel.unpack({}, packer.originals)
        return packer, parcel

    def _why_not(self, home: dict[str, Any], name: str) -> str:
        try:
            self._packed(home, [name])
        except Exception as error:  # noqa: BLE001 - as above
            return _told(error)
        return ""

    def _number_of(self, var: Var) -> int:
        """The number under which a Var travels: always the same."""
        known, number = self._numbers.get(id(var), (None, -1))
        if known is None or known() is not var:
            self._count += 1
            number = self._count
            self._numbers[id(var)] = (weakref.ref(var), number)
        return number


def names_read(code: CodeType) -> set[str]:
    """The names that code looks up around itself, that of the functions in it included.

    Example:
        >>> sorted(names_read(compile("y = f(x.data)", "", "exec")))
        ['f', 'x']
    """
    found = {i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_NAME", "LOAD_GLOBAL")}
    return found.union(*(names_read(c) for c in code.co_consts if isinstance(c, CodeType)))


def names_set(code: CodeType, kinds: tuple[str, ...] = ("STORE_NAME", "STORE_GLOBAL")) -> set[str]:
    """The names around itself that code gives to things; functions in it do so where they say `global`.

    Example:
        >>> sorted(names_set(compile("import numpy as np; y = f(x)", "", "exec")))
        ['np', 'y']
    """
    found = {i.argval for i in dis.get_instructions(code) if i.opname in kinds}
    return found.union(*(names_set(c, ("STORE_GLOBAL",)) for c in code.co_consts if isinstance(c, CodeType)))


class _Packer(pickle.Pickler):
    """Pickles by value what the notebook defined."""

    def __init__(self, file: io.BytesIO, home: dict[str, Any], number_of: Callable[[Var], int]) -> None:
        super().__init__(file, protocol=5)
        self._home, self._number_of = home, number_of
        self.read: set[str] = set()
        self.vars: dict[int, tuple[Any, ...]] = {}
        self.originals: dict[int, Var] = {}

    def persistent_id(self, thing: Any) -> Any:
        """The number of a Var: it is not copied here, but stands for one of the rank."""
        if not isinstance(thing, Var):
            return None
        number = self._number_of(thing)
        if number not in self.vars:
            self.vars[number], self.originals[number] = thing.__reduce__(), thing
        return number

    def reducer_override(self, thing: Any) -> Any:
        """How functions, classes and modules travel."""
        if isinstance(thing, FunctionType) and self._of_the_notebook(thing.__module__):
            return self._function(thing)
        if isinstance(thing, type) and self._of_the_notebook(thing.__module__):
            return self._class(thing)
        if isinstance(thing, ModuleType):
            return importlib.import_module, (thing.__name__,)
        if isinstance(thing, CellType):
            return _cell, (), _inside(thing), None, None, _fill
        if isinstance(thing, MappingProxyType):
            return _view, (dict(thing),)
        if isinstance(thing, property):
            return property, (thing.fget, thing.fset, thing.fdel, thing.__doc__)
        if isinstance(thing, (staticmethod, classmethod)):
            return type(thing), (thing.__func__,)
        if isinstance(thing, _GeneratorContextManager):  # what `with no_grad():` and `@no_grad()` hold
            made: Any = thing  # `func` is what stands under the decorator: its name leads to the decorated one
            return _entered, (sys.modules[made.func.__module__], made.func.__qualname__, made.args, made.kwds)
        if isinstance(thing, _lru_cache_wrapper):
            return _remembering, (thing.__wrapped__, thing.cache_parameters())
        if type(thing).__module__ == "dataclasses" and (name := _sentinel(thing)):
            return getattr, (dataclasses, name)
        return NotImplemented

    def _of_the_notebook(self, module: Any) -> bool:
        return bool(module == self._home.get("__name__", "__main__"))

    def _function(self, f: FunctionType) -> Any:
        name = f.__globals__.get("__name__")
        around = None if self._of_the_notebook(name) else sys.modules[str(name)]  # where a decorator was written
        if around is None:
            self.read |= names_read(f.__code__)
        made = (marshal.dumps(f.__code__), around, f.__name__, f.__closure__)
        state = {name: getattr(f, name) for name in FUNCTION}
        return _make_function, made, {**state, **f.__dict__}, None, None, _set_all

    def _class(self, kind: type) -> Any:
        if isinstance(kind, EnumType):
            return self._enum(kind)
        if kind.__bases__ == (tuple,) and "_field_defaults" in vars(kind):
            return self._named_tuple(kind)
        slots = kind.__dict__.get("__slots__", ())
        hidden = {*OWN, *([slots] if isinstance(slots, str) else slots)}
        body = {k: v for k, v in kind.__dict__.items() if k in ("__module__", "__qualname__", "__slots__")}
        rest = {k: v for k, v in kind.__dict__.items() if k not in hidden}
        return type(kind), (kind.__name__, kind.__bases__, body), rest, None, None, _set_all

    def _enum(self, kind: Any) -> Any:
        """By its members; what their class made of them besides, and its functions, come afterwards."""
        if "__new_member__" in vars(kind):
            raise TypeError(f"{kind.__name__} is an Enum with a __new__ of its own")
        members = {name: member.value for name, member in kind.__members__.items()}
        inside = {member.name: _own_names(vars(member), OF_A_MEMBER) for member in kind}
        rest = self._written_by_hand(kind, {*OWN, *members, *(n for n in vars(kind) if n.startswith("_"))})
        made = (type(kind), kind.__name__, kind.__bases__, members, vars(kind).get("_boundary_"))
        return _make_enum, made, (rest, inside), None, None, _fill_enum

    def _named_tuple(self, kind: Any) -> Any:
        """By its fields; what else was written into its class comes afterwards."""
        bare = vars(_make_named_tuple("Bare", kind._fields, (), "__main__"))
        made = (kind.__name__, kind._fields, tuple(kind._field_defaults.values()), kind.__module__)
        return _make_named_tuple, made, self._written_by_hand(kind, {*OWN, *bare}), None, None, _set_all

    def _written_by_hand(self, kind: type, made: Iterable[str]) -> dict[str, Any]:
        """What stands in the body of a class: all but what is `made` for it, and what it has instead of that."""
        rest = _own_names(vars(kind), made)
        for name, thing in vars(kind).items():
            function = getattr(thing, "__func__", thing)
            if isinstance(function, FunctionType) and self._of_the_notebook(function.__module__):
                rest[name] = thing
        return rest | {n: vars(kind)[n] for n in ("__qualname__", "__module__", "__doc__") if n in vars(kind)}


class _Unpacker(pickle.Unpickler):
    """Unpickles for a rank."""

    def __init__(self, file: io.BytesIO, known: Mapping[int, Var]) -> None:
        super().__init__(file)
        self._known = known

    def persistent_load(self, number: Any) -> Any:
        """The Var of this rank that has the number."""
        return self._known[number]


def _make_function(code: bytes, around: ModuleType | None, name: str, closure: Any) -> FunctionType:
    names = _space.get() if around is None else vars(around)
    return FunctionType(marshal.loads(code), names, name, None, closure)  # noqa: S302 - our own bytes


def _make_enum(kind: Any, name: str, bases: Any, members: dict[str, Any], boundary: Any) -> Any:
    body = kind.__prepare__(name, bases)
    for member, value in members.items():
        body[member] = value
    return kind(name, bases, body, boundary=boundary)


def _fill_enum(kind: Any, state: tuple[dict[str, Any], dict[str, dict[str, Any]]]) -> None:
    rest, inside = state
    _set_all(kind, rest)
    for member, names in inside.items():
        vars(kind[member]).update(names)


def _make_named_tuple(name: str, fields: Any, defaults: Any, module: str) -> Any:
    return namedtuple(name, fields, defaults=defaults, module=module)  # noqa: PYI024 - fields without types


def _own_names(names: Mapping[str, Any], but: Iterable[str]) -> dict[str, Any]:
    hidden = set(but)
    return {name: thing for name, thing in names.items() if name not in hidden}


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _entered(module: ModuleType, name: str, args: Any, named: Any) -> Any:
    return attrgetter(name)(module)(*args, **named)


def _remembering(function: Any, parameters: dict[str, Any]) -> Any:
    return lru_cache(**parameters)(function)


def _set_all(thing: Any, state: dict[str, Any]) -> None:
    for name, value in state.items():
        setattr(thing, name, value)


def _cell() -> CellType:
    return CellType()


def _view(of: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(of)


def _inside(cell: CellType) -> tuple[Any, ...]:
    """What a variable of an outer function holds; () if nothing yet."""
    try:
        return (cell.cell_contents,)
    except ValueError:
        return ()


def _fill(cell: CellType, inside: tuple[Any, ...]) -> None:
    if inside:
        cell.cell_contents = inside[0]


def _sentinel(thing: Any) -> str:
    """The name of a thing of which there is one: MISSING, and its kind."""
    return next((name for name, value in vars(dataclasses).items() if value is thing), "")
