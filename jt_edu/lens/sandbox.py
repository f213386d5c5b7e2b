"""Sandbox: how does a learner's text run so that it cannot harm the notebook?

    Checked(source, reads)     notes which line it does, and where every loop is: tells exactly what went wrong; slow
    guarded(source, reads)     counts the rounds of its loops, and nothing else: runs instead of the original

Both check every index, and refuse to write into an input. So a text that was right on the arrays of its trial, and is
wrong on others, raises an error: it does not read or write elsewhere, nor go round forever. Functions that stand beside
the kernel in its text are checked as it is. What `tile` or `load` of a convolution touch is not: where depends on
lengths alone, so whoever installs such a text does so for lengths that were tried.

The price of `guarded`, measured in CPU time against the plain text on arrays in the cache: a * b + c takes 1.0 to 1.3
times as long, softmax and a matrix product in three loops 3 times. Nothing here knows plans, graphs or trials.
"""

# mypy: disable-error-code="no-untyped-call, call-overload"
# numba is typed in part

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np
from numba import extending

from jt_edu.backends import numba_cpu, numba_pipeline
from jt_edu.base.errors import KernelError
from jt_edu.codegen.emit_python import Source

WRITES = "Cannot modify readonly array"  # what numba says
Call = Callable[..., None]


class Refused(Exception):  # noqa: N818 - it is an answer
    """What is wrong with the text, and in which of its lines."""

    def __init__(self, words: str, line: int | None = None) -> None:
        super().__init__(words)
        self.line = line


def guarded(source: Source, reads: Sequence[int]) -> Callable[..., None]:
    """The text, to be called with its arguments and then the most rounds that its loops may go.

    KernelError names the line. `reads` are the positions of the parameters that are inputs.
    """
    tree, kernel = _parsed(source)
    _hand_on(tree, kernel, "most_")
    _count_rounds(tree)
    with ThreadPoolExecutor(1) as apart:  # Ctrl-C reaches the main thread only, and is lost while LLVM compiles
        try:
            compiled = apart.submit(_compiled, source, tree, reads, [numba.int64]).result()
        except Refused as refused:
            raise KernelError("an edited kernel compiles with checks", f"line {refused.line or 1}: {refused}") from None

    def call(lo: int, hi: int, *arguments: Any) -> None:
        try:
            compiled(lo, hi, *arguments)
        except RuntimeError as error:
            if error.args[:1] != ("rounds_",):
                raise
            found = f"more than {arguments[-1]:,} rounds of its loops, at line {error.args[1]}"
            raise KernelError("an edited kernel ends", found, "jt.revert_kernels()") from None
        except IndexError:
            found = _what_failed(source, reads, (lo, hi, *arguments))
            raise KernelError("an edited kernel stays inside its arrays", found, "jt.revert_kernels()") from None

    return call


def _hand_on(tree: ast.Module, kernel: ast.FunctionDef, name: str) -> None:
    """Add a parameter to the kernel, and to the functions beside it, which hand it to each other."""
    functions = [s for s in tree.body if isinstance(s, ast.FunctionDef)]
    others = {f.name for f in functions if f is not kernel}
    for call in [node for node in ast.walk(tree) if isinstance(node, ast.Call)]:
        if isinstance(call.func, ast.Name) and call.func.id in others:
            handed = ast.copy_location(ast.Name(name, ast.Load()), call)
            call.keywords.append(ast.copy_location(ast.keyword(name, handed), call))
    for function in functions:
        function.args.args.append(ast.arg(name))


def _count_rounds(tree: ast.Module) -> None:
    for function in [s for s in tree.body if isinstance(s, ast.FunctionDef)]:
        for loop in [node for node in ast.walk(function) if isinstance(node, (ast.For, ast.While))]:
            text = f"rounds_ += 1\nif rounds_ > most_:\n    raise RuntimeError('rounds_', {loop.lineno})"
            loop.body = [*_code(text, loop), *loop.body]
        function.body = [*_code("rounds_ = 0", function.body[0]), *function.body]


def _what_failed(source: Source, reads: Sequence[int], given: tuple[Any, ...]) -> str:
    """The index and its line: the same once more, with notes; what was half done is done again."""
    checked = Checked(source, reads)
    mark = checked.notes(given[-1])
    try:
        checked.call(*given[:-1], mark)
    except Exception as error:  # noqa: BLE001 - it is told
        return f"line {mark[0]}: {checked.complaint(error, mark)}"
    return "an index that is out of bounds"


class Checked:
    """A text that is compiled so that a wrong index is an error, and an endless loop ends; it notes where it is."""

    def __init__(self, source: Source, reads: Sequence[int]) -> None:
        self.source = source
        tree, kernel = _parsed(source)
        marker = _Marker()
        _hand_on(tree, kernel, "mark_")
        for function in [s for s in tree.body if isinstance(s, ast.FunctionDef)]:
            marker.mark(function)
        self.counters = marker.counters
        self.call: Call = _compiled(source, tree, reads, [numba.int64[::1]])

    def notes(self, limit: int) -> Any:
        """The array that goes last: [line, rounds, most rounds, counters ...]."""
        mark = np.zeros(3 + len(self.counters), np.int64)
        mark[2] = limit
        return mark

    def complaint(self, error: Exception, mark: Any) -> str:
        """The error, and the counters of the loops around its line."""
        return f"{type(error).__name__}: {error}{self.where(mark)}"

    def where(self, mark: Any) -> str:
        """The counters of the loops around the line that was done last."""
        line = int(mark[0])
        known = {n: int(mark[3 + k]) for k, (n, first, last) in enumerate(self.counters) if first <= line <= last}
        where = ", ".join(f"{name} = {number}" for name, number in known.items())
        return f" (with {where})" if where else ""


