"""Report: what a rank hands to whoever started it: a notebook, a test.

jt.report(loss)      on each rank      ->      job.results[rank], after the job
"""

from __future__ import annotations

import pickle
import time
from typing import Any

from jt_edu.base.context import current
from jt_edu.base.errors import ArgumentError


def report(*things: Any) -> None:
    """Hand something to whoever started the ranks: it comes back in `job.results[rank]`.

    Raises:
        ArgumentError: it cannot be pickled.

    Example:
        >>> report(3.5, "done")
    """
    for thing in things:
        try:
            data = pickle.dumps(thing)
        except Exception as error:  # noqa: BLE001 - objects may raise what they like
            raise ArgumentError("report takes what can be pickled", f"{type(thing).__name__}: {error}") from None
        reported().append(data)


def begin() -> None:
    """The learner's own lines begin now: times of the record count from here."""
    current().rank_state["began"] = time.monotonic_ns()


def began() -> int:
    """When they did, in ns of the monotonic clock; 0 before."""
    found: int = current().rank_state.get("began", 0)
    return found


def reported() -> list[bytes]:
    """What this rank has reported so far, pickled."""
    found: list[bytes] = current().rank_state.setdefault("reported", [])
    return found
