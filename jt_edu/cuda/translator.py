"""Translator: how does the text of a kernel become a generator, which stops where a thread waits?

    cuda.syncthreads()             yield thread.syncthreads()
    v = cuda.shfl_sync(m, v, 0)    v = yield thread.shfl_sync(m, v, 0)
    total = summed(x)              total = yield from summed(thread, x)        of a device function
    for i in range(n): ...         for i in range(n): thread.step(); ...       so that no loop is endless

The rest of the text stays as it is, at its own lines. `cuda` is found by what it is, not by its name: this package or
numba.cuda, as `cuda`, as `jt.cuda`, or a name that was imported from either.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import math
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FrameType, ModuleType
from typing import Any

from jt_edu.base.errors import KernelError
from jt_edu.cuda.kernel_names import NAMES, WAITING, KernelName
from jt_edu.cuda.math32 import Math

THREAD = "_thread"
MODULES = ("jt_edu.cuda", "numba.cuda")


@dataclass(frozen=True, eq=False)
class Place:
    """Where something happened: a function, a line that counts from 1, and the text of that line."""

    function: str
    line: int
    column: int
    text: str


@dataclass(frozen=True, eq=False)
class Program:
    """A kernel as a generator of waits, with its text."""

    name: str
    run: Callable[..., Any]
    lines: tuple[str, ...]
    places: tuple[Place, ...]  # of each instruction


_programs: dict[CodeType, Program] = {}


def is_translated(frame: FrameType) -> bool:
    """Whether a frame is that of a kernel or a device function."""
    return frame.f_code in _programs


def place_of(frame: FrameType) -> Place:
    """Where a frame of a translated function stands."""
    return _programs[frame.f_code].places[frame.f_lasti // 2]


def translate(function: Callable[..., Any], device: Callable[[Any], Program | None]) -> Program:
    """A generator function that does what a kernel does, for one thread.

    Args:
        function: the kernel; its text has to be there, as in a file or a cell.
        device: the program of a device function; None for anything else.

    Raises:
        KernelError: the text is nowhere to be found.
    """
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError) as error:
        found = f"{function!r}, whose text is not to be found"
        raise KernelError("the interpreter reads the text of a kernel", found, "a def in a file or a cell") from error
    tree = ast.parse(textwrap.dedent("".join(lines)))
    body = tree.body[0]
    if not isinstance(body, ast.FunctionDef):
        raise KernelError(
            "a kernel is written with def", f"line {first}: {lines[0].strip()}", "def kernel(x, out): ..."
        )
    space = {**vars(builtins), **function.__globals__, **_closure(function)}
    names: dict[str, Any] = {}
    changed = _Waits(space, _own_names(body), names, device).visit(body)
    ast.increment_lineno(tree, first - 1)
    code = compile(ast.fix_missing_locations(tree), inspect.getsourcefile(function) or "<kernel>", "exec")
    made = {**function.__globals__, **_closure(function), **names}
    exec(code, made)  # noqa: S102 - the learner's own function
    text = tuple(line.rstrip() for line in textwrap.dedent("".join(lines)).splitlines())
    program = Program(changed.name, made[changed.name], text, tuple(_places(made[changed.name].__code__, lines, first)))
    _programs[program.run.__code__] = program
    return program


def _places(code: CodeType, lines: list[str], first: int) -> Iterator[Place]:
    indent = len(lines[0]) - len(lines[0].lstrip())
    known: dict[tuple[int, int], Place] = {}  # one object for a place: an instruction has several slots
    for line, _, column, _ in code.co_positions():
        number = min(max((line or first) - first + 1, 1), len(lines))
        text = lines[number - 1]
        before = len(text) - len(text.lstrip()) - indent  # of what stands in the line before its first letter
        at = number, (column or 0) - before
        yield known.setdefault(at, Place(code.co_name, *at, text.strip()))


def _closure(function: Any) -> dict[str, Any]:
    return dict(inspect.getclosurevars(function).nonlocals)


def _own_names(body: ast.FunctionDef) -> frozenset[str]:
    """What the kernel binds itself: arguments, and names that it assigns to."""
    stored = {n.id for n in ast.walk(body) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return frozenset(stored | {a.arg for a in body.args.args})


class _Waits(ast.NodeTransformer):
    """Puts the thread in the place of `cuda`, and a yield where it waits."""

    def __init__(
        self, space: Mapping[str, Any], own: frozenset[str], names: dict[str, Any],
        device: Callable[[Any], Program | None],
    ) -> None:  # fmt: skip
        self.space, self.own, self.names, self.device = space, own, names, device

    def _value(self, node: ast.expr) -> Any:
        """What a name, or a chain of names, stands for before the kernel runs; None for what it makes itself."""
        if isinstance(node, ast.Name) and node.id not in self.own:
            return self.space.get(node.id)
        if isinstance(node, ast.Attribute):
            return getattr(self._value(node.value), node.attr, None)
        return None

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.decorator_list, node.returns = [], None
        node.args.args = [ast.arg(THREAD), *[ast.arg(a.arg) for a in node.args.args]]
        node.args.defaults = [self.visit(d) for d in node.args.defaults]
        node.body = [self.visit(line) for line in node.body]
        node.body.append(ast.parse("if False:\n    yield").body[0])  # a generator, also where it never waits
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._replaced(node) or node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self._replaced(node) or self.generic_visit(node)  # type: ignore[return-value]

    def _replaced(self, node: ast.Name | ast.Attribute) -> ast.expr | None:
        if not isinstance(node.ctx, ast.Load):
            return None
        value = self._value(node)
        if isinstance(value, ModuleType) and value.__name__ in MODULES:
            return ast.Name(THREAD, ast.Load())
        if isinstance(value, KernelName) and isinstance(node, ast.Name):
            made: ast.expr = ast.Name(THREAD, ast.Load())
            for part in value.name.split("."):
                made = ast.Attribute(made, part, ast.Load())
            return made
        if value is math:
            return self._named("_math", Math())
        return None

    def visit_Call(self, node: ast.Call) -> ast.expr:
        program = self.device(self._value(node.func))
        if program is not None:
            self.generic_visit(node)
            function = self._named(f"_device_{program.name}", program.run)
            call = ast.copy_location(
                ast.Call(function, [ast.Name(THREAD, ast.Load()), *node.args], node.keywords), node
            )
            return ast.copy_location(ast.YieldFrom(call), node)
        self.generic_visit(node)
        func = node.func
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and func.value.id == THREAD:
            if func.attr not in NAMES:
                asked = f"the interpreter does not know cuda.{func.attr}"
                raise KernelError(asked, f"line {node.lineno} of the kernel", ", ".join(NAMES))
            if func.attr in WAITING:
                return ast.copy_location(ast.Yield(node), node)
        return node

    def _named(self, name: str, value: Any) -> ast.expr:
        self.names[name] = value
        return ast.Name(name, ast.Load())

    def _loop(self, node: Any) -> Any:
        self.generic_visit(node)
        step = ast.parse(f"{THREAD}.step()").body[0]
        for part in ast.walk(step):
            ast.copy_location(part, node)
            part.end_lineno = node.lineno  # type: ignore[attr-defined]  # a loop ends far below
        node.body.insert(0, step)
        return node

    visit_For = visit_While = _loop  # noqa: N815 - ast's names
