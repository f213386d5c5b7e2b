"""The public surface of operators, layers, optimisers and data: which callables, and which arguments may be left out?

Ranks, networks and benchmarks stand apart: their tests (`distributed`, `ranks`, `models`, `bench`) try theirs.

A function with several names is one callable. A class is asked for the arguments of its constructor, and of each
method that it does not share with a class before it.
"""

import inspect
from collections.abc import Iterator
from typing import Any

import jt_edu as jt
from jt_edu.data import transform
from jt_edu.zoo import data as zoo_data

ROOMS = {
    "jt": jt,
    "jt.nn": jt.nn,
    "jt.nn.functional": jt.nn.functional,
    "jt.nn.init": jt.nn.init,
    "jt.nn.utils": jt.nn.utils,
    "jt.linalg": jt.linalg,
    "jt.optim": jt.optim,
    "jt.lr_scheduler": jt.lr_scheduler,
    "jt.func": jt.func,
    "jt.autograd.functional": jt.autograd.functional,
    "jt.data": jt.data,
    "jt.sparse": jt.sparse,
    "jt.data.transform": transform,
    "jt.fft": jt.fft,
    "jt.amp": jt.amp,
    "jt.cuda": jt.cuda,
    "jt.zoo.data": zoo_data,
    "jt.config": jt.config,
}


def surface() -> dict[tuple[int, str], str]:
    """(the identity of a callable, the name of an argument with a default) -> how people write it."""
    found: dict[tuple[int, str], str] = {}
    for name, whose in callables():
        for parameter in arguments(whose):
            found.setdefault((identity(whose), parameter), f"{name}({parameter}=)")
    return found


def callables() -> Iterator[tuple[str, Any]]:
    """Everything public that can be called: functions first, then classes, the bases before what is made of them."""
    named = [(f"{room}.{name}", getattr(module, name)) for room, module in ROOMS.items() for name in module.__all__]
    yield from ((name, whose) for name, whose in named if callable(whose) and not inspect.isclass(whose))
    kinds = [(name, whose) for name, whose in named if inspect.isclass(whose)]
    for name, kind in sorted(kinds, key=lambda pair: len(pair[1].__mro__)):
        yield name, kind
        yield from ((f"{name}.{word}", method) for word, method in methods(kind))


def methods(kind: type) -> Iterator[tuple[str, Any]]:
    """The public methods of a class."""
    for name in dir(kind):
        method = getattr(kind, name, None)
        if not name.startswith("_") and inspect.isroutine(method) and _ours(method):
            yield name, method


def identity(whose: Any) -> int:
    """The same number for all names of a callable."""
    return id(getattr(whose, "__func__", whose))


def arguments(whose: Any) -> list[str]:
    """The arguments that may be left out, but for *these and **those, and each under one of its names."""
    try:
        parameters = inspect.signature(whose).parameters.values()
    except (TypeError, ValueError):
        return []
    others = getattr(whose.__init__ if inspect.isclass(whose) else whose, "other_words", {})
    return [p.name for p in parameters if p.default is not p.empty and p.name not in others]


def _ours(method: Any) -> bool:
    return (getattr(method, "__module__", None) or "").startswith("jt_edu")
