"""Names: which one did you mean?

    jt.sofmax       jt offers no sofmax. Try: jt.softmax or jt.nn.Softmax or jt.nn.softmax.
    x.smu()         a Var offers no smu. Try: x.sum or jt.sum.

Python asks here only when it has looked everywhere else. (It takes a longer way to every attribute of a class or module
that has a `__getattr__`, though: about 10 ns.) Names that begin with `_` are asked for by machines (copy, pickle,
doctest, notebooks): they get a short answer at once.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jt_edu.errors import UnknownNameError

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
    private = name.startswith("_")
    found = [] if private else nearest(name, doors)
    call = next(iter(doors))
    error = UnknownNameError(
        f"{owner} offers no {name}",
        "",
        " or ".join(found) or ("" if private else f"dir({call}), which lists its names"),
    )
    error.name = name  # Python, which would guess as well, does not guess a second time
    return error


def door(
    call: str, names: Iterable[str], others: Doors | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package that offers `names`; the doors in `others` are looked at as well."""
    public = sorted(names)

    def missing(name: str) -> Any:
        raise unknown(call, name, {call: public, **(others or {})})

    return missing, public.copy


def suggest(kind: type, owner: str, call: str, others: Doors | None = None) -> None:
    """Let objects of a class tell which of their names is meant, when they are asked for one that they lack."""

    def missing(self: Any, name: str) -> Any:
        own = [n for n in dir(type(self)) if not n.startswith("_")]
        raise unknown(owner, name, {call: own, **(others or {})})

    setattr(kind, "__getattr__", missing)  # noqa: B010 - the type checker must not think that any name will do
