"""Tried: a learner's kernel runs on small arrays, so that nothing it does can harm.

    tried(text, 0, 3, (x, out))      as plain Python, so many lines long: which elements were read and written, or
                                     RefusedError, which quotes the line that went wrong
    watched(kernel, 0, 3, (x, out))  the same of a function
    compiled(text, 0, 3, (x, out))   a text once more by numba, with checked indices and a limit for its loops
    text_of(answer)                  the text itself, if it is one that defines `kernel`
    in_words(compile)                what numba makes of a function, or RefusedError with the first of its words

Nothing here knows what a kernel should compute.
"""

from __future__ import annotations

import ast
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Self

import numpy as np

from jt_edu.codegen.emit_python import Parameter, Source
from jt_edu.lens.sandbox import Checked, Refused
from jt_exercises.verdict import NotDoneError, RefusedError, YourTurn, short

FILE = "<the kernel>"
MOST = 20_000  # lines of plain Python, and
ROUNDS = 50_000_000  # rounds of compiled loops


@dataclass
class Seen:
    """How often single elements were read and written, by the name of the array; and an index below 0, if any."""

    reads: Counter[str] = field(default_factory=Counter)
    writes: Counter[str] = field(default_factory=Counter)
    backwards: str = ""


class _Watched(np.ndarray[Any, Any]):
    """An array that tells which of its elements are read and written; so do its slices."""

    seen: Seen
    name = ""

    def __array_finalize__(self, other: Any) -> None:
        self.seen, self.name = getattr(other, "seen", Seen()), getattr(other, "name", "")

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        if not isinstance(found, np.ndarray):
            self._note(index, self.seen.reads)
        return found

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(index, value)
        part = super().__getitem__(index)
        self._note(index, self.seen.writes, part.size if isinstance(part, np.ndarray) else 1)

    def _note(self, index: Any, where: Counter[str], times: int = 1) -> None:
        where[self.name] += times
        at = index if isinstance(index, tuple) else (index,)
        if not self.seen.backwards and any(isinstance(i, int | np.integer) and i < 0 for i in at):
            self.seen.backwards = f"{self.name}[{', '.join(map(str, at))}]"


def text_of(answer: Any, wanted: Sequence[str], name: str = "kernel") -> str:
    """The text that an answer is, without the indentation that all its lines share.

    NotDoneError if there is none yet; RefusedError if it is no Python that defines name(*wanted).
    """
    if answer is None:
        raise NotDoneError
    if not isinstance(answer, str):
        raise RefusedError(
            f'the answer is the text of a function, such as """def {name}(...): ...""", not {short(answer)}'
        )
    text = textwrap.dedent(answer).strip() + "\n"
    try:
        functions = [s for s in ast.parse(text).body if isinstance(s, ast.FunctionDef)]
    except SyntaxError as error:
        raise RefusedError(f"{_quoted(text, error.lineno)}{type(error).__name__}: {error.msg}") from error
    except (ValueError, MemoryError, RecursionError) as error:
        raise RefusedError(f"it cannot be read: {error}") from error
    found = next((f for f in functions if f.name == name), None)
    head = f"def {name}({', '.join(wanted)}):"
    if found is None:
        names = ", ".join(f"`def {f.name}`" for f in functions) or "no function"
        raise RefusedError(f"the text defines `{head}`; found {names}")
    given = [a.arg for a in found.args.args]
    if len(given) != len(wanted):
        raise RefusedError(f"its first line is `{head}`; yours takes {', '.join(given) or 'nothing'}")
    return text


def _quoted(text: str, line: int | None) -> str:
    rows = text.splitlines()
    return f"in `{rows[line - 1].strip()}`: " if line and line <= len(rows) else ""


def tried(text: str, lo: int, hi: int, arguments: Sequence[Any], most: int = MOST) -> Seen:
    """Run kernel(lo, hi, *arguments) as plain Python, so many lines long; the first array is an input, only read."""
    space: dict[str, Any] = {"__name__": "a kernel", "YourTurn": YourTurn}
    watch = _Watch(FILE, most)
    try:
        with watch:
            exec(compile(text, FILE, "exec"), space)  # noqa: S102 - what it is for
            kernel = space["kernel"]
            return _seen(kernel, lo, hi, dict(zip(kernel.__code__.co_varnames[2:], arguments, strict=False)))
    except NotImplementedError:
        raise
    except Exception as error:
        told = str(error) if isinstance(error, RefusedError) else f"{type(error).__name__}: {error}"
        raise RefusedError(_quoted(text, watch.line) + told) from error