def _parsed(source: Source) -> tuple[ast.Module, ast.FunctionDef]:
    tree = ast.parse(source.text)
    (kernel,) = (s for s in tree.body if isinstance(s, ast.FunctionDef) and s.name == source.entry)
    return tree, kernel


def _compiled(source: Source, tree: ast.Module, reads: Sequence[int], more: list[Any]) -> Call:
    """The tree with checked indices; its types are those of the source, and inputs cannot be written."""
    space: dict[str, Any] = {"__name__": "edited"}
    others = [s for s in tree.body if isinstance(s, ast.FunctionDef) and s.name != source.entry]
    for function in others:
        function.decorator_list.clear()
    try:
        exec(compile(ast.fix_missing_locations(tree), "kernel", "exec"), space)  # noqa: S102 - what it is for
        for function in others:
            space[function.name] = extending.register_jitable(boundscheck=True)(space[function.name])
    except Exception as error:
        raise Refused(f"{type(error).__name__}: {error}", _line_of(error)) from error
    types = list(numba_cpu.signature(source).args)
    for position in reads:
        types[2 + position] = types[2 + position].copy(readonly=True)
    try:
        made: Call = numba.njit(numba.void(*types, *more), boundscheck=True, **numba_pipeline.FLAGS)(
            space[source.entry]
        )
    except Exception as error:
        raise Refused(*_in_words(error, source)) from error
    return made


class _Marker:
    """Notes in an array: [line, rounds, most rounds, counters ...]."""

    def __init__(self) -> None:
        self.counters: list[tuple[str, int, int]] = []  # name, first and last line of its loop

    def mark(self, function: ast.FunctionDef) -> None:
        """Add notes to the body."""
        function.body = self._block(function.body)

    def _block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        rows: list[ast.stmt] = []
        for statement in body:
            rows += [*_code(f"mark_[0] = {statement.lineno}", statement), statement]
            if isinstance(statement, (ast.For, ast.While)):
                statement.body = [*self._round(statement), *self._block(statement.body)]
            elif isinstance(statement, ast.If):
                statement.body = self._block(statement.body)
            if isinstance(statement, (ast.For, ast.While, ast.If)) and statement.orelse:
                statement.orelse = self._block(statement.orelse)
        return rows

    def _round(self, loop: ast.For | ast.While) -> list[ast.stmt]:
        note = ""
        if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name) and "range(" in ast.unparse(loop.iter):
            note = f"mark_[{3 + len(self.counters)}] = {loop.target.id}\n"
            self.counters.append((loop.target.id, loop.lineno, loop.end_lineno or loop.lineno))
        return _code(
            note + f"mark_[1] += 1\nif mark_[1] > mark_[2]:\n    mark_[0] = {loop.lineno}\n    raise RuntimeError", loop
        )


def _code(text: str, at: ast.stmt) -> list[ast.stmt]:
    rows = ast.parse(text).body
    for row in rows:
        for node in ast.walk(row):
            ast.copy_location(node, at)
    return rows


def _line_of(error: Exception) -> int | None:
    """The last line of the text that a traceback passes."""
    found, trace = None, error.__traceback__
    while trace is not None:
        found = trace.tb_lineno if trace.tb_frame.f_code.co_filename == "kernel" else found
        trace = trace.tb_next
    return found


def _in_words(error: Exception, source: Source) -> tuple[str, int | None]:
    """What the compiler says, without what it says about itself, and in which line."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    lines = [int(n) for n in re.findall(r'File "[^"]*kernel[^"]*", line (\d+)', text)]
    place = getattr(error, "loc", None)
    line = lines[-1] if lines else getattr(place, "line", None)
    if WRITES in text:
        return _changes(source, line), line
    noise = re.compile(r"Failed in |File \"|\s*$|During: |<source |This error |There are \d|>>>|- Resolution|\^|Use ")
    told = [re.sub(r", defined at .*|(?<=\w)\.\d+(?=')", "", r.strip()) for r in text.splitlines()]
    words = next((row.rstrip(":") for row in told if not noise.match(row)), type(error).__name__)
    if both := re.match(r"Cannot unify (.+) and (.+) for '(\w+)'", words):
        words = f"{both[3]} is {both[1]} in one place and {both[2]} in another: a variable keeps its type"
    return words + _signature(text) * words.endswith("for signature"), line


def _signature(text: str) -> str:
    """With which types something was called that does not take them, and what to do if an array has no axes."""
    found = re.search(r">>> (.+)", text)
    if found is None:
        return ""
    without_axes = re.search(r"array\(\w+, 0d", found[1])
    return f" {found[1]}" + ". An array of shape () has one element: out[()]" * bool(without_axes)


def _changes(source: Source, line: int | None) -> str:
    """Which input is written, if the line says it."""
    row = source.text.splitlines()[line - 1] if line else ""
    found = re.match(r"\s*(\w+)\s*\[", row)
    names = [a.arg for a in _parsed(source)[1].args.args]
    name = f"{found[1]}, which is an input" if found and found[1] in names else "an input"
    return f"it changes {name}: a kernel writes only its outputs"
