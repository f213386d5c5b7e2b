"""Checks of what data is asked, in words of its own; what is the same everywhere stands in ops/arguments.py."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jt_edu.errors import ArgumentError, RangeError
from jt_edu.ops import arguments


def whole(name: str, value: Any, least: int) -> int:
    """A whole number that is not smaller than `least`."""
    return arguments.whole("jt.data", name, value, least)


def yes_or_no(name: str, value: Any) -> bool:
    """True or False; 1 and 0 will do."""
    return arguments.yes_or_no("jt.data", name, value)


def number(name: str, value: Any, least: float = 0.0, most: float = math.inf) -> float:
    """A finite number from `least` to `most`."""
    found = float(arguments.number("jt.data", name, value, least, most))
    if math.isinf(found):
        raise ArgumentError(f"jt.data takes {name} as a finite number", repr(value))
    return found


def function(name: str, value: Any) -> Any:
    """Something that can be called, or None."""
    if value is not None and not callable(value):
        raise ArgumentError(f"{name} is a function, or None", repr(value))
    return value


def place(kind: str, k: Any, count: int) -> int:
    """Number k of an example as a number from 0; negative ones count from the end."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
        raise ArgumentError(f"the examples of {kind} have whole numbers", repr(k))
    if not -count <= k < count:
        raise RangeError(f"{kind} has {count} examples, with the numbers 0 to {count - 1}", f"number {k}")
    return int(k) % count


def none_of(given: dict[str, bool], why: str) -> None:
    """Refuse arguments that are given where, for the reason `why`, they mean nothing.

    Example:
        >>> none_of({"timeout": False}, "nobody is waited for")
    """
    extra = [name for name, yes in given.items() if yes]
    if extra:
        raise ArgumentError(why, f"{' and '.join(extra)} as well", f"leave {' and '.join(extra)} out")


def check_workers(fetching: Any, prefetch_factor: bool) -> None:
    """Refuse what was said of workers where there are none; `prefetch_factor`: somebody has set that."""
    given = {
        "prefetch_factor": prefetch_factor, "persistent_workers": fetching.persistent_workers,
        "timeout": fetching.timeout > 0, "worker_init_fn": fetching.worker_init_fn is not None,
    }  # fmt: skip
    if not fetching.num_workers:
        none_of(given, "without workers there is nobody to start or to wait for: num_workers is 0")
