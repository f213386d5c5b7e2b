"""Tracebacks: the learner's own lines, then what went wrong; the calls inside jt_edu on request.

    Traceback (most recent call last):
      File "train.py", line 6, in <module>
        y = net(x)
    jt_edu.base.errors.ShapeError: linear multiplies ...; found ... Try: Linear(16, 4).
    hidden: 7 calls inside jt_edu; jt.flags.tracebacks = "full" shows everything

Nothing is taken from the error: it is shortened while somebody writes it down, and is whole again afterwards. So
debuggers and pytest find all frames, and `%tb` shows them once the flag is "full". Who writes errors down? Python at
the end of a program and of a thread, the functions of `traceback`, and IPython for itself and for Jupyter: each is
passed on here to what it was before.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
import sysconfig
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, wraps
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from jt_edu.base.context import CHECKS, current
from jt_edu.base.errors import ArgumentError, JtError
from jt_edu.base.plural import plural

HOME = str(Path(__file__).parents[1]) + os.sep
CELL_FILE = re.compile(r"ipykernel_\d+[/\\]")  # as Jupyter calls its cells
STRANGERS = {"site-packages", "dist-packages"}
MODES = ("short", "full")
CHANGED = ("__traceback__", "__cause__", "__suppress_context__", "__notes__")  # of an error, while it is written down
_put = BaseException.__setattr__  # whatever a class of errors does with its attributes


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
    """Whether what is called a file is a cell of a notebook."""
    return bool(CELL_FILE.search(file)) or file.startswith(("<cell", "<ipython-input")) or Path(file).name == "cell"


@cache
def _installed() -> tuple[str, ...]:
    """The folders of what installers brought, and ours."""
    places = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return (*(str(Path(place)) + os.sep for place in places), HOME)


@contextmanager
def shortened(error: BaseException, trace: TracebackType) -> Iterator[TracebackType | None]:
    """Inside, an error and those that it came from have the learner's frames only; gives those of `trace`."""
    if current().flags.tracebacks == "full":
        yield trace
        return
    chain = list(_chain(error))
    before = [(e, [(name, getattr(e, name, None)) for name in CHANGED]) for e in chain]
    try:
        _put(error, "__traceback__", trace)
        hidden = _shorten(chain)
        if hidden:
            line = f'hidden: {plural(hidden, "call")} inside jt_edu; jt.flags.tracebacks = "full" shows everything'
            _put(error, "__notes__", [*getattr(error, "__notes__", ()), line])
        yield error.__traceback__
    finally:
        for e, values in before:
            vars(e).pop("__notes__", None)
            for name, value in values:
                if value is not None or name != "__notes__":
                    _put(e, name, value)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error, then those that it came from, as far as Python tells of them."""
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        yield at
        at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)


def _shorten(chain: Sequence[BaseException]) -> int:
    """Leave the learner's frames to the errors of a chain, the last one first; returns how many others there were.

    An error that no line of the learner led to is left out where another came of it, which tells it in its own words.
    Where none did, it is a mistake of ours and stays whole, unless it is one that explains itself.
    """
    hidden = 0
    for k, error in enumerate(chain):
        short, count = _learners_part(error.__traceback__)
        if count and short is None and (k or not isinstance(error, JtError)):
            if k:
                _put(chain[k - 1], "__cause__", None)  # and so it tells of no context either
            break
        _put(error, "__traceback__", short)
        hidden += count
    return hidden


def _learners_part(trace: TracebackType | None) -> tuple[TracebackType | None, int]:
    """A traceback without the frames of ours, and of libraries that ours call; and how many those are.

    It is None where ours were called by libraries alone, such as a thread's, and by no line of the learner's.
    """
    steps: list[TracebackType] = []
    while trace is not None:
        steps.append(trace)
        trace = trace.tb_next
    learners = [_is_learners_frame(step.tb_frame) for step in steps]
    if not any(learners):  # of a module of ours that was run by its name, as `python -m` does
        learners = [_is_main(step.tb_frame) for step in steps]
    kept, shows = [], True
    for step, theirs in zip(steps, learners, strict=True):
        shows = theirs or (shows and not is_ours(step.tb_frame))  # a library's as the one that called it
        kept += [step] * shows
    hidden = len(steps) - len(kept)
    found: TracebackType | None = None
    for t in reversed(kept if any(learners) or not hidden else ()):
        found = TracebackType(found, t.tb_frame, t.tb_lasti, t.tb_lineno)
    return found, hidden


def _is_learners_frame(frame: FrameType) -> bool:
    return not is_ours(frame) and (_is_main(frame) or is_learners(frame.f_code.co_filename))


def _is_main(frame: FrameType) -> bool:
    return bool(frame.f_globals.get("__name__") == "__main__")


def _check(mode: str) -> None:
    if mode not in MODES:
        raise ArgumentError('jt.flags.tracebacks is "short" or "full"', repr(mode))


def _as_a_method(write: Callable[..., Any]) -> Callable[..., Any]:
    """A method that writes down an error, given as type, error and traceback."""
    form = inspect.signature(write)
    its_error, its_trace = list(form.parameters)[2:4]  # Python calls them exc_value and exc_traceback

    @wraps(write)
    def short(*args: Any, **named: Any) -> Any:
        given = form.bind(*args, **named)
        error, trace = map(given.arguments.get, (its_error, its_trace))
        if error is None or not isinstance(trace, TracebackType):
            return write(*args, **named)
        with shortened(error, trace) as shown:
            given.arguments[its_trace] = shown
            answer = write(*given.args, **given.kwargs)
        if hasattr(args[0], "tb"):
            args[0].tb = trace  # where IPython's debugger begins
        return answer

    return short


def _at_the_end(write: Callable[..., Any]) -> Callable[..., Any]:
    """`sys.excepthook`, and what is like it."""

    @wraps(write)
    def short(kind: Any, error: Any, trace: Any) -> Any:
        if not isinstance(trace, TracebackType):
            return write(kind, error, trace)
        with shortened(error, trace) as shown:
            return write(kind, error, shown)

    return short


def _at_the_end_of_a_thread(write: Callable[..., Any]) -> Callable[..., Any]:
    """`threading.excepthook`, which is given all of it as one."""

    @wraps(write)
    def short(told: Any) -> Any:
        end = _at_the_end(lambda kind, error, trace: write(threading.ExceptHookArgs((kind, error, trace, told.thread))))
        return end(told.exc_type, told.exc_value, told.exc_traceback)

    return short


CHECKS["tracebacks"] = _check
traceback.TracebackException.__init__ = _as_a_method(traceback.TracebackException.__init__)  # type: ignore[method-assign]
sys.excepthook = _at_the_end(sys.excepthook)  # from now on
threading.excepthook = _at_the_end_of_a_thread(threading.excepthook)
_notebook = sys.modules.get("IPython.core.ultratb")
if _notebook is not None:
    _notebook.AutoFormattedTB.structured_traceback = _as_a_method(_notebook.AutoFormattedTB.structured_traceback)
