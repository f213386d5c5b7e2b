"""Cases: which kernels are the exercises of notebook 04 about?

    puzzle()                {"A": text, ...}     six kernels, without the comments that would tell whose they are
    EXPRESSIONS             what they compute, as the learner sees it
    models()                graphs of a few lines, and words of these lines to look for
    column_sum()            the kernel that is to be rewritten

The framework writes the kernels, now; what they say is never written down here. Nothing here knows verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

import jt_edu as jt
from jt_edu.introspect.explain import KernelPlan

ROWS, COLUMNS = 300, 400  # of the table that is added up: a trial of its kernel takes little time


def zeros(*shape: int) -> jt.Var:
    """An array that exists, so that no kernel makes it."""
    return jt.array(np.zeros(shape, np.float32))


x, row = zeros(6, 8), zeros(8)
BUILD: dict[str, tuple[str, Callable[[], jt.Var], str]] = {  # the letter, the expression, and by what one tells it
    "x * 2 + 1": (
        "D",
        lambda: x * 2 + 1,
        "has one loop: each element is read where it is written, so both axes are walked as one",
    ),
    "x + row": ("B", lambda: x + row, "reads two arrays, one of them with the inner counter alone"),
    "x.transpose(0, 1) * 2": ("F", lambda: x.transpose(0, 1) * 2, "reads with the two counters exchanged"),
    "x[:, ::2] * 2": ("A", lambda: x[:, ::2] * 2, "reads at twice the inner counter"),
    "x.sum(1)": ("E", lambda: x.sum(1), "collects one sum, and stores it when the loop along a row is over"),
    "x.sum(0)": ("C", lambda: x.sum(0), "collects a sum for each column, all at once, in memory of its own"),
}
EXPRESSIONS = tuple(BUILD)


def puzzle() -> dict[str, str]:
    """The text of each kernel, by its letter."""
    found = {letter: jt.explain(build()).kernels[0].source for letter, build, _ in BUILD.values()}
    return {letter: found[letter] for letter in sorted(found)}


@dataclass(frozen=True)
class Model:
    """Kernels of some lines, and words of lines to look for: each with what is to be said of a wrong answer."""

    kernels: tuple[KernelPlan, ...]
    asked: dict[str, str]

    def right(self, words: str) -> list[int]:
        """The numbers of the kernels in which a line with these words is computed."""
        return [number for number, k in enumerate(self.kernels) if any(words in line.where for line in k.lines)]


def models() -> Iterator[Model]:
    """Three graphs, the simplest first."""
    x, w, column = zeros(60, 40), zeros(40, 30), zeros(60, 1)
    scaled = x * 2 + 1
    total = scaled.abs().sum(1)
    yield Model(jt.explain(total).kernels, {
        "scaled =": "`line.where` is a text that contains your line, for each line of `k.lines`",
        "total =": "each kernel has many `lines`; one of them with these words is enough",
        "nobody =": "no line has these words",
    })  # fmt: skip

    centred = x - x.mean()
    hidden = centred @ w
    answer = hidden.exp() + 1
    yield Model(jt.explain(answer).kernels, {
        "hidden =": "each kernel has `lines` of its own",
        "answer =": "go through all of the kernels",
    })  # fmt: skip

    cheap = column * 3
    total = cheap.sum()
    table = x + cheap
    yield Model(jt.explain(total, table).kernels, {
        "cheap =": "a cheap value is computed wherever it is read, so a line may be in several kernels",
    })  # fmt: skip


def column_sum(rows: int = ROWS, columns: int = COLUMNS) -> KernelPlan:
    """The kernel of a sum over the first axis."""
    return jt.explain(zeros(rows, columns).sum(0)).kernels[0]
