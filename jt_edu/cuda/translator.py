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
from types import CellType, CodeType, FrameType, ModuleType
from typing import Any

import numpy as np

from jt_edu.base.errors import KernelError
from jt_edu.cuda.kernel_names import NAMES, WAITING, KernelName, like
from jt_edu.cuda.math32 import Math

THREAD, PLACES = "_thread", "places of a kernel"  # the second one is no name of Python: no module has it
MODULES = ("jt_edu.cuda", "numba.cuda")


@dataclass(frozen=True, eq=False)
class Place:
    """Where something happened: a function, a line that counts from 1, and the text of that line."""

    function: str
    line: int
    column: int
    text: str
    target: str = ""  # the name to which is assigned what begins here


@dataclass(frozen=True, eq=False)
class Program:
    """A kernel as a generator of waits, with its text."""

    name: str
    run: Callable[..., Any]
    lines: tuple[str, ...]


def place_of(frame: FrameType | None) -> Place:
    """Where the kernel stands from which a frame was reached."""
    while frame is not None:
        try:  # mostly it is the first one
            place: Place = frame.f_globals[PLACES][frame.f_lasti // 2]
        except KeyError:
            frame = frame.f_back
        else:
            return place
    raise KernelError(
        "an array of a kernel is there while it runs",
        "a use of one afterwards",
        "the array that was given to the launch",
    )


def is_translated(frame: FrameType) -> bool:
    """Whether a frame is that of a kernel or a device function."""
    return PLACES in frame.f_globals


def translate(function: Callable[..., Any], device: Callable[[Any], Callable[..., Any] | None]) -> Program:
    """A generator function that does what a kernel does, for one thread.

    Args:
        function: the kernel; its text has to be there, as in a file or a cell.
        device: what runs a device function; None for anything else.

    Raises:
        KernelError: the text is nowhere to be found, or has something in it that no GPU does.
    """
    function = inspect.unwrap(function)
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError) as error:
        found = f"{function!r}, whose text is not to be found"
        raise KernelError("the interpreter reads the text of a kernel", found, "a def in a file or a cell") from error
    tree, body = parsed(lines, first)
    given = {**function.__globals__, **closure(function)}
    names: dict[str, Any] = {}
    targets = dict(_targets(body))
    try:
        changed = _Waits({**vars(builtins), **given}, _own_names(body), names, device, first).visit(body)
    except KernelError as error:
        raise error.with_traceback(None) from None  # its frames are those of the module ast
    code = compile(ast.fix_missing_locations(tree), inspect.getsourcefile(function) or "<kernel>", "exec")
    made = {**given, **names}
    exec(code, made)  # noqa: S102 - the learner's own function
    run = made[changed.name]
    run.__defaults__ = function.__defaults__
    made[PLACES] = tuple(_places(run.__code__, lines, first, targets))
    text = tuple(line.rstrip() for line in textwrap.dedent("".join(lines)).splitlines())
    return Program(changed.name, run, text)


def parsed(lines: list[str], first: int) -> tuple[ast.Module, ast.FunctionDef]:
    """The tree of a def that may stand further in, with the lines of its file."""
    inner = lines[0][:1].isspace()
    try:
        tree = ast.parse("if True:\n" * inner + "".join(lines))
        ast.increment_lineno(tree, first - 1 - inner)
        if isinstance(tree.body[0], ast.If) and inner:
            tree.body = tree.body[0].body
    except SyntaxError:  # a part of a larger statement, as a lambda may be
        tree = ast.parse("None")
    body = tree.body[0]
    if not isinstance(body, ast.FunctionDef):
        found = f"line {first}: {lines[0].strip()}"
        raise KernelError("a kernel is written with def", found, "def kernel(x, out): ...")
    return tree, body


def _targets(body: ast.FunctionDef) -> Iterator[tuple[tuple[int, int], str]]:
    """Where what is assigned begins, and the name to which it is."""
    pairs: list[tuple[ast.expr, ast.expr]] = []
    for node in ast.walk(body):
        match node:
            case ast.Assign([ast.Tuple(names)], ast.Tuple(values)):
                pairs += zip(names, values, strict=False)
            case ast.Assign([target, *_], value) | ast.AnnAssign(target, _, ast.expr() as value):
                pairs.append((target, value))
            case ast.NamedExpr(target, value):
                pairs.append((target, value))
    return (((value.lineno, value.col_offset), ast.unparse(target)) for target, value in pairs)


def _places(code: CodeType, lines: list[str], first: int, targets: Mapping[tuple[int, int], str]) -> Iterator[Place]:
    known: dict[tuple[int, int], Place] = {}  # one object for a place: an instruction has several slots
    for line, _, column, _ in code.co_positions():
        number = min(max((line or first) - first + 1, 1), len(lines))
        text = lines[number - 1]
        at = number, (column or 0) - (len(text) - len(text.lstrip()))
        target = targets.get((line or 0, column or 0), "")
        yield known.setdefault(at, Place(code.co_name, *at, text.strip(), target))


