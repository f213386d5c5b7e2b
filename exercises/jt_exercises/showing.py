"""Showing: a card in a notebook, plain text everywhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def in_notebook() -> bool:
    """Whether this is a notebook, beside which progress is kept."""
    shell: Callable[[], Any] | None = getattr(sys.modules.get("IPython"), "get_ipython", None)
    return shell is not None and type(shell()).__name__ == "ZMQInteractiveShell"


def show(what: Any) -> None:
    """In a notebook as HTML, elsewhere as text."""
    if in_notebook():
        from IPython.display import display  # noqa: PLC0415 - there is one

        display(what)
    else:
        sys.stdout.write(f"{what!r}\n")
