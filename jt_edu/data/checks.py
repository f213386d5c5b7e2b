"""Checks: is an argument a whole number, a yes or no, a length of time? The error names the argument and its value."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jt_edu.errors import ArgumentError, RangeError


def whole(name: str, value: Any, least: int) -> int:
    """A whole number that is not smaller than `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ArgumentError(f"{name} is a whole number from {least}", repr(value))
    return int(value)


def yes_or_no(name: str, value: Any) -> bool:
    """True or False; 1 and 0 will do."""
    if not isinstance(value, (bool, int, np.bool_)) or value not in (0, 1):
        raise ArgumentError(f"{name} is True or False", repr(value))
    return bool(value)


def number(name: str, value: Any, least: float = 0.0, most: float = math.inf) -> float:
    """A finite number from `least` to `most`."""
    plain = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not plain or not math.isfinite(value) or not least <= value <= most:
        limits = f"from {least:g}" + (f" to {most:g}" if most < math.inf else "")
        raise ArgumentError(f"{name} is a number {limits}", repr(value))
    return float(value)


def function(name: str, value: Any) -> Any:
    """Something that can be called, or None."""
    if value is not None and not callable(value):
        raise ArgumentError(f"{name} is a function, or None", repr(value))
    return value


def place(kind: str, k: Any, count: int) -> int:
    """Number k of an example as a number from 0; negative ones count from the end."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
        raise ArgumentError(f"the examples of a {kind} have whole numbers", repr(k))
    if not -count <= k < count:
        raise RangeError(f"a {kind} of {count} examples has the numbers 0 to {count - 1}", f"number {k}")
    return int(k) % count
