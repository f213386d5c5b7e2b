"""Guards: which Vars does a step find by itself, and are they still the ones that it found?

    state = {"h": zeros}
    def step(x):
        state["h"] = state["h"] + x        another Var in a dict:  a replay would not put one there
        return w * state["h"]              w, a global name:       may stand for another Var at the next call

A replay reads the Vars that were there when the step was captured, so it has to know that no other has taken the place
of one: in the closure of the step, in global names that it reads, in the object whose method it is, and in lists, dicts
and (under names that the step reads) plain objects there. Nothing here knows plans, or what is done where something has
changed.
"""

from __future__ import annotations

import dis
import functools
import gc
import inspect
import io
import operator
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any
from weakref import ReferenceType, ref

import numpy as np

from jt_edu.variable.subgraph_cache import exactly
from jt_edu.variable.var import Var

PLAIN = (bool, int, float, complex, str, bytes)
DEEP = 3  # how deep lists, dicts and objects are looked into
MOST = 1_000  # longer lists are data, and too long to be looked through at each call
CLOSED = (type, ModuleType, FunctionType, np.ndarray)
OURS = __name__.partition(".")[0]  # modules and optimizers tell of what is in them by `watch`
NEITHER, ITSELF, INSIDE, PASSING = range(4)


class Surroundings:
    """All places where a step may find Vars; a call returns what stands there now, to be compared by `alike`.

    Example:
        >>> w = Var([1.0])
        >>> look = Surroundings(lambda x: x * w)
        >>> before = look()
        >>> w = Var([2.0])
        >>> alike(before, look())
        False
    """

    def __init__(self, step: Callable[..., Any]) -> None:
        self.places: dict[Any, Callable[[], Any]] = {}  # how to read what stands there: cells, and global names
        self.kept: dict[Any, tuple[Any, int]] = {}  # what stood there last, and what has to be known of it
        self.objects: list[Any] = []
        self.attributes: set[str] = set()  # that it reads or sets: what else an object holds is not the step's affair
        waiting, seen = [step], set()
        while waiting:
            function = waiting.pop()
            key = type(function), id(getattr(function, "__func__", function))
            if key not in seen:
                seen.add(key)
                waiting.extend(self._found(function))
        while self._widened():
            pass

    def _widened(self) -> bool:
        """Whether methods that the step names read attributes of the objects there that were not known yet."""
        before = len(self.attributes)
        for kind in {type(value) for value in self() if _interest(value) == INSIDE}:
            for name in dir(kind):
                method = inspect.getattr_static(kind, name)
                method = method.fget if isinstance(method, property) else method
                special = name.startswith("__") and name != "__init__"
                if isinstance(method, FunctionType) and (special or name in self.attributes):
                    self.attributes |= _words(method.__code__)
        return len(self.attributes) > before

    def _found(self, function: Any) -> Iterable[Any]:
        """Note down the places that a function reads. Functions of the same file there, to be looked through too."""
        if isinstance(function, MethodType):
            self.objects.append(function.__self__)
            return [function.__func__, *_methods(function)]
        if isinstance(function, partial):
            self.objects.append((function.args, function.keywords))
            return [function.func]
        if not isinstance(function, FunctionType):
            call = inspect.getattr_static(type(function), "__call__", None)
            return [MethodType(call, function)] if isinstance(call, FunctionType) else []
        scope = function.__globals__
        names = [(scope, name) for name in sorted(_names(function.__code__)) if name in scope]
        cells = list(function.__closure__ or ())
        self.places |= {(id(scope), name): partial(scope.get, name) for scope, name in names}
        self.places |= {id(cell): partial(content, cell) for cell in cells}
        self.attributes |= _words(function.__code__)
        if function.__defaults__ or function.__kwdefaults__:
            self.objects.append((function.__defaults__, function.__kwdefaults__))
        inside = [*[scope[name] for scope, name in names], *map(content, cells)]
        return [f for f in inside if isinstance(f, FunctionType) and f.__globals__ is scope]

    def __call__(self) -> tuple[Any, ...]:
        """What stands in all places, each behind the name, key or number of its place; None first of all."""
        found: list[Any] = [None]
        for place, read in self.places.items():
            value, last = read(), self.kept.get(place)
            if last is None or last[0] is not value:
                last = self.kept[place] = value, _interest(value)
            if last[1] == ITSELF:
                found += (place, value)
            elif last[1] != NEITHER:
                _add(place, value, found, self.attributes)
        for number, value in enumerate(self.objects):
            _add(number, value, found, self.attributes)
        return tuple(found)


