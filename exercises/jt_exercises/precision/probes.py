"""Probes: numbers that stay in float16, and what a learner's function makes of them. None knows what is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from jt_exercises.verdict import RefusedError

Answer = Callable[..., Any]


class Half:
    """A number of float16: sums and differences are rounded to it, and there is no way out."""

    __array_ufunc__ = None  # `np.float16(0) + half` asks the half

    def __init__(self, value: Any) -> None:
        self.value = np.float16(value)

    def _number(self, other: Any) -> np.float16:
        if isinstance(other, Half):
            return other.value
        if isinstance(other, (int, float, np.float16)):
            return np.float16(other)
        raise RefusedError("add and subtract the values as they are, without other kinds of numbers")

    def __add__(self, other: Any) -> Self:
        return type(self)(self.value + self._number(other))

    def __sub__(self, other: Any) -> Self:
        return type(self)(self.value - self._number(other))

    def __rsub__(self, other: Any) -> Self:
        return type(self)(self._number(other) - self.value)

    def __neg__(self) -> Self:
        return type(self)(-self.value)

    def __abs__(self) -> Self:
        return type(self)(abs(self.value))

    def __lt__(self, other: Any) -> bool:
        return bool(self.value < self._number(other))

    def __ge__(self, other: Any) -> bool:
        return bool(self.value >= self._number(other))

    def __gt__(self, other: Any) -> bool:
        return bool(self.value > self._number(other))

    def __le__(self, other: Any) -> bool:
        return bool(self.value <= self._number(other))

    def __float__(self) -> float:
        raise RefusedError("add and subtract the values as they are, without a cast: here only float16 is allowed")

    __radd__, __int__, __index__ = __add__, __float__, __float__


def in_halves(answer: Answer, values: np.ndarray) -> Any:
    """The sum that it makes of numbers of float16; whether it is one, and how large."""
    with np.errstate(all="ignore"):
        total = answer([Half(value) for value in values])
    return total.value.astype(np.float64) if isinstance(total, Half) else total


def texts(answer: Answer, *words: Any) -> Any:
    """What it says of some texts."""
    return answer(*words)
