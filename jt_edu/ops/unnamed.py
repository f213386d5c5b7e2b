"""Unnamed: is the value in front of brackets held by anybody, or gone when the line is done?

    x[0] = 1        `x` holds it
    x[0][1] = 1     nobody holds x[0]: what is written there is lost

The number of references tells the two apart. How many there are while brackets are at work differs from one Python to
the next, so it is counted once, for a value like those.
"""

from __future__ import annotations

import dis
import sys
import warnings

BRACKETS = dis.opmap["STORE_SUBSCR"]  # x[key] = value
LOST = "nobody holds the Var that was assigned to, so its new numbers are lost: x[i, j] = value, not x[i][j]"


class _Probe:
    """A value whose brackets note down how many references it has."""

    seen: list[int] = []  # noqa: RUF012 - one list for all of them, on purpose

    def __getitem__(self, key: int) -> _Probe:
        return _Probe()


def _note(x: _Probe, key: int, value: int) -> None:  # noqa: ARG001 - a plain function with three arguments, as `setitem`
    x.seen.append(sys.getrefcount(x))


_Probe.__setitem__ = _note  # type: ignore[index]


def _counted() -> int:
    """References to a value that nobody holds; -1 where this Python counts as many for one that has a name."""
    named = _Probe()
    named[0] = 0  # type: ignore[index]
    named[0][0] = 0  # type: ignore[index]
    with_name, without = _Probe.seen
    return without if without < with_name else -1


UNNAMED = _counted()


def warn_if_lost(references: int) -> None:
    """Warn who writes to a value that has so many references, if that says that nobody holds it.

    Whoever calls `x.__setitem__` by name holds one reference less than brackets do, and is believed.
    """
    if references == UNNAMED:
        line = sys._getframe(2)
        if line.f_code.co_code[line.f_lasti] == BRACKETS:
            warnings.warn(LOST, UserWarning, stacklevel=3)
