"""Publisher: where does a rank's `display(...)` go? To the page of that rank, and not into the notebook."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from IPython.core.displaypub import DisplayPublisher

from jt_edu.mpi.notebook.process import page
from jt_widgets.figures import figures_divided


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
    """Let ranks show things on their pages, for the time inside."""
    real = shell.display_pub
    shell.display_pub = Publisher(real)
    try:
        with figures_divided():
            yield
    finally:
        shell.display_pub = real
