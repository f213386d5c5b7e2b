"""Checks of the arguments that functions of data take.

Numbers, words and switches are checked by ops/arguments.py, as everywhere.

place, places       numbers of examples, counted from either end
callable_or_none    a function, if there is one
none_of             arguments that mean nothing beside others
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from jt_edu.base.errors import ArgumentError, RangeError
from jt_edu.ir.builders import short
from jt_edu.ops.arguments import whole


def callable_or_none(who: str, name: str, value: Any) -> Any:
    """Something that can be called, or None.

    Example:
        >>> callable_or_none("Lambda", "lambd", None)
    """
    if value is not None and not callable(value):
        raise ArgumentError(f"{who} takes {name} as a function, or None", f"{name}={short(value)}")
    return value


def place(who: str, k: Any, count: int) -> int:
    """Number k of an example as a number from 0; negative ones count from the end.

    Example:
        >>> place("Subset", np.int64(-1), 10)
        9
    """
    return _within(who, whole(f"{who}[k]", "k", k), count) % count


def places(who: str, numbers: Any, count: int) -> np.ndarray[Any, Any]:
    """Numbers of several examples, or a mask of all of them, as an array of numbers from 0.

    Example:
        >>> places("Subset", [0, -1], 10), places("Subset", np.arange(3) > 0, 3)
        (array([0, 9]), array([1, 2]))
    """
    try:
        wanted = np.asarray(numbers)
    except ValueError:  # lists of different lengths
        wanted = np.asarray("no numbers")
    if wanted.dtype == bool and wanted.shape == (count,):
        return np.flatnonzero(wanted)
    if wanted.dtype.kind not in "iu" and wanted.size:
        raise ArgumentError(f"{who} takes the indices of examples as whole numbers", short(numbers), "[0, 2]")
    for odd in wanted[(wanted < -count) | (wanted >= count)].ravel()[:1]:
        _within(who, odd, count)
    return wanted.astype(np.int64) % max(count, 1)


def key(k: Any) -> Any:
    """A number of any integer type as one of Python's; any other key of an example as it is.

    Example:
        >>> key(np.int64(3)), key("three")
        (3, 'three')
    """
    try:
        return operator.index(k)
    except TypeError:
        return k


def _within(who: str, k: int, count: int) -> int:
    if not -count <= k < count:
        numbers = f", with the numbers 0 to {count - 1}" if count else ""
        raise RangeError(f"{who} has {count} examples{numbers}", f"number {k}")
    return k


def none_of(given: dict[str, bool], why: str) -> None:
    """Refuse arguments that are given where, for the reason `why`, they mean nothing.

    Example:
        >>> none_of({"timeout": False}, "nobody is waited for")
    """
    extra = [name for name, yes in given.items() if yes]
    if extra:
        raise ArgumentError(why, f"{' and '.join(extra)} as well", f"leave {' and '.join(extra)} out")


def check_workers(fetching: Any, prefetch_factor: bool) -> None:
    """Refuse settings of workers if there are none; `prefetch_factor`: whether that was set."""
    given = {
        "prefetch_factor": prefetch_factor, "persistent_workers": fetching.persistent_workers,
        "timeout": fetching.timeout > 0, "worker_init_fn": fetching.worker_init_fn is not None,
    }  # fmt: skip
    if not fetching.num_workers:
        none_of(given, "without workers there is nobody to start or to wait for: num_workers is 0")
