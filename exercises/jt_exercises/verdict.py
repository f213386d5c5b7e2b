"""Verdict: what does a learner read after a try?

    right          2 can_inline: you decide as the framework does, in 9 cases
    not done yet   2 can_inline
    not right      2 can_inline: of `sum` and `exp` you say True. A sum is complete only after its loop

An exercise is a function under `@exercise("2 can_inline")`. It takes the learner's answer, raises `RefusedError` where
that is not right and `NotDoneError` where there is none yet, and returns a sentence for those who are right. Whatever a
learner's function raises becomes a verdict, too: the notebook goes on. Nothing here knows notebooks, or prints.
"""

from __future__ import annotations

import functools
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jt_edu.base.plural import singular

SHORT = 120  # letters of an argument or an answer
WIDE = 76  # letters of a line; in a narrow page longer ones would be cut inside a word


class NotDoneError(Exception):
    """There is no answer yet, a gap is still `None`; or it cannot be judged now, for the reason that is told."""


class RefusedError(Exception):
    """The answer is not right; the message says what was asked, what came, and where to look."""


@dataclass(frozen=True)
class Verdict:
    """What a check found: `passed` is None where nothing was tried."""

    name: str
    passed: bool | None
    words: str = ""

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


heard: list[Verdict] = []  # what was said in this process, for those who grade


def exercise(name: str) -> Callable[[Callable[..., str]], Callable[..., Verdict]]:
    """Make a check of a function that raises one of the two errors above, and returns a sentence where all is well."""

    def decorate(function: Callable[..., str]) -> Callable[..., Verdict]:
        def judge(*answers: Any, **more: Any) -> Verdict:
            try:
                return Verdict(name, True, singular(function(*answers, **more)))
            except NotDoneError as nothing:
                return Verdict(name, None, singular(str(nothing)))
            except RefusedError as refused:
                return Verdict(name, False, singular(str(refused)))
            except Exception as error:  # noqa: BLE001 - such as comparing a text with a number: the notebook goes on
                found = f"{type(error).__name__}: {error}"
                return Verdict(name, False, f"the answer is of a kind that cannot be judged ({short(found)})")

        @functools.wraps(function)
        def check(*answers: Any, **more: Any) -> Verdict:
            heard.append(judge(*answers, **more))
            return heard[-1]

        return check

    return decorate


def ask(function: Callable[..., Any], *arguments: Any, case: str = "", name: str = "") -> Any:
    """What a learner's function answers; `case` names the arguments where they are long, `name` the function."""
    if not callable(function):
        raise RefusedError(f"this exercise takes a function, not {short(function)}")
    try:
        answer = function(*arguments)
    except (NotDoneError, RefusedError):
        raise
    except NotImplementedError:
        raise NotDoneError from None
    except Exception as error:
        called = name or getattr(function, "__name__", "your function")
        shown = case or ", ".join(map(short, arguments))
        raise RefusedError(f"{called}({shown}) stopped with {type(error).__name__}: {error}") from error
    if answer is None:
        raise NotDoneError("" if _is_empty(function) else "it returns None: is a `return` missing?")
    return answer


def _is_empty(function: Callable[..., Any]) -> bool:
    """Whether a function does nothing but return None, as those that are to be filled in."""
    code = getattr(function, "__code__", None)
    return code is not None and not code.co_names and set(code.co_consts) <= {None, *code.co_consts[:1]}


def short(value: Any) -> str:
    """A value in a few letters."""
    text = getattr(value, "__name__", None) or repr(value)
    return text if len(text) <= SHORT else text[: SHORT - 1] + "…"
