"""Probes: what is done in the learner's process with a product of matrices that is compiled, and with a tuner.

Compiled code does not look at its indices: it writes behind an array, and the process ends. So a function is first
compiled with its indices checked. Nothing here knows what is right, or fast enough.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from jt_exercises.kernels.tried import in_words, plain

SIGNATURE = "void(f4[:, ::1], f4[:, ::1], f4[:, ::1])"
OUTSIDE = (
    "an index is outside its array. Nothing checks indices in a compiled kernel: it would write other memory, or "
    "crash. Which buffer, or step, fits small matrices alone?"
)


def compiled(function: Callable[..., Any], checked: bool) -> Any:
    """The kernel that numba makes of function(a, b, c)."""
    return in_words(lambda: numba.njit(SIGNATURE, fastmath=True, boundscheck=checked)(plain(function)))


def multiplied(kernel: Callable[..., Any], a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, float]:
    """What a kernel makes of c, which holds zeros at first, and the seconds of CPU time that it takes."""
    c = np.zeros((len(a), b.shape[1]), a.dtype)
    begin = time.process_time()
    try:
        kernel(a, b, c)
    except IndexError:
        raise IndexError(OUTSIDE) from None
    return c, time.process_time() - begin


def tuned(
    tune: Callable[..., Any], candidates: list[int], runs: Callable[[int], bool], clock: Callable[[], float]
) -> Any:
    """What a tuner chooses, where `runs` says whether a tile could run."""

    def run(size: int) -> None:
        if not runs(size):
            raise ValueError(f"a tile of {size} does not fit")

    return tune(candidates, run, clock)
