"""Pages: how does what ranks tell get into the notebook?

display(...) on a rank     goes to the page of that rank, and not to the notebook
at the end of the cell     the pages are shown in columns, widgets below, then the view, if it was asked for
what ended the ranks       is raised, in few words: the rest stands above
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from IPython.display import display

from jt_edu.base.errors import ArgumentError, JtError
from jt_edu.mpi.notebook.cell import Cell, CellRun, Told
from jt_widgets.columns import Columns, widgets_of
from jt_widgets.ranks import ranks

EVERY = 0.5  # seconds


def parsed(shell: Any, text: str) -> Cell:
    """The cell, with the line numbers that the notebook shows: the magic itself is line 1."""
    whole = f"\n{text}"
    try:
        return Cell.parse(whole, shell.compile.cache(whole, _number(shell)))
    except SyntaxError as error:
        where = f"line {error.lineno}: {(error.text or '').strip()}"
        raise ArgumentError("ranks run Python", f"{error.msg}, at {where}", "the cell without its first line") from None


def _number(shell: Any) -> int:
    """Of the cell that runs: it is noted before it runs, and counted before that or afterwards, as IPython is new."""
    return len(shell.history_manager.input_hist_parsed) - 1 or int(shell.execution_count)


class Live:
    """What ranks have told so far, shown while they run: some cells take long."""

    def __init__(self) -> None:
        self._next, self._shown, self._place = time.monotonic() + EVERY, "", None

    def look(self, ranks: list[Told]) -> None:
        """Show what there is, from time to time."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + EVERY
        columns = Columns(CellRun(list(ranks)))
        if repr(columns) != self._shown:
            self._shown = repr(columns)
            self.show(columns)

    def show(self, columns: Columns) -> None:
        """Show this, instead of what was shown before."""
        if self._place is None:
            self._place = display(columns, display_id=True)
        else:
            self._place.update(columns)


def show(run: CellRun, live: Live, *, view: bool, go_on: bool) -> None:
    """Show what ranks told, and raise what ended them: in few words, because the rest stands above.

    Args:
        run: what came of the cell.
        live: where it has been shown while it ran.
        view: whether the ranks' timeline is shown, too.
        go_on: raise nothing, so that "run all" goes on.
    """
    live.show(Columns(run))
    for rank, bundle in widgets_of(run):
        display({"text/plain": f"rank {rank}:"}, raw=True)
        display(bundle, raw=True)
    if view and run.record is not None:
        display(ranks(run.record))
    if go_on and not isinstance(run.failure, KeyboardInterrupt):
        return
    with briefly(run.explanation.partition("\n")[0].rstrip(":"), "What happened is shown above, below the columns."):
        run.raise_failure()


@contextmanager
def briefly(*words: str, go_on: bool = False) -> Iterator[None]:
    """Errors of ours without the way through our own code: only what they say, or these words; printed, to go on."""
    try:
        yield
    except (JtError, KeyboardInterrupt) as error:
        if go_on and isinstance(error, JtError):
            sys.stdout.write(f"{type(error).__name__}: {error}\n")
            return
        if not hasattr(error, "_render_traceback_"):
            say_instead(error, *(words or [f"{type(error).__name__}: {error}"]))
        raise


def say_instead(error: BaseException, *words: str) -> BaseException:
    """Let IPython show these words of an error, and not the way to it. Returns the error."""
    error._render_traceback_ = lambda: list(words)  # type: ignore[attr-defined]
    return error
