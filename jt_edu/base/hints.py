"""Hints: what would have fitted? For the last part of an error; no answer depends on it."""

from __future__ import annotations

import sys
from itertools import combinations
from opcode import opmap

from jt_edu.base.errors import ShapeError

Shape = tuple[int, ...]
PAIRS = {  # operators that answer a pair elsewhere: what makes it here
    "max": "x.max(dim), x.argmax(dim): max returns the values alone",
    "min": "x.min(dim), x.argmin(dim): min returns the values alone",
    "first": "x.argmax(dim), x.max(dim), or argmin and min: each of them returns one of the two",
}
OF_A_KIND = {"c": "x.real or x.abs()", "f": "x.int64()", "b": "x.int64() or x.float()"}  # of a kind that is refused
NOTHING = "another argument, or a return at the end of the function that makes it: without one it returns None"
AGREE = "shapes that agree on this axis, or one that has length 1 there"


def aligned(shapes: tuple[Shape, ...]) -> str:
    """The line that makes two shapes x and y fit, where one does; otherwise what they lack.

    Example:
        >>> aligned(((2, 3), (2,)))
        'y.reshape(2, 1)'
        >>> aligned(((2, 3), (3, 2)))
        'y.transpose(0, 1)'
        >>> aligned(((3,), (4,)))
        'x.reshape(3, 1), for every combination'
    """
    if len(shapes) != 2:
        return AGREE
    x, y = shapes
    if len(x) == len(y) == 1:
        return f"x.reshape{(*x, 1)}, for every combination"
    if len(x) == len(y) == 2 and fit(x, y[::-1]):
        return "y.transpose(0, 1)"
    name, short, long = ("x", x, y) if len(x) < len(y) else ("y", y, x)
    for kept in combinations(range(len(long)), len(short)):
        lengths = [1] * len(long)
        for axis, n in zip(kept, short, strict=True):
            lengths[axis] = n
        if fit(tuple(lengths), long):
            inner = lengths[next(k for k in range(len(long) + 1) if k == len(long) or lengths[k] != 1) :]
            return f"{name}.reshape{tuple(inner)}"
    return AGREE


def fit(x: Shape, y: Shape) -> bool:
    """Whether two shapes of as many axes are broadcast to one."""
    return all(a == b or 1 in (a, b) for a, b in zip(x, y, strict=True))


def of_an_index(fault: str, n: int) -> tuple[str, str, str]:
    """What is said of an index function that Python could not call with n counters: asked, found, what to try.

    Example:
        >>> of_an_index("unsupported operand type(s) for /: 'Index' and 'int'", 2)[2]
        'i // 2, which rounds down'
    """
    if "positional argument" in fault:
        return f"an index function takes one counter per axis of the result, here {n}", fault, ""
    way = "i // 2, which rounds down" if " /: " in fault else ""
    return "an index is made of counters and whole numbers with + - * // and %", fault, way


def must_unpack(shape: Shape, operator: str) -> None:
    """Raise where the line that asks for the rows of a Var unpacks them into too many or too few names.

    Example:
        >>> values, places = jt.rand(3, 4).max(1)
        Traceback (most recent call last):
        ShapeError: a Var of shape (3,) unpacks into 3 rows; found 2 names. Try: x.max(dim), x.argmax(dim): ...
    """
    asker = sys._getframe(2)  # of the iterator, which has asked us
    what, names = asker.f_code.co_code[asker.f_lasti : asker.f_lasti + 2]
    if what == opmap["UNPACK_SEQUENCE"] and names != shape[0] % 256:  # the rest of a larger number stands elsewhere
        raise ShapeError(
            f"a Var of shape {shape} unpacks into {shape[0]} rows", f"{names} names", PAIRS.get(operator, "")
        )
