"""Ops table: which meta-operators is each function made of?

    print(jt.ops_table("matmul"))

    function   Elementwise   Reindex     ReindexReduce
    matmul     multiply      broadcast   matmul

Nobody wrote this table. The example in the docstring of each function is run, and while the function is at work, the
nodes that it adds to the graph are noted down. So a row tells what the arguments of the example lead to; with others,
a function may take another way. Nothing here knows what any function means.
"""

from __future__ import annotations

import contextlib
import doctest
import html
import inspect
import io
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

import numpy as np

from jt_edu.base.context import current, rank_context, trace
from jt_edu.base.errors import ArgumentError
from jt_edu.base.plural import plural
from jt_edu.base.trace import Built
from jt_edu.nn import functional
from jt_edu.variable.subgraph_cache import template

KINDS = {
    "elementwise": "Elementwise",
    "reindex": "Reindex",
    "reindex_reduce": "ReindexReduce",
    "code": "Code",
    "hostcall": "HostCall",
}
ROOMS = ("jt_edu.ops.", "jt_edu.variable.random", "jt_edu.nn.")  # where operators live
WIDE = 44  # letters of a cell of the text form
COPY = template(lambda: None).__code__  # of the call of any function that copies the graph it built before


@dataclass(frozen=True)
class Part:
    """One function: all its names, and the names of its operators by kind."""

    names: tuple[str, ...]
    made_of: dict[str, tuple[str, ...]]  # a key of KINDS -> names of operators, in the order in which they came
    called: bool  # whether the example calls the function at all

    def cell(self, kind: str) -> str:
        """The operators of one kind, as text."""
        return " ".join(self.made_of.get(kind, ()))


