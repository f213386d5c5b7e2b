"""Judging: is a launch right, and if not, what does the interpreter say of it?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from jt_exercises.answers import Array, same
from jt_exercises.gpu_threads.probes import launched
from jt_exercises.verdict import RefusedError, ask

NEAR = 1e-4
HELP = {
    "race": "put a barrier between the two lines, or give each number one thread that writes it",
    "divergent barrier": "a barrier is for all threads of a block: put it outside of the `if`",
    "unwritten": "somebody has to write it first, and then a barrier",
    "out of bounds": "which threads have an element? A guard, such as `if i < x.size:`, keeps the others out",
    "never ends": "what ends this loop?",
}


def launch(answer: Any, grid: Any, block: Any, *arguments: Any, case: str, name: str) -> dict[str, Any]:
    """What came of a launch in which nothing was wrong."""
    found: dict[str, Any] = ask(answer, grid, block, *arguments, case=case, name=name, through=launched)
    refuse_findings(found, case)
    return found


def refuse_findings(found: dict[str, Any], case: str) -> None:
    """Tell the first thing that is wrong."""
    for kind, line, text, words in found["findings"]:
        raise RefusedError(f"{case}: {kind} in line {line}, `{text}`: {words}. ({HELP.get(kind, 'look at this line')})")


def refuse_conflicts(found: dict[str, Any], case: str) -> None:
    """Tell the first conflict of banks."""
    for kind, line, text, words in found["slow"]:
        if kind == "bank conflict":
            raise RefusedError(f"{case}: {kind} in line {line}, `{text}`: {words}")


def right(found: Array, wanted: Array, case: str, known: Iterable[tuple[Any, str]] = ()) -> None:
    """Compare numbers."""
    same(found, np.asarray(wanted), case, known, NEAR)