def closure(function: Any) -> dict[str, Any]:
    """The values of the names that a function has from the one around it."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells if cell != CellType()}


def _own_names(body: ast.FunctionDef) -> frozenset[str]:
    """What the kernel binds itself: arguments, and names that it assigns to."""
    stored = {n.id for n in ast.walk(body) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return frozenset(stored | {a.arg for a in body.args.args})


NO_GPU: dict[type[ast.AST], tuple[str, str]] = {  # what numba.cuda does not compile either
    **dict.fromkeys((ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp), ("comprehension", "a loop")),
    **dict.fromkeys((ast.FunctionDef, ast.Lambda), ("function in it", "a device function beside it")),
    **dict.fromkeys((ast.Yield, ast.YieldFrom, ast.Await), ("yield", "a loop")),
    **dict.fromkeys((ast.Try, ast.TryStar, ast.With), ("try and with", "an `if` that asks first")),
    **dict.fromkeys((ast.Global, ast.Nonlocal), ("global names that it changes", "an array")),
    **dict.fromkeys((ast.Import, ast.ImportFrom), ("import", "an import above it")),
    ast.ClassDef: ("class", "a class beside it"),
}  # fmt: skip


class _Waits(ast.NodeTransformer):
    """Puts the thread in the place of `cuda`, and a yield where it waits."""

    def __init__(
        self, space: Mapping[str, Any], own: frozenset[str], names: dict[str, Any],
        device: Callable[[Any], Callable[..., Any] | None], first: int,
    ) -> None:  # fmt: skip
        self.space, self.own, self.names, self.device, self.first = space, own, names, device, first
        self.called: set[int] = set()  # nodes, by identity
        self.inside = False

    def visit(self, node: ast.AST) -> Any:
        """Refuse what no GPU does; the kernel itself is the first node."""
        refused = NO_GPU.get(type(node)) if self.inside else None
        if refused is not None:
            raise self._wrong(node, f"a kernel has no {refused[0]}", refused[1])
        return super().visit(node)

    def _wrong(self, node: Any, asked: str, attempt: str) -> KernelError:
        return KernelError(asked, f"line {node.lineno - self.first + 1} of the kernel", attempt)

    def _value(self, node: ast.expr) -> Any:
        """What a name, or a chain of names, stands for before the kernel runs; None for what it makes itself."""
        if isinstance(node, ast.Name) and node.id not in self.own:
            return self.space.get(node.id)
        if isinstance(node, ast.Attribute):
            try:
                return getattr(self._value(node.value), node.attr, None)
            except Exception:  # noqa: BLE001 - of a property; it will be asked again, or not
                return None
        return None

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        more = node.args.vararg or node.args.kwarg or [*node.args.posonlyargs, *node.args.kwonlyargs]
        if more:
            raise self._wrong(node, "a kernel takes plain arguments", "names alone, without * and /")
        self.inside = True
        node.decorator_list, node.returns = [], None
        node.args.args = [ast.arg(THREAD), *[ast.arg(a.arg) for a in node.args.args]]
        node.args.defaults = [ast.Constant(None) for _ in node.args.defaults]  # those of the function itself come later
        node.body = [self.visit(line) for line in node.body]
        node.body.append(ast.parse("if False:\n    yield").body[0])  # a generator, also where it never waits
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._called_at_once(node, self._replaced(node) or node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return self._called_at_once(node, self._replaced(node) or self.generic_visit(node))

    def _called_at_once(self, node: ast.expr, made: Any) -> ast.expr:
        """A barrier under another name would be none."""
        name = _of_thread(made)
        if name and (name not in NAMES or not isinstance(made.ctx, ast.Load)):
            raise self._wrong(node, f"the interpreter does not know cuda.{name}", like(name))
        if name in WAITING and id(node) not in self.called:
            raise self._wrong(node, f"cuda.{name} is called where it stands", f"cuda.{name}(...)")
        found: ast.expr = made
        return found

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
        if isinstance(value, np.ndarray):  # as numba has it: a constant
            return self._named(f"_constant{len(self.names)}", _frozen(value))
        return None

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.called.add(id(node.func))
        run = self.device(self._value(node.func))
        self.generic_visit(node)
        if run is not None:
            function = self._named(f"_device{len(self.names)}", run)
            call = ast.Call(function, [ast.Name(THREAD, ast.Load()), *node.args], node.keywords)
            return ast.copy_location(ast.YieldFrom(ast.copy_location(call, node)), node)
        return ast.copy_location(ast.Yield(node), node) if _of_thread(node.func) in WAITING else node

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


def _of_thread(node: Any) -> str:
    """The name in `cuda.name`, once the thread stands in the place of cuda."""
    is_one = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == THREAD
    return node.attr if is_one else ""


def _frozen(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    view = array.view()
    view.setflags(write=False)
    return view
