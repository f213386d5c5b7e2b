"""Siblings: what do the open views of kernels know of each other's edits?

An edit is installed for all graphs of the notebook, so that every view of that kernel has to say so, whoever made it.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Protocol
from weakref import WeakSet

from jt_edu.base.errors import JtError


class Refreshed(Protocol):
    """A view that can look again at what it shows."""

    def refresh(self) -> None:
        """Bring the document up to date."""


_living: WeakSet[Refreshed] = WeakSet()


def join(view: Refreshed) -> None:
    """From now on `view` hears of edits, as long as somebody holds it."""
    _living.add(view)


def tell_siblings(view: Refreshed) -> None:
    """Let all other views look again; one that cannot any more stays as it is."""
    for other in list(_living):
        if other is not view:
            with suppress(JtError):
                other.refresh()
