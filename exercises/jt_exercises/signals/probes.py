"""Probes: a learner's function is called with Vars, again and again, or with a function. None knows what is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import jt_edu as jt

Answer = Callable[..., Any]


def on_vars(answer: Answer, *arrays: np.ndarray) -> Any:
    """What it makes of these arrays, as Vars."""
    return answer(*map(jt.array, arrays))


def transformed(answer: Answer, x: np.ndarray) -> Any:
    """The transform of x, where `answer` makes one of those of its halves; None if it makes nothing of them."""
    if len(x) == 1:
        return x
    halves = [transformed(answer, half) for half in (x[::2], x[1::2])]
    return None if any(half is None for half in halves) else answer(*map(np.asarray, halves))


def on_surface(answer: Answer, a: np.ndarray, b: np.ndarray, x: np.ndarray) -> Any:
    """What it says at x of the surface that `a` and `b` make: v·av / 2 - b·v + the sum of v ** 4 / 4."""
    bends, slope = jt.array(a), jt.array(b)
    return answer(lambda v: (v * (bends @ v) / 2 - slope * v + v * v * v * v / 4).sum(), jt.array(x))
