"""Figures: pyplot's open figures, for each rank its own.

Pyplot keeps one list of open figures for the process, and draws into the last one. While a cell runs on ranks that list
is another one for each of them; at its end a rank shows what is still open, as a notebook does at the end of a cell.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from IPython.display import display

from jt_edu.base.context import current


class FiguresOfThisRank:
    """The list of open figures that pyplot finds: that of the rank which runs, or the notebook's."""

    def __init__(self, notebooks: Any) -> None:
        self._notebooks = notebooks

    def _mine(self) -> Any:
        state = current().rank_state
        return state.setdefault("figures", OrderedDict()) if "page" in state else self._notebooks

    def __getattr__(self, name: str) -> Any:
        return getattr(self._mine(), name)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._mine())

    def __len__(self) -> int:
        return len(self._mine())

    def __contains__(self, number: Any) -> bool:
        return number in self._mine()

    def __getitem__(self, number: Any) -> Any:
        return self._mine()[number]

    def __setitem__(self, number: Any, manager: Any) -> None:
        self._mine()[number] = manager

    def __delitem__(self, number: Any) -> None:
        del self._mine()[number]


@contextmanager
def figures_divided() -> Iterator[None]:
    """Give each rank open figures of its own, for the time inside; nothing happens where nobody has imported pyplot."""
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    if helpers is None:
        yield
        return
    before = helpers.Gcf.figs
    helpers.Gcf.figs = FiguresOfThisRank(before)
    try:
        yield
    finally:
        helpers.Gcf.figs = before


def show_open_figures() -> None:
    """Show what this rank has drawn and not shown."""
    figures = current().rank_state.pop("figures", None) or {}
    for manager in figures.values():
        display(manager.canvas.figure)
