"""Own: what a thing does by its class, whatever its learner keeps under the same name.

    self.members = nn.ModuleList(...)      is the learner's;  own(net).members() walks through the net all the same
    self.forward = Linear(2, 2)            a layer, as well;  doing(net, "forward") is what the class computes
    net.forward = faster                   a function there takes the place of the hook;  doing(net, "forward") is it

People write subclasses of modules, datasets, optimizers and others, and call their attributes what they like. So where
the framework asks a thing for something, it asks here; nothing here knows what things there are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar

Thing = TypeVar("Thing")
US = __name__.partition(".")[0]


class Extended:
    """What people write subclasses of. A `__getattr__` that falls back on a part works before the part is there.

    Example:
        >>> class Around(Extended):
        ...     def __init__(self, inner):
        ...         self.inner = inner
        ...     def __getattr__(self, name):
        ...         return getattr(self.inner, name)
        >>> import copy
        >>> copy.deepcopy(Around("word")).upper(), hasattr(Around.__new__(Around), "upper")
        ('WORD', False)
    """

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        missing = getattr(cls, "__getattr__", None)  # also that of a class which is none of ours
        if missing is not None and not hasattr(missing, "circles"):
            setattr(cls, "__getattr__", _without_circles(missing))  # noqa: B010 - see did_you_mean.suggest


def own(thing: Thing) -> Thing:
    """The thing with the methods that jt_edu gave its class: none of its learner's names stands before them.

    Example:
        >>> net = jt.nn.Linear(2, 1)
        >>> net.parameters = 3
        >>> len(own(net).parameters())
        2
    """
    return _Own(thing)  # type: ignore[return-value]


def doing(thing: Any, name: str) -> Callable[..., Any]:
    """What a thing does under the name of a hook: a function that was put there, or the method of its class.

    Example:
        >>> net = jt.nn.ReLU()
        >>> net.execute = jt.nn.Sigmoid()  # a layer that is called so
        >>> net.extra_repr = lambda: "a function in its place"
        >>> doing(net, "execute")(jt.array([-1.0])).item(), doing(net, "extra_repr")()
        (0.0, 'a function in its place')
    """
    held: Any = vars(thing).get(name)
    if callable(held) and not isinstance(held, (type, Extended)):
        return held  # type: ignore[no-any-return]
    method: Callable[..., Any] = _method(thing, name, type(thing).__mro__)
    return method


class _Own:
    """As `super()`, it begins further up: at the first class of ours."""

    __slots__ = ("thing",)

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __getattr__(self, name: str) -> Any:
        kinds = type(self.thing).__mro__
        return _method(self.thing, name, (k for k in kinds if k.__module__.partition(".")[0] == US))


def _method(thing: Any, name: str, kinds: Iterable[type]) -> Any:
    """The first method of this name; what else a class holds under it is a value of the learner's."""
    for kind in kinds:
        found = vars(kind).get(name)
        if callable(found) and hasattr(found, "__get__"):
            return found.__get__(thing, type(thing))
    raise AttributeError(f"{type(thing).__name__} has no method {name}")


_asked = threading.local()  # what is being looked for in this thread: (id of who looks, id of a thing, name)


def _without_circles(missing: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    """Who asks a part that is not there yet would ask for that part, and so on: copies begin with nothing."""

    @wraps(missing)
    def guarded(self: Any, name: str) -> Any:
        asked: set[tuple[int, int, str]] = vars(_asked).setdefault("now", set())
        key = id(missing), id(self), name
        if key in asked or (name.startswith("__") and name.endswith("__")):  # Python asks the class, and copy the thing
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        asked.add(key)
        try:
            return missing(self, name)
        finally:
            asked.discard(key)

    vars(guarded)["circles"] = False  # it has been here
    return guarded
