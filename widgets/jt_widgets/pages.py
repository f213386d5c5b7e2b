"""Pages: how does what ranks tell get into the notebook?

    display(...) on a rank     goes to the page of that rank, and not to the notebook
    at the end of the cell     the pages are shown in columns, widgets below, then the view, if it was asked for
    what ended the ranks       is raised, in few words: the rest stands above
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from IPython.core.displaypub import DisplayPublisher
from IPython.display import display

from jt_edu.errors import JtError
from jt_edu.mpi.cell import CellRun
from jt_edu.mpi.process import page
from jt_widgets.columns import Columns, widgets_of
from jt_widgets.ranks import ranks


def show(run: CellRun, *, view: bool, go_on: bool) -> None:
    """Show what ranks told, and raise what ended them: in few words, because the rest stands above.

    Args:
        run: what came of the cell.
        view: whether the ranks' timeline is shown, too.
        go_on: raise nothing, so that "run all" goes on.
    """
    display(Columns(run))
    for rank, bundle in widgets_of(run):
        display({"text/plain": f"rank {rank}:"}, raw=True)
        display(bundle, raw=True)
    if view and run.record is not None:
        display(ranks(run.record))
    if go_on and not isinstance(run.failure, KeyboardInterrupt):
        return
    with briefly(run.explanation.partition("\n")[0].rstrip(":"), "What happened stands above, below the columns."):
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
            told = list(words) or [f"{type(error).__name__}: {error}"]
            error._render_traceback_ = lambda: told  # type: ignore[union-attr]
        raise


class Publisher(DisplayPublisher):
    """What a rank displays goes to its page; all else goes on."""

    def __init__(self, real: DisplayPublisher) -> None:
        super().__init__(shell=real.shell)
        self._real = real

    def publish(self, data: Any, *rest: Any, **named: Any) -> None:
        """Show something."""
        mine = page()
        if mine is None:
            self._real.publish(data, *rest, **named)
        else:
            mine.show(dict(data))

    def clear_output(self, wait: bool = False) -> None:
        """Forget what a rank, or the cell, has shown."""
        mine = page()
        if mine is None:
            self._real.clear_output(wait)
        else:
            mine.pieces.clear()


@contextmanager
def published(shell: Any) -> Iterator[None]:
    real = shell.display_pub
    shell.display_pub = Publisher(real)
    try:
        yield
    finally:
        shell.display_pub = real
