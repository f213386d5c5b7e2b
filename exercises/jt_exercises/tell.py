"""Tell: is a number, an array or a text the right one?

    right          dy/da
    not done yet   dy/db
    another shape  a gradient for an input of shape (3,): yours is (4, 3), it should be (3,)
    not right      dy/da: yours is 3.0, it should be 2.0

For exercises whose right answer the notebook itself knows; the others have checks. Nothing here knows which they are.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from jt_exercises.verdict import Verdict, heard

NEAR = 1e-4  # of the right answer: a difference has an error of its own, and so has float32
FEW = 60  # numbers that are shown


def tell(what: str, yours: Any, right: Any, *, near: float = NEAR, also: str = "") -> None:
    """Print how an answer compares with the right one, and note it for those who grade.

    Args:
        what: the name of the answer.
        yours: the answer; None where there is none yet.
        right: the right one: numbers of the same shape, or a text.
        near: how far off a number may be, as a part of it.
        also: what is said of any answer.

    Example:
        >>> tell("the slope", 3.0, 2.0)
        not right      the slope: yours is 3.0, it should be 2.0
    """
    sort, words = _compared(yours, np.asarray(right), near)
    passed = {"right": True, "not done yet": None}.get(sort, False)
    heard.append(Verdict(what, passed, words))
    sys.stdout.write(f"{sort:<15}{what}" + (f": {words}" if words else "") + (f"   {also}" if also else "") + "\n")


def _compared(yours: Any, right: np.ndarray, near: float) -> tuple[str, str]:
    """A verdict in a word or two, and what is to be said of it."""
    if yours is None:
        return "not done yet", ""
    try:
        mine = np.asarray(yours)
    except Exception as error:  # noqa: BLE001 - whatever a learner hands in, the notebook goes on
        return "not right", f"it is no array ({type(error).__name__}: {error})"
    if mine.shape != right.shape:
        return "another shape", f"yours is {mine.shape}, it should be {right.shape}"
    numbers = right.dtype.kind in "biuf"
    if numbers and mine.dtype.kind not in "biuf":
        return "not right", f"yours is {yours!r:.{FEW}}, which is no number"
    same = np.isclose(mine, right, near, near / 10) if numbers else mine == right
    if bool(np.all(same)):
        return "right", ""
    if right.size > FEW:
        place = tuple(map(int, np.argwhere(~same)[0]))  # the first
        many = f"{right.size - np.count_nonzero(same)} of {right.size:,} numbers differ; at {list(place)} "
        return "not right", many + f"yours is {mine[place]}, it should be {right[place]}"
    shown, wanted = _rounded(mine, right) if numbers else (mine, right)
    if right.ndim < 2:
        return "not right", f"yours is {shown}, it should be {wanted}"
    return "not right", f"yours is\n{shown}\nit should be\n{wanted}"


def _rounded(mine: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Both with 4 digits behind the point, or with as many as it takes to tell them apart."""
    shown, wanted = mine, right
    if "b" in (mine.dtype.kind, right.dtype.kind):  # bools have no digits
        return shown, wanted
    for digits in range(4, 17, 4):
        shown, wanted = np.round(mine, digits), np.round(right, digits)
        if not np.array_equal(shown, wanted):
            break
    return shown, wanted
