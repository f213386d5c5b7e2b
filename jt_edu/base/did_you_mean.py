"""Did you mean: which name is like one that is not there?

    jt.sofmax       jt offers no sofmax. Try: jt.softmax or jt.nn.Softmax or jt.nn.softmax.
    x.smu()         a Var offers no smu. Try: x.sum or jt.sum.
    x.add_(1)       a Var offers no add_. Try: x.assign(x.add(...)).

Some names of PyTorch and Jittor have no like here at all: `migration.py` says what is written in their place.

Python asks here only when it has looked everywhere else. (It takes a longer way to every attribute of a class or module
that has a `__getattr__`, though: about 10 ns. Layers look at themselves often, so a layer answers only the names of
`INSTEAD`, each by an attribute that says so.) Names that begin with `_` are asked for by machines (copy, pickle,
doctest, notebooks): they get a short answer at once.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pkgutil import resolve_name
from typing import Any

from jt_edu.base.errors import UnknownNameError
from jt_edu.base.migration import INSTEAD, WHY

MOST = 3  # suggestions
LIKE = 0.7  # how much of two names has to agree
Doors = Mapping[str, Iterable[str]]  # how one writes a package, or an object -> the names that it offers


def nearest(name: str, doors: Doors) -> list[str]:
    """The names that are most like `name`, capital letters and underscores aside; the best one first.

    Example:
        >>> nearest("sofmax", {"jt": ["sum", "softmax"], "nn": ["Softmax"]})
        ['jt.softmax', 'nn.Softmax']
        >>> nearest("batch_norm", {"jt": ["bench"], "nn": ["BatchNorm"]})
        ['nn.BatchNorm']
    """
    spelled: dict[str, list[str]] = {}
    for call, names in doors.items():
        for one in names:
            spelled.setdefault(_plain(one), []).append(f"{call}.{one}")
    wanted = _plain(name)
    turned = [k for k in spelled if sorted(k) == sorted(wanted)]  # the right letters in another order
    close = difflib.get_close_matches(wanted, spelled, MOST, LIKE)
    return [full for k in dict.fromkeys([*turned, *close]) for full in spelled[k]][:MOST]


def _plain(name: str) -> str:
    return name.lower().replace("_", "")


def unknown(owner: str, name: str, doors: Doors) -> UnknownNameError:
    """The error for `owner` having no `name`; the first of the doors is its own."""
    call = next(iter(doors))
    attempt = "" if name.startswith("_") else _try(call, name, doors)
    error = UnknownNameError(f"{owner} offers no {name}", WHY.get((call, name), ""), attempt)
    error.name = name  # Python, which would guess as well, does not guess a second time
    return error


def _try(call: str, name: str, doors: Doors) -> str:
    """What to write instead."""
    if (call, name) in INSTEAD:
        return INSTEAD[call, name]
    plain = name.removesuffix("_")
    if call == "x" and plain != name and plain in doors[call]:
        return f"x.assign(x.{plain}(...))"
    return " or ".join(nearest(name, doors)) or f"dir({call}), which lists its names"


def names_of(package: str, rooms: str) -> list[str]:
    """What rooms of a package say that they offer (`__all__`), for a door that takes them whole (`import *`).

    Example:
        >>> names_of("jt_edu.ops", "pool sets")[-3:]
        ['union1d', 'unique', 'unique_consecutive']
    """
    return [name for room in rooms.split() for name in sys.modules[f"{package}.{room}"].__all__]


def door(
    call: str, names: Iterable[str], others: Doors | None = None, upstairs: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package that offers `names`; the doors in `others` are looked at as well.

    What `upstairs` names stands on a floor above, at "package.module:name", and is imported when somebody asks for it.
    """
    later = upstairs or {}
    public = sorted(names)

    def missing(name: str) -> Any:
        if name in later:
            return resolve_name(later[name])
        raise unknown(call, name, {call: sorted({*public, *later}), **(others or {})})

    return missing, public.copy


def suggest(
    kind: type, owner: str, call: str, others: Doors | None = None, upstairs: Mapping[str, str] | None = None
) -> None:
    """Let objects of a class tell which of their names is meant, when they are asked for one that they lack.

    What `upstairs` names is a function on a floor above, as in `door`, whose first argument the object is.
    """

    def missing(self: Any, name: str) -> Any:
        if upstairs and name in upstairs:
            return partial(resolve_name(upstairs[name]), self)
        raise unknown(owner, name, {call: [n for n in dir(type(self)) if n[0] != "_"], **(others or {})})

    setattr(kind, "__getattr__", missing)  # noqa: B010 - the type checker must not think that any name will do


class _Lacking:
    """An attribute that is not there: whoever asks an object for it is told what to write instead."""

    def __init__(self, owner: str, call: str, name: str) -> None:
        self.asked = owner, name, {call: ()}

    def __get__(self, thing: Any, kind: type) -> Any:
        raise unknown(*self.asked)


def lack(kind: type, owner: str, call: str) -> None:
    """Let objects of a class answer the names that `INSTEAD` has for them, and no others."""
    for whose, name in INSTEAD:
        if whose == call and name not in vars(kind):
            setattr(kind, name, _Lacking(owner, call, name))
