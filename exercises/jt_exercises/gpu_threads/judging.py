"""Judging: is a launch right, and if not, what does the interpreter say of it?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from jt_edu.cuda.findings import BETWEEN_BLOCKS
from jt_exercises.answers import Array, same
from jt_exercises.gpu_threads.probes import launched
from jt_exercises.verdict import RefusedError, ask

NEAR = 1e-4
HELP = {
    "race": "Put a barrier between the two, or let one thread alone write each number.",
    BETWEEN_BLOCKS: "Let each thread write a number of its own: its place in the whole grid is `cuda.grid(1)`.",
    "divergent barrier": "A barrier is for all threads of a block: put it outside of an `if`, and before any return.",
    "unwritten": "A thread has to write it first, and then comes a barrier.",
    "out of bounds": "Which threads have an element? A guard, such as `if i < x.size:`, keeps the others out.",
    "never ends": "What ends this loop?",
}


def launch(answer: Any, grid: Any, block: Any, *arguments: Any, case: str, name: str) -> dict[str, Any]:
    """What came of a launch in which nothing was wrong."""
    found: dict[str, Any] = ask(answer, grid, block, *arguments, case=case, name=name, through=launched)
    refuse_findings(found)
    return found


def refuse_findings(found: dict[str, Any], case: str = "") -> None:
    """Tell the first thing that is wrong; `case` is what no part has told already."""
    for kind, line, text, words in found["findings"]:
        helps = HELP.get(BETWEEN_BLOCKS if words.endswith(BETWEEN_BLOCKS) else kind, "Look at this line.")
        raise RefusedError(f"{case}{kind} in line {line}, `{text}`: {words}. {helps}")


def refuse_conflicts(found: dict[str, Any]) -> None:
    """Tell the first conflict of banks."""
    for kind, line, text, words in found["slow"]:
        if kind == "bank conflict":
            raise RefusedError(f"{kind} in line {line}, `{text}`: {words}")


def right(found: Array, wanted: Array, what: str = "", known: Iterable[tuple[Any, str]] = ()) -> None:
    """Compare numbers; `what` is their name, where there are several."""
    same(found, np.asarray(wanted), what, known, NEAR)
