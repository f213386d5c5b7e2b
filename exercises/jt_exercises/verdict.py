"""Verdict: what does a learner read after a try?

    right          01.3 backward, in order: 4 expressions, one of a thousand
        steps, and every gradient is the slope
    not done yet   01.3 backward, in order: a product: hand each number's share
        to those it came from
    not right      01.3 backward, in order: paths that join: b = a * 1, y = b +
        b at 5, 1: `b` hands its gradient on before it is complete

A check takes the learner's answer, raises `RefusedError` where that is not right and `NotDoneError` where there is none
yet, and returns a sentence for those who are right. Whatever a learner's function raises becomes a verdict, too: the
notebook goes on. Nothing here knows notebooks, or prints.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from jt_edu.base.plural import singular
from jt_exercises.process import JudgedError, LostError, RaisedError

SHORT = 120  # letters of an argument or an answer
WIDE = 76  # letters of a line; in a narrow page longer ones would be cut inside a word


class NotDoneError(JudgedError):
    """There is no answer yet, a gap is still `None`; or it cannot be judged now, for the reason that is told."""


class RefusedError(JudgedError):
    """The answer is not right; the message says what was asked, what came, and where to look.

    `got` and `expected`, numbers or arrays, are shown side by side.
    """

    def __init__(self, words: str, got: Any = None, expected: Any = None) -> None:
        super().__init__(words)
        self.got, self.expected = got, expected


class YourTurn(NotImplementedError):  # noqa: N818 - a gap that nobody has filled is no error
    """Stands in a gap; the message says what is to be written there.

    Example:
        >>> YourTurn("hand each number its share")
        YourTurn('hand each number its share')
    """


@dataclass(frozen=True)
class Verdict:
    """What a check found: `passed` is None where nothing was tried; `right` of `of` parts are right."""

    name: str
    passed: bool | None
    words: str = ""
    right: int = 0
    of: int = 1
    got: Any = None
    expected: Any = None
    calls: int = field(default=0, compare=False)  # of the learner's functions
    seconds: float = field(default=0.0, compare=False)  # that these took, there and back
    error: Exception | None = field(default=None, compare=False)  # what the check itself stopped with

    def __repr__(self) -> str:
        said = {True: "right", False: "not right", None: "not done yet"}[self.passed]
        text = f"{said:<15}{self.name}" + (f": {self.words}" if self.words else "")
        return "\n".join(row for line in text.split("\n") for row in _rows(line))


def _rows(line: str) -> list[str]:
    """A line, broken between words; what follows stands four letters further in."""
    indent = " " * (4 + len(line) - len(line.lstrip()))
    wrapper = textwrap.TextWrapper(
        WIDE, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, replace_whitespace=False
    )
    return wrapper.wrap(line) or [""]


Parts = list[tuple[str, NotDoneError | RefusedError | None]]
_parts: ContextVar[Parts | None] = ContextVar("parts", default=None)


@contextmanager
def part(name: str) -> Iterator[None]:
    """A part of an exercise that counts for itself: where it is not right, the others are still looked at."""
    found = _parts.get()
    try:
        yield
    except Exception as error:  # another one is no reason to leave the other parts out
        if found is None:
            raise
        found.append((name, error if isinstance(error, (NotDoneError, RefusedError)) else _unexpected(error)))
    else:
        if found is not None:
            found.append((name, None))


def judged(name: str, check: Callable[[], str]) -> Verdict:
    """What a check finds: it returns a sentence, or raises one of the errors above. Whatever else it raises is told."""
    parts: Parts = []
    token = _parts.set(parts)
    try:
        words = check()
    except (NotDoneError, RefusedError) as error:
        parts.append(("", error))
    except Exception as error:  # noqa: BLE001 - such as comparing a text with a number: the notebook goes on
        parts.append(("", _unexpected(error)))
    finally:
        _parts.reset(token)
    right, of = sum(error is None for _, error in parts), max(1, len(parts))
    wrong = [(at, error) for at, error in parts if error is not None]
    if not wrong and not isinstance(words, str):
        raise AssertionError(f"the check of {name} returned no words for a right answer")
    if not wrong:
        return Verdict(name, True, singular(words), of, of)
    refused = [(at, error) for at, error in wrong if isinstance(error, RefusedError)]
    causes = (error.__cause__ for _, error in refused if "cannot be judged" in str(error))
    stopped = next((cause for cause in causes if isinstance(cause, Exception)), None)
    at, first = (refused or wrong)[0]
    words = (f"{at}: " if at and str(first) else at) + str(first)
    shown = (first.got, first.expected) if isinstance(first, RefusedError) else (None, None)
    return Verdict(name, False if refused else None, singular(words), right, of, *shown, error=stopped)


def _unexpected(error: Exception) -> RefusedError:
    """A check met what it did not expect."""
    refused = RefusedError(
        f"the answer is of a kind that cannot be judged ({short(f'{type(error).__name__}: {error}')})"
    )
    refused.__cause__ = error
    return refused


def ask(
    function: Callable[..., Any],
    *arguments: Any,
    case: str = "",
    name: str = "",
    through: Callable[..., Any] | None = None,
) -> Any:
    """What a learner's function answers; `case` names the arguments where they are long, `name` the function.

    `through(function, *arguments)` calls it, where more has to happen beside the function than one call.
    """
    there = getattr(function, "through", None) if through else None  # of what is on another side: a handle, or a text
    if not callable(function) and there is None:
        raise RefusedError(f"this exercise takes a function, not {short(function)}")
    try:
        if there is not None:
            answer = there(through, *arguments)
        elif through is not None:
            answer = through(function, *arguments)
        else:
            answer = function(*arguments)
    except (NotDoneError, RefusedError):
        raise
    except NotImplementedError as error:
        raise NotDoneError(str(error)) from None
    except Exception as error:
        if isinstance(error, RaisedError) and error.kind == RefusedError.__name__:  # of a probe
            raise RefusedError(error.words) from None
        called = name or getattr(function, "__name__", "your function")
        shown = case or ", ".join(map(short, arguments))
        raise RefusedError(f"{called}({shown}) {_how(error)}") from error
    if answer is None:
        raise NotDoneError("it returns None: is a `return` missing?")
    return answer


def _how(error: Exception) -> str:
    """How a call ended, in words."""
    if isinstance(error, LostError):
        return str(error).removeprefix("it ")
    kind, at = type(error).__name__, ""
    if isinstance(error, RaisedError):
        kind, at = error.kind, f" (line {error.line}: `{error.text}`)" if error.text else ""
    return f"stopped with {kind}{f': {error}' if str(error) else ''}{at}"


def short(value: Any) -> str:
    """A value in a few letters."""
    text = getattr(value, "__name__", None) or repr(value)
    return text if len(text) <= SHORT else text[: SHORT - 1] + "…"
