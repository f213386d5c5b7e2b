"""Tracebacks: the learner's own lines, then what went wrong; the calls inside jt_edu on request.

    Traceback (most recent call last):
      File "train.py", line 6, in <module>
        y = net(x)
    jt_edu.base.errors.ShapeError: linear multiplies ...; found ... Try: Linear(16, 4).
    7 calls inside jt_edu are hidden; jt.flags.tracebacks = "full" shows them

Nothing is taken from the error: it is shortened while somebody writes it down, and is whole again afterwards. So
debuggers and pytest find all frames, and `%tb` shows them once the flag is "full". Who writes errors down? Python at
the end of a program and of a thread, the functions of `traceback`, and IPython for itself and for Jupyter: each is
passed on here to what it was before.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from jt_edu.base.context import CHECKS, current
from jt_edu.base.errors import ArgumentError, JtError

HOME = str(Path(__file__).parents[1]) + os.sep
CELL_FILE = re.compile(r"ipykernel_\d+[/\\]")  # as Jupyter calls its cells
TYPED = ("<cell", "<ipython-input", "<python-input", "<stdin>", "<string>")  # at a prompt, or given to exec
STRANGERS = {"site-packages", "dist-packages", "jt_widgets"}
MODES = ("short", "full")


def is_ours(frame: FrameType) -> bool:
    """Whether a frame is jt_edu's, or of a package with `ASKS_FOR_ITS_CALLER = True`, which works for its caller."""
    file = Path(frame.f_code.co_filename)
    if file.is_relative_to(HOME):
        return True
    package = sys.modules.get(str(frame.f_globals.get("__name__")).partition(".")[0])
    if not getattr(package, "ASKS_FOR_ITS_CALLER", False):
        return False
    return any(map(file.is_relative_to, getattr(package, "__path__", ())))  # what a doctest runs is the learner's


@cache
def is_learners(file: str) -> bool:
    """Whether a file is the learner's own: a cell, or a module that no installer brought."""
    if is_cell(file):
        return True
    parts = Path(file).parts
    return Path(file).is_absolute() and not file.startswith(_installed()) and not STRANGERS & set(parts)


@cache
def is_cell(file: str) -> bool:
    """Whether what is called a file was typed into a notebook or at a prompt."""
    return bool(CELL_FILE.search(file)) or file.startswith(TYPED) or Path(file).name == "cell"


@cache
def _installed() -> tuple[str, ...]:
    """The folders of what installers brought, and ours."""
    places = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return (*(str(Path(place)) + os.sep for place in places), HOME)


@contextmanager
def shortened(error: BaseException | None, trace: TracebackType | None) -> Iterator[TracebackType | None]:
    """Inside, an error and those that it came from have the learner's frames only; gives those of `trace`.

    An error of Python's that no line of the learner led to stays whole: it is a mistake of ours.
    """
    chain = [] if error is None or current().flags.tracebacks == "full" else list(_chain(error))
    before = [_Whole(e) for e in chain]
    hidden, shown = 0, trace
    try:
        for e in chain:
            short, count = _learners_part(trace if e is error else e.__traceback__)
            if e is error:
                if short is None and not isinstance(e, JtError):
                    break
                shown = short
            elif count and short is None:  # the error that came of it has said all that it says
                _cut(chain[chain.index(e) - 1])
            e.__traceback__ = short
            hidden += count
        if hidden and error is not None:
            calls = f"{hidden} calls inside jt_edu are" if hidden > 1 else "1 call inside jt_edu is"
            them = "them" if hidden > 1 else "it"
            error.add_note(f'{calls} hidden; jt.flags.tracebacks = "full" shows {them}')
        yield shown
    finally:
        for whole in before:
            whole.restore()


class _Whole:
    """What an error was before it was shortened."""

    def __init__(self, error: BaseException) -> None:
        self.error, self.trace, self.notes = error, error.__traceback__, list(getattr(error, "__notes__", ()))
        self.cause, self.suppressed = error.__cause__, error.__suppress_context__

    def restore(self) -> None:
        """Make it so again."""
        self.error.__traceback__, self.error.__cause__ = self.trace, self.cause
        self.error.__suppress_context__ = self.suppressed
        if self.notes or hasattr(self.error, "__notes__"):
            self.error.__notes__ = self.notes


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error, then those that it came from, as far as Python tells of them."""
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        yield at
        at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)


def _cut(error: BaseException) -> None:
    """Tell nothing of what an error came from."""
    error.__cause__ = None
    error.__suppress_context__ = True


def _learners_part(trace: TracebackType | None) -> tuple[TracebackType | None, int]:
    """A traceback without the frames of ours, and of libraries that ours call; and how many those are."""
    kept, hidden, shows = [], 0, True
    while trace is not None:
        shows = _shows(trace.tb_frame, shows)
        if shows:
            kept.append(trace)
        hidden += not shows
        trace = trace.tb_next
    found: TracebackType | None = None
    for t in reversed(kept):
        found = TracebackType(found, t.tb_frame, t.tb_lasti, t.tb_lineno)
    return found, hidden


def _shows(frame: FrameType, caller_shows: bool) -> bool:
    """Whether a frame is shown: the learner's are, ours are not, a library's as the one that called it."""
    if is_ours(frame):
        return False
    return caller_shows or frame.f_globals.get("__name__") == "__main__" or is_learners(frame.f_code.co_filename)


def _check(mode: str) -> None:
    if mode not in MODES:
        raise ArgumentError('jt.flags.tracebacks is "short" or "full"', repr(mode))


def _shortening(write: Callable[..., Any]) -> Callable[..., Any]:
    """A method that writes down an error, given as (type, error, traceback)."""

    @wraps(write)
    def short(self: Any, kind: Any, error: Any, trace: Any = None, *args: Any, **named: Any) -> Any:
        if error is not None and not isinstance(error, BaseException):
            return write(self, kind, error, trace, *args, **named)
        with shortened(error, trace) as shown:
            answer = write(self, kind, error, shown, *args, **named)
        if hasattr(self, "tb"):
            self.tb = trace  # where IPython's debugger begins
        return answer

    return short


def _at_the_end(write: Callable[..., Any]) -> Callable[..., Any]:
    """`sys.excepthook`."""

    @wraps(write)
    def short(kind: Any, error: Any, trace: Any) -> Any:
        with shortened(error, trace) as shown:
            return write(kind, error, shown)

    return short


def _at_the_end_of_a_thread(write: Callable[..., Any]) -> Callable[..., Any]:
    """`threading.excepthook`."""

    @wraps(write)
    def short(told: Any) -> Any:
        with shortened(told.exc_value, told.exc_traceback) as shown:
            return write(threading.ExceptHookArgs((told.exc_type, told.exc_value, shown, told.thread)))

    return short


CHECKS["tracebacks"] = _check
traceback.TracebackException.__init__ = _shortening(traceback.TracebackException.__init__)  # type: ignore[method-assign]
sys.excepthook = _at_the_end(sys.excepthook)  # from now on
threading.excepthook = _at_the_end_of_a_thread(threading.excepthook)
_notebook = sys.modules.get("IPython.core.ultratb")
if _notebook is not None:
    _notebook.AutoFormattedTB.structured_traceback = _shortening(_notebook.AutoFormattedTB.structured_traceback)