def watched(kernel: Callable[..., Any], lo: int, hi: int, arguments: Mapping[str, Any], most: int = MOST) -> Seen:
    """The same of a function, with names for its arguments; what it raises is not put into words."""
    with _Watch(kernel.__code__.co_filename, most):
        return _seen(kernel, lo, hi, arguments)


def _seen(kernel: Callable[..., Any], lo: int, hi: int, arguments: Mapping[str, Any]) -> Seen:
    seen = Seen()
    try:
        with np.errstate(all="ignore"):
            answer = kernel(lo, hi, *_all_watched(arguments, seen))
    except ValueError as error:
        if "read-only" in str(error):
            words = "it changes an input. A kernel writes its output alone: others may read that array, too"
            raise RefusedError(words) from error
        raise
    if answer is not None:
        raise RefusedError("it returns a value that nothing uses. What counts is what it writes")
    return seen


def _all_watched(arguments: Mapping[str, Any], seen: Seen) -> list[Any]:
    watched, inputs = list[Any](), 1
    for name, given in arguments.items():
        if isinstance(given, np.ndarray):
            view: Any = given.view(_Watched)
            view.seen, view.name, view.flags.writeable, inputs = seen, name, inputs <= 0, inputs - 1
            watched.append(view)
        else:
            watched.append(given)
    return watched


class _Watch:
    """Counts the lines of a file that are done, and knows the last one."""

    def __init__(self, file: str, most: int) -> None:
        self.file, self.most, self.left = file, most, most
        self.line: int | None = None

    def __enter__(self) -> Self:
        self.before = sys.gettrace()
        sys.settrace(self._enter)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self.before)

    def _enter(self, frame: FrameType, event: str, _: Any) -> Any:
        return self._hear if frame.f_code.co_filename == self.file else None

    def _hear(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            self.line, self.left = frame.f_lineno, self.left - 1
            if self.left < 0:
                raise RefusedError(
                    f"after {self.most:,} lines it has not come to an end. Does the condition of each `while` become "
                    f"false?"
                )
        return self._hear


def compiled(text: str, lo: int, hi: int, arguments: Sequence[Any]) -> None:
    """Run the kernel compiled, on arrays of float32: the first of them is its input."""
    parameters = tuple(Parameter(f"a{k}", str(a.dtype), a.ndim) for k, a in enumerate(arguments))
    source = Source(text, parameters)
    try:
        checked = Checked(source, [0])
    except Refused as refused:
        raise RefusedError(f"numba cannot compile it: {_quoted(source.text, refused.line)}{refused}") from refused
    mark = checked.notes(ROUNDS)
    try:
        checked.call(lo, hi, *arguments, mark)
    except Exception as error:
        where = f"compiled, on {arguments[0].shape}, {_quoted(source.text, int(mark[0]))}"
        ends = f"its loops do not end{checked.where(mark)}"
        raise RefusedError(where + (ends if mark[1] > mark[2] else checked.complaint(error, mark))) from error


def plain(kernel: Any) -> Callable[..., Any]:
    """A function as it was written, also where numba has compiled it."""
    written: Callable[..., Any] = getattr(kernel, "py_func", kernel)
    return written


def in_words(compile_it: Callable[[], Any]) -> Any:
    """What numba compiles; RefusedError where it cannot."""
    try:
        return compile_it()
    except Exception as error:
        told = [row.strip() for row in str(error).splitlines() if row.strip() and not row.startswith("Failed in ")]
        raise RefusedError(f"numba cannot compile it: {' '.join(told[:3])[:400]}") from error


def from_behind(report: Mapping[str, Any]) -> str:
    """A word about an index below 0, where there was one."""
    at = report["backwards"]
    return f" `{at}` counts from the end: was that meant?" if at else ""
