"""Autocast: in which dtype does a function compute, inside a region that lets a table decide?

    with jt.amp.autocast(dtype="bfloat16"):      a Region, at the Moment of this thread
        h = conv2d(x, w)                         castable, and in the list `lower`: x and w become bfloat16 first
        loss = mse_loss(h, y)                    in the list `float32`: h and y become float32 first

A function is marked as `castable` where it stands; in which list it is, a table says upstairs (`amp/lists.py`). Inside
of such a function there is no region, so nothing is cast twice; nor is there one where a gradient is built. A cast is a
node as any other: it fuses, and its gradient casts back. float64, complex and whole numbers stay what they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, reduce, wraps
from inspect import signature
from typing import Any, TypeVar, overload
from weakref import WeakKeyDictionary

import numpy as np

from jt_edu.base.context import Context, current
from jt_edu.base.dtypes import DType, float32, promote
from jt_edu.base.errors import DtypeError
from jt_edu.ir.meta_ops import SOURCE
from jt_edu.ir.node import Line, Node, callers_line, describe_line
from jt_edu.runtime.devices import ABROAD, CPU, chosen, nearest
from jt_edu.variable.autograd import LEAF
from jt_edu.variable.pytree import replaced, vars_in
from jt_edu.variable.var import Var, as_var

Function = TypeVar("Function", bound=Callable[..., Any])
CASTABLE: dict[str, Callable[..., Any]] = {}  # name in the lists -> the function; filled when its module is imported


@dataclass(frozen=True)
class Cast:
    """What a region decided for one call of a function; an open trace keeps it in `t.casts`."""

    function: str
    rule: str  # the list that it is in: "lower", "float32" or "widest"
    before: tuple[str, ...]  # dtypes of the floats that it was given
    to: str  # in which dtype it computed
    line: Line = field(repr=False)  # the learner's

    @property
    def where(self) -> str:
        """The learner's line, such as `train.py:12: y = a @ b`."""
        return describe_line(self.line)

    def __str__(self) -> str:
        return f"{self.function}: {', '.join(self.before)} -> {self.to}, by the list {self.rule!r}, {self.where}"


DECIDED: WeakKeyDictionary[Node, Cast] = WeakKeyDictionary()  # a cast that a region made -> why; for jt.explain


@dataclass(frozen=True, eq=False)
class Lists:
    """Which function computes in which dtype, by name; a function in no list takes its arguments as they are.

    Args:
        lower: in the dtype of the region.
        float32: in float32.
        widest: in the widest dtype among its arguments.
        banned: refused where an argument is a half; name -> what to do instead.

    Example:
        >>> Lists(lower=frozenset({"matmul"})).of("matmul"), Lists().of("matmul")
        ('lower', '')
    """

    lower: frozenset[str] = frozenset()
    float32: frozenset[str] = frozenset()
    widest: frozenset[str] = frozenset()
    banned: Mapping[str, str] = field(default_factory=dict)

    def of(self, function: str) -> str:
        """The name of the list that a function is in, or ""."""
        return next((rule for rule in ("lower", "float32", "widest", "banned") if function in getattr(self, rule)), "")


