"""04.2: in which kernels is a line computed?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jt_exercises.exercise import exercise
from jt_exercises.kernels.cases import models
from jt_exercises.kernels.probes import kernels_of_model
from jt_exercises.seed import random
from jt_exercises.verdict import NotDoneError, RefusedError, ask, short

ASKED = (  # for each model words to look for, and what is to be said of a wrong answer
    {
        "scaled =": "`line.where` is a text that contains your line, for each line of `k.lines`",
        "total =": "each kernel has many `lines`; one of them with these words is enough",
        "nobody =": "no line has these words",
    },
    {"hidden =": "each kernel has `lines` of its own", "answer =": "go through all of the kernels"},
    {"cheap =": "a cheap value is computed wherever it is read, so a line may be in several kernels"},
)
PIECES = 3  # of the lines of each model, drawn


@exercise(
    "04.2",
    "the kernels of a line",
    hints=(
        "`for number, k in enumerate(kernels):` counts from 0 on.",
        "Ask whether `any(words in line.where for line in k.lines)`.",
    ),
    why="Where a line went is the first question when it is slow, or when its numbers look wrong.",
)
def kernels_of_a_line(answer: Callable[..., Any]) -> str:
    """Compare the numbers of kernels that compute a line, in three graphs."""
    asked = list(_asked())
    for before, (model, words, hint) in enumerate(asked):
        right, count = right_numbers(model, words), len(models()[model])
        case = f"{count} kernel{'s' * (count > 1)}, {words!r}"
        try:
            found = ask(answer, model, words, case=case, name="kernels_of", through=kernels_of_model)
        except NotDoneError:
            if not before:
                raise
            found = None
        if not isinstance(found, (list, tuple, set, np.ndarray)):
            raise RefusedError(f"kernels_of({case}) is {right}: a list of numbers, not {short(found)}")
        mine = found.tolist() if isinstance(found, np.ndarray) else list(found)
        if mine != right:
            told = f"kernels_of({case}) is {right}, not {short(mine)}: {_slip(mine, right) or hint}"
            raise RefusedError(f"{told}. The kernels, and their lines:\n{_table(model)}")
    return f"{len(asked)} lines"


def _asked() -> Iterator[tuple[int, str, str]]:
    """The number of a model, words to look for, and a hint."""
    for model, lines in enumerate(ASKED):
        for words, hint in lines.items():
            yield model, words, hint
    for model, kernels in enumerate(models()):
        where = [line.where for k in kernels for line in k.lines]
        draw = random(model)
        for _ in range(PIECES):
            text = where[draw.integers(len(where))]
            begin = draw.integers(len(text) - 3)
            yield model, text[begin : begin + draw.integers(3, 12)], "these words may be anywhere in `line.where`"


def right_numbers(model: int, words: str) -> list[int]:
    """The numbers of the kernels in which a line with these words is computed."""
    return [number for number, k in enumerate(models()[model]) if any(words in line.where for line in k.lines)]


def _slip(mine: list[Any], right: list[int]) -> str:
    """What a wrong list seems to be."""
    if any(not isinstance(k, int) for k in mine):
        return "the numbers of kernels are asked for"
    if len(set(mine)) < len(mine):
        return "several lines of a kernel may have these words; name the kernel once"
    if right and mine == [k + 1 for k in right]:
        return "kernels are numbered from 0 on"
    return ""


def _table(model: int) -> str:
    """The kernels of a model by number, with the lines of each."""
    rows = [dict.fromkeys(line.where for line in k.lines) for k in models()[model]]
    return "\n".join(f"    {number}  {'; '.join(row)}" for number, row in enumerate(rows))
