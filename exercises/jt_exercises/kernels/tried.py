"""Tried: a learner's text of a kernel runs on small arrays, so that nothing it does can harm.

    tried(text, 0, 3, (x, out))      as plain Python, so many lines long: which elements were read and written, or
                                     RefusedError, which quotes the line that went wrong
    compiled(text, 0, 3, (x, out))   the same by numba, with checked indices and a limit for its loops
    text_of(answer)                  the text itself, if it is one that defines `kernel`

Nothing here knows what a kernel should compute.
"""

from __future__ import annotations

import ast
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy as np

from jt_edu.codegen.emit_python import Parameter, Source
from jt_edu.lens.sandbox import Checked, Refused
from jt_exercises.verdict import NotDoneError, RefusedError, short

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
    space: dict[str, Any] = {"__name__": "a kernel"}
    seen, watch, before = Seen(), _Watch(most), sys.gettrace()
    try:
        sys.settrace(watch.enter)
        exec(compile(text, FILE, "exec"), space)  # noqa: S102 - what it is for
        kernel: Callable[..., Any] = space["kernel"]
        with np.errstate(all="ignore"):
            answer = kernel(lo, hi, *_all_watched(arguments, kernel.__code__.co_varnames[2:], seen))
    except Exception as error:
        sys.settrace(before)
        raise RefusedError(_quoted(text, watch.line) + _in_words(error, most)) from error
    finally:
        sys.settrace(before)
    if answer is not None:
        raise RefusedError("it returns something, and nobody takes that. What counts is what it writes")
    return seen


def _all_watched(arguments: Sequence[Any], names: Sequence[str], seen: Seen) -> list[Any]:
    watched, inputs = list[Any](), 1
    for name, given in zip(names, arguments, strict=False):
        if isinstance(given, np.ndarray):
            view: Any = given.view(_Watched)
            view.seen, view.name, view.flags.writeable, inputs = seen, name, inputs <= 0, inputs - 1
            watched.append(view)
        else:
            watched.append(given)
    return watched


def _in_words(error: Exception, most: int) -> str:
    if "read-only" in str(error):
        return "it changes an input. A kernel writes its output alone: others may read that array, too"
    if isinstance(error, _EndlessError):
        return f"after {most:,} lines it has not come to an end. Does the condition of each `while` become false?"
    return f"{type(error).__name__}: {error}"


class _EndlessError(Exception):
    """So many lines were done."""


class _Watch:
    """Counts the lines of a text, and knows the last one."""

    def __init__(self, most: int) -> None:
        self.left = most
        self.line: int | None = None

    def enter(self, frame: FrameType, event: str, _: Any) -> Any:
        """A function begins: only those of the text are watched."""
        return self.hear if frame.f_code.co_filename == FILE else None

    def hear(self, frame: FrameType, event: str, _: Any) -> Any:
        """The next line."""
        if event == "line":
            self.line, self.left = frame.f_lineno, self.left - 1
            if self.left < 0:
                raise _EndlessError
        return self.hear


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