class OpsTable:
    """One row for each function. Printing it gives text; a notebook shows a table."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = tuple(parts)

    def using(self, kind: str) -> list[str]:
        """Names of the functions that use a kind: "elementwise", "reindex", "reindex_reduce", "code", "hostcall"."""
        if kind not in KINDS:
            raise ArgumentError(f"operators are of the kinds {', '.join(KINDS)}", repr(kind))
        return [p.names[0] for p in self.parts if p.made_of.get(kind)]

    @property
    def kinds(self) -> list[str]:
        """The kinds that some function of this table uses."""
        return [k for k in KINDS if self.using(k)]

    def __str__(self) -> str:
        rows = [["function", *(KINDS[k] for k in self.kinds)]]
        rows += [[", ".join(p.names), *(p.cell(k) for k in self.kinds)] for p in self.parts]
        short = [[c if len(c) <= WIDE else f"{c[: WIDE - 3]}..." for c in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(*short, strict=True)]
        lines = ["   ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in short]
        return "\n".join([*lines, "", self.summary])

    __repr__ = __str__

    @property
    def summary(self) -> str:
        """How many functions there are, and how many use each kind."""
        counts = ", ".join(f"{len(self.using(k))} use {name}" for k, name in KINDS.items())
        return f"{plural(len(self.parts), 'function')}: {counts}."

    def _repr_html_(self) -> str:
        cells = [[", ".join(p.names), *(p.cell(k) for k in self.kinds)] for p in self.parts]
        head = "".join(f"<th>{html.escape(c)}</th>" for c in ("function", *(KINDS[k] for k in self.kinds)))
        body = "".join(f"<tr>{''.join(f'<td>{html.escape(c)}</td>' for c in row)}</tr>" for row in cells)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{self.summary}</p>"


def ops_table(*wanted: Any) -> OpsTable:
    """Which meta-operators the public functions are made of, found out by running the example of each.

    Args:
        wanted: functions, or their names; all of them, if none is given, which takes some seconds.

    Returns:
        A table, to be printed or shown by a notebook.

    Raises:
        ArgumentError: a name that is no public function.

    Example:
        >>> print(ops_table("logsumexp", "transpose"))
        function    Elementwise             Reindex                    ReindexReduce
        logsumexp   ...
        transpose                           permute
        <BLANKLINE>
        2 functions: ...
    """
    known = operators()
    asked = [_find(w, known) for w in wanted] or list(known)
    with rank_context(), np.errstate(all="ignore"):
        current().flags.backend = "python"
        return OpsTable([dissect(function, known[function]) for function in asked])


def operators() -> dict[Callable[..., Any], tuple[str, ...]]:
    """Every public function that works on Vars, and all its names; its own one first."""
    jt = sys.modules["jt_edu"]
    found: dict[Callable[..., Any], list[str]] = {}
    for call, package in (("", jt), ("nn.functional.", functional)):
        for name in package.__all__:
            value = getattr(package, name)
            if inspect.isfunction(value) and f"{value.__module__}.".startswith(ROOMS):
                found.setdefault(value, []).append(f"{call}{name}")
    return {f: tuple(sorted(names, key=lambda n: n != f.__name__)) for f, names in found.items()}


def _find(wanted: Any, known: dict[Callable[..., Any], tuple[str, ...]]) -> Callable[..., Any]:
    for function, names in known.items():
        if wanted is function or wanted in names:
            return function
    raise ArgumentError("ops_table takes public functions of Vars, or their names", repr(wanted), "'softmax'")


def dissect(function: Callable[..., Any], names: tuple[str, ...]) -> Part:
    """Run the example of a function, and sort what was built while it was at work."""
    with trace() as t:
        work = Watch(function, t.built)
        for text in _examples(function):
            with work, _silence(), contextlib.suppress(Exception):
                exec(*text)  # noqa: S102 - examples of our own docstrings
    made: dict[str, dict[str, None]] = {}
    for node in work.built:
        if node.kind in KINDS:
            made.setdefault(node.kind, {})[node.op] = None
    return Part(names, {kind: tuple(ops) for kind, ops in made.items()}, work.calls > 0)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """What an example prints is not to be seen, and what it ends in is not to be shown."""
    shown, sys.displayhook = sys.displayhook, lambda value: None
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        sys.displayhook = shown


def _examples(function: Callable[..., Any]) -> Iterator[tuple[CodeType, dict[str, Any]]]:
    """The statements of an example, and the names they share: those of the function's own file, and all of jt's."""
    jt = sys.modules["jt_edu"]
    own = vars(sys.modules[function.__module__])
    space = {**{name: getattr(jt, name) for name in jt.__all__}, **own, "jt": jt, "np": np}
    for example in doctest.DocTestParser().get_examples(inspect.getdoc(function) or ""):
        yield compile(example.source, f"<example of {function.__name__}>", "single"), space


class Watch:
    """Notes down which nodes are built while one function is at work, whoever calls it and by which name."""

    def __init__(self, function: Callable[..., Any], built: list[Built]) -> None:
        self.identity = identity(function)
        self.all = built
        self.calls, self.depth, self.begin = 0, 0, 0
        self.built: list[Built] = []
        self.before: Any = None

    def __enter__(self) -> None:
        self.before = sys.getprofile()
        sys.setprofile(self._listen)

    def __exit__(self, *error: object) -> None:
        sys.setprofile(self.before)
        self.depth = 0

    def _listen(self, frame: FrameType, event: str, _: Any) -> None:
        if event not in ("call", "return") or not self._is_ours(frame):
            return
        if event == "call":
            self.calls, self.depth = self.calls + 1, self.depth + 1
            self.begin = len(self.all) if self.depth == 1 else self.begin
            return
        self.depth -= 1
        if self.depth == 0:
            self.built += self.all[self.begin :]

    def _is_ours(self, frame: FrameType) -> bool:
        code = frame.f_code
        return code in (self.identity[0], COPY) and identity_at(frame) == self.identity


def identity(function: Callable[..., Any]) -> tuple[Any, ...]:
    """What tells a function from others that were made of the same lines: its code, and what it holds."""
    inner = inspect.unwrap(function)
    return (inner.__code__, *(id(cell.cell_contents) for cell in inner.__closure__ or ()))


def identity_at(frame: FrameType) -> tuple[Any, ...]:
    """The identity of the function that is at work in a frame; a copied graph is the work of the one that built it."""
    if frame.f_code is COPY:
        return identity(frame.f_locals["function"])
    return (frame.f_code, *(id(frame.f_locals.get(name)) for name in frame.f_code.co_freevars))