def _interest(value: Any) -> int:
    """Whether a replay relies on a value itself (a Var, a module, a function), on what stands in it, or on neither.

    What an iterator hands out passes: the step would get something else the next time.
    """
    kind = type(value)
    if value is None or kind in PLAIN:
        return NEITHER
    if isinstance(value, (Var, *CLOSED)) or kind.__module__.partition(".")[0] == OURS:
        return ITSELF
    if hasattr(kind, "__next__") and not isinstance(value, io.IOBase):
        return PASSING
    return (
        INSIDE if isinstance(value, (list, tuple, dict)) or type(getattr(value, "__dict__", None)) is dict else NEITHER
    )


def _add(place: Any, value: Any, found: list[Any], attributes: set[str], deep: int = DEEP) -> None:
    """Add what a value has in it that a replay relies on, each behind the place where it stands."""
    interest = _interest(value)
    if interest == ITSELF:
        found += (place, value)
    elif interest == PASSING:
        found += (place, object())  # never alike
    elif interest == INSIDE and deep:
        before = len(found)
        if not isinstance(value, (list, tuple, dict)):
            found.append(value)
        for key, part in _parts(value, attributes):
            _add(key, part, found, attributes, deep - 1)
        if len(found) > before:
            found.append(place)


def _parts(value: Any, attributes: set[str]) -> Iterable[tuple[Any, Any]]:
    """What stands in a list or a dict, or in an object of the learner's under names that the step reads."""
    if isinstance(value, (list, tuple, dict)):
        inside = list(value.items() if isinstance(value, dict) else enumerate(value))
        return inside if len(inside) <= MOST else ()
    return [(k, v) for k, v in list(value.__dict__.items()) if k in attributes]


def _methods(method: MethodType) -> list[MethodType]:
    """Other methods of the same object that a method calls."""
    code = getattr(method.__func__, "__code__", None)
    known = [getattr(type(method.__self__), name, None) for name in sorted(_words(code) if code else ())]
    return [MethodType(f, method.__self__) for f in known if isinstance(f, FunctionType)]


def content(cell: CellType) -> Any:
    """What a name of an outer function stands for; None while it has no value yet.

    Example:
        >>> content((lambda x: lambda: x)(3).__closure__[0])
        3
    """
    try:
        return cell.cell_contents
    except ValueError:
        return None


@functools.lru_cache(256)
def _names(code: CodeType) -> frozenset[str]:
    """The global names that a function reads, also those in functions that it defines."""
    read = [i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")]
    return frozenset(read).union(*[_names(c) for c in code.co_consts if isinstance(c, CodeType)])


def _words(code: CodeType) -> set[str]:
    """All names in a function that are no variables of its own: those of attributes, too."""
    return {*code.co_names}.union(*[_words(c) for c in code.co_consts if isinstance(c, CodeType)])


def alike(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Whether two tuples hold the same objects; of plain values, whether they are equal.

    Example:
        >>> w = Var([1.0])
        >>> alike((w, "mean"), (w, "mean")), alike((w,), (Var([1.0]),))
        (True, False)
    """
    if len(a) != len(b):
        return False
    if all(map(operator.is_, a, b)):
        return True
    return all(x is y or (type(x) is type(y) and _equal(x, y)) for x, y in zip(a, b, strict=True))


def _equal(x: Any, y: Any) -> bool:
    """Whether two tuples are alike, or two plain values the same one."""
    return alike(x, y) if type(x) is tuple else type(x) in PLAIN and exactly(x) == exactly(y)


def left_as_found(looks: Mapping[Callable[[], tuple[Any, ...]], tuple[Any, ...]]) -> bool:
    """Whether a step put nothing in the place of something else: a replay would not. A mode it may put back.

    Example:
        >>> w = Var([1.0])
        >>> left_as_found({lambda: ("train", w): ("eval", w)}), left_as_found({lambda: (None, w): (None, Var([1.0]))})
        (True, False)
    """
    return all(alike(before[1:], look()[1:]) for look, before in looks.items())


def vars_in(answers: Iterable[tuple[Any, ...]]) -> dict[Var, None]:
    """The Vars that looks have answered: those whose place is known, so that another one there is seen."""
    found: dict[Var, None] = {}
    waiting: list[Any] = list(answers)
    while waiting:
        value = waiting.pop()
        if isinstance(value, Var):
            found[value] = None
        elif isinstance(value, tuple):
            waiting.extend(value)
    return found


def made_since(begin: int, known: Iterable[Var | None]) -> list[ReferenceType[Var]]:
    """Vars younger than node `begin` that somebody holds, except for the known ones."""
    expected = set(map(id, known))
    living = [v for v in gc.get_objects() if issubclass(type(v), Var) and id(v) not in expected]  # no proxy is asked
    return [ref(v) for v in living if v._node.id >= begin]


def outlived(newborn: Iterable[ReferenceType[Var]]) -> bool:
    """Whether one of these Vars lives on, other than in a circle that nobody reaches, such as a tape."""
    if all(v() is None for v in newborn):
        return False
    gc.collect()
    return any(v() is not None for v in newborn)
