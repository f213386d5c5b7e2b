"""Statement: what is a run of it, where nothing runs before somebody asks?

    stmt     y = a * b            builds two nodes in a microsecond, and computes nothing
    run      y = a * b            for _ in range(number):
             compute(y)               a run; all of it between two looks at the clock

A run is the statement *and* the kernels of everything that it left to be done:

    its value            of its last expression: a Var, or Vars inside lists, tuples and dicts
    what it binds        `y = ...`, `y += ...`, and Vars inside lists and so on
    what it changes      Vars, and Vars inside lists, modules and optimizers, that it calls by a name: `out` in
                         `jt.add(x, y, out=out)`, the running mean of `net` in `net(x)`; what a function changes
                         that is not mentioned is not seen, so let the function return it
    what is due          messages to other ranks, which any run sends

So a value that is thrown away at once is computed all the same, as it would be in a framework that runs each operator
when it is written; what is neither its value nor bound to a name (`a * b; None`, `found.append(a * b)`) is not. Vars
that setup made are computed before the clock starts. To look for what is left takes up to a microsecond, and counts.

Nothing here knows statistics.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from itertools import count, repeat
from textwrap import dedent
from types import CodeType, FunctionType
from typing import Any

from jt_edu.base.context import current
from jt_edu.base.errors import ArgumentError
from jt_edu.base.own import own
from jt_edu.base.source_text import remember
from jt_edu.nn.module import Module
from jt_edu.optim.base import Optimizer
from jt_edu.runtime.execute import run
from jt_edu.variable.pytree import vars_in
from jt_edu.variable.var import Var

Code = str | Callable[[], Any]
LOOP = """def block(_runs, _clock, _compute):
    _begin = _clock()
    for _ in _runs:
        _value = None
        _compute(_value)
    return _clock() - _begin
"""
_numbers = count(1)


class Statement:
    """A statement that can be repeated between two looks at a clock."""

    def __init__(self, stmt: Code, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.call = stmt if callable(stmt) else None
        self.code: CodeType | None = None
        self.names: tuple[str, ...] = ()  # in the statement
        self.bound: tuple[str, ...] = ()  # by the statement
        if not callable(stmt):
            self.code, self.names, self.bound = _looped(dedent(stmt))

    def prepared(self, setup: Code, known: dict[str, Any]) -> Callable[[int], float]:
        """Run the setup in names of its own; the answer runs the statement so many times, and tells the seconds."""
        names = dict(known)
        execute(setup, names, "setup")
        if self.call is not None:
            return _block_of(self.call, self.clock)
        mentioned = [v for name in self.names for v in _vars_of(names.get(name))]
        compute(mentioned)
        block = FunctionType(self.code, names) if self.code else None

        def computed(value: Any) -> None:
            left = [v for v in mentioned if v._node.data is None]
            compute([*left, value, *map(names.get, self.bound)] if left or self.bound else value)

        return lambda number: float(block(repeat(None, number), self.clock, computed)) if block else 0.0


def execute(code: Code, names: dict[str, Any], what: str) -> None:
    """Run a text among these names, or call a function."""
    if callable(code):
        code()
    else:
        text = dedent(code).strip("\n")
        exec(_compiled(ast_of(text, what), text, what), names)  # noqa: S102  as timeit does: it is the caller's own


def ast_of(text: str, what: str) -> ast.Module:
    """The text, read as Python."""
    try:
        compile(text, f"<{what}>", "exec")  # ast.parse alone lets a `return` pass
        return ast.parse(text)
    except SyntaxError as error:
        raise ArgumentError(
            f"Timer runs its {what} as Python",
            f"{error.msg} in {(error.text or text).strip()!r}",
            "code, or a function",
        ) from None


def compute(value: Any) -> None:
    """Run every Var in a value that has no numbers yet, and what is due."""
    pending = [] if value is None else [v.node for v in vars_in(value) if v._node.data is None]
    pending += current().due
    if pending:
        run(pending)


def _block_of(call: Callable[[], Any], clock: Callable[[], float]) -> Callable[[int], float]:
    """Looking costs some 50 ns here: benches compare calls of a microsecond."""
    inert: set[type] = set()  # kinds of answers that hold no Vars

    def block(number: int) -> float:
        begin = clock()
        for _ in repeat(None, number):
            value = call()
            kind = type(value)
            if kind is Var:
                if value._node.data is None:
                    run((value._node,))
            elif kind not in inert:
                compute(value)
                if not issubclass(kind, (Var, list, tuple, dict)):
                    inert.add(kind)
        compute(None)
        return clock() - begin

    return block


def _looped(text: str) -> tuple[CodeType, tuple[str, ...], tuple[str, ...]]:
    """The statement inside a loop between two looks at the clock, the names in it, and those that it binds."""
    tree = ast_of(text.strip("\n"), "stmt")
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    bound = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    frame = ast.parse(LOOP)
    function = frame.body[0]
    loop = next(node for node in ast.walk(function) if isinstance(node, ast.For))
    empty, ending = loop.body
    body: list[ast.stmt] = tree.body or [ast.Pass()]
    if isinstance(body[-1], ast.Expr):
        last = ast.Assign([ast.Name("_value", ast.Store())], body[-1].value)
        loop.body = [*body[:-1], ast.copy_location(last, body[-1]), ending]
    else:
        loop.body = [empty, *body, ending]
    if bound and isinstance(function, ast.FunctionDef):
        function.body.insert(0, ast.Global(sorted(bound)))  # so that what is bound can be found after each run
    code = _compiled(ast.fix_missing_locations(frame), text, "stmt")
    block = next(part for part in code.co_consts if isinstance(part, CodeType))
    return block, tuple(sorted(names)), tuple(sorted(bound))


def _compiled(tree: ast.Module, text: str, what: str) -> CodeType:
    """Code whose errors show the lines of the text."""
    return compile(tree, remember(text, f"<{what} {next(_numbers)}>"), "exec")


def _vars_of(value: Any) -> list[Var]:
    """The Vars that a value is made of, and those that a module or an optimizer changes."""
    if isinstance(value, Module):
        return [*own(value).parameters(), *own(value).buffers()]
    if isinstance(value, Optimizer):
        return vars_in([[group["params"] for group in value.param_groups], value.state])
    return vars_in(value)
