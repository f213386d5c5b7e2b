"""Answers: what comes back from a learner's function should be a number, or a dict of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jt_exercises.verdict import NotDoneError, RefusedError, short


def number(found: Any, what: str = "the answer") -> float:
    """The number that an answer is, of Python or of NumPy."""
    value = np.asarray(found)
    if value.shape or value.dtype.kind not in "iuf":
        raise RefusedError(f"{what} is a number, not {short(found)}")
    return float(value)


def entry(answers: Any, text: str) -> float:
    """What stands in a dict beside an expression."""
    if answers is None:
        raise NotDoneError
    if not isinstance(answers, Mapping):
        raise RefusedError(f"the answer is a dict of numbers by expression, not {short(answers)}")
    if answers.get(text) is None:
        raise NotDoneError("there is no number yet")
    return number(answers[text])
