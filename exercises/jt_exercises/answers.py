"""Answers: is what came back of the kind that was asked for, is it right, and which mistake gives just that?

    truth(found)   number(found)   pair(found, "...")      the value; RefusedError, with what was asked for
    numbers(found, "the weights are numbers", (3, 3))      an array of this shape
    entry(guesses, "x + y")                                a number of a dict
    same(found, right, "the mean", [(wrong, "why")])       RefusedError where it is not right, with the mistake if known

`asked` is a sentence that says what is asked for; ", not ..." follows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from jt_exercises.verdict import NotDoneError, RefusedError, short

Array = np.ndarray[Any, Any]
NEAR = 1e-9


def truth(found: Any, asked: str = "the answer is True or False") -> bool:
    """The truth value that an answer is."""
    value = _array(found)
    if value.shape or value.dtype.kind != "b":
        raise RefusedError(f"{asked}, not {short(found)}")
    return bool(value)


def number(found: Any, asked: str = "the answer is a number") -> float:
    """The number that an answer is."""
    value = _array(found)
    if value.shape or value.dtype.kind not in "iuf":
        raise RefusedError(f"{asked}, not {short(found)}")
    return float(value)


def entry(answers: Any, text: str) -> float:
    """The number that stands in a dict beside an expression."""
    if answers is None:
        raise NotDoneError
    if not isinstance(answers, Mapping):
        raise RefusedError(f"the answer is a dict of numbers by expression, not {short(answers)}")
    if answers.get(text) is None:
        raise NotDoneError("there is no number yet")
    return number(answers[text])


def pair(found: Any, asked: str) -> tuple[Any, Any]:
    """The two things that an answer is."""
    if not isinstance(found, (tuple, list)) or len(found) != 2:
        raise RefusedError(f"{asked}, not {short(found)}")
    return found[0], found[1]


def numbers(found: Any, asked: str, shape: tuple[int, ...] | None = None) -> Array:
    """The numbers that an answer is, in an array of this shape."""
    if found is None:
        raise NotDoneError(f"{asked}; it is still None")
    mine = _array(found)
    if mine.dtype.kind not in "iuf":
        raise RefusedError(f"{asked}, not {short(found)}")
    if shape is not None and mine.shape != shape:
        raise RefusedError(f"{asked}. Yours has the shape {mine.shape}")
    return mine.astype(float)


def same(
    found: Any,
    right: Array,
    what: str = "",
    known: Iterable[tuple[Any, str]] = (),
    near: float = NEAR,
    otherwise: str = "these are not the right numbers",
    asked: str = "",
) -> Array:
    """The answer, if it is the right numbers; `known` are wrong ones, and what is said of them."""
    told = f"{what}: " if what else ""
    asked = asked or f"{told}numbers of the shape {right.shape} are asked for"
    mine = numbers(found, asked)
    if _near(mine, right, near):
        return mine
    why = next((words for wrong, words in known if _near(mine, wrong, near)), "")
    if not why and mine.shape != right.shape:
        raise RefusedError(f"{asked}. Yours has the shape {mine.shape}", found, right)
    raise RefusedError(f"{told}{why or otherwise}", found, right)


def _near(mine: Array, wrong: Any, near: float) -> bool:
    return mine.shape == np.shape(wrong) and np.allclose(mine, wrong, near, near, equal_nan=True)


def _array(found: Any) -> Array:
    """An array of whatever it is."""
    try:
        return np.asarray(found)
    except ValueError:  # lists of different lengths
        return np.asarray(None)
