"""Counted: numbers that count how often two of them are multiplied; exact, so that no digit hides a mistake.

    count = Count()
    d, g = count.numbers([1, 2, 3, 4]), count.numbers([1, 0, -1])
    d[0] * g[0] + d[1] / 2            one product of two numbers; a half is a constant, and costs nothing here

Nothing here knows convolutions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np


class Count:
    """How many products of two numbers there were."""

    def __init__(self) -> None:
        self.products = 0

    def numbers(self, values: Iterable[Any]) -> list[Any]:
        """Numbers that are counted, in lists as nested as the values."""
        return [self.numbers(v) if isinstance(v, (list, tuple)) else Number(Fraction(v), self) for v in values]


class Number:
    """A fraction, whose products with others are counted; whoever learns gets no other hold of it."""

    __array_priority__ = 1000  # an array times this asks us

    def __init__(self, value: Fraction, count: Count) -> None:
        self._exact, self._count = value, count

    def _with(self, value: Fraction) -> Number:
        return Number(value, self._count)

    def __add__(self, other: Any) -> Number:
        return self._with(self._exact + _value(other))

    def __sub__(self, other: Any) -> Number:
        return self._with(self._exact - _value(other))

    def __rsub__(self, other: Any) -> Number:
        return self._with(_value(other) - self._exact)

    def __mul__(self, other: Any) -> Number:
        self._count.products += isinstance(other, Number)
        return self._with(self._exact * _value(other))

    def __truediv__(self, other: Any) -> Number:
        self._count.products += isinstance(other, Number)
        return self._with(self._exact / _value(other))

    def __neg__(self) -> Number:
        return self._with(-self._exact)

    def __pos__(self) -> Number:
        return self

    __radd__, __rmul__ = __add__, __mul__

    def __repr__(self) -> str:
        return f"{float(self._exact):g}"


def counted(function: Callable[..., Any], d: list[Any], g: list[Any]) -> Any:
    """What a function makes of numbers, and how many products of two it took.

    Whatever is nested is flat afterwards: exact values as texts, such as "-3/2", and what is no such number as a list.
    """
    count = Count()
    found = function(count.numbers(d), count.numbers(g))
    if found is None:
        return None
    return [str(v._exact) if isinstance(v, Number) else [v] for v in _flat(found)], count.products


def _flat(found: Any) -> Iterable[Any]:
    if not isinstance(found, (list, tuple, np.ndarray)):
        yield found
        return
    for part in found:
        yield from _flat(part)


def _value(other: Any) -> Fraction:
    return other._exact if isinstance(other, Number) else Fraction(other)
