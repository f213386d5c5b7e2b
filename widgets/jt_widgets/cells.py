"""Cells: which views has a cell of the notebook made and shown, and which of them can nobody see any more?

    the cell runs again    its outputs are gone: a view that no other cell shows is closed
    view                   shown once more, a closed view opens again

An open view has two channels to the browser and is kept by ipywidgets, with its document, until it is closed. IPython
keeps in `Out` what a cell answered: a view that is closed leaves it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

from IPython import get_ipython

if TYPE_CHECKING:
    from jt_widgets.view import View


class Cells:
    """What is noted of views while a cell runs belongs to that cell when it has run.

    Example:
        >>> Cells().note("a view", shown=True)  # no notebook: nothing is noted
    """

    def __init__(self) -> None:
        self.shells: WeakSet[Any] = WeakSet()
        self.fresh: list[tuple[View, bool]] = []  # what the cell that runs now has made and shown
        self.made: WeakKeyDictionary[View, str] = WeakKeyDictionary()
        self.shown: WeakKeyDictionary[View, set[str]] = WeakKeyDictionary()

    def note(self, view: View, shown: bool) -> None:
        """The cell that runs now makes a view, or shows one."""
        shell = get_ipython()  # type: ignore[no-untyped-call]
        if shell is None:
            return
        if shell not in self.shells:
            self.shells.add(shell)
            shell.events.register("pre_run_cell", self.begin)
            shell.events.register("post_run_cell", self.end)
        self.fresh.append((view, shown))

    def begin(self, info: Any) -> None:
        """A cell is run (again): close what only it showed, or what it made and nobody shows."""
        cell = getattr(info, "cell_id", None)
        self.fresh.clear()
        if cell is None:
            return
        for view in [v for v, maker in self.made.items() if maker == cell or cell in self.shown.get(v, ())]:
            places = self.shown.get(view, set())
            places.discard(cell)
            if not places:
                view.close()
                _leave(view)

    def end(self, result: Any) -> None:
        """A cell has run, and IPython says which one it was."""
        cell = getattr(getattr(result, "info", None), "cell_id", None)
        for view, shown in self.fresh if cell is not None else ():
            self.made.setdefault(view, cell)
            if shown:
                self.shown.setdefault(view, set()).add(cell)
        self.fresh.clear()


def _leave(view: View) -> None:
    """What IPython remembers of answers is without this one."""
    shell = get_ipython()  # type: ignore[no-untyped-call]
    names = shell.user_ns if shell is not None else {}
    answers = names.get("_oh", {})
    for number in [k for k, answer in answers.items() if answer is view]:
        del answers[number]
        names.pop(f"_{number}", None)


cells = Cells()  # of this kernel, whose notebook is one