class Region:
    """What holds inside `autocast`: the lower dtype, the lists, and the casts of parameters that were made already.

    Args:
        dtype: the lower one.
        lists: which function computes in which dtype.
        outer: a region around this one, whose casts serve here too.
        keeps: False casts a parameter anew each time that it is used.
        device: where it holds, "" everywhere; what is computed elsewhere is let alone.
        others: the regions that hold on other devices.

    Example:
        >>> region = Region(jt.bfloat16, Lists(lower=frozenset({"twice"})))
        >>> region.run("twice", lambda x: x * 2, (ones(2),), {}).dtype
        jt.bfloat16
    """

    def __init__(
        self, dtype: DType, lists: Lists, outer: Region | None = None, keeps: bool = True, device: str = "",
        others: Sequence[Region] = (),
    ) -> None:  # fmt: skip
        self.dtype, self.lists, self.keeps, self.device, self.others = dtype, lists, keeps, device, others
        self.key: Any = (dtype, lists, device, *[r.key[:3] for r in others])  # graphs that are built alike share it
        self.decided = 0  # how often
        self.kept: dict[Any, Node] = outer.kept if outer is not None and keeps else {}

    def beside(self, others: Sequence[Region]) -> Region:
        """The same region, while others hold on other devices."""
        return Region(self.dtype, self.lists, self, self.keeps, self.device, others)

    def on(self, device: str) -> Region | None:
        """What holds on a device: this region, or one beside it."""
        return next((r for r in (self, *self.others) if r.device in ("", device)), None)

    def run(self, name: str, function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Call a castable function, with Vars as its list says. One with `out=` is told a dtype, and is let alone."""
        moment = current().threads.now
        before, moment.autocast = moment.autocast, None
        try:
            self.decided += 1
            if named.get("out") is None:
                name = _spelled(name, function, args, named)
                for region in (self, *self.others):
                    if rule := region.lists.of(name):
                        args, named = region.by_rule(name, rule, args, named)
            return function(*args, **named)
        finally:
            moment.autocast = before

    def by_rule(
        self, name: str, rule: str, args: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What a function is given, as a list with this name would have it."""
        given = tuple([as_var(a) if isinstance(a, np.ndarray) else a for a in args]), named
        found = vars_in(given)
        here = self._here(found) if ABROAD and self.device else [may_be_cast(v) for v in found]
        floats = [v.dtype for v, is_here in zip(found, here, strict=True) if is_here]
        if rule == "banned":
            if any(dtype.is_half for dtype in floats):
                raise DtypeError(f"{name} is not safe in halves", f"dtypes {floats}", self.lists.banned[name])
            return args, named
        if not floats:
            return args, named
        to = {"lower": self.dtype, "float32": float32}.get(rule) or reduce(promote, floats, self.dtype)
        decision = Cast(name, rule, tuple(map(str, floats)), str(to), callers_line(3))
        for t in current().traces:
            t.casts.append(decision)
        new = [self._cast(v, to) if is_here else v for v, is_here in zip(found, here, strict=True)]
        for v, cast in zip(found, new, strict=True):
            if cast.node is not v.node:
                DECIDED.setdefault(cast.node, decision)
        answer: tuple[tuple[Any, ...], dict[str, Any]] = replaced(given, new)
        return answer

    def _here(self, found: Sequence[Var]) -> list[bool]:
        """Which may be cast: what is computed where the region holds, and beside it what is made of numbers alone."""
        all_on = chosen(current())
        places = [all_on.device if all_on else nearest(v.node) for v in found]
        wherever = "" if self.device in (set(places) - {""} or {CPU}) else self.device
        return [may_be_cast(v) and at in (self.device, wherever) for v, at in zip(found, places, strict=True)]

    def _cast(self, v: Var, to: DType) -> Var:
        """`v` in another dtype. A leaf, such as a parameter, is cast once in a region (and once in a captured step)."""
        node, moment = v.node, current().threads.now
        if node.dtype is to or not self.keeps or not (node.op is SOURCE or node.tape is LEAF):
            return v.cast(to)
        key = node, to, node.tracked and not moment.no_grad, moment.capture
        if key not in self.kept:
            self.kept[key] = v.cast(to).node
        return Var._of(self.kept[key])


def _spelled(name: str, function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> str:
    """The name in the lists, where it depends on an argument."""
    if "{" not in name:
        return name
    given = signature(function).bind(*args, **named)
    given.apply_defaults()
    return name.format(**given.arguments)


def may_be_cast(v: Var) -> bool:
    """float64 was asked for by name, and stays; so do complex and whole numbers.

    Example:
        >>> may_be_cast(ones(1)), may_be_cast(ones(1, dtype="float64"))
        (True, False)
    """
    return v.dtype.kind == "f" and v.dtype.size < 8


@overload
def castable(function: Function) -> Function: ...
@overload
def castable(function: Function, *, name: str) -> Function: ...
@overload
def castable(*, name: str) -> Callable[[Function], Function]: ...
def castable(function: Any = None, *, name: str = "") -> Any:
    """Mark a function as a point where a region decides on a dtype. Also a decorator, with or without brackets.

    A function that looks for a region itself (a `template`, an element function) is told its name; others are wrapped.

    Args:
        function: what is marked.
        name: in the lists; by default its own, behind that of its package if that is `linalg` or `fft`. `{word}`
            stands for an argument, as in conv{ways}d.

    Example:
        >>> thrice = castable(lambda x: x * 3, name="thrice")
        >>> thrice(ones(1)).dtype
        jt.float32
    """
    if function is None:
        return partial(castable, name=name)
    room = function.__module__.split(".")[1]
    mine = name or (f"{room}_" if room in ("linalg", "fft") else "") + function.__name__
    asks: Any = getattr(function, "asks", None)
    if asks is function:
        asks.casts, CASTABLE[mine] = mine, asks
        return asks

    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        region = current().threads.now.autocast
        return function(*args, **named) if region is None else region.run(mine, function, args, named)

    call.casts, CASTABLE[mine] = mine, call  # type: ignore[attr-defined]
    return call


def asks_itself(function: Callable[..., Any]) -> None:
    """Say of a function that it looks for a region itself, if it has a name in `casts`: that saves a call.

    Example:
        >>> def twice(x): return x * 2
        >>> asks_itself(twice)
        >>> castable(twice, name="twice") is twice, twice.casts
        (True, 'twice')
    """
    function.casts, function.asks = "", function  # type: ignore[attr-defined]  # wrappers copy it, and do not ask


def in_force(context: Context) -> Any:
    """What two graphs must have in common that were built in regions; None outside of them.

    Example:
        >>> in_force(current()) is None
        True
    """
    region = context.threads.now.autocast
    return None if region is None else region.key


@contextmanager
def inside(region: Region | None) -> Iterator[None]:
    """In this region, or in none.

    Example:
        >>> with inside(Region(jt.bfloat16, Lists())):
        ...     in_force(current())[0]
        jt.bfloat16
    """
    moment = current().threads.now
    before, moment.autocast = moment.autocast, region
    try:
        yield
    finally:
        moment.autocast = before
